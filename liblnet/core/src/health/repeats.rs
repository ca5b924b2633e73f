//! Requests to the reserved portal that wait for their response, and that are repeated when their path fails.
//!
//! A message that a peer without deduplication may have is not sent again: the peer would take the second copy for
//! another message. A ping only reads, and a push that arrives twice, or after a later one, changes nothing, as it
//! carries the sequence number of its information (core-behaviour 5.5). So these requests may be sent again. Most
//! have left their driver by then: a message to such a peer counts as sent when it is written.

use crate::environment::time::Time;
use crate::md::Md;
use crate::model::message::{OutgoingMessage, Request, Role};
use crate::model::response_to;
use crate::sync::{Mutex, lock};
use lnet_wire::{Body, Header, Nid};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// The number of entries below which none is dropped before its response has arrived or its deadline has passed.
const MIN_PRUNED: usize = 64;

/// Whether a request may arrive twice: a request to the reserved portal that only reads, or a push of this node.
pub(crate) fn is_repeatable(message: &OutgoingMessage) -> bool {
    message.is_reserved()
        && !message.is_recovery_ping()
        && match message.header.body {
            Body::Get { .. } => true,
            Body::Put { .. } => message.md().is_some_and(|md| md.is_of_node()),
            Body::Ack { .. } | Body::Reply { .. } => false,
        }
}

/// The requests that wait for a response, by the cookie of their MD.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// Whether there are any requests.
    any: AtomicBool,
    inner: Mutex<RepeatState>,
}

#[derive(Debug, Default)]
struct RepeatState {
    requests: BTreeMap<u64, Repeat>,
    /// The number of entries at which those that have ended are dropped.
    prune_at: usize,
}

/// A request, with the path and time of its last sending.
#[derive(Clone, Debug)]
pub(crate) struct Repeat {
    md: Weak<Md>,
    pub(crate) header: Header,
    pub(crate) deadline: Time,
    /// The source that a copy must have.
    pub(crate) source: Option<Nid>,
    /// The local NID and the NID of the next hop.
    pub(crate) path: (Nid, Nid),
}

impl Repeat {
    /// The request and its cookie. `None` if the message has no path, or goes to this node itself, which no other path does.
    fn of(message: &OutgoingMessage, source: Option<Nid>) -> Option<(u64, Self)> {
        let Role::Request(Request { md, .. }) = &message.role else { return None };
        let ni = message.ni.as_ref().filter(|ni| !ni.nid().is_loopback())?;
        let repeat = Self {
            md: Arc::downgrade(md),
            header: message.header,
            deadline: message.deadline,
            source,
            path: (ni.nid(), message.next_hop.nid),
        };
        Some((md.handle().cookie(), repeat))
    }

    /// The MD, as long as the response may still be used.
    pub(crate) fn awaiting(&self, now: Time) -> Option<Arc<Md>> {
        let response = response_to(&self.header.body)?;
        let md = self.md.upgrade().filter(|_| now < self.deadline)?;
        (!md.has_response(response) && !md.is_unlinking()).then_some(md)
    }
}

impl Repeats {
    /// Records a message that is about to be sent on its path; a copy must have this source, if any. Only messages that are
    /// [`is_repeatable`] are kept.
    pub(crate) fn note(&self, message: &OutgoingMessage, source: Option<Nid>, now: Time) {
        if !is_repeatable(message) {
            return;
        }
        let Some((cookie, repeat)) = Repeat::of(message, source) else { return };
        let inner = &mut *lock(&self.inner);
        if inner.requests.len() >= inner.prune_at.max(MIN_PRUNED) {
            inner.requests.retain(|_, repeat| repeat.awaiting(now).is_some());
            inner.prune_at = 2 * inner.requests.len();
        }
        inner.requests.insert(cookie, repeat);
        self.any.store(true, Ordering::Relaxed);
    }

    /// Whether any request may wait.
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// The requests that wait for a response, each with its MD, whose paths `has_failed`. Those that have ended are
    /// dropped.
    pub(super) fn on_failed(
        &self,
        now: Time,
        has_failed: impl Fn((Nid, Nid)) -> bool,
    ) -> Vec<(Arc<Md>, Repeat)> {
        if !self.any() {
            return Vec::new();
        }
        let inner = &mut *lock(&self.inner);
        inner.requests.retain(|_, repeat| repeat.awaiting(now).is_some());
        self.any.store(!inner.requests.is_empty(), Ordering::Relaxed);
        let failed = inner.requests.values().filter(|repeat| has_failed(repeat.path));
        failed.filter_map(|repeat| Some((repeat.awaiting(now)?, repeat.clone()))).collect()
    }
}
