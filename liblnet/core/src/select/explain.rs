//! A selection with the reasons why the other candidates lost.

use super::candidates::{GatewayCandidate, LocalNiCandidate, NetCandidate, PeerNiCandidate};
use super::choose;
use super::chosen_path::ChosenPath;
use super::compare::{Candidate, Criterion, Explained, explained};
use super::direct::{held_peer_nis, local_nis, shared_nets};
use super::other_paths::is_avoided;
use super::path_request::{PathRequest, Paths};
use super::preferring::Preferring;
use super::routed::{bound_ni, hops, is_any_nid_meant, nets_of_gateway, routed_nets};
use crate::model::{ActiveRoute, Net, Ni, Peer, PeerNet, PeerNi};
use lnet_wire::{Errno, NetId, Nid};
use std::sync::{Arc, Weak};

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
    /// The state of the selected net of the destination, if there was a choice.
    pub net: NetCandidate,
    /// The state of the selected local NI, if there was a choice.
    pub local_ni: LocalNiCandidate,
    /// The state of the selected peer NI of the destination, if there was a choice.
    pub peer_ni: PeerNiCandidate,
    /// Nets of the destination that lost, common ones and those behind gateways; empty if there was no choice.
    pub nets: Vec<NetLoser>,
    /// Local NIs on the selected net that lost; empty if there was no choice.
    pub local_nis: Vec<LocalLoser>,
    /// Peer NIs of the destination on the selected net that lost; empty if there was no choice.
    pub peer_nis: Vec<PeerLoser>,
    /// The state of the selected gateway, if there is one.
    pub gateway: GatewayCandidate,
    /// Gateways to the net of the destination that lost.
    pub gateways: Vec<GatewayLoser>,
    /// The state of the net by which that gateway is reached.
    pub gateway_net: NetCandidate,
    /// Nets by which it is not.
    pub gateway_nets: Vec<NetLoser>,
    /// The state of the peer NI of the gateway that is sent to.
    pub gateway_ni: PeerNiCandidate,
    /// Peer NIs of the gateway on the same net that are not.
    pub gateway_nis: Vec<PeerLoser>,
}

/// [`choose`], with its reasons.
pub fn explain(
    paths: Paths<'_>,
    destination: Option<&Arc<PeerNi>>,
    path_request: PathRequest<'_>,
) -> Result<Explanation, Errno> {
    let chosen = choose(paths, destination, path_request)?;
    let explanation = Explanation {
        chosen,
        net: NetCandidate::default(),
        local_ni: LocalNiCandidate::default(),
        peer_ni: PeerNiCandidate::default(),
        nets: Vec::new(),
        local_nis: Vec::new(),
        peer_nis: Vec::new(),
        gateway: GatewayCandidate::default(),
        gateways: Vec::new(),
        gateway_net: NetCandidate::default(),
        gateway_nets: Vec::new(),
        gateway_ni: PeerNiCandidate::default(),
        gateway_nis: Vec::new(),
    };
    let (Some(named), Some(next)) = (destination, explanation.chosen.peer_ni.clone()) else {
        return Ok(explanation);
    };
    let peer = named.peer();
    let of = Of { paths, path_request, named, peer: &peer };
    Ok(match explanation.chosen.route().map(Arc::clone) {
        Some(route) => of.routed(explanation, &route, &next),
        None if path_request.source.is_none() => of.direct(explanation),
        None => explanation,
    })
}

/// What is explained.
#[derive(Clone, Copy)]
struct Of<'a> {
    paths: Paths<'a>,
    path_request: PathRequest<'a>,
    named: &'a Arc<PeerNi>,
    peer: &'a Peer,
}

impl<'a> Of<'a> {
    /// Of a path without a gateway, whose source is not given.
    fn direct(self, mut explanation: Explanation) -> Explanation {
        let Self { paths, path_request, named, peer } = self;
        let own = Arc::clone(&explanation.chosen.ni);
        let net = paths.nets.net(own.nid().net());
        if !peer.is_multi_rail() {
            let its = [Arc::downgrade(named)];
            let is_by_rule = named.criteria().prefers_local_nis();
            // For a peer that is bound to an interface, and takes that, there was no choice.
            let had_a_choice = is_by_rule || named.sticky() != Some(own.nid());
            if let Some(net) = net.filter(|_| had_a_choice) {
                self.local_nis(&mut explanation, net, &its, Preferring::one(named), is_by_rule);
            }
            return explanation;
        }
        if let Some(Explained { others, chosen }) =
            explained(shared_nets(paths.nets, peer, path_request).collect())
        {
            explanation.net = chosen.0;
            let losers = others
                .into_iter()
                .map(|(candidate, (net, its), why)| (net.id(), candidate, self.named_of_net(why, its)));
            explanation.nets = losers.collect();
        }
        let behind = routed_nets(paths, peer, named, path_request).map(|(candidate, (its, _))| {
            let why = match candidate.is_as_healthy_as(&explanation.net) {
                true => Criterion::BehindGateway,
                false => self.named_of_net(candidate.beats(&explanation.net).1, its),
            };
            (its.id, candidate, why)
        });
        let behind: Vec<_> = behind.collect();
        explanation.nets.extend(behind);
        if let Some((net, peer_net)) = net.and_then(|net| Some((net, peer.net(net.id())?))) {
            let preferring = Preferring::best_of(peer_net);
            self.local_nis(&mut explanation, net, &peer_net.nis, preferring, false);
            (explanation.peer_ni, explanation.peer_nis) = self.peer_nis(peer_net, &own, None);
        }
        explanation
    }

    /// Of a path by this route, to this peer NI of its gateway.
    fn routed(self, mut explanation: Explanation, route: &ActiveRoute, next: &Arc<PeerNi>) -> Explanation {
        let Self { paths, path_request, named, peer } = self;
        let own = Arc::clone(&explanation.chosen.ni);
        let bound = bound_ni(paths, named).filter(|ni| !peer.is_multi_rail() && ni.nid() == own.nid());
        let source = path_request.source.and_then(|nid| paths.nets.ni(nid)).or(bound);
        let any_nid = is_any_nid_meant(peer, source, path_request);
        let preferring = Preferring::behind_gateway(peer, route.route.net, named, any_nid);
        let hops = hops(paths, route.route.net, peer, preferring, source, path_request);
        if let Some(Explained { others, chosen }) = explained(hops.collect()) {
            explanation.gateway = chosen.0;
            let losers = others.into_iter().map(|(candidate, hop, why)| (hop.peer_ni.nid(), candidate, why));
            explanation.gateways = losers.collect();
        }
        if any_nid {
            self.nets_behind_gateways(&mut explanation);
            if let Some(peer_net) = peer.net(route.route.net) {
                (explanation.peer_ni, explanation.peer_nis) =
                    self.peer_nis(peer_net, &own, Some(route.route.gateway));
            }
        }
        let gateway = next.peer();
        let gateway_net = gateway.net(own.nid().net()).filter(|_| gateway.is_multi_rail());
        if let Some(gateway_net) = gateway_net {
            let nets = nets_of_gateway(paths.nets, &gateway, preferring, source, path_request);
            if let Some(Explained { others, chosen }) = explained(nets.collect()) {
                explanation.gateway_net = chosen.0;
                let losers = others
                    .into_iter()
                    .map(|(candidate, (net, its), why)| (net.id(), candidate, self.named_of_net(why, its)));
                explanation.gateway_nets = losers.collect();
            }
            (explanation.gateway_ni, explanation.gateway_nis) = self.peer_nis(gateway_net, &own, None);
        }
        let had_a_choice =
            path_request.source.is_none() && (bound.is_none() || named.criteria().prefers_local_nis());
        if let Some(net) = paths.nets.net(own.nid().net()).filter(|_| had_a_choice) {
            let named_gateway = [Arc::downgrade(next)];
            let (its, of_gateway) = match gateway_net {
                Some(gateway_net) => (&gateway_net.nis[..], Preferring::best_of(gateway_net)),
                None => (&named_gateway[..], Preferring::one(next)),
            };
            self.local_nis(&mut explanation, net, its, preferring.by_gateway(of_gateway), bound.is_some());
        }
        explanation
    }

    /// The nets of a multi-rail destination of which one behind a gateway was selected.
    fn nets_behind_gateways(self, explanation: &mut Explanation) {
        let Self { paths, path_request, named, peer } = self;
        let routed = routed_nets(paths, peer, named, path_request);
        if let Some(Explained { others, chosen }) = explained(routed.collect()) {
            explanation.net = chosen.0;
            let losers = others
                .into_iter()
                .map(|(candidate, (its, _), why)| (its.id, candidate, self.named_of_net(why, its)));
            explanation.nets = losers.collect();
        }
        let common = shared_nets(paths.nets, peer, path_request).map(|(candidate, (net, its))| {
            (net.id(), candidate, self.named_of_net(candidate.beats(&explanation.net).1, its))
        });
        let common: Vec<_> = common.collect();
        explanation.nets.extend(common);
    }

    /// The local NIs on a net. The one to a peer that is not multi-rail stays (`is_bound`) as long as rules and health do not say
    /// otherwise: nothing else counts.
    fn local_nis(
        self,
        explanation: &mut Explanation,
        net: &Net,
        its: &[Weak<PeerNi>],
        preferring: Preferring<'_>,
        is_bound: bool,
    ) {
        let all: Vec<(LocalNiCandidate, &Arc<Ni>)> =
            local_nis(net, its, &preferring.local_nis(net.nis()), self.path_request).collect();
        if !is_bound {
            if let Some(Explained { others, chosen }) = explained(all) {
                explanation.local_ni = chosen.0;
                let named = |(candidate, ni, why): (_, &Arc<Ni>, _)| {
                    (ni.nid(), candidate, self.named(why, false, || self.is_dead(&[Arc::clone(ni)], its)))
                };
                explanation.local_nis = others.into_iter().map(named).collect();
            }
            return;
        }
        let chosen = explanation.chosen.ni.nid();
        let without_turns = |its: &LocalNiCandidate| LocalNiCandidate {
            turn_ended: 0,
            distance: 0,
            credits: 0,
            last_use: 0,
            ..*its
        };
        let Some(best) = all.iter().find(|(_, ni)| ni.nid() == chosen).map(|(its, _)| *its) else { return };
        explanation.local_ni = best;
        let others = all.iter().filter(|(_, ni)| ni.nid() != chosen);
        let losers = others.map(|(candidate, ni)| {
            let why = match without_turns(candidate).beats(&without_turns(&best)) {
                (false, why) if why != Criterion::Order => why,
                _ => Criterion::Bound,
            };
            (ni.nid(), *candidate, self.named(why, false, || self.is_dead(&[Arc::clone(ni)], its)))
        });
        explanation.local_nis = losers.collect();
    }

    /// The peer NIs on a net, to be sent to by `own`, or over a gateway: the state of the best one, and the others.
    fn peer_nis(self, net: &PeerNet, own: &Ni, gateway: Option<Nid>) -> (PeerNiCandidate, Vec<PeerLoser>) {
        let all = held_peer_nis(net, own, gateway, self.path_request).collect();
        let Some(Explained { others, chosen }) = explained(all) else { return Default::default() };
        let losers = others.into_iter().map(|(candidate, its, why)| {
            let is_dead = || self.is_dead(self.nis_on(net.id), &[Arc::downgrade(&its)]);
            (its.nid(), candidate, self.named(why, its.is_reported_down(), is_dead))
        });
        (chosen.0, losers.collect())
    }

    fn named_of_net(self, why: Criterion, its: &PeerNet) -> Criterion {
        let is_down = its.nis().all(|peer_ni| peer_ni.is_reported_down());
        self.named(why, is_down, || self.is_dead(self.nis_on(its.id), &its.nis))
    }

    /// What is told of a loser. A peer NI that is reported as down loses by health, though its health value was not lowered: nothing
    /// else shows that. Of what nothing gets through to, that is told, whatever of its consequences has decided.
    fn named(self, why: Criterion, reported_down: bool, is_dead: impl FnOnce() -> bool) -> Criterion {
        use Criterion::{Fatal, Health, ReportedDown, RouteState, Unproven, Unresponsive};
        match why {
            Health | Unresponsive if reported_down => ReportedDown,
            Fatal | Unresponsive | Unproven | RouteState => why,
            _ if self.path_request.any_suspect && is_dead() => Unresponsive,
            _ => why,
        }
    }

    /// Whether some path between these is unresponsive, and none works on which anything has ever arrived.
    fn is_dead(self, nis: &[Arc<Ni>], its: &[Weak<PeerNi>]) -> bool {
        let its: Vec<Arc<PeerNi>> = its.iter().filter_map(Weak::upgrade).collect();
        let pairs = || nis.iter().flat_map(|ni| its.iter().map(move |peer_ni| (ni, peer_ni)));
        let works = |(ni, its): (&Arc<Ni>, &Arc<PeerNi>)| its.was_ever_heard_by(ni) && !is_avoided(ni, its);
        pairs().any(|(ni, its)| its.unresponsive().has(ni.nid())) && !pairs().any(works)
    }

    fn nis_on(self, net: NetId) -> &'a [Arc<Ni>] {
        self.paths.nets.net(net).map_or(&[], |net| net.nis())
    }
}
