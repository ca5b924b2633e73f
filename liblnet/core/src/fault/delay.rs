//! Messages that are late on purpose: they wait here, in the order in which they are due (ST-24).
//!
//! What is to leave waits with its credits. What has arrived waits in its driver, which does not read the payload
//! meanwhile.

use super::ON_ARRIVAL;
use super::rules::RuleId;
use crate::core::Core;
use crate::environment::time::Time;
use crate::model::lnd::{DeferredRx, RxAction, SendOutcome};
use crate::model::message::Message;
use crate::sync::lock;
use crate::topology::Ni;
use lnet_wire::Errno;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Messages that are late, by when they are due; of those due at once the one that came first.
#[derive(Debug, Default)]
pub(super) struct Late {
    waiting: BTreeMap<(Time, u64), Waiting>,
    came: u64,
}

#[derive(Debug)]
struct Waiting {
    rule: RuleId,
    what: What,
}

/// What waits.
enum What {
    Leaving(Box<Message>),
    Arriving(Box<Message>, Arc<dyn DeferredRx>),
}

impl Late {
    /// Whether it is now the first that is due.
    fn add(&mut self, due: Time, rule: RuleId, what: What) -> bool {
        self.came += 1;
        let is_first = self.next_due().is_none_or(|first| due < first);
        self.waiting.insert((due, self.came), Waiting { rule, what });
        is_first
    }

    fn take_due(&mut self, now: Time) -> Option<What> {
        let first = self.waiting.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove().what)
    }

    fn next_due(&self) -> Option<Time> {
        self.waiting.first_key_value().map(|((due, _), _)| *due)
    }

    /// Takes out those for which `which` holds, in the order in which they are due.
    fn take(&mut self, which: impl Fn(&Waiting) -> bool) -> Vec<What> {
        let (taken, kept) = std::mem::take(&mut self.waiting).into_iter().partition(|(_, one)| which(one));
        self.waiting = kept;
        let taken: BTreeMap<(Time, u64), Waiting> = taken;
        taken.into_values().map(|waiting| waiting.what).collect()
    }
}

impl What {
    const fn message(&self) -> &Message {
        match self {
            Self::Leaving(message) | Self::Arriving(message, _) => message,
        }
    }
}

impl Core {
    /// Makes a message late that has arrived, if a rule says so; gives it back if not.
    pub(crate) fn unless_late(
        &self,
        message: Box<Message>,
        hold: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> Option<Box<Message>> {
        if !self.faults.may_act(ON_ARRIVAL) {
            return Some(message);
        }
        let Some(ni) = message.ni.clone() else { return Some(message) };
        let now = self.env.now();
        match self.faults.with(|rules| rules.delays(&message.header, ni.nid(), now)) {
            Some((latency, rule)) => {
                self.hold(now + latency, rule, What::Arriving(message, hold()), &ni);
                None
            }
            None => Some(message),
        }
    }

    /// Lets a message wait that has its credits and is to leave.
    pub(super) fn hold_leaving(&self, message: Box<Message>, due: Time, rule: RuleId) {
        if let Some(ni) = message.ni.clone() {
            self.hold(due, rule, What::Leaving(message), &ni);
        }
    }

    fn hold(&self, due: Time, rule: RuleId, what: What, ni: &Arc<Ni>) {
        let is_first = lock(&self.faults.late).add(due, rule, what);
        if is_first {
            self.health.wakeup.notify();
        }
        // Its interface may have gone meanwhile, and whoever took that down looked here before this came.
        if ni.lnd().is_none() {
            self.drop_late_of(ni);
        }
    }

    /// Lets those go on that are due; when the next one is.
    pub(crate) fn release_delayed(&self, now: Time) -> Option<Time> {
        loop {
            // Let go of before anything runs.
            let due = lock(&self.faults.late).take_due(now);
            match due {
                Some(what) => self.go_on(what),
                None => return lock(&self.faults.late).next_due(),
            }
        }
    }

    /// Lets those go on that were made late by rules that are gone.
    pub(super) fn release_held_by(&self, rules: &[RuleId]) {
        let held = lock(&self.faults.late).take(|waiting| rules.contains(&waiting.rule));
        held.into_iter().for_each(|what| self.go_on(what));
    }

    /// Ends those that wait for an interface that is gone.
    pub(crate) fn drop_late_of(&self, ni: &Arc<Ni>) {
        let is_its =
            |waiting: &Waiting| waiting.what.message().ni.as_ref().is_some_and(|its| Arc::ptr_eq(its, ni));
        let its = lock(&self.faults.late).take(is_its);
        for what in its {
            match what {
                What::Leaving(message) => self.end(message, Err(Errno::Shutdown.into())),
                What::Arriving(message, hold) => {
                    self.count_drop(message, "its interface was removed while a delay rule held it");
                    hold.resume(RxAction::Discard);
                }
            }
        }
    }

    fn go_on(&self, what: What) {
        match what {
            What::Leaving(message) => self.send_late(message),
            What::Arriving(message, hold) => match self.deliver(message, &|| Arc::clone(&hold)) {
                // It waits for a buffer now, with the same promise.
                RxAction::Defer => {}
                verdict => hold.resume(verdict),
            },
        }
    }

    fn send_late(&self, message: Box<Message>) {
        if message.md.as_ref().is_some_and(|md| md.is_aborted()) {
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

impl std::fmt::Debug for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self {
            Self::Leaving(_) => "Leaving",
            Self::Arriving(..) => "Arriving",
        };
        f.debug_tuple(name).field(&self.message().header).finish()
    }
}
