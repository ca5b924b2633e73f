//! A peer of one interface: its connections, what waits for one, and how calling it stands.
//!
//! No lock is held while the core is called.

use crate::connection::{Connection, Settled};
use crate::decide::admit::{Known, Life};
use crate::decide::choose::{Candidate, Cargo, choose};
use crate::decide::dial::{Counts, Dialling, Next, next_type};
use crate::decide::identity::{Identity, IpNid};
use crate::decide::receipts::{Brought, NotOutstanding, Outstanding};
use crate::ni::SockNi;
use crate::proto::frame::{Cookies, KEEPALIVE_COOKIE};
use crate::proto::{ConnectionType, Version};
use crate::sync::lock;
use crate::transmit::{Outgoing, Transmitted};
use lnet_core::lnd::SendOutcome;
use lnet_core::{Errno, Message};
use lnet_wire::nid::Address;
use lnet_wire::{Header, ProcessId};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A keep-alive is sent at most so often.
const KEEPALIVE_PAUSE: Duration = Duration::from_secs(10);

pub(crate) struct Peer {
    pub(crate) id: ProcessId,
    /// Its name was made up here: it cannot be called, and its messages are relabelled.
    made_up: bool,
    pub(crate) ni: Arc<SockNi>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    connections: Vec<Slot>,
    uses: u64,
    /// Which life of the peer the connections belong to.
    life: Option<Life>,
    /// This node calls it: something was sent to it when it had no connection.
    called: bool,
    dialling: Dialling,
    /// What was wrong when it was last called in vain.
    last_failure: Option<Errno>,
    /// The version that the peer proposed when it refused ours.
    proposed: Option<Version>,
    /// What to call it for next; `None` when the set is complete.
    wanted: Option<ConnectionType>,
    waiting: VecDeque<Waiting>,
    receipts: Outstanding<Box<Message>>,
    last_keepalive: Option<Instant>,
    /// No longer in the interface's table: whoever still has it must look there again.
    gone: bool,
}

struct Slot {
    connection: Arc<Connection>,
    last_used: u64,
}

struct Waiting {
    message: Box<Message>,
    since: Instant,
}

/// Boxes, because that is how messages come and go.
#[allow(clippy::vec_box)]
pub(crate) type Messages = Vec<Box<Message>>;

/// What a peer had before its connections were ended.
struct Detached {
    connections: Vec<Arc<Connection>>,
    /// Messages whose receipts will not come any more.
    lost: Messages,
}

/// Where a message goes.
enum Way {
    On(Arc<Connection>, Option<u64>, Box<Message>),
    Waiting,
    Nowhere(Box<Message>, Errno),
}

impl Peer {
    pub(crate) fn new(identity: Identity, ni: &Arc<SockNi>) -> Arc<Self> {
        let Identity { id, made_up } = identity;
        Arc::new(Self { id, made_up, ni: Arc::clone(ni), state: Mutex::default() })
    }

    /// Sends, queues, or fails. The message comes back when this peer is no longer the one to ask.
    pub(crate) fn send(self: &Arc<Self>, mut message: Box<Message>) -> Result<SendOutcome, Box<Message>> {
        loop {
            let (way, dial) = {
                let mut state = lock(&self.state);
                if state.gone {
                    return Err(message);
                }
                let way = self.way(&mut state, message);
                (way, state.ask())
            };
            if dial {
                self.ni.shared.connd.dial(self);
            }
            message = match way {
                Way::On(connection, cookie, message) => {
                    match self.hand_over(&connection, cookie, message) {
                        Ok(outcome) => return Ok(outcome),
                        // It ended since; there may be another.
                        Err(message) => message,
                    }
                }
                Way::Waiting => return Ok(SendOutcome::Pending),
                Way::Nowhere(message, errno) => return Ok(SendOutcome::Done(message, Err(errno))),
            };
        }
    }

    fn way(&self, state: &mut State, message: Box<Message>) -> Way {
        if let Some(connection) =
            state.choose(Cargo::Message(message.payload_len()), self.ni.shared.config.min_bulk)
        {
            let cookie = self.wants_receipt(state, &connection, message.payload_len());
            let cookie = cookie.then(|| state.receipts.open(Instant::now()));
            return Way::On(connection, cookie, message);
        }
        // Who has called us is not called while a connection exists, whatever it is good for (2.11); whose
        // name we made up has no address to call (2.7).
        if state.connections.is_empty() && !self.made_up && !state.called {
            state.called = true;
            self.recount(state);
        }
        let now = Instant::now();
        if !state.called {
            return Way::Nowhere(message, Errno::HostUnreachable);
        }
        if state.connections.is_empty()
            && state.dialling.is_hopeless(now, self.ni.shared.config.min_reconnect)
        {
            return Way::Nowhere(message, state.last_failure.unwrap_or(Errno::HostUnreachable));
        }
        state.waiting.push_back(Waiting { message, since: now });
        Way::Waiting
    }

    fn wants_receipt(&self, state: &State, connection: &Connection, payload: usize) -> bool {
        let least = self.ni.shared.config.zc_min_payload;
        connection.version >= Version::V2
            && least.is_some_and(|least| payload >= least as usize)
            && state.connections.iter().any(|slot| slot.connection.kind == ConnectionType::BulkOut)
    }

    fn hand_over(
        &self,
        connection: &Arc<Connection>,
        cookie: Option<u64>,
        message: Box<Message>,
    ) -> Result<SendOutcome, Box<Message>> {
        let checksum = self.ni.shared.config.enable_csum;
        let out = match Outgoing::message(message, connection.version, cookie, checksum) {
            Ok(out) => out,
            Err(message) => {
                self.abandon_receipt(cookie);
                return Ok(SendOutcome::Done(message, Err(Errno::Invalid)));
            }
        };
        let (message, result) = match connection.transmit(out) {
            Transmitted::Queued => return Ok(SendOutcome::Pending),
            Transmitted::Done(out) => (out.into_message(), Ok(())),
            Transmitted::Failed(out, errno) => (out.into_message(), Err(errno)),
            Transmitted::Ended(out) => {
                self.abandon_receipt(cookie);
                return match out.into_message() {
                    Some(message) => Err(message),
                    None => Ok(SendOutcome::Pending),
                };
            }
        };
        Ok(match message.and_then(|message| self.written(message, cookie, result)) {
            Some(message) => SendOutcome::Done(message, result),
            None => SendOutcome::Pending,
        })
    }

    /// A message has left, or never will. It comes back unless its receipt is still missing.
    pub(crate) fn written(
        &self,
        message: Box<Message>,
        cookie: Option<u64>,
        result: Result<(), Errno>,
    ) -> Option<Box<Message>> {
        match (cookie, result) {
            (None, _) => Some(message),
            (Some(cookie), Ok(())) => lock(&self.state).receipts.written(cookie, message, Instant::now()),
            (Some(_), Err(_)) => {
                self.abandon_receipt(cookie);
                Some(message)
            }
        }
    }

    fn abandon_receipt(&self, cookie: Option<u64>) {
        if let Some(cookie) = cookie {
            lock(&self.state).receipts.abandon(cookie);
        }
    }

    /// Receipts have come; the messages that are done with.
    pub(crate) fn acknowledge(&self, brought: Brought) -> Result<Messages, NotOutstanding> {
        lock(&self.state).receipts.acknowledge(brought)
    }

    /// Sends a receipt for a message that came on `asked_on`: back on the same connection if that is for
    /// bulk towards us, as the kernel does, or on the best for it (wire spec 3.4).
    pub(crate) fn send_receipt(&self, asked_on: &Arc<Connection>, cookie: u64) {
        let other = if asked_on.kind == ConnectionType::BulkIn {
            None
        } else {
            lock(&self.state).choose(Cargo::Receipt, self.ni.shared.config.min_bulk)
        };
        self.ni.counts.receipts.add();
        other.as_ref().unwrap_or(asked_on).transmit_noop(Cookies { request: 0, receipt: cookie });
    }

    /// In a message from a peer whose name was made up that name stands (wire spec 2.7).
    pub(crate) fn relabel(&self, header: &mut Header) {
        if self.made_up {
            header.src_nid = self.id.nid;
            header.src_pid = self.id.pid;
        }
    }

    /// For log lines.
    pub(crate) fn name(&self) -> PeerName<'_> {
        PeerName(self)
    }
}

/// Calling the peer, and being called by it.
impl Peer {
    /// What a caller is judged by.
    pub(crate) fn known(&self, kind: ConnectionType, remote: IpAddr) -> Known {
        let state = lock(&self.state);
        let alike = |slot: &&Slot| slot.connection.kind == kind && slot.connection.remote == remote;
        Known {
            life: state.life,
            connecting: state.dialling.connecting(),
            alike: state.connections.iter().filter(alike).count(),
        }
    }

    /// Whether the call that was planned is due; notes that it is being made.
    pub(crate) fn is_due(self: &Arc<Self>, now: Instant) -> bool {
        let mut state = lock(&self.state);
        if !state.dialling.due(now) {
            return false;
        }
        // With nothing to send, only a set of connections that is not complete is a reason.
        let reason = !state.waiting.is_empty() || !state.connections.is_empty();
        if !reason {
            state.dialling.drop_it();
        }
        reason
    }

    /// Whether a call is still to be made: one that was asked for may have been overtaken by another.
    pub(crate) fn is_asked(&self) -> bool {
        lock(&self.state).dialling.asked()
    }

    /// Whether to go on with a call for the next connection of the set; notes that it is being made.
    pub(crate) fn wants_more(&self) -> bool {
        lock(&self.state).ask()
    }

    /// What to call for now. Begins the call, or drops the plan if there is nothing to call for.
    pub(crate) fn begin_call(&self) -> Option<(Version, ConnectionType)> {
        let mut state = lock(&self.state);
        let Some(kind) = state.wanted.filter(|_| !state.gone) else {
            state.dialling.drop_it();
            return None;
        };
        state.dialling.begin();
        let usual = match self.id.nid.address() {
            Address::Short(_) => self.ni.shared.config.use_protocol,
            Address::Long(_) => Version::V4,
        };
        let version = state.life.map(|life| life.version).or(state.proposed).unwrap_or(usual);
        Some((version, kind))
    }

    /// The call must wait for a caller that may be this peer.
    pub(crate) fn postpone_call(&self, until: Instant) {
        lock(&self.state).dialling.postpone(until);
    }

    /// Whether a call that found this life of the peer found it restarted, or of another version.
    pub(crate) fn is_other_life(&self, life: Life) -> bool {
        lock(&self.state).life.is_some_and(|known| known != life)
    }

    pub(crate) fn call_refused(&self, now: Instant) -> Next {
        let config = &self.ni.shared.config;
        let mut state = lock(&self.state);
        let have = self.count(&state);
        state.dialling.refused(now, config.min_reconnect, config.max_reconnect, have)
    }

    /// It must be called again at once, in another version if one is given.
    pub(crate) fn call_again(&self, now: Instant, version: Option<Version>) -> Next {
        let config = &self.ni.shared.config;
        let mut state = lock(&self.state);
        state.proposed = version.or(state.proposed);
        state.dialling.again(now, config.min_reconnect, config.max_reconnect)
    }

    pub(crate) fn call_failed(&self, now: Instant) -> Next {
        let config = &self.ni.shared.config;
        lock(&self.state).dialling.failed(now, config.min_reconnect, config.max_reconnect)
    }

    /// No connection is to be had: if there is none, what waits for one fails.
    pub(crate) fn fail_waiting(&self, errno: Errno) {
        let waiting = {
            let mut state = lock(&self.state);
            state.last_failure = Some(errno);
            if !state.connections.is_empty() {
                return;
            }
            std::mem::take(&mut state.waiting)
        };
        for Waiting { message, .. } in waiting {
            self.ni.upcalls.finalize(message, Err(errno));
        }
    }

    /// A connection stands: messages go over it from now on.
    pub(crate) fn install(
        self: &Arc<Self>,
        settled: Settled,
        incarnation: u64,
        called: bool,
        now: Instant,
    ) -> Result<(), Errno> {
        let life = Life { version: settled.version, incarnation };
        let lnet_ni = self.ni.lnet_ni().ok_or(Errno::Shutdown)?;
        let id = self.ni.shared.next_connection_id();
        let scheduler = self.ni.shared.scheduler_of(self.id.nid);
        let connection = Connection::new(id, settled, self, lnet_ni, scheduler, now);
        self.ni.remember_connection(&connection)?;
        let gone = {
            let mut state = lock(&self.state);
            if !state.gone {
                state.connections.push(Slot { connection: Arc::clone(&connection), last_used: 0 });
                state.life = Some(life);
                self.recount(&mut state);
                if called {
                    state.dialling.succeeded();
                }
            }
            state.gone
        };
        if gone {
            connection.close(Errno::Shutdown);
            return Err(Errno::Shutdown);
        }
        if let Err(error) = connection.scheduler.add(&connection) {
            let errno = Errno::from(error);
            self.end(&connection, errno);
            return Err(errno);
        }
        self.send_waiting();
        Ok(())
    }

    fn send_waiting(self: &Arc<Self>) {
        let waiting = {
            let mut state = lock(&self.state);
            let min_bulk = self.ni.shared.config.min_bulk;
            if state.choose(Cargo::Message(0), min_bulk).is_none() {
                return;
            }
            std::mem::take(&mut state.waiting)
        };
        for Waiting { message, .. } in waiting {
            match self.send(message) {
                Ok(SendOutcome::Pending) => {}
                Ok(SendOutcome::Done(message, result)) => self.ni.upcalls.finalize(message, result),
                Err(message) => self.ni.upcalls.finalize(message, Err(Errno::Shutdown)),
            }
        }
    }

    fn count(&self, state: &State) -> Counts {
        let ip = self.ip();
        let here = state.connections.iter().filter(|slot| slot.connection.remote == ip);
        Counts::of(here.map(|slot| slot.connection.kind))
    }

    fn recount(&self, state: &mut State) {
        let config = &self.ni.shared.config;
        state.wanted = next_type(self.count(state), config.typed_conns, config.bulk_conns());
    }

    pub(crate) fn ip(&self) -> IpAddr {
        self.id.nid.ip()
    }
}

/// The end of connections.
impl Peer {
    /// This node ends all connections to the peer, because of what happened on `culprit`.
    pub(crate) fn end(self: &Arc<Self>, culprit: &Arc<Connection>, errno: Errno) {
        let Some(detached) = self.detach(Some(culprit)) else {
            // It was left behind by an earlier end.
            return culprit.close(errno);
        };
        self.finish(detached, errno);
    }

    /// This node ends all connections to the peer.
    pub(crate) fn end_all(self: &Arc<Self>, errno: Errno) {
        if let Some(detached) = self.detach(None) {
            self.finish(detached, errno);
        }
    }

    /// The peer has ended `culprit`, so it has ended all connections. What it sent before is still taken from
    /// the others, and from the culprit if it `can_read`.
    pub(crate) fn ended_by_peer(self: &Arc<Self>, culprit: &Arc<Connection>, errno: Errno, can_read: bool) {
        let detached = self.detach(Some(culprit));
        if !can_read {
            culprit.close(errno);
        }
        let Some(Detached { connections, lost }) = detached else { return culprit.drain(errno) };
        self.ni.counts.closed_by_peer.add();
        for connection in &connections {
            connection.drain(errno);
        }
        self.lose(lost, errno);
        self.retire();
    }

    fn finish(self: &Arc<Self>, Detached { connections, lost }: Detached, errno: Errno) {
        for connection in connections {
            connection.close(errno);
        }
        self.lose(lost, errno);
        self.retire();
    }

    fn lose(&self, lost: Messages, errno: Errno) {
        for message in lost {
            self.ni.upcalls.finalize(message, Err(errno));
        }
    }

    /// Takes the connections, if `culprit` is still one of them, and the messages whose receipts will not
    /// come any more. The peer's life ends with its connections.
    fn detach(&self, culprit: Option<&Arc<Connection>>) -> Option<Detached> {
        let mut state = lock(&self.state);
        if let Some(culprit) = culprit
            && !state.connections.iter().any(|slot| Arc::ptr_eq(&slot.connection, culprit))
        {
            return None;
        }
        let connections = state.connections.drain(..).map(|slot| slot.connection).collect();
        let lost = state.receipts.give_up();
        state.life = None;
        state.proposed = None;
        state.dialling.start_over();
        self.recount(&mut state);
        Some(Detached { connections, lost })
    }

    /// After an end: calls the peer if something waits, leaves the interface's table if there is nothing to
    /// remember.
    pub(crate) fn retire(self: &Arc<Self>) {
        let idle = {
            let mut state = lock(&self.state);
            if !state.waiting.is_empty() && !state.gone && state.ask() {
                drop(state);
                return self.ni.shared.connd.dial(self);
            }
            let idle = state.connections.is_empty()
                && state.waiting.is_empty()
                && state.receipts.is_empty()
                && state.dialling.idle()
                && !state.dialling.has_failed();
            state.gone |= idle;
            idle
        };
        if idle {
            self.ni.forget_peer(self);
        }
    }

    /// The interface ends: nothing waits, nobody calls, nothing new is taken.
    pub(crate) fn shutdown(self: &Arc<Self>) {
        let waiting = {
            let mut state = lock(&self.state);
            state.gone = true;
            std::mem::take(&mut state.waiting)
        };
        for Waiting { message, .. } in waiting {
            self.ni.upcalls.finalize(message, Err(Errno::Shutdown));
        }
        self.end_all(Errno::Shutdown);
    }

    /// Once in a while: fails what has waited too long, and breaks a long silence.
    pub(crate) fn scan(self: &Arc<Self>, now: Instant) {
        let timeout = self.ni.shared.config.sock_timeout;
        let late = |since: Instant| now.saturating_duration_since(since) >= timeout;
        let (expired, unreceipted) = {
            let mut state = lock(&self.state);
            let count = state.waiting.iter().take_while(|waiting| late(waiting.since)).count();
            let expired: Vec<_> = state.waiting.drain(..count).collect();
            (expired, state.receipts.waiting_since().is_some_and(late))
        };
        for Waiting { message, .. } in expired {
            self.ni.upcalls.finalize(message, Err(Errno::TimedOut));
        }
        if unreceipted {
            self.ni.counts.timed_out.add();
            log::warn!("closing the connections to {}: it sends no receipts", self.name());
            self.end_all(Errno::TimedOut);
        } else {
            self.keep_alive(now);
        }
    }

    /// Sends a NOOP if nothing has been heard for long (wire spec 3.6).
    fn keep_alive(&self, now: Instant) {
        let config = &self.ni.shared.config;
        if config.keepalive.is_zero() {
            return;
        }
        let connection = {
            let mut state = lock(&self.state);
            let heard = state.connections.iter().map(|slot| lock(&slot.connection.watch).heard).max();
            let silent = heard.is_some_and(|heard| now.saturating_duration_since(heard) >= config.keepalive);
            let pause = KEEPALIVE_PAUSE.min(config.keepalive);
            let lately = state.last_keepalive.is_some_and(|at| now.saturating_duration_since(at) < pause);
            if !silent || lately {
                return;
            }
            let Some(connection) = state.choose(Cargo::Keepalive, config.min_bulk) else { return };
            if connection.version < Version::V3 || connection.has_unsent() {
                return;
            }
            state.last_keepalive = Some(now);
            connection
        };
        self.ni.counts.keepalives.add();
        connection.transmit_noop(Cookies { request: 0, receipt: KEEPALIVE_COOKIE });
    }
}

impl State {
    fn choose(&mut self, cargo: Cargo, min_bulk: u32) -> Option<Arc<Connection>> {
        let candidates = self.connections.iter().map(|slot| Candidate {
            kind: slot.connection.kind,
            version: slot.connection.version,
            unsent: slot.connection.unsent(),
            last_used: slot.last_used,
        });
        let best = choose(candidates, cargo, min_bulk)?;
        let slot = self.connections.get_mut(best)?;
        self.uses += 1;
        slot.last_used = self.uses;
        Some(Arc::clone(&slot.connection))
    }

    /// Whether the connecting thread is to be asked to call now.
    fn ask(&mut self) -> bool {
        self.called && self.dialling.ask(self.wanted)
    }
}

/// A peer as log lines name it: process, address, net.
pub(crate) struct PeerName<'a>(&'a Peer);

impl std::fmt::Display for PeerName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.id)
    }
}
