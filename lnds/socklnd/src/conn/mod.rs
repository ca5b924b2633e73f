//! One established connection: what it is, and its end.
//!
//! Sending is in `transmit`, receiving in `receive`. Neither holds a lock while it is in the kernel or in
//! the core, so one connection can be written to by one thread and read by another, and handlers may send
//! on the connection that they were called for.

pub(crate) mod deferred_rx;
mod read_ahead;
pub(crate) mod receive;
mod receive_turn;
pub(crate) mod transmit;
pub(crate) mod unresponsive;

use crate::ack::message_id::ConnSeq;
use crate::conn::receive::ReceiveSide;
use crate::conn::receive_turn::ReceiveTurn;
use crate::conn::transmit::SendSide;
use crate::decide::cause::ConnError;
use crate::decide::implementation_id::node_of;
use crate::ni::SockNi;
use crate::peer::Peer;
use crate::permit::Permit;
use crate::proto::acceptor::LAST_PRIVILEGED_PORT;
use crate::proto::{ConnectionType, Version};
use crate::remote_nodes::RemoteNode;
use crate::scheduler;
use crate::sockets;
use crate::sync::lock;
use deferred_rx::Resumed;
use lnet_core::Message;
use lnet_core::topology::Ni;
use lnet_wire::byte_order::ByteOrder;
use rustix::event::epoll::EventFlags;
use socket2::Socket;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// One message takes at most so many times as long as there may be between two of its bytes.
const SLOWEST: u32 = 8;

/// A peer that would not know again what was sent to it keeps its connections for so many times the time that anything
/// may take, if nothing but an outage is against them. Kernel nodes end theirs within three times (capture m: 46 s).
const OUTLASTS: u32 = 4;

/// Reads and writes connections.
pub(crate) type Scheduler = scheduler::Scheduler<Connection>;

/// What a scheduler does for a connection once.
pub(crate) enum Task {
    /// What the core has decided about a deferred message.
    Execute(Resumed),
    /// The report of a sent message.
    Finish(Box<Message>, Arc<SockNi>),
}

/// What both handshakes settle.
pub(crate) struct Settled {
    pub(crate) socket: Socket,
    pub(crate) kind: ConnectionType,
    pub(crate) version: Version,
    pub(crate) order: ByteOrder,
    pub(crate) remote: IpAddr,
    /// What the peer said that it is, if it is a node of this implementation.
    pub(crate) identity: u64,
    /// The place of a peer that has called.
    pub(crate) permit: Option<Permit>,
}

/// A connection that messages go over.
pub(crate) struct Connection {
    pub(crate) id: u64,
    socket: Socket,
    /// Given back when the socket is closed.
    _seat: Option<Permit>,
    pub(crate) kind: ConnectionType,
    pub(crate) version: Version,
    pub(crate) order: ByteOrder,
    pub(crate) remote: IpAddr,
    /// Whether the other end has a port that only privileged processes get.
    pub(crate) privileged: bool,
    /// Whether this end has a port that makes a kernel believe who we are.
    pub(crate) proper_port: bool,
    /// What it is called in the names of messages that are sent on it first.
    pub(crate) conn_seq: ConnSeq,
    /// The node at the other end, if it is one of this implementation.
    pub(crate) node: Option<Arc<RemoteNode>>,
    /// It does not end when messages on it are late, as long as nothing is heard: what the peer has under way may still
    /// arrive, and its next message is to find the connection that it goes by.
    pub(crate) outlasts: bool,
    pub(crate) peer: Arc<Peer>,
    /// The core's name of the interface.
    pub(crate) lnet_ni: Arc<Ni>,
    pub(crate) scheduler: Arc<Scheduler>,
    token: OnceLock<u64>,
    phase: AtomicU8,
    /// The kernel has said that nothing follows what is in the socket.
    pub(crate) stream_ended: AtomicBool,

    pub(crate) tx: Mutex<SendSide>,
    /// Bytes handed over and not yet written.
    pub(crate) unsent: AtomicUsize,
    pub(crate) rx: Mutex<ReceiveSide>,
    pub(crate) rx_turn: ReceiveTurn,

    /// System calls that brought bytes.
    pub(crate) reads: AtomicUsize,
    /// Bytes have arrived since the last scan.
    pub(crate) heard: AtomicBool,
    /// Bytes have left since the last scan.
    pub(crate) progressed: AtomicBool,
    /// The number of the message that has arrived in part; 0 if none has.
    pub(crate) midway: AtomicU64,
    /// Messages that have left in full after they had to wait.
    pub(crate) written: AtomicU64,
    /// It is looked at every so often, because something may be under way.
    pub(crate) watched: AtomicBool,
    pub(crate) watch: Mutex<Watch>,
}

/// When the scan last saw things move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) heard: Instant,
    pub(crate) progressed: Instant,
    /// Which message was arriving, and since when.
    pub(crate) arriving: (u64, Instant),
    /// How many had left, and since when none has that had to.
    pub(crate) leaving: (u64, Instant),
    /// Since when something has been under way without an answer.
    pub(crate) suspected: Option<Instant>,
    /// How many bytes had been acknowledged when something was outstanding, and since when no more have been.
    pub(crate) unacknowledged: Option<(u64, Instant)>,
    /// When, since it is suspected, the peer first called for a connection that it has.
    pub(crate) called_again: Option<Instant>,
    /// The last look did not know what to think.
    pub(crate) doubted: bool,
    /// It was last found to hear nothing.
    pub(crate) unresponsive: bool,
}

/// How far a connection is in its life; only ever forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    Open = 0,
    /// The peer has ended its connections: what it sent before is still received, nothing is sent.
    Draining = 1,
    Closed = 2,
}

impl Connection {
    pub(crate) fn new(
        id: u64,
        settled: Settled,
        peer: &Arc<Peer>,
        lnet_ni: Arc<Ni>,
        scheduler: Arc<Scheduler>,
        now: Instant,
    ) -> Arc<Self> {
        let Settled { socket, kind, version, order, remote, identity, permit } = settled;
        let other_end = socket.peer_addr().ok().and_then(|address| address.as_socket());
        let privileged = other_end.is_some_and(|address| address.port() <= LAST_PRIVILEGED_PORT);
        let shared = &peer.ni.shared;
        let this_end = socket.local_addr().ok().and_then(|address| address.as_socket());
        let proper_port = this_end.is_some_and(|address| {
            address.port() <= LAST_PRIVILEGED_PORT || address.port() == shared.config.accept_port
        });
        let conn_seq = shared.next_conn_seq();
        let node = node_of(shared.config.implementation_id, identity)
            .filter(|_| version >= Version::V2)
            .map(|id| shared.nodes.get(id));
        let outlasts = node.is_none() && sockets::outlast(&socket, peer.ni.sock_timeout() * OUTLASTS);
        Arc::new(Self {
            id,
            socket,
            _seat: permit,
            kind,
            version,
            order,
            remote,
            privileged,
            proper_port,
            conn_seq,
            node,
            outlasts,
            peer: Arc::clone(peer),
            lnet_ni,
            scheduler,
            token: OnceLock::new(),
            phase: AtomicU8::new(Phase::Open as u8),
            stream_ended: AtomicBool::new(false),
            tx: Mutex::new(SendSide::new(conn_seq)),
            unsent: AtomicUsize::new(0),
            rx: Mutex::new(ReceiveSide::new(version)),
            rx_turn: ReceiveTurn::default(),
            reads: AtomicUsize::new(0),
            heard: AtomicBool::new(false),
            progressed: AtomicBool::new(false),
            midway: AtomicU64::new(0),
            written: AtomicU64::new(0),
            watched: AtomicBool::new(false),
            watch: Mutex::new(Watch {
                heard: now,
                progressed: now,
                arriving: (0, now),
                leaving: (0, now),
                suspected: None,
                unacknowledged: None,
                called_again: None,
                doubted: false,
                unresponsive: false,
            }),
        })
    }

    pub(crate) fn ni(&self) -> &Arc<SockNi> {
        &self.peer.ni
    }

    /// Whether the peer is a node of this implementation.
    pub(crate) fn same_implementation(&self) -> bool {
        self.node.is_some()
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Open,
            1 => Phase::Draining,
            _ => Phase::Closed,
        }
    }

    /// The peer has ended its connections, or is about to: nothing more is sent on this one, but what is on
    /// its way here is still received. What was to be sent comes back for `conn_error`; delivery ACKs may still come.
    pub(crate) fn drain(self: &Arc<Self>, conn_error: ConnError) {
        if self.phase.fetch_max(Phase::Draining as u8, Ordering::AcqRel) < Phase::Draining as u8 {
            self.stop_sending(conn_error);
            // The peer may have opened this one since: it must not wait here for answers, and turn our calls down. An
            // error says that it has ended it.
            let _ = self.socket.shutdown(std::net::Shutdown::Write);
        }
    }

    /// Ends it. What was to be sent comes back for `conn_error`, a message that has arrived in part with EIO.
    /// Whoever works on the connection at this moment gives back what it holds when it is done.
    pub(crate) fn close(self: &Arc<Self>, conn_error: ConnError) {
        let before = self.phase.fetch_max(Phase::Closed as u8, Ordering::AcqRel);
        if before == Phase::Closed as u8 {
            return;
        }
        if conn_error.is_abort() {
            // Without it the kernel would go on trying to deliver what has been given up here.
            let _ = self.socket.set_linger(Some(Duration::ZERO));
        }
        // First, so that who writes at this moment learns why, and not what the system makes of it.
        if before == Phase::Open as u8 {
            self.stop_sending(conn_error);
        }
        self.fail_unacked(conn_error);
        // An error says that the peer was faster.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        self.run_receive();
        self.scheduler.remove(self);
        self.note_quiet();
    }

    pub(crate) fn unsent(&self) -> usize {
        self.unsent.load(Ordering::Relaxed)
    }

    pub(crate) fn has_unsent(&self) -> bool {
        self.unsent() > 0
    }

    /// Once in a while: whether it has taken too long over something (wire-tcp 3.9).
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        let watch = self.update_watch(now);
        let timeout = self.ni().sock_timeout();
        let late = |since| now.saturating_duration_since(since) >= timeout;
        // Who sends or takes a byte now and then keeps the memory of others.
        let too_slow = |since| now.saturating_duration_since(since) >= timeout * SLOWEST;
        match self.phase() {
            Phase::Open => {
                watch.arriving.0 != 0 && (late(watch.heard) || too_slow(watch.arriving.1))
                    || self.has_unsent() && (late(watch.progressed) || too_slow(watch.leaving.1))
            }
            Phase::Draining => late(watch.heard),
            Phase::Closed => false,
        }
    }

    /// What has moved since the last time is noted as having moved now.
    pub(crate) fn update_watch(&self, now: Instant) -> Watch {
        let mut watch = lock(&self.watch);
        if self.heard.swap(false, Ordering::Relaxed) {
            watch.heard = now;
        }
        if self.progressed.swap(false, Ordering::Relaxed) || !self.has_unsent() {
            watch.progressed = now;
        }
        let midway = self.midway.load(Ordering::Relaxed);
        if midway == 0 || midway != watch.arriving.0 {
            watch.arriving = (midway, now);
        }
        let written = self.written.load(Ordering::Relaxed);
        if written != watch.leaving.0 || !self.has_unsent() {
            watch.leaving = (written, now);
        }
        *watch
    }

    /// Whether no thread is at work on it: once it is closed, no upcall follows then.
    pub(crate) fn is_quiet(&self) -> bool {
        self.rx_turn.is_idle() && !lock(&self.tx).is_writing()
    }

    /// A thread has left it, or it is closed. Its interface knows it for as long as anybody works on it, to wait for that
    /// when it ends.
    pub(crate) fn note_quiet(&self) {
        if self.phase() == Phase::Closed {
            if self.is_quiet() {
                self.ni().forget_connection(self.id);
            }
            self.ni().note_quiet();
        }
    }
}

impl scheduler::Pollable for Connection {
    type Task = Task;
    type AckSender = Peer;

    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn registered_as(&self, token: u64) {
        // Registered once, right after it was made.
        let _ = self.token.set(token);
    }

    /// What the scheduler has it by, if it has it.
    fn token(&self) -> Option<u64> {
        self.token.get().copied()
    }

    /// The kernel has news; whether there was anything to receive.
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

    /// Receives what is there; whether there was anything.
    fn poll(self: &Arc<Self>) -> bool {
        let before = self.reads.load(Ordering::Relaxed);
        self.run_receive();
        self.reads.load(Ordering::Relaxed) != before
    }

    /// Somebody asked for another look.
    fn on_schedule(self: &Arc<Self>) {
        self.on_writable();
        self.run_receive();
    }

    fn is_closed(&self) -> bool {
        self.phase() == Phase::Closed
    }
}

impl scheduler::Task for Task {
    fn run(self) {
        match self {
            Self::Execute(resumed) => resumed.execute(),
            Self::Finish(message, ni) => {
                ni.upcalls.finalize(message, Ok(()));
                ni.end_upcall();
            }
        }
    }

    fn abandon(self) {
        if let Self::Execute(resumed) = self {
            resumed.execute();
        }
    }
}
