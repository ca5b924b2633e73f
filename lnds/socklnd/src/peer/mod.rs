//! A peer of one interface: its connections, what waits for one, and how calling it stands.
//!
//! No lock is held while the core is called.

mod calling;
mod ending;

use crate::connection::Connection;
use crate::decide::admit::Life;
use crate::decide::cause::{Left, Trouble};
use crate::decide::choose::{Candidate, Cargo, choose};
use crate::decide::dial::Dialling;
use crate::decide::identity::Identity;
use crate::decide::receipts::{Brought, NotOutstanding, Outstanding, Written};
use crate::ni::SockNi;
use crate::proto::frame::Cookies;
use crate::proto::{ConnectionType, Version};
use crate::sync::lock;
use crate::transmit::{Outgoing, Transmitted};
use lnet_core::lnd::SendOutcome;
use lnet_core::{Errno, Message, SendFailure};
use lnet_wire::{Header, ProcessId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

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
    last_probe: Option<Instant>,
    /// When the core was asked for another way.
    last_asked: Option<Instant>,
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

/// Boxes, because that is how messages come and go.
#[allow(clippy::vec_box)]
pub(crate) type Messages = Vec<Box<Message>>;

/// Where a message goes.
enum Way {
    On(Arc<Connection>, Option<u64>, Box<Message>),
    Waiting,
    Nowhere(Box<Message>, Trouble),
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
                Way::Nowhere(message, trouble) => {
                    return Ok(SendOutcome::Done(message, Err(trouble.failure(Left::Nothing))));
                }
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
            return Way::Nowhere(message, Trouble::NoWay);
        }
        if state.connections.is_empty() && state.dialling.is_hopeless(now) {
            state.missed = true;
            let why = state.last_failure.unwrap_or(Errno::HostUnreachable);
            return Way::Nowhere(message, Trouble::NotConnected(why));
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
                return Ok(SendOutcome::Done(
                    message,
                    Err(Trouble::Local(Errno::Invalid).failure(Left::Nothing)),
                ));
            }
        };
        let (message, result) = match connection.transmit(out) {
            Transmitted::Queued => return Ok(SendOutcome::Pending),
            Transmitted::Done(out) => (out.into_message(), Ok(())),
            Transmitted::Failed(out, trouble) => {
                let failure = trouble.failure(out.has_left());
                (out.into_message(), Err(failure))
            }
            Transmitted::Ended(out) => {
                self.abandon_receipt(cookie);
                return match out.into_message() {
                    Some(message) => Err(message),
                    None => Ok(SendOutcome::Pending),
                };
            }
        };
        Ok(match message.and_then(|message| self.written(message, cookie, result)) {
            Some((message, result)) => SendOutcome::Done(message, result),
            None => SendOutcome::Pending,
        })
    }

    /// A message has left, or never will. It comes back, with what became of it, unless its receipt is still
    /// missing.
    pub(crate) fn written(
        &self,
        message: Box<Message>,
        cookie: Option<u64>,
        result: Result<(), SendFailure>,
    ) -> Option<(Box<Message>, Result<(), SendFailure>)> {
        match (cookie, result) {
            (None, _) => Some((message, result)),
            (Some(cookie), Ok(())) => {
                match lock(&self.state).receipts.written(cookie, message, Instant::now()) {
                    Written::Done(message) => Some((message, Ok(()))),
                    Written::Lost(message) => {
                        Some((message, Err(Trouble::EndedByPeer(Errno::Io).failure(Left::Something))))
                    }
                    Written::Waits => None,
                }
            }
            (Some(_), Err(_)) => {
                self.abandon_receipt(cookie);
                Some((message, result))
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
