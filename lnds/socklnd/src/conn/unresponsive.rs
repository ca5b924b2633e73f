//! Looking after connections on which something is under way, so that a peer that becomes unresponsive is noticed.
//!
//! A connection is in the list from a write on until a look finds that all has arrived. Where nothing is under way
//! there is nothing to look at.

use crate::conn::{Connection, Phase, Watch};
use crate::decide::unresponsive::{Finding, TcpState, is_lost, judge};
use crate::scheduler::Pollable;
use crate::sync::lock;
use crate::tcp;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// How often those in the list are looked at.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);
/// Who was heard so lately is not looked at more closely.
const RECENTLY: Duration = Duration::from_millis(300);

/// The connections on which something may be under way.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    list: Mutex<Vec<Weak<Connection>>>,
    /// Somebody looks at the list every [`INTERVAL`].
    looking: AtomicBool,
}

/// What a look at a connection may find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing is heard.
    Unresponsive,
    /// The peer is heard, but what is sent to it does not arrive.
    Unacknowledged,
    /// The same had been found before, and something has been heard since.
    Responsive,
}

/// What becomes of a connection in the list.
enum Look {
    Keep,
    Drop,
}

impl Watched {
    /// Something has been written to `connection`, which is not in the list. Whether the thread that looks must be
    /// told to.
    pub(crate) fn add(&self, connection: &Arc<Connection>) -> bool {
        lock(&self.list).push(Arc::downgrade(connection));
        !self.looking.swap(true, Ordering::SeqCst)
    }

    /// Whether there is anything to look at.
    pub(crate) fn is_looking(&self) -> bool {
        self.looking.load(Ordering::SeqCst)
    }

    /// Looks at all, and says which are unresponsive, have not been heard for `limit`, and which are so no more.
    pub(crate) fn look(&self, now: Instant, limit: Duration) -> Vec<(Arc<Connection>, Found)> {
        let mut list = std::mem::take(&mut *lock(&self.list));
        let mut all = Vec::new();
        list.retain(|connection| {
            let Some(connection) = connection.upgrade() else { return false };
            let (look, found) = connection.look(now, limit);
            all.extend(found.map(|found| (connection, found)));
            matches!(look, Look::Keep)
        });
        let mut added = lock(&self.list);
        // Of the two vectors the one that is looked at keeps its room.
        list.append(&mut added);
        *added = list;
        // Under the lock: who adds one after this tells that there is something to look at.
        self.looking.store(!added.is_empty(), Ordering::SeqCst);
        all
    }
}

impl Connection {
    /// Bytes have left. Until they have arrived the peer must not become unresponsive unnoticed.
    pub(crate) fn note_written(self: &Arc<Self>) {
        self.progressed.store(true, Ordering::Relaxed);
        if !self.watched.load(Ordering::SeqCst) && !self.watched.swap(true, Ordering::SeqCst) {
            self.ni().shared.connd.watch_tx(self);
        }
    }

    fn look(&self, now: Instant, limit: Duration) -> (Look, Option<Found>) {
        if self.phase() != Phase::Open || limit.is_zero() {
            return (Look::Drop, None);
        }
        let watch = self.update_watch(now);
        if now.saturating_duration_since(watch.heard) < RECENTLY && !watch.unresponsive {
            self.suspect(None);
            lock(&self.watch).unacknowledged = None;
            return (Look::Keep, None);
        }
        // Before it is asked what is under way: who writes from now on puts the connection into the list again.
        self.watched.store(false, Ordering::SeqCst);
        let Ok(mut tcp) = tcp::state(self.fd()) else { return (Look::Drop, None) };
        // That the peer is heard is not enough: what it does not acknowledge may get through in one direction only.
        let is_stuck = tcp.outstanding && (tcp.retransmissions > 0 || tcp.probes > 0);
        let heard = if is_stuck { None } else { self.responsive() };
        tcp.outstanding |= self.has_unsent();
        let unacknowledged = lock(&self.watch).unacknowledged_since(now, tcp);
        if tcp.outstanding && tcp.unheard >= RECENTLY.min(limit) {
            self.suspect(Some(now));
        } else {
            self.suspect(None);
        }
        let suspected = lock(&self.watch).suspected;
        let suspected = suspected.map_or(Duration::ZERO, |since| now - since);
        let finding = judge(tcp, suspected, now - unacknowledged, limit);
        if finding == Finding::Nothing {
            if !self.awaits_acks() {
                return (Look::Drop, heard);
            }
            self.peer.probe(now);
        }
        if self.watched.swap(true, Ordering::SeqCst) {
            // It is in the list again already.
            return (Look::Drop, heard);
        }
        let mut watch = lock(&self.watch);
        let doubted = std::mem::replace(&mut watch.doubted, finding == Finding::MaybeUnresponsive);
        // Where there was a doubt, an answer would have come since the last look.
        if finding == Finding::Unresponsive || finding == Finding::MaybeUnresponsive && doubted {
            watch.unresponsive = true;
            return (Look::Keep, Some(Found::Unresponsive));
        }
        if finding == Finding::Unacknowledged {
            watch.unresponsive = true;
            return (Look::Keep, Some(Found::Unacknowledged));
        }
        (Look::Keep, heard)
    }

    /// Something has been heard: that is news if it was unresponsive.
    fn responsive(&self) -> Option<Found> {
        std::mem::take(&mut lock(&self.watch).unresponsive).then_some(Found::Responsive)
    }

    /// Nothing is known against it, or something since `now`, if not for longer.
    fn suspect(&self, now: Option<Instant>) {
        let mut watch = lock(&self.watch);
        watch.suspected = now.map(|now| watch.suspected.unwrap_or(now));
        watch.called_again = watch.called_again.filter(|_| now.is_some());
    }

    /// The peer has called for a connection that it has, as if it had none. That says something if this one answers nothing.
    pub(crate) fn note_surplus_connect(&self, now: Instant) {
        let mut watch = lock(&self.watch);
        if watch.suspected.is_some() {
            watch.called_again.get_or_insert(now);
        }
    }

    /// Of one that is unresponsive: whether the peer has lost it, because its calls get through.
    pub(crate) fn is_lost(&self, now: Instant, limit: Duration) -> bool {
        let Watch { suspected, called_again, .. } = *lock(&self.watch);
        let ago = |since: Instant| now.saturating_duration_since(since);
        suspected.zip(called_again).is_some_and(|(since, call)| is_lost(ago(since), ago(call), limit))
    }

    /// Whether the peer was heard on this connection within `limit`, by what TCP knows.
    pub(crate) fn is_heard(&self, limit: Duration) -> bool {
        tcp::state(self.fd()).is_ok_and(|tcp| tcp.unheard < limit)
    }
}

impl Watch {
    /// Since when nothing has been acknowledged of what is outstanding, as far as was looked.
    fn unacknowledged_since(&mut self, now: Instant, tcp: TcpState) -> Instant {
        let since = self.unacknowledged.filter(|(acknowledged, _)| *acknowledged == tcp.acknowledged);
        let (_, since) = *since.as_ref().unwrap_or(&(tcp.acknowledged, now));
        self.unacknowledged = tcp.outstanding.then_some((tcp.acknowledged, since));
        since
    }
}
