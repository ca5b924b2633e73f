//! Memory and descriptors of messages that are sent, used for one message after the other: a descriptor for each message would cost more
//! than the message itself.
//!
//! LNet sends all of a descriptor's memory, so that a message needs one of exactly its length. Those of short messages are kept; a message
//! without a kept one of its length gets another, which is unlinked after it if too many are kept.

use crate::clock::{Clock, Time};
use crate::sync::{Condition, lock};
use crate::{Ack, Errno, Event, EventHandler, EventKind, Md, MdSpec, Nid, Node, ProcessId, Region, sys};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The most bytes of a message whose memory is kept.
const MAX_KEPT_LEN: usize = 16 << 10;
/// The most descriptors that wait for a message.
const MAX_IDLE: usize = 64;
/// One in this number of messages without a kept descriptor of their length replaces the oldest kept one.
const REPLACE_EVERY: u32 = 16;

/// Takes the outcomes of the messages of a [`SendPool`].
pub trait SendEvents: Send + Sync + 'static {
    /// The data of one message, until its outcome.
    type Context: Send;

    /// Called once for each message that LNet has accepted, on LNet's threads. Must not block, nor call LNet.
    fn on_sent(&self, context: Self::Context, outcome: Result<(), NotSent<'_>>);
}

/// A message that was not sent.
#[derive(Clone, Copy, Debug)]
pub struct NotSent<'a> {
    /// The cause; [`Errno::Cancelled`]: the descriptor of the message was unlinked before.
    pub errno: Errno,
    /// The message.
    pub bytes: &'a [u8],
}

/// The destination of a message, and how it gets there.
#[derive(Clone, Copy, Debug)]
pub struct Destination {
    /// The local NI to send from; `None`: LNet selects one.
    pub from: Option<Nid>,
    /// The process that the message is for.
    pub to: ProcessId,
    /// The portal of that process.
    pub portal: u32,
    /// The match bits.
    pub match_bits: u64,
    /// The offset in the memory at the destination, in bytes.
    pub offset: u32,
}

/// Sends messages without ACKs. Used from any thread. Dropping it is [`SendPool::close`].
pub struct SendPool<E: SendEvents> {
    node: Arc<Node>,
    shared: Arc<Shared<E>>,
}

struct Shared<E: SendEvents> {
    events: E,
    state: Mutex<PoolState<E>>,
    /// Notified when the last descriptor has ended.
    none_left: Condition,
}

struct PoolState<E: SendEvents> {
    /// All descriptors that have not had their last event, by index.
    all: Vec<Option<Slot<E>>>,
    free: Vec<usize>,
    /// Those that wait for a message; the one that was used last is last.
    idle: Vec<Idle<E>>,
    misses: u32,
    last_use: u64,
    is_closed: bool,
}

/// The state of a descriptor.
struct Slot<E: SendEvents> {
    entry: Arc<Entry<E>>,
    /// `None`: not made yet.
    md: Option<Md>,
}

/// A descriptor that waits for a message.
struct Idle<E: SendEvents> {
    entry: Arc<Entry<E>>,
    md: Md,
}

/// A descriptor with its memory, for its events.
struct Entry<E: SendEvents> {
    shared: Arc<Shared<E>>,
    index: usize,
    region: Arc<Region>,
    /// Whether the descriptor is used for another message afterwards. Who changes it has the pool's lock.
    is_kept: AtomicBool,
    /// The number of the message in progress; 0: none. The buffer that sends the message sets it without the pool's lock; who resets it has
    /// the lock.
    sending: AtomicU64,
    /// The message in progress.
    message: UnsafeCell<Option<Sending<E>>>,
}

/// A message in progress.
struct Sending<E: SendEvents> {
    /// The entry that has this. The buffer's own reference, so that none has to be counted for the way back to the idle ones.
    entry: Arc<Entry<E>>,
    md: Md,
    context: E::Context,
}

// SAFETY: `message` is all that is not `Sync`. It is written by the `SendBuffer` that has the entry, of which there is one at a time, and while
// `sending` is 0; then that is set. Whoever resets it, with the pool's lock taken, takes what was written. `Sending` can be sent to that thread:
// the context is `Send`, and the rest of it are references to what is `Sync`.
unsafe impl<E: SendEvents> Sync for Entry<E> {}
// SAFETY: as for `Sync`: the context of `message` is `Send`, and the rest are references to what is `Sync`.
unsafe impl<E: SendEvents> Send for Entry<E> {}

/// Identifies a message that was sent. No two messages of a pool are identified by the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageId {
    index: usize,
    number: u64,
}

/// Memory for one message: it is written, then sent.
pub struct SendBuffer<'a, E: SendEvents> {
    pool: &'a SendPool<E>,
    entry: Arc<Entry<E>>,
    md: UnsentMd,
    number: u64,
}

/// The descriptor of a message that is not sent: it may be the reason, and is not used again. The drop unlinks it.
struct UnsentMd(Md);

impl<E: SendEvents> SendPool<E> {
    /// Makes a pool without descriptors. `events` takes the outcomes of its messages.
    pub fn new(node: &Arc<Node>, events: E) -> Self {
        let state = PoolState {
            all: Vec::new(),
            free: Vec::new(),
            idle: Vec::new(),
            misses: 0,
            last_use: 0,
            is_closed: false,
        };
        let shared = Shared { events, state: Mutex::new(state), none_left: Condition::new() };
        Self { node: Arc::clone(node), shared: Arc::new(shared) }
    }

    /// The node that the messages are sent from.
    pub const fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Returns the taker of outcomes.
    pub fn events(&self) -> &E {
        &self.shared.events
    }

    /// Returns memory for a message of `len` bytes, which holds anything. `bulk_md`: the MD of the bulk data that the message belongs to.
    ///
    /// Errors: that of LNet; [`Errno::Shutdown`] after [`SendPool::close`].
    pub fn buffer(&self, len: usize, bulk_md: Option<Md>) -> Result<SendBuffer<'_, E>, Errno> {
        let mut state = lock(&self.shared.state);
        if state.is_closed {
            return Err(Errno::Shutdown);
        }
        state.last_use += 1;
        let number = state.last_use;
        if bulk_md.is_none()
            && let Some(Idle { entry, md }) = state.take_idle(len)
        {
            return Ok(SendBuffer { pool: self, entry, md: UnsentMd(md), number });
        }
        self.new_buffer(state, number, len, bulk_md)
    }

    /// Makes memory for a message without a kept descriptor.
    #[cold]
    fn new_buffer(
        &self,
        mut state: MutexGuard<'_, PoolState<E>>,
        number: u64,
        len: usize,
        bulk_md: Option<Md>,
    ) -> Result<SendBuffer<'_, E>, Errno> {
        let (is_kept, replaced) = match bulk_md.is_none() && len <= MAX_KEPT_LEN {
            true => state.on_miss(),
            false => (false, None),
        };
        let index = state.free.pop().unwrap_or_else(|| {
            state.all.push(None);
            state.all.len() - 1
        });
        let region = Arc::new(Region::zeroed(len));
        let entry = Arc::new(Entry {
            shared: Arc::clone(&self.shared),
            index,
            region,
            is_kept: is_kept.into(),
            sending: AtomicU64::new(0),
            message: UnsafeCell::new(None),
        });
        state.all[index] = Some(Slot { entry: Arc::clone(&entry), md: None });
        drop(state);
        if let Some(md) = replaced {
            unlink(md);
        }
        self.bind(entry, is_kept, bulk_md, number)
    }

    /// Makes the descriptor of an entry.
    fn bind(
        &self,
        entry: Arc<Entry<E>>,
        is_kept: bool,
        bulk_md: Option<Md>,
        number: u64,
    ) -> Result<SendBuffer<'_, E>, Errno> {
        let threshold = if is_kept { None } else { Some(1) };
        let spec = MdSpec { threshold, bulk_md, ..MdSpec::active(Arc::clone(&entry.region), 1) };
        let md = match self.node.bind(spec, Arc::clone(&entry) as Arc<dyn EventHandler>) {
            Ok(md) => md,
            Err(errno) => {
                entry.shared.remove(lock(&self.shared.state), entry.index);
                return Err(errno);
            }
        };
        let mut state = lock(&self.shared.state);
        if let Some(slot) = state.slot(entry.index) {
            slot.md = Some(md);
        }
        // `close` has not seen it.
        if state.is_closed {
            drop(state);
            unlink(md);
            return Err(Errno::Shutdown);
        }
        drop(state);
        Ok(SendBuffer { pool: self, entry, md: UnsentMd(md), number })
    }

    /// Unlinks the descriptor of a message, whose outcome comes as soon as LNet has finished with it. Has no effect after that. Calls LNet.
    pub fn abort(&self, id: MessageId) {
        let md = {
            let mut state = lock(&self.shared.state);
            let Some(slot) = state.slot_of(id) else { return };
            // From here on no other message can get it.
            slot.entry.is_kept.store(false, Ordering::Relaxed);
            slot.md
        };
        if let Some(md) = md {
            unlink(md);
        }
    }

    /// Unlinks the descriptors of all messages in progress, like [`SendPool::abort`]. Calls LNet.
    pub fn abort_all(&self) {
        let mds: Vec<Md> = {
            let state = lock(&self.shared.state);
            let mut mds = Vec::new();
            for slot in state.all.iter().flatten().filter(|slot| slot.entry.number() != 0) {
                slot.entry.is_kept.store(false, Ordering::Relaxed);
                mds.extend(slot.md);
            }
            mds
        };
        mds.into_iter().for_each(unlink);
    }

    /// Ends the pool: no message can be begun. Those in progress go on, and their descriptors are unlinked after them. Calls LNet.
    pub fn close(&self) {
        self.shared.close().into_iter().for_each(unlink);
    }

    /// The number of messages that have no outcome yet, those included that are being written.
    pub fn in_progress(&self) -> usize {
        lock(&self.shared.state).in_progress()
    }

    /// Waits until no message is in progress, but not longer than until `until`. Returns whether none is. Then all that were not sent have
    /// been handled; the outcome of the last one that was sent may still be.
    pub fn wait_until_idle(&self, clock: &dyn Clock, until: Time) -> bool {
        let mut state = lock(&self.shared.state);
        while state.in_progress() > 0 && clock.now() < until {
            state = self.shared.none_left.wait_until(clock, state, Some(until));
        }
        state.in_progress() == 0
    }
}

impl<E: SendEvents> Drop for SendPool<E> {
    fn drop(&mut self) {
        self.close();
    }
}

/// Unlinks a descriptor. In event handlers too: LNet does not wait there.
fn unlink(md: Md) {
    sys::LNetMDUnlink(md.0);
}

impl<E: SendEvents> std::fmt::Debug for SendPool<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SendPool({} in progress)", self.in_progress())
    }
}

impl<E: SendEvents> PoolState<E> {
    fn in_progress(&self) -> usize {
        self.all.len() - self.free.len() - self.idle.len()
    }

    fn slot(&mut self, index: usize) -> Option<&mut Slot<E>> {
        self.all.get_mut(index)?.as_mut()
    }

    /// The slot of a message that is in progress.
    fn slot_of(&mut self, id: MessageId) -> Option<&mut Slot<E>> {
        self.slot(id.index).filter(|slot| slot.entry.number() == id.number)
    }

    /// Takes a descriptor of exactly this length.
    #[inline]
    fn take_idle(&mut self, len: usize) -> Option<Idle<E>> {
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
    fn on_miss(&mut self) -> (bool, Option<Md>) {
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
    /// Ends the pool; returns the descriptors that wait for a message, to be unlinked.
    fn close(&self) -> Vec<Md> {
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
    fn remove(&self, mut state: MutexGuard<'_, PoolState<E>>, index: usize) {
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

impl<E: SendEvents> SendBuffer<'_, E> {
    /// The memory of the message.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let region = &self.entry.region;
        // SAFETY: the region is there as long as the entry, whose only user is this buffer: the entry is not among the idle ones, and its
        // descriptor has no operation in progress, so that LNet does not access the memory. Nobody else has the region.
        unsafe { std::slice::from_raw_parts_mut(region.address(), region.len()) }
    }

    /// The message as it was written.
    pub fn bytes(&self) -> &[u8] {
        let region = &self.entry.region;
        // SAFETY: the region is there as long as the entry, which this buffer keeps, and only this buffer may write to it until it is sent.
        unsafe { std::slice::from_raw_parts(region.address(), region.len()) }
    }

    /// Sends the message. After an error there is no outcome, and the message and its data are returned.
    pub fn send(self, to: &Destination, context: E::Context) -> Result<MessageId, (Self, Errno, E::Context)> {
        let Destination { from, to, portal, match_bits, offset } = *to;
        let SendBuffer { pool, entry, md, number } = self;
        let (id, md) = (MessageId { index: entry.index, number }, md.keep());
        entry.begin(number, md, context);
        let put = pool.node.put(from, md, Ack::No, to, portal, match_bits, offset, 0);
        let Err(errno) = put else { return Ok(id) };
        let mut state = lock(&pool.shared.state);
        let unsent = state.slot_of(id).and_then(|slot| slot.entry.take_message());
        drop(state);
        match unsent {
            Some(Sending { entry, md, context }) => {
                Err((SendBuffer { pool, entry, md: UnsentMd(md), number }, errno, context))
            }
            // Unlinked meanwhile, by an abort or by the end of LNet: the event of that was the outcome.
            None => Ok(id),
        }
    }
}

impl UnsentMd {
    /// Returns the descriptor, which stays.
    const fn keep(self) -> Md {
        let md = self.0;
        std::mem::forget(self);
        md
    }
}

impl Drop for UnsentMd {
    fn drop(&mut self) {
        unlink(self.0);
    }
}

impl<E: SendEvents> std::fmt::Debug for SendBuffer<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SendBuffer({} bytes)", self.entry.region.len())
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
    /// The number of the message in progress; 0: none. The caller has the pool's lock.
    fn number(&self) -> u64 {
        self.sending.load(Ordering::Acquire)
    }

    /// Stores a message that is about to be sent, for its outcome. The buffer of the entry calls this, and the message gets its reference.
    fn begin(self: Arc<Self>, number: u64, md: Md, context: E::Context) {
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
    fn take_message(&self) -> Option<Sending<E>> {
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
