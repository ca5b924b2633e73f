//! Requests that wait until it is known who the peer is (core-behaviour 5.4).

use super::Discovery;
use super::record::Record;
use super::step::Input;
use crate::core::Core;
use crate::data::Request;
use crate::memory::Md;
use crate::sync::lock;
use crate::time::Time;
use crate::topology::PeerNi;
use foldhash::HashMap;
use lnet_wire::{Errno, RESERVED_PORTAL};
use std::sync::Arc;

impl Core {
    /// Whether a request to this peer NI has to wait (DI-30). One that would not find a way does not: that it
    /// cannot be sent is told at once.
    pub(crate) fn must_wait(&self, peer_ni: &PeerNi, portal: u32) -> bool {
        let peer = peer_ni.peer_now();
        let here = self.discovery.here();
        let undiscovered = portal != RESERVED_PORTAL
            && !peer.record.is_up_to_date(&here)
            && (here.discovers() || here.first_ping);
        undiscovered
            && (peer.is_multi_rail() || self.with_nets(|nets| nets.net(peer_ni.nid().net()).is_some()))
    }

    /// Makes a request wait for the discovery of its peer, which begins if it has not (DI-31). `Some`: it need
    /// not wait any more, its MD has been unlinked, or the peer is gone, and it is to be looked at once more.
    pub(crate) fn park(&self, record: &Arc<Record>, request: Request) -> Option<Request> {
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
pub(super) struct Waiting {
    /// Records for which requests wait, by their places in memory: an MD does not know where its requests are.
    records: HashMap<usize, Arc<Record>>,
    /// No request that waits has an earlier deadline.
    first_deadline: Option<Time>,
    /// Discoveries that have failed, and when they begin anew for what waits.
    again: Vec<(Time, Arc<Record>)>,
}

impl Waiting {
    fn add(&mut self, record: &Arc<Record>, deadline: Time) {
        self.records.insert(place_of(record), Arc::clone(record));
        self.first_deadline = Some(self.first_deadline.map_or(deadline, |first| first.min(deadline)));
    }

    /// Takes the requests whose time is over.
    fn take_late(&mut self, now: Time) -> Vec<Late> {
        if self.first_deadline.is_none_or(|first| now < first) {
            return Vec::new();
        }
        let (mut late, mut first) = (Vec::new(), None);
        self.records.retain(|_, record| {
            record.with(|inner| {
                let errno = inner.failure.map_or(Errno::TimedOut, |failure| failure.errno);
                let its = inner.parked.extract_if(.., |request| request.deadline <= now);
                late.extend(its.map(|request| (request, errno)));
                first = first.into_iter().chain(inner.parked.iter().map(|request| request.deadline)).min();
                !inner.parked.is_empty()
            })
        });
        self.first_deadline = first;
        late
    }
}

/// A request whose time is over, and why it was not sent.
type Late = (Request, Errno);

impl Discovery {
    pub(super) fn park(
        &self,
        record: &Arc<Record>,
        request: Request,
        is_ending: impl FnOnce() -> bool,
    ) -> Option<Request> {
        let here = self.here();
        let deadline = request.deadline;
        // Held over the look at the MD: who unlinks it looks here afterwards.
        let waiting = &mut *lock(&self.waiting);
        let refused = record.with(|inner| {
            let need_not = inner.buried || inner.progress.is_up_to_date(&here);
            if need_not || request.md.is_aborted() || is_ending() {
                return Some(request);
            }
            inner.parked.push(request);
            None
        });
        if refused.is_none() {
            waiting.add(record, deadline);
        }
        refused
    }

    /// Has a discovery that has failed begin anew at that time, for what waits for it.
    pub(super) fn begin_again(&self, record: &Arc<Record>, at: Time) {
        let again = &mut lock(&self.waiting).again;
        again.retain(|(_, other)| !Arc::ptr_eq(other, record));
        again.push((at, Arc::clone(record)));
    }

    /// Takes the discoveries that are to begin anew, and the requests that have waited too long.
    pub(super) fn take_due(&self, now: Time) -> (Vec<Arc<Record>>, Vec<Late>) {
        let waiting = &mut *lock(&self.waiting);
        let again = waiting.again.extract_if(.., |(at, _)| *at <= now).map(|(_, record)| record).collect();
        (again, waiting.take_late(now))
    }

    /// When [`Discovery::take_due`] has something to take.
    pub(super) fn next_due(&self) -> Option<Time> {
        let waiting = lock(&self.waiting);
        waiting.again.iter().map(|(at, _)| *at).chain(waiting.first_deadline).min()
    }

    /// Takes what waits for a peer.
    pub(crate) fn unpark(&self, record: &Arc<Record>) -> Vec<Request> {
        let waiting = &mut *lock(&self.waiting);
        waiting.records.remove(&place_of(record));
        record.with(|inner| std::mem::take(&mut inner.parked))
    }

    /// Those for which something waits, whether their peers are still there or not.
    pub(crate) fn waited_for(&self) -> Vec<Arc<Record>> {
        lock(&self.waiting).records.values().cloned().collect()
    }

    /// Takes what waits with this MD, for whichever peer.
    fn unpark_md(&self, md: &Md) -> Vec<Request> {
        let mut taken = Vec::new();
        lock(&self.waiting).records.retain(|_, record| {
            record.with(|inner| {
                let (its, others) = std::mem::take(&mut inner.parked)
                    .into_iter()
                    .partition::<Vec<_>, _>(|request| std::ptr::eq(&*request.md, md));
                inner.parked = others;
                taken.extend(its);
                !inner.parked.is_empty()
            })
        });
        taken
    }
}

fn place_of(record: &Arc<Record>) -> usize {
    Arc::as_ptr(record).addr()
}
