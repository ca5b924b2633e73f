//! The candidates of selection: local nets, local NIs and peer NIs, with their criteria in order.

use super::compare::{Candidate, Criterion, first_difference};
use crate::model::{Preference, RouteState};

/// The state of a path, the best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathState {
    /// The path works, as far as is known.
    #[default]
    Usable,
    /// The message has failed elsewhere, and nothing has arrived over this path since it last failed, if ever; or the
    /// path is suspect.
    Unproven,
    /// The path is unresponsive, or the message has failed on it.
    Unresponsive,
    /// The message has failed on it, and unresponsive paths may have recovered.
    Failed,
}

impl PathState {
    /// The criterion by which a path of a worse state loses.
    const fn criterion(self) -> Criterion {
        match self {
            Self::Unproven => Criterion::Unproven,
            Self::Usable | Self::Unresponsive | Self::Failed => Criterion::Unresponsive,
        }
    }
}

/// A local NI on the selected net (core-behaviour 2.4). The criterion of direct memory access between devices does
/// not arise in user space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalNiCandidate {
    /// The driver reports a fatal error.
    pub fatal: bool,
    /// The state of the path to the peer.
    pub path_state: PathState,
    /// Health value.
    pub health: u32,
    /// Priority by selection rules; `u32::MAX` is the lowest.
    pub priority: u32,
    /// The end of its last turn, where rules count messages.
    pub turn_ended: u64,
    /// How much rules prefer it for the destination.
    pub preference: Preference,
    /// NUMA distance to the memory, not below `numa_range`.
    pub distance: u32,
    /// Send credits; negative by the number of messages that wait.
    pub credits: i32,
    /// Its last use: higher is more recent, 0 is never.
    pub last_use: u64,
}

impl Candidate for LocalNiCandidate {
    fn beats(&self, best: &Self) -> (bool, Criterion) {
        first_difference! {
            best.fatal.cmp(&self.fatal) => Criterion::Fatal,
            best.path_state.cmp(&self.path_state) => self.path_state.criterion(),
            self.health.cmp(&best.health) => Criterion::Health,
            best.priority.cmp(&self.priority) => Criterion::Priority,
            best.preference.priority.cmp(&self.preference.priority) => Criterion::Preferred,
            best.preference.turn_ended.cmp(&self.preference.turn_ended) => Criterion::MessageTurn,
            best.turn_ended.cmp(&self.turn_ended) => Criterion::MessageTurn,
            best.distance.cmp(&self.distance) => Criterion::Distance,
            self.credits.cmp(&best.credits) => Criterion::Credits,
            best.last_use.cmp(&self.last_use) => Criterion::RoundRobin,
        }
    }
}

/// A peer NI on the selected net (core-behaviour 2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerNiCandidate {
    /// The state of the path from the selected local NI.
    pub path_state: PathState,
    /// Health value.
    pub health: u32,
    /// Priority by selection rules; `u32::MAX` is the lowest.
    pub priority: u32,
    /// The end of its last turn, where rules count messages.
    pub turn_ended: u64,
    /// How much rules prefer it for the selected local NI or gateway.
    pub preference: Preference,
    /// Bytes queued for it or in flight; the same for all where they are not compared (snd-035).
    pub queued_bytes: u64,
    /// Send credits; negative by the number of messages that wait.
    pub credits: i32,
    /// Its last use: higher is more recent, 0 is never.
    pub last_use: u64,
}

impl Candidate for PeerNiCandidate {
    fn beats(&self, best: &Self) -> (bool, Criterion) {
        first_difference! {
            best.path_state.cmp(&self.path_state) => self.path_state.criterion(),
            self.health.cmp(&best.health) => Criterion::Health,
            best.priority.cmp(&self.priority) => Criterion::Priority,
            best.preference.priority.cmp(&self.preference.priority) => Criterion::Preferred,
            best.turn_ended.cmp(&self.turn_ended) => Criterion::MessageTurn,
            best.queued_bytes.cmp(&self.queued_bytes) => Criterion::QueuedBytes,
            self.credits.cmp(&best.credits) => Criterion::Credits,
            best.last_use.cmp(&self.last_use) => Criterion::RoundRobin,
        }
    }
}

/// A net that both nodes are on (core-behaviour 2.3). Nets on which this node has no working NI come last (PS-15), and the health
/// of both ends comes before every rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetCandidate {
    /// All local NIs on it have a fatal error.
    pub fatal: bool,
    /// The state of the best path on it.
    pub path_state: PathState,
    /// The best health of the peer NIs on it.
    pub peer_health: u32,
    /// The best health of the local NIs on it.
    pub local_health: u32,
    /// The priority of the peer's net by selection rules.
    pub peer_priority: u32,
    /// The priority of the local net by selection rules.
    pub local_priority: u32,
    /// The end of the last turn of the peer's net, where rules count messages.
    pub peer_turn_ended: u64,
    /// The end of the last turn of the local net, where rules count messages.
    pub local_turn_ended: u64,
    /// The last use of the peer's net.
    pub peer_last_use: u64,
    /// The last use of the local net.
    pub local_last_use: u64,
}

impl Candidate for NetCandidate {
    fn beats(&self, best: &Self) -> (bool, Criterion) {
        first_difference! {
            best.fatal.cmp(&self.fatal) => Criterion::Fatal,
            best.path_state.cmp(&self.path_state) => self.path_state.criterion(),
            self.peer_health.cmp(&best.peer_health) => Criterion::Health,
            self.local_health.cmp(&best.local_health) => Criterion::LocalNetHealth,
            best.peer_priority.cmp(&self.peer_priority) => Criterion::Priority,
            best.local_priority.cmp(&self.local_priority) => Criterion::LocalNetPriority,
            best.peer_turn_ended.cmp(&self.peer_turn_ended) => Criterion::MessageTurn,
            best.local_turn_ended.cmp(&self.local_turn_ended) => Criterion::MessageTurn,
            best.peer_last_use.cmp(&self.peer_last_use) => Criterion::RoundRobin,
            best.local_last_use.cmp(&self.local_last_use) => Criterion::LocalNetRoundRobin,
        }
    }
}

/// A gateway to a net that this node is not on (core-behaviour 2.7), by the best path to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatewayCandidate {
    /// The state of the route.
    pub route_state: RouteState,
    /// The state of the path to it.
    pub path_state: PathState,
    /// The health of its peer NI.
    pub health: u32,
    /// How much rules prefer it for the destination.
    pub preference: Preference,
    /// The priority of the route: lower is better.
    pub priority: u32,
    /// The number of hops of the route.
    pub hops: u32,
    /// Bytes queued for it or in flight.
    pub queued_bytes: u64,
    /// Send credits; negative by the number of messages that wait.
    pub credits: i32,
    /// The last use of the route: higher is more recent, 0 is never.
    pub last_use: u64,
}

impl Candidate for GatewayCandidate {
    fn beats(&self, best: &Self) -> (bool, Criterion) {
        first_difference! {
            best.route_state.cmp(&self.route_state) => Criterion::RouteState,
            best.path_state.cmp(&self.path_state) => self.path_state.criterion(),
            self.health.cmp(&best.health) => Criterion::Health,
            best.preference.priority.cmp(&self.preference.priority) => Criterion::Preferred,
            best.preference.turn_ended.cmp(&self.preference.turn_ended) => Criterion::MessageTurn,
            best.priority.cmp(&self.priority) => Criterion::Priority,
            best.hops.cmp(&self.hops) => Criterion::Hops,
            best.queued_bytes.cmp(&self.queued_bytes) => Criterion::QueuedBytes,
            self.credits.cmp(&best.credits) => Criterion::Credits,
            best.last_use.cmp(&self.last_use) => Criterion::RoundRobin,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::compare::{best, explained};
    use super::*;
    use std::fmt::Debug;

    /// Of `base` and the others, in both orders, `base` wins by the criterion beside each.
    fn wins<C: Candidate + Copy + Debug>(base: C, others: &[(C, Criterion)]) {
        for (other, criterion) in others {
            let first = explained(vec![(base, 'b'), (*other, 'o')]).unwrap();
            assert_eq!((first.chosen.1, first.others[0].2), ('b', *criterion), "{other:?}");
            let second = explained(vec![(*other, 'o'), (base, 'b')]).unwrap();
            assert_eq!((second.chosen.1, second.others[0].2), ('b', *criterion), "{other:?}");
        }
        let tie = best([(base, 1), (base, 2)]);
        assert_eq!(tie.map(|(_, which)| which), Some(1), "of equals the first");
    }

    /// snd-005, snd-020: fails if NUMA distance does not count before credits and turns.
    /// snd-030: fails if the interface with fewer credits wins.
    #[test]
    fn local_nis_are_compared_by_fatal_state_unresponsiveness_health_priority_distance_credits_and_use() {
        let base = LocalNiCandidate {
            fatal: false,
            path_state: PathState::Usable,
            health: 900,
            priority: 5,
            turn_ended: 3,
            preference: Preference { priority: 1, turn_ended: 4 },
            distance: 20,
            credits: 10,
            last_use: 7,
        };
        // Each is worse in one criterion and better in all that come after it.
        wins(
            base,
            &[
                (
                    LocalNiCandidate {
                        fatal: true,
                        health: 1000,
                        priority: 0,
                        distance: 10,
                        credits: 256,
                        last_use: 0,
                        ..base
                    },
                    Criterion::Fatal,
                ),
                (
                    LocalNiCandidate {
                        path_state: PathState::Unresponsive,
                        health: 1000,
                        priority: 0,
                        distance: 10,
                        credits: 256,
                        last_use: 0,
                        ..base
                    },
                    Criterion::Unresponsive,
                ),
                (
                    LocalNiCandidate {
                        health: 899,
                        priority: 0,
                        distance: 10,
                        credits: 256,
                        last_use: 0,
                        ..base
                    },
                    Criterion::Health,
                ),
                (
                    LocalNiCandidate { priority: 6, distance: 10, credits: 256, last_use: 0, ..base },
                    Criterion::Priority,
                ),
                (
                    LocalNiCandidate {
                        preference: Preference { priority: 2, turn_ended: 0 },
                        turn_ended: 0,
                        distance: 10,
                        ..base
                    },
                    Criterion::Preferred,
                ),
                (
                    LocalNiCandidate {
                        preference: Preference { priority: 1, turn_ended: 5 },
                        turn_ended: 0,
                        distance: 10,
                        credits: 256,
                        ..base
                    },
                    Criterion::MessageTurn,
                ),
                (
                    LocalNiCandidate { turn_ended: 4, distance: 10, credits: 256, last_use: 0, ..base },
                    Criterion::MessageTurn,
                ),
                (LocalNiCandidate { distance: 21, credits: 256, last_use: 0, ..base }, Criterion::Distance),
                (LocalNiCandidate { credits: 9, last_use: 0, ..base }, Criterion::Credits),
                (LocalNiCandidate { credits: -3, last_use: 0, ..base }, Criterion::Credits),
                (LocalNiCandidate { last_use: 8, ..base }, Criterion::RoundRobin),
            ],
        );
    }

    /// snd-035: fails if queued bytes do not count before credits, or credits not before turns.
    /// snd-040: fails if a peer's interfaces are compared by anything else, such as a distance.
    #[test]
    fn peer_nis_are_compared_by_unresponsiveness_health_priority_preference_bytes_credits_and_use() {
        let base = PeerNiCandidate {
            path_state: PathState::Usable,
            health: 900,
            priority: 5,
            turn_ended: 3,
            preference: Preference { priority: 1, turn_ended: 0 },
            queued_bytes: 100,
            credits: 4,
            last_use: 7,
        };
        wins(
            base,
            &[
                (
                    PeerNiCandidate {
                        path_state: PathState::Unresponsive,
                        health: 1000,
                        priority: 0,
                        credits: 8,
                        last_use: 0,
                        ..base
                    },
                    Criterion::Unresponsive,
                ),
                (
                    PeerNiCandidate {
                        health: 1,
                        priority: 0,
                        queued_bytes: 0,
                        credits: 8,
                        last_use: 0,
                        ..base
                    },
                    Criterion::Health,
                ),
                (
                    PeerNiCandidate { priority: 6, queued_bytes: 0, credits: 8, last_use: 0, ..base },
                    Criterion::Priority,
                ),
                (
                    PeerNiCandidate {
                        preference: Preference::default(),
                        turn_ended: 0,
                        queued_bytes: 0,
                        credits: 8,
                        last_use: 0,
                        ..base
                    },
                    Criterion::Preferred,
                ),
                (
                    PeerNiCandidate { turn_ended: 4, queued_bytes: 0, credits: 8, last_use: 0, ..base },
                    Criterion::MessageTurn,
                ),
                (
                    PeerNiCandidate { queued_bytes: 101, credits: 8, last_use: 0, ..base },
                    Criterion::QueuedBytes,
                ),
                (PeerNiCandidate { credits: 3, last_use: 0, ..base }, Criterion::Credits),
                (PeerNiCandidate { last_use: 9, ..base }, Criterion::RoundRobin),
            ],
        );
    }

    #[test]
    fn nets_are_compared_by_unresponsiveness_health_of_both_sides_priority_and_use() {
        let base = NetCandidate {
            fatal: false,
            path_state: PathState::Usable,
            peer_health: 900,
            peer_priority: 5,
            local_health: 800,
            local_priority: 4,
            peer_turn_ended: 3,
            local_turn_ended: 3,
            peer_last_use: 7,
            local_last_use: 7,
        };
        let better_later = NetCandidate {
            peer_health: 1000,
            peer_priority: 0,
            local_health: 1000,
            local_priority: 0,
            peer_turn_ended: 0,
            local_turn_ended: 0,
            peer_last_use: 0,
            local_last_use: 0,
            ..base
        };
        wins(
            base,
            &[
                (NetCandidate { fatal: true, ..better_later }, Criterion::Fatal),
                (NetCandidate { path_state: PathState::Unproven, ..better_later }, Criterion::Unproven),
                (
                    NetCandidate { path_state: PathState::Unresponsive, ..better_later },
                    Criterion::Unresponsive,
                ),
                (NetCandidate { peer_health: 899, ..better_later }, Criterion::Health),
                (
                    NetCandidate { peer_health: 900, local_health: 799, ..better_later },
                    Criterion::LocalNetHealth,
                ),
                (
                    NetCandidate { peer_health: 900, local_health: 800, peer_priority: 6, ..better_later },
                    Criterion::Priority,
                ),
                (NetCandidate { local_priority: 5, peer_last_use: 0, ..base }, Criterion::LocalNetPriority),
                (NetCandidate { peer_turn_ended: 4, peer_last_use: 0, ..base }, Criterion::MessageTurn),
                (NetCandidate { local_turn_ended: 4, peer_last_use: 0, ..base }, Criterion::MessageTurn),
                (NetCandidate { peer_last_use: 8, local_last_use: 0, ..base }, Criterion::RoundRobin),
                (NetCandidate { local_last_use: 8, ..base }, Criterion::LocalNetRoundRobin),
            ],
        );
    }
}
