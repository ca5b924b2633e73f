//! The nodes of this implementation that send to this one, over all their connections and beyond the ends of those, with
//! the messages that have arrived in full or in part.

use crate::conn::deferred_rx::Deferred;
use crate::decide::implementation_id::NodeId;
use crate::ni::SockNi;
use crate::sync::lock;
use lnd_common::dedup::{DedupTable, Resend};
use lnd_common::message_id::{ConnSeq, MessageId};
use lnd_common::pending_acks::NodePending;
use lnet_core::Time;
use lnet_core::stats::Partial;
use lnet_core::{ArrivingMessage, Errno, MessageOrigin, PartialMessages};
use lnet_wire::Nid;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// Maximum number of nodes that are remembered beyond the ends of their connections.
const MAX_NODES: usize = 4096;

/// The table of all remote nodes of this implementation.
#[derive(Debug, Default)]
pub(crate) struct RemoteNodes {
    nodes: Mutex<HashMap<NodeId, Arc<RemoteNode>, foldhash::fast::RandomState>>,
    partial: Arc<PartialOfAll>,
}

/// The messages of all nodes that have arrived in part and are kept.
type PartialOfAll = Mutex<PartialMessages<PartialKey>>;

/// Key of a message that has arrived in part.
#[derive(Clone, Debug)]
struct PartialKey {
    node: Weak<RemoteNode>,
    message_id: NonZeroU64,
}

/// A node that sends to this one, in one incarnation.
#[derive(Debug)]
pub(crate) struct RemoteNode {
    id: NodeId,
    /// Weak reference to the node itself.
    this: Weak<Self>,
    dedup: Mutex<DedupTable<Weak<dyn InboundConn>, Parked>>,
    partial: Arc<PartialOfAll>,
    /// Whether the node stays in the table when its connections have ended.
    remembered: bool,
    /// The number of connections of the node to this one. It grows only under the lock of the table.
    connections: AtomicUsize,
    /// The number of delivery ACKs that are owed to it.
    pub(crate) pending_acks: Arc<NodePending>,
}

/// A reference to a node, held by one of its connections.
#[derive(Debug)]
pub(crate) struct ConnectedNode(Arc<RemoteNode>);

/// A connection that messages of a node arrive on.
pub(crate) trait InboundConn: Send + Sync + std::fmt::Debug {
    /// The number of the connection, which no other connection has.
    fn id(&self) -> u64;

    /// Ends the connection, because the peer has given it up and sends its messages again by others.
    fn abandoned_by_peer(self: Arc<Self>);
}

/// A message that had arrived in part when its connection ended. The sender, which does not know that it has arrived,
/// will send it again into the same memory.
pub(crate) struct Parked {
    pub(crate) state: ParkedState,
    pub(crate) message_id: NonZeroU64,
    /// The peer NI that sent the message.
    pub(crate) peer: Nid,
    /// The time until which the message may be sent again, counted from its first arrival in part.
    pub(crate) until: Time,
    /// The length in the message's header.
    pub(crate) length: usize,
    /// The NI on which the message arrived first.
    pub(crate) ni: Arc<SockNi>,
}

/// Processing state of a parked message in the core.
#[derive(Debug)]
pub(crate) enum ParkedState {
    /// The message has been matched.
    Matched(ArrivingMessage),
    /// The core has deferred the message.
    Deferred(Arc<Deferred>),
}

/// The result of the check for duplicates of a message that may have been sent before.
#[derive(Debug)]
pub(crate) enum Dedup {
    New,
    Duplicate,
    Resumed(Box<Parked>),
    /// Another thread still reads the connection on which the message arrived before.
    Busy,
    /// A message with this ID cannot arrive on this connection.
    Invalid,
}

impl RemoteNodes {
    /// Returns the state of a node for a new connection of it, and creates the state if there is none.
    pub(crate) fn connect(&self, id: NodeId) -> ConnectedNode {
        let mut nodes = lock(&self.nodes);
        let node = match nodes.get(&id) {
            Some(node) => Arc::clone(node),
            None => {
                if nodes.len() >= MAX_NODES
                    && let Some(idle) = nodes.iter().find(|(_, node)| node.is_idle()).map(|(id, _)| *id)
                {
                    nodes.remove(&idle);
                }
                let remembered = nodes.len() < MAX_NODES;
                let node = Arc::new_cyclic(|this| RemoteNode {
                    id,
                    this: Weak::clone(this),
                    dedup: Mutex::default(),
                    partial: Arc::clone(&self.partial),
                    remembered,
                    connections: AtomicUsize::new(0),
                    pending_acks: Arc::default(),
                });
                if remembered {
                    nodes.insert(id, Arc::clone(&node));
                }
                node
            }
        };
        node.connections.fetch_add(1, Ordering::AcqRel);
        ConnectedNode(node)
    }

    /// Ends parked messages that will not be sent again, and forgets old entries. To be called periodically.
    pub(crate) fn scan(&self, now: Time) {
        self.expire(now, |parked| match &parked.state {
            ParkedState::Matched(message) => message.is_given_up(),
            ParkedState::Deferred(_) => false,
        });
        lock(&self.nodes).retain(|_, node| node.is_connected() || !lock(&node.dedup).is_empty());
    }

    /// Ends the messages that have arrived in part on an NI that ends, and have not been matched: the core has dropped
    /// them. Matched ones may be sent again to another NI if there is one (`others`), and end otherwise.
    pub(crate) fn forget_ni(&self, ni: &Arc<SockNi>, others: bool) {
        self.expire(ni.shared.now(), |parked| match parked.state {
            ParkedState::Matched(_) => !others,
            ParkedState::Deferred(_) => !others || Arc::ptr_eq(&parked.ni, ni),
        });
    }

    fn expire(&self, now: Time, is_over: impl Fn(&Parked) -> bool) {
        let all: Vec<_> = lock(&self.nodes).values().cloned().collect();
        for node in all {
            let over = lock(&node.dedup).expire(now, &is_over);
            for parked in over {
                node.release(&parked);
                parked.give_up();
            }
        }
    }
}

impl RemoteNode {
    /// Returns the node-independent name of the message with this ID.
    pub(crate) const fn origin(&self, id: NonZeroU64) -> MessageOrigin {
        MessageOrigin { node: self.id.0, id }
    }

    /// Registers the sequence of `connection`, from the first message on it. `None`: another connection has the same.
    pub(crate) fn open(
        &self,
        conn_seq: ConnSeq,
        connection: &Arc<impl InboundConn + 'static>,
    ) -> Option<Arc<AtomicU64>> {
        lock(&self.dedup).open(conn_seq, downgrade(connection))
    }

    /// Closes the sequence: nothing more arrives on its connection.
    pub(crate) fn close(&self, conn_seq: ConnSeq, now: Time) {
        lock(&self.dedup).close(conn_seq, now);
    }

    /// Checks a message that is sent again, on `connection`.
    pub(crate) fn check_duplicate(
        &self,
        message_id: MessageId,
        connection: &Arc<impl InboundConn + 'static>,
        now: Time,
    ) -> Dedup {
        let check = || lock(&self.dedup).resent(message_id, downgrade(connection));
        let mut resend = check();
        if let Resend::CloseFirst(before) = resend {
            match before.upgrade() {
                Some(before) if before.id() == connection.id() => return Dedup::Invalid,
                Some(before) => before.abandoned_by_peer(),
                None => {
                    self.close(message_id.conn_seq(), now);
                    self.forget(message_id.first());
                }
            }
            resend = check();
        }
        match resend {
            Resend::New => Dedup::New,
            Resend::Duplicate => Dedup::Duplicate,
            Resend::Resume(parked) => {
                self.release(&parked);
                parked.ni.upcalls.count_partial(Partial::Resumed);
                Dedup::Resumed(Box::new(parked))
            }
            Resend::CloseFirst(_) => Dedup::Busy,
        }
    }

    /// Notes that a resent message has arrived.
    pub(crate) fn take(&self, message_id: NonZeroU64, now: Time) {
        lock(&self.dedup).take(message_id, now);
    }

    /// Forgets a resent message.
    pub(crate) fn forget(&self, message_id: NonZeroU64) {
        lock(&self.dedup).forget(message_id);
    }

    /// Keeps a message until it is sent again or its time has passed. If there are too many, of one peer NI or in all, those
    /// that have been kept for longest end.
    pub(crate) fn park(&self, parked: Parked) {
        if !self.remembered {
            return parked.end();
        }
        let (message_id, until) = (parked.message_id, parked.until);
        parked.ni.upcalls.count_partial(Partial::Kept);
        let too_many = lock(&self.partial).keep(parked.peer, self.key_of(message_id));
        let refused = lock(&self.dedup).park(message_id, parked, until);
        if let Err(parked) = refused {
            self.release(&parked);
            parked.give_up();
        }
        for PartialKey { node, message_id } in too_many {
            let parked = node.upgrade().and_then(|node| lock(&node.dedup).unpark(message_id));
            if let Some(parked) = parked {
                parked.give_up();
            }
        }
    }

    /// Stops counting the message as kept.
    fn release(&self, parked: &Parked) {
        lock(&self.partial).release(&self.key_of(parked.message_id));
    }

    fn key_of(&self, message_id: NonZeroU64) -> PartialKey {
        PartialKey { node: Weak::clone(&self.this), message_id }
    }

    fn is_connected(&self) -> bool {
        self.connections.load(Ordering::Acquire) > 0
    }

    /// Whether the node may be forgotten.
    fn is_idle(&self) -> bool {
        !self.is_connected() && !lock(&self.dedup).has_parked()
    }
}

impl Deref for ConnectedNode {
    type Target = RemoteNode;

    fn deref(&self) -> &RemoteNode {
        &self.0
    }
}

impl Drop for ConnectedNode {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

impl PartialEq for PartialKey {
    fn eq(&self, other: &Self) -> bool {
        self.message_id == other.message_id && self.node.ptr_eq(&other.node)
    }
}

impl Eq for PartialKey {}

impl Hash for PartialKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.node.as_ptr(), self.message_id).hash(state);
    }
}

impl Parked {
    /// Gives up a kept message that was not sent again, and counts it.
    fn give_up(self) {
        self.ni.upcalls.count_partial(Partial::GivenUp);
        self.end();
    }

    /// Ends the message without its payload.
    pub(crate) fn end(self) {
        self.state.end(&self.ni);
    }
}

impl ParkedState {
    /// Ends the message without its payload.
    pub(crate) fn end(self, ni: &SockNi) {
        let message = match self {
            Self::Matched(message) => Some(message),
            Self::Deferred(deferred) => deferred.abandon(),
        };
        if let Some(message) = message {
            ni.upcalls.received(message, Err(Errno::Io));
        }
    }
}

impl std::fmt::Debug for Parked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parked")
            .field("state", &self.state)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

fn downgrade(connection: &Arc<impl InboundConn + 'static>) -> Weak<dyn InboundConn> {
    Arc::downgrade(connection) as Weak<dyn InboundConn>
}
