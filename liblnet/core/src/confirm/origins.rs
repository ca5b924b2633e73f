//! A destination's record of the messages that came through gateways: those that have arrived, those that are arriving, and those
//! that have arrived in part.

use super::known_nodes::{BroughtBy, KnownNodes};
use super::seen::REMEMBERED;
use crate::environment::time::Time;
use crate::model::lnd::DeferredRx;
use crate::model::message::{IncomingMessage, Pooled};
use crate::model::{MessageOrigin, Ni, PartialMessages};
use crate::sync::{Mutex, lock};
use foldhash::HashMap;
use lnet_wire::Nid;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

/// The number of copies of one message that wait at a time: more than there are gateways that a sender tries while one message
/// arrives. Beyond it the oldest is dropped.
const MAX_WAITING_COPIES: usize = 8;

/// The interval at which old entries are searched for.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(1);

/// The messages that came through gateways, by their origins.
#[derive(Default)]
pub(crate) struct Origins(Mutex<Table>);

#[derive(Default)]
struct Table {
    nodes: KnownNodes,
    arriving: HashMap<MessageOrigin, OriginProgress>,
    /// The messages in `arriving` that have arrived in part.
    partial: PartialMessages<MessageOrigin>,
    next_expiry: Time,
}

/// A copy of a message that is still arriving by another gateway; the copy's driver keeps it.
pub(crate) struct WaitingCopy {
    pub(crate) message: Pooled<IncomingMessage>,
    pub(crate) deferred: Arc<dyn DeferredRx>,
}

/// A message that has arrived in part, and the copy that is received in its place.
pub(crate) struct Recovered {
    pub(crate) partial: Pooled<IncomingMessage>,
    pub(crate) copy: WaitingCopy,
}

enum OriginProgress {
    /// The payload is being received on this NI from this peer NI.
    Arriving {
        by: (Option<Arc<Ni>>, Nid),
        /// The length of the payload in bytes.
        length: u32,
        /// The copies that wait, the last to arrive last.
        copies: Vec<WaitingCopy>,
        /// The time until which the message is kept if the payload ends early, if that has happened before.
        until: Option<Time>,
    },
    /// The payload has ended early. The operation fails unless a copy arrives before `until`.
    Partial { message: Pooled<IncomingMessage>, until: Time },
}

/// The treatment of a message whose payload has ended early.
pub(crate) enum BrokenOff {
    /// The message is kept. The messages returned were given up for it, as too many were kept.
    Kept(Vec<Pooled<IncomingMessage>>),
    /// A copy has been waiting: the message is received from the copy.
    Resumes(Recovered),
}

/// The relation of an arriving message to those with the same origin.
pub(crate) enum Arrived {
    /// The first message with the origin.
    First(Pooled<IncomingMessage>),
    /// A copy of a message that has arrived completely.
    Duplicate(Pooled<IncomingMessage>),
    /// A copy of a message that is still arriving by the path `first`: the copy waits. The oldest of too many is returned.
    Waits { first: (Option<Arc<Ni>>, Nid), too_many: Option<WaitingCopy> },
    /// A copy of the message `partial`, which has arrived in part.
    Resumes { partial: Pooled<IncomingMessage>, copy: Pooled<IncomingMessage> },
}

impl Origins {
    /// Records an arriving message with an origin, and returns its relation to earlier ones.
    pub(crate) fn arrives(
        &self,
        origin: MessageOrigin,
        message: Pooled<IncomingMessage>,
        make_deferred: impl FnOnce() -> Arc<dyn DeferredRx>,
    ) -> Arrived {
        let table = &mut *lock(&self.0);
        if table.nodes.contains(origin) {
            return Arrived::Duplicate(message);
        }
        let arriving = |message: &IncomingMessage, until| OriginProgress::Arriving {
            by: (message.ni.clone(), message.from),
            length: message.header.payload_length,
            copies: Vec::new(),
            until,
        };
        let earlier = match table.arriving.entry(origin) {
            Entry::Vacant(place) => {
                place.insert(arriving(&message, None));
                return Arrived::First(message);
            }
            Entry::Occupied(place) => place.remove(),
        };
        match earlier {
            OriginProgress::Partial { message: partial, until } => {
                if partial.header.payload_length != message.header.payload_length {
                    table.arriving.insert(origin, OriginProgress::Partial { message: partial, until });
                    return Arrived::Duplicate(message);
                }
                table.partial.release(&origin);
                table.arriving.insert(origin, arriving(&message, Some(until)));
                Arrived::Resumes { partial, copy: message }
            }
            first @ OriginProgress::Arriving { length, .. } if length != message.header.payload_length => {
                table.arriving.insert(origin, first);
                Arrived::Duplicate(message)
            }
            OriginProgress::Arriving { by, length, mut copies, until } => {
                let first = by.clone();
                // None is dropped while the message is incomplete: it is not known which of them the sender waits for, and a copy
                // that is dropped counts as delivered.
                let too_many = (copies.len() >= MAX_WAITING_COPIES).then(|| copies.remove(0));
                copies.push(WaitingCopy { message, deferred: make_deferred() });
                table.arriving.insert(origin, OriginProgress::Arriving { by, length, copies, until });
                Arrived::Waits { first, too_many }
            }
        }
    }

    /// Records that the message has arrived, or will not be received: later copies are dropped. Returns the copies that wait.
    pub(crate) fn arrived(&self, origin: MessageOrigin, by: BroughtBy, now: Time) -> Vec<WaitingCopy> {
        let table = &mut *lock(&self.0);
        table.nodes.insert(origin, by, now);
        match table.arriving.remove(&origin) {
            Some(OriginProgress::Arriving { copies, .. }) => copies,
            other => {
                if let Some(partial) = other {
                    table.arriving.insert(origin, partial);
                }
                Vec::new()
            }
        }
    }

    /// Records that the payload of the message has ended early. The message is kept for a copy until `until`, or until the time
    /// given when its payload first ended early; or it is returned with a copy that waits.
    pub(crate) fn incomplete(
        &self,
        origin: MessageOrigin,
        message: Pooled<IncomingMessage>,
        until: Time,
    ) -> BrokenOff {
        let table = &mut *lock(&self.0);
        let until = match table.arriving.remove(&origin) {
            Some(OriginProgress::Arriving { copies, until: first, .. }) => {
                let until = first.unwrap_or(until);
                if let Some(copy) = table.continue_with_copy(origin, copies, Some(until)) {
                    return BrokenOff::Resumes(Recovered { partial: message, copy });
                }
                until
            }
            _ => until,
        };
        let too_many = table.partial.keep(message.from, origin);
        table.arriving.insert(origin, OriginProgress::Partial { message, until });
        BrokenOff::Kept(too_many.into_iter().filter_map(|origin| table.take_one(origin)).collect())
    }

    /// Records that the message was lost before its memory was found. Returns a copy that waits, which is the first message now.
    pub(crate) fn lost(&self, origin: MessageOrigin) -> Option<WaitingCopy> {
        let table = &mut *lock(&self.0);
        let Some(OriginProgress::Arriving { copies, .. }) = table.arriving.remove(&origin) else {
            return None;
        };
        table.continue_with_copy(origin, copies, None)
    }

    /// Removes old entries. Returns the messages that have arrived in part and of which no copy has come in time, or for which
    /// `is_over` holds; and the time of the next call.
    pub(crate) fn expire(
        &self,
        now: Time,
        is_over: impl Fn(&IncomingMessage) -> bool,
    ) -> (Vec<Pooled<IncomingMessage>>, Option<Time>) {
        let table = &mut *lock(&self.0);
        let next = |table: &Table| {
            let has_partial =
                table.arriving.values().any(|one| matches!(one, OriginProgress::Partial { .. }));
            match (has_partial, table.nodes.is_empty()) {
                (true, _) => Some(table.next_expiry),
                (false, false) => Some(table.next_expiry.max(now + REMEMBERED / 4)),
                (false, true) => None,
            }
        };
        if now < table.next_expiry {
            return (Vec::new(), next(table));
        }
        table.next_expiry = now + EXPIRY_INTERVAL;
        table.nodes.expire(now);
        let over = table.take_partial(|message, until| until <= now || is_over(message));
        (over, next(table))
    }

    /// Removes the messages that have arrived in part for which `which` holds: they will not be completed.
    pub(crate) fn take_partial(
        &self,
        which: impl Fn(&IncomingMessage) -> bool,
    ) -> Vec<Pooled<IncomingMessage>> {
        lock(&self.0).take_partial(|message, _| which(message))
    }
}

impl Table {
    /// Takes the last of the copies that wait as the one that arrives now; the others go on waiting.
    fn continue_with_copy(
        &mut self,
        origin: MessageOrigin,
        mut copies: Vec<WaitingCopy>,
        until: Option<Time>,
    ) -> Option<WaitingCopy> {
        let copy = copies.pop()?;
        let by = (copy.message.ni.clone(), copy.message.from);
        let length = copy.message.header.payload_length;
        self.arriving.insert(origin, OriginProgress::Arriving { by, length, copies, until });
        Some(copy)
    }

    fn take_partial(
        &mut self,
        which: impl Fn(&IncomingMessage, Time) -> bool,
    ) -> Vec<Pooled<IncomingMessage>> {
        let is_it = |progress: &OriginProgress| match progress {
            OriginProgress::Partial { message, until } => which(message, *until),
            OriginProgress::Arriving { .. } => false,
        };
        let which: Vec<MessageOrigin> =
            self.arriving.iter().filter(|(_, progress)| is_it(progress)).map(|(origin, _)| *origin).collect();
        which.into_iter().filter_map(|origin| self.take_one(origin)).collect()
    }

    /// Removes a message that has arrived in part; returns `None` if there is no such message.
    fn take_one(&mut self, origin: MessageOrigin) -> Option<Pooled<IncomingMessage>> {
        self.partial.release(&origin);
        match self.arriving.remove(&origin)? {
            OriginProgress::Partial { message, .. } => Some(message),
            arriving @ OriginProgress::Arriving { .. } => {
                self.arriving.insert(origin, arriving);
                None
            }
        }
    }
}

impl std::fmt::Debug for Origins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Origins").finish_non_exhaustive()
    }
}
