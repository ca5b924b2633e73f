//! The buffers of one size on one CPT of a router, and the messages that wait for one.

use super::BUFFER_SIZES;
use crate::memory::RecvBuffer;
use crate::model::lnd::DeferredRx;
use crate::model::message::{Pooled, TransitMessage};
use crate::model::{BufferPlace, Onward, RouterBuffer};
use lnet_wire::Nid;
use std::collections::VecDeque;
use std::sync::Arc;

/// The size of a page in bytes: buffers are a number of pages.
pub(super) const PAGE: u32 = 4096;

/// The share of buffers that messages to other routers may not use: one in this many, and at least one.
const RESERVED_ONE_IN: u32 = 8;

/// The least number of buffers where messages to other routers come: one for those, and the one that they may not use.
const MIN_BUFFERS_TO_ROUTERS: u32 = 2;

/// A message that waits for a buffer; its driver keeps the payload.
pub(crate) struct Waiting {
    pub(crate) message: Pooled<TransitMessage>,
    pub(crate) deferred: Arc<dyn DeferredRx>,
    pub(super) onward: Onward,
    /// Whether the message waited already at the last search for messages that wait too long.
    pub(super) waits_long: bool,
}

/// The state of the buffers of one size on one CPT, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolState {
    /// The number of buffers.
    pub buffers: u32,
    /// The number of unused buffers, less the number of waiting messages: it may be negative.
    pub credits: i32,
    /// The lowest value of `credits` since forwarding was switched on.
    pub min_credits: i32,
}

#[derive(Default)]
pub(super) struct Pool {
    /// The configured number of buffers; see [`Pool::limit`].
    buffers: u32,
    /// Whether a message to another router has asked for a buffer.
    serves_routers: bool,
    /// Buffers with memory that no message holds.
    #[allow(clippy::vec_box, reason = "messages hold boxes, which are used again")]
    free: Vec<Box<RouterBuffer>>,
    used: u32,
    /// The number of buffers that messages to other routers hold.
    used_to_routers: u32,
    min_credits: i32,
    to_destinations: VecDeque<Queued>,
    to_routers: VecDeque<Queued>,
    /// The number of messages that have begun to wait.
    queued: u64,
}

/// A message that waits, with a router credit of its peer NI.
struct Queued {
    number: u64,
    from: Nid,
    waiting: Waiting,
}

impl Pool {
    /// A buffer for a message to this kind of next hop; `None` if the message has to wait.
    #[inline]
    pub(super) fn take(&mut self, place: BufferPlace, onward: Onward) -> Option<Box<RouterBuffer>> {
        self.serves_routers |= onward == Onward::ToRouter;
        if !self.has_unused(onward) {
            return None;
        }
        self.used += 1;
        self.used_to_routers += u32::from(onward == Onward::ToRouter);
        self.note_credits();
        let bytes = BUFFER_SIZES[place.size].pages * PAGE;
        let new = || Box::new(RouterBuffer::new(RecvBuffer::new(bytes), place));
        let mut buffer = self.free.pop().unwrap_or_else(new);
        buffer.onward = onward;
        Some(buffer)
    }

    #[inline]
    pub(super) fn put(&mut self, buffer: Box<RouterBuffer>) {
        self.used -= 1;
        self.used_to_routers -= u32::from(buffer.onward == Onward::ToRouter);
        self.free.push(buffer);
        self.trim();
    }

    /// Adds a message to which [`Pool::take`] gave no buffer.
    pub(super) fn wait(&mut self, from: Nid, waiting: Waiting) {
        self.queued += 1;
        let number = self.queued;
        self.queue(waiting.onward).push_back(Queued { number, from, waiting });
        self.note_credits();
    }

    /// Whether any message waits for a buffer.
    #[inline]
    pub(super) fn has_waiting(&self) -> bool {
        !self.to_destinations.is_empty() || !self.to_routers.is_empty()
    }

    /// Removes the message that has waited longest among those for which a buffer is free.
    pub(super) fn next_waiting(&mut self) -> Option<(Nid, Waiting)> {
        let first = |queue: &VecDeque<Queued>| queue.front().map(|queued| queued.number);
        let to_destination = first(&self.to_destinations).filter(|_| self.has_unused(Onward::ToDestination));
        let to_router = first(&self.to_routers).filter(|_| self.has_unused(Onward::ToRouter));
        let onward = match (to_destination, to_router) {
            (Some(one), Some(other)) if other < one => Onward::ToRouter,
            (Some(_), _) => Onward::ToDestination,
            (None, Some(_)) => Onward::ToRouter,
            (None, None) => return None,
        };
        self.queue(onward).pop_front().map(|queued| (queued.from, queued.waiting))
    }

    /// Removes the waiting messages for which `which` returns `true`.
    pub(super) fn withdraw(&mut self, which: &mut impl FnMut(&mut Waiting) -> bool) -> Vec<(Nid, Waiting)> {
        let mut out = Vec::new();
        for queue in [&mut self.to_destinations, &mut self.to_routers] {
            for mut queued in std::mem::take(queue) {
                match which(&mut queued.waiting) {
                    true => out.push((queued.from, queued.waiting)),
                    false => queue.push_back(queued),
                }
            }
        }
        out
    }

    pub(super) fn resize(&mut self, count: u32) {
        let was_off = self.buffers == 0 && self.used == 0;
        self.buffers = count;
        self.trim();
        if was_off {
            self.min_credits = self.credits();
        }
    }

    pub(super) fn empty(&mut self) {
        (self.buffers, self.serves_routers) = (0, false);
        self.trim();
        self.min_credits = 0;
    }

    pub(super) fn state(&self) -> PoolState {
        PoolState { buffers: self.limit(), credits: self.credits(), min_credits: self.min_credits }
    }

    const fn has_unused(&self, onward: Onward) -> bool {
        let may_have = match onward {
            Onward::ToDestination => true,
            Onward::ToRouter => self.used_to_routers < self.limit().saturating_sub(self.reserved()),
        };
        may_have && self.used < self.limit()
    }

    /// The number of buffers: the configured one, but no less than [`MIN_BUFFERS_TO_ROUTERS`] if messages to other routers come. Two
    /// routers with one buffer each, which hold messages to each other, would wait for ever.
    const fn limit(&self) -> u32 {
        match self.buffers {
            1 if self.serves_routers => MIN_BUFFERS_TO_ROUTERS,
            buffers => buffers,
        }
    }

    const fn reserved(&self) -> u32 {
        let share = self.limit() / RESERVED_ONE_IN;
        if share == 0 { 1 } else { share }
    }

    fn credits(&self) -> i32 {
        let credits = self.all_credits();
        i32::try_from(credits).unwrap_or(if credits > 0 { i32::MAX } else { i32::MIN })
    }

    #[inline]
    fn all_credits(&self) -> i64 {
        let unused = self.limit().saturating_sub(self.used);
        i64::from(unused) - (self.to_destinations.len() + self.to_routers.len()) as i64
    }

    #[inline]
    fn note_credits(&mut self) {
        if self.all_credits() < self.min_credits.into() {
            self.min_credits = self.credits();
        }
    }

    const fn queue(&mut self, onward: Onward) -> &mut VecDeque<Queued> {
        match onward {
            Onward::ToDestination => &mut self.to_destinations,
            Onward::ToRouter => &mut self.to_routers,
        }
    }

    /// Frees buffers beyond the configured number.
    #[inline]
    fn trim(&mut self) {
        let most = self.limit().saturating_sub(self.used) as usize;
        if self.free.len() > most {
            self.free.truncate(most);
        }
    }
}
