//! Frames that a connection sends without a message: delivery ACKs, keep-alives, and confirmations.

use super::outgoing::Outgoing;
use super::send_side::Transmitted;
use crate::conn::Connection;
use crate::proto::Version;
use crate::proto::frame::{Cookies, KEEPALIVE_COOKIE};
use lnet_core::Confirmation;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Maximum length of a queue to which a confirmation is added that waits for the next message.
const MAX_HELD: usize = 16;

impl Connection {
    /// Sends a NOOP that the peer's system must acknowledge, unless unsent messages do the same or the version has no NOOP.
    /// Returns whether it did.
    pub(crate) fn send_keepalive(self: &Arc<Self>) -> bool {
        let sends = self.terms.version >= Version::V3 && !self.has_unsent();
        if sends {
            self.transmit_noop(Cookies { request: 0, ack: KEEPALIVE_COOKIE });
        }
        sends
    }

    /// Sends a NOOP if the connection is open; returns whether it is.
    pub(crate) fn transmit_noop(self: &Arc<Self>, cookies: Cookies) -> bool {
        !matches!(self.transmit(Outgoing::noop(cookies)), Transmitted::Ended(_))
    }

    /// Sends delivery ACKs in a NOOP if the connection is open; returns whether it is. They may wait for messages that the thread, if it is
    /// an application's, sends soon.
    pub(crate) fn transmit_acks(self: &Arc<Self>, acks: Cookies) -> bool {
        !matches!(self.transmit(Outgoing::acks_that_wait(acks)), Transmitted::Ended(_))
    }

    /// Adds delivery ACKs to those of [`Connection::transmit_acks`] that are last in the queue, if a NOOP can carry both; returns whether it
    /// does.
    pub(crate) fn join_acks(&self, acks: Cookies) -> bool {
        self.tx.lock().open().is_some_and(|mut open| open.join_acks(acks))
    }

    /// Sends a confirmation, with a delivery ACK, if the connection is open; returns whether it is.
    pub(crate) fn transmit_confirmation(
        self: &Arc<Self>,
        confirmation: Confirmation,
        cookies: Cookies,
    ) -> bool {
        !matches!(self.transmit(Outgoing::confirmation(confirmation, cookies)), Transmitted::Ended(_))
    }

    /// Keeps a confirmation for the next message to the peer, if messages to it are under way, since then more will follow. Returns
    /// whether it did; then [`Connection::on_writable`] must come soon, in case nothing follows.
    pub(crate) fn hold_confirmation(&self, confirmation: Confirmation, id: NonZeroU64) -> bool {
        let mut side = self.tx.lock();
        let Some(open) = side.open() else { return false };
        let holds = !open.unacked.is_empty() && open.queue.len() < MAX_HELD;
        if holds {
            let out = Outgoing::confirmation(confirmation, Cookies { request: id.get(), ack: 0 });
            self.unsent.queue(out.left());
            open.queue.push_back(out);
        }
        holds
    }
}
