#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

fn list(text: &str) -> NidList {
    text.parse().unwrap()
}

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

#[test]
fn lists_print_as_recorded_from_the_reference_library() {
    for (text, printed) in [
        ("10.0.0.[1-5]@tcp", "10.0.0.[1-5]@tcp"),
        ("10.0.[0-1].[1-255/2]@o2ib 192.168.*.1@tcp", "10.0.[0-1].[1-255/2]@o2ib 192.168.[0-255].1@tcp"),
        ("*@tcp", "*@tcp"),
        ("[1-10]@gni", "[1-10]@gni"),
        ("10.0.0.1@tcp 10.0.0.1@o2ib 10.0.0.2@tcp", "10.0.0.1@tcp 10.0.0.2@tcp 10.0.0.1@o2ib"),
        ("  10.0.0.1@tcp   10.0.0.2@tcp1", "10.0.0.1@tcp 10.0.0.2@tcp1"),
        ("10.0.0.1@tcp *@tcp 10.0.0.2@tcp", "*@tcp"),
        ("10.0.0.1@tcp0x10", "10.0.0.1@tcp16"),
        ("*@gni 0x10@gni1", "*@gni 16@gni1"),
        ("0@lo", "0@lo"),
        ("fd99::11@tcp 10.0.0.1@tcp", "fd99::11@tcp 10.0.0.1@tcp"),
        ("fd99::[90-92]@tcp 10.0.0.1/24@tcp", "fd99::[90-92]@tcp 10.0.0.0/24@tcp"),
        ("2001:DB8::/64@tcp1", "2001:db8::/64@tcp1"),
    ] {
        assert_eq!(list(text).to_string(), printed);
    }
}

#[test]
fn texts_that_are_no_list_are_refused_with_the_place() {
    use Problem::*;
    for (text, problem, at) in [
        ("10.0.0.1", NoNetwork, 8),
        ("1@elan", UnknownNetwork, 2),
        ("10.0.0.300@tcp", OutOfBounds(0, 255), 7),
        ("", Empty, 0),
        ("   ", Empty, 3),
        ("10.0.0.1@tcp ", TrailingBlank, 13),
        ("10.0.0.1@tcp 10.0.0@tcp", NotIpv4, 13),
        ("10.0.0.[1, 2]@tcp", NoNetwork, 10),
        ("[1-5]@tcp", NotIpv4, 0),
        ("10.0.0.1@[tcp]", UnknownNetwork, 9),
        ("10.0.0.1@tcp[1-2]", NotANumber, 12),
        ("10.0.0.1@tcp65536", OutOfBounds(0, 65535), 12),
        ("*@lo0", LoopbackNumber, 4),
        ("1-5@gni", NotANumber, 0),
        ("@tcp", NotANumber, 0),
        ("*", NoNetwork, 1),
        ("10.0.0.1@tcp fd99::1@o2ib", NotIpv4, 13),
        ("fd99::/64@o2ib", NotIpv4, 0),
        ("fd99::/129@tcp", OutOfBounds(0, 128), 7),
        ("fd99::[12-1x]@tcp", NotHexadecimal, 10),
    ] {
        assert_eq!(text.parse::<NidList>(), Err(TextError::new(problem, at)), "{text:?}");
    }
}

#[test]
fn a_nid_matches_by_net_and_address() {
    for (text, yes, no) in [
        ("*@tcp", vec!["1.2.3.4@tcp", "fd99::1@tcp"], vec!["1.2.3.4@tcp1", "1.2.3.4@o2ib"]),
        ("10.0.0.[1-5]@tcp", vec!["10.0.0.1@tcp", "10.0.0.5@tcp"], vec!["10.0.0.6@tcp", "10.0.0.1@tcp1"]),
        ("[1-10/3]@gni", vec!["1@gni", "10@gni"], vec!["2@gni", "1@kfi"]),
        ("10.0.0.1@tcp 7@gni", vec!["10.0.0.1@tcp", "7@gni"], vec!["10.0.0.1@gip"]),
        ("fd99::1@tcp", vec!["fd99::1@tcp"], vec!["fd99::2@tcp", "253.153.0.0@tcp"]),
        ("0@lo", vec!["0@lo"], vec!["0.0.0.0@tcp"]),
        ("fd99::[90-92]@tcp", vec!["fd99::91@tcp"], vec!["fd99::5b@tcp", "fd99::91@tcp1", "fd99::91@efa"]),
        ("10.0.0.0/8@tcp", vec!["10.255.0.1@tcp"], vec!["11.0.0.1@tcp", "10.0.0.1@o2ib"]),
        ("2001:db8::/64@tcp", vec!["2001:db8::1:2@tcp"], vec!["2001:db8:1::@tcp", "32.1.13.184@tcp"]),
    ] {
        let list = list(text);
        for (nids, matches) in [(yes, true), (no, false)] {
            for text in nids {
                assert_eq!(list.matches(nid(text)), matches, "{list} {text}");
            }
        }
    }
}

#[test]
fn a_list_expands_with_the_leftmost_octet_slowest() {
    let nids = list("10.0.[2,1].[1-3/2]@tcp 5@gni 10.0.0.9@tcp").nids(10).unwrap();
    let text: Vec<_> = nids.iter().map(Nid::to_string).collect();
    assert_eq!(
        text,
        ["10.0.1.1@tcp", "10.0.1.3@tcp", "10.0.2.1@tcp", "10.0.2.3@tcp", "10.0.0.9@tcp", "5@gni"]
    );
    let nids = list("fd99::[9-b]@tcp fd99::/127@tcp 10.0.0.8/30@tcp fd99::[1-0]:*@tcp").nids(20).unwrap();
    let text: Vec<_> = nids.iter().map(Nid::to_string).collect();
    assert_eq!(
        text,
        [
            "fd99::9@tcp",
            "fd99::a@tcp",
            "fd99::b@tcp",
            "fd99::@tcp",
            "fd99::1@tcp",
            "10.0.0.8@tcp",
            "10.0.0.9@tcp",
            "10.0.0.10@tcp",
            "10.0.0.11@tcp"
        ]
    );
    assert_eq!(list("::/0@tcp").nids(100), Err(TooMany { count: u64::MAX, max: 100 }));
    assert_eq!(list("2001:db8::/112@tcp").nids(100), Err(TooMany { count: 1 << 16, max: 100 }));
    assert_eq!(list("*.*.*.*@tcp").nids(100), Err(TooMany { count: 1 << 32, max: 100 }));
    assert_eq!(list("*@tcp").nids(100), Err(TooMany { count: u64::MAX, max: 100 }));
}

fn entry() -> impl Strategy<Value = String> {
    prop_oneof![
        "10\\.0\\.(0|\\*|\\[0-1\\])\\.(\\[[0-3]-[0-9]\\]|[0-9]|\\*|\\[0-9/[1-3]\\])@(tcp|tcp1|o2ib)",
        "(\\[[0-3]-[0-9](/2)?,[0-9]\\]|[0-9]|\\*)@gni",
        "\\*@tcp1",
        "fd99::(0|\\*|\\[0-1\\]):(\\[[0-3]-[0-9a-f]\\]|[0-9a-f]|\\*|\\[0-[9a-f]/[1-3]\\])@(tcp|tcp1)",
        "(10\\.0\\.[0-3]\\.[0-9]/(2[2-9]|3[0-2])|fd99::[0-3]:[0-9a-f]/1(1[2-9]|2[0-8]))@(tcp|tcp1)",
    ]
}

proptest! {
    #[test]
    fn a_printed_list_reads_back_and_prints_the_same(entries in prop::collection::vec(entry(), 1..5)) {
        let printed = list(&entries.join(" ")).to_string();
        prop_assert_eq!(list(&printed).to_string(), printed);
    }

    #[test]
    fn matching_agrees_with_matching_each_entry_and_with_expansion(
        entries in prop::collection::vec(entry(), 1..5),
        octets in (0u8..3, 0u8..12),
        net in prop::sample::select(vec!["tcp", "tcp1", "o2ib", "gni"]),
        long: bool,
    ) {
        let nid = match net {
            "tcp" | "tcp1" if long => nid(&format!("fd99::{:x}:{:x}@{net}", octets.0, octets.1)),
            "gni" => nid(&format!("{}@gni", octets.1)),
            _ => nid(&format!("10.0.{}.{}@{net}", octets.0, octets.1)),
        };
        let all = list(&entries.join(" "));
        let singly = entries.iter().any(|entry| list(entry).matches(nid));
        prop_assert_eq!(all.matches(nid), singly);
        if let Ok(nids) = all.nids(100_000) {
            prop_assert_eq!(nids.contains(&nid), singly);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[ 0-9x,*/\\-\\[\\].:@tcplogni\u{e9}]{0,24}") {
        if let Err(e) = text.parse::<NidList>() {
            prop_assert!(e.at <= text.len());
        }
    }
}
