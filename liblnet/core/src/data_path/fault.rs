//! Fault injection: the rules, and the treatment of the messages that they hit.

use super::DataPath;
use crate::environment::time::Time;
use crate::fault::{Delayed, DelayedMessage};
use crate::model::Ni;
use crate::model::lnd::{DeferredRx, LndNi, RxAction, SendOutcome};
use crate::model::message::{IncomingMessage, OutgoingMessage, Pooled};
use crate::stats::MessageOutcome;
use lnet_wire::{Errno, Header};
use std::sync::Arc;

impl DataPath {
    /// Whether a drop rule hits a message that has arrived on `ni`; if so, counts the message as dropped.
    pub(crate) fn fault_drops_incoming(&self, ni: &Ni, header: &Header) -> bool {
        let lost = self.faults.loses(header, ni.nid(), self.env.now());
        if lost {
            ni.counters().count(MessageOutcome::Dropped, header.body.kind(), header.payload_length);
            let (kind, from, to) = (header.body.kind(), header.src_nid, header.dest_nid);
            log::debug!("{kind} {from} -> {to} dropped by a drop rule");
        }
        lost
    }

    /// Delivers a message that has arrived, unless a rule delays it.
    pub(super) fn deliver_unless_delayed(
        &self,
        message: Pooled<IncomingMessage>,
        make_deferred: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> RxAction {
        match self.faults.delay_arriving(message, make_deferred, self.env.now()) {
            Ok(delayed) => {
                self.note_delayed(&delayed);
                RxAction::Defer
            }
            Err(message) => self.deliver(message, make_deferred),
        }
    }

    /// Passes a message with all its credits to its driver, unless a rule drops, fails or delays it.
    pub(super) fn send_under_fault_rules(
        &self,
        ni: &Arc<Ni>,
        lnd: &dyn LndNi,
        message: Pooled<OutgoingMessage>,
    ) -> SendOutcome {
        self.faults.apply_to_leaving(ni, lnd, message, self.env.now()).unwrap_or_else(|delayed| {
            self.note_delayed(&delayed);
            SendOutcome::Pending
        })
    }

    /// Continues the delayed messages that are due; returns the time at which the next is due.
    pub(crate) fn release_delayed(&self, now: Time) -> Option<Time> {
        while let Some(message) = self.faults.take_due(now) {
            self.resume_delayed(message);
        }
        self.faults.next_due()
    }

    /// Ends the delayed messages of an interface that has been removed.
    pub(crate) fn drop_late_of(&self, ni: &Arc<Ni>) {
        for message in self.faults.take_of_ni(ni) {
            match message {
                DelayedMessage::Leaving(message) => self.end(message, Err(Errno::Shutdown.into())),
                DelayedMessage::Arriving(message, deferred) => {
                    self.count_drop(message, "its interface was removed while a delay rule held it");
                    deferred.resume(RxAction::Discard);
                }
            }
        }
    }

    fn note_delayed(&self, delayed: &Delayed) {
        if delayed.is_first {
            self.health.wake();
        }
        if delayed.ni.lnd().is_none() {
            self.drop_late_of(&delayed.ni);
        }
    }

    pub(crate) fn resume_delayed(&self, message: DelayedMessage) {
        match message {
            DelayedMessage::Leaving(message) => self.send_late(message),
            DelayedMessage::Arriving(message, deferred) => {
                match self.deliver(message, &|| Arc::clone(&deferred)) {
                    // The message waits for a buffer now, and will be resumed as promised to the driver.
                    RxAction::Defer => {}
                    action => deferred.resume(action),
                }
            }
        }
    }

    fn send_late(&self, message: Pooled<OutgoingMessage>) {
        if message.is_given_up() {
            return self.end(message, Err(Errno::Cancelled.into()));
        }
        let ni = message.ni.clone();
        let outcome = match ni.as_ref().and_then(|ni| ni.lnd()) {
            Some(lnd) => lnd.send(message),
            None => SendOutcome::Done(message, Err(Errno::Shutdown.into())),
        };
        match outcome {
            SendOutcome::Done(message, result) => self.end(message, result),
            SendOutcome::Sent(credits) => self.release_taken(credits),
            SendOutcome::Pending => {}
        }
    }
}
