//! Delivery ACKs to the peer. A node of this implementation gets them with the next message to it, or soon; a
//! kernel node at once.

use super::Peer;
use crate::conn::task::with_nearest;
use crate::conn::{ConnPhase, Connection, Scheduler};
use crate::decide::choose::TxKind;
use crate::decide::delivery_acks::pack;
use crate::late_schedule::LateSender;
use crate::proto::ConnectionType;
use crate::proto::frame::Cookies;
use lnd_common::pending_acks::{AckFor, Batch, NodePending, Wait};
use lnet_core::{Confirmation, MessageOrigin};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

impl Peer {
    /// Gives the delivery ACK for a message that has arrived on `connection`.
    pub(super) fn give_ack(&self, connection: &Arc<Connection>, cookie: u64, of: AckFor) {
        if connection.same_implementation() {
            return self.queue_ack(&connection.scheduler, cookie, of, connection.acks_of_node());
        }
        // Back on the same connection if that is for bulk towards this node, as the kernel does, or on the best for it
        // (wire-tcp 3.4).
        let is_open = connection.phase() == ConnPhase::Open;
        let other = if connection.terms.kind == ConnectionType::BulkIn && is_open {
            None
        } else {
            self.state.look().choose(TxKind::Ack, self.ni.shared.config.min_bulk)
        };
        self.ni.counts.acks.add();
        self.ni.counts.ack_noops.add();
        other.as_ref().unwrap_or(connection).transmit_noop(Cookies { request: 0, ack: cookie });
    }

    /// Confirms a message that came from the peer, in the incarnation that it has now, if it has a connection.
    pub(crate) fn confirm(&self, named: MessageOrigin, confirmation: Confirmation) {
        let connection = self.state.look().choose(TxKind::Ack, self.ni.shared.config.min_bulk);
        // Without the connection the ACK is dropped, and the peer sends the message again.
        let Some(connection) = connection.filter(|it| it.origin(named.id) == Some(named)) else { return };
        if connection.hold_confirmation(confirmation, named.id) {
            let is_listed = || self.confirmations_listed.load(Ordering::SeqCst);
            if !is_listed() && !self.confirmations_listed.swap(true, Ordering::SeqCst) {
                let this = Weak::clone(&self.this) as Weak<dyn LateSender>;
                // This thread's own scheduler need not be woken.
                with_nearest(&connection.scheduler, |scheduler| {
                    scheduler.note_late_sender(this, Wait::Short)
                });
            }
            return;
        }
        let ack = self.pending_acks.take_one();
        if ack.is_some() {
            self.ni.counts.acks.add();
        }
        let cookies = Cookies { request: named.id.get(), ack: ack.unwrap_or(0) };
        let sent = connection.transmit_confirmation(confirmation, cookies)
            || self
                .instead_of(&connection)
                .is_some_and(|other| other.transmit_confirmation(confirmation, cookies));
        if !sent {
            self.requeue_ack(ack);
        }
    }

    /// Puts a delivery ACK back whose message has not been sent.
    pub(super) fn requeue_ack(&self, ack: Option<u64>) {
        if let Some(ack) = ack {
            self.queue_ack(&self.owner.scheduler_of(self.id.nid), ack, AckFor::Answered, None);
        }
    }

    fn queue_ack(&self, scheduler: &Scheduler, cookie: u64, of: AckFor, node: Option<&Arc<NodePending>>) {
        // The peer's node has probably as many credits for this one as this has for a peer.
        let most = self.ni.shared.config.ni.peer_credits as usize / 2;
        let added = self.pending_acks.add(cookie, of, node.map(|node| (node, most)));
        if let Some(batch) = added.full {
            self.send_batch(batch, added.may_wait);
        }
        if let Some(wait) = added.list {
            scheduler.note_late_sender(Weak::clone(&self.this) as Weak<dyn LateSender>, wait);
        }
    }

    /// Sends delivery ACKs, which `may_wait` for messages of the thread.
    fn send_batch(&self, mut batch: Batch, may_wait: bool) {
        let acks = batch.acks();
        if acks.is_empty() {
            return;
        }
        let connection = {
            let mut state = self.state.look();
            let best = state.choose(TxKind::Ack, self.ni.shared.config.min_bulk);
            best.or_else(|| Some(Arc::clone(&state.connections.first()?.connection)))
        };
        // Without a connection no peer waits for these ACKs: it has given up those messages.
        let Some(connection) = connection else { return };
        for _ in &*acks {
            self.ni.counts.acks.add();
        }
        let transmit = |connection: &Arc<Connection>, noop| {
            if may_wait && connection.join_acks(noop) {
                return true;
            }
            self.ni.counts.ack_noops.add();
            if may_wait { connection.transmit_acks(noop) } else { connection.transmit_noop(noop) }
        };
        for noop in pack(acks) {
            if !transmit(&connection, noop)
                && let Some(other) = self.instead_of(&connection)
            {
                transmit(&other, noop);
            }
        }
    }

    /// The connection for delivery ACKs in place of one that has ended, if others have replaced it.
    fn instead_of(&self, ended: &Arc<Connection>) -> Option<Arc<Connection>> {
        let mut state = self.state.look();
        let best = state.choose(TxKind::Ack, self.ni.shared.config.min_bulk);
        best.filter(|best| !Arc::ptr_eq(best, ended))
    }
}

impl LateSender for Peer {
    fn send_late(self: Arc<Self>) {
        self.send_pending_acks();
    }

    fn send_aged(self: Arc<Self>) -> bool {
        let aged = self.pending_acks.take_aged();
        let stays = aged.is_none();
        if let Some(batch) = aged {
            self.send_batch(batch, false);
        }
        stays
    }
}

impl Peer {
    /// Sends the pending delivery ACKs and confirmations.
    pub(super) fn send_pending_acks(&self) {
        // First: what is held from now on is listed again.
        let holds = self.confirmations_listed.swap(false, Ordering::SeqCst);
        let batch = self.pending_acks.take_all();
        self.send_batch(batch, false);
        if holds {
            self.send_queues();
        }
    }

    /// Sends what waits in the queues of connections for more.
    pub(super) fn send_queues(&self) {
        // From the end, so that none is missed when another leaves the list meanwhile.
        let count = self.state.look().all().count();
        for at in (0..count).rev() {
            let connection = self.state.look().all().nth(at).cloned();
            if let Some(connection) = connection {
                connection.on_writable();
            }
        }
    }
}
