//! Pings and pushes: ordinary GETs and PUTs of the node's own, and what is heard of them.

use super::Step;
use super::queue::Sent;
use super::step::{Action, Input, step};
use crate::core::Core;
use crate::event::{Event, EventKind};
use crate::memory::{EqHandle, MdHandle, MdMemory, MdOptions, MdSpec, Room};
use crate::model::DiscoveryState;
use crate::model::Target;
use crate::model::message::Message;
use crate::sync::lock;
use crate::topology::{Peer, PeerNi};
use lnet_log::LogClass;
use lnet_wire::ping_info::{PingInfo, ReceivedPingInfo};
use lnet_wire::{Errno, Nid, Pid, ProcessId};
use std::any::Any;
use std::sync::Arc;

impl Core {
    /// Asks a peer for its NIDs; about what it told, where it told it.
    pub(crate) fn send_ping(&self, peer: &Peer) {
        let (len, spoke) =
            peer.record.with(|inner| (inner.progress.room_to_ask_for(), inner.progress.spoke.take()));
        let room = Room::new(len);
        // It may have spoken from a NID that is not known to be its own.
        let (source, nid) = self.way(peer, spoke);
        let request = Sent { room: Some(room.clone()), ..self.request_to(peer, Step::Ping, nid) };
        self.send_own(request, room.memory(), Arc::new(room), |md, target| self.get(source, md, target));
    }

    /// Tells a peer this node's NIDs; back to where the answer to the ping came from, if there was one.
    pub(crate) fn send_push(&self, peer: &Peer) {
        let block = self.discovery.block();
        let between = peer.record.with(|inner| inner.progress.between.take());
        let between = between.filter(|(_, its)| peer.nids.contains(its));
        let (source, nid) = self.way(peer, between);
        let request = Sent { sequence: block.sequence, ..self.request_to(peer, Step::Push, nid) };
        let memory = block.memory();
        self.send_own(request, memory, block, |md, target| self.put(source, md, true, target, 0));
    }

    /// By which interface to send, if not by whichever, and to which NID: between those two, if the interface is still
    /// there; after a failure over one pair of a multi-rail peer's after the other, since nobody else may notice that
    /// one of them is dead.
    fn way(&self, peer: &Peer, between: Option<(Nid, Nid)>) -> (Option<Nid>, Nid) {
        let failures = usize::from(peer.record.with(|inner| inner.progress.failures));
        self.topology
            .with_nets(|nets| {
                let between = between.filter(|(own, _)| nets.ni(*own).is_some());
                let next = || {
                    let reachable =
                        peer.nids.iter().filter_map(|its| Some((nets.net(its.net())?.nis(), *its)));
                    let (nis, its) = pair_of_try(failures, &reachable.collect::<Vec<_>>())?;
                    Some((nis.nid(), its))
                };
                let after_failures = || (failures > 0 && peer.is_multi_rail()).then(next).flatten();
                between.or_else(after_failures)
            })
            .map_or_else(|| (None, self.chosen_of(peer)), |(own, its)| (Some(own), its))
    }

    /// To which NID a request to this peer goes now if nothing is said of its way: to be named if it fails.
    fn chosen_of(&self, peer: &Peer) -> Nid {
        self.choose(None, peer.primary).map_or(peer.primary, |chosen| chosen.destination())
    }

    fn request_to(&self, peer: &Peer, step: Step, nid: Nid) -> Sent {
        let record = Arc::clone(&peer.record);
        let all = self.env.transaction_timeout();
        let brief = peer.is_multi_rail() && peer.nids.len() > 1;
        record.with(|inner| inner.progress.brief = brief);
        let at = self.env.now();
        let expires = at + if brief { all / u32::from(self.discovery.local_state().tries()) } else { all };
        Sent { record, step, nid, at, expires, room: None, sequence: 0, md: None }
    }

    fn send_own(
        &self,
        request: Sent,
        memory: MdMemory,
        owner: Arc<dyn Any + Send + Sync>,
        send: impl FnOnce(MdHandle, Target) -> Result<(), Errno>,
    ) {
        let target = Target::of_pings(ProcessId { nid: request.nid, pid: Pid::LUSTRE });
        let id = lock(&self.discovery.queue).sent(request);
        self.discovery.wakeup.notify();
        let sent = self.bind_own(id, memory, owner).and_then(|md| {
            lock(&self.discovery.queue).has_md(id, md);
            send(md, target)
        });
        if let Err(errno) = sent {
            self.own_failed(id, errno);
        }
    }

    /// Whether a message that failed may go once more by a path that has failed, `retry_count` times. Those of one discovery
    /// count together: what its messages spend, it does not try again itself.
    pub(crate) fn may_retry(&self, message: &Message, peer_ni: &PeerNi, retry_count: u32) -> bool {
        let eq = message.event.as_ref().and_then(|event| event.md.eq);
        match eq.is_some() && eq == self.discovery.eq.get().copied() {
            true => {
                let local = self.discovery.local_state();
                peer_ni.peer_now().record.with(|inner| inner.progress.spend_retry(&local))
            }
            false => message.attempts < retry_count,
        }
    }

    fn bind_own(
        &self,
        id: usize,
        memory: MdMemory,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<MdHandle, Errno> {
        let spec = MdSpec {
            start: memory.first().unwrap_or_default(),
            length: memory.len(),
            threshold: 2,
            max_size: 0,
            options: MdOptions::TRUNCATE,
            user_ptr: id,
            eq: Some(self.discovery_eq()?),
        };
        self.bind_owned(spec, memory, true, owner)
    }

    /// Where the events of discovery's own MDs go.
    pub(crate) fn discovery_eq(&self) -> Result<EqHandle, Errno> {
        if let Some(eq) = self.discovery.eq.get() {
            return Ok(*eq);
        }
        let this = self.this().ok_or(Errno::Shutdown)?;
        let this = Arc::downgrade(&this);
        let eq = self.eq_alloc(
            0,
            Some(Box::new(move |event| {
                if let Some(core) = this.upgrade() {
                    core.heard_of_own(event);
                }
            })),
        )?;
        Ok(*self.discovery.eq.get_or_init(|| eq))
    }

    fn heard_of_own(&self, event: &Event) {
        let id = event.md.user_ptr;
        match (event.kind, event.status) {
            (EventKind::Put, status) => self.push_arrived(id, event, status),
            (EventKind::Send, Ok(())) | (EventKind::Get, _) => {}
            // Who waits for answers has waited long enough.
            (EventKind::Unlink, _) => self.own_failed(id, Errno::TimedOut),
            (_, Err(errno)) => self.own_failed(id, errno),
            (EventKind::Ack, Ok(())) => {
                let Some(sent) = self.discovery.ended(id) else { return };
                // The NID that it went to may have become another's, which knows it now instead.
                let who = event.source.nid.and_then(|nid| self.topology.peer_ni(nid));
                let by = who.filter(|who| Arc::ptr_eq(&who.peer_now().record, &sent.record));
                let acked = by.map_or(Input::AckedByAnother, |by| Input::PushAcked(sent.sequence, by.nid()));
                self.tell(&sent.record, acked);
            }
            (EventKind::Reply, Ok(())) => {
                let Some(sent) = self.discovery.ended(id) else { return };
                let between = event.target.nid.zip(event.source.nid);
                if let (Some(room), Some(between)) = (&sent.room, between) {
                    let input = match self.decode(room, event.mlength, sent.nid) {
                        Some(heard) => {
                            // Its pushes will be as long.
                            self.grow_push_target(heard.claimed_len);
                            Input::Reply { heard: Box::new(heard), between }
                        }
                        None => Input::BadReply,
                    };
                    self.tell(&sent.record, input);
                }
            }
        }
    }

    /// What a peer has written into `room`; none if it makes no sense.
    pub(crate) fn decode(&self, room: &Room, len: u32, from: Nid) -> Option<ReceivedPingInfo> {
        PingInfo::decode(&room.read(len), self.settings().max_interfaces)
            .inspect_err(|error| {
                self.env.log(
                    LogClass::PingInfoInvalid,
                    from,
                    format_args!("peer {from}: invalid interface list ({error}); ignored"),
                );
            })
            .ok()
    }

    fn own_failed(&self, id: usize, errno: Errno) {
        let sent = self.discovery.ended(id);
        if let Some(sent) = sent {
            self.fail_sent(sent, errno);
        }
    }

    /// Tells a peer's record that a request will not be answered.
    pub(crate) fn fail_sent(&self, sent: Sent, errno: Errno) {
        let Sent { record, step, nid, md, .. } = sent;
        lock(&self.discovery.queue).stale.extend(md);
        record.with(|inner| inner.failing = Some(nid));
        self.tell(
            &record,
            match step {
                Step::Ping => Input::PingFailed(errno),
                Step::Push => Input::PushFailed(errno),
            },
        );
    }

    /// Tells a peer's record what happened, and puts the peer in the queue if something is to be done.
    pub(crate) fn tell(&self, record: &Arc<DiscoveryState>, input: Input) {
        let local = self.discovery.local_state();
        let (queue, urgent) = record.with(|inner| {
            let wanted = matches!(input, Input::Wanted | Input::Examine { .. });
            let acted = step(&mut inner.progress, input, &local);
            let queue = acted == Action::Queue && !inner.removed;
            // What waited in the long queue moves to the short one.
            let urgent = wanted || inner.parked > 0;
            let enter = queue && (!inner.queued || urgent && !inner.urgent);
            inner.queued |= enter;
            inner.urgent |= enter && urgent;
            (enter, urgent)
        });
        if queue {
            self.discovery.push(Arc::clone(record), urgent);
        }
    }
}

/// Which pair is tried after so many failures: each of the peer's NIDs first, since it may have lost any; each time by
/// another own interface, which comes to the same rail where both number them alike; then each with the next one.
fn pair_of_try<'a, T, N: Copy>(tries: usize, reachable: &[(&'a [T], N)]) -> Option<(&'a T, N)> {
    let turn = tries.checked_rem(reachable.len())?;
    let round = tries.checked_div(reachable.len())?;
    let (own, its) = reachable.get(turn)?;
    Some((own.get(turn.wrapping_add(round).checked_rem(own.len())?)?, *its))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn tries_go_to_each_nid_of_the_peer_before_one_comes_again_and_in_the_end_by_each_interface() {
        let own = ['a', 'b'];
        let reachable = [(&own[..], 1), (&own[..], 2), (&own[..1], 3)];
        let pairs = |tries: std::ops::Range<usize>| -> Vec<(char, i32)> {
            tries.filter_map(|tries| pair_of_try(tries, &reachable)).map(|(own, its)| (*own, its)).collect()
        };
        assert_eq!(pairs(0..3), [('a', 1), ('b', 2), ('a', 3)]);
        assert_eq!(pairs(3..6), [('b', 1), ('a', 2), ('a', 3)]);
        assert_eq!(pairs(6..7), [('a', 1)]);
        assert_eq!(pair_of_try::<char, i32>(1, &[]), None);
        assert_eq!(pair_of_try::<char, i32>(1, &[(&[], 1)]), None);
    }
}
