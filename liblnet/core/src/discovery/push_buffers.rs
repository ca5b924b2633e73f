//! Receive buffers for the pushes of other nodes. Each takes one push, and the discovery thread posts another in its
//! place. While none is posted pushes wait, as the reserved portal is lazy (core-behaviour 5.1).

use super::Discovery;
use super::input::Input;
use super::requests::{decode, note_ignored};
use crate::environment::Environment;
use crate::memory::{EqHandle, MdOptions, MdSpec, RecvBuffer};
use crate::model::truncated_nid::{Whole, whole_nid};
use crate::model::{MIN_REPLY_LEN, Peer, PeerNi};
use crate::sync::lock;
use crate::topology::Topology;
use lnet_log::LogClass;
use lnet_wire::ping_info::{PingInfo, ReceivedPingInfo};
use lnet_wire::{Errno, Nid};
use std::sync::Arc;

/// The number of pushes that may arrive before the discovery thread has to run.
const BUFFERS: usize = 4;

/// The maximum number of buffers. Beyond it no large one is added to those that are posted: each is posted with its new size after
/// its next push, which causes a ping if it does not fit. With 4096 interfaces all of them together have 2.6 MB.
const MAX_BUFFERS: usize = 16;

/// The buffers by number; `None` if one is to be posted.
#[derive(Debug)]
pub(super) struct PushBuffers {
    posted: Vec<Option<RecvBuffer>>,
    /// The size of each new buffer in bytes: that of the largest push so far, rounded up.
    len: u32,
}

impl Default for PushBuffers {
    fn default() -> Self {
        Self { posted: vec![None; BUFFERS], len: MIN_REPLY_LEN }
    }
}

/// The event of a push buffer: a push has arrived, or the buffer was unlinked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PushEvent {
    /// The number of the buffer.
    pub(crate) buffer: usize,
    /// The initiator of the push.
    pub(crate) source: Option<Nid>,
    /// The node that sent the message: the initiator or a router.
    pub(crate) sender: Option<Nid>,
    /// The local NID at which the push arrived.
    pub(crate) target: Option<Nid>,
    pub(crate) len: u32,
    pub(crate) status: Result<(), Errno>,
}

impl PushBuffers {
    /// The number of the next buffer that is to be posted, if there is one.
    fn post_next(&mut self) -> Option<(usize, RecvBuffer)> {
        let number = self.posted.iter().position(Option::is_none)?;
        let buffer = RecvBuffer::new(self.len);
        *self.posted.get_mut(number)? = Some(buffer.clone());
        Some((number, buffer))
    }

    fn take(&mut self, number: usize) -> Option<RecvBuffer> {
        self.posted.get_mut(number)?.take()
    }

    /// Makes new buffers hold `len` bytes, up to the limit; posted ones keep their size. The size is rounded up, so that a
    /// peer that grows slowly does not cause a new size each time.
    fn grow(&mut self, len: usize, max: u32) {
        if len > self.len as usize && self.len < max {
            self.len = u32::try_from(len.next_power_of_two()).unwrap_or(u32::MAX).min(max);
            self.posted.resize(MAX_BUFFERS.min(self.posted.len() + BUFFERS), None);
        }
    }
}

impl Discovery {
    /// The number of buffers, posted or to be posted.
    pub(crate) fn push_buffers(&self) -> usize {
        lock(&self.push_buffers).posted.len()
    }

    /// The next buffer that is to be posted: its number, which is also the `user_ptr` of its MD.
    pub(crate) fn next_push_buffer(&self) -> Option<(usize, RecvBuffer)> {
        lock(&self.push_buffers).post_next()
    }

    /// Marks a buffer as not posted, because posting it has failed.
    pub(crate) fn push_buffer_failed(&self, number: usize) {
        lock(&self.push_buffers).take(number);
    }

    pub(super) fn grow_push_buffers(&self, len: usize) {
        lock(&self.push_buffers).grow(len, self.local_state().max_reply_len);
    }

    /// Handles the event of a push buffer: a push has arrived, or the buffer was unlinked.
    pub(crate) fn handle_push(&self, env: &Environment, topology: &Topology, event: PushEvent) {
        let buffer = lock(&self.push_buffers).take(event.buffer);
        let source = event.source.filter(|nid| may_send_for(env, topology, event.sender, *nid));
        let peer_ni = source.and_then(|nid| topology.peer_ni(nid));
        if let (Some(buffer), Some(peer_ni), Some(local)) = (buffer, peer_ni, event.target) {
            let path = (local, peer_ni.nid());
            let received = event.status.ok().and_then(|()| decode(env, &buffer, event.len, peer_ni.nid()));
            match received {
                Some(received) => self.handle_pushed(env, topology, received, &peer_ni, path),
                None => self.handle_input(&peer_ni.peer().discovery, Input::BadPush { path }),
            }
        }
        // The discovery thread posts the buffer again.
        self.wakeup.notify();
    }

    fn handle_pushed(
        &self,
        env: &Environment,
        topology: &Topology,
        received: ReceivedPingInfo,
        peer_ni: &PeerNi,
        path: (Nid, Nid),
    ) {
        self.grow_push_buffers(received.claimed_len);
        let nids: Vec<Nid> = received.info.entries.iter().map(|entry| entry.nid).collect();
        let is_plain = |peer: &Peer| !peer.is_multi_rail() && !peer.is_configured();
        if let Some(whole) = whole_nid(peer_ni.nid(), &nids).filter(|_| is_plain(&peer_ni.peer_now())) {
            // The node itself is known, or will be, by the NIDs that it has.
            topology.note_truncated(env, peer_ni.nid(), Whole::Nid(whole));
            if self.local_state().discovers() {
                self.reverify_others(topology, &peer_ni.peer(), &nids);
            }
            return;
        }
        let peer = pushing_peer(topology, &received.info, peer_ni.nid()).unwrap_or_else(|| peer_ni.peer());
        note_ignored(env, &peer.discovery, peer_ni.nid(), &received);
        let may_be_stale = self.may_be_stale(env);
        self.handle_input(
            &peer.discovery,
            Input::Pushed { received: Box::new(received), path, may_be_stale },
        );
        if self.local_state().discovers() {
            self.reverify_others(topology, &peer, &nids);
        }
    }

    /// Pings the other peers that have NIDs which `peer` claims. The push of `peer` may not be accepted at once, and
    /// the ping to verify it may get lost; but `peer` does not repeat a push that was acknowledged.
    fn reverify_others(&self, topology: &Topology, peer: &Peer, nids: &[Nid]) {
        for other in nids.iter().filter_map(|nid| topology.peer(*nid)) {
            if other.discovery.id() != peer.discovery.id() && !other.is_configured() {
                self.handle_input(&other.discovery, Input::Reverify);
            }
        }
    }
}

/// The spec of the MD of a push buffer.
pub(crate) fn push_spec(number: usize, buffer: &RecvBuffer, eq: EqHandle) -> MdSpec {
    MdSpec {
        start: buffer.address(),
        length: buffer.len(),
        threshold: 1,
        max_size: 0,
        options: MdOptions(MdOptions::OP_PUT.0 | MdOptions::TRUNCATE.0),
        user_ptr: number,
        eq: Some(eq),
    }
}

/// The peer with the primary NID of a push, if the push lists the NID it came from: that NID may still be known as
/// another peer's, with other sequence numbers (DISC-14). If either NID is this node's, both must be.
fn pushing_peer(topology: &Topology, info: &PingInfo, source: Nid) -> Option<Arc<Peer>> {
    let first = info.entries.first().filter(|_| info.entries.iter().any(|entry| entry.nid == source))?.nid;
    topology
        .peer(first)
        .filter(|peer| peer.primary == first && topology.is_own(first) == topology.is_own(source))
}

/// Whether a message that `sender` has sent may name `source` as its initiator: only routers forward messages.
fn may_send_for(env: &Environment, topology: &Topology, sender: Option<Nid>, source: Nid) -> bool {
    sender.is_some_and(|sender| {
        let gateway = || topology.peer(sender).is_some_and(|peer| topology.is_gateway(&peer));
        let may = sender == source || gateway();
        if !may {
            let line = format_args!(
                "push from {sender} in the name of {source} rejected (the sender is no router); ignored"
            );
            env.log(LogClass::PushRejected, sender, line);
        }
        may
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use lnet_wire::ping_info::max_kept_len;

    #[test]
    fn a_push_buffer_is_reposted_after_its_push_was_processed() {
        let mut buffers = PushBuffers::default();
        let numbers: Vec<usize> =
            std::iter::from_fn(|| buffers.post_next()).map(|(number, _)| number).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        assert!(buffers.take(2).is_some());
        assert!(buffers.take(2).is_none());
        assert!(buffers.take(99).is_none());
        assert_eq!(buffers.post_next().map(|(number, _)| number), Some(2));
    }

    #[test]
    fn push_buffers_grow_in_powers_of_two_up_to_the_limit() {
        let mut buffers = PushBuffers::default();
        let max = 4 * MIN_REPLY_LEN;
        let mut len_after = |claimed: usize| {
            buffers.grow(claimed, max);
            let number = buffers.posted.len();
            buffers.posted.iter_mut().for_each(|posted| *posted = None);
            (buffers.post_next().map(|(_, buffer)| buffer.len()), number)
        };
        assert_eq!(len_after(1), (Some(MIN_REPLY_LEN), BUFFERS));
        let next = (MIN_REPLY_LEN + 1).next_power_of_two();
        assert_eq!(len_after(MIN_REPLY_LEN as usize + 1), (Some(next), 2 * BUFFERS));
        assert_eq!(len_after(usize::MAX / 4), (Some(max), 3 * BUFFERS));
        assert_eq!(len_after(usize::MAX / 4), (Some(max), 3 * BUFFERS));
    }

    /// Fails if the memory for pushes is not bounded when peers claim more and more interfaces.
    #[test]
    fn the_memory_of_all_push_buffers_is_bounded() {
        let mut buffers = PushBuffers::default();
        let max = u32::try_from(max_kept_len(4096)).unwrap();
        for claimed in 0..200_000 {
            buffers.grow(claimed, max);
        }
        let posted = std::iter::from_fn(|| buffers.post_next());
        let bytes: u64 = posted.map(|(_, buffer)| u64::from(buffer.len())).sum();
        assert_eq!(bytes, 16 * u64::from(max));
        assert!(bytes < 2_700_000, "{bytes}");
    }
}
