//! The descriptors of a pool with their memory: which are kept for another message, and the message that one sends.

use super::outcome::{MessageId, NotSent, SendEvents};
use crate::sync::{Condition, lock};
use crate::{Errno, Event, EventHandler, EventKind, Md, Region, sys};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The most descriptors that wait for a message.
const MAX_IDLE: usize = 64;
/// One in this number of messages without a kept descriptor of their length replaces the oldest kept one.
const REPLACE_EVERY: u32 = 16;

/// The part of a pool that its descriptors refer to.
pub(super) struct Shared<E: SendEvents> {
    pub(super) events: E,
    pub(super) state: Mutex<PoolState<E>>,
    /// Notified when the last descriptor has ended.
    pub(super) none_left: Condition,
}

/// The descriptors of a pool.
pub(super) struct PoolState<E: SendEvents> {
    /// All descriptors that have not had their last event, by index.
    pub(super) all: Vec<Option<Slot<E>>>,
    pub(super) free: Vec<usize>,
    /// Those that wait for a message; the one that was used last is last.
    pub(super) idle: Vec<Idle<E>>,
    misses: u32,
    pub(super) last_use: u64,
    pub(super) is_closed: bool,
}

/// The state of a descriptor.
pub(super) struct Slot<E: SendEvents> {
    pub(super) entry: Arc<Entry<E>>,
    /// `None`: not made yet.
    pub(super) md: Option<Md>,
}

/// A descriptor that waits for a message.
pub(super) struct Idle<E: SendEvents> {
    pub(super) entry: Arc<Entry<E>>,
    pub(super) md: Md,
}

/// A descriptor with its memory, for its events.
pub(super) struct Entry<E: SendEvents> {
    pub(super) shared: Arc<Shared<E>>,
    pub(super) index: usize,
    pub(super) region: Arc<Region>,
    /// Whether the descriptor is used for another message afterwards. Who changes it has the pool's lock.
    pub(super) is_kept: AtomicBool,
    /// The number of the message in progress; 0: none. The buffer that sends the message sets it without the pool's lock; who resets it has
    /// the lock.
    sending: AtomicU64,
    /// The message in progress.
    message: UnsafeCell<Option<Sending<E>>>,
}

/// A message in progress.
pub(super) struct Sending<E: SendEvents> {
    /// The entry that has this. The buffer's own reference, so that none has to be counted for the way back to the idle ones.
    pub(super) entry: Arc<Entry<E>>,
    pub(super) md: Md,
    pub(super) context: E::Context,
}

// SAFETY: `message` is all that is not `Sync`. It is written by the `SendBuffer` that has the entry, of which there is one at a time, and while
// `sending` is 0; then that is set. Whoever resets it, with the pool's lock taken, takes what was written. `Sending` can be sent to that thread:
// the context is `Send`, and the rest of it are references to what is `Sync`.
unsafe impl<E: SendEvents> Sync for Entry<E> {}
// SAFETY: as for `Sync`: the context of `message` is `Send`, and the rest are references to what is `Sync`.
unsafe impl<E: SendEvents> Send for Entry<E> {}

impl<E: SendEvents> PoolState<E> {
    pub(super) fn in_progress(&self) -> usize {
        self.all.len() - self.free.len() - self.idle.len()
    }

    pub(super) fn slot(&mut self, index: usize) -> Option<&mut Slot<E>> {
        self.all.get_mut(index)?.as_mut()
    }

    /// The slot of a message that is in progress.
    pub(super) fn slot_of(&mut self, id: MessageId) -> Option<&mut Slot<E>> {
        self.slot(id.index).filter(|slot| slot.entry.number() == id.number)
    }

    /// Takes a descriptor of exactly this length.
    #[inline]
    pub(super) fn take_idle(&mut self, len: usize) -> Option<Idle<E>> {
        match self.idle.last() {
            Some(last) if last.entry.region.len() == len => self.idle.pop(),
            _ => self.take_idle_before(len),
        }
    }

    /// Takes a descriptor of exactly this length that was not the last one used.
    #[cold]
    fn take_idle_before(&mut self, len: usize) -> Option<Idle<E>> {
        let at = self.idle.iter().rposition(|idle| idle.entry.region.len() == len)?;
        Some(self.idle.remove(at))
    }

    /// Decides about a descriptor of a length that is not kept: whether it is kept, and which is unlinked in its place.
    pub(super) fn on_miss(&mut self) -> (bool, Option<Md>) {
        if self.idle.len() < MAX_IDLE {
            return (true, None);
        }
        self.misses += 1;
        if !self.misses.is_multiple_of(REPLACE_EVERY) {
            return (false, None);
        }
        (true, Some(self.idle.remove(0).md))
    }
}

impl<E: SendEvents> Shared<E> {
    /// The part of a pool without descriptors.
    pub(super) fn new(events: E) -> Self {
        let state = PoolState {
            all: Vec::new(),
            free: Vec::new(),
            idle: Vec::new(),
            misses: 0,
            last_use: 0,
            is_closed: false,
        };
        Self { events, state: Mutex::new(state), none_left: Condition::new() }
    }

    /// Ends the pool; returns the descriptors that wait for a message, to be unlinked.
    pub(super) fn close(&self) -> Vec<Md> {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.idle.drain(..).map(|idle| idle.md).collect()
    }

    /// Keeps a descriptor for another message, if it is to be kept. Returns it if it is to be unlinked: the pool is closed.
    #[inline]
    fn keep(&self, state: &mut PoolState<E>, entry: Arc<Entry<E>>, md: Md) -> Option<Md> {
        if !entry.is_kept.load(Ordering::Relaxed) {
            return None;
        }
        if state.is_closed {
            return Some(md);
        }
        state.idle.push(Idle { entry, md });
        self.notify(state);
        None
    }

    /// Removes a descriptor that has had its last event, or was not made.
    pub(super) fn remove(&self, mut state: MutexGuard<'_, PoolState<E>>, index: usize) {
        let slot = state.all.get_mut(index).and_then(Option::take);
        state.free.push(index);
        self.notify(&state);
        drop(state);
        drop(slot);
    }

    fn notify(&self, state: &PoolState<E>) {
        if state.in_progress() == 0 {
            self.none_left.notify_all();
        }
    }
}

impl<E: SendEvents> EventHandler for Entry<E> {
    fn on_event(&self, event: &Event) {
        let pool = &*self.shared;
        let mut state = lock(&pool.state);
        let message = self.take_message();
        match (message, event.status) {
            (Some(Sending { entry, md, context }), Ok(()))
                if event.kind != EventKind::Unlink && !event.unlinked =>
            {
                let closed = pool.keep(&mut state, entry, md);
                drop(state);
                closed.into_iter().for_each(unlink);
                pool.events.on_sent(context, Ok(()));
            }
            (message, status) => {
                drop(state);
                self.on_last_or_failed(event, message, status);
            }
        }
    }
}

impl<E: SendEvents> Entry<E> {
    /// An entry with no message in progress.
    pub(super) fn new(shared: Arc<Shared<E>>, index: usize, region: Arc<Region>, is_kept: bool) -> Self {
        Self {
            shared,
            index,
            region,
            is_kept: is_kept.into(),
            sending: AtomicU64::new(0),
            message: UnsafeCell::new(None),
        }
    }

    /// The number of the message in progress; 0: none. The caller has the pool's lock.
    pub(super) fn number(&self) -> u64 {
        self.sending.load(Ordering::Acquire)
    }

    /// Stores a message that is about to be sent, for its outcome. The buffer of the entry calls this, and the message gets its reference.
    pub(super) fn begin(self: Arc<Self>, number: u64, md: Md, context: E::Context) {
        let entry = Arc::as_ptr(&self);
        // SAFETY: the entry is there until `sending` is set, because the message has the reference, and only then somebody can take it. No
        // message is in progress (`sending` is 0), and only the buffer of the entry, which calls this, can begin one: so nobody else
        // accesses the cell.
        unsafe {
            *(*entry).message.get() = Some(Sending { entry: self, md, context });
            (*entry).sending.store(number, Ordering::Release);
        }
    }

    /// Takes the message in progress, if there is one. The caller has the pool's lock.
    pub(super) fn take_message(&self) -> Option<Sending<E>> {
        if self.number() == 0 {
            return None;
        }
        // SAFETY: the buffer has finished writing (`begin`), which the load of `sending` has seen, and others that take it have the lock.
        let message = unsafe { (*self.message.get()).take() };
        self.sending.store(0, Ordering::Relaxed);
        message
    }

    /// Handles the last event of a descriptor, or the failure of a message.
    #[cold]
    fn on_last_or_failed(&self, event: &Event, message: Option<Sending<E>>, status: Result<(), Errno>) {
        let pool = &*self.shared;
        let kept = message.map(|Sending { entry, md, context }| {
            let result =
                if event.kind == EventKind::Unlink { status.and(Err(Errno::Cancelled)) } else { status };
            // SAFETY: the message has ended, and no other one gets the memory before the descriptor is kept or removed below.
            let bytes = unsafe { std::slice::from_raw_parts(self.region.address(), self.region.len()) };
            pool.events.on_sent(context, result.map_err(|errno| NotSent { errno, bytes }));
            (entry, md)
        });
        let mut state = lock(&pool.state);
        if event.unlinked {
            if kept.is_none() {
                state.idle.retain(|idle| idle.entry.index != self.index);
            }
            pool.remove(state, self.index);
        } else if let Some((entry, md)) = kept {
            let closed = pool.keep(&mut state, entry, md);
            drop(state);
            closed.into_iter().for_each(unlink);
        }
    }
}

/// Unlinks a descriptor. In event handlers too: LNet does not wait there.
pub(super) fn unlink(md: Md) {
    sys::LNetMDUnlink(md.0);
}
