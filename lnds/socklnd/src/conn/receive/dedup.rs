//! Messages of nodes of this implementation: whether they have been here before, that they are here, and what is kept of those that
//! have arrived in part.

use super::{Pending, ReceiveSide, State, Storing};
use crate::ack::message_id::{ConnSeq, MessageId};
use crate::conn::Connection;
use crate::remote_nodes::{Dedup, Parked, What};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// See [`ReceiveSide::line`].
#[derive(Debug)]
pub(super) struct OpenSeq {
    conn_seq: ConnSeq,
    /// The number of the last message that has begun.
    begun: u64,
    /// Of the last that was taken.
    taken: Arc<AtomicU64>,
}

impl Connection {
    /// Whether a message has been here before.
    pub(super) fn check_duplicate(self: &Arc<Self>, side: &mut ReceiveSide, request: u64) -> Dedup {
        let Some(node) = self.node.as_ref().filter(|_| request != 0) else { return Dedup::New };
        let Some(cookie) = MessageId::of(request) else { return Dedup::Nonsense };
        if cookie.is_resend() {
            let on_this = side.conn_seq.as_ref().is_some_and(|known| known.conn_seq == cookie.conn_seq());
            return if on_this { Dedup::Nonsense } else { node.check_duplicate(cookie, self) };
        }
        let known = match &mut side.conn_seq {
            Some(known) => known,
            None => {
                let Some(taken) = node.open(cookie.conn_seq(), self) else { return Dedup::Nonsense };
                side.conn_seq.insert(OpenSeq { conn_seq: cookie.conn_seq(), begun: 0, taken })
            }
        };
        if known.conn_seq != cookie.conn_seq() || known.begun >= cookie.sequence() {
            return Dedup::Nonsense;
        }
        known.begun = cookie.sequence();
        Dedup::New
    }

    /// A message of a node of this implementation is here.
    fn take(&self, conn_seq: Option<&OpenSeq>, message_id: MessageId) {
        match (&self.node, conn_seq) {
            (Some(node), _) if message_id.is_resend() => node.take(message_id.first(), Instant::now()),
            (_, Some(known)) => known.taken.store(message_id.sequence(), Ordering::Release),
            _ => {}
        }
    }

    /// A message is here: that is noted, and its delivery ACK given.
    pub(super) fn acknowledge_arrival(self: &Arc<Self>, conn_seq: Option<&OpenSeq>, pending: &mut Pending) {
        if let Some(message_id) = pending.message_id.take() {
            self.take(conn_seq, message_id);
        }
        if let Some(cookie) = pending.ack.take() {
            self.peer.send_ack(self, cookie, pending.answered);
        }
    }

    /// Nothing more is received. What has arrived in part is kept if it may come again, and given back otherwise.
    pub(super) fn abandon(self: &Arc<Self>, side: &mut ReceiveSide) {
        let (what, pending) = match std::mem::replace(&mut side.state, State::Over) {
            State::Deferred(deferred, pending) | State::Storing(Storing { deferred, pending, .. }) => {
                (Some(What::Deferred(deferred)), Some(pending))
            }
            State::Payload(payload) => (payload.message.map(What::Message), Some(payload.pending)),
            State::Head | State::Over => (None, None),
        };
        let message_id = pending.as_ref().and_then(|pending| pending.message_id);
        let length = pending.map_or(0, |pending| pending.length);
        let parked = what.map(|what| Parked { what, length, ni: Arc::clone(self.ni()) });
        let may_come_again = match parked.as_ref().map(|parked| &parked.what) {
            Some(What::Message(_)) => self.ni().may_come_again(),
            _ => !self.ni().is_ending(),
        };
        match (&self.node, message_id, parked) {
            (Some(node), Some(message_id), Some(parked)) if may_come_again => {
                if let What::Deferred(deferred) = &parked.what {
                    deferred.park();
                }
                node.park(message_id.first(), parked, Instant::now() + 2 * self.ni().sock_timeout());
            }
            (node, message_id, parked) => {
                if let (Some(node), Some(message_id)) = (node, message_id) {
                    node.forget(message_id.first());
                }
                if let Some(parked) = parked {
                    parked.end();
                }
            }
        }
        if let (Some(node), Some(known)) = (&self.node, side.conn_seq.take()) {
            node.close(known.conn_seq, Instant::now());
        }
    }
}
