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
    line: ConnSeq,
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
        if cookie.is_again() {
            let on_this = side.line.as_ref().is_some_and(|known| known.line == cookie.line());
            return if on_this { Dedup::Nonsense } else { node.check_duplicate(cookie, self) };
        }
        let known = match &mut side.line {
            Some(known) => known,
            None => {
                let Some(taken) = node.open(cookie.line(), self) else { return Dedup::Nonsense };
                side.line.insert(OpenSeq { line: cookie.line(), begun: 0, taken })
            }
        };
        if known.line != cookie.line() || known.begun >= cookie.sequence() {
            return Dedup::Nonsense;
        }
        known.begun = cookie.sequence();
        Dedup::New
    }

    /// A message of a node of this implementation is here.
    fn take(&self, line: Option<&OpenSeq>, name: MessageId) {
        match (&self.node, line) {
            (Some(node), _) if name.is_again() => node.take(name.first(), Instant::now()),
            (_, Some(known)) => known.taken.store(name.sequence(), Ordering::Release),
            _ => {}
        }
    }

    /// A message is here: that is noted, and its delivery ACK given.
    pub(super) fn acknowledge_arrival(self: &Arc<Self>, line: Option<&OpenSeq>, pending: &mut Pending) {
        if let Some(name) = pending.name.take() {
            self.take(line, name);
        }
        if let Some(cookie) = pending.receipt.take() {
            self.peer.send_ack(self, cookie, pending.answered);
        }
    }

    /// Nothing more is received. What has arrived in part is kept if it may come again, and given back otherwise.
    pub(super) fn abandon(self: &Arc<Self>, side: &mut ReceiveSide) {
        let (what, pending) = match std::mem::replace(&mut side.state, State::Over) {
            State::Deferred(held, pending) | State::Storing(Storing { held, pending, .. }) => {
                (Some(What::Deferred(held)), Some(pending))
            }
            State::Payload(payload) => (payload.message.map(What::Message), Some(payload.pending)),
            State::Head | State::Over => (None, None),
        };
        let name = pending.as_ref().and_then(|pending| pending.name);
        let length = pending.map_or(0, |pending| pending.length);
        let parked = what.map(|what| Parked { what, length, ni: Arc::clone(self.ni()) });
        let may_come_again = match parked.as_ref().map(|parked| &parked.what) {
            Some(What::Message(_)) => self.ni().may_come_again(),
            _ => !self.ni().is_ending(),
        };
        match (&self.node, name, parked) {
            (Some(node), Some(name), Some(parked)) if may_come_again => {
                if let What::Deferred(held) = &parked.what {
                    held.parks();
                }
                node.park(name.first(), parked, Instant::now() + 2 * self.ni().sock_timeout());
            }
            (node, name, parked) => {
                if let (Some(node), Some(name)) = (node, name) {
                    node.let_go(name.first());
                }
                if let Some(parked) = parked {
                    parked.end();
                }
            }
        }
        if let (Some(node), Some(known)) = (&self.node, side.line.take()) {
            node.close(known.line, Instant::now());
        }
    }
}
