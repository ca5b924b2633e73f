//! The requests that one thread has in progress.

use super::reply::Reply;
use super::rpc::Rpc;
use crate::Errno;
use crate::clock::{Clock, Time};
use crate::lnet::Node;
use crate::wakeup::{ReadyQueue, Waker};
use std::sync::Arc;

/// Requests by index, each with data of its owner. They make progress only in [`RpcTable::turn`].
pub(crate) struct RpcTable<T> {
    ready: Arc<ReadyQueue>,
    entries: Vec<Option<RpcEntry<T>>>,
    free: Vec<usize>,
}

struct RpcEntry<T> {
    rpc: Rpc,
    /// The time of the next poll, if it is not woken before.
    next_poll: Option<Time>,
    data: T,
}

impl<T> Default for RpcTable<T> {
    fn default() -> Self {
        Self { ready: Arc::default(), entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> RpcTable<T> {
    /// Wakes the thread in [`RpcTable::turn`] for something other than a request.
    pub(crate) fn waker(&self) -> Waker {
        self.ready.waker(usize::MAX)
    }

    /// Adds a request and starts it.
    pub(crate) fn start(&mut self, rpc: Rpc, data: T, now: Time) -> usize {
        let entry = Some(RpcEntry { rpc, next_poll: None, data });
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
        };
        self.poll(index, now);
        index
    }

    fn poll(&mut self, index: usize, now: Time) {
        let waker = self.ready.waker(index);
        if let Some(Some(entry)) = self.entries.get_mut(index) {
            entry.next_poll = entry.rpc.poll(&waker, now);
        }
    }

    /// Waits until requests are woken, until `until` at most, and polls those.
    pub(crate) fn turn(&mut self, clock: &dyn Clock, until: Option<Time>, node: Option<&Node>) {
        let first = self.entries().filter_map(|(_, entry)| entry.next_poll).chain(until).min();
        let mut ready = self.ready.wait(clock, first, node);
        let now = clock.now();
        if first.is_some_and(|first| first <= now) {
            let due = self.entries().filter(|(_, entry)| entry.next_poll.is_some_and(|at| at <= now));
            ready.extend(due.map(|(index, _)| index));
        }
        ready.sort_unstable();
        ready.dedup();
        ready.into_iter().for_each(|index| self.poll(index, now));
    }

    /// Removes a completed request.
    pub(crate) fn take(&mut self, index: usize) -> Option<(Result<Reply, Errno>, T)> {
        let result = self.entries.get_mut(index)?.as_mut()?.rpc.take_result()?;
        let entry = self.entries[index].take()?;
        self.free.push(index);
        Some((result, entry.data))
    }

    pub(crate) fn first_complete(&self) -> Option<usize> {
        self.entries().find(|(_, entry)| entry.rpc.is_complete()).map(|(index, _)| index)
    }

    pub(crate) fn abort(&mut self, index: usize, now: Time) {
        if let Some(Some(entry)) = self.entries.get_mut(index) {
            entry.rpc.abort();
            self.poll(index, now);
        }
    }

    pub(crate) fn early_replies(&self, index: usize) -> u32 {
        self.entries.get(index).and_then(Option::as_ref).map_or(0, |entry| entry.rpc.early_replies())
    }

    pub(crate) fn all_complete(&self) -> bool {
        self.entries().all(|(_, entry)| entry.rpc.is_complete())
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    fn entries(&self) -> impl Iterator<Item = (usize, &RpcEntry<T>)> {
        self.entries.iter().enumerate().filter_map(|(index, entry)| Some((index, entry.as_ref()?)))
    }
}
