//! The messages that gateways have and have not confirmed.

use crate::environment::time::Time;
use crate::memory::MdHandle;
use crate::model::Confirmation;
use crate::model::message::Message;
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;
use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Confirmations that are remembered whose messages have no delivery ACK yet: both may come by different connections.
const MOST_EARLY: usize = 4096;
/// A gateway that has not confirmed a message for so long is pinged.
const PING_AFTER: Duration = Duration::from_secs(1);

/// See the module. Any thread may call its methods; none of them makes upcalls.
#[derive(Debug, Default)]
pub(crate) struct Unconfirmed {
    table: Mutex<Table>,
    /// Whether [`Unconfirmed::poll`] has been scheduled.
    armed: AtomicBool,
}

/// The local NI and the NID of a gateway.
type UnconfirmedPath = (Nid, Nid);

#[derive(Debug, Default)]
struct Table {
    /// By the id that the driver gave them on their present path.
    waiting: HashMap<NonZeroU64, Waiting>,
    early: HashMap<NonZeroU64, Confirmation>,
    /// The ids of `early`, the oldest first; some may be gone there.
    early_order: VecDeque<NonZeroU64>,
    /// When to poll.
    due: Option<Time>,
    /// The pings of paths on which messages have waited for long.
    pings: HashMap<UnconfirmedPath, Option<MdHandle>>,
}

#[derive(Debug)]
struct Waiting {
    message: Box<Message>,
    since: Time,
}

/// What is due.
#[derive(Debug, Default)]
pub(crate) struct Due {
    /// Messages that have waited until their deadline, or whose owner has given them up.
    pub(crate) ended: Vec<Box<Message>>,
    /// Paths to ping, and the previous ping of each.
    pub(crate) pings: Vec<(UnconfirmedPath, Option<MdHandle>)>,
    /// Pings that are not needed any more.
    pub(crate) old_pings: Vec<MdHandle>,
    /// When to ask again.
    pub(crate) next: Option<Time>,
}

impl Unconfirmed {
    /// Keeps a message that its gateway has; returns whether [`Unconfirmed::poll`] has become due at another time. It comes
    /// back if the gateway has confirmed it already.
    pub(crate) fn keep(
        &self,
        id: NonZeroU64,
        message: Box<Message>,
        now: Time,
    ) -> Result<bool, (Box<Message>, Confirmation)> {
        let table = &mut *lock(&self.table);
        if let Some(confirmation) = table.early.remove(&id) {
            return Err((message, confirmation));
        }
        table.waiting.insert(id, Waiting { message, since: now });
        let is_new = !self.armed.load(Ordering::Relaxed) && !self.armed.swap(true, Ordering::Relaxed);
        if is_new {
            table.due = Some(now + PING_AFTER);
        }
        Ok(is_new)
    }

    /// The message that a gateway confirms; `None` if it is not known, or has no delivery ACK yet.
    pub(crate) fn confirmed(&self, id: NonZeroU64, confirmation: Confirmation) -> Option<Box<Message>> {
        let table = &mut *lock(&self.table);
        if let Some(Waiting { message, .. }) = table.waiting.remove(&id) {
            return Some(message);
        }
        table.early.insert(id, confirmation);
        table.early_order.push_back(id);
        if table.early_order.len() > MOST_EARLY
            && let Some(oldest) = table.early_order.pop_front()
        {
            table.early.remove(&oldest);
        }
        None
    }

    /// Takes the messages for which `which` holds.
    #[allow(clippy::vec_box, reason = "boxes are what drivers give and take")]
    pub(crate) fn take(&self, which: impl Fn(&Message) -> bool) -> Vec<Box<Message>> {
        let table = &mut *lock(&self.table);
        if table.waiting.is_empty() {
            return Vec::new();
        }
        let taken = table.waiting.extract_if(|_, waiting| which(&waiting.message));
        taken.map(|(_, waiting)| waiting.message).collect()
    }

    /// What is due now.
    pub(crate) fn poll(&self, now: Time, is_over: impl Fn(&Message) -> bool) -> Due {
        let table = &mut *lock(&self.table);
        if table.due.is_none_or(|due| now < due) {
            return Due { next: table.due, ..Due::default() };
        }
        let ended = table.waiting.extract_if(|_, waiting| is_over(&waiting.message));
        let ended: Vec<_> = ended.map(|(_, waiting)| waiting.message).collect();
        let mut paths: Vec<UnconfirmedPath> = Vec::new();
        for Waiting { message, since } in table.waiting.values() {
            if now.since(*since) >= PING_AFTER
                && let Some(ni) = &message.ni
            {
                paths.push((ni.nid(), message.next_hop.nid));
            }
        }
        paths.sort_unstable();
        paths.dedup();
        let old_pings = table.pings.extract_if(|path, _| !paths.contains(path));
        let old_pings = old_pings.filter_map(|(_, ping)| ping).collect();
        let pings = paths.into_iter().map(|path| (path, table.pings.insert(path, None).flatten())).collect();
        table.due = (!table.waiting.is_empty()).then(|| now + PING_AFTER);
        self.armed.store(table.due.is_some(), Ordering::Relaxed);
        Due { ended, pings, old_pings, next: table.due }
    }

    /// A ping has been sent.
    pub(crate) fn pinged(&self, path: UnconfirmedPath, ping: MdHandle) {
        lock(&self.table).pings.insert(path, Some(ping));
    }
}
