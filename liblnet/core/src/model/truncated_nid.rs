//! NIDs that remain of IPv6 NIDs where these were shortened to eight bytes.
//!
//! A kernel node of 2.17 with NIDs of both families in one net may send to an IPv4 NID from an IPv6 interface. It then speaks a protocol
//! in which its NID does not fit, and names itself by the first four bytes of its IPv6 address: `fd99:1::11@tcp` becomes
//! `253.153.0.1@tcp`. No node has that NID, and none is to be merged with it. A node that really has such an IPv4 address must not be
//! taken for a shortened one: see [`whole_nid`].

use lnet_wire::Nid;
use lnet_wire::nid::Address;

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

/// The same as long as the node of `source` has told nothing, by the IPv6 NIDs `known` of other nodes: only if no interface can have the
/// address in `source`. Any other address may be that of a node which has it.
pub(crate) fn whole_nid_of_impossible(source: Nid, known: impl FnOnce() -> Vec<Nid>) -> Option<Nid> {
    if !is_impossible(source) {
        return None;
    }
    known().into_iter().find(|nid| truncated(*nid) == Some(source))
}

/// Whether no interface can have the IPv4 address in this NID: it is reserved, or means several interfaces.
const fn is_impossible(nid: Nid) -> bool {
    match nid.address() {
        Address::Short(address) => matches!((address >> 24) as u8, 0 | 224..),
        Address::Long(_) => false,
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
    fn without_the_nodes_own_word_only_an_address_that_none_can_have_is_a_shortened_one() {
        let known = || vec![nid("fd99:1::11@tcp"), nid("2001:db8::1@tcp"), nid("10.0.0.1@tcp")];
        for (source, whole) in [
            ("253.153.0.1@tcp", Some("fd99:1::11@tcp")),
            ("253.153.0.2@tcp", None),
            // Somebody may have this address.
            ("32.1.13.184@tcp", None),
            ("10.0.0.1@tcp", None),
        ] {
            assert_eq!(whole_nid_of_impossible(nid(source), known), whole.map(nid), "{source}");
        }
        assert_eq!(whole_nid_of_impossible(nid("10.0.0.1@tcp"), || panic!("searched for nothing")), None);
    }
}
