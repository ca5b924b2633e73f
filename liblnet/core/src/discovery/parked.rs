//! Requests that wait until it is known who the peer is (core-behaviour 5.4).

use super::Discovery;
use crate::environment::Environment;
use crate::environment::time::Time;
use crate::memory::Md;
use crate::model::{DiscoveryState, SendRequest};
use crate::sync::lock;
use foldhash::HashMap;
use lnet_wire::Errno;
use std::sync::Arc;

/// What waits for discoveries.
#[derive(Debug, Default)]
pub(super) struct ParkedRequests {
    /// By [`DiscoveryState::id`]: an MD does not know where its requests are.
    peers: HashMap<u64, Parked>,
    /// No request that waits has an earlier deadline.
    first_deadline: Option<Time>,
    /// Discoveries that have failed, and when they begin anew for what waits.
    again: Vec<(Time, Arc<DiscoveryState>)>,
}

/// The requests that wait for one peer; [`Inner::parked`] counts them.
#[derive(Debug)]
struct Parked {
    state: Arc<DiscoveryState>,
    requests: Vec<SendRequest>,
}

impl ParkedRequests {
    fn add(&mut self, state: &Arc<DiscoveryState>, request: SendRequest) {
        let deadline = request.deadline;
        self.first_deadline = Some(self.first_deadline.map_or(deadline, |first| first.min(deadline)));
        let parked = self.peers.entry(state.id());
        parked
            .or_insert_with(|| Parked { state: Arc::clone(state), requests: Vec::new() })
            .requests
            .push(request);
    }

    /// Takes the requests whose time is over.
    fn take_late(&mut self, now: Time) -> Vec<Late> {
        if self.first_deadline.is_none_or(|first| now < first) {
            return Vec::new();
        }
        let (mut late, mut first) = (Vec::new(), None);
        self.peers.retain(|_, parked| {
            parked.state.with(|inner| {
                let errno = inner.failure.map_or(Errno::TimedOut, |failure| failure.errno);
                let its = parked.requests.extract_if(.., |request| request.deadline <= now);
                late.extend(its.map(|request| (request, errno)));
                first = first.into_iter().chain(parked.requests.iter().map(|request| request.deadline)).min();
                inner.parked = parked.requests.len();
            });
            !parked.requests.is_empty()
        });
        self.first_deadline = first;
        late
    }
}

/// A request whose time is over, and why it was not sent.
type Late = (SendRequest, Errno);

impl Discovery {
    /// Keeps a request until the discovery of its peer ends. `Some`: it need not wait any more, its MD has been unlinked, or
    /// the peer is gone or the node ending.
    pub(super) fn keep(
        &self,
        env: &Environment,
        state: &Arc<DiscoveryState>,
        request: SendRequest,
    ) -> Option<SendRequest> {
        let local = self.local_state();
        // Held over the look at the MD: who unlinks it looks here afterwards.
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

    /// Has a discovery that has failed begin anew at that time, for what waits for it.
    pub(super) fn begin_again(&self, state: &Arc<DiscoveryState>, at: Time) {
        let again = &mut lock(&self.parked).again;
        again.retain(|(_, other)| other.id() != state.id());
        again.push((at, Arc::clone(state)));
    }

    /// Takes the discoveries that are to begin anew, and the requests that have waited too long.
    pub(super) fn take_due(&self, now: Time) -> (Vec<Arc<DiscoveryState>>, Vec<Late>) {
        let parked = &mut *lock(&self.parked);
        let again = parked.again.extract_if(.., |(at, _)| *at <= now).map(|(_, state)| state).collect();
        (again, parked.take_late(now))
    }

    /// When [`Discovery::take_due`] has something to take.
    pub(super) fn next_due(&self) -> Option<Time> {
        let parked = lock(&self.parked);
        parked.again.iter().map(|(at, _)| *at).chain(parked.first_deadline).min()
    }

    /// Takes what waits for a peer.
    pub(super) fn unpark(&self, state: &DiscoveryState) -> Vec<SendRequest> {
        let parked = &mut *lock(&self.parked);
        let taken = parked.peers.remove(&state.id()).map_or_else(Vec::new, |parked| parked.requests);
        state.with(|inner| inner.parked = 0);
        taken
    }

    /// Takes all that waits, for whichever peer, and wakes who waits for a discovery: the node is ending (DI-23).
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

    /// Takes what waits with this MD, for whichever peer.
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
