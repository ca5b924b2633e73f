//! One established connection: its parts, and its end.
//!
//! Sending is in `transmit`, with the bytes of one system call in `batch`; receiving is in `receive`; what goes back to the core in
//! `give_back`. Neither holds a lock while the core runs event handlers, so one connection
//! can be written to by one thread and read by another, and handlers may send on the connection that the message arrived on.

mod batch;
mod cork;
pub(crate) mod deferred_rx;
mod frames;
mod give_back;
pub(crate) mod outgoing;
pub(crate) mod postpone;
mod read_ahead;
mod receive;
mod receive_turn;
pub(crate) mod send_side;
pub(crate) mod task;
mod transmit;
mod unresponsive;
mod unsent;
pub(crate) mod watch;

use crate::conn::cork::Cork;
use crate::decide::identity::Identity;
use crate::decide::implementation_id::node_of;
use crate::ni::SockNi;
use crate::proto::acceptor::LAST_PRIVILEGED_PORT;
use crate::proto::{ConnectionType, Version};
use crate::remote_nodes::{ConnectedNode, InboundConn, RemoteNodes};
use crate::scheduler;
use crate::sockets;
use deferred_rx::{DeferredConn, ResumeQueue};
use lnd_common::conn_error::ConnError;
use lnd_common::message_id::{ConnSeq, MessageId};
use lnd_common::pending_acks::{AckFor, NodePending};
use lnd_common::permit::Permit;
use lnet_core::lnd::SendOutcome;
use lnet_core::topology::Ni;
use lnet_core::{Errno, MessageOrigin, OutgoingMessage, Pooled, Time};
use lnet_os::spinlock::Spinlock;
use lnet_wire::byte_order::ByteOrder;
use receive::state::ReceiveSide;
use receive_turn::ReceiveTurn;
use rustix::event::epoll::EventFlags;
use send_side::SendSide;
use socket2::Socket;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
pub(crate) use task::Task;
use unsent::Unsent;
use watch::{Liveness, Watch, WatchList};

/// Time for which a peer that does not detect duplicates keeps its connections through an outage, in units of the network
/// timeout. Kernel nodes end theirs within three units (capture m: 46 s).
const OUTLASTS: u32 = 4;

/// The scheduler of connections.
pub(crate) type Scheduler = scheduler::Scheduler<Connection>;

/// The result of a completed handshake of either side.
pub(crate) struct Settled {
    pub(crate) socket: Socket,
    pub(crate) kind: ConnectionType,
    pub(crate) version: Version,
    pub(crate) order: ByteOrder,
    pub(crate) remote: IpAddr,
    /// Number by which the peer identified itself as a node of this implementation, or 0.
    pub(crate) identity: u64,
    /// The permit of an inbound connection; `None` if this node connected.
    pub(crate) permit: Option<Permit>,
}

/// Owner of a connection: the calls that a [`Connection`] makes to the peer at its other end.
pub(crate) trait ConnOwner: Send + Sync {
    /// Ends all connections to the peer, because of what happened on `culprit`.
    fn end(&self, culprit: &Arc<Connection>, conn_error: ConnError);

    /// Handles the end of `culprit` by the peer, which ends all its connections with it. What the peer sent before is
    /// still received on the others, and on the culprit if it `can_read`.
    fn closed_by_peer(&self, culprit: &Arc<Connection>, errno: Errno, can_read: bool);

    /// Handles that the peer has given up `connection`, and sends its messages again by others: nothing more is received
    /// on it.
    fn abandoned_by_peer(&self, connection: &Arc<Connection>);

    /// Drops a connection that is closed and that no thread is working on.
    fn forget_connection(&self, id: u64);

    /// Sends a delivery ACK for a message that has arrived on `connection`.
    fn send_ack(&self, connection: &Arc<Connection>, cookie: u64, of: AckFor);

    /// Sends the peer bytes that its system must acknowledge, if that was not done lately.
    fn probe(&self, now: Time);

    /// Handles the result of a check of `connection`. The peer may be unresponsive for `limit`. Returns whether it is, and
    /// was not known to be.
    fn on_liveness(&self, connection: &Arc<Connection>, found: Liveness, now: Time, limit: Duration) -> bool;

    /// The peer's connection that messages of this sequence were first sent on, if it still exists.
    fn connection_of(&self, conn_seq: ConnSeq) -> Option<Arc<Connection>>;

    /// The peer's connection on which the message with this ID was sent again.
    fn connection_with(&self, message_id: MessageId) -> Option<Arc<Connection>>;

    /// Sends a message on `connection` by a path that the peer chose before. It comes back if the choice may not hold any more.
    fn send_small(
        &self,
        connection: &Arc<Connection>,
        path: SmallPath,
        message: Pooled<OutgoingMessage>,
    ) -> Result<SendOutcome, Pooled<OutgoingMessage>>;
}

/// A peer's choice for small messages, beside the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmallPath {
    /// The number of the peer's state for which the choice holds.
    pub(crate) generation: u64,
    /// Whether the messages request delivery ACKs.
    pub(crate) request_ack: bool,
}

/// The parts of a peer and of its NI that a new connection keeps references to.
pub(crate) struct ConnContext<'a> {
    pub(crate) owner: Arc<dyn ConnOwner>,
    pub(crate) identity: Identity,
    pub(crate) ni: &'a Arc<SockNi>,
    /// The core's NI.
    pub(crate) lnet_ni: Arc<Ni>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) watch_list: &'a Arc<WatchList<Connection>>,
    pub(crate) nodes: &'a RemoteNodes,
    /// Counter of the peer's deferred payload bytes.
    pub(crate) deferred_bytes: &'a Arc<AtomicUsize>,
}

/// The properties of an established connection that its handshake has settled, and that do not change.
pub(crate) struct Terms {
    /// Identity of the peer.
    pub(crate) identity: Identity,
    pub(crate) kind: ConnectionType,
    pub(crate) version: Version,
    pub(crate) order: ByteOrder,
    pub(crate) remote: IpAddr,
    /// Whether the other end has a port that only privileged processes get.
    pub(crate) privileged: bool,
    /// Whether this end has a port that a kernel node accepts as a proof of identity.
    pub(crate) proper_port: bool,
    /// The node at the other end, if it is one of this implementation.
    node: Option<ConnectedNode>,
    /// Whether the connection stays open when messages on it are late, as long as nothing arrives: the messages of the peer in
    /// flight may still arrive, and the peer's next message must find the connection that it is sent on.
    pub(crate) outlasts: bool,
}

/// The progress of a connection as the threads that read and write it count it, for the checks.
#[derive(Debug, Default)]
struct Progress {
    /// Number of system calls that brought bytes.
    reads: AtomicUsize,
    /// Whether bytes have arrived since the last scan.
    received: AtomicBool,
    /// Whether bytes have left since the last scan.
    progressed: AtomicBool,
    /// The number of the message that has arrived in part; 0 if none has.
    midway: AtomicU64,
    /// Number of messages that have left in full after they had to wait.
    written: AtomicU64,
}

/// An established connection that carries messages. Before the handshake has succeeded there is none; while it is open it has
/// a queue of messages, see [`SendSide`]; see [`ConnPhase`] for its end.
pub(crate) struct Connection {
    pub(crate) id: u64,
    pub(crate) terms: Terms,
    socket: Socket,
    /// The permit of an inbound connection, given back when the socket is closed.
    _permit: Option<Permit>,
    /// The sequence of messages that are sent on it first.
    pub(crate) conn_seq: ConnSeq,
    owner: Arc<dyn ConnOwner>,
    pub(crate) ni: Arc<SockNi>,
    lnet_ni: Arc<Ni>,
    pub(crate) scheduler: Arc<Scheduler>,
    watch_list: Arc<WatchList<Self>>,
    deferred_bytes: Arc<AtomicUsize>,
    token: OnceLock<u64>,
    phase: AtomicU8,
    /// Whether the kernel has reported the end of the stream: nothing follows the bytes that are in the socket.
    stream_ended: AtomicBool,

    tx: Spinlock<SendSide>,
    /// Bytes accepted for sending and not yet written.
    unsent: Unsent,
    rx: Mutex<ReceiveSide>,
    rx_turn: ReceiveTurn,
    /// The number of the turn of the thread that receives, which grows under the lock of `rx`. A thread whose turn has another number has
    /// been replaced.
    rx_turns: AtomicU64,
    /// Number of threads that receive on the connection or write its queue, until they have reported the results to the core.
    threads: AtomicUsize,

    progress: Progress,
    /// Whether the connection is in the watch list, because something may be under way.
    watched: AtomicBool,
    watch: Mutex<Watch>,
}

/// The phase of a connection's life. Phases only advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum ConnPhase {
    Open = 0,
    /// The peer has ended its connections: bytes that it sent before are still received, but nothing is sent.
    Draining = 1,
    Closed = 2,
}

impl Connection {
    /// See [`ConnOwner::send_small`].
    #[inline]
    pub(crate) fn send_small(
        self: &Arc<Self>,
        path: SmallPath,
        message: Pooled<OutgoingMessage>,
    ) -> Result<SendOutcome, Pooled<OutgoingMessage>> {
        self.owner.send_small(self, path, message)
    }

    pub(crate) fn new(settled: Settled, context: ConnContext<'_>, now: Time) -> Arc<Self> {
        let Settled { socket, kind, version, order, remote, identity: node_id, permit } = settled;
        let ConnContext { owner, identity, ni, lnet_ni, scheduler, watch_list, nodes, deferred_bytes } =
            context;
        let shared = &ni.shared;
        let port_of = |address: std::io::Result<socket2::SockAddr>| {
            address.ok().and_then(|address| address.as_socket()).map(|address| address.port())
        };
        let is_privileged = |port: u16| port <= LAST_PRIVILEGED_PORT;
        let privileged = port_of(socket.peer_addr()).is_some_and(is_privileged);
        let proper_port = port_of(socket.local_addr())
            .is_some_and(|port| is_privileged(port) || port == shared.config.accept_port);
        let conn_seq = shared.next_conn_seq();
        let node = node_of(shared.config.implementation_id, node_id)
            .filter(|_| version >= Version::V2)
            .map(|id| nodes.connect(id));
        let outlasts = node.is_none() && sockets::outlast(&socket, ni.sock_timeout() * OUTLASTS);
        let terms = Terms { identity, kind, version, order, remote, privileged, proper_port, node, outlasts };
        Arc::new(Self {
            id: shared.next_connection_id(),
            terms,
            socket,
            _permit: permit,
            conn_seq,
            owner,
            ni: Arc::clone(ni),
            lnet_ni,
            scheduler,
            watch_list: Arc::clone(watch_list),
            deferred_bytes: Arc::clone(deferred_bytes),
            token: OnceLock::new(),
            phase: AtomicU8::new(ConnPhase::Open as u8),
            stream_ended: AtomicBool::new(false),
            tx: Spinlock::new(SendSide::new(conn_seq)),
            unsent: Unsent::default(),
            rx: Mutex::new(ReceiveSide::new(version)),
            rx_turn: ReceiveTurn::default(),
            rx_turns: AtomicU64::new(0),
            threads: AtomicUsize::new(0),
            progress: Progress::default(),
            watched: AtomicBool::new(false),
            watch: Mutex::new(Watch::new(now)),
        })
    }

    /// Ends the connection, and all others to the peer.
    pub(crate) fn end(self: &Arc<Self>, conn_error: ConnError) {
        self.owner.end(self, conn_error);
    }

    /// Reports the result of a check to the peer. Returns whether the peer is unresponsive and was not known to be.
    pub(crate) fn report(self: &Arc<Self>, found: Liveness, now: Time, limit: Duration) -> bool {
        self.owner.on_liveness(self, found, now, limit)
    }

    /// Whether the peer is a node of this implementation.
    pub(crate) fn same_implementation(&self) -> bool {
        self.terms.node.is_some()
    }

    /// The delivery ACKs that are owed to the peer's node, if that is of the same implementation.
    pub(crate) fn acks_of_node(&self) -> Option<&Arc<NodePending>> {
        self.terms.node.as_ref().map(|node| &node.pending_acks)
    }

    /// Whether a message may be sent on the connection while it is arriving: large messages have the connection for themselves, the peer
    /// deduplicates, and no head holds the checksum of its payload.
    pub(crate) fn carries_arriving(&self) -> bool {
        self.same_implementation()
            && self.terms.kind == ConnectionType::BulkOut
            && self.terms.version >= Version::V3
    }

    /// The implementation ID of this node, if the peer is of the same implementation.
    pub(crate) fn own_id(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.ni.shared.config.implementation_id).filter(|_| self.same_implementation())
    }

    /// The node-independent name of the peer's message with this ID; `None` if the peer is of another implementation.
    pub(crate) fn origin(&self, id: NonZeroU64) -> Option<MessageOrigin> {
        self.terms.node.as_ref().map(|node| node.origin(id))
    }

    pub(crate) fn phase(&self) -> ConnPhase {
        match self.phase.load(Ordering::Acquire) {
            0 => ConnPhase::Open,
            1 => ConnPhase::Draining,
            _ => ConnPhase::Closed,
        }
    }

    /// Stops sending: the peer has ended its connections, or is about to. Bytes in flight to this node are still received. Queued
    /// messages are returned with `conn_error`; delivery ACKs may still come. Returns the number of returned messages.
    pub(crate) fn drain(self: &Arc<Self>, conn_error: ConnError) -> usize {
        if self.phase.fetch_max(ConnPhase::Draining as u8, Ordering::AcqRel) < ConnPhase::Draining as u8 {
            let unsent = self.stop_sending(conn_error);
            // The peer may have opened this one since: it must not wait here for responses, and refuse our connects. An
            // error means that it has ended it.
            let _ = self.socket.shutdown(std::net::Shutdown::Write);
            return unsent;
        }
        0
    }

    /// Drains the connection if everything has left that it was given; nothing more is taken then.
    pub(crate) fn drain_if_written(self: &Arc<Self>, conn_error: ConnError) {
        {
            let mut side = self.tx.lock();
            if self.has_unsent() || side.is_writing() {
                return;
            }
            side.end(conn_error);
        }
        self.drain(conn_error);
    }

    /// Closes the connection. Queued messages are returned with `conn_error`, a message that has arrived in part with EIO.
    /// A thread that is working on the connection at this moment returns its messages when it has finished.
    pub(crate) fn close(self: &Arc<Self>, conn_error: ConnError) {
        let before = self.phase.fetch_max(ConnPhase::Closed as u8, Ordering::AcqRel);
        if before == ConnPhase::Closed as u8 {
            return;
        }
        if conn_error.is_abort() {
            // Otherwise the kernel would continue to deliver messages that have been given up here.
            let _ = self.socket.set_linger(Some(Duration::ZERO));
        }
        // First, so that a thread that writes at this moment reports this error, not the system's.
        if before == ConnPhase::Open as u8 {
            self.stop_sending(conn_error);
        }
        self.fail_unacked(conn_error);
        // An error means that the peer was faster.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        self.run_receive();
        self.scheduler.remove(self);
        self.note_quiet();
    }

    pub(crate) fn unsent(&self) -> usize {
        self.unsent.bytes()
    }

    pub(crate) fn has_unsent(&self) -> bool {
        self.unsent() > 0
    }

    /// Whether no thread is working on the connection: once it is closed, no upcall follows then.
    pub(crate) fn is_quiet(&self) -> bool {
        self.threads.load(Ordering::SeqCst) == 0 && self.rx_turn.is_idle() && !self.tx.lock().is_writing()
    }

    /// Counts the calling thread as working on the connection until the result is dropped.
    fn at_work(self: &Arc<Self>) -> AtWork<'_> {
        self.threads.fetch_add(1, Ordering::SeqCst);
        AtWork(self)
    }

    /// Checks whether the connection is closed and no thread is working on it any more; then its owner may drop it. The
    /// end of the NI waits for that.
    fn note_quiet(&self) {
        if self.phase() == ConnPhase::Closed {
            if self.is_quiet() {
                self.owner.forget_connection(self.id);
            }
            self.ni.note_quiet();
        }
    }
}

/// See [`Connection::at_work`].
struct AtWork<'a>(&'a Arc<Connection>);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.threads.fetch_sub(1, Ordering::SeqCst);
        self.0.note_quiet();
    }
}

impl scheduler::Pollable for Connection {
    type Task = Task;

    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn registered_as(&self, token: u64) {
        // Registered once, right after it was made.
        let _ = self.token.set(token);
    }

    /// The connection's token in the scheduler's table, once it is registered.
    fn token(&self) -> Option<u64> {
        self.token.get().copied()
    }

    /// Handles events from the kernel; returns whether there was anything to receive.
    fn on_event(self: &Arc<Self>, flags: EventFlags) -> bool {
        let ended = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        if flags.intersects(ended) {
            self.stream_ended.store(true, Ordering::Release);
        }
        if flags.intersects(ended | EventFlags::OUT) {
            self.on_writable();
        }
        flags.intersects(ended | EventFlags::IN) && self.poll()
    }

    /// Receives available data; returns whether there was any.
    fn poll(self: &Arc<Self>) -> bool {
        let before = self.progress.reads.load(Ordering::Relaxed);
        self.run_receive();
        self.progress.reads.load(Ordering::Relaxed) != before
    }

    /// Receives, as a call of [`crate::scheduler::Scheduler::schedule`] has asked.
    fn on_schedule(self: &Arc<Self>) {
        self.on_writable();
        self.run_receive();
    }

    /// Sends and receives in place of a thread that is blocked in an event handler.
    fn relieve(self: &Arc<Self>) {
        self.take_over_queue();
        self.on_writable();
        self.run_receive_in_place_of_another();
    }

    fn sending_together(work: impl FnOnce()) {
        let _cork = Cork::new();
        work();
    }

    fn is_closed(&self) -> bool {
        self.phase() == ConnPhase::Closed
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("id", &self.id)
            .field("peer", &self.terms.identity.id)
            .finish_non_exhaustive()
    }
}

impl InboundConn for Connection {
    fn id(&self) -> u64 {
        self.id
    }

    fn abandoned_by_peer(self: Arc<Self>) {
        self.owner.abandoned_by_peer(&self);
    }
}

impl DeferredConn for Connection {
    fn schedule_receive(self: Arc<Self>) {
        let scheduler = Arc::clone(&self.scheduler);
        scheduler.schedule(self);
    }

    fn resume_queue(&self) -> Arc<dyn ResumeQueue> {
        Arc::clone(&self.scheduler) as Arc<dyn ResumeQueue>
    }
}
