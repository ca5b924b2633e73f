//! What a destination remembers of the messages that came through gateways: which have arrived, which are arriving, and which
//! have arrived in part.

use super::seen::{REMEMBERED, Seen};
use crate::environment::time::Time;
use crate::model::lnd::DeferredRx;
use crate::model::message::Message;
use crate::model::{MessageOrigin, Ni};
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// More nodes than this are not remembered.
const MOST_NODES: usize = 4096;
/// How often what is old is looked for.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Default)]
pub(crate) struct Origins(Mutex<Table>);

#[derive(Default)]
struct Table {
    nodes: HashMap<NonZeroU64, Seen>,
    arriving: HashMap<MessageOrigin, Progress>,
    next_expiry: Time,
}

/// A copy of a message that is still arriving by another gateway: its driver keeps it.
pub(crate) struct WaitingCopy {
    pub(crate) message: Box<Message>,
    pub(crate) hold: Arc<dyn DeferredRx>,
}

/// A message that has arrived in part, and the copy that is to be received in its place.
pub(crate) struct Recovered {
    pub(crate) partial: Box<Message>,
    pub(crate) copy: WaitingCopy,
}

enum Progress {
    /// From this peer NI, on this NI.
    Arriving { by: (Option<Arc<Ni>>, Nid), copy: Option<WaitingCopy> },
    /// Its payload has ended early. The operation fails unless a copy comes before that time.
    Partial { message: Box<Message>, until: Time },
}

/// What a message with an origin is.
pub(crate) enum Arrived {
    /// The first.
    First(Box<Message>),
    /// A copy of one that has arrived.
    Duplicate(Box<Message>),
    /// A copy of one that is still arriving, by this path: it waits. An earlier copy has waited until now.
    Waits { first: (Option<Arc<Ni>>, Nid), earlier: Option<WaitingCopy> },
    /// A copy of one that has arrived in part: that one, and the copy.
    Resumes { partial: Box<Message>, copy: Box<Message> },
}

impl Origins {
    /// A message with an origin arrives.
    pub(crate) fn arrives(
        &self,
        origin: MessageOrigin,
        message: Box<Message>,
        hold: impl FnOnce() -> Arc<dyn DeferredRx>,
    ) -> Arrived {
        let table = &mut *lock(&self.0);
        if table.nodes.get(&origin.node).is_some_and(|seen| seen.contains(origin.id)) {
            return Arrived::Duplicate(message);
        }
        let by = || (message.ni.clone(), message.next_hop.nid);
        match table.arriving.remove(&origin) {
            None => {
                table.arriving.insert(origin, Progress::Arriving { by: by(), copy: None });
                Arrived::First(message)
            }
            Some(Progress::Partial { message: partial, until }) => {
                if partial.header.payload_length != message.header.payload_length {
                    table.arriving.insert(origin, Progress::Partial { message: partial, until });
                    return Arrived::Duplicate(message);
                }
                table.arriving.insert(origin, Progress::Arriving { by: by(), copy: None });
                Arrived::Resumes { partial, copy: message }
            }
            Some(Progress::Arriving { by, copy: earlier }) => {
                let first = by.clone();
                // The latest: its sender waits for no other.
                let copy = Some(WaitingCopy { message, hold: hold() });
                table.arriving.insert(origin, Progress::Arriving { by, copy });
                Arrived::Waits { first, earlier }
            }
        }
    }

    /// The message has arrived, or will not be received: copies of it are dropped from now on. Returns one that waits.
    pub(crate) fn arrived(&self, origin: MessageOrigin, now: Time) -> Option<WaitingCopy> {
        let table = &mut *lock(&self.0);
        if table.nodes.len() < MOST_NODES || table.nodes.contains_key(&origin.node) {
            let nodes = table.nodes.len();
            table.nodes.entry(origin.node).or_default().insert(origin.id, now, nodes);
        }
        match table.arriving.remove(&origin) {
            Some(Progress::Arriving { copy, .. }) => copy,
            other => {
                if let Some(partial) = other {
                    table.arriving.insert(origin, partial);
                }
                None
            }
        }
    }

    /// The payload of the message has ended early. It is kept until then for a copy, or returned with one that waits.
    pub(crate) fn broke_off(
        &self,
        origin: MessageOrigin,
        message: Box<Message>,
        until: Time,
    ) -> Option<Recovered> {
        let table = &mut *lock(&self.0);
        match table.arriving.remove(&origin) {
            Some(Progress::Arriving { copy: Some(copy), .. }) => {
                let by = (copy.message.ni.clone(), copy.message.next_hop.nid);
                table.arriving.insert(origin, Progress::Arriving { by, copy: None });
                Some(Recovered { partial: message, copy })
            }
            _ => {
                table.arriving.insert(origin, Progress::Partial { message, until });
                None
            }
        }
    }

    /// The message has been lost before its memory was found. Returns a copy that waits: it is the first now.
    pub(crate) fn lost(&self, origin: MessageOrigin) -> Option<WaitingCopy> {
        let table = &mut *lock(&self.0);
        let Some(Progress::Arriving { copy: Some(copy), .. }) = table.arriving.remove(&origin) else {
            return None;
        };
        let by = (copy.message.ni.clone(), copy.message.next_hop.nid);
        table.arriving.insert(origin, Progress::Arriving { by, copy: None });
        Some(copy)
    }

    /// Forgets what is old. Returns the messages that have arrived in part and of which no copy has come in time, or for which
    /// `is_over` holds, and when to call this again.
    #[allow(clippy::vec_box, reason = "boxes are what drivers give and take")]
    pub(crate) fn expire(
        &self,
        now: Time,
        is_over: impl Fn(&Message) -> bool,
    ) -> (Vec<Box<Message>>, Option<Time>) {
        let table = &mut *lock(&self.0);
        let next = |table: &Table| {
            let has_partial = table.arriving.values().any(|one| matches!(one, Progress::Partial { .. }));
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
        table.nodes.retain(|_, seen| {
            seen.expire(now);
            !seen.is_empty()
        });
        let over = table.take_partial(|message, until| until <= now || is_over(message));
        (over, next(table))
    }

    /// Takes the messages that have arrived in part for which `which` holds: they will not be completed.
    #[allow(clippy::vec_box, reason = "boxes are what drivers give and take")]
    pub(crate) fn take_partial(&self, which: impl Fn(&Message) -> bool) -> Vec<Box<Message>> {
        lock(&self.0).take_partial(|message, _| which(message))
    }
}

impl Table {
    #[allow(clippy::vec_box, reason = "boxes are what drivers give and take")]
    fn take_partial(&mut self, which: impl Fn(&Message, Time) -> bool) -> Vec<Box<Message>> {
        let is_it = |progress: &Progress| match progress {
            Progress::Partial { message, until } => which(message, *until),
            Progress::Arriving { .. } => false,
        };
        let taken = self.arriving.extract_if(|_, progress| is_it(progress));
        taken
            .filter_map(|(_, progress)| match progress {
                Progress::Partial { message, .. } => Some(message),
                Progress::Arriving { .. } => None,
            })
            .collect()
    }
}

impl std::fmt::Debug for Origins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Origins").finish_non_exhaustive()
    }
}
