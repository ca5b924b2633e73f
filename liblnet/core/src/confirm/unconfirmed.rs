//! The messages that gateways have and have not confirmed.

use crate::environment::time::Time;
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
/// How often their deadlines are looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// See the module. Any thread may call its methods; none of them makes upcalls.
#[derive(Debug, Default)]
pub(crate) struct Unconfirmed {
    table: Mutex<Table>,
    /// Whether [`Unconfirmed::poll`] has been scheduled.
    armed: AtomicBool,
}

#[derive(Debug, Default)]
struct Table {
    /// By the id that the driver gave them on their present path.
    waiting: HashMap<NonZeroU64, Box<Message>>,
    early: HashMap<NonZeroU64, Confirmation>,
    /// The ids of `early`, the oldest first; some may be gone there.
    early_order: VecDeque<NonZeroU64>,
    /// When to poll.
    due: Option<Time>,
}

/// What is due.
#[derive(Debug, Default)]
#[allow(clippy::vec_box, reason = "boxes are what drivers give and take")]
pub(crate) struct Due {
    /// Messages that have waited until their deadline, or whose owner has given them up.
    pub(crate) ended: Vec<Box<Message>>,
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
        table.waiting.insert(id, message);
        let is_new = !self.armed.load(Ordering::Relaxed) && !self.armed.swap(true, Ordering::Relaxed);
        if is_new {
            table.due = Some(now + INTERVAL);
        }
        Ok(is_new)
    }

    /// The message that a gateway confirms; `None` if it is not known, or has no delivery ACK yet.
    pub(crate) fn confirmed(&self, id: NonZeroU64, confirmation: Confirmation) -> Option<Box<Message>> {
        let table = &mut *lock(&self.table);
        if let Some(message) = table.waiting.remove(&id) {
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
        let taken = table.waiting.extract_if(|_, message| which(message));
        taken.map(|(_, message)| message).collect()
    }

    /// What is due now.
    pub(crate) fn poll(&self, now: Time, is_over: impl Fn(&Message) -> bool) -> Due {
        let table = &mut *lock(&self.table);
        if table.due.is_none_or(|due| now < due) {
            return Due { next: table.due, ..Due::default() };
        }
        let ended = table.waiting.extract_if(|_, message| is_over(message));
        let ended: Vec<_> = ended.map(|(_, message)| message).collect();
        table.due = (!table.waiting.is_empty()).then(|| now + INTERVAL);
        self.armed.store(table.due.is_some(), Ordering::Relaxed);
        Due { ended, next: table.due }
    }

    /// The gateways that have not confirmed messages.
    pub(crate) fn gateways(&self) -> Vec<Nid> {
        let table = lock(&self.table);
        let mut gateways: Vec<Nid> = table.waiting.values().map(|message| message.next_hop.nid).collect();
        gateways.sort_unstable();
        gateways.dedup();
        gateways
    }
}
