//! Discovery's GETs and PUTs, its receive buffers for pushes, and the events of its MDs.

use super::Monitor;
use crate::discovery::{PingBuffer, request_spec};
use crate::memory::{MdHandle, MdMemory, RecvBuffer};
use crate::model::Peer;
use crate::model::Target;
use lnet_wire::{Errno, Nid, Pid, ProcessId};
use std::any::Any;
use std::sync::Arc;

/// Sending of pings and pushes.
impl Monitor<'_> {
    /// Pings a peer for its NIDs.
    pub(crate) fn send_discovery_ping(&self, peer: &Peer, path: Option<(Nid, Nid)>, reply_len: u32) {
        let reply = RecvBuffer::new(reply_len);
        let (source, nid) = self.source_and_nid(peer, path);
        let id = self.discovery.begin_ping(self.env, peer, nid, reply.clone());
        self.send_discovery_request(id, nid, reply.memory(), Arc::new(reply), |md, target| {
            self.data_path.get(source, md, target)
        });
    }

    /// Pushes the NIDs of this node to a peer.
    pub(crate) fn send_discovery_push(&self, peer: &Peer, path: Option<(Nid, Nid)>, buffer: Arc<PingBuffer>) {
        let (source, nid) = self.source_and_nid(peer, path);
        let id = self.discovery.begin_push(self.env, peer, nid, buffer.sequence());
        self.send_discovery_request(id, nid, buffer.memory(), buffer, |md, target| {
            self.data_path.put(source, md, true, target, 0)
        });
    }

    /// The source NID, if it matters, and the peer NID of a request: those of `path`; without a path the peer NID that
    /// selection chooses now, which is named if the request fails.
    fn source_and_nid(&self, peer: &Peer, path: Option<(Nid, Nid)>) -> (Option<Nid>, Nid) {
        let chosen = || {
            self.data_path.select_path(None, peer.primary).map_or(peer.primary, |chosen| chosen.destination())
        };
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
            .admin
            .discovery_eq()
            .and_then(|eq| self.data_path.bind_owned(request_spec(id, &memory, eq), memory, true, owner));
        let sent = md.and_then(|md| {
            self.discovery.set_request_md(id, md);
            send(md, target)
        });
        if let Err(errno) = sent {
            self.discovery.handle_request_failure(id, errno);
        }
    }
}
