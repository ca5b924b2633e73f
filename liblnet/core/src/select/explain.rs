//! A selection with the reasons why the other candidates lost.

use super::candidates::{GatewayCandidate, LocalNiCandidate, NetCandidate, PeerNiCandidate};
use super::choose;
use super::chosen_path::ChosenPath;
use super::compare::{Criterion, Explained, explained};
use super::direct::{held_peer_nis, local_nis, shared_nets};
use super::path_request::{PathRequest, Paths};
use super::preferring::Preferring;
use super::routed::hops;
use crate::model::PeerNi;
use lnet_wire::{Errno, NetId, Nid};
use std::sync::Arc;

/// A net that was not selected: its state, and why.
pub type NetLoser = (NetId, NetCandidate, Criterion);
/// A local NI that was not selected.
pub type LocalLoser = (Nid, LocalNiCandidate, Criterion);
/// A peer NI that was not selected.
pub type PeerLoser = (Nid, PeerNiCandidate, Criterion);

/// A gateway that was not selected, by the NID that would be sent to.
pub type GatewayLoser = (Nid, GatewayCandidate, Criterion);

/// The path that a message would take now, and why no other.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The selected path; it has not been committed.
    pub chosen: ChosenPath,
    /// The state of the selected net, if there was a choice.
    pub net: NetCandidate,
    /// The state of the selected local NI, if there was a choice.
    pub local_ni: LocalNiCandidate,
    /// The state of the selected peer NI, if there was a choice.
    pub peer_ni: PeerNiCandidate,
    /// Common nets that lost; empty if there was no choice.
    pub nets: Vec<NetLoser>,
    /// Local NIs on the selected net that lost; empty if there was no choice.
    pub local_nis: Vec<LocalLoser>,
    /// Peer NIs on the selected net that lost; empty if there was no choice.
    pub peer_nis: Vec<PeerLoser>,
    /// The state of the selected gateway, if there is one.
    pub gateway: GatewayCandidate,
    /// Gateways to the net of the destination that lost.
    pub gateways: Vec<GatewayLoser>,
}

/// [`choose`], with its reasons.
pub fn explain(
    paths: Paths<'_>,
    destination: Option<&Arc<PeerNi>>,
    path_request: PathRequest<'_>,
) -> Result<Explanation, Errno> {
    let nets = paths.nets;
    let chosen = choose(paths, destination, path_request)?;
    let mut explanation = Explanation {
        chosen,
        net: NetCandidate::default(),
        local_ni: LocalNiCandidate::default(),
        peer_ni: PeerNiCandidate::default(),
        nets: Vec::new(),
        local_nis: Vec::new(),
        peer_nis: Vec::new(),
        gateway: GatewayCandidate::default(),
        gateways: Vec::new(),
    };
    if let Some(route) = explanation.chosen.route() {
        let source = path_request.source.and_then(|nid| nets.ni(nid));
        let behind = destination.map(|named| named.peer());
        let net = route.route.net;
        let candidates = destination.iter().zip(&behind).flat_map(|(named, peer)| {
            let any_nid = peer.is_multi_rail() && source.is_none();
            let preferring = Preferring::behind_gateway(peer, net, named, any_nid);
            hops(paths, net, peer, preferring, source, path_request)
        });
        let candidates = candidates.collect();
        if let Some(Explained { others, chosen }) = explained(candidates) {
            explanation.gateway = chosen.0;
            explanation.gateways =
                others.into_iter().map(|(candidate, hop, why)| (hop.peer_ni.nid(), candidate, why)).collect();
        }
    }
    let (Some(peer_ni), None) = (explanation.chosen.peer_ni.clone(), path_request.source) else {
        return Ok(explanation);
    };
    let peer = peer_ni.peer();
    let net = nets.net(peer_ni.nid().net());
    // For a peer that is bound to an interface there was no choice.
    let had_a_choice = peer.is_multi_rail() || peer_ni.sticky().is_none();
    let peer_net = peer.nets.iter().find(|net| peer.is_multi_rail() && net.id == peer_ni.nid().net());
    let its = peer_net.map_or(&[][..], |net| &net.nis);
    let preferring = peer_net.map_or_else(|| Preferring::one(&peer_ni), Preferring::best_of);
    if let Some(Explained { others, chosen }) = net
        .filter(|_| had_a_choice)
        .and_then(|net| explained(local_nis(net, its, &preferring.local_nis(net.nis()), path_request).collect()))
    {
        explanation.local_ni = chosen.0;
        explanation.local_nis =
            others.into_iter().map(|(candidate, ni, why)| (ni.nid(), candidate, why)).collect();
    }
    if !peer.is_multi_rail() {
        return Ok(explanation);
    }
    if let Some(Explained { others, chosen }) = explained(shared_nets(nets, &peer, path_request).collect()) {
        explanation.net = chosen.0;
        explanation.nets = others
            .into_iter()
            .map(|(candidate, (net, its), why)| {
                let down = its.nis().all(|peer_ni| peer_ni.is_reported_down());
                (net.id(), candidate, named(why, down))
            })
            .collect();
    }
    let own = Arc::clone(&explanation.chosen.ni);
    if let Some(Explained { others, chosen }) =
        peer_net.and_then(|net| explained(held_peer_nis(net, &own, None, path_request).collect()))
    {
        explanation.peer_ni = chosen.0;
        explanation.peer_nis = others
            .into_iter()
            .map(|(candidate, its, why)| (its.nid(), candidate, named(why, its.is_reported_down())))
            .collect();
    }
    Ok(explanation)
}

/// A peer NI that is reported as down loses by health, though its health value was not lowered: nothing else shows
/// that.
const fn named(why: Criterion, reported_down: bool) -> Criterion {
    match why {
        Criterion::Health if reported_down => Criterion::ReportedDown,
        why => why,
    }
}
