//! Peers that discovery has to look at, and its requests that are under way to others.

use super::Step;
use crate::environment::time::Time;
use crate::memory::{MdHandle, RecvBuffer};
use crate::model::DiscoveryState;
use lnet_wire::Nid;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Requests of the last [`RECENT`] that may be under way before peers for which nothing waits have to: they must
/// not take the credits of the messages that applications send.
const MAX_RECENT: usize = 64;
/// How long a request counts as recent.
const RECENT: Duration = Duration::from_secs(1);

/// A ping or push that has no end yet.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) state: Arc<DiscoveryState>,
    pub(crate) step: Step,
    pub(crate) nid: Nid,
    pub(crate) at: Time,
    /// When it counts as lost.
    pub(crate) expires: Time,
    /// Where the answer to a ping goes.
    pub(crate) reply: Option<RecvBuffer>,
    /// The configuration that a push tells of.
    pub(crate) sequence: u32,
    /// Once it has one.
    pub(crate) md: Option<MdHandle>,
}

/// What discovery has to do.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// For these something waits.
    urgent: VecDeque<Arc<DiscoveryState>>,
    others: VecDeque<Arc<DiscoveryState>>,
    /// In the order in which they were sent.
    sent: BTreeMap<usize, PendingRequest>,
    /// The same by when they expire.
    deadlines: BTreeSet<(Time, usize)>,
    last_id: usize,
    /// MDs of requests that have failed.
    pub(crate) stale: VecDeque<MdHandle>,
    /// What pings are answered with is to be made anew.
    pub(crate) republish: bool,
}

impl Queue {
    /// A peer may be there twice; whoever takes it out looks whether it still is to come.
    pub(crate) fn push(&mut self, state: Arc<DiscoveryState>, urgent: bool) {
        if urgent { self.urgent.push_back(state) } else { self.others.push_back(state) }
    }

    /// The next peer.
    pub(crate) fn pop(&mut self, now: Time) -> Option<Arc<DiscoveryState>> {
        self.urgent.pop_front().or_else(|| self.may_send(now).then(|| self.others.pop_front()).flatten())
    }

    /// Notes a request that is about to be sent: its number.
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

    /// Takes out a request that has come to its end.
    pub(crate) fn ended(&mut self, id: usize) -> Option<PendingRequest> {
        let sent = self.sent.remove(&id)?;
        self.deadlines.remove(&(sent.expires, id));
        Some(sent)
    }

    /// Takes out the requests of a peer that is gone.
    pub(crate) fn ended_of(&mut self, state: &DiscoveryState) -> Vec<PendingRequest> {
        let its = self.sent.iter().filter(|(_, sent)| sent.state.id() == state.id());
        let ids: Vec<usize> = its.map(|(id, _)| *id).collect();
        ids.into_iter().filter_map(|id| self.ended(id)).collect()
    }

    /// Takes out a request that has waited too long.
    pub(crate) fn expired(&mut self, now: Time) -> Option<PendingRequest> {
        let (expires, id) = *self.deadlines.first()?;
        (expires <= now).then(|| self.ended(id)).flatten()
    }

    /// When something becomes due by itself.
    pub(crate) fn due(&self) -> Option<Time> {
        let (expires, _) = *self.deadlines.first()?;
        let recent_over = self.recent_over().filter(|_| !self.others.is_empty());
        Some(recent_over.map_or(expires, |over| over.min(expires)))
    }

    fn may_send(&self, now: Time) -> bool {
        self.sent.values().rev().take_while(|sent| now < sent.at + RECENT).take(MAX_RECENT).count()
            < MAX_RECENT
    }

    /// When the oldest of the last requests is not recent any more.
    fn recent_over(&self) -> Option<Time> {
        self.sent.values().rev().nth(MAX_RECENT - 1).map(|sent| sent.at + RECENT)
    }
}
