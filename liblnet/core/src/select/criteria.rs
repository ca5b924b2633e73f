//! The criteria of path selection and their order: one list for each kind of candidate, the first criterion counts most.
//!
//! Everything that depends on the order is derived from these lists: the comparison, the rank, the choice for a peer that is
//! bound to a local NI, and the reasons in an explanation. A new criterion is a row: see `candidate` and `ranked_candidate`
//! for its parts, none of which may be left out.

use super::compare::{ALL, Candidate, candidate};
use super::criterion::Criterion;
use super::hop::Hop;
use super::path_request::PathRequest;
use super::path_state::{PathState, path_state_of};
use super::rank::ranked_candidate;
use super::reach::Reach;
use crate::model::{Criteria, LOWEST_PRIORITY, Net, NetUsage, Ni, PeerNet, Preference, RouteState};
use lnet_settings::MAX_HEALTH;
use std::sync::Arc;

ranked_candidate! {
    /// A local NI on the selected net (core-behaviour 2.4). The criterion of direct memory access between devices does
    /// not arise in user space. The criteria about peer NIs decide where NIDs of both address families are on the net: there each NI
    /// is a candidate for each family that it reaches.
    struct LocalNiCandidate of (ni: &Ni)
    with (path_state: PathState, reach: Reach, preference: Preference, distance: u32)
    ranked as LocalNiRank among (usage: &NetUsage, has_partners: bool, are_mixed: bool, path_request: PathRequest<'_>)
    listed by last use, limits (most_credits: i32),
    explained (its, best) {
        /// Whether the driver reports a fatal error.
        fatal: bool {
            of: ni.is_fatal(), better: Lower, scope: Standing, rank: [whole],
            because: Fatal, shows: nothing
        }
        /// The state of the path to the peer.
        path_state: PathState {
            of: path_state, better: Lower, scope: Pair, rank: [even unless path_request.looks_at_pairs()],
            because: (its.path_state.criterion()), shows: nothing
        }
        /// Whether all peer NIs that the NI reaches are reported as down, or have no health left.
        peers_down: bool {
            of: reach.peer_health == 0, better: Lower, scope: Pair, rank: [even unless are_mixed],
            because: PeersDown, shows: nothing
        }
        /// Whether the address of the NI is of another family than the peer's.
        other_family: bool {
            of: reach.other_family, better: Lower, scope: Pair, rank: [even unless are_mixed],
            because: Family, shows: nothing
        }
        /// The best health of the peer NIs that the NI reaches.
        peer_health: u32 {
            of: reach.peer_health, better: Higher, scope: Pair, rank: [even unless are_mixed],
            because: PeerHealth, shows: value
        }
        /// Health value.
        health: u32 {
            of: ni.health(), better: Higher, scope: Standing, rank: [up_to MAX_HEALTH],
            because: Health, shows: value
        }
        /// The best priority by selection rules of the peer NIs that the NI reaches.
        peer_priority: u32 {
            of: reach.peer_priority, better: Lower, scope: Pair, rank: [even unless are_mixed],
            because: PeerPriority, shows: priority
        }
        /// Priority by selection rules; `u32::MAX` is the lowest.
        priority: u32 {
            of: ni.priority(), better: Lower, scope: Ruled, rank: [whole],
            because: Priority, shows: priority
        }
        /// The preference of rules for the NI, for messages to the destination.
        preference: u32 {
            of: preference.priority, better: Lower, scope: Pair, rank: [even unless has_partners],
            because: Preferred, shows: priority
        }
        /// The end of the NI's last turn as a partner of the destination, where rules count messages.
        partner_turn_ended: u64 {
            of: preference.turn_ended, better: Lower, scope: Pair, rank: [even unless has_partners],
            because: MessageTurn, shows: nothing
        }
        /// The end of the NI's last turn, where rules count messages.
        turn_ended: u64 {
            of: ni.turn().ended(), better: Lower, scope: Passing, rank: [even unless usage.count_messages_of_nis()],
            because: MessageTurn, shows: nothing
        }
        /// NUMA distance to the memory, not below `numa_range`.
        distance: u32 {
            of: distance, better: Lower, scope: Passing, rank: [even unless path_request.numa.is_some()],
            because: Distance, shows: value
        }
        /// Send credits; negative by the number of messages that wait.
        credits: i32 {
            of: ni.credits().0, better: Higher, scope: Passing, rank: [whole, limit most_credits],
            because: Credits, shows: value
        }
        /// The last use of the NI: higher is more recent, 0 is never.
        last_use: u64 {
            of: ni.last_use().get(), better: Lower, scope: Passing, rank: [turn 53],
            because: RoundRobin, shows: nothing
        }
    }
}

ranked_candidate! {
    /// A peer NI on the selected net (core-behaviour 2.5).
    struct PeerNiCandidate of (criteria: &Criteria)
    with (path_state: PathState, preference: Preference, path_request: PathRequest<'_>)
    ranked as PeerNiRank among (path_request: PathRequest<'_>)
    listed by last use, limits (most_credits: i32),
    explained (its, best) {
        /// The state of the path from the selected local NI.
        path_state: PathState {
            of: path_state, better: Lower, scope: Pair, rank: [even unless path_request.looks_at_pairs()],
            because: (its.path_state.criterion()), shows: nothing
        }
        /// Whether the peer reports the peer NI as down.
        reported_down: bool {
            of: criteria.is_reported_down(), better: Lower, scope: Standing, rank: [whole],
            because: ReportedDown, shows: nothing
        }
        /// Health value.
        health: u32 {
            of: criteria.usable_health(), better: Higher, scope: Standing, rank: [up_to MAX_HEALTH],
            because: Health, shows: value
        }
        /// Priority by selection rules; `u32::MAX` is the lowest.
        priority: u32 {
            of: criteria.priority(), better: Lower, scope: Ruled, rank: [whole],
            because: Priority, shows: priority
        }
        /// The preference of rules for the peer NI, for messages by the selected local NI or gateway.
        preference: u32 {
            of: preference.priority, better: Lower, scope: Pair, rank: [even unless_ruled criteria.has_partners()],
            because: Preferred, shows: priority
        }
        /// The end of the peer NI's last turn, where rules count messages.
        turn_ended: u64 {
            of: criteria.turn().ended(), better: Lower, scope: Passing, rank: [even unless_ruled criteria.turn().is_counted()],
            because: MessageTurn, shows: nothing
        }
        /// Bytes queued for the peer NI or in flight; the same for all where they are not compared (snd-035).
        queued_bytes: u64 {
            of: if path_request.compare_queued_bytes { criteria.tx().bytes() } else { 0 },
            better: Lower, scope: Passing, rank: [even unless path_request.compare_queued_bytes],
            because: QueuedBytes, shows: value
        }
        /// Send credits; negative by the number of messages that wait.
        credits: i32 {
            of: criteria.tx().credits().0, better: Higher, scope: Passing, rank: [whole, limit most_credits],
            because: Credits, shows: value
        }
        /// The last use of the peer NI: higher is more recent, 0 is never.
        last_use: u64 {
            of: criteria.last_use().get(), better: Lower, scope: Passing, rank: [turn 53],
            because: RoundRobin, shows: nothing
        }
    }
}

candidate! {
    /// A net of the peer that this node is on (`common`, core-behaviour 2.3), or that a gateway leads to (`routed`, 2.6), by the best
    /// path to that. Nets on which this node has no working NI come last (PS-15), and the health of both ends, and of the gateway,
    /// comes before every rule.
    struct NetCandidate
    of common (net: &Net, peer_net: &PeerNet, peer_health: u32, path_request: PathRequest<'_>)
    or routed (peer_net: &PeerNet, peer_health: u32, hop: &Hop, by: &GatewayCandidate)
    explained (its, best) {
        /// Whether the gateway did not respond; a lower health, which is only one of several, comes later.
        no_response: bool {
            common: false, routed: by.route_state >= RouteState::NoResponse, better: Lower,
            because: RouteState, shows: nothing
        }
        /// Whether all local NIs on the net have a fatal error.
        fatal: bool {
            common: working(net).next().is_none(), routed: hop.ni.is_fatal(), better: Lower,
            because: Fatal, shows: nothing
        }
        /// The state of the best path on the net.
        path_state: PathState {
            common: working(net).map(|ni| path_state_of(ni, &peer_net.nis, path_request)).min().unwrap_or_default(),
            routed: by.path_state, better: Lower,
            because: (its.path_state.criterion()), shows: nothing
        }
        /// Whether the peer reports all its peer NIs on the net as down.
        reported_down: bool {
            common: peer_net.is_reported_down(), routed: peer_net.is_reported_down(), better: Lower,
            because: ReportedDown, shows: nothing
        }
        /// The best health of the peer NIs on the net; the gateway's, if that is lower.
        peer_health: u32 {
            common: peer_health, routed: peer_health.min(by.health), better: Higher,
            because: Health, shows: value
        }
        /// The state of the route; up for a net that this node is on.
        route_state: RouteState {
            common: RouteState::Up, routed: by.route_state, better: Lower,
            because: RouteState, shows: nothing
        }
        /// The best health of the local NIs on the net; behind a gateway, that of the NI for sending to it.
        local_health: u32 {
            common: working(net).map(|ni| ni.health()).max().unwrap_or(0), routed: by.local_health, better: Higher,
            because: LocalNetHealth, shows: value
        }
        /// The priority of the peer's net by selection rules.
        peer_priority: u32 {
            common: peer_net.usage.priority(), routed: peer_net.usage.priority(), better: Lower,
            because: Priority, shows: priority
        }
        /// The priority of the local net by selection rules.
        local_priority: u32 {
            common: net.usage().priority(), routed: by.local_net_priority, better: Lower,
            because: LocalNetPriority, shows: priority
        }
        /// The preference of rules for an NI of this node on a net of a gateway, for messages to the destination. Among other
        /// nets rules about pairs do not choose.
        preference: u32 {
            common: LOWEST_PRIORITY, routed: by.local_ni_preference, better: Lower,
            because: LocalNiPreferred, shows: priority
        }
        /// The end of the last turn of the peer's net, where rules count messages.
        peer_turn_ended: u64 {
            common: peer_net.usage.turn().ended(), routed: peer_net.usage.turn().ended(), better: Lower,
            because: MessageTurn, shows: nothing
        }
        /// The end of the last turn of the local net, where rules count messages.
        local_turn_ended: u64 {
            common: net.usage().turn().ended(), routed: by.local_net_turn_ended, better: Lower,
            because: MessageTurn, shows: nothing
        }
        /// The last use of the peer's net.
        peer_last_use: u64 {
            common: peer_net.last_use(), routed: peer_net.last_use(), better: Lower,
            because: RoundRobin, shows: nothing
        }
        /// The last use of the local net.
        local_last_use: u64 {
            common: net.last_use(), routed: 0, better: Lower,
            because: LocalNetRoundRobin, shows: nothing
        }
    }
}

candidate! {
    /// A gateway to a net that this node is not on (core-behaviour 2.7), by the best path to it.
    struct GatewayCandidate
    of (hop: &Hop, net: &Net, path_state: PathState, preference: Preference, local_ni_preference: Preference)
    explained (its, best) {
        /// Whether no message gets through by the gateway, as far as is known.
        dead: bool {
            of: why_dead(hop.route_state, path_state).is_some(), better: Lower,
            because: (its.why_dead().or_else(|| best.why_dead()).unwrap_or(Criterion::RouteState)), shows: nothing
        }
        /// The state of the route.
        route_state: RouteState {
            of: hop.route_state, better: Lower,
            because: RouteState, shows: nothing
        }
        /// The state of the path to the gateway.
        path_state: PathState {
            of: path_state, better: Lower,
            because: (its.path_state.criterion()), shows: nothing
        }
        /// The health of the gateway's peer NI.
        health: u32 {
            of: hop.peer_ni.usable_health(), better: Higher,
            because: Health, shows: value
        }
        /// The health of the local NI for sending to the gateway; 0 if that has a fatal error.
        local_health: u32 {
            of: if hop.ni.is_fatal() { 0 } else { hop.ni.health() }, better: Higher,
            because: LocalNiHealth, shows: value
        }
        /// The preference of rules for the gateway, for messages to the destination.
        preference: u32 {
            of: preference.priority, better: Lower,
            because: Preferred, shows: priority
        }
        /// The end of the gateway's last turn as a partner of the destination, where rules count messages.
        partner_turn_ended: u64 {
            of: preference.turn_ended, better: Lower,
            because: MessageTurn, shows: nothing
        }
        /// The priority of the net of that local NI by selection rules.
        local_net_priority: u32 {
            of: net.usage().priority(), better: Lower,
            because: LocalNetPriority, shows: priority
        }
        /// The end of the last turn of that net, where rules count messages.
        local_net_turn_ended: u64 {
            of: net.usage().turn().ended(), better: Lower,
            because: MessageTurn, shows: nothing
        }
        /// The priority of that local NI by selection rules.
        local_ni_priority: u32 {
            of: hop.ni.priority(), better: Lower,
            because: LocalNiPriority, shows: priority
        }
        /// The preference of rules for that local NI, for messages to the destination.
        local_ni_preference: u32 {
            of: local_ni_preference.priority, better: Lower,
            because: LocalNiPreferred, shows: priority
        }
        /// The end of the last turn of that local NI as a partner of the destination, where rules count messages.
        local_ni_turn_ended: u64 {
            of: local_ni_preference.turn_ended, better: Lower,
            because: MessageTurn, shows: nothing
        }
        /// The priority of the route: lower is better.
        priority: u32 {
            of: hop.route.route.priority, better: Lower,
            because: RoutePriority, shows: value
        }
        /// The number of hops of the route.
        hops: u32 {
            of: hop.route.hops(), better: Lower,
            because: Hops, shows: value
        }
        /// Bytes queued for the gateway or in flight.
        queued_bytes: u64 {
            of: hop.peer_ni.queued_bytes(), better: Lower,
            because: QueuedBytes, shows: value
        }
        /// Send credits; negative by the number of messages that wait.
        credits: i32 {
            of: hop.peer_ni.credits().0, better: Higher,
            because: Credits, shows: value
        }
        /// The last use of the route: higher is more recent, 0 is never.
        last_use: u64 {
            of: hop.route.last_use(), better: Lower,
            because: RoundRobin, shows: nothing
        }
    }
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

impl NetCandidate {
    /// Whether the candidate does not lose to the other by health.
    pub(super) fn is_as_healthy_as(&self, other: &Self) -> bool {
        !self.compare::<ALL>(other).is_gt() || !self.because::<ALL>(other).criterion.is_of_health()
    }
}

impl GatewayCandidate {
    fn why_dead(&self) -> Option<Criterion> {
        why_dead(self.route_state, self.path_state)
    }
}

/// The reason for which no message gets through by a gateway, as far as is known.
fn why_dead(route_state: RouteState, path_state: PathState) -> Option<Criterion> {
    match (route_state, path_state) {
        (RouteState::NoResponse | RouteState::Excluded, _) => Some(Criterion::RouteState),
        (_, PathState::Unresponsive | PathState::Failed) => Some(Criterion::Unresponsive),
        _ => None,
    }
}

/// The local NIs on a net without a fatal error.
fn working(net: &Net) -> impl Iterator<Item = &Arc<Ni>> {
    net.nis().iter().filter(|ni| !ni.is_fatal())
}
