//! The candidates for a path without a gateway: nets, local NIs and peer NIs, and the best of them.

use super::compare::{Candidate, LASTING, best};
use super::criteria::{LocalNiCandidate, NetCandidate, PeerNiCandidate};
use super::families::{self, Reach, are_mixed, are_mixed_to, is_any_reached};
use super::path_request::PathRequest;
use super::path_state::{PathState, path_state, path_state_of};
use super::preferring::{Preferences, Preferring};
use super::rank::Ranked;
use crate::model::{Net, Nets, Ni, Peer, PeerNet, PeerNi, Preference, can_reach};
use lnet_wire::Nid;
use std::sync::{Arc, Weak};

/// The best common net of this node and a peer. A single one is not compared.
#[inline(always)]
pub(super) fn best_net<'a>(
    nets: &'a Nets,
    peer: &'a Peer,
    path_request: &PathRequest<'a>,
) -> Option<(&'a Net, &'a PeerNet)> {
    if let [only] = &peer.nets[..] {
        let net = nets.net(only.id)?;
        return is_any_reached(net, only).then_some((net, only));
    }
    let is_reached = |(net, peer_net): &(&Net, &PeerNet)| is_any_reached(net, peer_net);
    let mut shared =
        peer.nets.iter().filter_map(|peer_net| Some((nets.net(peer_net.id)?, peer_net))).filter(is_reached);
    let first = shared.next()?;
    match shared.next() {
        None => Some(first),
        Some(_) => best(shared_nets(nets, peer, *path_request)).map(|(_, nets)| nets),
    }
}

/// The common nets of this node and a peer on which there is any path, in the order of the peer.
pub(super) fn shared_nets<'a>(
    nets: &'a Nets,
    peer: &'a Peer,
    path_request: PathRequest<'a>,
) -> impl Iterator<Item = (NetCandidate, (&'a Net, &'a PeerNet))> {
    peer.nets.iter().filter_map(move |peer_net| {
        let net = nets.net(peer_net.id)?;
        let candidate = NetCandidate::common(net, peer_net, peer_net.usable_health()?, path_request);
        let candidate = match are_mixed(net, peer_net) {
            false => candidate,
            true => families::by_best_pair(candidate, net, peer_net, path_request)?,
        };
        Some((candidate, (net, peer_net)))
    })
}

/// The best path from a net of this node to a peer on it. `preferring` completes the preferences of the peer NIs.
#[inline(always)]
pub(super) fn best_pair<'a>(
    net: &'a Net,
    peer_net: &'a PeerNet,
    preferring: impl Fn(Preferring<'a>) -> Preferring<'a>,
    path_request: &PathRequest<'a>,
) -> Option<(&'a Arc<Ni>, Arc<PeerNi>)> {
    if are_mixed(net, peer_net) {
        return families::best_pair(net, peer_net, preferring, path_request);
    }
    let ni = best_local_ni(net, &peer_net.nis, preferring(Preferring::best_of(peer_net)), path_request)?;
    Some((ni, best_peer_ni(peer_net, ni, None, path_request)?))
}

/// The best local NI on a net, each of which reaches these peer NIs, to send to them.
#[inline]
pub(super) fn best_local_ni<'a>(
    net: &'a Net,
    peer_nis: &'a [Weak<PeerNi>],
    preferring: Preferring<'_>,
    path_request: &PathRequest<'_>,
) -> Option<&'a Arc<Ni>> {
    match net.nis() {
        [only] => Some(only),
        _ => best_of_several_nis(net, peer_nis, preferring, path_request),
    }
}

/// The best local NI on a net to send to this peer NI; `None` if there is no path.
#[inline]
pub(super) fn best_local_ni_to<'a>(
    net: &'a Net,
    peer_ni: &Arc<PeerNi>,
    preferring: Preferring<'a>,
    path_request: &PathRequest<'a>,
) -> Option<&'a Arc<Ni>> {
    if are_mixed_to(net, peer_ni) {
        return best(families::candidates_to(net, peer_ni, preferring, *path_request)).map(|(_, ni)| ni);
    }
    match net.nis() {
        [only] => Some(only),
        _ => best_of_several_nis(net, &[Arc::downgrade(peer_ni)], preferring, path_request),
    }
}

fn best_of_several_nis<'a>(
    net: &'a Net,
    peer_nis: &[Weak<PeerNi>],
    preferring: Preferring<'_>,
    path_request: &PathRequest<'_>,
) -> Option<&'a Arc<Ni>> {
    let by_rank = || LocalNiCandidate::best_by_rank(net.nis().iter().map(|ni| (&**ni, ni)));
    if LocalNiCandidate::does_rank_decide(net, !preferring.is_empty(), false, *path_request) {
        return least_recently_used_ni(net).or_else(by_rank);
    }
    let preferences = preferring.local_nis(net.nis());
    best(local_nis(net, peer_nis, &preferences, *path_request)).map(|(_, ni)| ni)
}

/// The least recently used NI on a net, if no other can be better by its rank: rules distinguish none, and this one has all its
/// health and credits.
fn least_recently_used_ni(net: &Net) -> Option<&Arc<Ni>> {
    let (first, others) = net.nis().split_first()?;
    let (mut chosen, mut most_credits) = (first, first.max_credits().0);
    for ni in others {
        if LocalNiCandidate::do_rules_distinguish(ni, first) {
            return None;
        }
        most_credits = most_credits.max(ni.max_credits().0);
        if ni.last_use().get() < chosen.last_use().get() {
            chosen = ni;
        }
    }
    LocalNiCandidate::is_unsurpassed(chosen, most_credits).then_some(chosen)
}

/// The local NI for sending to a peer that is not multi-rail, and for which rules name partners. It stays the same as long as
/// nothing changes, as the peer knows this node by it.
pub(super) fn partner_of<'a>(
    net: &'a Net,
    named: &PeerNi,
    path_request: PathRequest<'_>,
) -> Option<&'a Arc<Ni>> {
    let reached = net.nis().iter().filter(|ni| can_reach(ni, named));
    best_partner(named, reached, |ni| (path_state(ni, named, path_request), Reach::one(ni, named)))
}

/// The best of these local NIs by the criteria that are not [`Scope::Passing`](super::compare::Scope); of equals the one that
/// the peer NI is bound to.
pub(super) fn best_partner<'a>(
    named: &PeerNi,
    nis: impl Iterator<Item = &'a Arc<Ni>>,
    path_to_it: impl Fn(&Ni) -> (PathState, Reach),
) -> Option<&'a Arc<Ni>> {
    let (preferring, sticky) = (Preferring::one(named), named.sticky());
    let candidate = |ni: &'a Arc<Ni>| {
        let (path_state, reach) = path_to_it(ni);
        (LocalNiCandidate::of(ni, path_state, reach, preferring.local_ni(ni.nid()), 0), ni)
    };
    let is_other = |ni: &Ni| sticky != Some(ni.nid());
    let best = nis.map(candidate).min_by(|(one, ni), (other, its)| {
        one.compare::<LASTING>(other).then_with(|| is_other(ni).cmp(&is_other(its)))
    });
    best.map(|(_, ni)| ni)
}

/// The local NIs on a net, each of which reaches these peer NIs, in the order of configuration.
pub(super) fn local_nis<'a>(
    net: &'a Net,
    peer_nis: &[Weak<PeerNi>],
    preferences: &Preferences<'_>,
    path_request: PathRequest<'_>,
) -> impl Iterator<Item = (LocalNiCandidate, &'a Arc<Ni>)> {
    let distances = path_request.numa.and_then(|numa| numa.distances(net.nis()));
    net.nis().iter().enumerate().map(move |(position, ni)| {
        let path_state = path_state_of(ni, peer_nis, path_request);
        let distance = distances.map_or(0, |distances| distances.to(ni));
        (LocalNiCandidate::of(ni, path_state, Reach::ALL, preferences.of(position, ni.nid()), distance), ni)
    })
}

/// The best peer NI of a peer on a net, to be sent to by `ni`, or over a gateway.
#[inline]
pub(super) fn best_peer_ni(
    peer_net: &PeerNet,
    ni: &Ni,
    gateway: Option<Nid>,
    path_request: &PathRequest<'_>,
) -> Option<Arc<PeerNi>> {
    // A single one is not compared.
    match &peer_net.nis[..] {
        [only] => only.upgrade(),
        _ => best_of_several_peer_nis(peer_net, ni, gateway, path_request),
    }
}

fn best_of_several_peer_nis(
    peer_net: &PeerNet,
    ni: &Ni,
    gateway: Option<Nid>,
    path_request: &PathRequest<'_>,
) -> Option<Arc<PeerNi>> {
    let by_rank = match PeerNiCandidate::does_rank_decide(*path_request) {
        true => best_by_rank(peer_net),
        false => None,
    };
    let chosen = match by_rank {
        Some(chosen) => chosen,
        None => best(peer_nis(peer_net, ni, gateway, *path_request))?.1,
    };
    // A peer NI that is just being removed is not selected.
    chosen.upgrade().or_else(|| best(held_peer_nis(peer_net, ni, gateway, *path_request)).map(|(_, its)| its))
}

/// The peer NI with the highest rank; of equals the first. `None` if selection rules give one of them values that are not in
/// the rank. The least recently used one is taken if no other can be better.
pub(super) fn best_by_rank(peer_net: &PeerNet) -> Option<&Weak<PeerNi>> {
    let least_recently_used = match peer_net.has_many() {
        true => peer_net.least_recently_used(PeerNiCandidate::is_unsurpassed),
        false => least_recently_used_peer_ni(peer_net),
    };
    let all = || peer_net.criteria.iter().map(|criteria| &**criteria).zip(&peer_net.nis);
    least_recently_used.or_else(|| PeerNiCandidate::best_by_rank(all()))
}

/// The least recently used of a few peer NIs, under the same conditions as [`least_recently_used_ni`].
fn least_recently_used_peer_ni(peer_net: &PeerNet) -> Option<&Weak<PeerNi>> {
    let first = peer_net.criteria.first()?;
    let (mut chosen, mut position) = (first, 0);
    let mut most_credits = 0;
    // The first one, too: rules may give it values that are not in its rank.
    for (its, at) in peer_net.criteria.iter().zip(0..) {
        if PeerNiCandidate::do_rules_distinguish(its, first) {
            return None;
        }
        most_credits = most_credits.max(its.tx().size().0);
        if its.last_use().get() < chosen.last_use().get() {
            (chosen, position) = (its, at);
        }
    }
    let is_best = PeerNiCandidate::is_unsurpassed(chosen, most_credits);
    peer_net.nis.get(position).filter(|_| is_best)
}

/// Whether selection rules give the peer NIs of a peer on a net different values.
pub(crate) fn do_rules_distinguish(nis: &[Arc<PeerNi>]) -> bool {
    let Some(first) = nis.first() else { return false };
    nis.iter().any(|its| PeerNiCandidate::do_rules_distinguish(its.criteria(), first.criteria()))
}

/// The peer NIs of [`peer_nis`], each of them held.
pub(super) fn held_peer_nis(
    peer_net: &PeerNet,
    ni: &Ni,
    gateway: Option<Nid>,
    path_request: PathRequest<'_>,
) -> impl Iterator<Item = (PeerNiCandidate, Arc<PeerNi>)> {
    peer_nis(peer_net, ni, gateway, path_request)
        .filter_map(|(candidate, its)| Some((candidate, its.upgrade()?)))
}

/// The peer NIs of a peer on a net, the primary one first. They are held only to compare properties of the pair with
/// the local NI: with many of them that would cost more than everything else.
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
        let candidate = PeerNiCandidate::of(criteria, path_state, preference, path_request);
        Some((candidate, its))
    })
}
