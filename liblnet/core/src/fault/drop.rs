//! Messages that a rule drops, or makes fail (ST-22).

use super::FaultRules;
use super::delay::Delayed;
use super::rules::Leaving;
use crate::environment::time::Time;
use crate::model::Ni;
use crate::model::lnd::{LndNi, SendOutcome};
use crate::model::message::{OutgoingMessage, Pooled};
use lnet_wire::{Header, Nid};
use std::sync::Arc;

impl FaultRules {
    /// Whether a rule drops a message that has just arrived on `local`.
    pub(crate) fn loses(&self, header: &Header, local: Nid, now: Time) -> bool {
        self.with(|rules| rules.loses(header, local, now))
    }

    /// Applies the rules to a message with all its credits that leaves by `ni`: passes it to the driver, unless a rule drops,
    /// fails or delays it. The error is the record of a delayed message.
    pub(crate) fn apply_to_leaving(
        &self,
        ni: &Arc<Ni>,
        lnd: &dyn LndNi,
        message: Pooled<OutgoingMessage>,
        now: Time,
    ) -> Result<SendOutcome, Delayed> {
        match self.with(|rules| rules.leaving(&message.header, ni.nid(), now)) {
            Leaving::Goes => Ok(lnd.send(message)),
            Leaving::Lost => Ok(SendOutcome::Done(message, Ok(()))),
            Leaving::Fails(failure) => Ok(SendOutcome::Done(message, Err(failure))),
            Leaving::Late(latency, rule) => {
                Err(self.delay_leaving(message, now + latency, rule, Arc::clone(ni)))
            }
        }
    }
}
