//! Delivery ACKs on the wire (the kernel's zero-copy cookies, wire-tcp 3.4): which peers are asked for them, how they are
//! sent, and how received ones are read.

use crate::proto::Version;
use crate::proto::frame::{Cookies, KEEPALIVE_COOKIE};

/// Maximum length of a range of delivery ACKs: a node of this implementation sends a range before it is longer.
pub(crate) const MAX_ACK_RANGE: u64 = 64;

/// The choice of messages that ask for a delivery ACK, if the peer can send one. A message that does not ask is
/// complete when it has been passed to the socket, whether or not it arrives, like small messages in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeliveryAcks {
    /// All messages.
    All,
    /// All messages to nodes of this implementation; to other nodes only those of `zc_min_payload`.
    SameImplementation,
    /// Messages with a payload of `zc_min_payload` bytes or more, which are none by default.
    #[default]
    Large,
}

/// The properties of a message and its peer that decide whether the message asks for a delivery ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckRequest {
    /// Whether the peer is a node of this implementation.
    pub(crate) same_implementation: bool,
    pub(crate) version: Version,
    /// Whether this node has an open connection to the peer for bulk outwards.
    pub(crate) bulk_out: bool,
    /// Whether the payload has at least `zc_min_payload` bytes.
    pub(crate) large: bool,
    /// Whether this end of the connection has a privileged port, or the port that others connect to. Otherwise a
    /// kernel node takes each connection for a separate peer.
    pub(crate) proper_port: bool,
}

impl DeliveryAcks {
    /// Whether a message asks for a delivery ACK. Version 1 has no field for it. A kernel sends delivery ACKs only on a
    /// connection that is for bulk towards it, and ends the others if there is none.
    pub(crate) const fn wanted(self, asked: AckRequest) -> bool {
        let can = !matches!(asked.version, Version::V1);
        let kernel_can = asked.bulk_out && (asked.large || asked.proper_port);
        match self {
            Self::All => can && (asked.same_implementation || kernel_can),
            Self::SameImplementation => can && (asked.same_implementation || asked.large && kernel_can),
            Self::Large => can && asked.large && kernel_can,
        }
    }
}

/// The delivery ACKs in the cookies of a received message or NOOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AcksIn {
    /// No delivery ACK.
    Nothing,
    /// A delivery ACK for this cookie.
    One(u64),
    /// Delivery ACKs for these two cookies.
    Pair(u64, u64),
    /// Delivery ACKs for all cookies from the first to the second.
    Range(u64, u64),
}

impl AcksIn {
    /// Reads the delivery ACKs of a NOOP on a connection of `version`.
    pub(crate) const fn by_noop(version: Version, cookies: Cookies) -> Self {
        match (cookies.request, cookies.ack) {
            (0, ack) => Self::one(version, ack),
            (a, b) if a > b => Self::Pair(a, b),
            (a, b) => Self::Range(a, b),
        }
    }

    /// Reads the delivery ACK of an LNet message on a connection of `version`.
    pub(crate) const fn by_message(version: Version, cookies: Cookies) -> Self {
        Self::one(version, cookies.ack)
    }

    const fn one(version: Version, cookie: u64) -> Self {
        match (version, cookie) {
            (_, 0) => Self::Nothing,
            (Version::V3 | Version::V4, KEEPALIVE_COOKIE) => Self::Nothing,
            _ => Self::One(cookie),
        }
    }
}

/// Returns the NOOPs that carry these delivery ACKs; only a few ACKs are packed at once. Sorts them.
pub(crate) fn pack(acks: &mut [u64]) -> impl Iterator<Item = Cookies> {
    acks.sort_unstable();
    let mut rest = &*acks;
    let mut single = None;
    std::iter::from_fn(move || {
        while let Some((first, _)) = rest.split_first() {
            let run = 1 + rest.windows(2).take_while(|pair| pair[0].checked_add(1) == Some(pair[1])).count();
            rest = rest.get(run..).unwrap_or_default();
            if run > 1 {
                return Some(Cookies { request: *first, ack: first + (run as u64 - 1) });
            }
            match single.take() {
                None => single = Some(*first),
                // The greater before the lesser: a pair.
                Some(lesser) => return Some(Cookies { request: *first, ack: lesser }),
            }
        }
        single.take().map(|ack| Cookies { request: 0, ack })
    })
}

/// Returns the NOOP that carries the delivery ACKs of two, which are ranges, if the second follows on the first, and they are not too many
/// together.
pub(crate) fn join(first: Cookies, second: Cookies) -> Option<Cookies> {
    let is_range = |cookies: Cookies| cookies.request != 0 && cookies.request <= cookies.ack;
    let follows = first.ack.checked_add(1) == Some(second.request);
    let joined = Cookies { request: first.request, ack: second.ack };
    let may_join = is_range(first) && is_range(second) && follows;
    (may_join && joined.ack - joined.request < MAX_ACK_RANGE).then_some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn noop(request: u64, ack: u64) -> AcksIn {
        AcksIn::by_noop(Version::V3, Cookies { request, ack })
    }

    #[test]
    fn what_the_cookies_of_a_noop_say() {
        for (a, b, want) in [
            (0, 0, AcksIn::Nothing),
            (0, 1, AcksIn::Nothing),
            (0, 5, AcksIn::One(5)),
            (6, 5, AcksIn::Pair(6, 5)),
            (5, 5, AcksIn::Range(5, 5)),
            (5, 9, AcksIn::Range(5, 9)),
            (2, 1, AcksIn::Pair(2, 1)),
            (1, 2, AcksIn::Range(1, 2)),
        ] {
            assert_eq!(noop(a, b), want, "{a} {b}");
        }
        let keepalive = Cookies { request: 0, ack: 1 };
        assert_eq!(AcksIn::by_noop(Version::V2, keepalive), AcksIn::One(1));
        assert_eq!(AcksIn::by_message(Version::V3, Cookies { request: 9, ack: 4 }), AcksIn::One(4));
    }

    #[test]
    fn a_delivery_ack_is_requested_where_the_peer_can_give_one() {
        let kernel = AckRequest {
            same_implementation: false,
            version: Version::V3,
            bulk_out: true,
            large: false,
            proper_port: true,
        };
        let same_implementation =
            AckRequest { same_implementation: true, bulk_out: false, proper_port: false, ..kernel };
        for (name, asked, all, our_nodes, large) in [
            ("same implementation", same_implementation, true, true, false),
            (
                "same implementation, large",
                AckRequest { large: true, ..same_implementation },
                true,
                true,
                false,
            ),
            (
                "same implementation, version 1",
                AckRequest { version: Version::V1, ..same_implementation },
                false,
                false,
                false,
            ),
            ("a kernel", kernel, true, false, false),
            ("a kernel, much", AckRequest { large: true, ..kernel }, true, true, true),
            (
                "a kernel, version 1",
                AckRequest { version: Version::V1, large: true, ..kernel },
                false,
                false,
                false,
            ),
            (
                "no connection for the delivery ACK",
                AckRequest { bulk_out: false, large: true, ..kernel },
                false,
                false,
                false,
            ),
            ("from any port", AckRequest { proper_port: false, ..kernel }, false, false, false),
            (
                "from any port, much",
                AckRequest { proper_port: false, large: true, ..kernel },
                true,
                true,
                true,
            ),
        ] {
            let got = [DeliveryAcks::All, DeliveryAcks::SameImplementation, DeliveryAcks::Large]
                .map(|acks| acks.wanted(asked));
            assert_eq!(got, [all, our_nodes, large], "{name}");
        }
    }

    #[test]
    fn several_delivery_acks_share_a_noop() {
        type Row = (&'static [u64], &'static [(u64, u64)]);
        let table: [Row; 8] = [
            (&[], &[]),
            (&[7], &[(0, 7)]),
            (&[8, 7], &[(7, 8)]),
            (&[9, 7], &[(9, 7)]),
            (&[10, 7, 9, 8], &[(7, 10)]),
            (&[1000, 7, 9, 8], &[(7, 9), (0, 1000)]),
            (&[1, 3, 5, 7], &[(3, 1), (7, 5)]),
            (&[u64::MAX, u64::MAX - 1, 3], &[(u64::MAX - 1, u64::MAX), (0, 3)]),
        ];
        for (acks, want) in table {
            let got: Vec<_> = pack(&mut acks.to_vec()).map(|noop| (noop.request, noop.ack)).collect();
            assert_eq!(got, want, "{acks:?}");
        }
    }

    #[test]
    fn ranges_of_delivery_acks_that_follow_each_other_join_up_to_the_longest() {
        let most = MAX_ACK_RANGE;
        for (first, second, want) in [
            ((7, 10), (11, 12), Some((7, 12))),
            ((7, 7), (8, 8), Some((7, 8))),
            ((7, 10), (12, 13), None),
            ((7, 10), (10, 13), None),
            ((11, 12), (7, 10), None),
            ((0, 10), (11, 12), None),
            ((7, 10), (0, 11), None),
            ((9, 7), (8, 9), None),
            ((8, 10), (11, 9), None),
            ((2, most), (most + 1, most + 1), Some((2, most + 1))),
            ((2, most), (most + 1, most + 2), None),
            ((u64::MAX, u64::MAX), (0, 1), None),
        ] {
            let cookies = |(request, ack)| Cookies { request, ack };
            let got = join(cookies(first), cookies(second)).map(|noop| (noop.request, noop.ack));
            assert_eq!(got, want, "{first:?} {second:?}");
        }
    }

    proptest! {
        #[test]
        fn packed_delivery_acks_unpack_to_the_same_set(acks in prop::collection::btree_set(2_u64..30, 0..10)) {
            let mut packed: Vec<u64> = acks.iter().rev().copied().collect();
            let mut got = Vec::new();
            for cookies in pack(&mut packed) {
                match AcksIn::by_noop(Version::V3, cookies) {
                    AcksIn::Nothing => {}
                    AcksIn::One(a) => got.push(a),
                    AcksIn::Pair(a, b) => got.extend([a, b]),
                    AcksIn::Range(a, b) => got.extend(a..=b),
                }
            }
            got.sort_unstable();
            prop_assert_eq!(got, acks.into_iter().collect::<Vec<_>>());
        }
    }
}
