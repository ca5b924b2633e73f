//! Messages for other nodes that are sent on while they arrive.
//!
//! The message that arrives and the one that is sent on share an [`Arrival`]. What cannot be begun at once, or fails before the payload is
//! complete, is held until it is, and then goes the way of a message that was received as a whole.

use super::DataPath;
use crate::model::lnd::{CutThrough, LndNi, SendOutcome};
use crate::model::message::{OutgoingMessage, Pooled, Role, TransitMessage};
use crate::model::{Arrival, Arrived, Delivery, SendFailure};
use crate::router::{CutThroughDecision, CutThroughFacts, decide_cut_through};
use crate::sync::{Mutex, lock};
use lnet_wire::Errno;
use std::sync::Arc;

/// The messages that are held until their payloads are complete.
#[derive(Debug, Default)]
pub(super) struct HeldMessages(Mutex<Vec<(Arc<Arrival>, Held)>>);

/// A message whose sending has not begun, or has ended, before its payload was complete.
#[derive(Debug)]
struct Held {
    message: Pooled<OutgoingMessage>,
    /// The result of sending it; `None` if that has not begun.
    result: Option<Result<(), SendFailure>>,
}

impl HeldMessages {
    /// Keeps a message until its arrival ends; returns it if that has.
    fn hold(&self, arrival: &Arc<Arrival>, message: Held) -> Result<(), Held> {
        let held = &mut *lock(&self.0);
        // Under the lock: the end of the arrival looks for the message after it.
        if !matches!(arrival.arrived(), Arrived::Part(_)) {
            return Err(message);
        }
        held.push((Arc::clone(arrival), message));
        Ok(())
    }

    /// Removes the message whose arrival has ended, if it is held.
    fn take(&self, arrival: &Arc<Arrival>) -> Option<Held> {
        let held = &mut *lock(&self.0);
        let at = held.iter().position(|(its, _)| Arc::ptr_eq(its, arrival))?;
        Some(held.swap_remove(at).1)
    }
}

impl DataPath {
    /// Decides whether a message of which `arrived` bytes of payload are there is sent on now. Takes no time, and runs no handler.
    pub(crate) fn cut_through(&self, message: &mut Pooled<TransitMessage>, arrived: usize) -> CutThrough {
        let now = self.env.now();
        message.in_parts_since.get_or_insert(now);
        let facts = CutThroughFacts {
            is_on: self.env.settings().cut_through,
            length: message.header.payload_length,
            arrived: u32::try_from(arrived).unwrap_or(u32::MAX),
            is_confirmed: message.previous_hop.is_some(),
            is_quick: message.peer_ni.as_ref().is_some_and(|peer_ni| peer_ni.pace().is_quick(now)),
        };
        match decide_cut_through(facts) {
            CutThroughDecision::Never => CutThrough::Never,
            CutThroughDecision::NotYet(arrived) => CutThrough::NotYet(arrived),
            CutThroughDecision::Begin => {
                let mut outgoing: Pooled<OutgoingMessage> =
                    self.new_message(message.peer_ni.as_ref(), &message.header);
                (outgoing.ni, outgoing.peer_ni) = (message.ni.clone(), message.peer_ni.clone());
                match message.cut_through(&mut outgoing, arrived) {
                    true => CutThrough::Begin(outgoing),
                    false => {
                        self.recycle(outgoing);
                        CutThrough::Never
                    }
                }
            }
        }
    }

    /// Sends a message on whose payload is arriving, if its next hop takes it at once; otherwise when the payload is complete.
    pub(crate) fn send_cut_through(&self, message: Pooled<OutgoingMessage>) {
        if let Err(message) = self.begin_cut_through(message) {
            self.hold(Held { message, result: None });
        }
    }

    /// Gives the message to its driver; returns it if it has to wait.
    fn begin_cut_through(&self, mut message: Pooled<OutgoingMessage>) -> Result<(), Pooled<OutgoingMessage>> {
        message.deadline = self.deadline_from_now();
        let Ok(chosen) = self.select_path_onwards(&message) else { return Err(message) };
        self.readdress(&mut message, chosen);
        let Some(ni) = message.ni.clone() else { return Err(message) };
        let takes = |lnd: &&dyn LndNi| {
            !self.faults.act_on_leaving() && lnd.may_cut_through(message.next_hop, message.payload_len())
        };
        let Some(lnd) = ni.lnd().filter(takes) else { return Err(message) };
        self.note_leaving(&mut message);
        if !self.sending.try_admit(&mut message) {
            self.sending.release(&mut message, |woken| self.resume_all([woken]));
            return Err(message);
        }
        self.router_buffers.count_cut_through(message.header.payload_length);
        if let SendOutcome::Done(message, result) = lnd.send(message) {
            self.end(message, result);
        }
        Ok(())
    }

    /// Ends the arrival of a message that is sent on.
    pub(super) fn arrival_ended(
        &self,
        message: Pooled<TransitMessage>,
        arrival: &Arc<Arrival>,
        result: Result<(), Errno>,
    ) {
        match result {
            Ok(()) => arrival.complete(),
            Err(_) => arrival.fail(),
        }
        let held = self.held.take(arrival);
        let sending = held.as_ref().and_then(|held| held.result);
        let is_abandoned = matches!(sending, Some(Err(failure)) if failure.delivery == Delivery::Abandoned);
        if is_abandoned || result.is_err() {
            if let Some(peer_ni) = &message.peer_ni {
                peer_ni.pace().note_abandoned(self.env.now());
            }
            let was_begun = held.as_ref().is_none_or(|held| held.result.is_some());
            if was_begun {
                self.router_buffers.count_abandoned();
            }
        }
        self.recycle(message);
        match (held, result) {
            (None, _) => {}
            (Some(held), Ok(())) => self.resume_held(held),
            (Some(held), Err(_)) => self.drop_held(held),
        }
    }

    /// Keeps a message without credits whose payload is arriving until that is complete.
    pub(super) fn hold_until_arrived(
        &self,
        message: Pooled<OutgoingMessage>,
        result: Result<(), SendFailure>,
    ) {
        self.hold(Held { message, result: Some(result) });
    }

    fn hold(&self, held: Held) {
        let Some(arrival) = held.message.arrival().cloned() else { return self.resume_held(held) };
        if let Err(held) = self.held.hold(&arrival, held) {
            match arrival.arrived() {
                Arrived::Failed => self.drop_held(held),
                Arrived::Part(_) | Arrived::Whole => self.resume_held(held),
            }
        }
    }

    /// Continues a message whose payload is complete.
    fn resume_held(&self, held: Held) {
        match held {
            Held { message, result: None } => self.send_onwards(message, None),
            Held { message, result: Some(result) } => self.end(message, result),
        }
    }

    /// Drops a message whose payload will not arrive. Its sender knows that, and sends it again.
    fn drop_held(&self, Held { mut message, .. }: Held) {
        if let Role::Forwarded(forwarded) = &mut message.role {
            forwarded.previous_hop = None;
        }
        self.retire(message);
    }

    /// Records how quickly a large message for another node has arrived.
    pub(super) fn note_pace(&self, message: &mut TransitMessage, result: Result<(), Errno>) {
        if let (Some(since), Some(peer_ni), Ok(())) =
            (message.in_parts_since.take(), &message.peer_ni, result)
        {
            peer_ni.pace().note_arrival(self.env.now().since(since));
        }
    }
}
