//! A selection with the reasons why the other candidates lost.

use super::chosen_path::ChosenPath;
use super::compare::{ALL, Candidate, Explained, LASTING, Reason, explained};
use super::criteria::LocalNiCandidate;
use super::criterion::Criterion;
use super::direct::{local_nis, shared_nets};
use super::families::{are_mixed, are_mixed_to, candidates, candidates_to};
use super::other_paths::is_avoided;
use super::path_request::{PathRequest, Paths};
use super::peer_nis::held_peer_nis;
use super::preferring::Preferring;
use super::routed::{bound_ni, hops, is_any_nid_meant, nets_of_gateway, routed_nets};
use super::select_path;
use crate::model::{ActiveRoute, AddressFamily, Net, Ni, Peer, PeerNet, PeerNi, can_reach};
use lnet_wire::{Errno, NetId, Nid};
use std::sync::{Arc, Weak};

/// A candidate that was not selected, and the reason.
pub type Loser<I> = (I, Reason);

/// The path that a message would take now, and the reasons against the others.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The selected path; it has not been committed.
    pub chosen: ChosenPath,
    /// Nets of the destination that lost, common ones and those behind gateways; empty if there was no choice.
    pub nets: Vec<Loser<NetId>>,
    /// Local NIs on the selected net that lost; empty if there was no choice.
    pub local_nis: Vec<Loser<Nid>>,
    /// Peer NIs of the destination on the selected net that lost; empty if there was no choice.
    pub peer_nis: Vec<Loser<Nid>>,
    /// Gateways to the net of the destination that lost, by the NIDs that would be sent to.
    pub gateways: Vec<Loser<Nid>>,
    /// Nets by which the selected gateway is not reached.
    pub gateway_nets: Vec<Loser<NetId>>,
    /// Peer NIs of the gateway on the same net that are not sent to.
    pub gateway_nis: Vec<Loser<Nid>>,
}

/// Selects a path as [`select_path`] does, with the reasons against the other candidates.
pub fn explain(
    paths: Paths<'_>,
    destination: Option<&Arc<PeerNi>>,
    path_request: PathRequest<'_>,
) -> Result<Explanation, Errno> {
    let chosen = select_path(paths, destination, path_request)?;
    let explanation = Explanation {
        chosen,
        nets: Vec::new(),
        local_nis: Vec::new(),
        peer_nis: Vec::new(),
        gateways: Vec::new(),
        gateway_nets: Vec::new(),
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

/// The end of the next hop that local NIs are explained for.
#[derive(Clone, Copy)]
enum To<'a> {
    /// This peer NI.
    One(&'a Arc<PeerNi>),
    /// The best of the peer NIs on a net.
    BestOf(&'a PeerNet),
}

impl<'a> To<'a> {
    fn nis(self) -> Vec<Weak<PeerNi>> {
        match self {
            Self::One(peer_ni) => vec![Arc::downgrade(peer_ni)],
            Self::BestOf(peer_net) => peer_net.nis.clone(),
        }
    }

    fn preferring(self) -> Preferring<'a> {
        match self {
            Self::One(peer_ni) => Preferring::one(peer_ni),
            Self::BestOf(peer_net) => Preferring::best_of(peer_net),
        }
    }
}

/// The request that is explained.
#[derive(Clone, Copy)]
struct Of<'a> {
    paths: Paths<'a>,
    path_request: PathRequest<'a>,
    named: &'a Arc<PeerNi>,
    peer: &'a Peer,
}

impl<'a> Of<'a> {
    /// Adds the reasons for a path without a gateway, whose source is not given.
    fn direct(self, mut explanation: Explanation) -> Explanation {
        let Self { paths, path_request, named, peer } = self;
        let own = Arc::clone(&explanation.chosen.ni);
        let net = paths.nets.net(own.nid().net());
        if !peer.is_multi_rail() {
            let is_by_rule = named.criteria().prefers_local_nis();
            // For a peer that is bound to an interface, and takes that, there was no choice.
            let had_a_choice = is_by_rule || named.sticky() != Some(own.nid());
            if let Some(net) = net.filter(|_| had_a_choice) {
                self.local_nis(&mut explanation, net, To::One(named), None, is_by_rule);
            }
            return explanation;
        }
        if let Some(Explained { others, chosen: (best, _) }) =
            explained(shared_nets(paths.nets, peer, path_request).collect())
        {
            let common = others.into_iter().map(|((net, its), why)| (net.id(), self.named_of_net(why, its)));
            let behind = routed_nets(paths, peer, named, path_request).map(|(candidate, (its, _))| {
                let why = match candidate.is_as_healthy_as(&best) {
                    true => Criterion::BehindGateway.into(),
                    false => self.named_of_net(candidate.because::<ALL>(&best), its),
                };
                (its.id, why)
            });
            explanation.nets = common.chain(behind).collect();
        }
        if let Some((net, peer_net)) = net.and_then(|net| Some((net, peer.net(net.id())?))) {
            self.local_nis(&mut explanation, net, To::BestOf(peer_net), None, false);
            explanation.peer_nis =
                self.peer_nis(peer_net, &own, Some(explanation.chosen.destination()), None);
        }
        explanation
    }

    /// Adds the reasons for a path by this route, to this peer NI of its gateway.
    fn routed(self, mut explanation: Explanation, route: &ActiveRoute, next: &Arc<PeerNi>) -> Explanation {
        let Self { paths, path_request, named, peer } = self;
        let own = Arc::clone(&explanation.chosen.ni);
        let bound = bound_ni(paths, named).filter(|ni| !peer.is_multi_rail() && ni.nid() == own.nid());
        let source = path_request.source.and_then(|nid| paths.nets.ni(nid)).or(bound);
        let any_nid = is_any_nid_meant(peer, source, path_request);
        let preferring = Preferring::behind_gateway(peer, route.route.net, named, any_nid);
        let hops = hops(paths, route.route.net, peer, preferring, source, path_request);
        if let Some(Explained { others, .. }) = explained(hops.collect()) {
            explanation.gateways = others.into_iter().map(|(hop, why)| (hop.peer_ni.nid(), why)).collect();
        }
        if any_nid {
            self.nets_behind_gateways(&mut explanation);
            if let Some(peer_net) = peer.net(route.route.net) {
                explanation.peer_nis = self.peer_nis(peer_net, &own, None, Some(route.route.gateway));
            }
        }
        let gateway = next.peer();
        let gateway_net = gateway.net(own.nid().net()).filter(|_| gateway.is_multi_rail());
        if let Some(gateway_net) = gateway_net {
            let nets = nets_of_gateway(paths.nets, &gateway, preferring, source, path_request);
            if let Some(Explained { others, .. }) = explained(nets.collect()) {
                let losers =
                    others.into_iter().map(|((net, its), why)| (net.id(), self.named_of_net(why, its)));
                explanation.gateway_nets = losers.collect();
            }
            explanation.gateway_nis = self.peer_nis(gateway_net, &own, Some(next.nid()), None);
        }
        let had_a_choice =
            path_request.source.is_none() && (bound.is_none() || named.criteria().prefers_local_nis());
        if let Some(net) = paths.nets.net(own.nid().net()).filter(|_| had_a_choice) {
            let to = gateway_net.map_or(To::One(next), To::BestOf);
            self.local_nis(&mut explanation, net, to, Some(preferring), bound.is_some());
        }
        explanation
    }

    /// The nets of a multi-rail destination of which one behind a gateway was selected.
    fn nets_behind_gateways(self, explanation: &mut Explanation) {
        let Self { paths, path_request, named, peer } = self;
        let routed = routed_nets(paths, peer, named, path_request);
        let Some(Explained { others, chosen: (best, _) }) = explained(routed.collect()) else { return };
        let others = others.into_iter().map(|((its, _), why)| (its.id, self.named_of_net(why, its)));
        let common = shared_nets(paths.nets, peer, path_request).map(|(candidate, (net, its))| {
            (net.id(), self.named_of_net(candidate.because::<ALL>(&best), its))
        });
        explanation.nets = others.chain(common).collect();
    }

    /// The local NIs on a net, to this end of the next hop; `behind` is the destination behind that. The one for a peer that is not
    /// multi-rail stays (`is_bound`) unless rules or health decide otherwise: nothing else counts.
    fn local_nis(
        self,
        explanation: &mut Explanation,
        net: &Net,
        to: To<'_>,
        behind: Option<Preferring<'_>>,
        is_bound: bool,
    ) {
        let all = self.local_ni_candidates(net, to, behind);
        let its = to.nis();
        let named = |ni: &Arc<Ni>, why: Reason| {
            (ni.nid(), self.named(why, false, || self.is_dead(&[Arc::clone(ni)], &its)))
        };
        let is_path = |ni: &Arc<Ni>| all.iter().any(|(_, its)| Arc::ptr_eq(its, ni));
        let no_paths: Vec<Loser<Nid>> = net
            .nis()
            .iter()
            .filter(|ni| !is_path(ni))
            .map(|ni| (ni.nid(), Criterion::Unreachable.into()))
            .collect();
        if !is_bound {
            let others = explained(all).map(|explained| explained.others).unwrap_or_default();
            let losers = others.into_iter().map(|(ni, why)| named(ni, why));
            explanation.local_nis = losers.chain(no_paths).collect();
            return;
        }
        let chosen = explanation.chosen.ni.nid();
        let Some(best) = all.iter().find(|(_, ni)| ni.nid() == chosen).map(|(its, _)| *its) else { return };
        let others = all.iter().filter(|(_, ni)| ni.nid() != chosen);
        let losers = others.map(|(candidate, ni)| {
            let why = match candidate.compare::<LASTING>(&best).is_gt() {
                true => candidate.because::<LASTING>(&best),
                false => Criterion::Bound.into(),
            };
            named(ni, why)
        });
        explanation.local_nis = losers.chain(no_paths).collect();
    }

    /// The local NIs on a net that are paths, each as the best of its candidates.
    fn local_ni_candidates<'n>(
        self,
        net: &'n Net,
        to: To<'n>,
        behind: Option<Preferring<'n>>,
    ) -> Vec<(LocalNiCandidate, &'n Arc<Ni>)>
    where
        'a: 'n,
    {
        let path_request = self.path_request;
        let preferring = |its| behind.map_or(its, |behind| behind.by_gateway(its));
        match to {
            To::BestOf(peer_net) if are_mixed(net, peer_net) => {
                let pairs = candidates(net, peer_net, preferring, path_request);
                let mut best: Vec<(LocalNiCandidate, &Arc<Ni>)> = Vec::new();
                for (candidate, pair) in pairs {
                    match best.last_mut().filter(|(_, ni)| Arc::ptr_eq(ni, pair.ni)) {
                        Some(last) if candidate.compare::<ALL>(&last.0).is_lt() => last.0 = candidate,
                        Some(_) => {}
                        None => best.push((candidate, pair.ni)),
                    }
                }
                best
            }
            To::One(peer_ni) if are_mixed_to(net, peer_ni) => {
                candidates_to(net, peer_ni, preferring(Preferring::one(peer_ni)), path_request).collect()
            }
            _ => {
                let preferences = preferring(to.preferring()).local_nis(net.nis());
                local_nis(net, &to.nis(), &preferences, path_request).collect()
            }
        }
    }

    /// The peer NIs on a net that are not sent to by `own`, which sends to `chosen`, or over a gateway.
    fn peer_nis(self, net: &PeerNet, own: &Ni, chosen: Option<Nid>, gateway: Option<Nid>) -> Vec<Loser<Nid>> {
        let is_mixed = self.paths.nets.net(net.id).is_some_and(|own_net| are_mixed(own_net, net));
        let chosen = chosen.filter(|_| is_mixed).map(AddressFamily::of);
        let same_family = chosen.and_then(|family| net.of_family(family)).unwrap_or(net);
        let all = held_peer_nis(same_family, own, gateway, self.path_request);
        let all = all.filter(|(_, its)| chosen.is_none() || can_reach(own, its)).collect();
        let Some(Explained { others, .. }) = explained(all) else { return Vec::new() };
        let named = |its: Arc<PeerNi>, why: Reason| {
            let is_dead = || self.is_dead(self.nis_on(net.id), &[Arc::downgrade(&its)]);
            (its.nid(), self.named(why, its.is_reported_down(), is_dead))
        };
        let losers = others.into_iter().map(|(its, why)| named(its, why));
        let is_of_other =
            |its: &Arc<PeerNi>| chosen.is_some_and(|family| AddressFamily::of(its.nid()) != family);
        let of_other_family = net.nis().filter(is_of_other).map(|its| {
            let why = if can_reach(own, &its) { Criterion::Family } else { Criterion::Unreachable };
            named(its, why.into())
        });
        losers.chain(of_other_family).collect()
    }

    fn named_of_net(self, why: Reason, its: &PeerNet) -> Reason {
        let is_down = its.nis().all(|peer_ni| peer_ni.is_reported_down());
        self.named(why, is_down, || self.is_dead(self.nis_on(its.id), &its.nis))
    }

    /// The reason that is shown for a loser. A peer NI that is reported as down loses by health, though its health value was
    /// not lowered, which nothing else shows. For a dead path that is the reason shown, whichever of its consequences has
    /// decided.
    fn named(self, why: Reason, reported_down: bool, is_dead: impl FnOnce() -> bool) -> Reason {
        use Criterion::{Fatal, Health, ReportedDown, RouteState, Unproven, Unresponsive};
        match why.criterion {
            Health | Unresponsive if reported_down => ReportedDown.into(),
            Fatal | Unresponsive | Unproven | RouteState => why,
            _ if self.path_request.any_suspect && is_dead() => Unresponsive.into(),
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
