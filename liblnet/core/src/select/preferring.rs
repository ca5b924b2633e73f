//! The preferences of the rules about pairs and routers for the local NIs and gateways of a destination.

use super::criteria::{PeerNiCandidate, PeerNiRank};
use crate::model::{Criteria, Ni, Partners, Peer, PeerNet, PeerNi, Preference};
use lnet_wire::{NetId, Nid};
use std::sync::Arc;

/// The peer NIs whose partners count: those of the destination; and of its gateway, for local NIs none of which the
/// destination prefers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Preferring<'a> {
    destination: PartnerOwner<'a>,
    gateway: PartnerOwner<'a>,
}

/// The owner of partners: one peer NI, or the one that is selected among those on a net.
#[derive(Clone, Copy, Debug)]
enum PartnerOwner<'a> {
    /// No rule names partners.
    NoPartners,
    One(&'a Criteria),
    /// The best peer NIs on this net, by the criteria before the partners: no other is selected.
    BestOf(&'a PeerNet, PeerNiRank),
}

#[derive(Clone, Copy, Debug)]
enum PreferenceKind {
    LocalNi,
    Gateway,
}

/// The preferences for some candidates.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant, reason = "it is on the stack for one choice, and a box would allocate")]
pub(super) enum Preferences<'a> {
    /// No candidate is preferred.
    NoPreference,
    /// The preferences by position.
    Array([Preference; MAX_ARRAY]),
    /// The lists of partners, in which each candidate is looked up when needed, as there are many.
    PartnerLists(PartnerLists<'a>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PartnerLists<'a>(PartnerOwner<'a>, PreferenceKind);

/// The number of candidates whose preferences fit on the stack, so that no message allocates for them, and each list of
/// partners is read once.
const MAX_ARRAY: usize = 16;

impl<'a> Preferring<'a> {
    pub(super) const NONE: Self =
        Self { destination: PartnerOwner::NoPartners, gateway: PartnerOwner::NoPartners };

    pub(super) fn one(peer_ni: &'a PeerNi) -> Self {
        let its = peer_ni.criteria();
        Self::of(if its.has_partners() { PartnerOwner::One(its) } else { PartnerOwner::NoPartners })
    }

    pub(super) fn best_of(peer_net: &'a PeerNet) -> Self {
        if !peer_net.usage.has_partners() {
            return Self::NONE;
        }
        if let Some(first) = peer_net.criteria.first().filter(|_| peer_net.usage.has_same_partners()) {
            return Self::of(PartnerOwner::One(first));
        }
        let best = peer_net.criteria.iter().map(|its| PeerNiCandidate::standing(its)).max();
        Self::of(best.map_or(PartnerOwner::NoPartners, |best| PartnerOwner::BestOf(peer_net, best)))
    }

    /// [`Preferring::best_of`] the peer NIs that a gateway may send to: any one of a multi-rail peer.
    pub(super) fn behind_gateway(peer: &'a Peer, net: NetId, named: &'a PeerNi, any: bool) -> Self {
        match peer.net(net).filter(|_| any) {
            Some(peer_net) => Self::best_of(peer_net),
            None => Self::one(named),
        }
    }

    const fn of(destination: PartnerOwner<'a>) -> Self {
        Self { destination, gateway: PartnerOwner::NoPartners }
    }

    /// Whether no rule names partners.
    pub(super) const fn is_empty(&self) -> bool {
        matches!((self.destination, self.gateway), (PartnerOwner::NoPartners, PartnerOwner::NoPartners))
    }

    /// The same for a gateway that has these partners itself.
    pub(super) const fn by_gateway(self, its: Self) -> Self {
        Self { gateway: its.destination, ..self }
    }

    /// The preferences for these NIs of this node.
    pub(super) fn local_nis(self, nis: &[Arc<Ni>]) -> Preferences<'a> {
        let nids = nis.iter().map(|ni| ni.nid());
        let of_destination = self.destination.preferences(PreferenceKind::LocalNi, nids.clone());
        match self.gateway {
            PartnerOwner::NoPartners => of_destination,
            _ if of_destination.prefer_any(nids.clone()) => of_destination,
            gateway => gateway.preferences(PreferenceKind::LocalNi, nids),
        }
    }

    /// The preference of the destination for the best of these NIs of this node.
    pub(super) fn best_local_ni(self, nis: &[Arc<Ni>]) -> Preference {
        if matches!(self.destination, PartnerOwner::NoPartners) {
            return Preference::default();
        }
        let each = nis.iter().filter(|ni| !ni.is_fatal()).map(|ni| self.local_ni(ni.nid()));
        each.min().unwrap_or_default()
    }

    /// The preference of the destination for this local NI.
    pub(super) fn local_ni(self, nid: Nid) -> Preference {
        self.destination.preference(PreferenceKind::LocalNi, nid)
    }

    /// The preferences of the destination for these gateways, by the NIDs of their routes.
    pub(super) fn gateways(self, nids: impl Iterator<Item = Nid> + Clone) -> Preferences<'a> {
        self.destination.preferences(PreferenceKind::Gateway, nids)
    }
}

impl<'a> PartnerOwner<'a> {
    /// Calls `look` with each list of partners.
    fn each(self, mut look: impl FnMut(&Partners)) {
        match self {
            Self::NoPartners => {}
            Self::One(its) => {
                its.with_partners(look);
            }
            Self::BestOf(peer_net, best) => {
                let is_best = |its: &&Arc<Criteria>| PeerNiCandidate::standing(its) == best;
                for its in peer_net.criteria.iter().filter(is_best) {
                    its.with_partners(&mut look);
                }
            }
        }
    }

    fn preference(self, kind: PreferenceKind, nid: Nid) -> Preference {
        let mut best = Preference::default();
        self.each(|partners| best = best.min(kind.preference(partners, nid)));
        best
    }

    fn preferences(self, kind: PreferenceKind, nids: impl Iterator<Item = Nid> + Clone) -> Preferences<'a> {
        if matches!(self, Self::NoPartners) {
            return Preferences::NoPreference;
        }
        if nids.clone().nth(MAX_ARRAY).is_some() {
            return Preferences::PartnerLists(PartnerLists(self, kind));
        }
        let mut few = [Preference::default(); MAX_ARRAY];
        self.each(|partners| {
            for (best, nid) in few.iter_mut().zip(nids.clone()) {
                *best = (*best).min(kind.preference(partners, nid));
            }
        });
        Preferences::Array(few)
    }
}

impl PreferenceKind {
    fn preference(self, partners: &Partners, nid: Nid) -> Preference {
        match self {
            Self::LocalNi => partners.preference_of_local(nid),
            Self::Gateway => partners.preference_of_gateway(nid),
        }
    }
}

impl Preferences<'_> {
    /// The preference for the candidate with this NID at this position.
    pub(super) fn of(&self, position: usize, nid: Nid) -> Preference {
        match self {
            Self::NoPreference => Preference::default(),
            Self::Array(few) => few.get(position).copied().unwrap_or_default(),
            Self::PartnerLists(PartnerLists(whose, kind)) => whose.preference(*kind, nid),
        }
    }

    fn prefer_any(&self, nids: impl Iterator<Item = Nid>) -> bool {
        match self {
            Self::NoPreference => false,
            Self::Array(few) => few.iter().any(|its| its.is_any()),
            Self::PartnerLists(_) => nids.into_iter().any(|nid| self.of(0, nid).is_any()),
        }
    }
}
