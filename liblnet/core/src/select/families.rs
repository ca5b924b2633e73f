//! Selection on a net where NIDs of both address families are: the local NIs, each with the peer NIs of one family that it reaches.
//!
//! On a net with one family every local NI reaches every peer NI, and this module is not used. Where both are, a local NI that
//! reaches no NID of a peer is no path to it and is not compared. An NI is a candidate for each family that it reaches, and the
//! criteria see the peer NIs of that family alone: one whose own family is that of the peer NIs comes before all others that
//! work, and rails of both families are used in turn like those of one.

use super::compare::best;
use super::criteria::{LocalNiCandidate, NetCandidate};
use super::path_request::PathRequest;
use super::path_state::{PathState, path_state, path_state_of};
use super::peer_nis::{best_peer_ni, held_peer_nis};
use super::preferring::{Preferences, Preferring};
use super::reach::Reach;
use crate::model::{AddressFamilies, AddressFamily, LOWEST_PRIORITY, Net, Ni, PeerNet, PeerNi, can_reach};
use std::sync::Arc;

/// A local NI with the peer NIs of one family, to one of which at least it is a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct FamilyPair<'a> {
    pub(super) ni: &'a Arc<Ni>,
    /// The peer NIs of the family.
    pub(super) peer_net: &'a PeerNet,
    family: AddressFamily,
}

/// Whether a local NI may be no path to a peer NI on the same net, for their families.
#[inline(always)]
pub(super) fn are_mixed(net: &Net, peer_net: &PeerNet) -> bool {
    !net.families().are_one_with(peer_net.families)
}

/// The same for one peer NI.
#[inline(always)]
pub(super) fn are_mixed_to(net: &Net, peer_ni: &PeerNi) -> bool {
    !net.families().are_one_with(AddressFamilies::only(AddressFamily::of(peer_ni.nid())))
}

/// Whether any path leads from the net to the peer NIs.
#[inline(always)]
pub(super) fn is_any_reached(net: &Net, peer_net: &PeerNet) -> bool {
    !are_mixed(net, peer_net) || net.nis().iter().any(|ni| pairs_of(ni, peer_net).next().is_some())
}

/// The candidate of a mixed net by its best path; `None` if no path leads to the peer NIs.
pub(super) fn by_best_pair(
    candidate: NetCandidate,
    net: &Net,
    peer_net: &PeerNet,
    path_request: PathRequest<'_>,
) -> Option<NetCandidate> {
    let (its, pair) = best(candidates(net, peer_net, |preferring| preferring, path_request))?;
    Some(NetCandidate {
        fatal: its.fatal,
        path_state: its.path_state,
        reported_down: pair.peer_net.is_reported_down(),
        peer_health: its.peer_health,
        local_health: if its.fatal { 0 } else { its.health },
        ..candidate
    })
}

/// The best path between a local NI on a mixed net and a peer NI. `preferring` completes the preferences of the peer NIs of a family.
pub(super) fn best_pair<'a>(
    net: &'a Net,
    peer_net: &'a PeerNet,
    preferring: impl Fn(Preferring<'a>) -> Preferring<'a>,
    path_request: &PathRequest<'a>,
) -> Option<(&'a Arc<Ni>, Arc<PeerNi>)> {
    let (_, pair) = best(candidates(net, peer_net, preferring, *path_request))?;
    Some((pair.ni, pair.best_peer_ni(path_request)?))
}

/// The best peer NI that this local NI reaches.
pub(super) fn best_peer_ni_from(
    ni: &Arc<Ni>,
    peer_net: &PeerNet,
    path_request: &PathRequest<'_>,
) -> Option<Arc<PeerNi>> {
    let each = pairs_of(ni, peer_net).map(|pair| {
        let preference = Preferring::best_of(pair.peer_net).local_ni(ni.nid());
        let path_state = pair.path_state(*path_request);
        (LocalNiCandidate::of(ni, path_state, pair.reach(), preference, 0), pair)
    });
    best(each)?.1.best_peer_ni(path_request)
}

/// The local NIs on a mixed net, each with the peer NIs of each family that it reaches, in the order of configuration.
pub(super) fn candidates<'a>(
    net: &'a Net,
    peer_net: &'a PeerNet,
    preferring: impl Fn(Preferring<'a>) -> Preferring<'a>,
    path_request: PathRequest<'a>,
) -> impl Iterator<Item = (LocalNiCandidate, FamilyPair<'a>)> {
    let distances = path_request.numa.and_then(|numa| numa.distances(net.nis()));
    let of_family = |family| {
        let its = peer_net.of_family(family).map_or(Preferring::NONE, Preferring::best_of);
        preferring(its).local_nis(net.nis())
    };
    let preferences: [Preferences<'_>; 2] = AddressFamily::ALL.map(of_family);
    net.nis().iter().enumerate().flat_map(move |(position, ni)| {
        let distance = distances.map_or(0, |distances| distances.to(ni));
        pairs_of(ni, peer_net).map(move |pair| {
            let preference = preferences[pair.family.index()].of(position, ni.nid());
            let path_state = pair.path_state(path_request);
            (LocalNiCandidate::of(ni, path_state, pair.reach(), preference, distance), pair)
        })
    })
}

/// The local NIs on a mixed net that are paths to this peer NI, in the order of configuration.
pub(super) fn candidates_to<'a>(
    net: &'a Net,
    peer_ni: &PeerNi,
    preferring: Preferring<'a>,
    path_request: PathRequest<'a>,
) -> impl Iterator<Item = (LocalNiCandidate, &'a Arc<Ni>)> {
    let distances = path_request.numa.and_then(|numa| numa.distances(net.nis()));
    let preferences = preferring.local_nis(net.nis());
    net.nis().iter().enumerate().filter(|(_, ni)| can_reach(ni, peer_ni)).map(move |(position, ni)| {
        let distance = distances.map_or(0, |distances| distances.to(ni));
        let preference = preferences.of(position, ni.nid());
        let path_state = path_state(ni, peer_ni, path_request);
        (LocalNiCandidate::of(ni, path_state, Reach::one(ni, peer_ni), preference, distance), ni)
    })
}

/// This local NI with the peer NIs of each family to one of which at least it is a path.
fn pairs_of<'a>(ni: &'a Arc<Ni>, peer_net: &'a PeerNet) -> impl Iterator<Item = FamilyPair<'a>> {
    AddressFamily::ALL.into_iter().filter_map(move |family| {
        let pair = FamilyPair { ni, peer_net: peer_net.of_family(family)?, family };
        let is_path = pair.reaches_all() || pair.peer_net.nis().any(|its| can_reach(ni, &its));
        is_path.then_some(pair)
    })
}

impl FamilyPair<'_> {
    /// Whether the local NI reaches the family; otherwise it reaches the NIDs that have been heard on it.
    fn reaches_all(&self) -> bool {
        self.ni.reaches(self.family)
    }

    fn reach(&self) -> Reach {
        let priorities = self.peer_net.criteria.iter().map(|its| its.priority());
        Reach {
            other_family: AddressFamily::of(self.ni.nid()) != self.family,
            peer_health: self.peer_net.usable_health().unwrap_or(0),
            peer_priority: priorities.min().unwrap_or(LOWEST_PRIORITY),
        }
    }

    fn path_state(&self, path_request: PathRequest<'_>) -> PathState {
        match self.reaches_all() {
            true => path_state_of(self.ni, &self.peer_net.nis, path_request),
            false => {
                let heard = self.peer_net.nis().filter(|its| can_reach(self.ni, its));
                heard.map(|its| path_state(self.ni, &its, path_request)).min().unwrap_or_default()
            }
        }
    }

    /// The best peer NI.
    fn best_peer_ni(&self, path_request: &PathRequest<'_>) -> Option<Arc<PeerNi>> {
        if self.reaches_all() {
            return best_peer_ni(self.peer_net, self.ni, None, path_request);
        }
        let all = held_peer_nis(self.peer_net, self.ni, None, *path_request);
        best(all.filter(|(_, its)| can_reach(self.ni, its))).map(|(_, its)| its)
    }
}
