//! What is compared of local nets, local NIs and peer NIs, and in which order.

use super::compare::{Candidate, Criterion, first_difference};

/// How much speaks against a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathState {
    /// Nothing is known against it.
    #[default]
    Usable,
    /// The message has failed elsewhere, and nothing has been heard over this path since it last failed, if ever; or nothing
    /// has since another path to the peer turned out to be unresponsive.
    Unproven,
    /// Nothing gets through, or this message did not.
    Unresponsive,
    /// This message did not, and what is unresponsive may work again.
    Failed,
}

impl PathState {
    /// Why somebody with less of it is better.
    const fn criterion(self) -> Criterion {
        match self {
            Self::Unproven => Criterion::Unproven,
            Self::Usable | Self::Unresponsive | Self::Failed => Criterion::Unresponsive,
        }
    }
}

/// A local NI on the net that was chosen (core-behaviour 2.4). The criterion of direct memory access between
/// devices does not arise in user space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalNiCandidate {
    /// The driver says that it is broken.
    pub fatal: bool,
    /// Whether anything gets through from it to the peer's.
    pub path_state: PathState,
    /// Health value.
    pub health: u32,
    /// Priority by selection rules; `u32::MAX` is none.
    pub priority: u32,
    /// NUMA distance to the memory, not below `numa_range`.
    pub distance: u32,
    /// Send credits, negative for every message that waits.
    pub credits: i32,
    /// When it was used last: higher is more recent, 0 is never.
    pub last_use: u64,
}

impl Candidate for LocalNiCandidate {
    fn beats(&self, best: &Self) -> (bool, Criterion) {
        first_difference([
            (best.fatal.cmp(&self.fatal), Criterion::Fatal),
            (best.path_state.cmp(&self.path_state), self.path_state.criterion()),
            (self.health.cmp(&best.health), Criterion::Health),
            (best.priority.cmp(&self.priority), Criterion::Priority),
            (best.distance.cmp(&self.distance), Criterion::Distance),
            (self.credits.cmp(&best.credits), Criterion::Credits),
            (best.last_use.cmp(&self.last_use), Criterion::RoundRobin),
        ])
    }
}

/// A peer NI on the net that was chosen (core-behaviour 2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerNiCandidate {
    /// Whether anything gets through to it from the local NI that was chosen.
    pub path_state: PathState,
    /// Health value.
    pub health: u32,
    /// Priority by selection rules; `u32::MAX` is none.
    pub priority: u32,
    /// Whether a rule prefers it for the local NI that was chosen.
    pub preferred: bool,
    /// Bytes queued for it or under way; the same for all where they are not to be compared (snd-035).
    pub queued_bytes: u64,
    /// Send credits, negative for every message that waits.
    pub credits: i32,
    /// When it was used last: higher is more recent, 0 is never.
    pub last_use: u64,
}

impl Candidate for PeerNiCandidate {
    fn beats(&self, best: &Self) -> (bool, Criterion) {
        first_difference([
            (best.path_state.cmp(&self.path_state), self.path_state.criterion()),
            (self.health.cmp(&best.health), Criterion::Health),
            (best.priority.cmp(&self.priority), Criterion::Priority),
            (self.preferred.cmp(&best.preferred), Criterion::Preferred),
            (best.queued_bytes.cmp(&self.queued_bytes), Criterion::QueuedBytes),
            (self.credits.cmp(&best.credits), Criterion::Credits),
            (best.last_use.cmp(&self.last_use), Criterion::RoundRobin),
        ])
    }
}

/// A net that both nodes are on (core-behaviour 2.3). Nets on which this node has no NI that works come last
/// (PS-15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetCandidate {
    /// All of this node's NIs on it are broken.
    pub fatal: bool,
    /// Whether anything gets through on it.
    pub path_state: PathState,
    /// The best health of the peer's NIs on it.
    pub peer_health: u32,
    /// Priority of the peer's net by selection rules.
    pub peer_priority: u32,
    /// The best health of this node's NIs on it.
    pub local_health: u32,
    /// Priority of this node's net by selection rules.
    pub local_priority: u32,
    /// When the peer's net was used last.
    pub peer_last_use: u64,
    /// When this node's net was used last.
    pub local_last_use: u64,
}

impl Candidate for NetCandidate {
    fn beats(&self, best: &Self) -> (bool, Criterion) {
        first_difference([
            (best.fatal.cmp(&self.fatal), Criterion::Fatal),
            (best.path_state.cmp(&self.path_state), self.path_state.criterion()),
            (self.peer_health.cmp(&best.peer_health), Criterion::Health),
            (best.peer_priority.cmp(&self.peer_priority), Criterion::Priority),
            (self.local_health.cmp(&best.local_health), Criterion::LocalNetHealth),
            (best.local_priority.cmp(&self.local_priority), Criterion::LocalNetPriority),
            (best.peer_last_use.cmp(&self.peer_last_use), Criterion::RoundRobin),
            (best.local_last_use.cmp(&self.local_last_use), Criterion::LocalNetRoundRobin),
        ])
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
            preferred: true,
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
                    PeerNiCandidate { preferred: false, queued_bytes: 0, credits: 8, last_use: 0, ..base },
                    Criterion::Preferred,
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
            peer_last_use: 7,
            local_last_use: 7,
        };
        let better_later = NetCandidate {
            peer_health: 1000,
            peer_priority: 0,
            local_health: 1000,
            local_priority: 0,
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
                (NetCandidate { peer_health: 900, peer_priority: 6, ..better_later }, Criterion::Priority),
                (
                    NetCandidate { peer_health: 900, peer_priority: 5, local_health: 799, ..better_later },
                    Criterion::LocalNetHealth,
                ),
                (NetCandidate { local_priority: 5, peer_last_use: 0, ..base }, Criterion::LocalNetPriority),
                (NetCandidate { peer_last_use: 8, local_last_use: 0, ..base }, Criterion::RoundRobin),
                (NetCandidate { local_last_use: 8, ..base }, Criterion::LocalNetRoundRobin),
            ],
        );
    }
}
