//! Types of the connections to a peer, and the type to be requested next (wire-tcp 2.11).

use crate::proto::ConnectionType;
use lnd_common::connect_schedule::Connected;
use lnet_settings::ni_ranges::CONNS_PER_PEER;

/// Open connections by type, connected and accepted alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConnCounts {
    pub(crate) any: usize,
    pub(crate) control: usize,
    pub(crate) bulk_in: usize,
    pub(crate) bulk_out: usize,
}

impl ConnCounts {
    pub(crate) fn of(kinds: impl IntoIterator<Item = ConnectionType>) -> Self {
        let mut counts = Self::default();
        for kind in kinds {
            *match kind {
                ConnectionType::Any => &mut counts.any,
                ConnectionType::Control => &mut counts.control,
                ConnectionType::BulkIn => &mut counts.bulk_in,
                ConnectionType::BulkOut => &mut counts.bulk_out,
            } += 1;
        }
        counts
    }

    /// Returns the state for the connect schedule: sufficient with at least one connection of every type, or with any
    /// untyped ones.
    pub(crate) const fn connected(self) -> Connected {
        let typed = self.control + self.bulk_in + self.bulk_out;
        if self.control > 0 && self.bulk_in > 0 && self.bulk_out > 0 || self.any > 0 && typed == 0 {
            Connected::Sufficiently
        } else if self.any + typed > 0 {
            Connected::Partly
        } else {
            Connected::Not
        }
    }
}

/// Returns the type to ask for next, until the set is complete: control, then bulk-in and bulk-out alternately up
/// to `per_peer` of each; or `per_peer` untyped ones.
pub(crate) const fn next_type(have: ConnCounts, typed: bool, per_peer: usize) -> Option<ConnectionType> {
    if !typed {
        return if have.any < per_peer { Some(ConnectionType::Any) } else { None };
    }
    if have.control == 0 {
        Some(ConnectionType::Control)
    } else if have.bulk_in <= have.bulk_out && have.bulk_in < per_peer {
        Some(ConnectionType::BulkIn)
    } else if have.bulk_out < per_peer {
        Some(ConnectionType::BulkOut)
    } else {
        None
    }
}

/// Returns the number of connections of each bulk type for the setting `requested`, at most the maximum of [`CONNS_PER_PEER`]. For 0 the speed
/// of the NI's link in Mbit/s decides, as in 2.15 and later (wire-tcp 2.11): floor(log2(Gbit/s)) / 2 + 1, and 1 where it is not known.
pub(crate) fn bulk_conns(requested: u32, speed: Option<u32>) -> u16 {
    let gigabits = speed.unwrap_or(0) / 1000;
    match requested {
        0 => gigabits.checked_ilog2().map_or(1, |log| log as u16 / 2 + 1),
        _ => requested.min(CONNS_PER_PEER.most as u32) as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::ConnectionType::{Any, BulkIn, BulkOut, Control};

    const NO: Option<ConnectionType> = None;

    #[test]
    fn connections_are_requested_in_the_captured_order() {
        for (typed, per_peer, want) in [
            (true, 1, vec![Control, BulkIn, BulkOut]),
            (true, 2, vec![Control, BulkIn, BulkOut, BulkIn, BulkOut]),
            (false, 2, vec![Any, Any]),
        ] {
            let mut have = Vec::new();
            while let Some(kind) = next_type(ConnCounts::of(have.iter().copied()), typed, per_peer) {
                have.push(kind);
            }
            assert_eq!(have, want);
        }
    }

    #[test]
    fn without_a_number_the_link_decides_how_many_bulk_connections_there_are() {
        for (requested, speed, expected) in [
            (0, None, 1),
            (0, Some(10), 1),
            (0, Some(1_000), 1),
            (0, Some(2_500), 1),
            (0, Some(5_000), 2),
            (0, Some(10_000), 2),
            (0, Some(25_000), 3),
            (0, Some(40_000), 3),
            (0, Some(56_000), 3),
            (0, Some(100_000), 4),
            (0, Some(200_000), 4),
            (0, Some(400_000), 5),
            (0, Some(u32::MAX), 12),
            (1, Some(100_000), 1),
            (4, None, 4),
            (127, None, 127),
            (128, Some(1_000), 127),
        ] {
            assert_eq!(bulk_conns(requested, speed), expected, "{requested} at {speed:?}");
        }
    }

    #[test]
    fn connections_opened_by_the_peer_count() {
        for (have, want) in [
            (vec![BulkIn], Some(Control)),
            (vec![Control, BulkOut], Some(BulkIn)),
            (vec![Control, BulkIn], Some(BulkOut)),
            (vec![Control, Control, BulkIn, BulkOut], NO),
            (vec![Control, BulkIn, BulkIn], Some(BulkOut)),
        ] {
            assert_eq!(next_type(ConnCounts::of(have.clone()), true, 1), want, "{have:?}");
        }
    }

    #[test]
    fn connections_are_sufficient_when_every_type_is_there_or_all_are_untyped() {
        for (kinds, connected) in [
            (vec![], Connected::Not),
            (vec![Control, BulkIn], Connected::Partly),
            (vec![Any, Control], Connected::Partly),
            (vec![Any], Connected::Sufficiently),
            (vec![Control, BulkIn, BulkOut], Connected::Sufficiently),
            (vec![Any, Control, BulkIn, BulkOut], Connected::Sufficiently),
        ] {
            assert_eq!(ConnCounts::of(kinds.clone()).connected(), connected, "{kinds:?}");
        }
    }
}
