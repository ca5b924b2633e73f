//! Tests of the lists of criteria: their order as tables, and the code that is derived from them against a naive walk over them.

use super::compare::{ALL, Candidate, LASTING, Scope, best, explained};
use super::criteria::{GatewayCandidate, LocalNiCandidate, NetCandidate, PeerNiCandidate};
use super::criterion::Criterion;
use super::path_state::PathState;
use crate::model::{LOWEST_PRIORITY, RouteState};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::fmt::Debug;

/// A list of criteria as data, for a naive walk.
pub(super) trait Listed: Sized + 'static {
    const CRITERIA: &'static [Row<Self>];

    /// A candidate with these values: each of one seed, all of the least for 0.
    fn any(seeds: &mut dyn Iterator<Item = u64>) -> Self;

    fn lowest() -> Self {
        Self::any(&mut std::iter::repeat(0))
    }
}

/// A criterion of a [`Listed`] candidate.
pub(super) struct Row<C> {
    pub(super) name: &'static str,
    /// `Less`: the first is better.
    pub(super) order: fn(&C, &C) -> Ordering,
    pub(super) scope: Scope,
    /// Copies the value of the first to the second.
    pub(super) copy: fn(&C, &mut C),
}

/// A candidate with a rank that is made of its values.
pub(super) trait Packed: super::rank::Ranked {
    /// Makes the values that are not in the rank the same for all, and limits the others to the numbers that it can have.
    fn pack(&mut self) -> Self::Rank;
}

pub(super) trait AnyValue {
    /// Values near the least one, so that candidates are equal in some; else any.
    fn any(seed: u64) -> Self;
}

fn number(seed: u64) -> u64 {
    match seed % 4 {
        0 => 0,
        1 => seed >> 2 & 1,
        2 => u64::MAX - (seed >> 2 & 1),
        _ => seed >> 2,
    }
}

impl AnyValue for bool {
    fn any(seed: u64) -> Self {
        seed & 1 == 1
    }
}

impl AnyValue for u32 {
    fn any(seed: u64) -> Self {
        number(seed) as Self
    }
}

impl AnyValue for u64 {
    fn any(seed: u64) -> Self {
        number(seed)
    }
}

impl AnyValue for i32 {
    fn any(seed: u64) -> Self {
        number(seed) as Self
    }
}

impl AnyValue for PathState {
    fn any(seed: u64) -> Self {
        let all = [
            Self::Usable,
            Self::UnprovenOnLink,
            Self::Unproven,
            Self::Late,
            Self::Unresponsive,
            Self::Failed,
        ];
        all[(seed % all.len() as u64) as usize]
    }
}

impl AnyValue for RouteState {
    fn any(seed: u64) -> Self {
        let all = [Self::Up, Self::Unhealthy, Self::NoResponse, Self::Excluded];
        all[(seed % all.len() as u64) as usize]
    }
}

fn candidate<C: Listed + Debug>() -> impl Strategy<Value = C> {
    let seeds = prop::collection::vec(any::<u64>(), C::CRITERIA.len());
    seeds.prop_map(|seeds| C::any(&mut seeds.into_iter()))
}

/// The order of two candidates by a walk over the criteria for which `counts` holds.
pub(super) fn naive<C: Listed>(one: &C, other: &C, counts: impl Fn(&Row<C>) -> bool) -> Ordering {
    let orders = C::CRITERIA.iter().filter(|row| counts(row)).map(|row| (row.order)(one, other));
    orders.fold(Ordering::Equal, Ordering::then)
}

/// The second of two candidates, equal to the first in all criteria before this one.
fn equal_before<C: Listed>(one: &C, mut other: C, at: usize) -> C {
    C::CRITERIA[..at].iter().for_each(|row| (row.copy)(one, &mut other));
    other
}

/// Checks the comparison against the list, for two candidates that differ from each criterion on, one after the other.
fn compares_as_listed<C: Listed + Candidate + Copy + Debug>(one: C, other: C) -> Result<(), TestCaseError> {
    for at in 0..=C::CRITERIA.len() {
        let other = equal_before(&one, other, at);
        prop_assert_eq!(one.compare::<ALL>(&other), naive(&one, &other, |_| true), "{} equal", at);
        let lasting = naive(&one, &other, |row| !row.scope.is_passing());
        prop_assert_eq!(one.compare::<LASTING>(&other), lasting, "{} equal", at);
        let has_reason = one.because::<ALL>(&other).criterion != Criterion::Order;
        prop_assert_eq!(has_reason, naive(&one, &other, |_| true).is_ne(), "{} equal", at);
        let has_reason = one.because::<LASTING>(&other).criterion != Criterion::Order;
        prop_assert_eq!(has_reason, lasting.is_ne(), "{} equal", at);
    }
    Ok(())
}

/// Checks the rank against the comparison.
fn ranks_as_listed<C>(one: C, other: C) -> Result<(), TestCaseError>
where
    C: Listed + Candidate + Packed + Copy + Debug,
    C::Rank: Debug,
{
    for at in 0..=C::CRITERIA.len() {
        let (mut one, mut other) = (one, equal_before(&one, other, at));
        let (its, of_other) = (one.pack(), other.pack());
        prop_assert_eq!(of_other.cmp(&its), one.compare::<ALL>(&other), "{:?} {:?}", one, other);
    }
    Ok(())
}

proptest! {
    #[test]
    fn candidates_are_compared_and_explained_in_the_order_of_their_criteria(
        local in [candidate::<LocalNiCandidate>(), candidate()],
        remote in [candidate::<PeerNiCandidate>(), candidate()],
        net in [candidate::<NetCandidate>(), candidate()],
        gateway in [candidate::<GatewayCandidate>(), candidate()],
    ) {
        compares_as_listed(local[0], local[1])?;
        compares_as_listed(remote[0], remote[1])?;
        compares_as_listed(net[0], net[1])?;
        compares_as_listed(gateway[0], gateway[1])?;
    }

    #[test]
    fn the_rank_of_candidates_is_the_order_of_their_criteria(
        local in [candidate::<LocalNiCandidate>(), candidate()],
        remote in [candidate::<PeerNiCandidate>(), candidate()],
    ) {
        ranks_as_listed(local[0], local[1])?;
        ranks_as_listed(remote[0], remote[1])?;
    }
}

#[test]
fn a_rank_has_another_word_where_the_first_has_no_room_for_a_criterion() {
    let table =
        [(&[1, 10, 32, 32, 53][..], 1), (&[64, 64, 0], 1), (&[64, 64, 1], 2), (&[64, 63, 2], 2), (&[0], 1)];
    for (widths, expected) in table {
        assert_eq!(super::rank::words(widths), expected, "{widths:?}");
    }
}

/// A function that makes a candidate worse, one that makes it better, and the criterion and text of the reason against the
/// worse one.
type Case<C> = (fn(&mut C), fn(&mut C), Criterion, &'static str);

/// Each row is worse in one criterion and better in all that come after it. `base` wins in both orders.
fn wins<C: Candidate + Copy + Debug>(base: C, table: &[Case<C>]) {
    for (at, (worse, _, criterion, text)) in table.iter().enumerate() {
        let mut other = base;
        table[at + 1..].iter().for_each(|(_, better, ..)| better(&mut other));
        worse(&mut other);
        for all in [vec![(base, 'b'), (other, 'o')], vec![(other, 'o'), (base, 'b')]] {
            assert_eq!(best(all.clone()).map(|(_, it)| it), Some('b'), "{other:?}");
            let explained = explained(all).unwrap();
            let (it, why) = explained.others[0];
            assert_eq!((explained.chosen.1, it), ('b', 'o'), "{other:?}");
            assert_eq!((why.criterion, why.to_string().as_str()), (*criterion, *text), "{other:?}");
        }
    }
    assert_eq!(best([(base, 1), (base, 2)]).map(|(_, which)| which), Some(1), "of equals the first");
    let others = explained(vec![(base, 1), (base, 2)]).unwrap().others;
    assert_eq!(others[0].1.to_string(), "later in the configuration");
}

/// snd-005, snd-020: fails if NUMA distance does not count before credits and turns.
/// snd-030: fails if the interface with fewer credits wins.
#[test]
fn local_nis_are_compared_by_fatal_state_unresponsiveness_health_priority_distance_credits_and_use() {
    let base = LocalNiCandidate {
        path_state: PathState::UnprovenOnLink,
        peer_health: 800,
        health: 900,
        peer_priority: 6,
        priority: 5,
        turn_ended: 3,
        preference: 1,
        partner_turn_ended: 4,
        distance: 20,
        credits: 10,
        last_use: 7,
        ..Listed::lowest()
    };
    let table: &[Case<LocalNiCandidate>] = &[
        (
            |its| its.fatal = true,
            |its| its.fatal = false,
            Criterion::Fatal,
            "the driver reports it as broken",
        ),
        (
            |its| its.path_state = PathState::Unresponsive,
            |its| its.path_state = PathState::Usable,
            Criterion::Unresponsive,
            "nothing gets through over it",
        ),
        (
            |its| its.peers_down = true,
            |its| its.peers_down = false,
            Criterion::PeersDown,
            "the peer NIs that it reaches do not work",
        ),
        (
            |its| its.other_family = true,
            |its| its.other_family = false,
            Criterion::Family,
            "its address family is not the peer's",
        ),
        (
            |its| its.peer_health = 799,
            |its| its.peer_health = 1000,
            Criterion::PeerHealth,
            "the peer NIs that it reaches have lower health: 799, the chosen one has 800",
        ),
        (
            |its| its.health = 899,
            |its| its.health = 1000,
            Criterion::Health,
            "lower health: 899, the chosen one has 900",
        ),
        (
            |its| its.peer_priority = LOWEST_PRIORITY,
            |its| its.peer_priority = 0,
            Criterion::PeerPriority,
            "the peer NIs that it reaches have lower priority: none, the chosen one has 6",
        ),
        (
            |its| its.priority = LOWEST_PRIORITY,
            |its| its.priority = 0,
            Criterion::Priority,
            "lower priority by selection rules: none, the chosen one has 5",
        ),
        (
            |its| its.preference = 2,
            |its| its.preference = 0,
            Criterion::Preferred,
            "less preferred by selection rules: 2, the chosen one has 1",
        ),
        (
            |its| its.partner_turn_ended = 5,
            |its| its.partner_turn_ended = 0,
            Criterion::MessageTurn,
            "not its turn by selection rules",
        ),
        (
            |its| its.turn_ended = 4,
            |its| its.turn_ended = 0,
            Criterion::MessageTurn,
            "not its turn by selection rules",
        ),
        (
            |its| its.distance = 21,
            |its| its.distance = 10,
            Criterion::Distance,
            "farther from the memory: 21, the chosen one has 20",
        ),
        (
            |its| its.credits = -3,
            |its| its.credits = 256,
            Criterion::Credits,
            "fewer credits: -3, the chosen one has 10",
        ),
        (|its| its.last_use = 8, |its| its.last_use = 0, Criterion::RoundRobin, "used more recently"),
    ];
    wins(base, table);
}

/// snd-035: fails if queued bytes do not count before credits, or credits not before turns.
/// snd-040: fails if a peer's interfaces are compared by anything else, such as a distance.
#[test]
fn peer_nis_are_compared_by_unresponsiveness_health_priority_preference_bytes_credits_and_use() {
    let base = PeerNiCandidate {
        health: 900,
        priority: 5,
        turn_ended: 3,
        preference: 1,
        queued_bytes: 100,
        credits: 4,
        last_use: 7,
        ..Listed::lowest()
    };
    let table: &[Case<PeerNiCandidate>] = &[
        (
            |its| its.path_state = PathState::Unresponsive,
            |its| its.path_state = PathState::Usable,
            Criterion::Unresponsive,
            "nothing gets through over it",
        ),
        (
            |its| its.reported_down = true,
            |its| its.reported_down = false,
            Criterion::ReportedDown,
            "its node says that it is down",
        ),
        (
            |its| its.health = 1,
            |its| its.health = 1000,
            Criterion::Health,
            "lower health: 1, the chosen one has 900",
        ),
        (
            |its| its.priority = 6,
            |its| its.priority = 0,
            Criterion::Priority,
            "lower priority by selection rules: 6, the chosen one has 5",
        ),
        (
            |its| its.preference = LOWEST_PRIORITY,
            |its| its.preference = 0,
            Criterion::Preferred,
            "less preferred by selection rules: none, the chosen one has 1",
        ),
        (
            |its| its.turn_ended = 4,
            |its| its.turn_ended = 0,
            Criterion::MessageTurn,
            "not its turn by selection rules",
        ),
        (
            |its| its.queued_bytes = 101,
            |its| its.queued_bytes = 0,
            Criterion::QueuedBytes,
            "more bytes queued: 101, the chosen one has 100",
        ),
        (
            |its| its.credits = 3,
            |its| its.credits = 8,
            Criterion::Credits,
            "fewer credits: 3, the chosen one has 4",
        ),
        (|its| its.last_use = 9, |its| its.last_use = 0, Criterion::RoundRobin, "used more recently"),
    ];
    wins(base, table);
}

#[test]
fn nets_are_compared_by_unresponsiveness_health_of_both_sides_priority_and_use() {
    let base = NetCandidate {
        route_state: RouteState::Unhealthy,
        path_state: PathState::UnprovenOnLink,
        peer_health: 900,
        peer_priority: 5,
        local_health: 800,
        local_priority: 4,
        preference: 1,
        peer_turn_ended: 3,
        local_turn_ended: 3,
        peer_last_use: 7,
        local_last_use: 7,
        ..Listed::lowest()
    };
    let table: &[Case<NetCandidate>] = &[
        (
            |its| its.no_response = true,
            |its| its.no_response = false,
            Criterion::RouteState,
            "its route is down",
        ),
        (
            |its| its.fatal = true,
            |its| its.fatal = false,
            Criterion::Fatal,
            "the driver reports it as broken",
        ),
        (
            |its| its.path_state = PathState::Late,
            |its| its.path_state = PathState::Usable,
            Criterion::Late,
            "nothing heard on it since something was sent",
        ),
        (
            |its| its.reported_down = true,
            |its| its.reported_down = false,
            Criterion::ReportedDown,
            "its node says that it is down",
        ),
        (
            |its| its.peer_health = 899,
            |its| its.peer_health = 1000,
            Criterion::Health,
            "lower health: 899, the chosen one has 900",
        ),
        (
            |its| its.route_state = RouteState::NoResponse,
            |its| its.route_state = RouteState::Up,
            Criterion::RouteState,
            "its route is down",
        ),
        (
            |its| its.local_health = 799,
            |its| its.local_health = 1000,
            Criterion::LocalNetHealth,
            "its local net has lower health: 799, the chosen one has 800",
        ),
        (
            |its| its.peer_priority = 6,
            |its| its.peer_priority = 0,
            Criterion::Priority,
            "lower priority by selection rules: 6, the chosen one has 5",
        ),
        (
            |its| its.local_priority = 5,
            |its| its.local_priority = 0,
            Criterion::LocalNetPriority,
            "its local net has lower priority: 5, the chosen one has 4",
        ),
        (
            |its| its.preference = LOWEST_PRIORITY,
            |its| its.preference = 0,
            Criterion::LocalNiPreferred,
            "selection rules about pairs prefer the interface to it less: none, the chosen one has 1",
        ),
        (
            |its| its.peer_turn_ended = 4,
            |its| its.peer_turn_ended = 0,
            Criterion::MessageTurn,
            "not its turn by selection rules",
        ),
        (
            |its| its.local_turn_ended = 4,
            |its| its.local_turn_ended = 0,
            Criterion::MessageTurn,
            "not its turn by selection rules",
        ),
        (
            |its| its.peer_last_use = 8,
            |its| its.peer_last_use = 0,
            Criterion::RoundRobin,
            "used more recently",
        ),
        (
            |its| its.local_last_use = 8,
            |its| its.local_last_use = 0,
            Criterion::LocalNetRoundRobin,
            "its local net was used more recently",
        ),
    ];
    wins(base, table);
}

#[test]
fn a_net_is_as_healthy_as_another_if_no_criterion_of_health_speaks_against_it() {
    let base = NetCandidate { peer_health: 900, local_health: 900, ..Listed::lowest() };
    let table = [
        (base, true),
        (NetCandidate { peer_priority: 7, peer_last_use: 9, ..base }, true),
        (NetCandidate { peer_health: 901, local_health: 0, ..base }, true),
        (NetCandidate { peer_health: 899, ..base }, false),
        (NetCandidate { local_health: 899, ..base }, false),
        (NetCandidate { route_state: RouteState::Unhealthy, ..base }, false),
        (NetCandidate { no_response: true, ..base }, false),
        (NetCandidate { path_state: PathState::Unproven, ..base }, false),
        (NetCandidate { path_state: PathState::Late, ..base }, false),
        (NetCandidate { fatal: true, ..base }, false),
        (NetCandidate { reported_down: true, ..base }, false),
    ];
    for (its, expected) in table {
        assert_eq!(its.is_as_healthy_as(&base), expected, "{its:?}");
    }
}

/// 2.7, UD-41: fails if a rule, or anything of the route, counts before health on either end, or if the rules about what this node
/// sends from count after the route.
#[test]
fn gateways_are_compared_by_state_health_of_both_ends_rules_priority_hops_bytes_credits_and_use() {
    let base = GatewayCandidate {
        route_state: RouteState::Unhealthy,
        path_state: PathState::Unproven,
        health: 900,
        local_health: 800,
        preference: 3,
        partner_turn_ended: 3,
        local_net_priority: 5,
        local_net_turn_ended: 3,
        local_ni_priority: 5,
        local_ni_preference: 3,
        local_ni_turn_ended: 3,
        priority: 5,
        hops: 2,
        queued_bytes: 100,
        credits: 4,
        last_use: 7,
        ..Listed::lowest()
    };
    let not_its_turn = "not its turn by selection rules";
    let table: &[Case<GatewayCandidate>] = &[
        (
            |its| (its.dead, its.path_state) = (true, PathState::Failed),
            |its| its.dead = false,
            Criterion::Unresponsive,
            "nothing gets through over it",
        ),
        (
            |its| its.route_state = RouteState::NoResponse,
            |its| its.route_state = RouteState::Up,
            Criterion::RouteState,
            "its route is down",
        ),
        (
            |its| its.path_state = PathState::Late,
            |its| its.path_state = PathState::Usable,
            Criterion::Late,
            "nothing heard on it since something was sent",
        ),
        (
            |its| its.health = 899,
            |its| its.health = 1000,
            Criterion::Health,
            "lower health: 899, the chosen one has 900",
        ),
        (
            |its| its.local_health = 0,
            |its| its.local_health = 1000,
            Criterion::LocalNiHealth,
            "the interface to it has lower health: 0, the chosen one has 800",
        ),
        (
            |its| its.preference = LOWEST_PRIORITY,
            |its| its.preference = 0,
            Criterion::Preferred,
            "less preferred by selection rules: none, the chosen one has 3",
        ),
        (
            |its| its.partner_turn_ended = 4,
            |its| its.partner_turn_ended = 0,
            Criterion::MessageTurn,
            not_its_turn,
        ),
        (
            |its| its.local_net_priority = 6,
            |its| its.local_net_priority = 0,
            Criterion::LocalNetPriority,
            "its local net has lower priority: 6, the chosen one has 5",
        ),
        (
            |its| its.local_net_turn_ended = 4,
            |its| its.local_net_turn_ended = 0,
            Criterion::MessageTurn,
            not_its_turn,
        ),
        (
            |its| its.local_ni_priority = 6,
            |its| its.local_ni_priority = 0,
            Criterion::LocalNiPriority,
            "the interface to it has lower priority: 6, the chosen one has 5",
        ),
        (
            |its| its.local_ni_preference = LOWEST_PRIORITY,
            |its| its.local_ni_preference = 0,
            Criterion::LocalNiPreferred,
            "selection rules about pairs prefer the interface to it less: none, the chosen one has 3",
        ),
        (
            |its| its.local_ni_turn_ended = 4,
            |its| its.local_ni_turn_ended = 0,
            Criterion::MessageTurn,
            not_its_turn,
        ),
        (
            |its| its.priority = 6,
            |its| its.priority = 0,
            Criterion::RoutePriority,
            "lower priority of its route: 6, the chosen one has 5",
        ),
        (|its| its.hops = 3, |its| its.hops = 1, Criterion::Hops, "more hops: 3, the chosen one has 2"),
        (
            |its| its.queued_bytes = 101,
            |its| its.queued_bytes = 0,
            Criterion::QueuedBytes,
            "more bytes queued: 101, the chosen one has 100",
        ),
        (
            |its| its.credits = -1,
            |its| its.credits = 8,
            Criterion::Credits,
            "fewer credits: -1, the chosen one has 4",
        ),
        (|its| its.last_use = 8, |its| its.last_use = 0, Criterion::RoundRobin, "used more recently"),
    ];
    wins(base, table);
}
