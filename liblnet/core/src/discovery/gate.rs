//! Requests that wait until it is known who the peer is (core-behaviour 5.4).

use super::Discovery;
use super::step::Input;
use crate::core::Core;
use crate::environment::time::Time;
use crate::memory::Md;
use crate::model::DiscoveryState;
use crate::model::SendRequest;
use crate::sync::lock;
use crate::topology::PeerNi;
use foldhash::HashMap;
use lnet_wire::{Errno, RESERVED_PORTAL};
use std::sync::Arc;

impl Core {
    /// Whether a request to this peer NI has to wait (DI-30). One that would not find a way does not: that it
    /// cannot be sent is told at once.
    pub(crate) fn must_wait(&self, peer_ni: &PeerNi, portal: u32) -> bool {
        let peer = peer_ni.peer_now();
        let local = self.discovery.local_state();
        let undiscovered = portal != RESERVED_PORTAL
            && !peer.record.is_up_to_date(&local)
            && (local.discovers() || local.first_ping);
        undiscovered
            && (peer.is_multi_rail()
                || self.topology.with_nets(|nets| nets.net(peer_ni.nid().net()).is_some()))
    }

    /// Makes a request wait for the discovery of its peer, which begins if it has not (DI-31). `Some`: it need
    /// not wait any more, its MD has been unlinked, or the peer is gone, and it is to be looked at once more.
    pub(crate) fn park(&self, record: &Arc<DiscoveryState>, request: SendRequest) -> Option<SendRequest> {
        let refused = self.discovery.park(record, request, || self.is_ending());
        if refused.is_none() {
            self.tell(record, Input::Wanted);
        }
        refused
    }

    /// Ends the requests with this MD that wait for a discovery: it has been unlinked, and its owner shall not have to
    /// wait for a peer that may be dead.
    pub(crate) fn cancel_parked(&self, md: &Md) {
        for request in self.discovery.unpark_md(md) {
            self.refuse(request, Errno::Cancelled);
        }
    }
}

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
    pub(super) fn park(
        &self,
        state: &Arc<DiscoveryState>,
        request: SendRequest,
        is_ending: impl FnOnce() -> bool,
    ) -> Option<SendRequest> {
        let local = self.local_state();
        // Held over the look at the MD: who unlinks it looks here afterwards.
        let parked = &mut *lock(&self.parked);
        let waits = state.with(|inner| {
            let need_not = inner.removed || inner.progress.is_up_to_date(&local);
            let waits = !(need_not || request.md.is_aborted() || is_ending());
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
    pub(crate) fn unpark(&self, state: &DiscoveryState) -> Vec<SendRequest> {
        let parked = &mut *lock(&self.parked);
        let taken = parked.peers.remove(&state.id()).map_or_else(Vec::new, |parked| parked.requests);
        state.with(|inner| inner.parked = 0);
        taken
    }

    /// The peers for which something waits, whether they are still known or not.
    pub(crate) fn waited_for(&self) -> Vec<Arc<DiscoveryState>> {
        lock(&self.parked).peers.values().map(|parked| Arc::clone(&parked.state)).collect()
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
