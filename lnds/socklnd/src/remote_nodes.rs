//! The nodes of this implementation that this one hears from, over all their connections and beyond their ends: what of theirs is here
//! already, and what is here in part.

use crate::ack::dedup::{Known, Resend};
use crate::ack::message_id::{ConnSeq, MessageId};
use crate::conn::Connection;
use crate::conn::deferred_rx::Deferred;
use crate::decide::implementation_id::NodeId;
use crate::ni::SockNi;
use crate::sync::lock;
use lnet_core::{Errno, Message};
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

/// More nodes than this are not remembered beyond the ends of their connections.
const MAX_NODES: usize = 4096;

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct RemoteNodes(Mutex<HashMap<NodeId, Arc<RemoteNode>, foldhash::fast::RandomState>>);

/// One of them, in one life of it.
#[derive(Debug)]
pub(crate) struct RemoteNode {
    known: Mutex<Known<Weak<Connection>, Parked>>,
    /// It is known beyond the ends of its connections.
    remembered: bool,
}

/// A message that had arrived in part when its connection ended. The sender, which does not know that it has arrived,
/// will send it again; then it goes into the same memory.
pub(crate) struct Parked {
    pub(crate) what: What,
    /// What its head announced.
    pub(crate) length: usize,
    /// The interface that it came by first.
    pub(crate) ni: Arc<SockNi>,
}

/// How far the core is with it.
#[derive(Debug)]
pub(crate) enum What {
    /// It has been matched.
    Message(Box<Message>),
    /// The core will decide later, or has and has not been heard.
    Deferred(Arc<Deferred>),
}

/// What a message that is sent again is.
#[derive(Debug)]
pub(crate) enum Dedup {
    New,
    Duplicate,
    Resumed(Parked),
    /// Another thread still reads the connection that it came by before.
    Busy,
    /// It cannot come by this connection.
    Nonsense,
}

impl RemoteNodes {
    /// What is known of a node; from now on, if nothing was.
    pub(crate) fn get(&self, id: NodeId) -> Arc<RemoteNode> {
        let mut nodes = lock(&self.0);
        if let Some(node) = nodes.get(&id) {
            return Arc::clone(node);
        }
        if nodes.len() >= MAX_NODES
            && let Some(idle) = nodes.iter().find(|(_, node)| node.is_idle()).map(|(id, _)| *id)
        {
            nodes.remove(&idle);
        }
        let remembered = nodes.len() < MAX_NODES;
        let node = Arc::new(RemoteNode { known: Mutex::default(), remembered });
        if remembered {
            nodes.insert(id, Arc::clone(&node));
        }
        node
    }

    /// Once in a while: ends what will not come again, forgets what is old.
    pub(crate) fn scan(&self, now: Instant) {
        self.expire(now, |parked| match &parked.what {
            What::Message(message) => message.is_given_up(),
            What::Deferred(_) => false,
        });
        lock(&self.0).retain(|_, node| Arc::strong_count(node) > 1 || !lock(&node.known).is_empty());
    }

    /// The interface ends, and with it what came by it in part and has found no memory yet: the core has dropped that.
    /// What has memory may come again by another interface if there is one, and ends if there is none.
    pub(crate) fn forget_ni(&self, ni: &Arc<SockNi>, others: bool) {
        self.expire(Instant::now(), |parked| match parked.what {
            What::Message(_) => !others,
            What::Deferred(_) => !others || Arc::ptr_eq(&parked.ni, ni),
        });
    }

    fn expire(&self, now: Instant, is_over: impl Fn(&Parked) -> bool) {
        let all: Vec<_> = lock(&self.0).values().cloned().collect();
        for node in all {
            let over = lock(&node.known).expire(now, &is_over);
            for parked in over {
                parked.end();
            }
        }
    }
}

impl RemoteNode {
    /// The first message on `connection` names its line. `None`: another connection is that one.
    pub(crate) fn open(&self, conn_seq: ConnSeq, connection: &Arc<Connection>) -> Option<Arc<AtomicU64>> {
        lock(&self.known).open(conn_seq, Arc::downgrade(connection))
    }

    pub(crate) fn close(&self, conn_seq: ConnSeq, now: Instant) {
        lock(&self.known).close(conn_seq, now);
    }

    /// A message is sent again, by `connection`.
    pub(crate) fn check_duplicate(&self, cookie: MessageId, connection: &Arc<Connection>) -> Dedup {
        let ask = || lock(&self.known).resent(cookie, Arc::downgrade(connection));
        let mut again = ask();
        if let Resend::End(before) = again {
            match before.upgrade() {
                Some(before) if Arc::ptr_eq(&before, connection) => return Dedup::Nonsense,
                Some(before) => before.peer.gave_up(&before),
                None => {
                    self.close(cookie.conn_seq(), Instant::now());
                    self.forget(cookie.first());
                }
            }
            again = ask();
        }
        match again {
            Resend::New => Dedup::New,
            Resend::Duplicate => Dedup::Duplicate,
            Resend::Resume(parked) => Dedup::Resumed(parked),
            Resend::End(_) => Dedup::Busy,
        }
    }

    pub(crate) fn take(&self, message_id: NonZeroU64, now: Instant) {
        lock(&self.known).take(message_id, now);
    }

    pub(crate) fn forget(&self, message_id: NonZeroU64) {
        lock(&self.known).forget(message_id);
    }

    /// Keeps a message until it comes again or `until`.
    pub(crate) fn park(&self, message_id: NonZeroU64, parked: Parked, until: Instant) {
        if !self.remembered {
            return parked.end();
        }
        let refused = lock(&self.known).park(message_id, parked, until);
        if let Err(parked) = refused {
            parked.end();
        }
    }

    /// Whether it may be forgotten. A connection holds its node.
    fn is_idle(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1 && !lock(&self.known).has_parked()
    }
}

impl Parked {
    /// It has not come again.
    pub(crate) fn end(self) {
        let message = match self.what {
            What::Message(message) => Some(message),
            What::Deferred(deferred) => deferred.abandon(),
        };
        if let Some(message) = message {
            self.ni.upcalls.received(message, Err(Errno::Io));
        }
    }
}

impl std::fmt::Debug for Parked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parked")
            .field("what", &self.what)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
