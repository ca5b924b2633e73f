//! Requests that wait for the discovery of their peer (core-behaviour 5.4).

use super::Discovery;
use crate::environment::Environment;
use crate::environment::time::Time;
use crate::md::Md;
use crate::model::{DiscoveryState, DiscoveryWait, SendRequest};
use crate::sync::lock;
use foldhash::HashMap;
use lnet_wire::Errno;
use std::sync::Arc;

/// All requests that wait for discovery.
#[derive(Debug, Default)]
pub(super) struct ParkedRequests {
    /// The requests by [`DiscoveryState::id`] of the peer: an MD has no reference to its requests.
    peers: HashMap<u64, Parked>,
    /// The earliest end of any request's wait, or a time before that.
    first_end: Option<Time>,
    /// Failed discoveries that are retried for waiting requests, each with its time.
    retries: Vec<(Time, Arc<DiscoveryState>)>,
}

/// The requests that wait for one peer; [`Inner::parked`](crate::model::Inner::parked) counts them.
#[derive(Debug)]
struct Parked {
    state: Arc<DiscoveryState>,
    requests: Vec<SendRequest>,
}

impl ParkedRequests {
    fn add(&mut self, state: &Arc<DiscoveryState>, request: SendRequest) {
        let end = waits_until(&request);
        self.first_end = Some(self.first_end.map_or(end, |first| first.min(end)));
        let parked = self.peers.entry(state.id());
        parked
            .or_insert_with(|| Parked { state: Arc::clone(state), requests: Vec::new() })
            .requests
            .push(request);
    }

    /// Removes and returns the requests whose wait has ended.
    fn take_expired(&mut self, now: Time) -> Vec<ExpiredRequest> {
        if self.first_end.is_none_or(|first| now < first) {
            return Vec::new();
        }
        let (mut expired, mut first) = (Vec::new(), None);
        self.peers.retain(|_, parked| {
            parked.state.with(|inner| {
                let errno = inner.failure.map_or(Errno::TimedOut, |failure| failure.errno);
                let overdue = parked.requests.extract_if(.., |request| waits_until(request) <= now);
                expired.extend(overdue.map(|request| (request, Arc::clone(&parked.state), errno)));
                first = first.into_iter().chain(parked.requests.iter().map(waits_until)).min();
                inner.parked = parked.requests.len();
            });
            !parked.requests.is_empty()
        });
        self.first_end = first;
        expired
    }
}

/// A request whose wait for a peer has ended, and the error with which it fails if it is not sent.
type ExpiredRequest = (SendRequest, Arc<DiscoveryState>, Errno);

/// The time at which a request's wait ends.
pub(super) fn waits_until(request: &SendRequest) -> Time {
    match request.terms.wait {
        DiscoveryWait::Until(end) => end.min(request.terms.deadline),
        DiscoveryWait::IfNeeded | DiscoveryWait::Over => request.terms.deadline,
    }
}

impl Discovery {
    /// Keeps a request until the discovery of its peer ends. Returns the request if it need not wait any more, its MD has
    /// been unlinked, the peer has been removed, or the node shuts down.
    pub(super) fn keep(
        &self,
        env: &Environment,
        state: &Arc<DiscoveryState>,
        mut request: SendRequest,
    ) -> Option<SendRequest> {
        if request.terms.wait == DiscoveryWait::IfNeeded {
            request.terms.wait = DiscoveryWait::Until(env.now() + env.discovery_timeout());
        }
        let local = self.local_state();
        // Held while the MD is checked: a thread that unlinks an MD takes this lock after that.
        let parked = &mut *lock(&self.parked);
        let waits = state.with(|inner| {
            let need_not = inner.removed || inner.progress.is_up_to_date(&local);
            let waits = !(need_not || request.md.is_aborted() || env.is_ending());
            inner.parked += usize::from(waits);
            waits
        });
        if !waits {
            return Some(request);
        }
        parked.add(state, request);
        None
    }

    /// Schedules the retry of a failed discovery at the time `at`, for the requests that wait for it.
    pub(super) fn schedule_retry(&self, state: &Arc<DiscoveryState>, at: Time) {
        let retries = &mut lock(&self.parked).retries;
        retries.retain(|(_, other)| other.id() != state.id());
        retries.push((at, Arc::clone(state)));
    }

    /// Removes and returns the discoveries to be retried, and the requests whose wait has ended.
    pub(super) fn take_due(&self, now: Time) -> (Vec<Arc<DiscoveryState>>, Vec<ExpiredRequest>) {
        let parked = &mut *lock(&self.parked);
        let due = parked.retries.extract_if(.., |(at, _)| *at <= now).map(|(_, state)| state).collect();
        (due, parked.take_expired(now))
    }

    /// The next time at which [`Discovery::take_due`] returns anything.
    pub(super) fn next_due(&self) -> Option<Time> {
        let parked = lock(&self.parked);
        parked.retries.iter().map(|(at, _)| *at).chain(parked.first_end).min()
    }

    /// Removes and returns the requests that wait for a peer.
    pub(super) fn unpark(&self, state: &DiscoveryState) -> Vec<SendRequest> {
        let parked = &mut *lock(&self.parked);
        let taken = parked.peers.remove(&state.id()).map_or_else(Vec::new, |parked| parked.requests);
        state.with(|inner| inner.parked = 0);
        taken
    }

    /// Removes and returns all waiting requests, and wakes the threads that wait for a discovery, because the node shuts down
    /// (DI-23).
    pub(crate) fn end(&self) -> Vec<SendRequest> {
        let taken = {
            let parked = &mut *lock(&self.parked);
            parked.peers.values().for_each(|parked| parked.state.with(|inner| inner.parked = 0));
            parked.peers.drain().flat_map(|(_, parked)| parked.requests).collect()
        };
        self.notify_finished();
        self.wakeup.notify();
        taken
    }

    /// Removes and returns the waiting requests with this MD.
    pub(crate) fn unpark_md(&self, md: &Md) -> Vec<SendRequest> {
        let mut taken = Vec::new();
        lock(&self.parked).peers.retain(|_, parked| {
            taken.extend(parked.requests.extract_if(.., |request| request.md.handle() == md.handle()));
            parked.state.with(|inner| inner.parked = parked.requests.len());
            !parked.requests.is_empty()
        });
        taken
    }
}
