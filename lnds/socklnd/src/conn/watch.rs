//! Progress of a connection, and the list of connections that are watched.
//!
//! A connection is in the list from a write on until all that was written has been acknowledged. A connection with nothing
//! under way needs no watch.

use crate::conn::{ConnPhase, Connection};
use crate::decide::unresponsive::TcpState;
use crate::sync::lock;
use crate::wake::Wake;
use lnd_common::message_id::MessageId;
use lnet_core::Time;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// Interval at which the connections in the list are checked.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum duration of one message, in units of the longest time that may pass between two of its bytes.
const SLOWEST: u32 = 8;

/// Times at which scans last saw a connection make progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    /// The time when bytes last arrived.
    pub(crate) received: Time,
    /// The time when bytes last left, or no bytes were waiting to leave.
    pub(crate) progressed: Time,
    /// The number of the message that was arriving, and since when.
    pub(crate) arriving: (u64, Time),
    /// The number of messages that had left, and the time since which none of the waiting messages has left.
    pub(crate) leaving: (u64, Time),
    /// The time since which something has been under way without a response.
    pub(crate) suspected: Option<Time>,
    /// The number of bytes that had been acknowledged, and the time since which no more have been although some are
    /// outstanding.
    pub(crate) unacknowledged: Option<(u64, Time)>,
    /// The time at which the peer, under suspicion, first asked for a connection that it has.
    pub(crate) surplus_connect: Option<Time>,
    /// The time since which checks cannot tell whether the peer is unresponsive.
    pub(crate) undecided: Option<Time>,
    /// The ID of the message that has been begun while it arrives, and the time of the first check that found it so.
    pub(crate) occupied: Option<(MessageId, Time)>,
    /// Whether the last check found the connection late.
    pub(crate) late: bool,
    /// Whether the last check found the peer unresponsive.
    pub(crate) unresponsive: bool,
}

/// The result of a check of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    /// A message in flight has to be sent again, or is not acknowledged in time: the peer may be unresponsive.
    Late,
    /// Nothing arrives from the peer.
    Unresponsive,
    /// Bytes arrive, but sent ones are not acknowledged.
    Unacknowledged,
    /// The sender of a message that is sent on while it arrives has stalled.
    Starved,
    /// Bytes have arrived after one of these results.
    Responsive,
}

impl Watch {
    pub(crate) const fn new(now: Time) -> Self {
        Self {
            received: now,
            progressed: now,
            arriving: (0, now),
            leaving: (0, now),
            suspected: None,
            unacknowledged: None,
            surplus_connect: None,
            undecided: None,
            occupied: None,
            late: false,
            unresponsive: false,
        }
    }

    /// Returns the time since which none of the outstanding bytes has been acknowledged, as far as checks have seen.
    pub(crate) fn unacknowledged_since(&mut self, now: Time, tcp: TcpState) -> Time {
        let since = self.unacknowledged.filter(|(acknowledged, _)| *acknowledged == tcp.acknowledged);
        let (_, since) = *since.as_ref().unwrap_or(&(tcp.acknowledged, now));
        self.unacknowledged = tcp.outstanding.then_some((tcp.acknowledged, since));
        since
    }
}

impl Connection {
    /// Whether something on the connection has taken too long (wire-tcp 3.9). To be called periodically.
    pub(crate) fn is_overdue(&self, now: Time) -> bool {
        let watch = self.update_watch(now);
        let timeout = self.ni.sock_timeout();
        let late = |since| now.since(since) >= timeout;
        // A peer that sends or takes a byte now and then uses the memory of others.
        let too_slow = |since| now.since(since) >= timeout * SLOWEST;
        match self.phase() {
            ConnPhase::Open => {
                watch.arriving.0 != 0 && (late(watch.received) || too_slow(watch.arriving.1))
                    || self.has_unsent() && (late(watch.progressed) || too_slow(watch.leaving.1))
            }
            ConnPhase::Draining => late(watch.received),
            ConnPhase::Closed => false,
        }
    }

    /// Updates the times of last progress: counters that have changed since the last call count as progress at `now`.
    pub(super) fn update_watch(&self, now: Time) -> Watch {
        let mut watch = lock(&self.watch);
        if self.progress.received.swap(false, Ordering::Relaxed) {
            watch.received = now;
        }
        if self.progress.progressed.swap(false, Ordering::Relaxed) || !self.has_unsent() {
            watch.progressed = now;
        }
        let midway = self.progress.midway.load(Ordering::Relaxed);
        if midway == 0 || midway != watch.arriving.0 {
            watch.arriving = (midway, now);
        }
        let written = self.progress.written.load(Ordering::Relaxed);
        if written != watch.leaving.0 || !self.has_unsent() {
            watch.leaving = (written, now);
        }
        *watch
    }

    /// The time when bytes last arrived, as of the last scan.
    pub(crate) fn last_received(&self) -> Time {
        lock(&self.watch).received
    }

    /// Whether nothing has moved since the last scan, and nothing is waiting to.
    pub(crate) fn is_idle(&self, now: Time) -> bool {
        let watch = *lock(&self.watch);
        self.phase() == ConnPhase::Open
            && watch.received < now
            && watch.arriving.0 == 0
            && !self.has_unsent()
            && !self.awaits_acks()
    }
}

/// Connections, of type `C`, on which something may be under way.
#[derive(Debug)]
pub(crate) struct WatchList<C> {
    list: Mutex<Vec<Weak<C>>>,
    /// Whether the connecting thread checks the list, every [`CHECK_INTERVAL`].
    active: AtomicBool,
    /// Wakes that thread.
    wake: Arc<Wake>,
}

impl<C> WatchList<C> {
    pub(crate) fn new(wake: Arc<Wake>) -> Self {
        Self { list: Mutex::default(), active: AtomicBool::new(false), wake }
    }

    /// Adds `connection`, which has been written to and is not in the list.
    pub(crate) fn add(&self, connection: &Arc<C>) {
        lock(&self.list).push(Arc::downgrade(connection));
        if !self.active.swap(true, Ordering::SeqCst) {
            self.wake.wake();
        }
    }

    /// Whether there is anything to check.
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::SeqCst)
    }

    /// Checks all connections. `check` returns whether a connection stays in the list, and the result.
    pub(crate) fn check_all<F>(
        &self,
        mut check: impl FnMut(&Arc<C>) -> (bool, Option<F>),
    ) -> Vec<(Arc<C>, F)> {
        let mut list = std::mem::take(&mut *lock(&self.list));
        let mut all = Vec::new();
        list.retain(|connection| {
            let Some(connection) = connection.upgrade() else { return false };
            let (stays, found) = check(&connection);
            all.extend(found.map(|found| (connection, found)));
            stays
        });
        let mut added = lock(&self.list);
        // The vector with the larger capacity is kept.
        list.append(&mut added);
        *added = list;
        // Under the lock: a thread that adds a connection after this wakes the checking thread.
        self.active.store(!added.is_empty(), Ordering::SeqCst);
        all
    }
}
