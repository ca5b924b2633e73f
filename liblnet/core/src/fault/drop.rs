//! Messages that a rule drops, or makes fail (ST-22).

use super::delay::Delayed;
use super::rules::Leaving;
use super::{FaultRules, ON_ARRIVAL, ON_LEAVING};
use crate::environment::time::Time;
use crate::model::lnd::{LndNi, SendOutcome};
use crate::model::message::{OutgoingMessage, Pooled};
use lnet_wire::{Header, Nid};

/// The result of sending a message while fault rules exist.
pub(crate) enum Sent {
    /// The message was passed to the driver, with this result.
    Now(SendOutcome),
    /// The message is delayed.
    Later(Delayed),
}

impl FaultRules {
    /// Whether a rule drops a message that has just arrived on `local`.
    pub(crate) fn loses(&self, header: &Header, local: Nid, now: impl FnOnce() -> Time) -> bool {
        self.may_act(ON_ARRIVAL) && {
            let now = now();
            self.with(|rules| rules.loses(header, local, now))
        }
    }

    /// Passes a message with all its credits to its driver, unless a rule drops or delays it.
    pub(crate) fn send_by(
        &self,
        lnd: &dyn LndNi,
        message: Pooled<OutgoingMessage>,
        now: impl FnOnce() -> Time,
    ) -> Sent {
        if !self.may_act(ON_LEAVING) {
            return Sent::Now(lnd.send(message));
        }
        // A message always has its interface here; without an interface no rule would apply.
        let Some(ni) = message.ni.clone() else { return Sent::Now(lnd.send(message)) };
        let now = now();
        match self.with(|rules| rules.leaving(&message.header, ni.nid(), now)) {
            Leaving::Goes => Sent::Now(lnd.send(message)),
            Leaving::Lost => Sent::Now(SendOutcome::Done(message, Ok(()))),
            Leaving::Fails(failure) => Sent::Now(SendOutcome::Done(message, Err(failure))),
            Leaving::Late(latency, rule) => Sent::Later(self.delay_leaving(message, now + latency, rule, ni)),
        }
    }
}
