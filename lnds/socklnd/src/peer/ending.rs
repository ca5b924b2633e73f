//! The end of a peer's connections, and the periodic scan.

use super::{BulkByControl, Listing, Peer, PeerState, WaitingMessage};
use crate::conn::Connection;
use crate::decide::choose::TxKind;
use crate::proto::ConnectionType;
use lnd_common::conn_error::{BytesSent, ConnError};
use lnd_common::connect_schedule::ConnectSchedule;
use lnet_core::{Errno, Time};
use lnet_log::LogClass;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Minimum time between two keep-alives to a peer.
const KEEPALIVE_PAUSE: Duration = Duration::from_secs(10);

/// Minimum time between two probes of a peer that owes delivery ACKs and sends nothing.
const PROBE_PAUSE: Duration = Duration::from_millis(500);

/// Time in which a peer that connects makes its connections for bulk, even if it has to try them several times.
const BULK_CONNECTIONS_DUE: Duration = Duration::from_secs(10);

impl Peer {
    /// See [`crate::conn::ConnOwner::end`].
    pub(crate) fn end_because_of(&self, culprit: &Arc<Connection>, conn_error: ConnError) {
        match self.detach(Some(culprit)) {
            Some(connections) => self.finish(connections, conn_error),
            // The connection has been detached before.
            None => culprit.close(conn_error),
        }
    }

    /// Ends all connections to the peer.
    pub(crate) fn end_all(&self, conn_error: ConnError) {
        if let Some(connections) = self.detach(None) {
            self.finish(connections, conn_error);
        }
    }

    /// See [`crate::conn::ConnOwner::closed_by_peer`].
    pub(super) fn peer_has_closed(&self, culprit: &Arc<Connection>, errno: Errno, can_read: bool) {
        if self.replaced_has_ended(culprit, can_read) || self.ends_early(culprit, can_read) {
            return;
        }
        // A node that does not replace connections by such of version 4 ends them first.
        let is_replaced = self.is_to_be_replaced();
        let conn_error = if is_replaced { ConnError::Replaced } else { ConnError::ClosedByPeer(errno) };
        let Some(connections) = self.detach(Some(culprit)) else {
            if can_read {
                culprit.drain(conn_error);
            } else {
                culprit.close(conn_error);
            }
            return;
        };
        self.ni.counts.closed_by_peer.add();
        if is_replaced {
            self.move_unsent(&connections);
        }
        let mut unfinished = 0;
        for connection in &connections {
            unfinished += connection.drain(conn_error);
        }
        // Messages whose delivery ACKs have been received already need not fail.
        for connection in &connections {
            if can_read || !Arc::ptr_eq(connection, culprit) {
                connection.run_receive();
            }
        }
        for connection in &connections {
            unfinished += connection.fail_unacked(conn_error);
        }
        self.log_closed_under_way(if is_replaced { 0 } else { unfinished });
        if !can_read {
            culprit.close(conn_error);
        }
        self.forget_leaving(&connections);
        self.report_end(&connections);
        self.retire();
    }

    /// See [`crate::conn::ConnOwner::abandoned_by_peer`].
    pub(super) fn peer_has_abandoned(&self, connection: &Arc<Connection>) {
        {
            let mut state = self.state.change();
            state.connections.retain(|slot| !Arc::ptr_eq(&slot.connection, connection));
            if state.connections.is_empty() {
                state.forget_incarnation();
            }
            self.recount(&mut state);
        }
        connection.close(ConnError::ClosedByPeer(Errno::ConnectionReset));
        self.report_end(std::slice::from_ref(connection));
        self.retire();
    }

    /// Logs that the peer has closed its connections while messages to it were in flight. Connections that are closed without
    /// messages in flight are not logged.
    fn log_closed_under_way(&self, unfinished: usize) {
        if unfinished == 0 || !self.ni.upcalls.is_of_node(self.id.nid) {
            return;
        }
        let peer = self.id.nid;
        self.ni.shared.log(
            LogClass::PeerClosed,
            peer,
            format_args!(
                "{peer}: closed its connections (messages to it under way: {unfinished}); those that may be sent again \
                 take other paths or wait for a new connection"
            ),
        );
    }

    fn finish(&self, connections: Vec<Arc<Connection>>, conn_error: ConnError) {
        for connection in &connections {
            connection.close(conn_error);
        }
        self.forget_leaving(&connections);
        self.report_end(&connections);
        self.retire();
    }

    /// Reports to the core that connections to the peer have ended.
    fn report_end(&self, ended: &[Arc<Connection>]) {
        if !ended.is_empty()
            && let Some(lnet_ni) = self.ni.lnet_ni()
        {
            self.ni.upcalls.connections_ended(&lnet_ni, self.id.nid);
        }
    }

    fn forget_leaving(&self, ended: &[Arc<Connection>]) {
        let has_ended = |connection: &Arc<Connection>| ended.iter().any(|one| Arc::ptr_eq(one, connection));
        self.state.change().leaving.retain(|connection| !has_ended(connection));
    }

    /// Detaches the connections, if `culprit` is still one of them, and adds them to those that are leaving. The peer's
    /// incarnation is forgotten with its connections.
    fn detach(&self, culprit: Option<&Arc<Connection>>) -> Option<Vec<Arc<Connection>>> {
        let mut state = self.state.change();
        if let Some(culprit) = culprit
            && !state.connections.iter().any(|slot| Arc::ptr_eq(&slot.connection, culprit))
        {
            return None;
        }
        let PeerState { connections, replaced, .. } = &mut *state;
        let connections: Vec<_> =
            connections.drain(..).map(|slot| slot.connection).chain(replaced.take()).collect();
        state.leaving.extend(connections.iter().cloned());
        state.forget_incarnation();
        self.recount(&mut state);
        Some(connections)
    }

    /// Follows an end of connections: connects to the peer if a message waits, and leaves the NI's table if there is
    /// nothing to remember.
    pub(crate) fn retire(&self) {
        let idle = {
            let mut state = self.state.change();
            if !state.waiting.is_empty() && !state.is_removed() {
                // Messages may have waited for a peer that had connected to complete its connections.
                self.connect_if_not_connected(&mut state);
                if state.request_connect() {
                    drop(state);
                    return self.request_connect();
                }
            }
            let idle = state.listing != Listing::Pinned
                && state.connections.is_empty()
                && state.waiting.is_empty()
                && state.replaced.is_empty()
                && state.schedule.idle()
                && !state.schedule.has_failed();
            if idle {
                state.listing = Listing::Removed;
            }
            idle
        };
        if idle {
            // Senders that still have the peer look it up in the table again, and may find it there until now.
            self.owner.forget_peer(self);
        }
    }

    /// Ends the peer with its NI: no message waits, no new one is accepted.
    pub(crate) fn shutdown(&self) {
        self.state.change().listing = Listing::Removed;
        // The ACKs are sent, so that the peer does not wait for them in vain.
        self.send_pending_acks();
        self.send_queues();
        self.give_back_waiting(ConnError::Shutdown);
        self.end_all(ConnError::Shutdown);
    }

    /// Fails the messages that are not known to have arrived, and gives up a connect in progress, because nothing reaches
    /// the peer at this time. The next message connects again.
    pub(crate) fn give_up(&self, conn_error: ConnError) {
        let connecting = {
            let mut state = self.state.change();
            let connecting = state.schedule.connecting(self.ni.shared.now()).is_some();
            state.schedule = ConnectSchedule::default();
            state.failed_fast = false;
            connecting
        };
        if connecting && let Some(this) = self.this.upgrade() {
            self.owner.abandon_connect(this);
        }
        self.give_back_waiting(conn_error);
        self.end_all(conn_error);
    }

    /// See [`crate::conn::ConnOwner::probe`].
    pub(super) fn send_probe(&self, now: Time) {
        let connections: Vec<_> = {
            let mut state = self.state.change();
            if state.last_probe.is_some_and(|at| now.since(at) < PROBE_PAUSE) {
                return;
            }
            state.last_probe = Some(now);
            state.connections.iter().map(|slot| Arc::clone(&slot.connection)).collect()
        };
        for connection in connections {
            connection.send_keepalive();
        }
    }

    /// Fails messages that have waited too long, and sends a keep-alive after a long pause. To be called periodically.
    /// Returns whether no message waits.
    pub(crate) fn scan(&self, now: Time) -> bool {
        let timeout = self.ni.sock_timeout();
        let late = |since: Time| now.since(since) >= timeout;
        let (expired, overdue, is_unresponsive, is_idle) = {
            let mut state = self.state.change();
            let upcalls = &self.ni.upcalls;
            let is_over = |waiting: &WaitingMessage| {
                let WaitingMessage { message, since } = waiting;
                late(*since) || upcalls.is_late(message) || message.is_given_up()
            };
            let (expired, waiting): (VecDeque<_>, VecDeque<_>) =
                std::mem::take(&mut state.waiting).into_iter().partition(is_over);
            state.waiting = waiting;
            let overdue = state.connections.iter().map(|slot| &slot.connection);
            let overdue: Vec<_> = overdue.filter(|it| it.is_ack_overdue(now)).cloned().collect();
            let is_idle = state.waiting.is_empty() && !state.unresponsive;
            (expired, overdue, state.unresponsive, is_idle)
        };
        for WaitingMessage { message, .. } in expired {
            self.ni.finalize(message, Err(ConnError::WaitedTooLong.failure(BytesSent::Nothing)));
        }
        // An outage is no reason to end connections that may survive it: the peer's next message would find no connection.
        let outlasts =
            |it: &Arc<Connection>| it.terms.outlasts && (is_unresponsive || it.is_unacknowledged());
        if !overdue.iter().all(outlasts) {
            self.ni.note_stalled(self.id, "no delivery ACKs received");
            self.end_all(ConnError::Stalled);
        } else {
            overdue.iter().for_each(|connection| connection.abandon_unacked(ConnError::Stalled));
            self.keep_alive(now);
        }
        self.log_bulk_by_control(now);
        self.end_replaced(now) && is_idle
    }

    /// Logs, once, that bulk goes by a connection for small messages because the peer, which connects, has made no other. If its connects for
    /// bulk go to a port of their own this node sees nothing of them.
    fn log_bulk_by_control(&self, now: Time) {
        {
            let mut state = self.state.change();
            let Some(BulkByControl { since, logged: false }) = state.bulk_by_control else { return };
            if now.since(since) < BULK_CONNECTIONS_DUE || state.active {
                return;
            }
            let kinds = state.connections.iter().map(|slot| slot.connection.terms.kind);
            let has_bulk = kinds.clone().any(|kind| kind != ConnectionType::Control);
            state.bulk_by_control = (!has_bulk).then_some(BulkByControl { since, logged: true });
            if has_bulk {
                return;
            }
        }
        if !self.ni.upcalls.is_of_node(self.id.nid) {
            return;
        }
        let config = &self.ni.shared.config;
        let ports: Vec<String> = config.ports().map(|port| port.to_string()).collect();
        self.ni.shared.log(
            LogClass::BulkByControl,
            self.id,
            format_args!(
                "{}: no connection for bulk (the peer has made none; with an accept_port_bulk of its own it tries a port other than {}); \
                 bulk goes by its connection for small messages",
                self.id,
                ports.join(" and ")
            ),
        );
    }

    /// Sends a NOOP if nothing has been received for a long time (wire-tcp 3.6).
    fn keep_alive(&self, now: Time) {
        let config = &self.ni.shared.config;
        if config.keepalive.is_zero() {
            return;
        }
        let connection = {
            let mut state = self.state.change();
            let received = state.connections.iter().map(|slot| slot.connection.last_received()).max();
            let is_idle = received.is_some_and(|received| now.since(received) >= config.keepalive);
            let pause = KEEPALIVE_PAUSE.min(config.keepalive);
            let lately = state.last_keepalive.is_some_and(|at| now.since(at) < pause);
            if !is_idle || lately {
                return;
            }
            let Some(connection) = state.choose(TxKind::Keepalive, config.min_bulk) else { return };
            connection
        };
        if connection.send_keepalive() {
            self.ni.counts.keepalives.add();
            self.state.change().last_keepalive = Some(now);
        }
    }
}
