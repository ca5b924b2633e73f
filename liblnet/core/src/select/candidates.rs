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
    /// path is suspect. Both ends are on one link: what fails beyond that does not concern the path.
    UnprovenOnLink,
    /// The same, with ends that are not known to be on one link.
    Unproven,
    /// Something is in flight on the path, and nothing is heard on it: the first sign that it may be unresponsive.
    Late,
    /// The path is unresponsive, or the message has failed on it.
    Unresponsive,
    /// The message has failed on it, and unresponsive paths may have recovered.
    Failed,
}

impl PathState {
    /// The criterion by which a path of a worse state loses.
    const fn criterion(self) -> Criterion {
        match self {
            Self::UnprovenOnLink | Self::Unproven => Criterion::Unproven,
            Self::Late => Criterion::Late,
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

/// A net of the peer that this node is on (core-behaviour 2.3), or that a gateway leads to (2.6), by the best path to that. Nets on
/// which this node has no working NI come last (PS-15), and the health of both ends, and of the gateway, comes before every rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetCandidate {
    /// The state of the route; of a net that this node is on it counts as up.
    pub route_state: RouteState,
    /// All local NIs on it have a fatal error.
    pub fatal: bool,
    /// The state of the best path on it.
    pub path_state: PathState,
    /// The best health of the peer NIs on it; the gateway's, if that is lower.
    pub peer_health: u32,
    /// The best health of the local NIs on it; that of the NI to the gateway.
    pub local_health: u32,
    /// The priority of the peer's net by selection rules.
    pub peer_priority: u32,
    /// The priority of the local net by selection rules.
    pub local_priority: u32,
    /// Of a net of a gateway, how much rules prefer an NI of this node on it for the destination. Among other nets pairs do not choose.
    pub preference: Preference,
    /// The end of the last turn of the peer's net, where rules count messages.
    pub peer_turn_ended: u64,
    /// The end of the last turn of the local net, where rules count messages.
    pub local_turn_ended: u64,
    /// The last use of the peer's net.
    pub peer_last_use: u64,
    /// The last use of the local net.
    pub local_last_use: u64,
}

impl NetCandidate {
    /// Whether the gateway did not answer: a lower health, which is only one of several, comes later.
    fn has_no_answer(&self) -> bool {
        self.route_state >= RouteState::NoAnswer
    }

    /// Whether it does not lose to the other by health.
    pub(super) fn is_as_healthy_as(&self, other: &Self) -> bool {
        let (wins, criterion) = self.beats(other);
        wins || !criterion.is_of_health()
    }
}

impl Candidate for NetCandidate {
    fn beats(&self, best: &Self) -> (bool, Criterion) {
        first_difference! {
            best.has_no_answer().cmp(&self.has_no_answer()) => Criterion::RouteState,
            best.fatal.cmp(&self.fatal) => Criterion::Fatal,
            best.path_state.cmp(&self.path_state) => self.path_state.criterion(),
            self.peer_health.cmp(&best.peer_health) => Criterion::Health,
            best.route_state.cmp(&self.route_state) => Criterion::RouteState,
            self.local_health.cmp(&best.local_health) => Criterion::LocalNetHealth,
            best.peer_priority.cmp(&self.peer_priority) => Criterion::Priority,
            best.local_priority.cmp(&self.local_priority) => Criterion::LocalNetPriority,
            best.preference.priority.cmp(&self.preference.priority) => Criterion::LocalNiPreferred,
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
    /// The health of the local NI to it; 0 if that has a fatal error.
    pub local_health: u32,
    /// How much rules prefer it for the destination.
    pub preference: Preference,
    /// The priority of the net of that local NI by selection rules.
    pub local_net_priority: u32,
    /// The end of the last turn of that net, where rules count messages.
    pub local_net_turn_ended: u64,
    /// The priority of that local NI by selection rules.
    pub local_ni_priority: u32,
    /// How much rules prefer that local NI for the destination.
    pub local_ni_preference: Preference,
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

impl GatewayCandidate {
    /// Why nothing gets through by it, as far as is known.
    fn cause_of_death(&self) -> Option<Criterion> {
        match (self.route_state, self.path_state) {
            (RouteState::NoAnswer | RouteState::Excluded, _) => Some(Criterion::RouteState),
            (_, PathState::Unresponsive | PathState::Failed) => Some(Criterion::Unresponsive),
            _ => None,
        }
    }
}

impl Candidate for GatewayCandidate {
    fn beats(&self, best: &Self) -> (bool, Criterion) {
        let (its, of_best) = (self.cause_of_death(), best.cause_of_death());
        first_difference! {
            of_best.is_some().cmp(&its.is_some()) => its.or(of_best).unwrap_or(Criterion::RouteState),
            best.route_state.cmp(&self.route_state) => Criterion::RouteState,
            best.path_state.cmp(&self.path_state) => self.path_state.criterion(),
            self.health.cmp(&best.health) => Criterion::Health,
            self.local_health.cmp(&best.local_health) => Criterion::LocalNiHealth,
            best.preference.priority.cmp(&self.preference.priority) => Criterion::Preferred,
            best.preference.turn_ended.cmp(&self.preference.turn_ended) => Criterion::MessageTurn,
            best.local_net_priority.cmp(&self.local_net_priority) => Criterion::LocalNetPriority,
            best.local_net_turn_ended.cmp(&self.local_net_turn_ended) => Criterion::MessageTurn,
            best.local_ni_priority.cmp(&self.local_ni_priority) => Criterion::LocalNiPriority,
            best.local_ni_preference.priority.cmp(&self.local_ni_preference.priority) => Criterion::LocalNiPreferred,
            best.local_ni_preference.turn_ended.cmp(&self.local_ni_preference.turn_ended) => Criterion::MessageTurn,
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
            route_state: RouteState::Unhealthy,
            fatal: false,
            path_state: PathState::Usable,
            peer_health: 900,
            peer_priority: 5,
            local_health: 800,
            local_priority: 4,
            preference: Preference { priority: 1, turn_ended: 0 },
            peer_turn_ended: 3,
            local_turn_ended: 3,
            peer_last_use: 7,
            local_last_use: 7,
        };
        let better_later = NetCandidate {
            route_state: RouteState::Up,
            preference: Preference { priority: 0, turn_ended: 0 },
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
        let same_health =
            NetCandidate { peer_health: base.peer_health, route_state: base.route_state, ..better_later };
        let up = NetCandidate { route_state: RouteState::Up, ..base };
        wins(up, &[(NetCandidate { local_health: 1000, ..base }, Criterion::RouteState)]);
        wins(
            base,
            &[
                (NetCandidate { route_state: RouteState::NoAnswer, ..better_later }, Criterion::RouteState),
                (NetCandidate { fatal: true, ..better_later }, Criterion::Fatal),
                (NetCandidate { path_state: PathState::UnprovenOnLink, ..better_later }, Criterion::Unproven),
                (NetCandidate { path_state: PathState::Unproven, ..better_later }, Criterion::Unproven),
                (NetCandidate { path_state: PathState::Late, ..better_later }, Criterion::Late),
                (
                    NetCandidate { path_state: PathState::Unresponsive, ..better_later },
                    Criterion::Unresponsive,
                ),
                (NetCandidate { peer_health: 899, ..better_later }, Criterion::Health),
                (NetCandidate { local_health: 799, ..same_health }, Criterion::LocalNetHealth),
                (NetCandidate { local_health: 800, peer_priority: 6, ..same_health }, Criterion::Priority),
                (
                    NetCandidate { local_priority: 5, preference: better_later.preference, ..base },
                    Criterion::LocalNetPriority,
                ),
                (
                    NetCandidate { preference: Preference::default(), peer_turn_ended: 0, ..base },
                    Criterion::LocalNiPreferred,
                ),
                (NetCandidate { peer_turn_ended: 4, peer_last_use: 0, ..base }, Criterion::MessageTurn),
                (NetCandidate { local_turn_ended: 4, peer_last_use: 0, ..base }, Criterion::MessageTurn),
                (NetCandidate { peer_last_use: 8, local_last_use: 0, ..base }, Criterion::RoundRobin),
                (NetCandidate { local_last_use: 8, ..base }, Criterion::LocalNetRoundRobin),
            ],
        );
    }

    #[test]
    fn a_net_is_as_healthy_as_another_if_no_criterion_of_health_speaks_against_it() {
        let base = NetCandidate { peer_health: 900, local_health: 900, ..NetCandidate::default() };
        let table = [
            (NetCandidate { peer_priority: 7, peer_last_use: 9, ..base }, true),
            (NetCandidate { peer_health: 901, local_health: 0, ..base }, true),
            (NetCandidate { peer_health: 899, ..base }, false),
            (NetCandidate { local_health: 899, ..base }, false),
            (NetCandidate { route_state: RouteState::Unhealthy, ..base }, false),
            (NetCandidate { route_state: RouteState::NoAnswer, ..base }, false),
            (NetCandidate { path_state: PathState::Unproven, ..base }, false),
            (NetCandidate { path_state: PathState::Late, ..base }, false),
            (NetCandidate { fatal: true, ..base }, false),
        ];
        for (its, expected) in table {
            assert_eq!(its.is_as_healthy_as(&base), expected, "{its:?}");
        }
    }

    /// 2.7, UD-41: fails if a rule, or anything of the route, counts before health on either end, or if the rules about what this node
    /// sends from count after the route.
    #[test]
    fn gateways_are_compared_by_state_health_of_both_ends_rules_priority_hops_bytes_credits_and_use() {
        let preference = |priority, turn_ended| Preference { priority, turn_ended };
        let base = GatewayCandidate {
            route_state: RouteState::Unhealthy,
            path_state: PathState::Unproven,
            health: 900,
            local_health: 800,
            preference: preference(3, 3),
            local_net_priority: 5,
            local_net_turn_ended: 3,
            local_ni_priority: 5,
            local_ni_preference: preference(3, 3),
            priority: 5,
            hops: 2,
            queued_bytes: 100,
            credits: 4,
            last_use: 7,
        };
        type Change = fn(&mut GatewayCandidate);
        // In their order: what makes it worse, and what better.
        let table: [(Change, Change, Criterion); 15] = [
            (
                |its| its.route_state = RouteState::NoAnswer,
                |its| its.route_state = RouteState::Up,
                Criterion::RouteState,
            ),
            (
                |its| its.path_state = PathState::Unresponsive,
                |its| its.path_state = PathState::Usable,
                Criterion::Unresponsive,
            ),
            (|its| its.health = 899, |its| its.health = 1000, Criterion::Health),
            (|its| its.local_health = 0, |its| its.local_health = 1000, Criterion::LocalNiHealth),
            (
                |its| its.preference = Preference::default(),
                |its| its.preference.priority = 0,
                Criterion::Preferred,
            ),
            (
                |its| its.preference.turn_ended = 4,
                |its| its.preference.turn_ended = 0,
                Criterion::MessageTurn,
            ),
            (|its| its.local_net_priority = 6, |its| its.local_net_priority = 0, Criterion::LocalNetPriority),
            (|its| its.local_net_turn_ended = 4, |its| its.local_net_turn_ended = 0, Criterion::MessageTurn),
            (|its| its.local_ni_priority = 6, |its| its.local_ni_priority = 0, Criterion::LocalNiPriority),
            (
                |its| its.local_ni_preference = Preference::default(),
                |its| its.local_ni_preference.priority = 0,
                Criterion::LocalNiPreferred,
            ),
            (
                |its| its.local_ni_preference.turn_ended = 4,
                |its| its.local_ni_preference.turn_ended = 0,
                Criterion::MessageTurn,
            ),
            (|its| its.priority = 6, |its| its.priority = 0, Criterion::Priority),
            (|its| its.hops = 3, |its| its.hops = 1, Criterion::Hops),
            (|its| its.queued_bytes = 101, |its| its.queued_bytes = 0, Criterion::QueuedBytes),
            (|its| its.credits = -1, |its| its.credits = 8, Criterion::Credits),
        ];
        let worst_last = GatewayCandidate { last_use: 8, ..base };
        wins(base, &[(worst_last, Criterion::RoundRobin)]);
        for (at, (worse, _, criterion)) in table.iter().enumerate() {
            let mut other = GatewayCandidate { last_use: 0, ..base };
            table[at + 1..].iter().for_each(|(_, better, _)| better(&mut other));
            worse(&mut other);
            wins(base, &[(other, *criterion)]);
        }
    }
}
