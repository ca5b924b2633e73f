//! Merging the ping information of a peer (core-behaviour 5.6): its effects on health.

use super::Monitor;
use crate::model::Peer;
use lnet_wire::ping_info::{NiStatus, PingInfo};
use std::sync::Arc;

impl Monitor<'_> {
    /// Merges the ping information `info` of `peer`.
    pub(crate) fn merge(&self, peer: &Arc<Peer>, info: &PingInfo) {
        let config = self.configuration.lock();
        let Some(peer) = self.topology.peer_of(&peer.discovery) else { return };
        if self.env.is_ending() {
            return;
        }
        self.note_statuses(&peer, info);
        peer.discovery.note_told_nets(info);
        let effects = self.discovery.merge(&config, self.env, self.topology, &peer, info);
        if let Some(grown) = &effects.grown {
            // Once more, for the peer NIs that are new.
            self.note_statuses(grown, info);
            self.health.reachability_may_change(grown.primary);
            self.delete_duplicate_routes(&config);
        }
        self.topology.renew_rules(&config);
        self.discovery.finish_merge(self.topology, &peer, info, &effects);
    }

    /// Stores the interfaces that a peer reports as down.
    fn note_statuses(&self, peer: &Peer, info: &PingInfo) {
        for entry in info.entries.iter().filter(|entry| peer.nids.contains(&entry.nid)) {
            if let Some(peer_ni) = self.topology.peer_ni(entry.nid) {
                self.admin.set_reported_down(&peer_ni, entry.status == NiStatus::Down);
            }
        }
    }
}
