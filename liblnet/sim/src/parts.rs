//! Steps of messages that arrive in parts: at a router the core may send them on meanwhile.

use crate::link::LinkKey;
use crate::network::{NextPart, Part, Reception};
use crate::world::World;
use lnet_core::lnd::{CutThrough, RxAction};
use lnet_core::{ArrivingMessage, Errno};
use lolnd::copy::fill_payload_at;
use std::sync::Arc;

impl World {
    /// Delivers the next part of the first message of a connection; false if that arrives as a whole.
    pub(crate) fn deliver_part(&mut self, key: LinkKey) -> bool {
        let next = self.network.lock().next_part(key);
        match next {
            NextPart::Whole => return false,
            NextPart::Nothing => {}
            NextPart::Head(arrival, number) => {
                self.end_superseded();
                let decision = self.receive(&arrival);
                self.note_decision(number, decision);
                self.read_part(number);
            }
            NextPart::Part(number) => {
                self.end_superseded();
                self.read_part(number);
            }
        }
        true
    }

    /// Ends what has arrived of earlier attempts, before a message is received again.
    fn end_superseded(&mut self) {
        let superseded = std::mem::take(&mut self.network.lock().superseded);
        superseded.into_iter().for_each(|number| self.lose_reception(number));
    }

    /// Carries out the core's decision about a message that has begun to arrive.
    fn note_decision(&mut self, number: u64, decision: (RxAction, Option<u64>)) {
        let Some(mut reception) = self.network.lock().lift_reception(number) else { return };
        match decision {
            (RxAction::Deliver(message), _) => reception.message = Some(message),
            (RxAction::Discard, _) => {}
            (RxAction::Defer, Some(deferred)) => {
                self.network.lock().counts.holds += 1;
                reception.deferred = Some(deferred);
            }
            (RxAction::Defer, None) => self.fail("a message is to wait, and for nothing".to_owned()),
            (RxAction::Reject(violation), _) => {
                self.fail(format!("{} refuses a message: {violation}", reception.key.receiver()));
            }
        }
        self.network.lock().keep_reception(number, reception);
    }

    fn read_part(&mut self, number: u64) {
        let part = self.network.lock().read_part(number);
        let Some(Part { mut reception, at, bytes, is_last }) = part else { return };
        if let Some(message) = &reception.message {
            fill_payload_at(message, at, &bytes);
        }
        if is_last {
            return self.complete(reception);
        }
        let got = at + bytes.len();
        let Some(message) = &mut reception.message else {
            return self.network.lock().keep_reception(number, reception);
        };
        let upcalls = Arc::clone(&reception.upcalls);
        if let Some(arrival) = message.arrival().cloned() {
            self.network.lock().keep_reception(number, reception);
            return arrival.advance(got);
        }
        let may = reception.may_cut_through && matches!(message, ArrivingMessage::ForAnother(_));
        let decision = if may { upcalls.cut_through(message, got) } else { CutThrough::Never };
        reception.may_cut_through = !matches!(decision, CutThrough::Never);
        self.network.lock().keep_reception(number, reception);
        if let CutThrough::Begin(outgoing) = decision {
            upcalls.send_cut_through(outgoing);
        }
    }

    /// Completes a message of which all has arrived.
    fn complete(&mut self, mut reception: Reception) {
        let taken = self.network.lock().take_whole(reception.key);
        let in_flight = match taken {
            Ok(Some(in_flight)) => in_flight,
            Ok(None) => return,
            Err(wrong) => return self.fail(wrong),
        };
        match (reception.message.take(), reception.deferred) {
            (Some(message), _) => reception.upcalls.received(message, Ok(())),
            (None, Some(deferred)) => self.network.lock().wait_on(deferred, reception, Some(in_flight)),
            (None, None) => {}
        }
    }

    /// Ends a message whose connection has ended before it had arrived.
    pub(crate) fn lose_reception(&mut self, number: u64) {
        let reception = self.network.lock().take_reception(number);
        let Some(mut reception) = reception else { return };
        let node = reception.key.receiver();
        match (reception.message.take(), reception.deferred) {
            (Some(message), _) => reception.upcalls.received(message, Err(Errno::ConnectionReset)),
            (None, Some(deferred)) => self.network.lock().wait_on(deferred, reception, None),
            (None, None) => {}
        }
        self.settle(node);
    }

    /// Goes on with messages that waited for a buffer, and have one before all of them has arrived.
    pub(crate) fn resume_parts(&mut self) {
        loop {
            let resumed = self.network.lock().take_resumed_part();
            let Some((number, action)) = resumed else { return };
            let Some(mut reception) = self.network.lock().lift_reception(number) else { return };
            reception.deferred = None;
            if let RxAction::Deliver(message) = action {
                let so_far = self.network.lock().payload_so_far(number, reception.key);
                fill_payload_at(&message, 0, &so_far);
                reception.message = Some(message);
            }
            self.network.lock().keep_reception(number, reception);
        }
    }
}
