//! Health for operators and drivers.

use super::Admin;
use crate::health::{self, HealthTotals, NiKind, PeerNiState, PeerReachability, UnresponsivePath};
use crate::model::PeerNi;
use lnet_settings::MAX_HEALTH;
use lnet_wire::Nid;
use std::sync::Arc;

impl Admin<'_> {
    /// The failure counters of the node.
    pub fn health_totals(&self) -> HealthTotals {
        let responses_awaited = self.objects.mds().iter().filter(|md| md.is_tracked()).count();
        self.health.totals(responses_awaited as u64)
    }

    /// The NIDs in the recovery queue (`lnetctl debug recovery`).
    pub fn recovery_queue(&self, kind: NiKind) -> Vec<Nid> {
        self.health.recovery_queue(kind)
    }

    /// The reachability of the peer with this NID; `None` for an unknown NID.
    pub fn reachability(&self, nid: Nid) -> Option<PeerReachability> {
        let peer = self.topology.peer(nid)?;
        Some(PeerReachability::of(&peer, self.env, self.topology))
    }

    /// The state of a peer NI.
    pub fn peer_ni_state(&self, peer_ni: &PeerNi) -> PeerNiState {
        health::peer_ni_state(self.env, self.topology, peer_ni)
    }

    /// The unresponsive paths to the peer with this NID, in the order of its NIDs. A peer whose paths are all
    /// unresponsive is unreachable. Empty for an unknown NID.
    pub fn unresponsive_paths(&self, peer: Nid) -> Vec<UnresponsivePath> {
        let Some(peer) = self.topology.peer(peer) else { return Vec::new() };
        let peer_nis = peer.nids.iter().filter_map(|nid| self.topology.peer_ni(*nid)).collect::<Vec<_>>();
        let of_one = |peer_ni: &Arc<PeerNi>| {
            let peer = peer_ni.nid();
            let all = peer_ni.unresponsive().all().into_iter();
            all.map(move |(local, since)| UnresponsivePath { local, peer, since })
        };
        peer_nis.iter().flat_map(of_one).collect()
    }

    /// Sets the health value of one local NI, or of all but the loopback. An unknown NID changes nothing.
    pub fn set_ni_health(&self, nid: Option<Nid>, value: u32) {
        self.topology.with_nets(|nets| {
            let concerned =
                nets.nis().filter(|ni| nid.map_or_else(|| !ni.nid().is_loopback(), |nid| ni.nid() == nid));
            concerned.for_each(|ni| self.health.change_ni_health(self.env, ni, value.min(MAX_HEALTH)));
        });
    }

    /// Sets the health value of one peer NI, or of all. An unknown NID changes nothing.
    pub fn set_peer_ni_health(&self, nid: Option<Nid>, value: u32) {
        let concerned = match nid {
            Some(nid) => self.topology.peer_ni(nid).into_iter().collect(),
            None => self.topology.peers().all(),
        };
        let value = value.min(MAX_HEALTH);
        concerned.iter().for_each(|peer_ni| self.health.change_peer_ni_health(self.env, peer_ni, value));
    }
}
