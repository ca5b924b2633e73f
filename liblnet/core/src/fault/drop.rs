//! Messages that are lost on purpose, or fail to be sent (ST-22).

use super::rules::Leaving;
use super::{ON_ARRIVAL, ON_LEAVING};
use crate::core::Core;
use crate::model::lnd::{LndNi, SendOutcome};
use crate::model::message::Message;
use crate::stats::Outcome;
use crate::topology::Ni;
use lnet_wire::Header;

impl Core {
    /// Whether a message that has just arrived on `ni` is lost: nothing is known of it but that it was dropped.
    pub(crate) fn is_lost_on_purpose(&self, ni: &Ni, header: &Header) -> bool {
        if !self.faults.may_act(ON_ARRIVAL) {
            return false;
        }
        let now = self.env.now();
        let lost = self.faults.with(|rules| rules.loses(header, ni.nid(), now));
        if lost {
            ni.counters().count(Outcome::Dropped, header.body.kind(), header.payload_length);
            log::debug!(
                "{} {} -> {} dropped by a drop rule",
                header.body.kind(),
                header.src_nid,
                header.dest_nid
            );
        }
        lost
    }

    /// Gives a message that has all its credits to its driver, unless a rule is against it.
    pub(crate) fn send_by(&self, lnd: &dyn LndNi, message: Box<Message>) -> SendOutcome {
        if !self.faults.may_act(ON_LEAVING) {
            return lnd.send(message);
        }
        let now = self.env.now();
        // A message always has its interface here; without one no rule has a say.
        let leaving = match &message.ni {
            Some(ni) => self.faults.with(|rules| rules.leaving(&message.header, ni.nid(), now)),
            None => Leaving::Goes,
        };
        match leaving {
            Leaving::Goes => lnd.send(message),
            Leaving::Lost => SendOutcome::Done(message, Ok(())),
            Leaving::Fails(failure) => SendOutcome::Done(message, Err(failure)),
            Leaving::Late(latency, rule) => {
                self.hold_leaving(message, now + latency, rule);
                SendOutcome::Pending
            }
        }
    }
}
