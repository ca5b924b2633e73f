//! Which local NIs and gateways the rules about pairs and routers prefer for a destination.

use crate::model::{Peer, PeerNet, PeerNi, Preference};
use lnet_wire::{NetId, Nid};

/// The destination whose partners count: one peer NI, or whichever of those on a net is selected.
#[derive(Clone, Copy, Debug)]
pub(super) enum Preferring<'a> {
    /// No rule names partners of the destination.
    Nobody,
    One(&'a PeerNi),
    /// Of the peer NIs on this net those that are best in health, and then in priority: no other is selected.
    BestOf(&'a PeerNet, (u32, u32)),
}

impl<'a> Preferring<'a> {
    pub(super) fn one(peer_ni: &'a PeerNi) -> Self {
        if peer_ni.criteria().has_partners() { Self::One(peer_ni) } else { Self::Nobody }
    }

    pub(super) fn best_of(peer_net: &'a PeerNet) -> Self {
        if !peer_net.usage.has_partners() {
            return Self::Nobody;
        }
        let best = peer_net.criteria.iter().map(|its| (its.usable_health(), !its.priority())).max();
        best.map_or(Self::Nobody, |best| Self::BestOf(peer_net, best))
    }

    /// [`Preferring::best_of`] the peer NIs that a gateway may be asked to send to: one of a multi-rail peer.
    pub(super) fn behind_gateway(peer: &'a Peer, net: NetId, named: &'a PeerNi, any: bool) -> Self {
        match peer.net(net).filter(|_| any) {
            Some(peer_net) => Self::best_of(peer_net),
            None => Self::one(named),
        }
    }

    /// This one, or the other if no rule is about this one.
    pub(super) const fn or(self, other: Self) -> Self {
        if matches!(self, Self::Nobody) { other } else { self }
    }

    pub(super) fn local(self, nid: Nid) -> Preference {
        self.preference(|peer_ni| peer_ni.preference_of_local(nid))
    }

    pub(super) fn gateway(self, nid: Nid) -> Preference {
        self.preference(|peer_ni| peer_ni.preference_of_gateway(nid))
    }

    fn preference(self, of: impl Fn(&PeerNi) -> Preference) -> Preference {
        match self {
            Self::Nobody => Preference::default(),
            Self::One(peer_ni) => of(peer_ni),
            Self::BestOf(peer_net, best) => {
                let its = peer_net.nis.iter().zip(&peer_net.criteria);
                its.filter(|(_, its)| its.has_partners() && (its.usable_health(), !its.priority()) == best)
                    .filter_map(|(peer_ni, _)| peer_ni.upgrade())
                    .map(|peer_ni| of(&peer_ni))
                    .min()
                    .unwrap_or_default()
            }
        }
    }
}
