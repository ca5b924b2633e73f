//! The state that all RPCs of an engine share.

use super::config::RpcConfig;
use super::counters::Counters;
use super::match_bits::MatchBits;
use super::workers::{Task, TaskQueue, with_short_tasks};
use crate::wire::{MESSAGE_LEN, Message};
use lnet_api::clock::Clock;
use lnet_api::sync::{Condition, lock};
use lnet_api::{Destination, Errno, MessageId, Node, NotSent, Region, SendEvents, SendPool};
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// Memory for replies that no RPC uses.
    reply_regions: Mutex<Vec<Arc<Region>>>,
    /// Whether the engine is closed: then no RPC begins.
    is_closed: AtomicBool,
    /// Whether the last transfer of bulk data was a long one.
    has_long_transfers: AtomicBool,
}

/// The most bytes of bulk data of an RPC whose steps are short: threads share the work of longer ones.
const SHORT_TRANSFER: usize = 16 << 10;

/// The most regions for replies that are kept.
const MAX_REPLY_REGIONS: usize = 64;

impl Shared {
    pub(crate) fn new(node: Arc<Node>, clock: Arc<dyn Clock>, config: RpcConfig) -> Self {
        Self {
            messages: SendPool::new(&node, MessageEvents),
            reply_regions: Mutex::default(),
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

    /// Memory for a reply, which holds anything.
    pub(crate) fn reply_region(&self) -> Arc<Region> {
        let kept = lock(&self.reply_regions).pop();
        kept.unwrap_or_else(|| Arc::new(Region::zeroed(MESSAGE_LEN)))
    }

    /// Keeps the memory of a reply for another, unless LNet may still write to it.
    pub(crate) fn keep_reply_region(&self, mut region: Arc<Region>) {
        if Arc::get_mut(&mut region).is_some() {
            let mut regions = lock(&self.reply_regions);
            if regions.len() < MAX_REPLY_REGIONS {
                regions.push(region);
            }
        }
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
    objects: Mutex<Objects<T>>,
    none_left: Condition,
}

struct Objects<T> {
    /// By index, each with its number.
    all: Vec<Option<(u64, Arc<T>)>>,
    free: Vec<usize>,
    last_number: u64,
}

/// Identifies an object of a registry. No two objects are identified by the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegistryKey {
    index: usize,
    number: u64,
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        let objects = Objects { all: Vec::new(), free: Vec::new(), last_number: 0 };
        Self { objects: Mutex::new(objects), none_left: Condition::new() }
    }
}

impl<T> Registry<T> {
    /// Adds the object that `make` makes, with its key.
    pub(crate) fn add(&self, make: impl FnOnce(RegistryKey) -> T) -> Arc<T> {
        let mut objects = lock(&self.objects);
        objects.last_number += 1;
        let number = objects.last_number;
        let index = objects.free.pop().unwrap_or_else(|| {
            objects.all.push(None);
            objects.all.len() - 1
        });
        let object = Arc::new(make(RegistryKey { index, number }));
        objects.all[index] = Some((number, Arc::clone(&object)));
        object
    }

    pub(crate) fn remove(&self, key: RegistryKey) {
        let mut objects = lock(&self.objects);
        let entry = objects.all.get_mut(key.index);
        let object = entry.and_then(|entry| entry.take_if(|(number, _)| *number == key.number));
        if object.is_some() {
            objects.free.push(key.index);
        }
        let is_empty = objects.is_empty();
        drop(objects);
        drop(object);
        if is_empty {
            self.none_left.notify_all();
        }
    }

    /// The object with this key, if it has not been removed.
    pub(crate) fn get(&self, key: RegistryKey) -> Option<Arc<T>> {
        let objects = lock(&self.objects);
        let (number, object) = objects.all.get(key.index)?.as_ref()?;
        (*number == key.number).then(|| Arc::clone(object))
    }

    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.filter(|_| true)
    }

    /// Returns the objects for which `f` is true.
    pub(crate) fn filter(&self, f: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let objects = lock(&self.objects);
        let all = objects.all.iter().flatten().map(|(_, object)| object);
        all.filter(|object| f(object)).map(Arc::clone).collect()
    }

    pub(crate) fn wait_until_none(&self) {
        let mut objects = lock(&self.objects);
        while !objects.is_empty() {
            objects = self.none_left.wait(objects);
        }
    }
}

impl<T> Objects<T> {
    const fn is_empty(&self) -> bool {
        self.all.len() == self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_removed_once_and_its_place_is_used_again() {
        let registry = Registry::default();
        let add = |name| {
            let mut key = None;
            registry.add(|its| {
                key = Some(its);
                name
            });
            key.unwrap()
        };
        let (first, second) = (add("first"), add("second"));
        registry.remove(first);
        let third = add("third");
        assert_eq!((third.index, registry.all().len()), (first.index, 2));
        registry.remove(first);
        assert_eq!(registry.get(third).as_deref(), Some(&"third"));
        assert!(registry.get(first).is_none());
        registry.remove(third);
        registry.remove(second);
        registry.wait_until_none();
    }
}
