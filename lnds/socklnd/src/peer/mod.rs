//! A peer of one interface: its connections, what waits for one, and how calling it stands.
//!
//! No lock is held while the core is called.

mod connector;
mod ending;
mod unresponsive;

use crate::ack::delivery_acks::{AckRequest, pack};
use crate::ack::message_id::{ConnSeq, MessageId};
use crate::ack::pending_acks::{Batch, PendingAcks};
use crate::conn::Connection;
use crate::conn::Scheduler;
use crate::conn::transmit::{Outgoing, Transmitted};
use crate::decide::admit::PeerIncarnation;
use crate::decide::cause::{BytesSent, ConnError};
use crate::decide::choose::{Candidate, Cargo, choose};
use crate::decide::dial::Dialling;
use crate::decide::identity::Identity;
use crate::ni::SockNi;
use crate::proto::frame::Cookies;
use crate::proto::{ConnectionType, Version};
use crate::scheduler::AckSender;
use crate::sync::lock;
use lnet_core::lnd::SendOutcome;
use lnet_core::{Errno, Message};
use lnet_wire::{Header, ProcessId};
use std::collections::VecDeque;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
pub(crate) use unresponsive::Consequence;

pub(crate) struct Peer {
    pub(crate) id: ProcessId,
    /// Its name was synthetic here: it cannot be called, and its messages are relabelled.
    synthetic: bool,
    pub(crate) ni: Arc<SockNi>,
    state: Mutex<State>,
    pending_acks: PendingAcks,
    /// Bytes of its payloads that wait for the core to decide.
    pub(crate) deferred_bytes: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    connections: Vec<Slot>,
    /// Connections that the peer has ended, while what it sent before is read.
    leaving: Vec<Arc<Connection>>,
    uses: u64,
    /// Which life of the peer the connections belong to.
    peer_incarnation: Option<PeerIncarnation>,
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
    last_keepalive: Option<Instant>,
    last_probe: Option<Instant>,
    /// How long to wait before it is probed again because it calls for what it has; zero if it never did.
    surplus_pause: Duration,
    /// When it was last probed for that.
    last_surplus_probe: Option<Instant>,
    /// When the core was last told that nothing is heard on this path.
    last_told: Option<Instant>,
    /// Nothing is heard on any of its connections, although something is under way on one.
    unresponsive: bool,
    /// Messages were told at once that there is no connection: there is a reason to call again.
    missed: bool,
    /// It is being judged whether a call of its is accepted.
    kept: bool,
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

/// Where a message goes.
enum Way {
    /// On this connection; whether it asks for a delivery ACK.
    On(Arc<Connection>, bool, Box<Message>),
    Waiting,
    Nowhere(Box<Message>, ConnError),
}

impl Peer {
    pub(crate) fn new(identity: Identity, ni: &Arc<SockNi>) -> Arc<Self> {
        let Identity { id, synthetic } = identity;
        Arc::new(Self {
            id,
            synthetic,
            ni: Arc::clone(ni),
            state: Mutex::default(),
            pending_acks: PendingAcks::default(),
            deferred_bytes: Arc::default(),
        })
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
                Way::On(connection, asks, message) => {
                    match self.hand_over(&connection, asks, message) {
                        Ok(outcome) => return Ok(outcome),
                        // It ended since; there may be another.
                        Err(message) => message,
                    }
                }
                Way::Waiting => return Ok(SendOutcome::Pending),
                Way::Nowhere(message, conn_error) => {
                    return Ok(SendOutcome::Done(message, Err(conn_error.failure(BytesSent::Nothing))));
                }
            };
        }
    }

    fn way(&self, state: &mut State, message: Box<Message>) -> Way {
        if state.holds_back() {
            state.waiting.push_back(Waiting { message, since: Instant::now() });
            return Way::Waiting;
        }
        if let Some(connection) =
            state.choose(Cargo::Message(message.payload_len()), self.ni.shared.config.min_bulk)
        {
            let asks = self.wants_ack(state, &connection, message.payload_len());
            return Way::On(connection, asks, message);
        }
        self.connect_if_not_connected(state);
        let now = Instant::now();
        // One of this implementation that called goes on until its connections are complete.
        let completes = state.connections.iter().any(|slot| slot.connection.same_implementation());
        if !state.called && !completes {
            return Way::Nowhere(message, ConnError::NoRoute);
        }
        if state.connections.is_empty() && state.dialling.is_hopeless(now) {
            state.missed = true;
            let why = state.last_failure.unwrap_or(Errno::HostUnreachable);
            return Way::Nowhere(message, ConnError::NotConnected(why));
        }
        state.waiting.push_back(Waiting { message, since: now });
        Way::Waiting
    }

    /// Something is to be sent. Who has called us is not called while a connection exists, whatever it is good for
    /// (wire-tcp 2.11);
    /// whose name we synthetic has no address to call (wire-tcp 2.7).
    fn connect_if_not_connected(&self, state: &mut State) {
        if state.connections.is_empty() && !self.synthetic && !state.called {
            state.called = true;
            self.recount(state);
        }
    }

    fn wants_ack(&self, state: &State, connection: &Connection, payload: usize) -> bool {
        let config = &self.ni.shared.config;
        config.delivery_acks.wanted(AckRequest {
            same_implementation: connection.same_implementation(),
            version: connection.version,
            bulk_out: state.connections.iter().any(|slot| slot.connection.kind == ConnectionType::BulkOut),
            large: config.zc_min_payload.is_some_and(|least| payload >= least as usize),
            proper_port: connection.proper_port,
        })
    }

    fn hand_over(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        asks: bool,
        message: Box<Message>,
    ) -> Result<SendOutcome, Box<Message>> {
        let checksum = self.ni.shared.config.enable_csum;
        let ack = self.pending_acks.take_one();
        if ack.is_some() {
            self.ni.counts.acks.add();
        }
        let out = Outgoing::message(message, connection.version, asks, ack.unwrap_or(0), checksum);
        let out = match out {
            Ok(out) => out,
            Err(message) => {
                self.requeue_ack(ack);
                let failure = ConnError::Local(Errno::Invalid).failure(BytesSent::Nothing);
                return Ok(SendOutcome::Done(message, Err(failure)));
            }
        };
        match connection.transmit(out) {
            Transmitted::Kept => Ok(SendOutcome::Pending),
            Transmitted::Failed(message, failure) => Ok(SendOutcome::Done(message, Err(failure))),
            Transmitted::Done(out) => Ok(match out.into_message() {
                Some(message) => SendOutcome::Done(message, Ok(())),
                None => SendOutcome::Pending,
            }),
            Transmitted::Ended(out) => {
                self.requeue_ack(ack);
                match out.into_message() {
                    Some(message) => Err(message),
                    None => Ok(SendOutcome::Pending),
                }
            }
        }
    }

    /// The connection, of those that there are and those that are about to go, that messages named after `conn_seq` were
    /// sent on first.
    pub(crate) fn connection_of(&self, conn_seq: ConnSeq) -> Option<Arc<Connection>> {
        lock(&self.state).all().find(|connection| connection.conn_seq == conn_seq).cloned()
    }

    /// The connection on which the message of this name was sent again.
    pub(crate) fn connection_with(&self, again: MessageId) -> Option<Arc<Connection>> {
        let all: Vec<_> = lock(&self.state).all().cloned().collect();
        all.into_iter().find(|connection| lock(&connection.tx).unacked.contains(again))
    }

    /// A message is here that asks for a delivery ACK. A node of this implementation gets it with the next message to it, or soon; a kernel
    /// at once.
    /// `answered`: something is likely to go the other way soon.
    pub(crate) fn send_ack(self: &Arc<Self>, asked_on: &Arc<Connection>, cookie: u64, answered: bool) {
        if asked_on.same_implementation() {
            return self.queue_ack(&asked_on.scheduler, cookie, answered);
        }
        // Back on the same connection if that is for bulk towards us, as the kernel does, or on the best for it
        // (wire-tcp 3.4).
        let other = if asked_on.kind == ConnectionType::BulkIn {
            None
        } else {
            lock(&self.state).choose(Cargo::Receipt, self.ni.shared.config.min_bulk)
        };
        self.ni.counts.acks.add();
        self.ni.counts.ack_noops.add();
        other.as_ref().unwrap_or(asked_on).transmit_noop(Cookies { request: 0, ack: cookie });
    }

    fn queue_ack(self: &Arc<Self>, scheduler: &Scheduler, cookie: u64, answered: bool) {
        let added = self.pending_acks.add(cookie, answered);
        if let Some(batch) = added.full {
            self.send_acks(batch);
        }
        if added.list {
            scheduler.note_pending_acks(self);
        }
    }

    /// A delivery ACK that was to go with a message has not gone.
    fn requeue_ack(self: &Arc<Self>, ack: Option<u64>) {
        if let Some(ack) = ack {
            self.queue_ack(&self.ni.shared.scheduler_of(self.id.nid), ack, true);
        }
    }

    fn send_acks(&self, mut batch: Batch) {
        let acks = batch.acks();
        if acks.is_empty() {
            return;
        }
        let connection = {
            let mut state = lock(&self.state);
            let best = state.choose(Cargo::Receipt, self.ni.shared.config.min_bulk);
            best.or_else(|| Some(Arc::clone(&state.connections.first()?.connection)))
        };
        // Without a connection nobody waits for them: the peer has given those messages up.
        let Some(connection) = connection else { return };
        for _ in &*acks {
            self.ni.counts.acks.add();
        }
        for noop in pack(acks) {
            self.ni.counts.ack_noops.add();
            connection.transmit_noop(noop);
        }
    }

    /// In a message from a peer whose name was synthetic that name stands (wire-tcp 2.7).
    pub(crate) fn relabel(&self, header: &mut Header) {
        if self.synthetic {
            header.src_nid = self.id.nid;
            header.src_pid = self.id.pid;
        }
    }

    /// For log lines.
    pub(crate) fn name(&self) -> PeerName<'_> {
        PeerName(self)
    }
}

impl AckSender for Peer {
    fn send_pending_acks(&self) {
        let batch = self.pending_acks.take_all();
        self.send_acks(batch);
    }
}

impl State {
    fn all(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.connections.iter().map(|slot| &slot.connection).chain(&self.leaving)
    }

    /// Whether the peer would know again what comes twice.
    fn deduplicates(&self) -> bool {
        self.connections.iter().any(|slot| slot.connection.same_implementation())
    }

    /// Whether messages wait although there are connections: what had left by an unresponsive one could not be sent again.
    fn holds_back(&self) -> bool {
        self.unresponsive && !self.connections.is_empty() && !self.deduplicates()
    }

    /// The last connection is gone.
    fn forget_incarnation(&mut self) {
        self.unresponsive = false;
        self.surplus_pause = Duration::ZERO;
        self.peer_incarnation = None;
        self.proposed = None;
        self.dialling.start_over();
    }

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
