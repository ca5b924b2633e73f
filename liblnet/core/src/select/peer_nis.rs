//! The candidates among the peer NIs of a peer on a net, and the best of them.

use super::compare::best;
use super::criteria::PeerNiCandidate;
use super::path_request::PathRequest;
use super::path_state::{PathState, path_state};
use super::rank::Ranked;
use crate::model::{Ni, PeerNet, PeerNi, Preference};
use lnet_wire::Nid;
use std::sync::{Arc, Weak};

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

/// The least recently used of a few peer NIs, under the same conditions as a local NI
/// ([`super::direct`]).
pub(super) fn least_recently_used_peer_ni(peer_net: &PeerNet) -> Option<&Weak<PeerNi>> {
    if peer_net.usage.nis_differ() {
        return None;
    }
    let mut chosen = peer_net.criteria.first()?;
    let (mut position, mut last_use, mut most_credits) = (0, u64::MAX, 0);
    for (its, at) in peer_net.criteria.iter().zip(0..) {
        most_credits = most_credits.max(its.tx().size().0);
        let its_use = its.last_use().get();
        if its_use < last_use {
            (chosen, position, last_use) = (its, at, its_use);
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
