//! NID lists, address patterns and masks of both families, selectors and expressions: a text that can be read is printed so that it reads and
//! prints the same, and expansion, matching and intervals agree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_wire::{Expression, IpPrefix, IpRange, NidList, NidPattern, Selector};
use std::net::IpAddr;

/// The number of NIDs above which lists are only printed.
const MAX_NIDS: usize = 1000;

fuzz_target!(|text: &str| {
    match text.parse::<NidList>() {
        Ok(list) => check_list(&list),
        Err(error) => assert!(error.at <= text.len()),
    }
    if let Ok(range) = text.parse::<IpRange>() {
        let printed = range.to_string();
        assert_eq!(printed.parse::<IpRange>().map(|again| again.to_string()), Ok(printed));
        assert!(!range.is_v6() || range.octets().is_none());
    }
    if let Ok(prefix) = text.parse::<IpPrefix>() {
        assert_eq!(prefix.to_string().parse(), Ok(prefix));
        assert!(prefix.matches(prefix.first()));
    }
    if let Ok(selector) = text.parse::<Selector>() {
        let printed = selector.to_string();
        assert_eq!(printed.parse::<Selector>().map(|again| again.to_string()), Ok(printed));
    }
    // A mask alone, and that of a fault rule, match the same addresses.
    if let Ok(NidPattern::Prefix(prefix, net)) = text.parse() {
        for address in [prefix.first(), IpAddr::from([10, 0, 0, 1]), IpAddr::from([0xfd99, 0, 0, 0, 0, 0, 0, 1])] {
            let nid = lnet_wire::nid::Address::from(address).on(net);
            assert_eq!(NidPattern::Prefix(prefix, net).matches(nid), prefix.matches(address));
        }
    }
    if let Ok(expression) = Expression::parse(text, 0..=u32::MAX) {
        let printed = expression.to_string();
        let again = Expression::parse(&printed, 0..=u32::MAX);
        assert_eq!(again.map(|again| again.to_string()), Ok(printed));
        for value in expression.values(MAX_NIDS).unwrap_or_default() {
            assert!(expression.matches(value));
        }
    }
});

fn check_list(list: &NidList) {
    let printed = list.to_string();
    assert_eq!(printed.parse::<NidList>().map(|again| again.to_string()), Ok(printed));
    let Ok(mut nids) = list.nids(MAX_NIDS) else { return };
    assert!(nids.iter().all(|nid| list.matches(*nid)));
    nids.sort_unstable();
    if let Some((first, last)) = list.interval() {
        assert_eq!((nids.first(), nids.last()), (Some(&first), Some(&last)));
    }
}
