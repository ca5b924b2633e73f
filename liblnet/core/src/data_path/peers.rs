//! The peer NIs that messages go to and come from.

use super::DataPath;
use crate::model::{Ni, PeerNi};
use lnet_wire::Nid;
use std::sync::Arc;

impl DataPath {
    pub(crate) fn peer_ni(&self, nid: Nid) -> Arc<PeerNi> {
        self.topology.peer_ni(nid).unwrap_or_else(|| {
            let peer_ni = self.topology.peers().get_or_add(nid, self.topology.first_peer_credits(nid));
            // The net may have been added in the meantime.
            self.grant_credits(&peer_ni);
            self.learn_incarnation(&peer_ni);
            self.topology.apply_rules_to_new(&peer_ni);
            peer_ni
        })
    }

    /// The peer NI with this NID, which is added if it is unknown; `None` if it is unknown and the table is full.
    pub(crate) fn peer_ni_if_room(&self, nid: Nid) -> Option<Arc<PeerNi>> {
        let has_room = || self.topology.peers().makes_room(self.env.config().max_peers, self.env.now());
        self.topology.peer_ni(nid).or_else(|| has_room().then(|| self.peer_ni(nid)))
    }

    /// The peer NI that sent a message on `ni`. A new one is bound to that interface (OM-22). `None` if it is unknown
    /// and the table is full.
    pub(crate) fn sender(&self, nid: Nid, ni: &Ni) -> Option<Arc<PeerNi>> {
        if let Some(known) = self.topology.peer_ni(nid) {
            return Some(known);
        }
        let peer_ni = self.peer_ni_if_room(nid)?;
        if let Some(whole) = self.topology.whole_of_new(nid) {
            self.topology.note_truncated(&self.env, nid, whole);
            self.health.wake();
        }
        if !peer_ni.peer().is_multi_rail() && peer_ni.sticky().is_none() {
            peer_ni.set_sticky(Some(ni.nid()));
        }
        if self.topology.is_own(nid) {
            peer_ni.note_use(true, true);
        }
        Some(peer_ni)
    }
}
