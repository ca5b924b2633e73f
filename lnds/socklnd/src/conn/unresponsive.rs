//! Checks of connections with something under way, which detect a peer that becomes unresponsive.

use crate::conn::outgoing::Occupied;
use crate::conn::watch::{CHECK_INTERVAL, Liveness, Watch};
use crate::conn::{ConnPhase, Connection};
use crate::decide::unresponsive::{Finding, TcpState, assess, is_lost_by_peer, is_response_late};
use crate::scheduler::Pollable;
use crate::sync::lock;
use crate::tcp;
use lnet_core::Time;
use lnet_core::lnd::MAX_CUT_THROUGH;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Time after the last received byte within which a connection is not suspected to be unresponsive, and only checked for a
/// late response.
const RECENTLY: Duration = Duration::from_millis(300);

impl Connection {
    /// Puts the connection into the watch list after a write: until the bytes have arrived, the check must notice an
    /// unresponsive peer.
    pub(crate) fn note_written(self: &Arc<Self>) {
        self.progress.progressed.store(true, Ordering::Relaxed);
        if !self.watched.load(Ordering::SeqCst) && !self.watched.swap(true, Ordering::SeqCst) {
            self.watch_list.add(self);
        }
    }

    /// Checks the connection. Returns whether it is to be checked again, and the result. The peer may be unresponsive for
    /// `limit`.
    pub(crate) fn check(&self, now: Time, limit: Duration) -> (bool, Option<Liveness>) {
        if self.phase() != ConnPhase::Open {
            return (false, None);
        }
        if let Some(found) = self.check_starved(now) {
            return found;
        }
        if limit.is_zero() {
            return (false, None);
        }
        let watch = self.update_watch(now);
        let quiet_for = now.since(watch.received);
        if quiet_for < RECENTLY && !watch.unresponsive {
            self.suspect(None);
            return (true, self.check_late(now, quiet_for));
        }
        // The mark is cleared before TCP is asked for its state: a thread that writes from now on puts the connection into
        // the list again.
        self.watched.store(false, Ordering::SeqCst);
        let Ok(mut tcp) = tcp::state(self.fd()) else { return (false, None) };
        // Arriving bytes are no proof: the path may work in one direction only.
        let is_stuck = tcp.outstanding && (tcp.retransmissions > 0 || tcp.probes > 0);
        tcp.outstanding |= self.has_unsent();
        let unacknowledged = now.since(lock(&self.watch).unacknowledged_since(now, tcp));
        let late = is_response_late(&tcp, unacknowledged);
        let recovered = if is_stuck || late { None } else { self.take_recovered() };
        if tcp.outstanding && tcp.last_received >= RECENTLY.min(limit) {
            self.suspect(Some(now));
        } else {
            self.suspect(None);
        }
        let suspected = lock(&self.watch).suspected;
        let suspected = suspected.map_or(Duration::ZERO, |since| now.since(since));
        let finding = assess(tcp, suspected, unacknowledged, limit);
        if finding == Finding::Nothing {
            if !self.awaits_acks() {
                return (false, recovered);
            }
            self.owner.probe(now);
        }
        if self.watched.swap(true, Ordering::SeqCst) {
            // The connection is in the list again already.
            return (false, recovered);
        }
        let mut watch = lock(&self.watch);
        let is_undecided = finding == Finding::MaybeUnresponsive;
        watch.undecided = is_undecided.then(|| watch.undecided.unwrap_or(now));
        // If an earlier check was undecided, a response would have arrived since.
        let is_decided =
            watch.undecided.is_some_and(|at| now.since(at) >= CHECK_INTERVAL.max(tcp.late_after()));
        if finding == Finding::Unresponsive || is_decided {
            watch.unresponsive = true;
            return (true, Some(Liveness::Unresponsive));
        }
        if finding == Finding::Unacknowledged {
            watch.unresponsive = true;
            return (true, Some(Liveness::Unacknowledged));
        }
        watch.late = late;
        (true, recovered.or_else(|| late.then_some(Liveness::Late)))
    }

    /// Checks whether the socket waits for a message that is still arriving, as [`Connection::check`] returns it; `None` if not.
    fn check_starved(&self, now: Time) -> Option<(bool, Option<Liveness>)> {
        let occupied = self.tx.lock().occupied();
        let mut watch = lock(&self.watch);
        let Occupied::ByArriving { id, starved } = occupied else {
            watch.occupied = watch.occupied.filter(|_| occupied == Occupied::Unknown);
            return None;
        };
        let since = watch.occupied.filter(|(known, _)| *known == id).map_or(now, |(_, since)| since);
        watch.occupied = Some((id, since));
        starved.then(|| match now.since(since) >= MAX_CUT_THROUGH {
            true => (false, Some(Liveness::Starved)),
            false => (true, None),
        })
    }

    /// Returns whether a connection on which bytes have arrived lately, the last of them `quiet_for` ago, has become late
    /// or is no longer late. TCP is asked only if no bytes have come since the last check.
    fn check_late(&self, now: Time, quiet_for: Duration) -> Option<Liveness> {
        let tcp = match quiet_for < CHECK_INTERVAL {
            true => TcpState::default(),
            false => tcp::state(self.fd()).ok()?,
        };
        let watch = &mut *lock(&self.watch);
        let unacknowledged = now.since(watch.unacknowledged_since(now, tcp));
        let was_late = std::mem::replace(&mut watch.late, is_response_late(&tcp, unacknowledged));
        match (was_late, watch.late) {
            (_, true) => Some(Liveness::Late),
            (true, false) => Some(Liveness::Responsive),
            (false, false) => None,
        }
    }

    /// Returns the report that something has arrived, if the connection was unresponsive or late before.
    fn take_recovered(&self) -> Option<Liveness> {
        let watch = &mut *lock(&self.watch);
        let was_late = std::mem::take(&mut watch.late);
        (std::mem::take(&mut watch.unresponsive) || was_late).then_some(Liveness::Responsive)
    }

    /// Sets the begin of the suspicion to `now`, unless there is one already; `None` ends the suspicion.
    fn suspect(&self, now: Option<Time>) {
        let mut watch = lock(&self.watch);
        watch.suspected = now.map(|now| watch.suspected.unwrap_or(now));
        watch.surplus_connect = watch.surplus_connect.filter(|_| now.is_some());
    }

    /// Notes that the peer has requested a connection that it has, as if it had none. Counts only while this one is
    /// suspected.
    pub(crate) fn note_surplus_connect(&self, now: Time) {
        let mut watch = lock(&self.watch);
        if watch.suspected.is_some() {
            watch.surplus_connect.get_or_insert(now);
        }
    }

    /// Whether the peer has lost this unresponsive connection: its surplus connects arrive.
    pub(crate) fn is_lost_by_peer(&self, now: Time, limit: Duration) -> bool {
        let Watch { suspected, surplus_connect, .. } = *lock(&self.watch);
        let ago = |since: Time| now.since(since);
        suspected
            .zip(surplus_connect)
            .is_some_and(|(since, connect)| is_lost_by_peer(ago(since), ago(connect), limit))
    }

    /// Whether TCP has sent bytes again, and the peer's system has acknowledged none of them: an outage, which no check may have found yet.
    pub(crate) fn is_unacknowledged(&self) -> bool {
        tcp::state(self.fd()).is_ok_and(|tcp| tcp.in_flight && tcp.retransmissions > 0)
    }

    /// Whether anything has arrived from the peer within `limit`, as TCP measures it.
    pub(crate) fn is_responsive(&self, limit: Duration) -> bool {
        tcp::state(self.fd()).is_ok_and(|tcp| tcp.last_received < limit)
    }
}
