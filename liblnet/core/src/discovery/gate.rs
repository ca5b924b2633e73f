//! Requests that wait until it is known who the peer is (5.4).

use super::Discovery;
use super::record::Record;
use super::step::Input;
use crate::core::Core;
use crate::data::Request;
use crate::topology::PeerNi;
use lnet_wire::RESERVED_PORTAL;
use std::sync::Arc;

impl Core {
    /// Whether a request to this peer NI has to wait (DI-30). One that would not find a way does not: that it
    /// cannot be sent is told at once.
    pub(crate) fn must_wait(&self, peer_ni: &PeerNi, portal: u32) -> bool {
        let peer = peer_ni.peer_now();
        let here = self.discovery.here();
        let undiscovered = portal != RESERVED_PORTAL
            && !peer.record.is_up_to_date(&here)
            && (here.discovers() || here.first_ping);
        undiscovered
            && (peer.is_multi_rail() || self.with_nets(|nets| nets.net(peer_ni.nid().net()).is_some()))
    }

    /// Makes a request wait for the discovery of its peer, which begins if it has not (DI-31). `Some`: it need
    /// not wait any more, or the peer is gone, and it is to be looked at once more.
    pub(crate) fn park(&self, record: &Arc<Record>, request: Request) -> Option<Request> {
        let here = self.discovery.here();
        let refused = record.with(|inner| {
            if inner.buried || inner.progress.is_up_to_date(&here) || self.is_ending() {
                return Some(request);
            }
            inner.parked.push(request);
            None
        });
        if refused.is_none() {
            self.tell(record, Input::Wanted);
        }
        refused
    }
}

impl Discovery {
    /// Takes what waits for a peer.
    pub(crate) fn unpark(record: &Record) -> Vec<Request> {
        record.with(|inner| std::mem::take(&mut inner.parked))
    }
}
