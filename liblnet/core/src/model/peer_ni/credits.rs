//! The credits of a peer NI, and the responses to it that are pending.

use super::PeerNi;
use crate::credit::{Credits, SharedPool, WaivedLengths};
use crate::model::message::{OutgoingMessage, Pooled};
use std::sync::atomic::Ordering;

impl PeerNi {
    /// Available send credits.
    pub fn credits(&self) -> Credits {
        self.criteria.tx.credits()
    }

    /// The number of messages that may be in flight to the peer NI.
    pub fn max_credits(&self) -> u32 {
        self.criteria.tx.size().0.unsigned_abs()
    }

    /// The lowest number of send credits so far.
    pub fn min_credits(&self) -> Credits {
        self.criteria.tx.low_water()
    }

    /// Bytes that wait for a credit or are in flight, headers included.
    pub fn queued_bytes(&self) -> u64 {
        self.criteria.tx.bytes()
    }

    pub(crate) fn tx(&self) -> &SharedPool<Pooled<OutgoingMessage>> {
        self.criteria.tx()
    }

    /// The messages to the peer NI that need no credits for now.
    pub(crate) const fn waived(&self) -> &WaivedLengths {
        &self.waived
    }

    /// Counts a pending response.
    pub(crate) fn begin_response(&self) {
        self.pending_responses.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a pending response.
    pub(crate) fn end_response(&self) {
        self.pending_responses.fetch_sub(1, Ordering::Relaxed);
    }

    /// The number of pending responses to the peer NI.
    pub(crate) fn pending_responses(&self) -> u32 {
        self.pending_responses.load(Ordering::Relaxed)
    }

    /// Whether no message to the peer NI is in flight or waits, and no response to it is pending.
    pub(crate) fn is_idle(&self) -> bool {
        self.pending_responses() == 0 && self.criteria.tx.credits() >= self.criteria.tx.size()
    }

    /// The lowest number of router credits when a message came from the peer NI; at first the configured number.
    pub(crate) fn min_router_credits(&self) -> i32 {
        self.min_router_credits.load(Ordering::Relaxed)
    }

    /// Records the present number of router credits.
    #[inline]
    pub(crate) fn note_router_credits(&self, credits: i64) {
        if credits < self.min_router_credits().into() {
            let credits = i32::try_from(credits).unwrap_or(i32::MIN);
            self.min_router_credits.fetch_min(credits, Ordering::Relaxed);
        }
    }
}
