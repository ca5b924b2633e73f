#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

fn range(text: &str) -> IpRange {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn an_address_matches_when_every_part_does() {
    for (text, yes, no) in [
        (
            "10.0.[0-1].[1-255/2]",
            vec!["10.0.0.1", "10.0.1.255"],
            vec!["10.0.0.2", "10.0.2.1", "11.0.0.1", "10.1.0.1", "::ffff:10.0.0.1"],
        ),
        (
            "fd99::[90-92]",
            vec!["fd99::90", "fd99::91", "fd99::92"],
            vec!["fd99::5a", "fd99::93", "fd99::1:90"],
        ),
        ("fd99::[1-ff/2]:*", vec!["fd99::1:0", "fd99::ff:ffff"], vec!["fd99::2:0", "fd99::101:0"]),
        ("*::1", vec!["::1", "fd99::1"], vec!["fd99:1::1", "::2"]),
        ("fd99:*:*:*:*:*:*:*", vec!["fd99::", "fd99:1::7"], vec!["fd98::1"]),
        ("fd99::12", vec!["fd99::12"], vec!["fd99::18", "253.153.0.0"]),
        ("2001:db8::/64", vec!["2001:db8::", "2001:db8::ffff:1"], vec!["2001:db8:0:1::", "32.1.13.184"]),
        ("10.0.0.0/8", vec!["10.0.0.0", "10.255.255.255"], vec!["11.0.0.0", "9.255.255.255"]),
        ("::/0", vec!["::", "fd99::1"], vec!["10.0.0.1"]),
    ] {
        for (addresses, expected) in [(yes, true), (no, false)] {
            for address in addresses {
                assert_eq!(range(text).matches(address.parse().unwrap()), expected, "{text} {address}");
            }
        }
    }
}

#[test]
fn patterns_are_printed_in_one_form() {
    for (text, printed) in [
        ("*.*.*.*", "[0-255].[0-255].[0-255].[0-255]"),
        (" 10. 0 .0.[1]", "10.0.0.1"),
        ("FD99::0090", "fd99::90"),
        ("FD99:0:0::[9A-09c]", "fd99::[9a-9c]"),
        ("fd99:0:0:0:0:0:0:[90-92]", "fd99::[90-92]"),
        ("fd99::[10,20-2f/3]:0:0:0:*", "fd99:0:0:[10,20-2f/3]::*"),
        ("*::", "*::"),
        ("::*", "::*"),
        ("0:*:0:0:1:0:0:0", "0:*:0:0:1::"),
        ("*:0:1:0:1:0:1:0", "*:0:1:0:1:0:1:0"),
        ("*:*:*:*:*:*:*:*", "*:*:*:*:*:*:*:*"),
        ("fd99::[0-ffff]", "fd99::*"),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.1"),
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("2001:db8::1/64", "2001:db8::/64"),
    ] {
        assert_eq!(range(text).to_string(), printed, "{text}");
        assert_eq!(printed.parse::<IpRange>().map(|it| it.to_string()).as_deref(), Ok(printed), "{text}");
    }
}

#[test]
fn texts_that_are_no_pattern_are_refused_with_the_place() {
    use Problem::*;
    for (text, problem, at) in [
        ("10.0.0", NotIpv4, 0),
        ("10.0.0.1.2", NotIpv4, 8),
        ("10.0.0.", NotANumber, 7),
        ("10.0.256.1", OutOfBounds(0, 255), 5),
        ("10.0.0.1-3", NotANumber, 7),
        ("fd99::zz", NotIpv6, 0),
        ("fd99::[1-zz]", NotHexadecimal, 9),
        ("fd99::[1-12345]", NotHexadecimal, 9),
        ("fd99::[1-2/0]", ZeroStride, 11),
        ("fd99::[1, 2]", NotANumber, 3 + 6),
        ("fd99::[1", Bracket, 6),
        ("fd99:::[1]", NotHexadecimal, 6),
        (":fd99::[1]", NotHexadecimal, 0),
        ("fd99::[1]::", NotHexadecimal, 10),
        ("[1]:2:3:4:5:6:7", NotIpv6, 0),
        ("[1]:2:3:4:5:6:7:8:9", NotIpv6, 0),
        ("[1]:2:3:4::5:6:7:8", NotIpv6, 0),
        ("1:2:3:4:5:6:7:8:9", NotIpv6, 0),
        ("fd99::12%eth0", Zone, 0),
        ("fd99::*%eth0", NotHexadecimal, 6),
        ("[fd99::12]", Bracket, 0),
        ("fd99::/200", OutOfBounds(0, 128), 7),
        ("fd99::*/64", NotIpv6, 0),
    ] {
        assert_eq!(text.parse::<IpRange>(), Err(TextError::new(problem, at)), "{text}");
    }
}

#[test]
fn ipv4_masks_have_octets_and_ipv6_has_none() {
    for (text, octets) in [
        ("10.0.0.0/8", Some("10.[0-255].[0-255].[0-255]")),
        ("10.0.16.0/20", Some("10.0.[16-31].[0-255]")),
        ("10.0.0.1/32", Some("10.0.0.1")),
        ("0.0.0.0/0", Some("[0-255].[0-255].[0-255].[0-255]")),
        ("10.0.*.[1-3]", Some("10.0.[0-255].[1-3]")),
        ("fd99::1", None),
        ("fd99::/64", None),
    ] {
        let made = range(text).octets().map(|octets| IpRange::from_octets(octets).to_string());
        assert_eq!(made.as_deref(), octets, "{text}");
    }
}

#[test]
fn a_set_is_a_whole_family_or_a_place_in_it() {
    for (text, is_whole, has_place) in [
        ("*.*.*.*", true, false),
        ("0.0.0.0/0", true, false),
        ("[0-127,128-255].*.*.*", true, false),
        ("127.*.*.*", false, true),
        ("127.0.0.0/8", false, true),
        ("96.0.0.0/3", false, false),
        ("*:*:*:*:*:*:*:*", true, false),
        ("::/0", true, false),
        ("fd99::/16", false, true),
        ("fd00::/8", false, false),
        ("::1", false, true),
    ] {
        let its = range(text);
        assert_eq!((its.is_whole_family(), its.begins_with_one_number()), (is_whole, has_place), "{text}");
    }
}

/// The text of a pattern, and the numbers of its parts: those of a naive reader.
fn pattern(parts: usize) -> impl Strategy<Value = (String, Vec<Vec<u32>>)> {
    let radix = if parts == 8 { 16 } else { 10 };
    let digits = move |number: u32| if radix == 16 { format!("{number:x}") } else { number.to_string() };
    let last = if parts == 8 { 0xffff } else { 255 };
    let one_range = (0_u32..40, 0_u32..40, 1_u32..4);
    let part = prop_oneof![
        4 => Just(("0".to_owned(), vec![0])),
        1 => Just(("*".to_owned(), (0..=last).collect())),
        2 => (0..40_u32).prop_map(move |number| (digits(number), vec![number])),
        2 => prop::collection::vec(one_range, 1..3).prop_map(move |ranges| {
            let texts: Vec<String> = ranges
                .iter()
                .map(|(lo, hi, stride)| format!("{}-{}/{}", digits(*lo), digits(*hi), digits(*stride)))
                .collect();
            let numbers = ranges.iter().flat_map(|(lo, hi, stride)| (*lo..=*hi).step_by(*stride as usize));
            (format!("[{}]", texts.join(",")), numbers.collect())
        }),
    ];
    let separator = if parts == 8 { ":" } else { "." };
    prop::collection::vec(part, parts).prop_map(move |parts| {
        let (texts, numbers): (Vec<String>, Vec<Vec<u32>>) = parts.into_iter().unzip();
        (texts.join(separator), numbers)
    })
}

proptest! {
    /// Fails if a pattern matches an address that a list of the numbers of each part does not have, or the other way; or if its text
    /// means something else when it is read again.
    #[test]
    fn matching_agrees_with_lists_of_numbers(
        (text, numbers) in prop_oneof![pattern(4), pattern(8)],
        values in prop::collection::vec(0_u16..45, 8),
        from_list in prop::collection::vec(any::<Option<prop::sample::Index>>(), 8),
    ) {
        let value = |at: usize| match from_list[at] {
            Some(index) if !numbers[at].is_empty() => numbers[at][index.index(numbers[at].len())] as u16,
            _ => values[at],
        };
        let address = match numbers.len() {
            4 => IpAddr::V4(Ipv4Addr::from(std::array::from_fn(|at| value(at) as u8))),
            _ => IpAddr::V6(Ipv6Addr::from(std::array::from_fn::<u16, 8, _>(value))),
        };
        let expected = (0..numbers.len()).all(|at| numbers[at].contains(&value(at).into()));
        let its = range(&text);
        prop_assert_eq!(its.matches(address), expected, "{} {}", text, address);
        let printed = its.to_string();
        let again = range(&printed);
        prop_assert_eq!(again.matches(address), expected, "{} as {}", text, &printed);
        prop_assert_eq!(again.to_string(), printed);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[ 0-9a-fx,*/\\-\\[\\].:\u{e9}]{0,32}") {
        match text.parse::<IpRange>() {
            Ok(its) => {
                let printed = its.to_string();
                prop_assert_eq!(printed.parse::<IpRange>().map(|it| it.to_string()), Ok(printed));
            }
            Err(error) => prop_assert!(error.at <= text.len()),
        }
    }
}
