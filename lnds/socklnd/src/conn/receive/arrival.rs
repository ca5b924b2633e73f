//! Arrival of messages: duplicates, complete payloads, and messages that have arrived in part.

use super::Flow;
use super::state::{OpenSeq, Payload, Pending, ReceiveSide, Report, RxEnd, RxState, Storing};
use crate::conn::Connection;
use crate::remote_nodes::{Dedup, Parked, ParkedState};
use crate::socket_io;
use lnd_common::message_id::MessageId;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Connection {
    /// Checks whether a message has arrived before.
    pub(super) fn check_duplicate(self: &Arc<Self>, side: &mut ReceiveSide, request: u64) -> Dedup {
        let Some(node) = self.terms.node.as_ref().filter(|_| request != 0) else { return Dedup::New };
        let Some(message_id) = MessageId::of(request) else { return Dedup::Invalid };
        let conn_seq = message_id.conn_seq();
        if message_id.is_resend() {
            let on_this = side.conn_seq.as_ref().is_some_and(|known| known.conn_seq == conn_seq);
            return if on_this {
                Dedup::Invalid
            } else {
                node.check_duplicate(message_id, self, self.ni.shared.now())
            };
        }
        let known = match &mut side.conn_seq {
            Some(known) => known,
            None => {
                let Some(taken) = node.open(conn_seq, self) else { return Dedup::Invalid };
                side.conn_seq.insert(OpenSeq { conn_seq, begun: 0, taken })
            }
        };
        if known.conn_seq != conn_seq || known.begun >= message_id.sequence() {
            return Dedup::Invalid;
        }
        known.begun = message_id.sequence();
        Dedup::New
    }

    /// Passes a received payload to the core.
    pub(super) fn deliver(self: &Arc<Self>, side: &mut ReceiveSide) -> Result<Flow, RxEnd> {
        let ReceiveSide { state, conn_seq, reports, .. } = side;
        let RxState::Payload(payload) = state else { return Ok(Flow::Continue) };
        self.complete(conn_seq.as_ref(), reports, payload)?;
        if payload.is_over() {
            *state = RxState::Head;
        }
        Ok(Flow::Continue)
    }

    /// Verifies the checksum of a received payload, queues its delivery ACK, and adds the report to the core.
    pub(super) fn complete(
        self: &Arc<Self>,
        conn_seq: Option<&OpenSeq>,
        reports: &mut VecDeque<Report>,
        payload: &mut Payload,
    ) -> Result<(), RxEnd> {
        // Like the kernel, the driver does not verify payloads that it truncates.
        if let Some((expected, mut sum)) = payload.pending.check.take()
            && payload.got == payload.pending.length
        {
            if let Some(message) = &payload.message {
                socket_io::add_to_checksum(&mut sum, message.payload(), payload.got);
            }
            if sum.value() != expected {
                return Err(wrong_checksum());
            }
        }
        self.acknowledge_arrival(conn_seq, &mut payload.pending);
        payload.delivered = true;
        if let Some(message) = payload.message.take() {
            reports.push_back(Report::Received(message));
        }
        Ok(())
    }

    /// Handles the complete payload of a deferred message: verifies the checksum, queues the delivery ACK, and keeps it
    /// until the core decides. The next message can be received then.
    pub(super) fn store(self: &Arc<Self>, side: &mut ReceiveSide) -> Result<Flow, RxEnd> {
        let RxState::Storing(storing) = &mut side.state else { return Ok(Flow::Continue) };
        if let Some((expected, mut sum)) = storing.pending.check.take() {
            sum.update(&storing.stored.bytes);
            if sum.value() != expected {
                return Err(wrong_checksum());
            }
        }
        self.acknowledge_arrival(side.conn_seq.as_ref(), &mut storing.pending);
        if let RxState::Storing(Storing { deferred, stored, .. }) =
            std::mem::replace(&mut side.state, RxState::Head)
        {
            if let Some(decided) = deferred.store(stored, self) {
                side.reports.push_back(Report::Stored(Box::new(decided)));
            }
            side.keep(deferred, &self.ni);
        }
        Ok(Flow::Continue)
    }

    /// Records that a message has arrived, and queues its delivery ACK.
    fn acknowledge_arrival(self: &Arc<Self>, conn_seq: Option<&OpenSeq>, pending: &mut Pending) {
        if let Some(message_id) = pending.message_id.take() {
            match (&self.terms.node, conn_seq) {
                (Some(node), _) if message_id.is_resend() => {
                    node.take(message_id.first(), self.ni.shared.now());
                }
                (_, Some(known)) => known.taken.store(message_id.sequence(), Ordering::Release),
                _ => {}
            }
        }
        if let Some(cookie) = pending.ack.take() {
            self.owner.send_ack(self, cookie, pending.ack_for);
        }
    }

    /// Ends receiving. A message that has arrived in part is kept if it may be sent again, and given back otherwise.
    pub(super) fn abandon(self: &Arc<Self>, side: &mut ReceiveSide) {
        let (state, pending) = match std::mem::replace(&mut side.state, RxState::Over) {
            RxState::Deferred(deferred, pending) | RxState::Storing(Storing { deferred, pending, .. }) => {
                (Some(ParkedState::Deferred(deferred)), Some(pending))
            }
            RxState::Payload(Payload { message, pending, .. }) => {
                (message.map(ParkedState::Matched), Some(pending))
            }
            RxState::Head | RxState::Over => (None, None),
        };
        let message_id = pending.as_ref().and_then(|pending| pending.message_id);
        let now = self.ni.shared.now();
        let kept_until =
            |pending: &Pending| pending.kept_until.unwrap_or_else(|| now + 2 * self.ni.sock_timeout());
        let until = pending.as_ref().map_or(now, kept_until);
        let is_kept = pending.as_ref().is_some_and(|pending| pending.kept) && now < until;
        let length = pending.map_or(0, |pending| pending.length);
        let may_be_resent = match &state {
            _ if !is_kept => false,
            Some(ParkedState::Matched(_)) => self.ni.may_be_resent(),
            _ => !self.ni.is_ending(),
        };
        match (&self.terms.node, message_id, state) {
            (Some(node), Some(message_id), Some(state)) if may_be_resent => {
                if let ParkedState::Deferred(deferred) = &state {
                    deferred.park();
                }
                let (peer, ni) = (self.terms.identity.id.nid, Arc::clone(&self.ni));
                node.park(Parked { state, message_id: message_id.first(), peer, until, length, ni });
            }
            (node, message_id, state) => {
                if let (Some(node), Some(message_id)) = (node, message_id) {
                    node.forget(message_id.first());
                }
                if let Some(state) = state {
                    state.end(&self.ni);
                }
            }
        }
        if let (Some(node), Some(known)) = (&self.terms.node, side.conn_seq.take()) {
            node.close(known.conn_seq, now);
        }
    }
}

fn wrong_checksum() -> RxEnd {
    RxEnd::ProtocolViolation("a message with a wrong checksum".into())
}
