//! The candidates for a path without a gateway: nets and local NIs, and the best of them.

use super::compare::{Candidate, LASTING, best};
use super::criteria::{LocalNiCandidate, NetCandidate};
use super::families::{self, are_mixed, are_mixed_to, is_any_reached};
use super::path_request::PathRequest;
use super::path_state::{PathState, path_state, path_state_of};
use super::peer_nis::best_peer_ni;
use super::preferring::{Preferences, Preferring};
use super::rank::Ranked;
use super::reach::Reach;
use crate::model::{Net, NetUsage, Nets, Ni, Peer, PeerNet, PeerNi, can_reach};
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
    if LocalNiCandidate::does_rank_decide(net.usage(), !preferring.is_empty(), false, *path_request) {
        let first = least_recently_used_ni(net.nis(), net.usage(), net.most_credits().0);
        return first.or_else(by_rank);
    }
    let preferences = preferring.local_nis(net.nis());
    best(local_nis(net, peer_nis, &preferences, *path_request)).map(|(_, ni)| ni)
}

/// The least recently used NI on a net, if no other can be better by its rank: rules distinguish none, and this one has all its
/// health and credits.
#[inline(always)]
pub(super) fn least_recently_used_ni<'a>(
    nis: &'a [Arc<Ni>],
    usage: &NetUsage,
    most_credits: i32,
) -> Option<&'a Arc<Ni>> {
    if usage.nis_differ() {
        return None;
    }
    let (first, others) = nis.split_first()?;
    let (mut chosen, mut last_use) = (first, first.last_use().get());
    for ni in others {
        let its = ni.last_use().get();
        if its < last_use {
            (chosen, last_use) = (ni, its);
        }
    }
    LocalNiCandidate::is_unsurpassed(chosen, most_credits).then_some(chosen)
}

/// Whether selection rules give the local NIs on a net different values.
pub(crate) fn do_rules_distinguish_local(net: &Net) -> bool {
    let Some(first) = net.nis().first() else { return false };
    net.nis().iter().any(|ni| LocalNiCandidate::do_rules_distinguish(ni, first))
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
