//! Deferred messages: the core decides about them later.
//!
//! The payload is read into memory of the driver, so that the messages behind it on the connection can be received, as
//! long as there is quota; otherwise the connection is not read until the core has decided.

use crate::ni::SockNi;
use crate::socket_io;
use crate::spare_memory::{SpareMemory, SpareObjects};
use crate::sync::lock;
use lnet_core::lnd::{DeferredRx, RxAction};
use lnet_core::{ArrivingMessage, Errno};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// Limit of deferred payloads of one peer, in bytes.
const QUOTA_PER_PEER: usize = 2 << 20;
/// Limit of deferred payloads of all peers of a node, in bytes.
const QUOTA_PER_NODE: usize = 64 << 20;
/// Memory that a deferred message is charged for besides its payload, in bytes.
const OVERHEAD: usize = 1024;

/// A deferred message, between the connection that it arrives on and the core.
pub(crate) struct Deferred {
    ni: Arc<SockNi>,
    slot: Mutex<DeferredSlot>,
}

enum DeferredSlot {
    /// The payload has not arrived in full. Holds the connection that it arrives on, unless that has ended and the
    /// message is to be sent again.
    Undecided(Weak<dyn DeferredConn>),
    Decided(RxAction),
    /// The payload has arrived; the queue leads to the threads that carry out the core's decision.
    Stored(Arc<dyn ResumeQueue>, Stored),
    /// The decision has been carried out.
    Taken,
    /// The connection is gone, and the payload with it.
    Lost,
}

/// A connection that a deferred message arrives on.
pub(crate) trait DeferredConn: Send + Sync {
    /// Makes a thread of the driver continue receiving.
    fn schedule_receive(self: Arc<Self>);

    /// The queue of the threads that receive on the connection.
    fn resume_queue(&self) -> Arc<dyn ResumeQueue>;
}

/// The queue of threads that carry out decisions of the core.
pub(crate) trait ResumeQueue: Send + Sync {
    /// Makes one of the threads carry out `resumed`. From any thread.
    fn resume(&self, resumed: Resumed);
}

/// Quota taken from the shares of a peer and of the node; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Quota {
    bytes: usize,
    shares: [Arc<AtomicUsize>; 2],
}

/// A deferred payload with the core's decision, on its way to the thread that carries the decision out.
pub(crate) struct Resumed {
    action: RxAction,
    stored: Stored,
    ni: Arc<SockNi>,
}

/// A deferred payload in memory of the driver.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) bytes: Vec<u8>,
    pub(crate) quota: Quota,
}

impl Quota {
    /// Takes quota for a payload of `length` bytes; `None` if the share of the peer or of the node is used up.
    pub(crate) fn take(length: usize, peer: &Arc<AtomicUsize>, node: &Arc<AtomicUsize>) -> Option<Self> {
        let bytes = length.checked_add(OVERHEAD)?;
        let take = |share: &AtomicUsize, most: usize| {
            let more = |taken: usize| taken.checked_add(bytes).filter(|taken| *taken <= most);
            share.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
        };
        if !take(peer, QUOTA_PER_PEER) {
            return None;
        }
        if !take(node, QUOTA_PER_NODE) {
            peer.fetch_sub(bytes, Ordering::AcqRel);
            return None;
        }
        Some(Self { bytes, shares: [Arc::clone(peer), Arc::clone(node)] })
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        for share in &self.shares {
            share.fetch_sub(self.bytes, Ordering::AcqRel);
        }
    }
}

impl Resumed {
    /// Carries out the core's decision.
    pub(crate) fn execute(self) {
        let Self { action, stored, ni } = self;
        stored.execute(action, &ni);
        ni.end_upcall();
    }
}

impl Stored {
    /// Takes memory for a payload of `length` bytes, for which `quota` was taken; `None` if the system has none: the payload then
    /// stays in the socket.
    pub(crate) fn with_memory(length: usize, quota: Quota, spare: &SpareMemory) -> Option<Self> {
        spare.take(length, OVERHEAD).map(|bytes| Self { bytes, quota })
    }

    /// Carries out the core's decision.
    pub(crate) fn execute(self, action: RxAction, ni: &SockNi) {
        let Self { bytes, quota } = self;
        if let RxAction::Deliver(message) = action {
            let result = if ni.is_ending() {
                Err(Errno::Io)
            } else {
                socket_io::copy(&bytes, message.payload());
                Ok(())
            };
            ni.shared.deferred_memory.put(bytes);
            drop(quota);
            ni.upcalls.received(message, result);
        }
    }
}

impl Deferred {
    /// Makes the state of a message that arrives on `connection`, of which `spare` has the messages before.
    pub(crate) fn new(
        spare: &mut SpareObjects<Self>,
        ni: &Arc<SockNi>,
        connection: &Arc<impl DeferredConn + 'static>,
    ) -> Arc<Self> {
        let new =
            || Self { ni: Arc::clone(ni), slot: Mutex::new(DeferredSlot::Undecided(downgrade(connection))) };
        spare.take(|ended| *ended = new()).unwrap_or_else(|| Arc::new(new()))
    }

    /// Whether the message arrives on a connection of `ni`. One that is sent again may have arrived on another NI first.
    pub(crate) fn is_of(&self, ni: &Arc<SockNi>) -> bool {
        Arc::ptr_eq(&self.ni, ni)
    }

    /// Takes the core's decision, if there is one. For a payload that has not been read.
    pub(crate) fn take(&self) -> Option<RxAction> {
        let mut slot = lock(&self.slot);
        match std::mem::replace(&mut *slot, DeferredSlot::Taken) {
            DeferredSlot::Decided(action) => Some(action),
            other => {
                *slot = other;
                None
            }
        }
    }

    /// Keeps the payload, read from `connection`. Returns it if the core has decided already, with the decision.
    pub(crate) fn store(
        &self,
        stored: Stored,
        connection: &Arc<impl DeferredConn + 'static>,
    ) -> Option<(RxAction, Stored)> {
        let mut slot = lock(&self.slot);
        match std::mem::replace(&mut *slot, DeferredSlot::Taken) {
            DeferredSlot::Decided(action) => Some((action, stored)),
            DeferredSlot::Undecided(_) => {
                *slot = DeferredSlot::Stored(connection.resume_queue(), stored);
                None
            }
            other => {
                *slot = other;
                None
            }
        }
    }

    /// Attaches the message, which is sent again, to `connection`.
    pub(crate) fn move_to(&self, connection: &Arc<impl DeferredConn + 'static>) {
        if let DeferredSlot::Undecided(current) = &mut *lock(&self.slot) {
            *current = downgrade(connection);
        }
    }

    /// Detaches the message from its connection, which has ended; the message may be sent again.
    pub(crate) fn park(&self) {
        if let DeferredSlot::Undecided(current) = &mut *lock(&self.slot) {
            *current = Weak::<NoConn>::new();
        }
    }

    /// Ends the message with its connection. Returns it if the core has decided to receive it; otherwise reports to the
    /// core that the payload is lost.
    pub(crate) fn abandon(&self) -> Option<ArrivingMessage> {
        let before = std::mem::replace(&mut *lock(&self.slot), DeferredSlot::Lost);
        match before {
            DeferredSlot::Decided(RxAction::Deliver(message)) => Some(message),
            DeferredSlot::Undecided(_) => {
                self.ni.upcalls.deferred_is_lost();
                None
            }
            _ => None,
        }
    }
}

impl DeferredRx for Deferred {
    /// Keeps the decision and has a thread of the driver carry it out, so that nothing is read or delivered on the calling
    /// thread, which may be in the middle of anything.
    fn resume(&self, action: RxAction) {
        if let Some((threads, resumed)) = self.decide(action) {
            threads.resume(resumed);
        }
    }

    fn resume_here(&self, action: RxAction) {
        if let Some((_, resumed)) = self.decide(action) {
            resumed.execute();
        }
    }

    fn is_lost(&self) -> bool {
        matches!(*lock(&self.slot), DeferredSlot::Lost)
    }
}

impl Deferred {
    /// Records the core's decision. Returns the payload to be processed now, with the queue of the threads that may do so.
    fn decide(&self, action: RxAction) -> Option<(Arc<dyn ResumeQueue>, Resumed)> {
        let mut slot = lock(&self.slot);
        let connection = match std::mem::replace(&mut *slot, DeferredSlot::Taken) {
            DeferredSlot::Undecided(connection) => {
                *slot = DeferredSlot::Decided(action);
                connection.upgrade()
            }
            DeferredSlot::Stored(threads, stored) if self.ni.begin_upcall() => {
                return Some((threads, Resumed { action, stored, ni: Arc::clone(&self.ni) }));
            }
            other => {
                *slot = if matches!(other, DeferredSlot::Stored(..)) { DeferredSlot::Taken } else { other };
                drop(slot);
                if let RxAction::Deliver(message) = action {
                    self.ni.upcalls.received(message, Err(Errno::Io));
                }
                return None;
            }
        };
        drop(slot);
        if let Some(connection) = connection {
            connection.schedule_receive();
        }
        None
    }
}

/// The connection type of a message that has none.
enum NoConn {}

impl DeferredConn for NoConn {
    fn schedule_receive(self: Arc<Self>) {}

    fn resume_queue(&self) -> Arc<dyn ResumeQueue> {
        match *self {}
    }
}

fn downgrade(connection: &Arc<impl DeferredConn + 'static>) -> Weak<dyn DeferredConn> {
    Arc::downgrade(connection) as Weak<dyn DeferredConn>
}

impl std::fmt::Debug for Deferred {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deferred").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quota_is_taken_from_and_given_back_to_both_shares() {
        let (peer, other, node) = (Arc::default(), Arc::default(), Arc::default());
        let taken = |share: &Arc<AtomicUsize>| share.load(Ordering::Acquire);
        let first = Quota::take(1 << 20, &peer, &node);
        assert!(first.is_some());
        // With the overhead that counts for each message, two of the largest do not fit.
        assert!(Quota::take(1 << 20, &peer, &node).is_none());
        assert!(Quota::take(1 << 20, &other, &node).is_some());
        assert_eq!(
            (taken(&peer), taken(&other), taken(&node)),
            ((1 << 20) + OVERHEAD, 0, (1 << 20) + OVERHEAD)
        );
        drop(first);
        assert_eq!((taken(&peer), taken(&node)), (0, 0));
        assert!(Quota::take(usize::MAX, &peer, &node).is_none());
    }

    #[test]
    fn peers_share_the_quota_of_the_node_and_empty_messages_count() {
        let node = Arc::default();
        let peers: Vec<Arc<AtomicUsize>> = (0..100).map(|_| Arc::default()).collect();
        let taken: Vec<_> = peers.iter().filter_map(|peer| Quota::take(1 << 20, peer, &node)).collect();
        assert_eq!(taken.len(), 63);
        assert_eq!(peers.iter().filter(|peer| peer.load(Ordering::Acquire) > 0).count(), 63);
        drop(taken);
        let empty: Vec<_> = (0..10_000).map_while(|_| Quota::take(0, &peers[0], &node)).collect();
        assert_eq!(empty.len(), QUOTA_PER_PEER / OVERHEAD);
    }
}
