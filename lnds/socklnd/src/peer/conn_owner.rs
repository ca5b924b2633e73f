//! Calls of a connection to the peer that owns it.

use super::Peer;
use crate::conn::watch::Liveness;
use crate::conn::{ConnOwner, Connection, SmallPath};
use lnd_common::conn_error::ConnError;
use lnd_common::message_id::{ConnSeq, MessageId};
use lnd_common::pending_acks::AckFor;
use lnet_core::lnd::SendOutcome;
use lnet_core::{Errno, OutgoingMessage, Pooled, Time};
use std::sync::Arc;
use std::time::Duration;

impl ConnOwner for Peer {
    fn end(&self, culprit: &Arc<Connection>, conn_error: ConnError) {
        self.end_because_of(culprit, conn_error);
    }

    fn closed_by_peer(&self, culprit: &Arc<Connection>, errno: Errno, can_read: bool) {
        self.peer_has_closed(culprit, errno, can_read);
    }

    fn abandoned_by_peer(&self, connection: &Arc<Connection>) {
        self.peer_has_abandoned(connection);
    }

    fn forget_connection(&self, id: u64) {
        self.owner.forget_connection(id);
    }

    fn send_ack(&self, connection: &Arc<Connection>, cookie: u64, of: AckFor) {
        self.give_ack(connection, cookie, of);
    }

    fn probe(&self, now: Time) {
        self.send_probe(now);
    }

    fn on_liveness(&self, connection: &Arc<Connection>, found: Liveness, now: Time, limit: Duration) -> bool {
        self.act_on_liveness(connection, found, now, limit)
    }

    fn connection_of(&self, conn_seq: ConnSeq) -> Option<Arc<Connection>> {
        self.state.look().all().find(|connection| connection.conn_seq == conn_seq).cloned()
    }

    fn connection_with(&self, message_id: MessageId) -> Option<Arc<Connection>> {
        let all: Vec<_> = self.state.look().all().cloned().collect();
        all.into_iter().find(|connection| connection.has_sent_again(message_id))
    }

    fn send_small(
        &self,
        connection: &Arc<Connection>,
        path: SmallPath,
        message: Pooled<OutgoingMessage>,
    ) -> Result<SendOutcome, Pooled<OutgoingMessage>> {
        match self.state.generation() == path.generation && self.is_for_small_path(&message) {
            true => self.hand_over(connection, path.request_ack, message),
            false => Err(message),
        }
    }
}
