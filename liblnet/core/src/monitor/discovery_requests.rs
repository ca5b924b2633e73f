//! Discovery's GETs and PUTs, its receive buffers for pushes, and the events of its MDs.

use crate::core::Core;
use crate::discovery::{PingBuffer, PushEvent, push_spec, request_spec};
use crate::event::{Event, EventKind};
use crate::memory::{EqHandle, MdHandle, MdMemory, RecvBuffer};
use crate::model::Target;
use crate::model::message::OutgoingMessage;
use crate::model::{Peer, PeerNi};
use lnet_wire::{Errno, Nid, Pid, ProcessId};
use std::any::Any;
use std::sync::Arc;

/// Sending of pings and pushes.
impl Core {
    /// Pings a peer for its NIDs.
    pub(crate) fn send_discovery_ping(&self, peer: &Peer, path: Option<(Nid, Nid)>, reply_len: u32) {
        let reply = RecvBuffer::new(reply_len);
        let (source, nid) = self.source_and_nid(peer, path);
        let id = self.discovery.begin_ping(&self.env, peer, nid, reply.clone());
        self.send_discovery_request(id, nid, reply.memory(), Arc::new(reply), |md, target| {
            self.get(source, md, target)
        });
    }

    /// Pushes the NIDs of this node to a peer.
    pub(crate) fn send_discovery_push(&self, peer: &Peer, path: Option<(Nid, Nid)>, buffer: Arc<PingBuffer>) {
        let (source, nid) = self.source_and_nid(peer, path);
        let id = self.discovery.begin_push(&self.env, peer, nid, buffer.sequence());
        self.send_discovery_request(id, nid, buffer.memory(), buffer, |md, target| {
            self.put(source, md, true, target, 0)
        });
    }

    /// The source NID, if it matters, and the peer NID of a request: those of `path`; without a path the peer NID that
    /// selection chooses now, which is named if the request fails.
    fn source_and_nid(&self, peer: &Peer, path: Option<(Nid, Nid)>) -> (Option<Nid>, Nid) {
        let chosen = || self.choose(None, peer.primary).map_or(peer.primary, |chosen| chosen.destination());
        path.map_or_else(|| (None, chosen()), |(local, remote)| (Some(local), remote))
    }

    fn send_discovery_request(
        &self,
        id: usize,
        nid: Nid,
        memory: MdMemory,
        owner: Arc<dyn Any + Send + Sync>,
        send: impl FnOnce(MdHandle, Target) -> Result<(), Errno>,
    ) {
        let target = Target::of_pings(ProcessId { nid, pid: Pid::LUSTRE });
        let md = self
            .discovery_eq()
            .and_then(|eq| self.bind_owned(request_spec(id, &memory, eq), memory, true, owner));
        let sent = md.and_then(|md| {
            self.discovery.set_request_md(id, md);
            send(md, target)
        });
        if let Err(errno) = sent {
            self.discovery.handle_request_failure(id, errno);
        }
    }

    /// Whether the message is a request of a discovery.
    pub(crate) fn is_of_discovery(&self, message: &OutgoingMessage) -> bool {
        let eq = message.event().and_then(|event| event.md.eq);
        eq.is_some() && eq == self.discovery.eq()
    }

    /// Whether a failed message may be resent by a path that has failed, `retry_count` times in all. The messages of
    /// one discovery share its retries.
    pub(crate) fn may_retry(&self, message: &OutgoingMessage, peer_ni: &PeerNi, retry_count: u32) -> bool {
        match self.is_of_discovery(message) {
            true => self.discovery.spend_retry(&peer_ni.peer_now()),
            false => message.attempts.retries < retry_count,
        }
    }
}

/// Receive buffers for pushes.
impl Core {
    /// Posts the free buffers. A failure is logged, and retried by the next call. Waiting pushes may fill the buffers
    /// at once, and each of them wakes the thread again, so a flood of pushes does not keep a thread in this
    /// function.
    pub(crate) fn post_push_buffers(&self) {
        // A node without Multi-Rail does not receive pushes.
        if !self.env.config().multi_rail {
            return;
        }
        for _ in 0..self.discovery.push_buffers() {
            let Some((number, buffer)) = self.discovery.next_push_buffer() else { return };
            if let Err(errno) = self.post_push_buffer(number, &buffer) {
                self.discovery.push_buffer_failed(number);
                return self.log_not_posted("push buffer", errno, "pushes of peers are missed");
            }
        }
    }

    fn post_push_buffer(&self, number: usize, buffer: &RecvBuffer) -> Result<(), Errno> {
        let spec = push_spec(number, buffer, self.discovery_eq()?);
        // The latest buffer is matched first, as it is the largest.
        self.post_reserved(spec, buffer.memory(), true, Arc::new(buffer.clone())).map(drop)
    }
}

/// Events of discovery's MDs.
impl Core {
    /// The event queue of discovery's MDs.
    fn discovery_eq(&self) -> Result<EqHandle, Errno> {
        if let Some(eq) = self.discovery.eq() {
            return Ok(eq);
        }
        let this = self.this().ok_or(Errno::Shutdown)?;
        let this = Arc::downgrade(&this);
        let eq = self.eq_alloc(
            0,
            Some(Box::new(move |event| {
                if let Some(core) = this.upgrade() {
                    core.handle_discovery_event(event);
                }
            })),
        )?;
        Ok(self.discovery.set_eq(eq))
    }

    /// Adds the source of a push that came by a gateway as a peer, if it is unknown, as arriving messages add their sender (5.5):
    /// otherwise this node would not learn from the push that the NIDs in it belong to one peer.
    fn admit_pusher(&self, source: Option<Nid>, sender: Option<Nid>) {
        let (Some(source), Some(sender)) = (source, sender) else { return };
        let by_gateway = || self.topology.peer(sender).is_some_and(|peer| self.topology.is_gateway(&peer));
        let is_new = sender != source
            && self.topology.peer_ni(source).is_none()
            && self.topology.has_route_to(source.net())
            && by_gateway();
        if is_new && self.topology.peers().makes_room(self.env.config().max_peers, self.env.now()) {
            self.peer_ni(source);
        }
    }

    fn handle_discovery_event(&self, event: &Event) {
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
                self.admit_pusher(push.source, push.sender);
                self.discovery.handle_push(&self.env, &self.topology, push);
            }
            (EventKind::Send, Ok(())) | (EventKind::Get, _) => {}
            // The deadline of the response has passed.
            (EventKind::Unlink, _) => self.discovery.handle_request_failure(id, Errno::TimedOut),
            (_, Err(errno)) => self.discovery.handle_request_failure(id, errno),
            (EventKind::Ack, Ok(())) => self.discovery.handle_ack(&self.topology, id, event.source.nid),
            (EventKind::Reply, Ok(())) => {
                let path = event.target.nid.zip(event.source.nid);
                self.discovery.handle_reply(&self.env, id, path, event.mlength);
            }
        }
    }
}
