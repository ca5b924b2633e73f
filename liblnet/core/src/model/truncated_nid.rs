//! NIDs that remain of IPv6 NIDs where these were shortened to eight bytes.
//!
//! A kernel node of 2.17 with NIDs of both families in one net may send to an IPv4 NID from an IPv6 interface. It then speaks a protocol
//! in which its NID does not fit, and names itself by the first four bytes of its IPv6 address: `fd99:1::11@tcp` becomes
//! `253.153.0.1@tcp`. No node has that NID, and none is to be merged with it. A node that really has such an IPv4 address must not be
//! taken for a shortened one: see [`whole_nid`].

use lnet_wire::nid::Address;
use lnet_wire::{NetType, Nid};
use std::fmt;
use std::ops::RangeInclusive;

/// The NID that remains of an IPv6 NID if only the first four bytes of its address are kept; `None` for other NIDs.
pub(crate) const fn truncated(nid: Nid) -> Option<Nid> {
    match nid.address() {
        Address::Short(_) => None,
        Address::Long([a, b, c, d, ..]) => Some(Nid::new(nid.net(), u32::from_be_bytes([a, b, c, d]))),
    }
}

/// The IPv6 NID that `source`, from which a message came, was shortened from, by the NIDs that its node has told.
///
/// The node does not claim `source` itself, and claims an IPv6 NID that begins with it.
pub(crate) fn whole_nid(source: Nid, told: &[Nid]) -> Option<Nid> {
    let is_whole = |nid: &&Nid| truncated(**nid) == Some(source);
    told.iter().find(is_whole).copied().filter(|_| !told.contains(&source))
}

/// The same as long as the node of `source` has told nothing, by the IPv6 NIDs `known` of other nodes: only if hardly any interface has
/// the address in `source`. Any other address may be that of a node which has it.
///
/// A shortened IPv6 address of a private network (`fc00::/7`) is recognised without the whole NID; other reserved addresses only with it.
pub(crate) fn whole_of_reserved(source: Nid, known: impl FnOnce() -> Vec<Nid>) -> Option<Whole> {
    let Address::Short(address) = source.address() else { return None };
    let [first, ..] = address.to_be_bytes();
    if first < FIRST_RESERVED || source.net().kind() != NetType::TCP {
        return None;
    }
    let is_whole = |nid: &Nid| truncated(*nid) == Some(source);
    let nid = known().into_iter().find(is_whole).map(Whole::Nid);
    nid.or_else(|| PRIVATE_IPV6.contains(&first).then_some(Whole::Unknown(address)))
}

/// The first byte of the lowest reserved IPv4 address (240.0.0.0/4).
const FIRST_RESERVED: u8 = 240;

/// The first bytes of the IPv6 addresses of private networks.
const PRIVATE_IPV6: RangeInclusive<u8> = 0xfc..=0xfd;

/// The NID that a shortened one was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    /// The NID.
    Nid(Nid),
    /// The NID is not known, only the first four bytes of its address.
    Unknown(u32),
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nid(nid) => nid.fmt(f),
            Self::Unknown(start) => write!(f, "an IPv6 NID ({:x}:{:x}:...)", start >> 16, start & 0xffff),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn nid(text: &str) -> Nid {
        text.parse().unwrap()
    }

    #[test]
    fn the_first_four_bytes_of_an_ipv6_address_remain() {
        for (whole, short) in [
            ("fd99:1::11@tcp", Some("253.153.0.1@tcp")),
            ("fd99::12@tcp3", Some("253.153.0.0@tcp3")),
            ("2001:db8::1@tcp", Some("32.1.13.184@tcp")),
            ("10.0.0.1@tcp", None),
        ] {
            assert_eq!(truncated(nid(whole)), short.map(nid), "{whole}");
        }
    }

    #[test]
    fn a_node_that_does_not_claim_the_nid_and_claims_one_that_begins_with_it_has_shortened_that() {
        let both: &[&str] = &["10.99.0.11@tcp", "fd99:1::11@tcp"];
        for (source, told, whole) in [
            ("253.153.0.1@tcp", both, Some("fd99:1::11@tcp")),
            ("253.153.0.1@tcp1", both, None),
            ("253.153.0.2@tcp", both, None),
            ("10.99.0.11@tcp", both, None),
            // A node that has both NIDs.
            ("32.1.13.184@tcp", &["32.1.13.184@tcp", "2001:db8::1@tcp"], None),
            ("32.1.13.184@tcp", &["10.99.0.11@tcp", "2001:db8::1@tcp"], Some("2001:db8::1@tcp")),
            ("253.153.0.1@tcp", &["10.99.0.11@tcp"], None),
        ] {
            let told: Vec<Nid> = told.iter().map(|text| nid(text)).collect();
            assert_eq!(whole_nid(nid(source), &told), whole.map(nid), "{source} of {told:?}");
        }
    }

    #[test]
    fn without_the_nodes_own_word_only_a_reserved_address_is_a_shortened_one() {
        let known =
            || vec![nid("fd99:1::11@tcp"), nid("2001:db8::1@tcp"), nid("f001:2::1@tcp"), nid("10.0.0.1@tcp")];
        for (source, whole) in [
            ("253.153.0.1@tcp", Some("fd99:1::11@tcp")),
            ("253.153.0.2@tcp", Some("an IPv6 NID (fd99:2:...)")),
            ("240.1.0.2@tcp", Some("f001:2::1@tcp")),
            // Somebody may have these addresses.
            ("240.1.0.3@tcp", None),
            ("32.1.13.184@tcp", None),
            ("10.0.0.1@tcp", None),
            ("fd99:1::11@tcp", None),
        ] {
            let found = whole_of_reserved(nid(source), known).map(|whole| whole.to_string());
            assert_eq!(found.as_deref(), whole, "{source}");
        }
        assert_eq!(whole_of_reserved(nid("10.0.0.1@tcp"), || panic!("searched for nothing")), None);
    }
}
