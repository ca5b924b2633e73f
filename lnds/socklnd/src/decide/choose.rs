//! Choice of a peer's connection for a message or NOOP (wire-tcp 3.5).

use crate::proto::frame::head_len;
use crate::proto::{ConnectionType, Version};

/// The kind of a message or NOOP, which decides the type of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TxKind {
    /// An LNet message with this number of payload bytes.
    Message(usize),
    /// A NOOP with a delivery ACK.
    Ack,
    /// A NOOP that must not wait behind bulk: a keep-alive.
    Keepalive,
}

/// The properties of a connection that the choice depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) kind: ConnectionType,
    pub(crate) version: Version,
    /// Bytes queued on the connection and not yet written.
    pub(crate) unsent: usize,
    /// Number of the last use: the higher, the more recent.
    pub(crate) last_used: u64,
}

impl Candidate {
    /// The order of candidates with the same rating: the least first.
    const fn load(&self) -> (usize, u64) {
        (self.unsent, self.last_used)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rating {
    No,
    Maybe,
    Yes,
}

/// Returns the index of the best connection, if any will do: the best rated, of these the one with the fewest
/// unsent bytes, of these the one not used for longest.
#[inline]
pub(crate) fn choose(
    candidates: impl IntoIterator<Item = Candidate>,
    tx: TxKind,
    min_bulk: u32,
) -> Option<usize> {
    let mut best: Option<(Rating, Candidate, usize)> = None;
    for (index, candidate) in candidates.into_iter().enumerate() {
        let rating = rate(candidate.kind, candidate.version, tx, min_bulk);
        // Most often one is rated best, and its load does not matter.
        let is_better = match &best {
            None => rating != Rating::No,
            Some((best_rating, _, _)) if rating != *best_rating => rating > *best_rating,
            Some((_, best, _)) => candidate.load() < best.load(),
        };
        if is_better {
            best = Some((rating, candidate, index));
        }
    }
    best.map(|(.., index)| index)
}

/// Whether a message with this number of payload bytes is small on a connection of any version.
#[inline]
pub(crate) const fn is_small(payload: usize, min_bulk: u32) -> bool {
    head_len(Version::V4) + payload < min_bulk as usize
}

/// The index of the connection that [`choose`] returns for every small message, whatever the loads are: the only one that is rated best.
pub(crate) fn only_for_small(
    candidates: impl IntoIterator<Item = (ConnectionType, Version)>,
    min_bulk: u32,
) -> Option<usize> {
    let rating = |(kind, version)| rate(kind, version, TxKind::Message(0), min_bulk);
    let mut only = None;
    let mut best = if is_small(0, min_bulk) { Rating::No } else { return None };
    for (index, rating) in candidates.into_iter().map(rating).enumerate() {
        if rating >= best {
            only = (rating > best).then_some(index);
            best = rating;
        }
    }
    only
}

/// Whether a connection of this kind, which is [`only_for_small`], is the one that [`choose`] returns for delivery ACKs, whatever the loads
/// are: each that is rated best for them is rated best for small messages, too.
#[inline]
pub(crate) fn is_best_for_acks(kind: ConnectionType, version: Version) -> bool {
    rate(kind, version, TxKind::Ack, u32::MAX) == Rating::Yes
}

#[inline]
fn rate(kind: ConnectionType, version: Version, tx: TxKind, min_bulk: u32) -> Rating {
    use ConnectionType::{Any, BulkIn, BulkOut, Control};
    use Rating::{Maybe, No, Yes};
    let typed = version >= Version::V3;
    let bulk = match tx {
        TxKind::Message(payload) => head_len(version) + payload >= min_bulk as usize,
        TxKind::Ack | TxKind::Keepalive => false,
    };
    match (tx, kind) {
        (_, Any) if !typed => Yes,
        (_, BulkIn) if !typed => Maybe,
        // The kernel's versions 3 and 4 never send on an untyped connection; but everybody receives on
        // any, so as a last resort it beats losing the message.
        (TxKind::Message(_), Any) => Maybe,
        (TxKind::Message(_), Control) => {
            if bulk {
                Maybe
            } else {
                Yes
            }
        }
        (TxKind::Message(_), BulkIn) => No,
        (TxKind::Message(_), BulkOut) => {
            if bulk {
                Yes
            } else {
                Maybe
            }
        }
        (_, Control | BulkOut) if !typed => {
            if kind == Control {
                Yes
            } else {
                Maybe
            }
        }
        (TxKind::Ack, Control) => Yes,
        (TxKind::Ack, BulkIn | BulkOut) => Maybe,
        (TxKind::Ack, Any) => No,
        (TxKind::Keepalive, BulkIn) => Yes,
        (TxKind::Keepalive, _) => No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::ConnectionType::{Any, BulkIn, BulkOut, Control};
    use Rating::{Maybe, No, Yes};

    #[test]
    fn connections_are_rated_by_type_version_and_message() {
        // 24 + 72 bytes stand before the payload, so 928 bytes of payload are the first bulk.
        let (small, big) = (TxKind::Message(927), TxKind::Message(928));
        let (ack, keepalive) = (TxKind::Ack, TxKind::Keepalive);
        for (version, kind, want) in [
            (Version::V3, Any, [Maybe, Maybe, No, No]),
            (Version::V3, Control, [Yes, Maybe, Yes, No]),
            (Version::V3, BulkIn, [No, No, Maybe, Yes]),
            (Version::V3, BulkOut, [Maybe, Yes, Maybe, No]),
            (Version::V2, Any, [Yes, Yes, Yes, Yes]),
            (Version::V2, BulkIn, [Maybe, Maybe, Maybe, Maybe]),
            (Version::V2, Control, [Yes, Maybe, Yes, Yes]),
            (Version::V2, BulkOut, [Maybe, Yes, Maybe, Maybe]),
        ] {
            let got = [small, big, ack, keepalive].map(|tx| rate(kind, version, tx, 1024));
            assert_eq!(got, want, "{version:?} {kind:?}");
        }
        assert_eq!(rate(Control, Version::V4, TxKind::Message(903), 1024), Yes);
        assert_eq!(rate(Control, Version::V4, TxKind::Message(904), 1024), Maybe);
        assert_eq!(rate(Control, Version::V1, TxKind::Message(951), 1024), Yes);
        assert_eq!(rate(Control, Version::V1, TxKind::Message(952), 1024), Maybe);
    }

    #[test]
    fn the_only_connection_for_small_messages_is_chosen_for_them_under_any_load() {
        for (kinds, only) in [
            (&[][..], None),
            (&[BulkIn][..], None),
            (&[Control], Some(0)),
            (&[Any], Some(0)),
            (&[BulkIn, BulkOut, Control], Some(2)),
            (&[BulkOut, Any], None),
            (&[Control, BulkOut, Control], None),
            (&[BulkOut, Control, Any], Some(1)),
        ] {
            let of_version = kinds.iter().map(|kind| (*kind, Version::V3));
            assert_eq!(only_for_small(of_version, 1024), only, "{kinds:?}");
            let longest = 1024 - head_len(Version::V4) - 1;
            assert!(is_small(longest, 1024) && !is_small(longest + 1, 1024));
            let Some(only) = only else { continue };
            for payload in [0, longest] {
                let loaded = kinds.iter().enumerate().map(|(at, kind)| match at == only {
                    true => on(*kind, 9, 9),
                    false => on(*kind, 0, 0),
                });
                assert_eq!(choose(loaded, TxKind::Message(payload), 1024), Some(only), "{kinds:?}");
            }
        }
        assert_eq!(only_for_small([(Control, Version::V3)], 0), None, "no message is small");
    }

    /// wire-tcp 3.5: fails if delivery ACKs leave by another connection than the one that is rated best for them.
    #[test]
    fn the_only_connection_for_small_messages_is_that_for_acks_if_it_is_rated_best_for_them() {
        let all = [Any, Control, BulkIn, BulkOut];
        let mut found = 0;
        for (version, kinds) in [Version::V2, Version::V3]
            .into_iter()
            .flat_map(|version| (0..all.len().pow(3)).map(move |number| (version, number)))
            .map(|(version, number)| (version, [number % 4, number / 4 % 4, number / 16].map(|at| all[at])))
        {
            let only = only_for_small(kinds.iter().map(|kind| (*kind, version)), 1024);
            let Some(only) = only.filter(|only| is_best_for_acks(kinds[*only], version)) else { continue };
            let loaded = kinds.iter().enumerate().map(|(at, kind)| {
                let load = u8::from(at == only);
                Candidate { version, ..on(*kind, load.into(), load.into()) }
            });
            assert_eq!(choose(loaded, TxKind::Ack, 1024), Some(only), "{version:?} {kinds:?}");
            found += 1;
        }
        assert!(found > 20, "{found}");
    }

    fn on(kind: ConnectionType, unsent: usize, last_used: u64) -> Candidate {
        Candidate { kind, version: Version::V3, unsent, last_used }
    }

    #[test]
    fn the_best_rated_connection_wins_then_the_shortest_queue_then_the_longest_unused() {
        let message = TxKind::Message(4096);
        for (name, candidates, want) in [
            ("none", vec![], None),
            ("only bulk-in", vec![on(BulkIn, 0, 0)], None),
            ("only control", vec![on(Control, 9, 9)], Some(0)),
            ("bulk-out though it is busy", vec![on(Control, 0, 0), on(BulkOut, 1 << 20, 5)], Some(1)),
            ("shorter queue", vec![on(BulkOut, 5, 0), on(BulkOut, 4, 9)], Some(1)),
            ("unused for longer", vec![on(BulkOut, 5, 2), on(BulkOut, 5, 1), on(BulkOut, 5, 3)], Some(1)),
        ] {
            assert_eq!(choose(candidates, message, 1024), want, "{name}");
        }
    }
}
