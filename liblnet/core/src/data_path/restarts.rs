//! Restarts of peers, after which their NIDs may belong to other nodes.

use super::DataPath;
use crate::discovery::Input;
use crate::model::message::{OutgoingMessage, Role};
use crate::model::{Evidence, PeerNi};
use lnet_wire::{Body, Header, Nid};
use std::sync::Arc;

impl DataPath {
    /// Records a new connection to a peer NI, with the incarnation of its interface.
    pub(crate) fn note_connected(&self, peer: Nid, incarnation: u64) {
        if let Some(peer_ni) = self.topology.peer_ni(peer)
            && !peer_ni.is_truncated()
            && peer_ni.incarnation().note(Evidence::Connection, incarnation)
        {
            self.peer_has_restarted(&peer_ni);
        }
    }

    /// Records the incarnation of the source of a request that came through a gateway, as no connection shows it.
    pub(crate) fn note_initiator(&self, header: &Header, source: &Arc<PeerNi>) {
        let (Body::Put { ack: Some(response_to), .. } | Body::Get { reply: response_to, .. }) = header.body
        else {
            return;
        };
        if source.incarnation().note(Evidence::Request, response_to.interface_cookie) {
            self.peer_has_restarted(source);
        }
    }

    /// Records the incarnation of a new peer NI, which may be connected already.
    pub(crate) fn learn_incarnation(&self, peer_ni: &PeerNi) {
        let nid = peer_ni.nid();
        let nets = self.topology.nets();
        let nis = nets.net(nid.net()).map_or(&[][..], |net| net.nis());
        if let Some(incarnation) = nis.iter().find_map(|ni| ni.lnd()?.incarnation(nid)) {
            peer_ni.incarnation().note(Evidence::Connection, incarnation);
        }
    }

    /// Discovers the peer again at once, because its node has another incarnation than before. Until it has responded, messages
    /// go only to the NIDs that their callers name.
    fn peer_has_restarted(&self, peer_ni: &PeerNi) {
        let (nid, peer) = (peer_ni.nid(), peer_ni.peer());
        log::debug!("peer {}: started again, as {nid} shows; it is discovered again", peer.primary);
        // The peer's other NIDs will show the same restart.
        let others = peer.nids.iter().filter(|its| **its != nid);
        others.filter_map(|its| self.topology.peer_ni(*its)).for_each(|its| its.incarnation().forget());
        self.discovery.handle_input(&peer.discovery, Input::Restarted);
    }

    /// Whether a request goes to a NID other than the one its caller named, selected among those of a peer that has restarted
    /// since: that NID may be another node's.
    pub(crate) fn is_by_old_list(&self, message: &OutgoingMessage) -> bool {
        let may_choose =
            matches!(message.role, Role::Request(_)) && !message.is_reserved() && !message.is_routed();
        let has_restarted = |peer_ni: &Arc<PeerNi>| peer_ni.peer_now().discovery.has_restarted();
        may_choose
            && message.peer_ni.as_ref().is_some_and(has_restarted)
            && self.destination_again(message) != message.header.dest_nid
    }
}
