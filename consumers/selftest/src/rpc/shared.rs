//! The state that all RPCs of an engine share.

use super::config::RpcConfig;
use super::counters::Counters;
use super::match_bits::MatchBits;
use super::workers::{Task, TaskQueue, with_short_tasks};
use crate::wire::Message;
use foldhash::HashMap;
use lnet_api::clock::Clock;
use lnet_api::sync::{Condition, lock};
use lnet_api::{Destination, Errno, MessageId, Node, NotSent, SendEvents, SendPool};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The group of threads that runs a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// The one thread of requests to the framework.
    Framework,
    /// The threads of all other work.
    Other,
}

/// The sender of a message.
pub(crate) trait MessageOwner: Send + Sync {
    /// Notes the outcome of the message. Called by LNet: must not block.
    fn on_sent(self: Arc<Self>, result: Result<(), Errno>);
}

/// Passes the outcomes of messages to their owners.
pub(crate) struct MessageEvents;

impl SendEvents for MessageEvents {
    type Context = Arc<dyn MessageOwner>;

    fn on_sent(&self, owner: Self::Context, outcome: Result<(), NotSent<'_>>) {
        with_short_tasks(|| owner.on_sent(outcome.map_err(|not_sent| not_sent.errno)));
    }
}

pub(crate) struct Shared {
    pub(crate) node: Arc<Node>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) config: RpcConfig,
    pub(crate) counters: Counters,
    pub(crate) match_bits: MatchBits,
    pub(crate) framework: Arc<TaskQueue>,
    pub(crate) other: Arc<TaskQueue>,
    /// Sends requests and replies.
    pub(crate) messages: SendPool<MessageEvents>,
    /// Whether the engine is closed: then no RPC begins.
    is_closed: AtomicBool,
    /// Whether the last transfer of bulk data was a long one.
    has_long_transfers: AtomicBool,
}

/// The most bytes of bulk data of an RPC whose steps are short: threads share the work of longer ones.
const SHORT_TRANSFER: usize = 16 << 10;

impl Shared {
    pub(crate) fn new(node: Arc<Node>, clock: Arc<dyn Clock>, config: RpcConfig) -> Self {
        Self {
            messages: SendPool::new(&node, MessageEvents),
            node,
            clock,
            config,
            counters: Counters::default(),
            match_bits: MatchBits::new(),
            framework: Arc::default(),
            other: Arc::default(),
            is_closed: AtomicBool::new(false),
            has_long_transfers: AtomicBool::new(false),
        }
    }

    pub(crate) fn enqueue(&self, lane: Lane, task: Arc<dyn Task>) {
        match lane {
            Lane::Framework => self.framework.push(task),
            Lane::Other => self.other.push(task),
        }
    }

    /// Adds a step of an RPC of a test, whose bulk data has this length; `None`: it is not known yet, and as long as that of the RPC before.
    pub(crate) fn enqueue_step(&self, bulk: Option<usize>, task: Arc<dyn Task>) {
        let is_long = match bulk {
            Some(length) => {
                let is_long = length > SHORT_TRANSFER;
                if self.has_long_transfers.load(Ordering::Relaxed) != is_long {
                    self.has_long_transfers.store(is_long, Ordering::Relaxed);
                }
                is_long
            }
            None => self.has_long_transfers.load(Ordering::Relaxed),
        };
        match is_long {
            true => self.other.push(task),
            false => self.other.push_short(task),
        }
    }

    /// Sends a message. After an error its owner hears nothing more.
    pub(crate) fn send(
        &self,
        message: &Message,
        to: &Destination,
        owner: Arc<dyn MessageOwner>,
    ) -> Result<MessageId, Errno> {
        let mut buffer = self.messages.buffer(message.len(), None)?;
        buffer.bytes_mut().copy_from_slice(message);
        buffer.send(to, owner).map_err(|(_, errno, _)| errno)
    }

    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }
}

/// The objects of one type that have not ended.
pub(crate) struct Registry<T> {
    objects: Mutex<HashMap<u64, Arc<T>>>,
    none_left: Condition,
    next: AtomicU64,
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self { objects: Mutex::default(), none_left: Condition::new(), next: AtomicU64::new(0) }
    }
}

impl<T> Registry<T> {
    /// A number for an object.
    pub(crate) fn take_key(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn add(&self, key: u64, object: Arc<T>) {
        lock(&self.objects).insert(key, object);
    }

    pub(crate) fn remove(&self, key: u64) {
        let mut objects = lock(&self.objects);
        let object = objects.remove(&key);
        let is_empty = objects.is_empty();
        drop(objects);
        drop(object);
        if is_empty {
            self.none_left.notify_all();
        }
    }

    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        lock(&self.objects).values().map(Arc::clone).collect()
    }

    /// Returns the objects for which `f` is true.
    pub(crate) fn filter(&self, f: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        lock(&self.objects).values().filter(|object| f(object)).map(Arc::clone).collect()
    }

    pub(crate) fn wait_until_none(&self) {
        let mut objects = lock(&self.objects);
        while !objects.is_empty() {
            objects = self.none_left.wait(objects);
        }
    }
}
