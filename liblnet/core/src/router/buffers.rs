//! The buffers of a router, and the messages that wait for them (core-behaviour 3.4, 7.5).
//!
//! A message for another node is received into the smallest buffer that holds it, and sent from there. Each peer NI may hold a
//! number of buffers (its router credits); beyond them its messages wait in order, and so do those that no buffer is free
//! for. While a message waits its driver keeps it, and soon reads no more from its sender.
//!
//! A message to another router holds its buffer until that router accepts it, which may itself wait for this one. So some buffers
//! are reserved for messages that go to their destinations, and messages that wait long to go to another router are returned.
//!
//! The number of buffers is a limit: their memory is allocated when it is first used, and then kept.

use super::buffer_pool::{PAGE, Pool, PoolState, Waiting};
use super::cut_through::{CutThroughCounters, CutThroughCounts};
use super::{BUFFER_SIZES, Router};
use crate::model::lnd::DeferredRx;
use crate::model::message::{Pooled, TransitMessage};
use crate::model::{BufferPlace, Ni, NidMap, Onward, RouterBuffer};
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;
use std::collections::VecDeque;
use std::iter;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// The buffers of all CPTs. Any thread may call its methods; none of them makes upcalls.
pub(crate) struct RouterBuffers {
    cpts: Box<[Mutex<CptBuffers>]>,
    cut_through: CutThroughCounters,
}

/// The request of a message for another node for a buffer.
#[derive(Debug)]
pub(crate) struct BufferRequest {
    pub(crate) message: Pooled<TransitMessage>,
    pub(crate) cpt: usize,
    /// The peer NI that the message came from, which may hold `share` buffers.
    pub(crate) from: Nid,
    pub(crate) share: u32,
    pub(crate) onward: Onward,
}

/// The outcome of a [`BufferRequest`].
pub(crate) enum BufferGrant {
    /// The message has a buffer.
    Granted(Pooled<TransitMessage>),
    /// The message is kept until it gets a buffer.
    Waits,
    /// The node does not forward and has no buffers.
    Refused(Pooled<TransitMessage>),
}

/// The waiting messages that have got their buffers because one was returned: by its memory, and by its router credit.
#[derive(Default)]
pub(crate) struct Served {
    pub(crate) by_buffer: Option<Waiting>,
    pub(crate) by_credit: Option<Waiting>,
}

/// The counters of forwarded messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// The number of messages.
    pub messages: u64,
    /// The payload of the messages in bytes.
    pub bytes: u64,
    /// The messages that were begun before they had arrived in full.
    pub cut_through: CutThroughCounts,
}

#[derive(Default)]
struct CptBuffers {
    /// Whether the node forwards.
    on: bool,
    pools: [Pool; 3],
    forwarded: Forwarded,
    /// The peer NIs that hold a buffer or wait for one, and some that have done so before: most messages come from a peer NI whose last
    /// one has just ended.
    shares: NidMap<Share>,
    /// The number of shares beyond which those that are not in use are removed.
    most_shares: usize,
}

/// The least number of shares that are kept.
const MIN_KEPT_SHARES: usize = 64;

/// The router credits of a peer NI.
struct Share {
    from: Nid,
    size: u32,
    /// Buffers that the peer NI holds, or waits for in a pool.
    taken: u32,
    waiting: VecDeque<Waiting>,
}

impl RouterBuffers {
    /// A node's buffers before [`RouterBuffers::configure`]: none, and the node does not forward.
    pub(crate) fn new(cpts: NonZeroUsize) -> Self {
        Self {
            cpts: (0..cpts.get()).map(|_| Mutex::default()).collect(),
            cut_through: CutThroughCounters::default(),
        }
    }

    /// Sets the numbers of buffers. Returns the messages that have got a buffer; if forwarding is off, those that waited,
    /// without a buffer.
    pub(crate) fn configure(&self, router: Router) -> Vec<Waiting> {
        let cpts = NonZeroUsize::new(self.cpts.len()).unwrap_or(NonZeroUsize::MIN);
        let counts = router.buffers_per_cpt(cpts).unwrap_or_default();
        let mut out = Vec::new();
        for (at, cpt) in self.cpts.iter().enumerate() {
            let cpt = &mut *lock(cpt);
            cpt.on = router.forwards();
            match cpt.on {
                true => cpt.resize(at, counts, &mut out),
                false => out.extend(cpt.empty()),
            }
        }
        out
    }

    /// Gives the message a buffer, or keeps it until it gets one.
    pub(crate) fn apply(
        &self,
        request: BufferRequest,
        begin_wait: impl FnOnce(&mut TransitMessage) -> Arc<dyn DeferredRx>,
    ) -> BufferGrant {
        let cpts = self.cpts.len().max(1);
        let at = if request.cpt < cpts { request.cpt } else { request.cpt % cpts };
        match self.cpts.get(at) {
            Some(cpt) => lock(cpt).apply(at, request, begin_wait),
            None => BufferGrant::Refused(request.message),
        }
    }

    /// Returns a buffer to its pool. Returns the waiting messages that have got a buffer now, if any have.
    #[inline]
    pub(crate) fn give_back(&self, buffer: Box<RouterBuffer>) -> Option<Served> {
        lock(self.cpts.get(buffer.place.cpt)?).give_back(buffer)
    }

    /// Removes the waiting messages that arrived on the interface `ni`, which is being shut down. Returns them, and the
    /// messages that have got a buffer now.
    pub(crate) fn take_of_ni(&self, ni: &Arc<Ni>) -> (Vec<Waiting>, Vec<Waiting>) {
        self.withdraw(|waiting| waiting.message.is_by(ni))
    }

    /// Removes the messages to other routers that have waited since the last call and can be returned to their previous hop.
    /// Returns them, and the messages that have got a buffer now. Ends a deadlock of routers that wait for each other's buffers.
    pub(crate) fn take_overdue(&self) -> (Vec<Waiting>, Vec<Waiting>) {
        self.withdraw(|waiting| {
            let may_return = waiting.onward == Onward::ToRouter && waiting.message.previous_hop.is_some();
            std::mem::replace(&mut waiting.waits_long, true) && may_return
        })
    }

    fn withdraw(&self, which: impl Fn(&mut Waiting) -> bool) -> (Vec<Waiting>, Vec<Waiting>) {
        let (mut removed, mut served) = (Vec::new(), Vec::new());
        for (at, cpt) in self.cpts.iter().enumerate() {
            let cpt = &mut *lock(cpt);
            removed.extend(cpt.withdraw(&which));
            cpt.serve_shares(at, &mut served);
        }
        (removed, served)
    }

    /// The messages forwarded since the start, or since the last [`RouterBuffers::reset_counters`].
    pub(crate) fn forwarded(&self) -> Forwarded {
        let cut_through = self.cut_through.read();
        let none = Forwarded { cut_through, ..Forwarded::default() };
        self.cpts.iter().map(|cpt| lock(cpt).forwarded).fold(none, |sum, its| Forwarded {
            messages: sum.messages + its.messages,
            bytes: sum.bytes + its.bytes,
            ..sum
        })
    }

    /// Counts a message with this length of payload that is begun before it has arrived in full.
    pub(crate) fn count_cut_through(&self, bytes: u32) {
        self.cut_through.begin(bytes);
    }

    /// Counts a message that was begun and whose rest has not arrived, or not in time.
    pub(crate) fn count_abandoned(&self) {
        self.cut_through.abandon();
    }

    pub(crate) fn reset_counters(&self) {
        self.cpts.iter().for_each(|cpt| lock(cpt).forwarded = Forwarded::default());
        self.cut_through.reset();
    }

    /// The number of buffers that this peer NI holds, and of its messages that wait for one, on all CPTs.
    pub(crate) fn asked_for(&self, from: Nid) -> u32 {
        self.cpts.iter().map(|cpt| lock(cpt).shares.get(from).map_or(0, Share::asked_for)).sum()
    }

    /// The state of the buffers of a CPT: tiny, small, large. `None` for a CPT that does not exist.
    pub(crate) fn state(&self, cpt: usize) -> Option<[PoolState; 3]> {
        let cpt = lock(self.cpts.get(cpt)?);
        Some(std::array::from_fn(|size| cpt.pools[size].state()))
    }
}

impl CptBuffers {
    fn apply(
        &mut self,
        cpt: usize,
        request: BufferRequest,
        begin_wait: impl FnOnce(&mut TransitMessage) -> Arc<dyn DeferredRx>,
    ) -> BufferGrant {
        let BufferRequest { mut message, from, share: size, onward, .. } = request;
        // Checked under the lock: no message begins to wait after the waiting ones have been dropped.
        if !self.on {
            return BufferGrant::Refused(message);
        }
        if self.shares.len() >= self.most_shares {
            self.forget_unused();
        }
        let new = || Share { from, size, taken: 0, waiting: VecDeque::new() };
        let share = self.shares.get_or_insert_with(from, new);
        share.size = size;
        if let Some(peer_ni) = &message.peer_ni {
            let asked_for = i64::from(share.taken) + share.waiting.len() as i64 + 1;
            peer_ni.note_router_credits(i64::from(size) - asked_for);
        }
        if share.taken >= share.size {
            let deferred = begin_wait(&mut message);
            share.waiting.push_back(Waiting { message, deferred, onward, waits_long: false });
            return BufferGrant::Waits;
        }
        share.taken += 1;
        self.take_buffer(cpt, from, onward, message, begin_wait)
            .map_or(BufferGrant::Waits, BufferGrant::Granted)
    }

    /// Takes a buffer for a message that has its router credit, or lets the message wait in the pool.
    fn take_buffer(
        &mut self,
        cpt: usize,
        from: Nid,
        onward: Onward,
        mut message: Pooled<TransitMessage>,
        begin_wait: impl FnOnce(&mut TransitMessage) -> Arc<dyn DeferredRx>,
    ) -> Option<Pooled<TransitMessage>> {
        let size = size_for(message.header.payload_length);
        let pool = &mut self.pools[size];
        match pool.take(BufferPlace { cpt, size }, onward) {
            Some(mut buffer) => {
                buffer.from = Some(from);
                message.buffer = Some(buffer);
                Some(message)
            }
            None => {
                let deferred = begin_wait(&mut message);
                pool.wait(from, Waiting { message, deferred, onward, waits_long: false });
                None
            }
        }
    }

    /// Returns a buffer. Its memory may go to a message that waits for this size, its router credit to one of the same peer NI.
    #[inline]
    fn give_back(&mut self, mut buffer: Box<RouterBuffer>) -> Option<Served> {
        let BufferPlace { cpt, size } = buffer.place;
        if let Some(bytes) = buffer.sent.take() {
            self.forwarded.messages += 1;
            self.forwarded.bytes += u64::from(bytes);
        }
        let from = buffer.from.take();
        let pool = self.pools.get_mut(size)?;
        pool.put(buffer);
        let is_buffer_wanted = pool.has_waiting();
        let is_credit_wanted = from.is_some_and(|from| self.release(from));
        (is_buffer_wanted || is_credit_wanted)
            .then(|| self.serve_both(cpt, size, from.filter(|_| is_credit_wanted)))
    }

    /// Gives an unused buffer of this size to a message that waits for one, and a router credit of `from` to one that waits for that.
    #[inline(never)]
    fn serve_both(&mut self, cpt: usize, size: usize, from: Option<Nid>) -> Served {
        Served { by_buffer: self.serve(cpt, size), by_credit: from.and_then(|from| self.grant(cpt, from)) }
    }

    /// Gives an unused buffer to the first message that waits for one.
    fn serve(&mut self, cpt: usize, size: usize) -> Option<Waiting> {
        let (from, waiting) = self.pools.get_mut(size)?.next_waiting()?;
        self.place(cpt, from, waiting)
    }

    /// Returns a router credit; returns whether a message of that peer NI waits for it.
    #[inline]
    fn release(&mut self, from: Nid) -> bool {
        let Some(share) = self.shares.get_mut(from) else { return false };
        share.taken -= 1;
        !share.waiting.is_empty()
    }

    /// Gives an unused router credit of a peer NI to the first of its messages that wait for one.
    fn grant(&mut self, cpt: usize, from: Nid) -> Option<Waiting> {
        let share = self.shares.get_mut(from)?;
        if share.taken < share.size
            && let Some(waiting) = share.waiting.pop_front()
        {
            share.taken += 1;
            return self.place(cpt, from, waiting);
        }
        None
    }

    /// Removes the shares that are not in use, so that no more are kept than a few times those that are.
    #[cold]
    fn forget_unused(&mut self) {
        self.shares.retain(Share::is_used);
        self.most_shares = (2 * self.shares.len()).max(MIN_KEPT_SHARES);
    }

    /// The shares in the order of their NIDs: that of the table differs from run to run.
    fn shares_in_order(&mut self) -> Vec<&mut Share> {
        let mut shares: Vec<&mut Share> = self.shares.values_mut().collect();
        shares.sort_unstable_by_key(|share| share.from);
        shares
    }

    /// Gives unused router credits to messages that wait for them.
    fn serve_shares(&mut self, cpt: usize, out: &mut Vec<Waiting>) {
        let mut granted = Vec::new();
        for share in self.shares_in_order() {
            while share.taken < share.size
                && let Some(waiting) = share.waiting.pop_front()
            {
                share.taken += 1;
                granted.push((share.from, waiting));
            }
        }
        for (from, waiting) in granted {
            out.extend(self.place(cpt, from, waiting));
        }
    }

    /// Gives a message with a router credit its buffer, or lets it wait in the pool.
    fn place(&mut self, cpt: usize, from: Nid, waiting: Waiting) -> Option<Waiting> {
        let Waiting { message, deferred, onward, .. } = waiting;
        let message = self.take_buffer(cpt, from, onward, message, |_| Arc::clone(&deferred))?;
        Some(Waiting { message, deferred, onward, waits_long: false })
    }

    fn resize(&mut self, cpt: usize, counts: [u32; 3], out: &mut Vec<Waiting>) {
        for (size, count) in counts.into_iter().enumerate() {
            self.pools[size].resize(count);
            out.extend(iter::from_fn(|| self.serve(cpt, size)));
        }
    }

    /// Frees all buffers that are not in use, and returns the messages that waited.
    fn empty(&mut self) -> Vec<Waiting> {
        self.pools.iter_mut().for_each(Pool::empty);
        self.withdraw(|_| true)
    }

    fn withdraw(&mut self, mut which: impl FnMut(&mut Waiting) -> bool) -> Vec<Waiting> {
        let mut out = Vec::new();
        for pool in &mut self.pools {
            for (from, waiting) in pool.withdraw(&mut which) {
                out.push(waiting);
                if let Some(share) = self.shares.get_mut(from) {
                    share.taken -= 1;
                }
            }
        }
        for share in self.shares_in_order() {
            for mut waiting in std::mem::take(&mut share.waiting) {
                match which(&mut waiting) {
                    true => out.push(waiting),
                    false => share.waiting.push_back(waiting),
                }
            }
        }
        self.forget_unused();
        out
    }
}

impl Share {
    fn is_used(&self) -> bool {
        self.taken > 0 || !self.waiting.is_empty()
    }

    fn asked_for(&self) -> u32 {
        self.taken.saturating_add(u32::try_from(self.waiting.len()).unwrap_or(u32::MAX))
    }
}

/// The index in [`BUFFER_SIZES`] of the smallest buffers that hold `length` bytes.
fn size_for(length: u32) -> usize {
    let holds = |size: &super::BufferSize| length <= size.pages * PAGE;
    BUFFER_SIZES.iter().position(holds).unwrap_or(BUFFER_SIZES.len() - 1)
}

#[cfg(all(test, not(loom)))]
#[path = "buffers_tests.rs"]
mod tests;
