//! Messages that a connection gives back to the core: it has ended, their delivery ACKs are late, or another path may be better.

use super::outgoing::Outgoing;
use super::send_side::{EndedMessage, OpenSide, SendSide};
use crate::conn::Connection;
use lnd_common::conn_error::{BytesSent, ConnError};
use lnd_common::message_id::MessageId;
use lnd_common::pending_acks::AckFor;
use lnet_core::message::TakenCredits;
use lnet_core::{Delivery, Errno, OutgoingMessage, Pooled, SendFailure, Time};
use std::sync::Arc;

impl Connection {
    /// Ends sending. Queued messages come back. Messages that are written and have no delivery ACK stay until
    /// [`Connection::fail_unacked`]. Returns how many messages came back.
    pub(crate) fn stop_sending(&self, conn_error: ConnError) -> usize {
        let queue = self.tx.lock().end(conn_error);
        let mut count = 0;
        for (message, result) in queue.into_iter().filter_map(|out| self.given_back(out, conn_error)) {
            self.ni.finalize(message, result);
            count += 1;
        }
        count
    }

    /// Takes back the messages of which no byte has been written; the others stay. Delivery ACKs that would go with them wait again.
    pub(crate) fn withdraw(self: &Arc<Self>) -> Vec<Pooled<OutgoingMessage>> {
        let (mut withdrawn, mut acks) = (Vec::new(), Vec::new());
        let mut side = self.tx.lock();
        let Some(OpenSide { queue, unacked, .. }) = side.open() else { return withdrawn };
        for mut out in std::mem::take(queue) {
            let length = out.len();
            match out.message.take() {
                Some(mut message) if out.sent == 0 => {
                    self.unsent.withdraw(length);
                    if let Some(cookie) = out.cookie {
                        unacked.withdraw(cookie);
                        if !cookie.is_resend() {
                            message.forget_message_id();
                        }
                    }
                    acks.extend(out.carried_ack());
                    withdrawn.push(message);
                }
                message => {
                    out.message = message;
                    queue.push_back(out);
                }
            }
        }
        drop(side);
        acks.into_iter().for_each(|ack| self.owner.send_ack(self, ack, AckFor::Answered));
        withdrawn
    }

    /// Takes the credits of the messages that are partly written or sent, so that others need not wait until these arrive.
    pub(crate) fn take_credits(&self) -> Vec<TakenCredits> {
        self.tx.lock().kept().filter_map(|message| message.take_credits()).collect()
    }

    /// Gives back the messages whose delivery ACKs are late; the connection stays open, and the delivery ACKs may still come.
    pub(crate) fn abandon_unacked(&self, conn_error: ConnError) {
        let late = self.tx.lock().unacked.abandon();
        for message in late {
            self.ni.finalize(message, Err(self.unacked_failure(conn_error)));
        }
    }

    /// Fails the messages without a delivery ACK, because none will come any more. Returns how many came back.
    pub(crate) fn fail_unacked(&self, conn_error: ConnError) -> usize {
        let lost = self.tx.lock().unacked.give_up();
        let count = lost.len();
        for message in lost {
            self.ni.finalize(message, Err(self.unacked_failure(conn_error)));
        }
        count
    }

    /// Whether the message with this ID was sent again on this connection, and has no delivery ACK yet.
    pub(crate) fn has_sent_again(&self, message_id: MessageId) -> bool {
        self.tx.lock().unacked.contains(message_id)
    }

    /// Whether any message waits for a delivery ACK.
    pub(crate) fn awaits_acks(&self) -> bool {
        !self.tx.lock().unacked.is_empty()
    }

    /// Whether the oldest message without a delivery ACK has waited longer than the timeout.
    pub(crate) fn is_ack_overdue(&self, now: Time) -> bool {
        self.tx.lock().unacked.oldest_waits(now).is_some_and(|waits| waits >= self.ni.sock_timeout())
    }

    /// Handles a message that will never be written. Returns it with its failure if it is to be reported to the core.
    pub(super) fn given_back(&self, out: Outgoing, conn_error: ConnError) -> Option<EndedMessage> {
        let failure = self.failure(&out, conn_error);
        out.message.map(|message| (message, Err(failure)))
    }

    pub(super) fn failure(&self, out: &Outgoing, conn_error: ConnError) -> SendFailure {
        match (out.sent, out.cookie) {
            (0, _) => conn_error.failure(BytesSent::Nothing),
            (_, None) => conn_error.failure(BytesSent::Something),
            (_, Some(_)) => self.unacked_failure(conn_error),
        }
    }

    /// The failure of a message that was written when its delivery ACK could not arrive any more.
    pub(super) fn failure_of_lost(&self, side: &SendSide) -> SendFailure {
        self.unacked_failure(side.ended().unwrap_or(ConnError::Local(Errno::Io)))
    }

    /// The failure of a message that has left, asks for a delivery ACK, and will not get it.
    pub(super) fn unacked_failure(&self, conn_error: ConnError) -> SendFailure {
        let failure = conn_error.failure(BytesSent::Something);
        let delivery = match failure.delivery {
            // No path is to blame.
            Delivery::Unknown if self.same_implementation() && conn_error == ConnError::Replaced => {
                Delivery::Abandoned
            }
            Delivery::Unknown if self.same_implementation() => Delivery::Deduplicated,
            known => known,
        };
        SendFailure { delivery, ..failure }
    }
}
