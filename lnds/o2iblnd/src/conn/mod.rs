//! An established connection: a state machine over a [`Device`], without threads, locks or a clock.
//!
//! - `sending`: messages of the core, and what is posted when credits allow it.
//! - `receiving`: messages of the peer, and what becomes of their payloads.
//! - `ending`: what every message and buffer becomes when the connection ends.
//! - `credits`, `writes`, `queue`: the rules that they follow.
//!
//! What the core is to be told is appended to [`Context::out`], in order.

mod credits;
mod ending;
mod queue;
mod receiving;
mod sending;
mod writes;

pub(crate) use ending::Orphan;

use crate::device::{ConnId, Device, PortError, Setup, Slot, WorkId};
use crate::memory::{Prepared, TransferMemory};
use crate::proto::{Descriptor, Message, ProtoError, Version};
use credits::{Cost, Credits};
use foldhash::HashMap;
use lnd_common::conn_error::ConnError;
use lnet_core::{Errno, SendFailure, Time};
use lnet_wire::{Header, Nid, WireHandle};
use queue::Queue;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The bytes that pass a slow network in a microsecond.
const SLOW_BYTES_PER_MICRO: u64 = 1;

/// A message of the peer, as long as the core has not decided on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RxId {
    pub(crate) conn: ConnId,
    pub(crate) serial: u64,
}

/// What the core decides on a message of the peer.
#[derive(Debug)]
pub(crate) enum Decision<A> {
    /// The payload goes to this memory.
    Deliver(A),
    /// The payload is not wanted.
    Discard,
    /// The message violates LNet's rules.
    Reject(String),
}

/// What the core is to be told.
#[derive(Debug)]
pub(crate) enum Output<M, A> {
    /// A message of the core is done.
    Finalize(M, Result<(), SendFailure>),
    /// A message of a peer asks for a [`Decision`].
    Receive {
        rx: RxId,
        from: Nid,
        header: Header,
        /// Whether the driver itself carries the REPLY.
        reply_here: bool,
    },
    /// A payload is in its memory, or will not come.
    Received(A, Result<(), Errno>),
    /// A connection is up. Nothing is sent on it until `Engine::reported`.
    Connected { conn: ConnId, peer: Nid, stamp: u64 },
    /// The last connection to a peer has ended.
    Ended { peer: Nid, reason: Ended },
    /// A peer acknowledges nothing, though the connection is up.
    Unresponsive { peer: Nid },
    /// A peer that was reported as unresponsive acknowledges again.
    Responsive { peer: Nid },
    /// The port can be used from now on, or cannot.
    Port(Result<(), PortError>),
    /// A peer could not be connected to.
    NotConnected { peer: Nid, reason: String },
}

/// The reason why a connection has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Ended {
    #[error("the peer closed the connection")]
    ByPeer,
    #[error("the peer broke the protocol: {0}")]
    Violation(#[from] ViolationOf),
    #[error("{0}")]
    Work(crate::device::WorkError),
    #[error("nothing was done for {0} s with a message that waits")]
    TimedOut(u64),
    #[error("this node could not go on ({})", .0.text())]
    Local(Errno),
    #[error("the core knows that the path does not work")]
    Aborted(lnet_core::Cause),
    #[error("the peer has been restarted")]
    Restarted,
    #[error("the interface shuts down")]
    Shutdown,
}

/// What a peer did that it may not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ViolationOf {
    #[error("{0}")]
    Bytes(#[from] ProtoError),
    #[error("a message of another connection (source, destination or their incarnations differ)")]
    Stale,
    #[error("a {0} on a connection that is up")]
    Unexpected(crate::proto::MessageKind),
    #[error("{returned} credits returned with {held} of {depth} in hand")]
    TooManyCredits { held: u16, returned: u16, depth: u16 },
    #[error("a {0} without a credit")]
    NoCredit(crate::proto::MessageKind),
    #[error("a {0} for a transfer that does not exist")]
    UnknownCookie(crate::proto::MessageKind),
    #[error("a PUT_ACK with {named} bytes for a payload of {len}")]
    SinkLength { named: u64, len: usize },
    #[error("{0}")]
    Lnet(String),
}

impl Ended {
    /// What has happened, as far as messages under way are concerned.
    pub(crate) const fn error(&self) -> ConnError {
        match self {
            Self::ByPeer | Self::Restarted => ConnError::ClosedByPeer(Errno::ConnectionReset),
            Self::Violation(_) => ConnError::BrokenByPeer,
            Self::Work(crate::device::WorkError::NoResponse) | Self::TimedOut(_) => ConnError::Stalled,
            Self::Work(crate::device::WorkError::Local(_)) => ConnError::Local(Errno::Io),
            Self::Work(_) => ConnError::ClosedByPeer(Errno::ConnectionReset),
            Self::Local(errno) => ConnError::Local(*errno),
            Self::Aborted(cause) => ConnError::Aborted(*cause),
            Self::Shutdown => ConnError::Shutdown,
        }
    }
}

/// What a connection works with, for the time of one call.
pub(crate) struct Context<'a, M, A> {
    pub(crate) device: &'a mut dyn Device,
    pub(crate) memory: &'a mut TransferMemory,
    pub(crate) out: &'a mut Vec<Output<M, A>>,
    pub(crate) counters: &'a mut Counters,
    pub(crate) now: Time,
}

/// Counts of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Connections that this node made.
    pub(crate) connected: u64,
    /// Connections that peers made.
    pub(crate) accepted: u64,
    /// Connections that this node refused.
    pub(crate) rejected: u64,
    /// Connections that could not be made.
    pub(crate) connects_failed: u64,
    /// Connections that ended because the peer broke the protocol.
    pub(crate) violations: u64,
    /// Connections that ended because something took too long.
    pub(crate) timed_out: u64,
    /// NOOPs sent.
    pub(crate) noops: u64,
    /// Chains posted.
    pub(crate) chains: u64,
    /// RDMA WRITEs posted.
    pub(crate) writes: u64,
    /// Messages received.
    pub(crate) messages: u64,
}

/// The two ends of a connection, and what they agreed on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) local: Nid,
    pub(crate) local_stamp: u64,
    pub(crate) peer: Nid,
    pub(crate) peer_stamp: u64,
    pub(crate) version: Version,
    pub(crate) depth: u16,
    pub(crate) fragments: u16,
}

/// The tunables of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnTunables {
    /// The owed credits from which on a NOOP returns them; 0: half of the depth.
    pub(crate) high_water: u16,
    /// The chains posted at a time, as far as the connection has room for them; 0: the depth.
    pub(crate) concurrent_sends: u16,
    /// The pieces of one WRITE.
    pub(crate) pieces: usize,
    /// Whether messages carry a checksum.
    pub(crate) checksum: bool,
}

/// An established connection to a peer NI.
#[derive(Debug)]
pub(crate) struct Conn<M, A> {
    id: ConnId,
    pub(crate) terms: Terms,
    tunables: ConnTunables,
    credits: Credits,
    queue: Queue<M>,
    /// The chains that are posted, in order.
    posted: VecDeque<Posted<M>>,
    /// PUT_REQs that wait for the peer's memory, by this node's cookie.
    puts: BTreeMap<u64, Transfer<M>>,
    /// GET_REQs that wait for their data, by this node's cookie.
    gets: BTreeMap<u64, Transfer<M>>,
    /// Payloads that the peer is writing, by this node's cookie.
    sinks: BTreeMap<u64, Sink<A>>,
    /// GET_REQs of the peer that wait for the core's REPLY, by the handle that the REPLY has.
    asked: HashMap<WireHandle, Asked>,
    /// Messages that wait for the core's decision, by their serial number.
    undecided: BTreeMap<u64, Undecided<M>>,
    last_cookie: u64,
    last_work: u32,
    last_rx: u64,
    /// When something was last posted.
    last_posted: Time,
    /// When the device last finished a chain or received a message, or had nothing to do.
    progress_at: Time,
    /// The bytes that are posted and not finished.
    posted_bytes: u64,
    /// The buffer in which messages are encoded.
    buffer: Box<[u8]>,
}

/// A chain that is posted.
#[derive(Debug)]
struct Posted<M> {
    work: WorkId,
    cost: Cost,
    since: Time,
    bytes: u64,
    then: Then<M>,
}

/// What a chain leads to when it is done.
#[derive(Debug)]
enum Then<M> {
    Nothing,
    /// The message has arrived.
    Finalize(M),
    /// The payload has been written.
    End(M, Prepared),
}

/// A transfer that waits for the peer's next message.
#[derive(Debug)]
pub(crate) struct Transfer<M> {
    message: M,
    memory: Prepared,
    since: Time,
}

/// A payload that the peer writes.
#[derive(Debug)]
struct Sink<A> {
    arriving: A,
    memory: Prepared,
    since: Time,
}

/// A GET_REQ that waits for its REPLY.
#[derive(Debug)]
struct Asked {
    cookie: u64,
    descriptor: Descriptor,
    since: Time,
}

/// A message that waits for a decision.
#[derive(Debug)]
enum Undecided<M> {
    /// The payload is in the buffer, from this offset on.
    Immediate {
        slot: Slot,
        offset: usize,
        len: usize,
    },
    PutRequest {
        cookie: u64,
    },
    GetRequest {
        handle: WireHandle,
    },
    /// The data of a GET_REQ of this node have arrived.
    Reply(Transfer<M>),
}

impl<M: crate::message::Outgoing, A: crate::message::Arriving> Conn<M, A> {
    /// A connection that has just come up. All its buffers are posted.
    pub(crate) fn new(id: ConnId, terms: Terms, tunables: ConnTunables, now: Time) -> Self {
        let or = |value: u16, default: u16| if value == 0 { default } else { value };
        let high_water = or(tunables.high_water, terms.depth / 2);
        let room = Setup::new(terms.depth, terms.fragments).chains;
        let max_posted = or(tunables.concurrent_sends, terms.depth).min(room);
        let credits = Credits::new(terms.version, terms.depth, high_water, max_posted);
        Self {
            id,
            terms,
            tunables,
            credits,
            queue: Queue::default(),
            posted: VecDeque::new(),
            puts: BTreeMap::new(),
            gets: BTreeMap::new(),
            sinks: BTreeMap::new(),
            asked: HashMap::default(),
            undecided: BTreeMap::new(),
            last_cookie: 0,
            last_work: 0,
            last_rx: 0,
            last_posted: now,
            progress_at: now,
            posted_bytes: 0,
            buffer: vec![0; crate::proto::MESSAGE_SIZE].into_boxed_slice(),
        }
    }

    /// A chain is done.
    pub(crate) fn sent(&mut self, work: WorkId, context: &mut Context<'_, M, A>) -> Result<(), Ended> {
        // The chains of a connection are done in the order in which they were posted.
        let Some(posted) = self.posted.pop_front() else { return Ok(()) };
        debug_assert_eq!(posted.work, work);
        self.credits.sent(posted.cost);
        self.posted_bytes -= posted.bytes;
        self.progress_at = context.now;
        match posted.then {
            Then::Nothing => {}
            Then::Finalize(message) => context.out.push(Output::Finalize(message, Ok(()))),
            Then::End(message, memory) => {
                context.memory.end(context.device, memory, |_| ());
                context.out.push(Output::Finalize(message, Ok(())));
            }
        }
        self.pump(context)
    }

    /// Posts a NOOP if nothing was posted for `keepalive`; ends the connection if something has waited for `timeout`.
    pub(crate) fn tick(
        &mut self,
        keepalive: Duration,
        timeout: Duration,
        context: &mut Context<'_, M, A>,
    ) -> Result<(), Ended> {
        if self.oldest().is_some_and(|since| context.now.since(since) >= timeout) {
            return Err(Ended::TimedOut(timeout.as_secs()));
        }
        let given_up: Vec<_> = self
            .asked
            .iter()
            .filter(|(_, asked)| context.now.since(asked.since) >= timeout)
            .map(|(handle, _)| *handle)
            .collect();
        given_up.into_iter().for_each(|handle| self.refuse_get(handle));
        let is_idle = !keepalive.is_zero() && context.now.since(self.last_posted) >= keepalive;
        // One that cannot be posted, as in version 1 without a credit, would hold up responses.
        if is_idle && self.queue.is_empty() && self.credits.may_post(Cost::Noop) {
            self.queue.push_noop(context.now);
        }
        self.pump(context)
    }

    /// Whether the peer acknowledges nothing: chains are posted, and for `limit`, and the time that their bytes take on a slow network,
    /// the device has finished none and received nothing.
    pub(crate) fn is_unresponsive(&self, now: Time, limit: Duration) -> bool {
        let transfer = Duration::from_micros(self.posted_bytes / SLOW_BYTES_PER_MICRO);
        !self.posted.is_empty() && now.since(self.progress_at) >= limit + transfer
    }

    /// Whether a message is posted that the peer may have, as far as this node can know.
    pub(crate) fn has_uncertain(&self) -> bool {
        self.posted.iter().any(|posted| !matches!(posted.then, Then::Nothing))
    }

    /// Returns the messages that have not been sent at all, if they satisfy `goes`.
    pub(crate) fn withdraw(
        &mut self,
        error: ConnError,
        goes: impl Fn(&M) -> bool,
        context: &mut Context<'_, M, A>,
    ) {
        for (message, memory) in self.queue.take_unsent(goes) {
            if let Some(memory) = memory {
                context.memory.end(context.device, memory, |_| ());
            }
            let failure = error.failure(lnd_common::conn_error::BytesSent::Nothing);
            context.out.push(Output::Finalize(message, Err(failure)));
        }
    }

    /// Whether a chain is posted that the device has not finished.
    pub(crate) fn has_posted(&self) -> bool {
        !self.posted.is_empty()
    }

    /// The time since which the oldest message waits.
    pub(crate) fn oldest(&self) -> Option<Time> {
        let queued = self.queue.oldest();
        let posted = self.posted.front().map(|posted| posted.since);
        let transfers = self.puts.values().chain(self.gets.values()).map(|transfer| transfer.since);
        let sinks = self.sinks.values().map(|sink| sink.since);
        queued.into_iter().chain(posted).chain(transfers).chain(sinks).min()
    }

    fn next_cookie(&mut self) -> u64 {
        self.last_cookie += 1;
        self.last_cookie
    }

    /// A message to the peer with this body, without credits.
    const fn message<'b>(&self, body: crate::proto::Body<'b>) -> Message<'b> {
        let Terms { local, local_stamp, peer, peer_stamp, version, .. } = self.terms;
        Message {
            version,
            credits: 0,
            src_nid: local,
            src_stamp: local_stamp,
            dst_nid: peer,
            dst_stamp: peer_stamp,
            body,
        }
    }
}
