//! A peer of one NI: its connections, the messages that wait for one, and the state of connecting to it.
//!
//! No lock is held while the core is called.

mod acks;
mod conn_owner;
mod connector;
mod ending;
mod replaced;
pub(crate) mod small_path;
mod unresponsive;
mod version;

use crate::conn::outgoing::Outgoing;
use crate::conn::send_side::Transmitted;
use crate::conn::watch::WatchList;
use crate::conn::{Connection, Scheduler, SmallPath};
use crate::decide::choose::{Candidate, TxKind, choose, is_best_for_acks, is_small};
use crate::decide::delivery_acks::AckRequest;
use crate::decide::identity::Identity;
use crate::decide::version::PeerIncarnation;
use crate::ni::SockNi;
use crate::proto::{ConnectionType, Version};
use crate::remote_nodes::RemoteNodes;
use crate::sync::lock;
use lnd_common::conn_error::{BytesSent, ConnError};
use lnd_common::connect_schedule::ConnectSchedule;
use lnd_common::pending_acks::PendingAcks;
use lnet_core::lnd::SendOutcome;
use lnet_core::{Delivery, Errno, OutgoingMessage, Pooled, SendFailure, Time};
use lnet_wire::{Nid, ProcessId};
use replaced::{NeedOfVersion4, Replaced};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// Owner of a peer: the calls that a [`Peer`] makes to its NI's table.
pub(crate) trait PeerOwner: Send + Sync {
    /// Removes the peer, of which there is nothing to remember.
    fn forget_peer(&self, peer: &Peer);

    /// Sends a message that has waited. Not by the peer that it waited for, which may have been removed since.
    fn send_again(self: Arc<Self>, message: Pooled<OutgoingMessage>) -> SendOutcome;

    /// Makes the connecting thread connect to the peer.
    fn connect(&self, peer: Arc<Peer>);

    /// Makes the connecting thread give up the connect in progress.
    fn abandon_connect(&self, peer: Arc<Peer>);

    /// Adds an established connection; an error if the NI is ending.
    fn remember_connection(&self, connection: &Arc<Connection>) -> Result<(), Errno>;

    fn forget_connection(&self, id: u64);

    /// The scheduler that serves all connections of a peer.
    fn scheduler_of(&self, peer: Nid) -> Arc<Scheduler>;

    fn nodes(&self) -> &RemoteNodes;

    fn watch_list(&self) -> &Arc<WatchList<Connection>>;
}

pub(crate) struct Peer {
    pub(crate) id: ProcessId,
    /// Whether the ID is synthetic: this node cannot connect to the peer, and relabels its messages.
    synthetic: bool,
    pub(crate) ni: Arc<SockNi>,
    owner: Arc<dyn PeerOwner>,
    /// Weak reference to the peer itself.
    this: Weak<Self>,
    state: StateCell,
    pending_acks: PendingAcks,
    /// Whether the peer is on a scheduler's list because its connections may hold confirmations.
    confirmations_listed: AtomicBool,
    /// Bytes of the peer's payloads that wait for a decision of the core.
    pub(crate) deferred_bytes: Arc<AtomicUsize>,
}

/// The state of a peer behind its lock.
#[derive(Default)]
struct StateCell {
    state: Mutex<PeerState>,
    /// The number of times that the state may have been changed.
    generation: AtomicU64,
}

#[derive(Default)]
struct PeerState {
    connections: Vec<ConnSlot>,
    /// Connections that the peer has ended, until the bytes that it sent before are read.
    leaving: Vec<Arc<Connection>>,
    uses: u64,
    /// The connection for small messages, if only one is rated best for them: see [`crate::decide::choose::only_for_small`].
    for_small: Option<usize>,
    /// The incarnation of the peer that the connections belong to.
    peer_incarnation: Option<PeerIncarnation>,
    /// Whether this node connects to the peer, because a message was sent to it when it had no connection.
    active: bool,
    schedule: ConnectSchedule,
    /// The error of the last connect.
    last_failure: Option<Errno>,
    /// The version that the peer proposed when it refused this node's.
    proposed: Option<Version>,
    /// The type of connection to request next; `None` when the set is complete.
    wanted: Option<ConnectionType>,
    /// The type of connection that the last connect requested.
    last_requested: Option<ConnectionType>,
    version_4: NeedOfVersion4,
    replaced: Replaced,
    waiting: VecDeque<WaitingMessage>,
    last_keepalive: Option<Time>,
    last_probe: Option<Time>,
    /// Pause before the peer is probed again because it asks for connections that it has; zero before the first such probe.
    surplus_pause: Duration,
    /// Time of the last such probe.
    last_surplus_probe: Option<Time>,
    /// Time of the last report to the core that this path is unresponsive.
    last_report: Option<Time>,
    /// Whether nothing arrives on any of its connections, although something is under way on one.
    unresponsive: bool,
    /// Whether the path was reported as late to the core, and not yet as recovered.
    late: bool,
    /// Whether messages failed at once while connects were backing off: a reason to connect again.
    failed_fast: bool,
    /// Whether bulk is sent by a connection for small messages, until there is a connection for it.
    bulk_by_control: Option<BulkByControl>,
    /// Whether the peer does not listen on this node's port for bulk.
    bulk_port_refused: bool,
    listing: Listing,
}

/// Bulk that is sent by a connection for small messages.
#[derive(Clone, Copy, Debug)]
struct BulkByControl {
    since: Time,
    /// Whether a log line has said so.
    logged: bool,
}

/// The place of a peer in its NI's table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Listing {
    /// The peer is in the table, until there is nothing to remember of it.
    #[default]
    Listed,
    /// The connecting thread is deciding on a connection of the peer: the peer stays in the table.
    Pinned,
    /// The peer has been removed from the table: a thread that still has it must look the peer up again.
    Removed,
}

struct ConnSlot {
    connection: Arc<Connection>,
    last_used: u64,
    /// Whether the peer has ended it while one of version 4 is being made that replaces it.
    ended: bool,
}

struct WaitingMessage {
    message: Pooled<OutgoingMessage>,
    since: Time,
}

/// The action towards an unresponsive peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnresponsiveAction {
    /// No action: the core was informed recently.
    Nothing,
    /// Close the peer's connections: all messages in flight have another path.
    GiveUp,
    /// Keep the peer's connections. `is_new`: it has just become unresponsive; `moved`: number of messages that took another
    /// path.
    Stay { is_new: bool, moved: usize },
}

/// The destination of a message within the driver.
enum TxTarget {
    /// The message is sent on this connection; the flag says whether it requests a delivery ACK.
    Connection(Arc<Connection>, bool, Pooled<OutgoingMessage>),
    Waiting,
    Failed(Pooled<OutgoingMessage>, ConnError),
}

impl Peer {
    pub(crate) fn new(identity: Identity, ni: &Arc<SockNi>, owner: Arc<dyn PeerOwner>) -> Arc<Self> {
        let Identity { id, synthetic } = identity;
        Arc::new_cyclic(|this| Self {
            id,
            synthetic,
            ni: Arc::clone(ni),
            owner,
            this: Weak::clone(this),
            state: StateCell::default(),
            pending_acks: PendingAcks::default(),
            confirmations_listed: AtomicBool::new(false),
            deferred_bytes: ni.shared.deferred_bytes_of(id.nid),
        })
    }

    fn request_connect(&self) {
        if let Some(this) = self.this.upgrade() {
            self.owner.connect(this);
        }
    }

    /// Sends, queues, or fails the message. It comes back if the peer has been removed from the NI's table.
    pub(crate) fn send(
        &self,
        mut message: Pooled<OutgoingMessage>,
    ) -> Result<SendOutcome, Pooled<OutgoingMessage>> {
        loop {
            let (target, connect) = {
                let mut state = self.state.look();
                if state.is_removed() {
                    return Err(message);
                }
                let target = self.target(&mut state, message);
                let connect = state.request_connect();
                if let TxTarget::Connection(connection, request_ack, message) = &target
                    && state.small_path_lasts()
                    && self.is_for_small_path(message)
                {
                    let path = SmallPath { generation: self.state.generation(), request_ack: *request_ack };
                    small_path::note(self, connection, path);
                }
                (target, connect)
            };
            if connect {
                self.request_connect();
            }
            message = match target {
                TxTarget::Connection(connection, request_ack, message) => {
                    match self.hand_over(&connection, request_ack, message) {
                        Ok(outcome) => return Ok(outcome),
                        // The connection has ended since; there may be another.
                        Err(message) => message,
                    }
                }
                TxTarget::Waiting => return Ok(SendOutcome::Pending),
                TxTarget::Failed(message, conn_error) => {
                    return Ok(SendOutcome::Done(message, Err(conn_error.failure(BytesSent::Nothing))));
                }
            };
        }
    }

    /// Whether the message may leave by the path that small messages have.
    pub(crate) fn is_for_small_path(&self, message: &OutgoingMessage) -> bool {
        let (config, length) = (&self.ni.shared.config, message.payload_len());
        is_small(length, config.min_bulk) && config.zc_min_payload.is_none_or(|least| length < least as usize)
    }

    /// Whether a message with `length` bytes of payload, which is still arriving, would be begun at once, on a connection that only large
    /// messages use and that nothing waits for.
    pub(crate) fn may_cut_through(&self, length: usize) -> bool {
        let config = &self.ni.shared.config;
        let state = self.state.look();
        // Without the checks of connections nothing would end one that is kept for too long.
        if config.unresponsive_timeout.is_zero() || state.late || state.unresponsive {
            return false;
        }
        let best = state.best(TxKind::Message(length), config.min_bulk);
        best.and_then(|best| state.connections.get(best))
            .is_some_and(|slot| slot.connection.carries_arriving() && !slot.connection.has_unsent())
    }

    fn target(&self, state: &mut PeerState, message: Pooled<OutgoingMessage>) -> TxTarget {
        if state.must_queue() {
            state.waiting.push_back(WaitingMessage { message, since: self.ni.shared.now() });
            return TxTarget::Waiting;
        }
        if let Some(connection) =
            state.choose(TxKind::Message(message.payload_len()), self.ni.shared.config.min_bulk)
        {
            self.note_bulk_by_control(state, &connection, message.payload_len());
            let request_ack = self.wants_ack(state, &connection, message.payload_len());
            return TxTarget::Connection(connection, request_ack, message);
        }
        self.connect_if_not_connected(state);
        let now = self.ni.shared.now();
        // A peer of this implementation that has connected continues until its connections are complete.
        let completes = state.connections.iter().any(|slot| slot.connection.same_implementation());
        if !state.active && !completes {
            return TxTarget::Failed(message, ConnError::NoRoute);
        }
        if state.connections.is_empty() && state.schedule.is_backing_off(now) {
            state.failed_fast = true;
            let why = state.last_failure.unwrap_or(Errno::HostUnreachable);
            return TxTarget::Failed(message, ConnError::NotConnected(why));
        }
        let message = match state.note_need(message) {
            Ok(message) => message,
            Err(message) => return TxTarget::Failed(message, ConnError::NotSupported),
        };
        state.waiting.push_back(WaitingMessage { message, since: now });
        TxTarget::Waiting
    }

    /// Notes that bulk is sent by a connection for small messages, for want of another.
    fn note_bulk_by_control(&self, state: &mut PeerState, connection: &Connection, payload: usize) {
        let is_bulk = !is_small(payload, self.ni.shared.config.min_bulk);
        if is_bulk && connection.terms.kind == ConnectionType::Control && state.bulk_by_control.is_none() {
            state.bulk_by_control = Some(BulkByControl { since: self.ni.shared.now(), logged: false });
        }
    }

    /// Connects for a message, unless there is a connection. While a connection of a peer that has connected to this node
    /// exists, of whatever type, this node does not connect to it (wire-tcp 2.11); a peer with a synthetic ID has no
    /// address to connect to (wire-tcp 2.7).
    fn connect_if_not_connected(&self, state: &mut PeerState) {
        if state.connections.is_empty() && !self.synthetic && !state.active {
            state.active = true;
            self.recount(state);
        }
    }

    fn wants_ack(&self, state: &PeerState, connection: &Connection, payload: usize) -> bool {
        let config = &self.ni.shared.config;
        let same_implementation = connection.same_implementation();
        let large = config.zc_min_payload.is_some_and(|least| payload >= least as usize);
        let is_bulk_out = |slot: &ConnSlot| slot.connection.terms.kind == ConnectionType::BulkOut;
        config.delivery_acks.wanted(AckRequest {
            same_implementation,
            version: connection.terms.version,
            // It decides nothing for a small message to a node of this implementation.
            bulk_out: (large || !same_implementation) && state.connections.iter().any(is_bulk_out),
            large,
            proper_port: connection.terms.proper_port,
        })
    }

    fn hand_over(
        &self,
        connection: &Arc<Connection>,
        request_ack: bool,
        message: Pooled<OutgoingMessage>,
    ) -> Result<SendOutcome, Pooled<OutgoingMessage>> {
        let checksum = self.ni.shared.config.enable_csum;
        let same_implementation = connection.same_implementation();
        if !same_implementation && message.needs_origin() {
            // Only a node of this implementation could recognise a duplicate of the message.
            let failure = ConnError::NotConnected(Errno::HostUnreachable).failure(BytesSent::Nothing);
            let failure = SendFailure { delivery: Delivery::NeedsOrigin, ..failure };
            return Ok(SendOutcome::Done(message, Err(failure)));
        }
        if message.arrival().is_some() && !connection.carries_arriving() {
            let failure = ConnError::Abandoned.failure(BytesSent::Nothing);
            return Ok(SendOutcome::Done(message, Err(failure)));
        }
        let ack = self.pending_acks.take_one();
        if ack.is_some() {
            self.ni.counts.acks.add();
        }
        let (version, ack_cookie) = (connection.terms.version, ack.unwrap_or(0));
        let out = Outgoing::message(message, version, same_implementation, request_ack, ack_cookie, checksum);
        let out = match out {
            Ok(out) => out,
            Err(message) => {
                self.requeue_ack(ack);
                return self.await_version_4(message);
            }
        };
        match connection.transmit(out) {
            Transmitted::Kept => Ok(SendOutcome::Pending),
            Transmitted::Sent(credits) => Ok(SendOutcome::Sent(credits)),
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
}

impl StateCell {
    /// Locks the state, to look at it, or to send a message: the path of small messages does not change.
    fn look(&self) -> MutexGuard<'_, PeerState> {
        lock(&self.state)
    }

    /// Locks the state, to change it.
    fn change(&self) -> MutexGuard<'_, PeerState> {
        let state = lock(&self.state);
        self.generation.fetch_add(1, Ordering::Release);
        state
    }

    /// The number of the state: another one than before means that it may have changed.
    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}

impl PeerState {
    /// Whether small messages leave by one connection until the state changes, and sending one has no other effect.
    fn small_path_lasts(&self) -> bool {
        self.for_small.is_some() && (self.wanted.is_none() || !self.active)
    }

    fn is_removed(&self) -> bool {
        self.listing == Listing::Removed
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.connections.iter().map(|slot| &slot.connection).chain(&self.leaving).chain(self.replaced.all())
    }

    /// Whether the peer detects duplicates.
    fn deduplicates(&self) -> bool {
        self.connections.iter().any(|slot| slot.connection.same_implementation())
    }

    /// Whether messages wait although there are connections: a message sent on an unresponsive one could not be resent.
    fn must_queue(&self) -> bool {
        self.unresponsive && !self.connections.is_empty() && !self.deduplicates()
    }

    /// Forgets the peer's incarnation after its last connection.
    fn forget_incarnation(&mut self) {
        self.unresponsive = false;
        self.late = false;
        self.surplus_pause = Duration::ZERO;
        self.bulk_by_control = None;
        self.bulk_port_refused = false;
        self.peer_incarnation = None;
        self.proposed = None;
        self.forget_refusal();
        self.schedule.start_over();
    }

    /// The index of the best connection.
    fn best(&self, tx: TxKind, min_bulk: u32) -> Option<usize> {
        let candidates = self.connections.iter().map(|slot| Candidate {
            kind: slot.connection.terms.kind,
            version: slot.connection.terms.version,
            unsent: slot.connection.unsent(),
            last_used: slot.last_used,
        });
        choose(candidates, tx, min_bulk)
    }

    /// Whether the connection at this index, the only one that is rated best for small messages, is that for delivery ACKs, too.
    fn is_best_for_acks(&self, only_for_small: usize) -> bool {
        let terms = self.connections.get(only_for_small).map(|slot| &slot.connection.terms);
        terms.is_some_and(|terms| is_best_for_acks(terms.kind, terms.version))
    }

    fn choose(&mut self, tx: TxKind, min_bulk: u32) -> Option<Arc<Connection>> {
        let best = match (tx, self.for_small) {
            (TxKind::Message(length), Some(only)) if is_small(length, min_bulk) => only,
            (TxKind::Ack, Some(only)) if self.is_best_for_acks(only) => only,
            _ => self.best(tx, min_bulk)?,
        };
        let slot = self.connections.get_mut(best)?;
        self.uses += 1;
        slot.last_used = self.uses;
        Some(Arc::clone(&slot.connection))
    }

    /// Whether to ask the connecting thread for a connect now.
    fn request_connect(&mut self) -> bool {
        self.active && self.schedule.request(self.wanted.is_some())
    }
}
