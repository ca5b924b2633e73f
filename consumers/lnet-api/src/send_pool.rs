//! Memory and descriptors of messages that are sent, used for one message after the other: a descriptor for each message would cost more
//! than the message itself.
//!
//! LNet sends all of a descriptor's memory, so that a message needs one of exactly its length. Those of short messages are kept; a message
//! without a kept one of its length gets another, which is unlinked after it if too many are kept.

mod entries;
mod outcome;

pub use outcome::{MessageId, NotSent, SendEvents};

use crate::clock::{Clock, Time};
use crate::sync::lock;
use crate::{Ack, Errno, EventHandler, Md, MdSpec, Nid, Node, ProcessId, Region};
use entries::{Entry, Idle, PoolState, Sending, Shared, Slot, unlink};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

/// The most bytes of a message whose memory is kept.
const MAX_KEPT_LEN: usize = 16 << 10;

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
        Self { node: Arc::clone(node), shared: Arc::new(Shared::new(events)) }
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
        let entry = Arc::new(Entry::new(Arc::clone(&self.shared), index, region, is_kept));
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

impl<E: SendEvents> std::fmt::Debug for SendPool<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SendPool({} in progress)", self.in_progress())
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
