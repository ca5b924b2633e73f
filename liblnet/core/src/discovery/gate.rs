//! Requests that wait until it is known who the peer is (5.4).

use super::Discovery;
use super::record::Record;
use super::step::Input;
use crate::core::Core;
use crate::data::Request;
use crate::memory::Md;
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

/// Records for which requests wait, by their places in memory: an MD does not know where its requests are.
pub(super) type Waiting = HashMap<usize, Arc<Record>>;

impl Discovery {
    fn park(
        &self,
        record: &Arc<Record>,
        request: Request,
        is_ending: impl FnOnce() -> bool,
    ) -> Option<Request> {
        let here = self.here();
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
            waiting.insert(place_of(record), Arc::clone(record));
        }
        refused
    }

    /// Takes what waits for a peer.
    pub(crate) fn unpark(&self, record: &Arc<Record>) -> Vec<Request> {
        let waiting = &mut *lock(&self.waiting);
        waiting.remove(&place_of(record));
        record.with(|inner| std::mem::take(&mut inner.parked))
    }

    /// Those for which something waits, whether their peers are still there or not.
    pub(crate) fn waited_for(&self) -> Vec<Arc<Record>> {
        lock(&self.waiting).values().cloned().collect()
    }

    /// Takes what waits with this MD, for whichever peer.
    fn unpark_md(&self, md: &Md) -> Vec<Request> {
        let mut taken = Vec::new();
        lock(&self.waiting).retain(|_, record| {
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
