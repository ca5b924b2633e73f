//! The candidates for a path without a gateway: nets, local NIs and peer NIs, and the best of them.

use super::candidates::{LocalNiCandidate, NetCandidate, PathState, PeerNiCandidate};
use super::compare::best;
use super::path_request::PathRequest;
use super::preferring::{Preferences, Preferring};
use crate::model::{Net, Nets, Ni, Peer, PeerNet, PeerNi, Preference, RouteState};
use lnet_wire::Nid;
use std::cmp::Reverse;
use std::sync::{Arc, Weak};

/// The best common net of this node and a peer. A single one is not compared.
pub(super) fn best_net<'a>(
    nets: &'a Nets,
    peer: &'a Peer,
    path_request: PathRequest<'a>,
) -> Option<(&'a Net, &'a PeerNet)> {
    let mut shared = peer.nets.iter().filter_map(|peer_net| Some((nets.net(peer_net.id)?, peer_net)));
    let first = shared.next()?;
    match shared.next() {
        None => Some(first),
        Some(_) => best(shared_nets(nets, peer, path_request)).map(|(_, nets)| nets),
    }
}

/// The common nets of this node and a peer, in the order of the peer.
pub(super) fn shared_nets<'a>(
    nets: &'a Nets,
    peer: &'a Peer,
    path_request: PathRequest<'a>,
) -> impl Iterator<Item = (NetCandidate, (&'a Net, &'a PeerNet))> {
    peer.nets.iter().filter_map(move |peer_net| {
        let net = nets.net(peer_net.id)?;
        let peer_health = peer_net.usable_health()?;
        let working = || net.nis().iter().filter(|ni| !ni.is_fatal());
        let candidate = NetCandidate {
            route_state: RouteState::Up,
            fatal: working().next().is_none(),
            path_state: working()
                .map(|ni| path_state_of(ni, &peer_net.nis, path_request))
                .min()
                .unwrap_or_default(),
            peer_health,
            local_health: working().map(|ni| ni.health()).max().unwrap_or(0),
            peer_priority: peer_net.usage.priority(),
            local_priority: net.usage().priority(),
            preference: Preference::default(),
            peer_turn_ended: peer_net.usage.turn().ended(),
            local_turn_ended: net.usage().turn().ended(),
            peer_last_use: peer_net.last_use(),
            local_last_use: net.last_use(),
        };
        Some((candidate, (net, peer_net)))
    })
}

/// The best local NI on a net to send to these peer NIs.
pub(super) fn best_local_ni<'a>(
    net: &'a Net,
    peer_nis: &'a [Weak<PeerNi>],
    preferring: Preferring<'_>,
    path_request: PathRequest<'_>,
) -> Option<&'a Arc<Ni>> {
    if let [only] = net.nis() {
        return Some(only);
    }
    let preferences = preferring.local_nis(net.nis());
    let by_rank = path_request.numa.is_none()
        && !path_request.looks_at_pairs()
        && preferences.are_of_nobody()
        && !net.usage().count_messages_of_nis();
    match by_rank {
        true => best_ni_by_rank(net.nis()),
        false => best(local_nis(net, peer_nis, &preferences, path_request)).map(|(_, ni)| ni),
    }
}

/// The local NI that is best if nothing but [`Ni::rank`] counts: the first of equals.
pub(super) fn best_ni_by_rank(nis: &[Arc<Ni>]) -> Option<&Arc<Ni>> {
    let (mut best, mut chosen) = (0, None);
    for ni in nis {
        let rank = ni.rank();
        if chosen.is_none() || rank > best {
            (best, chosen) = (rank, Some(ni));
        }
    }
    chosen
}

/// The local NI to send from to a peer that is not multi-rail, and that rules name partners of: as long as nothing changes the same
/// one, for that is how the peer knows this node.
pub(super) fn partner_of<'a>(
    net: &'a Net,
    named: &PeerNi,
    path_request: PathRequest<'_>,
) -> Option<&'a Arc<Ni>> {
    let preferring = Preferring::one(named);
    let sticky = named.sticky();
    let best_first = |ni: &&Arc<Ni>| {
        let path_state = path_state(ni, named, path_request);
        let candidate = local_ni(ni, 0, path_state, preferring.local_ni(ni.nid()));
        let LocalNiCandidate { fatal, path_state, health, priority, preference, .. } = candidate;
        (fatal, path_state, Reverse(health), priority, preference, sticky != Some(ni.nid()))
    };
    net.nis().iter().min_by_key(best_first)
}

/// The local NIs on a net, in the order of configuration.
pub(super) fn local_nis<'a>(
    net: &'a Net,
    peer_nis: &'a [Weak<PeerNi>],
    preferences: &Preferences<'_>,
    path_request: PathRequest<'_>,
) -> impl Iterator<Item = (LocalNiCandidate, &'a Arc<Ni>)> {
    let distances = path_request.numa.and_then(|numa| numa.distances(net.nis()));
    net.nis().iter().enumerate().map(move |(position, ni)| {
        let path_state = path_state_of(ni, peer_nis, path_request);
        let distance = distances.map_or(0, |distances| distances.to(ni));
        (local_ni(ni, distance, path_state, preferences.of(position, ni.nid())), ni)
    })
}

fn local_ni(ni: &Ni, distance: u32, path_state: PathState, preference: Preference) -> LocalNiCandidate {
    LocalNiCandidate {
        fatal: ni.is_fatal(),
        path_state,
        health: ni.health(),
        priority: ni.priority(),
        turn_ended: ni.turn().ended(),
        preference,
        distance,
        credits: ni.credits().0,
        last_use: ni.last_use().get(),
    }
}

/// The state of the best path from this interface to these peer NIs.
fn path_state_of(ni: &Ni, peer_nis: &[Weak<PeerNi>], path_request: PathRequest<'_>) -> PathState {
    if !path_request.looks_at_pairs() {
        return PathState::Usable;
    }
    let its = peer_nis.iter().filter_map(Weak::upgrade);
    its.map(|peer_ni| path_state(ni, &peer_ni, path_request)).min().unwrap_or_default()
}

/// The state of a path.
pub(super) fn path_state(ni: &Ni, peer_ni: &PeerNi, path_request: PathRequest<'_>) -> PathState {
    if !path_request.looks_at_pairs() {
        return PathState::Usable;
    }
    let path_nids = (ni.nid(), peer_ni.nid());
    match path_request.failed {
        Some(failed) if path_request.tries_unresponsive && failed.contains(&path_nids) => PathState::Failed,
        _ if peer_ni.is_reported_down() || peer_ni.unresponsive().has(path_nids.0) => PathState::Unresponsive,
        Some(failed) if failed.contains(&path_nids) => PathState::Unresponsive,
        _ if peer_ni.is_late_from(ni) => PathState::Late,
        Some(_) if !peer_ni.was_heard_by(ni) => unproven(ni, peer_ni),
        _ if peer_ni.is_suspect_from(ni) => unproven(ni, peer_ni),
        _ => PathState::Usable,
    }
}

fn unproven(ni: &Ni, peer_ni: &PeerNi) -> PathState {
    match ni.is_neighbour(peer_ni.nid()) {
        true => PathState::UnprovenOnLink,
        false => PathState::Unproven,
    }
}

/// The best peer NI of a peer on a net, to be sent to by `ni`, or over a gateway.
pub(super) fn best_peer_ni(
    peer_net: &PeerNet,
    ni: &Ni,
    gateway: Option<Nid>,
    path_request: PathRequest<'_>,
) -> Option<Arc<PeerNi>> {
    let by_rank = if path_request.looks_at_pairs() || path_request.compare_queued_bytes {
        None
    } else {
        peer_net.least_recently_used().or_else(|| best_by_rank(peer_net))
    };
    let chosen = match by_rank {
        Some(chosen) => chosen,
        None => best(peer_nis(peer_net, ni, gateway, path_request))?.1,
    };
    // One that is just being removed is not chosen.
    chosen.upgrade().or_else(|| best(held_peer_nis(peer_net, ni, gateway, path_request)).map(|(_, its)| its))
}

/// The peer NI that is best if nothing but `PeerNiCriteria::rank` counts: the first of equals. `None` if selection
/// rules name partners of one of them, or give it a turn.
pub(super) fn best_by_rank(peer_net: &PeerNet) -> Option<&Weak<PeerNi>> {
    let (mut best, mut chosen) = (0, None);
    for (its, criteria) in peer_net.nis.iter().zip(&peer_net.criteria) {
        if !criteria.is_ranked() {
            return None;
        }
        let rank = criteria.rank();
        if chosen.is_none() || rank > best {
            (best, chosen) = (rank, Some(its));
        }
    }
    chosen
}

/// [`peer_nis`], each of them held.
pub(super) fn held_peer_nis(
    peer_net: &PeerNet,
    ni: &Ni,
    gateway: Option<Nid>,
    path_request: PathRequest<'_>,
) -> impl Iterator<Item = (PeerNiCandidate, Arc<PeerNi>)> {
    peer_nis(peer_net, ni, gateway, path_request)
        .filter_map(|(candidate, its)| Some((candidate, its.upgrade()?)))
}

/// The peer NIs of a peer on a net, the primary one first. They are held only to look at what belongs to a pair with
/// the local NI: with many of them that would cost more than all else.
fn peer_nis<'a>(
    peer_net: &'a PeerNet,
    ni: &Ni,
    gateway: Option<Nid>,
    path_request: PathRequest<'_>,
) -> impl Iterator<Item = (PeerNiCandidate, &'a Weak<PeerNi>)> {
    peer_net.nis.iter().zip(&peer_net.criteria).filter_map(move |(its, criteria)| {
        let path_state = match path_request.looks_at_pairs() {
            false => PathState::Usable,
            true => path_state(ni, &*its.upgrade()?, path_request),
        };
        let preference = match criteria.has_partners() {
            false => Preference::default(),
            true => {
                let by_gateway = gateway.map(|gateway| criteria.preference_of_gateway(gateway));
                let preferred = by_gateway.filter(|preference| preference.is_any());
                preferred.unwrap_or_else(|| criteria.preference_of_local(ni.nid()))
            }
        };
        let candidate = PeerNiCandidate {
            path_state,
            health: criteria.usable_health(),
            priority: criteria.priority(),
            turn_ended: criteria.turn().ended(),
            preference,
            queued_bytes: if path_request.compare_queued_bytes { criteria.tx().bytes() } else { 0 },
            credits: criteria.tx().credits().0,
            last_use: criteria.last_use().get(),
        };
        Some((candidate, its))
    })
}
