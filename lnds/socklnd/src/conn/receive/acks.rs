//! Delivery ACKs that arrive for messages of this node.

use super::state::{Report, RxEnd};
use crate::conn::{ConnPhase, Connection, Task};
use crate::decide::delivery_acks::{AcksIn, MAX_ACK_RANGE};
use crate::driver_thread::is_app_poller;
use lnd_common::message_id::MessageId;
use lnd_common::pending_acks::AckFor;
use lnd_common::unacked::NotOutstanding;
use lnet_core::OutgoingMessage;
use lnet_wire::{Body, Header};
use std::collections::VecDeque;
use std::sync::Arc;

/// The request that arrives with delivery ACKs, which the application's thread may be waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WithRequest {
    No,
    /// No other message arrives with it.
    Single,
    /// Others arrive with it: the responses leave together, with what the reports make the program send.
    Several,
}

impl WithRequest {
    /// Whether `message` is reported when the thread receives again, so that the response goes first.
    fn delays_report_of(self, message: &OutgoingMessage) -> bool {
        match self {
            Self::No => false,
            Self::Single => true,
            // Nobody sends anything for the report of an ACK.
            Self::Several => matches!(message.header().body, Body::Ack { .. }),
        }
    }
}

impl Connection {
    /// Handles delivery ACKs for messages of any connection of the peer.
    pub(super) fn acknowledge(
        self: &Arc<Self>,
        acks_in: AcksIn,
        with_request: WithRequest,
        reports: &mut VecDeque<Report>,
    ) -> Result<(), RxEnd> {
        let with_request = if is_app_poller() { with_request } else { WithRequest::No };
        let known = match acks_in {
            AcksIn::Nothing => true,
            AcksIn::One(one) => self.on_ack(one, with_request, reports),
            AcksIn::Pair(a, b) => [a, b].into_iter().all(|ack| self.on_ack(ack, WithRequest::No, reports)),
            AcksIn::Range(from, to) => self.on_ack_range(from, to, reports),
        };
        if known {
            Ok(())
        } else {
            Err(RxEnd::ProtocolViolation("a delivery ACK that nobody asked for".to_owned()))
        }
    }

    /// Handles one delivery ACK. Returns whether a message has asked for it.
    fn on_ack(
        self: &Arc<Self>,
        wire: u64,
        with_request: WithRequest,
        reports: &mut VecDeque<Report>,
    ) -> bool {
        let Some(cookie) = MessageId::of(wire) else { return false };
        let acknowledge = |sender: &Self| sender.tx.lock().unacked.acknowledge(cookie);
        let Some(done) = self.with_sender(cookie, acknowledge) else { return self.accepts_late_acks() };
        match done {
            Ok(Some(message)) => {
                if with_request.delays_report_of(&message) && self.ni.begin_upcall() {
                    self.scheduler.finish_later(Task::Finish(message, Arc::clone(&self.ni)));
                } else {
                    reports.push_back(Report::Sent(message));
                }
            }
            Ok(None) => {}
            Err(NotOutstanding) => return false,
        }
        true
    }

    /// How the delivery ACK for a message with this header is to wait.
    pub(super) fn ack_for(&self, header: &Header) -> AckFor {
        match header.body {
            Body::Put { ack: None, .. } => AckFor::Unanswered,
            Body::Ack { .. } if header.dest_nid == self.ni.local.nid => AckFor::LnetAck,
            Body::Put { .. } | Body::Get { .. } | Body::Reply { .. } | Body::Ack { .. } => AckFor::Answered,
        }
    }

    fn on_ack_range(self: &Arc<Self>, from: u64, to: u64, reports: &mut VecDeque<Report>) -> bool {
        if self.same_implementation() {
            // IDs of messages that were sent again make ranges, too, and some of a connection that has ended may be
            // forgotten: each is looked up by itself.
            let count = to.saturating_sub(from).saturating_add(1);
            return count <= MAX_ACK_RANGE
                && (from..=to).all(|cookie| self.on_ack(cookie, WithRequest::No, reports));
        }
        let (Some(first), Some(last)) = (MessageId::of(from), MessageId::of(to)) else { return false };
        match self.with_sender(first, |sender| sender.tx.lock().unacked.awaits_all(first, last)) {
            None => self.accepts_late_acks(),
            Some(all) => all && (from..=to).all(|cookie| self.on_ack(cookie, WithRequest::No, reports)),
        }
    }

    /// Calls `look` with the connection to the same peer that sent the message with this ID, if there is one.
    fn with_sender<R>(&self, cookie: MessageId, look: impl FnOnce(&Self) -> R) -> Option<R> {
        let is_own = match cookie.is_resend() {
            true => self.tx.lock().unacked.contains(cookie),
            false => cookie.conn_seq() == self.conn_seq,
        };
        if is_own {
            return Some(look(self));
        }
        let other = match cookie.is_resend() {
            true => self.owner.connection_with(cookie),
            false => self.owner.connection_of(cookie.conn_seq()),
        };
        other.map(|other| look(&other))
    }

    /// Whether a delivery ACK may have been under way for a message of a connection that has ended.
    fn accepts_late_acks(&self) -> bool {
        self.same_implementation() || self.phase() != ConnPhase::Open
    }
}
