//! Handling of a peer that has become late or unresponsive: reports to the core, and other paths for messages.
//!
//! A peer that detects duplicates loses its connections as soon as there is another path for everything. For
//! any other peer TCP keeps the messages that have begun to leave; the others wait, or take another path.

use super::{Peer, UnresponsiveAction, WaitingMessage};
use crate::conn::Connection;
use crate::conn::watch::Liveness;
use crate::decide::unresponsive::MIN_LATE;
use crate::proto::ConnectionType;
use lnd_common::conn_error::{BytesSent, ConnError};
use lnet_core::Time;
use lnet_core::message::TakenCredits;
use lnet_log::LogClass;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Minimum time between two reports to the core that a path is unresponsive.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);
/// Minimum time between two probes of connections that a peer has and asks for again. Doubles with each probe.
const FIRST_SURPLUS_PAUSE: Duration = Duration::from_millis(500);
const MAX_SURPLUS_PAUSE: Duration = Duration::from_secs(30);

impl Peer {
    /// See [`crate::conn::ConnOwner::on_liveness`].
    pub(super) fn act_on_liveness(
        &self,
        connection: &Arc<Connection>,
        found: Liveness,
        now: Time,
        limit: Duration,
    ) -> bool {
        let receives = match found {
            Liveness::Responsive => {
                self.note_responsive();
                return false;
            }
            Liveness::Late => {
                if !self.is_responsive(MIN_LATE) {
                    self.note_late();
                }
                return false;
            }
            Liveness::Starved => {
                self.ni.note_stalled(self.id, "the sender of a message that it waits for has stalled");
                self.end_because_of(connection, ConnError::Abandoned);
                return false;
            }
            Liveness::Unresponsive if self.is_responsive(limit) => return false,
            Liveness::Unresponsive => false,
            Liveness::Unacknowledged => true,
        };
        if !receives && connection.is_lost_by_peer(now, limit) {
            self.ni.note_stalled(self.id, "the peer has lost it, and connects again");
            self.end_all(ConnError::Stalled);
            return false;
        }
        let action = self.note_unresponsive(now, receives);
        self.log_unresponsive(action, limit, receives);
        if action == UnresponsiveAction::GiveUp {
            self.give_up(ConnError::Unresponsive);
        }
        !matches!(action, UnresponsiveAction::Nothing | UnresponsiveAction::Stay { is_new: false, moved: 0 })
    }

    /// Reports to the core that the path is late, so that new messages take other paths, and do not wait for the credits of
    /// those on this one: something is in flight, or waits for a connect, and nothing has been heard for a short while.
    pub(crate) fn note_late(&self) {
        let Some(ni) = self.ni.lnet_ni() else { return };
        if !std::mem::replace(&mut self.state.change().late, true) {
            log::debug!(
                "{}: nothing heard for {} ms; new messages take other paths",
                self.id,
                MIN_LATE.as_millis()
            );
        }
        if self.ni.upcalls.path_is_late(&ni, self.id.nid) {
            let mut stuck = self.take_credits_of_connections();
            stuck.extend(
                self.state.change().waiting.iter_mut().filter_map(|waiting| waiting.message.take_credits()),
            );
            stuck.into_iter().for_each(|credits| self.ni.upcalls.release_credits(credits));
        }
    }

    /// Notes that a connection has been established.
    pub(super) fn note_connected(&self) {
        if std::mem::take(&mut self.state.change().late)
            && let Some(ni) = self.ni.lnet_ni()
        {
            self.ni.upcalls.path_is_responsive(&ni, self.id.nid);
        }
    }

    /// Reports to the core that the path is unresponsive, and moves messages to another path if they have one: something
    /// has been sent, or waits for a connect, and nothing arrives. `receives`: something arrives, so that the connections
    /// may soon work again.
    pub(crate) fn note_unresponsive(&self, now: Time, receives: bool) -> UnresponsiveAction {
        let (is_new, deduplicates) = {
            let mut state = self.state.change();
            if state.last_report.is_some_and(|at| now.since(at) < REPORT_INTERVAL) {
                return UnresponsiveAction::Nothing;
            }
            state.last_report = Some(now);
            let connected = !state.connections.is_empty();
            (!std::mem::replace(&mut state.unresponsive, connected), state.deduplicates())
        };
        let Some(ni) = self.ni.lnet_ni() else { return UnresponsiveAction::Nothing };
        let all_may_move = self.ni.upcalls.path_is_unresponsive(&ni, self.id.nid);
        if all_may_move && deduplicates && !receives {
            return UnresponsiveAction::GiveUp;
        }
        let moved = self.withdraw(ConnError::Unresponsive);
        if !deduplicates {
            for credits in self.take_credits_of_connections() {
                self.ni.upcalls.release_credits(credits);
            }
        }
        UnresponsiveAction::Stay { is_new, moved }
    }

    fn log_unresponsive(&self, action: UnresponsiveAction, limit: Duration, receives: bool) {
        let (peer, ms) = (self.id, limit.as_millis());
        let what = if receives { "acknowledged" } else { "received" };
        match action {
            UnresponsiveAction::Nothing | UnresponsiveAction::Stay { is_new: false, moved: 0 } => return,
            UnresponsiveAction::Stay { moved: 0, .. } => {
                log::debug!("{peer}: unresponsive (nothing {what} for {ms} ms); its connections stay");
                return;
            }
            UnresponsiveAction::GiveUp => self.ni.shared.log(
                LogClass::PeerUnresponsive,
                peer,
                format_args!(
                    "{peer}: unresponsive (nothing received for {ms} ms); closing its connections, messages take \
                     other paths"
                ),
            ),
            UnresponsiveAction::Stay { moved, .. } => self.ni.shared.log(
                LogClass::PeerUnresponsive,
                peer,
                format_args!(
                    "{peer}: unresponsive (nothing {what} for {ms} ms); {moved} unsent messages take other paths, \
                     its connections stay"
                ),
            ),
        }
        self.ni.counts.unresponsive.add();
    }

    /// Whether anything has arrived on any connection within `limit`, as TCP measures it.
    fn is_responsive(&self, limit: Duration) -> bool {
        self.open_connections().iter().any(|connection| connection.is_responsive(limit))
    }

    /// Notes that something has arrived from the peer.
    fn note_responsive(&self) {
        let (was_unresponsive, was_late) = {
            let state = &mut *self.state.change();
            (std::mem::take(&mut state.unresponsive), std::mem::take(&mut state.late))
        };
        if !was_unresponsive && !was_late {
            return;
        }
        log::debug!("{}: responsive again", self.id);
        if let Some(ni) = self.ni.lnet_ni() {
            self.ni.upcalls.path_is_responsive(&ni, self.id.nid);
        }
        if was_unresponsive {
            self.send_waiting();
        }
    }

    /// Moves messages to other paths: the core knows that nothing reaches the peer at this time. If the peer does not
    /// detect duplicates, messages that have begun to leave stay with TCP: the outage may be over soon.
    pub(crate) fn abort_tx(&self, conn_error: ConnError) {
        let stays = {
            let state = self.state.change();
            !state.connections.is_empty() && !state.deduplicates()
        };
        if stays {
            self.withdraw(conn_error);
        } else {
            self.give_up(conn_error);
        }
    }

    /// Gives back the messages of which nothing has left and that may take another path; returns their number. The others
    /// wait, and those on connections to a node that detects duplicates stay where they are.
    fn withdraw(&self, conn_error: ConnError) -> usize {
        let connections = self.open_connections();
        let no_dedup = connections.iter().filter(|connection| !connection.same_implementation());
        let queued: Vec<_> = no_dedup.flat_map(|connection| connection.withdraw()).collect();
        let since = self.ni.shared.now();
        let queued = queued.into_iter().map(|message| WaitingMessage { message, since });
        let waiting = std::mem::take(&mut self.state.change().waiting);
        let (mut still_waiting, mut moved) = (VecDeque::new(), 0);
        for waiting in queued.chain(waiting) {
            if self.ni.upcalls.may_change_path(&waiting.message) {
                moved += 1;
                self.ni.finalize(waiting.message, Err(conn_error.failure(BytesSent::Nothing)));
            } else {
                still_waiting.push_back(waiting);
            }
        }
        let removed = {
            let mut state = self.state.change();
            still_waiting.append(&mut state.waiting);
            state.waiting = still_waiting;
            state.is_removed()
        };
        if removed {
            self.give_back_waiting(ConnError::Shutdown);
        } else {
            // A connection may have been established meanwhile, or have ended.
            self.send_waiting();
            self.retire();
        }
        moved
    }

    /// Handles a request of the peer for a connection of this type, of which it has the maximum. If it is the type that a
    /// node requests first, the peer may have lost all its connections; if it is a bulk type, the peer only wants more than
    /// the maximum. Suspected connections are probed: the peer's system resets those that it has lost. `may_end`: whether the
    /// connecting process may also end connections.
    pub(crate) fn note_surplus_connect(&self, kind: ConnectionType, may_end: bool, now: Time) {
        if matches!(kind, ConnectionType::BulkIn | ConnectionType::BulkOut) {
            return;
        }
        let connections = self.open_connections();
        if may_end {
            connections.iter().for_each(|connection| connection.note_surplus_connect(now));
        }
        {
            let mut state = self.state.change();
            let pause = state.surplus_pause;
            if state.last_surplus_probe.is_some_and(|at| now.since(at) < pause) {
                return;
            }
            state.last_surplus_probe = Some(now);
            state.surplus_pause = (2 * pause).clamp(FIRST_SURPLUS_PAUSE, MAX_SURPLUS_PAUSE);
        }
        for connection in connections.iter().filter(|connection| connection.terms.kind == kind) {
            connection.send_keepalive();
        }
    }

    /// Takes the credits of the messages on the connections.
    fn take_credits_of_connections(&self) -> Vec<TakenCredits> {
        self.open_connections().iter().flat_map(|connection| connection.take_credits()).collect()
    }

    fn open_connections(&self) -> Vec<Arc<Connection>> {
        self.state.look().connections.iter().map(|slot| Arc::clone(&slot.connection)).collect()
    }
}
