//! An interface: its peers and connections, as a state machine over a [`Device`], without threads, locks or a clock.
//!
//! Whoever has the engine passes it the messages of the core, the events of the device, and the time; what the core is to be told comes
//! back as [`Output`]s, in order.

mod connecting;
mod peer;

use crate::conn::{Conn, ConnTunables, Context, Counters, Decision, Ended, Orphan, Output, RxId, Terms};
use crate::decide::admit::LocalNi;
use crate::decide::refused::Wanted;
use crate::device::{ConnId, Device, Event};
use crate::memory::{OnDemandPaging, TransferMemory};
use crate::message::{Arriving, Outgoing};
use crate::proto::{MAX_FRAGMENTS, Version};
use foldhash::HashMap;
use lnd_common::conn_error::{BytesSent, ConnError};
use lnet_core::{Cause, Errno, Time};
use lnet_wire::{Body, Nid};
use peer::Peer;
use std::collections::VecDeque;
use std::time::Duration;

/// The tunables of an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EngineTunables {
    pub(crate) conn: ConnTunables,
    pub(crate) conns_per_peer: u16,
    /// The time without any acknowledgement after which a path is reported as unresponsive; zero: never.
    pub(crate) unresponsive: Duration,
    /// The time without a message after which a NOOP is sent; zero: never.
    pub(crate) keepalive: Duration,
    /// The length of a transfer in bytes below which it goes through a bounce buffer.
    pub(crate) bounce_below: u32,
    /// The registrations that are kept.
    pub(crate) cached_registrations: usize,
    pub(crate) on_demand_paging: OnDemandPaging,
}

/// One interface.
#[derive(Debug)]
pub(crate) struct Engine<M, A> {
    local: LocalNi,
    tunables: EngineTunables,
    /// How long anything may take.
    timeout: Duration,
    peers: HashMap<Nid, Peer<M>>,
    conns: HashMap<ConnId, ConnState<M, A>>,
    /// Messages of ended connections that the core has not decided on.
    orphans: HashMap<RxId, Orphan<M>>,
    memory: TransferMemory,
    counters: Counters,
    out: Vec<Output<M, A>>,
}

/// A connection.
#[derive(Debug)]
enum ConnState<M, A> {
    /// This node has asked for it.
    Connecting { peer: Nid, wanted: Wanted, since: Time },
    /// This node has accepted it.
    Accepting { terms: Terms, since: Time },
    /// Messages may be received. Those that wait are sent when the core knows of the connection.
    Up(Box<Conn<M, A>>),
}

impl<M: Outgoing, A: Arriving> Engine<M, A> {
    pub(crate) fn new(local: LocalNi, tunables: EngineTunables, timeout: Duration) -> Self {
        Self {
            local,
            tunables,
            timeout,
            peers: HashMap::default(),
            conns: HashMap::default(),
            orphans: HashMap::default(),
            memory: TransferMemory::new(
                tunables.bounce_below,
                tunables.cached_registrations,
                tunables.on_demand_paging,
            ),
            counters: Counters::default(),
            out: Vec::new(),
        }
    }

    /// Sends a message, or keeps it until there is a connection.
    pub(crate) fn send(&mut self, message: M, device: &mut dyn Device, now: Time) {
        let nid = message.next_hop();
        let conn = self.asker(nid, &message).or_else(|| self.peer(nid).next_conn());
        match conn {
            Some(conn) => self.with_conn(conn, device, now, |conn, context| conn.send(message, context)),
            None => self.peer(nid).waiting.push_back((message, now)),
        }
        self.connect_if_needed(nid, device, now);
    }

    /// Acts on an event of the device.
    pub(crate) fn event(&mut self, event: Event, device: &mut dyn Device, now: Time) {
        match event {
            Event::Received { conn, slot, len } => {
                self.come_up(conn, now);
                self.note_progress(conn);
                self.with_conn(conn, device, now, |conn, context| conn.received(slot, len, context));
            }
            Event::Sent { conn, work } => {
                self.note_progress(conn);
                self.with_conn(conn, device, now, |conn, context| conn.sent(work, context));
            }
            Event::WorkFailed { conn, error } => self.end(conn, &Ended::Work(error), device, now),
            Event::Request { conn, private_data } => self.requested(conn, &private_data, device, now),
            Event::Established { conn, private_data } => {
                self.established(conn, &private_data, device, now);
            }
            Event::Rejected { conn, reason, private_data } => {
                self.rejected(conn, reason, &private_data, device, now);
            }
            Event::Failed { conn, error } => self.failed(conn, error, device, now),
            Event::Disconnected { conn } => self.end(conn, &Ended::ByPeer, device, now),
            Event::Port(state) => self.out.push(Output::Port(state)),
        }
    }

    /// The core has decided on a message that it was asked about.
    pub(crate) fn decided(&mut self, rx: RxId, decision: Decision<A>, device: &mut dyn Device, now: Time) {
        if let Some(orphan) = self.orphans.remove(&rx) {
            return orphan.decided(decision, &mut self.context(device, now));
        }
        match (self.conns.get(&rx.conn), decision) {
            (Some(ConnState::Up(_)), decision) => {
                self.with_conn(rx.conn, device, now, |conn, context| conn.decided(rx, decision, context));
            }
            (_, Decision::Deliver(arriving)) => {
                self.out.push(Output::Received(arriving, Err(Errno::ConnectionReset)));
            }
            _ => {}
        }
    }

    /// Whether a message that waits for a decision will not arrive, as its connection has ended.
    pub(crate) fn is_lost(&self, rx: RxId) -> bool {
        match self.orphans.get(&rx) {
            Some(orphan) => matches!(orphan, Orphan::Lost),
            None => !self.conns.contains_key(&rx.conn),
        }
    }

    /// Does what is due; returns whether anything is under way for which the time matters.
    pub(crate) fn tick(&mut self, device: &mut dyn Device, now: Time) -> bool {
        let (keepalive, timeout) = (self.tunables.keepalive, self.timeout);
        let up: Vec<_> = self.up().collect();
        for conn in up {
            self.with_conn(conn, device, now, |conn, context| conn.tick(keepalive, timeout, context));
        }
        self.report_unresponsive(now);
        self.end_late_connects(device, now);
        let nids: Vec<_> = self.peers.keys().copied().collect();
        for nid in nids {
            self.fail_late(nid, now);
            self.connect_if_needed(nid, device, now);
            self.forget_if_idle(nid);
        }
        self.memory.sweep(device, true);
        !self.conns.is_empty() || !self.peers.is_empty()
    }

    /// Ends the registrations of MDs that have ended since the last call.
    pub(crate) fn sweep(&mut self, device: &mut dyn Device) {
        self.memory.sweep(device, false);
    }

    /// The core knows that nothing gets through to a peer NI, or to any. Returns the messages of which nothing was sent, if they
    /// satisfy `may_move`. A connection with messages that the peer may have goes on, as the device tries again; others end.
    pub(crate) fn abort(
        &mut self,
        peer: Option<Nid>,
        cause: Cause,
        may_move: &dyn Fn(&M) -> bool,
        device: &mut dyn Device,
        now: Time,
    ) {
        let concerned: Vec<Nid> =
            self.peers.keys().filter(|nid| peer.is_none_or(|peer| peer == **nid)).copied().collect();
        for nid in concerned {
            self.abort_peer(nid, &Ended::Aborted(cause), may_move, device, now);
        }
    }

    fn abort_peer(
        &mut self,
        nid: Nid,
        reason: &Ended,
        may_move: &dyn Fn(&M) -> bool,
        device: &mut dyn Device,
        now: Time,
    ) {
        let error = reason.error();
        let peer = self.peer(nid);
        // No connection takes the place of one that ends here.
        peer.is_satisfied = true;
        let waiting = std::mem::take(&mut peer.waiting);
        let (moving, staying) = waiting.into_iter().partition(|(message, _)| may_move(message));
        peer.waiting = staying;
        let all: Vec<_> =
            [&peer.up, &peer.connecting, &peer.accepting].into_iter().flatten().copied().collect();
        let moving: VecDeque<(M, Time)> = moving;
        let failure = error.failure(BytesSent::Nothing);
        self.out.extend(moving.into_iter().map(|(message, _)| Output::Finalize(message, Err(failure))));
        for id in all {
            if matches!(self.conns.get(&id), Some(ConnState::Up(conn)) if conn.has_uncertain()) {
                self.with_conn(id, device, now, |conn, context| {
                    conn.withdraw(error, may_move, context);
                    Ok(())
                });
            } else {
                self.end(id, reason, device, now);
            }
        }
        self.forget_if_idle(nid);
    }

    /// Reports the peers that acknowledge nothing.
    fn report_unresponsive(&mut self, now: Time) {
        let limit = self.tunables.unresponsive;
        if limit.is_zero() {
            return;
        }
        let late = |conn: &&Conn<M, A>| conn.is_unresponsive(now, limit);
        let peers: Vec<Nid> = self.all_conns().filter(late).map(|conn| conn.terms.peer).collect();
        for peer in peers {
            self.peer(peer).is_reported = true;
            self.out.push(Output::Unresponsive { peer });
        }
    }

    /// Notes that something has come from a peer, or is acknowledged by it.
    fn note_progress(&mut self, conn: ConnId) {
        let Some(ConnState::Up(conn)) = self.conns.get(&conn) else { return };
        let peer = conn.terms.peer;
        if std::mem::take(&mut self.peer(peer).is_reported) {
            self.out.push(Output::Responsive { peer });
        }
    }

    /// Ends everything: every message has been returned when the outputs have been carried out.
    pub(crate) fn shut_down(&mut self, device: &mut dyn Device, now: Time) {
        let nids: Vec<Nid> = self.peers.keys().copied().collect();
        for nid in nids {
            self.end_all_of(nid, &Ended::Shutdown, device, now);
        }
        for orphan in std::mem::take(&mut self.orphans).into_values() {
            orphan.give_up(&mut self.context(device, now));
        }
        self.memory.clear(device);
    }

    /// What the core is to be told, in order.
    pub(crate) fn take_outputs(&mut self) -> Vec<Output<M, A>> {
        std::mem::take(&mut self.out)
    }

    /// Whether something is posted that the device has not finished.
    pub(crate) fn has_posted(&self) -> bool {
        self.all_conns().any(Conn::has_posted)
    }

    /// The incarnation of a peer NI, of its connections.
    pub(crate) fn incarnation(&self, peer: Nid) -> Option<u64> {
        let conn = self.peers.get(&peer)?.up.first()?;
        match self.conns.get(conn)? {
            ConnState::Up(conn) => Some(conn.terms.peer_stamp),
            _ => None,
        }
    }

    pub(crate) const fn conns_per_peer(&self) -> u16 {
        self.tunables.conns_per_peer
    }

    pub(crate) const fn set_conns_per_peer(&mut self, conns: u16) {
        self.tunables.conns_per_peer = conns;
    }

    pub(crate) const fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    #[cfg(test)]
    pub(crate) const fn counters(&self) -> (Counters, crate::memory::MemoryCounters) {
        (self.counters, self.memory.counters)
    }

    fn context<'a>(&'a mut self, device: &'a mut dyn Device, now: Time) -> Context<'a, M, A> {
        let Self { memory, out, counters, .. } = self;
        Context { device, memory, out, counters, now }
    }

    /// Runs a step of a connection that is up; a step that fails ends it.
    fn with_conn(
        &mut self,
        id: ConnId,
        device: &mut dyn Device,
        now: Time,
        step: impl FnOnce(&mut Conn<M, A>, &mut Context<'_, M, A>) -> Result<(), Ended>,
    ) {
        let Self { conns, memory, out, counters, .. } = self;
        let Some(ConnState::Up(conn)) = conns.get_mut(&id) else { return };
        let mut context = Context { device: &mut *device, memory, out, counters, now };
        if let Err(ended) = step(conn, &mut context) {
            self.end(id, &ended, device, now);
        }
    }

    fn up(&self) -> impl Iterator<Item = ConnId> + '_ {
        self.conns.iter().filter(|(_, state)| matches!(state, ConnState::Up(_))).map(|(id, _)| *id)
    }

    fn all_conns(&self) -> impl Iterator<Item = &Conn<M, A>> + '_ {
        self.conns.values().filter_map(|state| match state {
            ConnState::Up(conn) => Some(&**conn),
            _ => None,
        })
    }

    fn peer(&mut self, nid: Nid) -> &mut Peer<M> {
        let wanted = Wanted {
            version: Version::V2,
            stamp: None,
            depth: self.local.depth,
            fragments: MAX_FRAGMENTS as u16,
        };
        self.peers.entry(nid).or_insert_with(|| Peer::new(wanted))
    }

    /// The connection by which the peer asked for the REPLY that `message` is.
    fn asker(&self, nid: Nid, message: &M) -> Option<ConnId> {
        let Body::Reply { handle } = message.header().body else { return None };
        let asked = |id: &&ConnId| match self.conns.get(id) {
            Some(ConnState::Up(conn)) => conn.was_asked(&handle),
            _ => false,
        };
        self.peers.get(&nid)?.up.iter().find(asked).copied()
    }

    /// Ends a connection, whatever its state.
    fn end(&mut self, id: ConnId, reason: &Ended, device: &mut dyn Device, now: Time) {
        let Some(state) = self.conns.remove(&id) else { return };
        let nid = match &state {
            ConnState::Connecting { peer, .. } => *peer,
            ConnState::Accepting { terms, .. } => terms.peer,
            ConnState::Up(conn) => conn.terms.peer,
        };
        match reason {
            Ended::Violation(_) => self.counters.violations += 1,
            Ended::TimedOut(_) => self.counters.timed_out += 1,
            _ => {}
        }
        device.disconnect(id);
        match state {
            ConnState::Connecting { .. } | ConnState::Accepting { .. } => {
                device.destroy(id);
                self.peer(nid).remove(id);
                let peer = self.peer(nid);
                if peer.conns() == 0 {
                    self.fail_waiting(nid, reason.error());
                }
            }
            ConnState::Up(conn) => {
                let orphans = conn.end(reason, &mut self.context(device, now));
                self.orphans.extend(orphans);
                let peer = self.peer(nid);
                if peer.connecting.contains(&id) {
                    // It ended before anything was sent: the peer as good as refused it.
                    peer.count_reconnect(now);
                }
                peer.remove(id);
                if self.peer(nid).up.is_empty() {
                    self.out.push(Output::Ended { peer: nid, reason: reason.clone() });
                }
                self.connect_if_needed(nid, device, now);
            }
        }
        self.forget_if_idle(nid);
    }

    fn end_all_of(&mut self, nid: Nid, reason: &Ended, device: &mut dyn Device, now: Time) {
        self.fail_waiting(nid, reason.error());
        let peer = self.peer(nid);
        // No connection takes the place of one that ends here.
        peer.is_satisfied = true;
        let all: Vec<_> =
            [&peer.up, &peer.connecting, &peer.accepting].into_iter().flatten().copied().collect();
        for conn in all {
            self.end(conn, reason, device, now);
        }
        self.forget_if_idle(nid);
    }

    /// Returns the messages that wait for a connection to a peer NI.
    fn fail_waiting(&mut self, nid: Nid, error: ConnError) {
        let Some(peer) = self.peers.get_mut(&nid) else { return };
        let failure = error.failure(BytesSent::Nothing);
        let failed = peer.waiting.drain(..).map(|(message, _)| Output::Finalize(message, Err(failure)));
        self.out.extend(failed);
    }

    /// Returns the messages that have waited for too long.
    fn fail_late(&mut self, nid: Nid, now: Time) {
        let timeout = self.timeout;
        let Some(peer) = self.peers.get_mut(&nid) else { return };
        let failure = ConnError::WaitedTooLong.failure(BytesSent::Nothing);
        while let Some((message, _)) = peer.waiting.pop_front_if(|(_, since)| now.since(*since) >= timeout) {
            self.out.push(Output::Finalize(message, Err(failure)));
        }
    }

    fn forget_if_idle(&mut self, nid: Nid) {
        if self.peers.get(&nid).is_some_and(Peer::is_forgotten) {
            self.peers.remove(&nid);
        }
    }
}

#[cfg(test)]
mod tests;
