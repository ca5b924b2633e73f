//! The queue of peers that need a discovery step, and discovery's requests in flight.

use super::Step;
use crate::environment::time::Time;
use crate::memory::{MdHandle, RecvBuffer};
use crate::model::DiscoveryState;
use lnet_wire::Nid;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The number of requests within [`RECENT_INTERVAL`] from which on peers for which nothing waits have to wait: the
/// requests must not use up the credits of other messages.
const MAX_RECENT: usize = 64;
/// The time for which a request counts as recent.
const RECENT_INTERVAL: Duration = Duration::from_secs(1);

/// A ping or push in flight.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) state: Arc<DiscoveryState>,
    pub(crate) step: Step,
    pub(crate) nid: Nid,
    pub(crate) at: Time,
    /// The time at which the request times out.
    pub(crate) expires: Time,
    /// The buffer for the REPLY to a ping.
    pub(crate) reply: Option<RecvBuffer>,
    /// The sequence number that is pushed.
    pub(crate) sequence: u32,
    /// The handle of the MD, once it is bound.
    pub(crate) md: Option<MdHandle>,
}

/// The queue of discovery's work.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Peers for which requests or callers wait, and those whose discovery has begun.
    urgent: VecDeque<Arc<DiscoveryState>>,
    others: VecDeque<Arc<DiscoveryState>>,
    /// Requests in flight in the order in which they were sent.
    sent: BTreeMap<usize, PendingRequest>,
    /// The same requests by expiry.
    deadlines: BTreeSet<(Time, usize)>,
    last_id: usize,
    /// The MDs of failed requests, which are to be unlinked.
    pub(crate) stale: VecDeque<MdHandle>,
    /// Whether the ping buffer is to be renewed.
    pub(crate) republish: bool,
}

impl Queue {
    /// Adds a peer. A peer may be in a queue twice; the taker checks [`Inner::queued`](crate::model::Inner::queued).
    pub(crate) fn push(&mut self, state: Arc<DiscoveryState>, urgent: bool) {
        if urgent { self.urgent.push_back(state) } else { self.others.push_back(state) }
    }

    /// Removes and returns the next peer.
    pub(crate) fn pop(&mut self, now: Time) -> Option<Arc<DiscoveryState>> {
        self.urgent.pop_front().or_else(|| self.may_send(now).then(|| self.others.pop_front()).flatten())
    }

    /// Stores a request that is about to be sent; returns its number.
    pub(crate) fn sent(&mut self, sent: PendingRequest) -> usize {
        self.last_id += 1;
        self.deadlines.insert((sent.expires, self.last_id));
        self.sent.insert(self.last_id, sent);
        self.last_id
    }

    pub(crate) fn set_md(&mut self, id: usize, md: MdHandle) {
        if let Some(sent) = self.sent.get_mut(&id) {
            sent.md = Some(md);
        }
    }

    /// Removes a request that has ended.
    pub(crate) fn ended(&mut self, id: usize) -> Option<PendingRequest> {
        let sent = self.sent.remove(&id)?;
        self.deadlines.remove(&(sent.expires, id));
        Some(sent)
    }

    /// Removes the requests to a removed peer.
    pub(crate) fn ended_of(&mut self, state: &DiscoveryState) -> Vec<PendingRequest> {
        let its = self.sent.iter().filter(|(_, sent)| sent.state.id() == state.id());
        let ids: Vec<usize> = its.map(|(id, _)| *id).collect();
        ids.into_iter().filter_map(|id| self.ended(id)).collect()
    }

    /// Removes one request that has expired, and returns it.
    pub(crate) fn expired(&mut self, now: Time) -> Option<PendingRequest> {
        let (expires, id) = *self.deadlines.first()?;
        (expires <= now).then(|| self.ended(id)).flatten()
    }

    /// The time at which the next work is due without any event.
    pub(crate) fn due(&self) -> Option<Time> {
        let (expires, _) = *self.deadlines.first()?;
        let recent_over = self.recent_over().filter(|_| !self.others.is_empty());
        Some(recent_over.map_or(expires, |over| over.min(expires)))
    }

    fn may_send(&self, now: Time) -> bool {
        self.sent.values().rev().take_while(|sent| now < sent.at + RECENT_INTERVAL).take(MAX_RECENT).count()
            < MAX_RECENT
    }

    /// The time at which the oldest of the last [`MAX_RECENT`] requests is not recent any more.
    fn recent_over(&self) -> Option<Time> {
        self.sent.values().rev().nth(MAX_RECENT - 1).map(|sent| sent.at + RECENT_INTERVAL)
    }
}
