#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

#[test]
fn an_interval_has_one_net_and_no_gaps() {
    for (text, expected) in [
        ("10.0.0.1@tcp", Some(("10.0.0.1@tcp", "10.0.0.1@tcp"))),
        ("10.0.0.[1-5]@tcp", Some(("10.0.0.1@tcp", "10.0.0.5@tcp"))),
        ("10.0.0.[1,2,5,3-4]@tcp", Some(("10.0.0.1@tcp", "10.0.0.5@tcp"))),
        ("10.0.[1-2].*@tcp", Some(("10.0.1.0@tcp", "10.0.2.255@tcp"))),
        ("10.0.[0-1].[0-5]@tcp", None),
        ("10.0.[0-1].[1-255]@tcp", None),
        ("10.0.0.[250-255]@tcp 10.0.1.[0-5]@tcp", Some(("10.0.0.250@tcp", "10.0.1.5@tcp"))),
        ("10.0.0.[128-255]@tcp 10.0.0.[0-127]@tcp", Some(("10.0.0.0@tcp", "10.0.0.255@tcp"))),
        ("10.0.0.1@tcp 10.0.0.3@tcp", None),
        ("10.0.0.[1-9/2]@tcp", None),
        ("10.0.0.[1-9/2]@tcp 10.0.0.[2-8/2]@tcp", Some(("10.0.0.1@tcp", "10.0.0.9@tcp"))),
        ("10.0.0.[3-2]@tcp", None),
        ("10.0.0.1@tcp 10.0.0.2@tcp1", None),
        ("*@tcp", Some(("0.0.0.0@tcp", "255.255.255.255@tcp"))),
        ("*.*.*.*@tcp", Some(("0.0.0.0@tcp", "255.255.255.255@tcp"))),
        ("[1-10]@gni", Some(("1@gni", "10@gni"))),
        ("[1-10/3]@gni", None),
        ("[1-3,5]@gni 4@gni", Some(("1@gni", "5@gni"))),
        ("[0-1,2-4294967295]@gni", Some(("0@gni", "4294967295@gni"))),
        ("[0-4294967294/2]@gni [1-4294967295/2]@gni", None),
        ("fd99::1@tcp fd99::2@tcp", Some(("fd99::1@tcp", "fd99::2@tcp"))),
        ("fd99::1@tcp fd99::3@tcp", None),
        ("fd99::1@tcp 10.0.0.1@tcp", None),
        ("10.0.0.1@tcp fd99::1@tcp", None),
        ("fd99::[9-c]@tcp", Some(("fd99::9@tcp", "fd99::c@tcp"))),
        ("fd99::[9-c/2]@tcp fd99::a@tcp", Some(("fd99::9@tcp", "fd99::b@tcp"))),
        ("2001:db8::/64@tcp", Some(("2001:db8::@tcp", "2001:db8::ffff:ffff:ffff:ffff@tcp"))),
        ("2001:db8::[0-1]:*@tcp", Some(("2001:db8::@tcp", "2001:db8::1:ffff@tcp"))),
        ("2001:db8::[0-1]:[1-ffff]@tcp", None),
        ("fd99::[0-ffe/2]@tcp fd99::[1-fff/2]@tcp", Some(("fd99::@tcp", "fd99::fff@tcp"))),
        ("fd99::[0-fffe/2]@tcp fd99::[1-ffff/2]@tcp", None),
        ("10.0.0.0/9@tcp 10.128.0.0/9@tcp", Some(("10.0.0.0@tcp", "10.255.255.255@tcp"))),
        ("10.0.0.0/8@tcp 10.0.0.7@tcp 12.0.0.0/8@tcp", None),
        ("::/0@tcp", Some(("::@tcp", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff@tcp"))),
    ] {
        let expected = expected.map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap()));
        assert_eq!(text.parse::<NidList>().unwrap().interval(), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn an_interval_agrees_with_the_sorted_list_of_nids(
        entries in prop::collection::vec(
            ("10\\.0\\.([01]|\\[0-1\\])\\.(\\[[01]-[0-4]\\]|[0-3]|\\[2(48|50)-255\\]|\\[0-[4-8]/2\\]|\\*)@tcp|10\\.0\\.[01]\\.[0-8]/(2[3-9]|3[0-2])@tcp",),
            1..4,
        ),
        long in proptest::bool::ANY,
        v6 in prop::collection::vec(
            ("fd99::([01]|\\[0-1\\]):(\\[[01]-[0-4a]\\]|[0-3]|\\[fff8-ffff\\]|\\[0-[4-8]/2\\])@tcp|fd99::[01]:([0-8]|fff[0-8])/1(1[4-9]|2[0-8])@tcp",),
            1..4,
        ),
    ) {
        let entries = if long { v6 } else { entries };
        let text = entries.into_iter().map(|e| e.0).collect::<Vec<_>>().join(" ");
        let list: NidList = text.parse().unwrap();
        let mut nids = list.nids(1 << 20).unwrap();
        nids.sort_unstable();
        nids.dedup();
        let number = |nid: &Nid| match nid.address() {
            Address::Short(address) => address.into(),
            Address::Long(address) => u128::from_be_bytes(address),
        };
        let naive = match (nids.first(), nids.last()) {
            (Some(first), Some(last)) if number(last) - number(first) + 1 == nids.len() as u128 => {
                Some((*first, *last))
            }
            _ => None,
        };
        prop_assert_eq!(list.interval(), naive, "{}", text);
    }
}
