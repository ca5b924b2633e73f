//! The messages that gateways have and have not confirmed.

use crate::environment::time::Time;
use crate::model::message::Message;
use crate::model::{CarriedOrigin, Confirmation, MessageOrigin};
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Confirmations that are remembered whose messages have no delivery ACK yet: both may come by different connections.
const MAX_EARLY: usize = 4096;
/// So many copies of a message are forwarded at a time: more than there are ways, unless they go in a circle.
const MAX_COPIES: usize = 8;
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
    /// Those of them that this node forwards, by their origins, all marked as refused: what comes back may be so.
    forwarded: BTreeSet<(MessageOrigin, NonZeroU64)>,
    /// From the NID given.
    early: HashMap<NonZeroU64, (Nid, Confirmation)>,
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
    /// back if the gateway has confirmed it already. `is_gateway` says of a NID whether it is the gateway's.
    pub(crate) fn keep(
        &self,
        id: NonZeroU64,
        message: Box<Message>,
        now: Time,
        is_gateway: impl Fn(Nid) -> bool,
    ) -> Result<bool, (Box<Message>, Confirmation)> {
        let table = &mut *lock(&self.table);
        if let Some((from, confirmation)) = table.early.remove(&id)
            && is_gateway(from)
        {
            return Err((message, confirmation));
        }
        if let Some(forwarded) = place_of_forwarded(id, &message) {
            table.forwarded.insert(forwarded);
        }
        table.waiting.insert(id, message);
        let is_new = !self.armed.load(Ordering::Relaxed) && !self.armed.swap(true, Ordering::Relaxed);
        if is_new {
            table.due = Some(now + INTERVAL);
        }
        Ok(is_new)
    }

    /// The message that the node `from` confirms; `None` if it is not known, has no delivery ACK yet, or was not sent there, as
    /// `is_gateway` says of its next hop.
    pub(crate) fn confirmed(
        &self,
        from: Nid,
        id: NonZeroU64,
        confirmation: Confirmation,
        is_gateway: impl Fn(Nid) -> bool,
    ) -> Option<Box<Message>> {
        let table = &mut *lock(&self.table);
        if let Some(message) = table.waiting.get(&id) {
            return if is_gateway(message.next_hop.nid) { table.remove(id) } else { None };
        }
        table.early.insert(id, (from, confirmation));
        table.early_order.push_back(id);
        if table.early_order.len() > MAX_EARLY
            && let Some(oldest) = table.early_order.pop_front()
        {
            table.early.remove(&oldest);
        }
        None
    }

    /// Whether a message that arrives here to be forwarded goes in a circle: this node has forwarded it before, and
    ///
    /// - nobody on its way has lost sight of one, so that there are no copies of it; or
    /// - to the node that it comes from (`is_previous` says that of a NID); or
    /// - too often.
    pub(crate) fn has_come_back(&self, carried: CarriedOrigin, is_previous: impl Fn(Nid) -> bool) -> bool {
        let table = &*lock(&self.table);
        let CarriedOrigin { origin, may_have_arrived } = carried;
        let origin = origin.refused();
        let mut its = table.forwarded.range((origin, NonZeroU64::MIN)..=(origin, NonZeroU64::MAX));
        let went_to = |id: &NonZeroU64| table.waiting.get(id).map(|message| message.next_hop.nid);
        if !may_have_arrived {
            return its.next().is_some();
        }
        its.clone().count() >= MAX_COPIES || its.any(|(_, id)| went_to(id).is_some_and(&is_previous))
    }

    /// Takes the messages for which `which` holds.
    #[allow(clippy::vec_box, reason = "boxes are what drivers give and take")]
    pub(crate) fn take(&self, which: impl Fn(&Message) -> bool) -> Vec<Box<Message>> {
        let table = &mut *lock(&self.table);
        if table.waiting.is_empty() {
            return Vec::new();
        }
        table.take(which)
    }

    /// What is due now.
    pub(crate) fn poll(&self, now: Time, is_over: impl Fn(&Message) -> bool) -> Due {
        let table = &mut *lock(&self.table);
        if table.due.is_none_or(|due| now < due) {
            return Due { next: table.due, ..Due::default() };
        }
        let ended = table.take(is_over);
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

impl Table {
    fn remove(&mut self, id: NonZeroU64) -> Option<Box<Message>> {
        let message = self.waiting.remove(&id)?;
        if let Some(forwarded) = place_of_forwarded(id, &message) {
            self.forwarded.remove(&forwarded);
        }
        Some(message)
    }

    #[allow(clippy::vec_box, reason = "boxes are what drivers give and take")]
    fn take(&mut self, which: impl Fn(&Message) -> bool) -> Vec<Box<Message>> {
        let Self { waiting, forwarded, .. } = self;
        let taken = waiting.extract_if(|_, message| which(message)).map(|(id, message)| {
            if let Some(forwarded_as) = place_of_forwarded(id, &message) {
                forwarded.remove(&forwarded_as);
            }
            message
        });
        taken.collect()
    }
}

fn place_of_forwarded(id: NonZeroU64, message: &Message) -> Option<(MessageOrigin, NonZeroU64)> {
    message.origin.filter(|_| message.is_forwarded()).map(|origin| (origin.refused(), id))
}
