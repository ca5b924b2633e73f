//! The messages that gateways have received and not confirmed.

use crate::environment::time::Time;
use crate::model::message::{OutgoingMessage, Pooled};
use crate::model::{CarriedOrigin, Confirmation, MessageOrigin};
use crate::sync::{Mutex, lock};
use foldhash::HashMap;
use lnet_wire::Nid;
use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The number of confirmations kept that came before the delivery ACK of their message, by another connection.
const MAX_EARLY: usize = 4096;
/// The number of copies of one message that are forwarded at a time: more than there are paths, unless messages circulate.
const MAX_COPIES: usize = 8;
/// The interval at which deadlines are checked.
const INTERVAL: Duration = Duration::from_secs(1);

/// The messages that wait for a gateway's confirmation. Any thread may call its methods; none of them makes upcalls.
#[derive(Debug, Default)]
pub(crate) struct Unconfirmed {
    table: Mutex<Table>,
    /// Whether [`Unconfirmed::poll`] has been scheduled.
    armed: AtomicBool,
}

#[derive(Debug, Default)]
struct Table {
    /// The messages, by the id that the driver gave them on their present path.
    waiting: HashMap<NonZeroU64, Pooled<OutgoingMessage>>,
    /// The messages in `waiting` that this node forwards, by their origins, which are marked as refused in case they come back
    /// so.
    forwarded: BTreeSet<(MessageOrigin, NonZeroU64)>,
    /// Confirmations without a message in `waiting`, with the NID that they came from.
    early: HashMap<NonZeroU64, (Nid, Confirmation)>,
    /// The ids in `early`, the oldest first; some may have been removed there.
    early_order: VecDeque<NonZeroU64>,
    /// The time of the next poll.
    due: Option<Time>,
}

/// The actions that are due.
#[derive(Debug, Default)]
pub(crate) struct DueMessages {
    /// Messages whose deadline has passed, or whose owner has given them up.
    pub(crate) ended: Vec<Pooled<OutgoingMessage>>,
    /// The time of the next [`Unconfirmed::poll`].
    pub(crate) next: Option<Time>,
}

impl Unconfirmed {
    /// Keeps a message that its gateway has received; returns whether the next call of [`Unconfirmed::poll`] is due at
    /// another time. Returns the message if the gateway has confirmed it already. `is_gateway` tells whether a NID is one of
    /// the gateway's.
    pub(crate) fn keep(
        &self,
        id: NonZeroU64,
        message: Pooled<OutgoingMessage>,
        now: Time,
        is_gateway: impl Fn(Nid) -> bool,
    ) -> Result<bool, (Pooled<OutgoingMessage>, Confirmation)> {
        let table = &mut *lock(&self.table);
        if !table.early.is_empty()
            && let Some((from, confirmation)) = table.early.remove(&id)
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

    /// Removes and returns the message that the node `from` confirms; `None` if it is unknown, has no delivery ACK yet, or was
    /// not sent to that node, as `is_gateway` tells by its next hop.
    pub(crate) fn confirmed(
        &self,
        from: Nid,
        id: NonZeroU64,
        confirmation: Confirmation,
        is_gateway: impl Fn(Nid) -> bool,
    ) -> Option<Pooled<OutgoingMessage>> {
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

    /// Whether a message that arrives to be forwarded is circulating: this node has forwarded it before, and
    ///
    /// - no node on its path has lost track of it, so that there are no copies of it; or
    /// - to the node that it now comes from (`is_previous` tells this node's NIDs); or
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

    /// Removes and returns the messages for which `which` holds.
    pub(crate) fn take(&self, which: impl Fn(&OutgoingMessage) -> bool) -> Vec<Pooled<OutgoingMessage>> {
        let table = &mut *lock(&self.table);
        if table.waiting.is_empty() {
            return Vec::new();
        }
        table.take(which)
    }

    /// The actions that are due now; `is_over` tells the messages to end.
    pub(crate) fn poll(&self, now: Time, is_over: impl Fn(&OutgoingMessage) -> bool) -> DueMessages {
        let table = &mut *lock(&self.table);
        if table.due.is_none_or(|due| now < due) {
            return DueMessages { next: table.due, ..DueMessages::default() };
        }
        let ended = table.take(is_over);
        table.due = (!table.waiting.is_empty()).then(|| now + INTERVAL);
        self.armed.store(table.due.is_some(), Ordering::Relaxed);
        DueMessages { ended, next: table.due }
    }

    /// The gateways that have not confirmed messages, each by the NID that the messages were sent to.
    pub(crate) fn gateways(&self) -> Vec<Nid> {
        let table = lock(&self.table);
        let mut gateways: Vec<Nid> = table.waiting.values().map(|message| message.next_hop.nid).collect();
        gateways.sort_unstable();
        gateways.dedup();
        gateways
    }
}

impl Table {
    fn remove(&mut self, id: NonZeroU64) -> Option<Pooled<OutgoingMessage>> {
        let message = self.waiting.remove(&id)?;
        if let Some(forwarded) = place_of_forwarded(id, &message) {
            self.forwarded.remove(&forwarded);
        }
        Some(message)
    }

    /// Removes and returns the messages for which `which` holds, in the order of their ids: they are sent again in that.
    fn take(&mut self, which: impl Fn(&OutgoingMessage) -> bool) -> Vec<Pooled<OutgoingMessage>> {
        let Self { waiting, forwarded, .. } = self;
        let mut taken: Vec<_> = waiting.extract_if(|_, message| which(message)).collect();
        taken.sort_unstable_by_key(|(id, _)| *id);
        for (id, message) in &taken {
            if let Some(forwarded_as) = place_of_forwarded(*id, message) {
                forwarded.remove(&forwarded_as);
            }
        }
        taken.into_iter().map(|(_, message)| message).collect()
    }
}

fn place_of_forwarded(id: NonZeroU64, message: &OutgoingMessage) -> Option<(MessageOrigin, NonZeroU64)> {
    let origin = message.origin.name().filter(|_| message.is_forwarded())?;
    Some((origin.refused(), id))
}
