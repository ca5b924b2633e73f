//! Fault injection: the rules, and the treatment of the messages that they hit.

use crate::core::Core;
use crate::environment::time::Time;
use crate::fault::{DelayRule, Delayed, DelayedMessage, DropRule, FaultStats, Filter, Sent};
use crate::model::Ni;
use crate::model::lnd::{DeferredRx, LndNi, RxAction, SendOutcome};
use crate::model::message::{IncomingMessage, OutgoingMessage, Pooled};
use crate::stats::Outcome;
use lnet_log::{LogClass, write_line};
use lnet_wire::{Errno, Header, Nid, NidPattern};
use std::sync::Arc;

/// Fault rules. The newest rule comes first, and the first one that hits a message applies.
impl Core {
    /// Adds a drop rule. Equal rules may exist (ST-25).
    pub fn add_drop_rule(&self, rule: DropRule) {
        self.faults.add_drop(rule, self.env.now());
        let Filter { source, dest, .. } = &rule.filter;
        write_line!(
            LogClass::FaultRule,
            "drop rule {source} -> {dest} added; messages that match it are dropped"
        );
    }

    /// Adds a delay rule. Equal rules may exist (ST-25).
    pub fn add_delay_rule(&self, rule: DelayRule) {
        self.faults.add_delay(rule, self.env.now());
        let Filter { source, dest, .. } = &rule.filter;
        write_line!(
            LogClass::FaultRule,
            "delay rule {source} -> {dest} added; messages that match it are delayed"
        );
    }

    /// Deletes the drop rules with these patterns (`None`: any pattern); returns their number.
    pub fn delete_drop_rules(&self, source: Option<NidPattern>, dest: Option<NidPattern>) -> usize {
        self.faults.delete_drops(source, dest)
    }

    /// Deletes the delay rules with these patterns (`None`: any pattern); returns their number. The messages that
    /// they delay continue at once. Event handlers run inside; not to be called from one.
    pub fn delete_delay_rules(&self, source: Option<NidPattern>, dest: Option<NidPattern>) -> usize {
        let (deleted, kept) = self.faults.delete_delays(source, dest);
        kept.into_iter().for_each(|message| self.resume_delayed(message));
        deleted
    }

    /// Drop rules and their statistics, the newest first.
    pub fn drop_rules(&self) -> Vec<(DropRule, FaultStats)> {
        self.faults.drops()
    }

    /// Delay rules and their statistics, the newest first.
    pub fn delay_rules(&self) -> Vec<(DelayRule, FaultStats)> {
        self.faults.delays()
    }

    /// Resets the statistics of all drop rules, and restarts their intervals.
    pub fn reset_drop_rules(&self) {
        self.faults.reset_drops(self.env.now());
    }

    /// Resets the statistics of all delay rules, and restarts their intervals.
    pub fn reset_delay_rules(&self) {
        self.faults.reset_delays(self.env.now());
    }

    /// Makes the next `count` messages to or from `nid` (`None`: any) fail: `IOC_LIBCFS_FAIL_NID`. 0 ends that; `u32::MAX`
    /// means all later messages.
    pub fn fail_nid(&self, nid: Option<Nid>, count: u32) {
        self.fail_rules.set(nid, count);
    }
}

impl Core {
    /// Whether a drop rule hits a message that has arrived on `ni`; if so, counts the message as dropped.
    pub(crate) fn fault_drops_incoming(&self, ni: &Ni, header: &Header) -> bool {
        let lost = self.faults.loses(header, ni.nid(), || self.env.now());
        if lost {
            ni.counters().count(Outcome::Dropped, header.body.kind(), header.payload_length);
            let (kind, from, to) = (header.body.kind(), header.src_nid, header.dest_nid);
            log::debug!("{kind} {from} -> {to} dropped by a drop rule");
        }
        lost
    }

    /// Delays a message that has arrived, if a delay rule hits it; returns it otherwise.
    pub(crate) fn delay_by_fault_rule(
        &self,
        message: Pooled<IncomingMessage>,
        defer: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> Option<Pooled<IncomingMessage>> {
        match self.faults.delay_arriving(message, defer, || self.env.now()) {
            Ok(delayed) => {
                self.note_delayed(&delayed);
                None
            }
            Err(message) => Some(message),
        }
    }

    /// Passes a message with all its credits to its driver, unless a rule drops or delays it.
    pub(crate) fn send_by(&self, lnd: &dyn LndNi, message: Pooled<OutgoingMessage>) -> SendOutcome {
        match self.faults.send_by(lnd, message, || self.env.now()) {
            Sent::Now(outcome) => outcome,
            Sent::Later(delayed) => {
                self.note_delayed(&delayed);
                SendOutcome::Pending
            }
        }
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

    fn resume_delayed(&self, message: DelayedMessage) {
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
        if let SendOutcome::Done(message, result) = outcome {
            self.end(message, result);
        }
    }
}
