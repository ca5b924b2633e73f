//! Messages that a rule delays, in the order in which they are due (ST-24).
//!
//! A message that is sent waits with its credits. A message that has arrived waits in its driver, which does not read
//! the payload meanwhile.

use super::FaultRules;
use super::rules::RuleId;
use crate::environment::time::Time;
use crate::model::Ni;
use crate::model::lnd::DeferredRx;
use crate::model::message::{IncomingMessage, MessageHead, OutgoingMessage, Pooled};
use crate::sync::lock;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Delayed messages by due time; of equal times in the order of arrival.
#[derive(Debug, Default)]
pub(super) struct Late {
    waiting: BTreeMap<(Time, u64), WaitingMessage>,
    came: u64,
}

#[derive(Debug)]
struct WaitingMessage {
    rule: RuleId,
    message: DelayedMessage,
}

/// The record of a message that was delayed just now.
pub(crate) struct Delayed {
    /// Whether the message is now the first that is due.
    pub(crate) is_first: bool,
    /// The message's interface. If that was removed meanwhile, its removal may not have found the message.
    pub(crate) ni: Arc<Ni>,
}

/// A delayed message, outbound or inbound.
pub(crate) enum DelayedMessage {
    Leaving(Pooled<OutgoingMessage>),
    Arriving(Pooled<IncomingMessage>, Arc<dyn DeferredRx>),
}

impl Late {
    /// Adds a message; returns whether it is now the first that is due.
    fn add(&mut self, due: Time, rule: RuleId, message: DelayedMessage) -> bool {
        self.came += 1;
        let is_first = self.next_due().is_none_or(|first| due < first);
        self.waiting.insert((due, self.came), WaitingMessage { rule, message });
        is_first
    }

    fn take_due(&mut self, now: Time) -> Option<DelayedMessage> {
        let first = self.waiting.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove().message)
    }

    fn next_due(&self) -> Option<Time> {
        self.waiting.first_key_value().map(|((due, _), _)| *due)
    }

    /// Removes the messages for which `which` holds, in the order in which they are due.
    fn take(&mut self, which: impl Fn(&WaitingMessage) -> bool) -> Vec<DelayedMessage> {
        let (taken, kept) = std::mem::take(&mut self.waiting).into_iter().partition(|(_, one)| which(one));
        self.waiting = kept;
        let taken: BTreeMap<(Time, u64), WaitingMessage> = taken;
        taken.into_values().map(|waiting| waiting.message).collect()
    }
}

impl DelayedMessage {
    fn head(&self) -> &MessageHead {
        match self {
            Self::Leaving(message) => message,
            Self::Arriving(message, _) => message,
        }
    }
}

impl FaultRules {
    /// Delays a message that has arrived, if a rule hits it; returns it otherwise.
    pub(crate) fn delay_arriving(
        &self,
        message: Pooled<IncomingMessage>,
        defer: &dyn Fn() -> Arc<dyn DeferredRx>,
        now: Time,
    ) -> Result<Delayed, Pooled<IncomingMessage>> {
        let Some(ni) = message.ni.clone() else { return Err(message) };
        match self.with(|rules| rules.delays(&message.header, ni.nid(), now)) {
            Some((latency, rule)) => {
                Ok(self.delay(now + latency, rule, DelayedMessage::Arriving(message, defer()), ni))
            }
            None => Err(message),
        }
    }

    /// Delays a message that has its credits and is to be sent on `ni`.
    pub(super) fn delay_leaving(
        &self,
        message: Pooled<OutgoingMessage>,
        due: Time,
        rule: RuleId,
        ni: Arc<Ni>,
    ) -> Delayed {
        self.delay(due, rule, DelayedMessage::Leaving(message), ni)
    }

    fn delay(&self, due: Time, rule: RuleId, message: DelayedMessage, ni: Arc<Ni>) -> Delayed {
        let is_first = lock(&self.late).add(due, rule, message);
        Delayed { is_first, ni }
    }

    /// Removes and returns the first message, if it is due.
    pub(crate) fn take_due(&self, now: Time) -> Option<DelayedMessage> {
        lock(&self.late).take_due(now)
    }

    /// The time at which the next message is due.
    pub(crate) fn next_due(&self) -> Option<Time> {
        lock(&self.late).next_due()
    }

    /// Removes the messages that were delayed by rules that have been deleted.
    pub(super) fn take_of_rules(&self, rules: &[RuleId]) -> Vec<DelayedMessage> {
        lock(&self.late).take(|waiting| rules.contains(&waiting.rule))
    }

    /// Removes the messages of an interface that has been removed.
    pub(crate) fn take_of_ni(&self, ni: &Arc<Ni>) -> Vec<DelayedMessage> {
        lock(&self.late).take(|waiting| waiting.message.head().is_by(ni))
    }
}

impl std::fmt::Debug for DelayedMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self {
            Self::Leaving(_) => "Leaving",
            Self::Arriving(..) => "Arriving",
        };
        f.debug_tuple(name).field(&self.head().header).finish()
    }
}
