//! Events of discovery's MDs.

use super::Admin;
use crate::data_path::DataPath;
use crate::discovery::PushEvent;
use crate::event::{Event, EventKind};
use crate::memory::EqHandle;
use lnet_wire::{Errno, Nid};
use std::sync::Arc;

impl Admin<'_> {
    /// The event queue of discovery's MDs.
    pub(crate) fn discovery_eq(&self) -> Result<EqHandle, Errno> {
        if let Some(eq) = self.discovery.eq() {
            return Ok(eq);
        }
        let data_path = Arc::downgrade(self.data_path);
        let eq = self.data_path.eq_alloc(
            0,
            Some(Box::new(move |event| {
                if let Some(data_path) = data_path.upgrade() {
                    handle_event(&data_path, event);
                }
            })),
        )?;
        Ok(self.discovery.set_eq(eq))
    }
}

/// Adds the source of a push that came by a gateway as a peer, if it is unknown, as arriving messages add their sender (5.5):
/// otherwise this node would not learn from the push that the NIDs in it belong to one peer.
fn admit_pusher(data_path: &DataPath, source: Option<Nid>, sender: Option<Nid>) {
    let (Some(source), Some(sender)) = (source, sender) else { return };
    let topology = &data_path.topology;
    let by_gateway = || topology.peer(sender).is_some_and(|peer| topology.is_gateway(&peer));
    let is_new = sender != source
        && topology.peer_ni(source).is_none()
        && topology.has_route_to(source.net())
        && by_gateway();
    if is_new && topology.peers().makes_room(data_path.env.config().max_peers, data_path.env.now()) {
        data_path.peer_ni(source);
    }
}

fn handle_event(data_path: &DataPath, event: &Event) {
    let id = event.md.user_ptr;
    match (event.kind, event.status) {
        (EventKind::Put, status) => {
            let push = PushEvent {
                buffer: id,
                source: event.source.nid,
                sender: event.sender,
                target: event.target.nid,
                len: event.mlength,
                status,
            };
            admit_pusher(data_path, push.source, push.sender);
            data_path.discovery.handle_push(&data_path.env, &data_path.topology, push);
        }
        (EventKind::Send, Ok(())) | (EventKind::Get, _) => {}
        // The deadline of the response has passed.
        (EventKind::Unlink, _) => data_path.discovery.handle_request_failure(id, Errno::TimedOut),
        (_, Err(errno)) => data_path.discovery.handle_request_failure(id, errno),
        (EventKind::Ack, Ok(())) => data_path.discovery.handle_ack(&data_path.topology, id, event.source.nid),
        (EventKind::Reply, Ok(())) => {
            let path = event.target.nid.zip(event.source.nid);
            data_path.discovery.handle_reply(&data_path.env, id, path, event.mlength);
        }
    }
}
