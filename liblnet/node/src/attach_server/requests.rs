//! The bound on the PUTs and GETs of one program that have not left the node. Those beyond it wait here, in order; behind a certain number of
//! them nothing more is read from the ring. So no program has more messages in the node than its share, and none is refused for a burst.

use lnet_attach::record::Operation;
use lnet_core::MdHandle;
use lnet_os::descriptor::wake;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The number of requests beyond the bound that wait while other operations are carried out.
const MAX_HELD: usize = 1024;

/// The number of PUTs and GETs whose SEND events have not come. Any thread may call the methods.
#[derive(Debug)]
pub(super) struct RequestsUnderWay {
    max: u32,
    count: AtomicU32,
    /// The number of requests beyond the bound, for who looks.
    held: AtomicU32,
    /// Whether the thread of the program waits until there are fewer.
    is_awaited: AtomicBool,
    /// Wakes the thread of the program.
    wake: Arc<OwnedFd>,
}

impl RequestsUnderWay {
    pub(super) const fn new(max: u32, wake: Arc<OwnedFd>) -> Self {
        Self {
            max,
            count: AtomicU32::new(0),
            held: AtomicU32::new(0),
            is_awaited: AtomicBool::new(false),
            wake,
        }
    }

    /// Whether one more may begin.
    fn has_room(&self) -> bool {
        self.count.load(Ordering::SeqCst) < self.max
    }

    /// Counts a request, before it begins.
    pub(super) fn begin(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts a request no longer: it has left, or has failed.
    pub(super) fn end(&self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
        // The other side stores first and then looks at the number: one of the two sees what the other has done.
        if self.is_awaited.load(Ordering::SeqCst) && self.is_awaited.swap(false, Ordering::SeqCst) {
            wake(&self.wake);
        }
    }

    /// The number of requests that wait because there are too many.
    pub(super) fn held(&self) -> u32 {
        self.held.load(Ordering::Relaxed)
    }

    /// Lets the next end of a request wake the thread of the program. `false` if there is room already.
    fn must_await(&self) -> bool {
        self.is_awaited.store(true, Ordering::SeqCst);
        !self.has_room()
    }
}

/// The requests of one program that are beyond the bound, each with its number. For the thread of the program.
#[derive(Debug)]
pub(super) struct HeldRequests {
    under_way: Arc<RequestsUnderWay>,
    held: VecDeque<(u64, Operation)>,
}

impl HeldRequests {
    pub(super) const fn new(under_way: Arc<RequestsUnderWay>) -> Self {
        Self { under_way, held: VecDeque::new() }
    }

    /// Keeps an operation if it is a request beyond the bound; returns it otherwise.
    pub(super) fn hold(&mut self, number: u64, operation: Operation) -> Option<Operation> {
        if md_of_request(&operation).is_none() || self.lets_pass() {
            return Some(operation);
        }
        self.held.push_back((number, operation));
        self.note_held();
        None
    }

    /// Whether a request waits.
    pub(super) fn is_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether a request is within the bound.
    pub(super) fn lets_pass(&self) -> bool {
        self.held.is_empty() && self.under_way.has_room()
    }

    /// The next request that may begin now.
    pub(super) fn next(&mut self) -> Option<(u64, Operation)> {
        if self.held.is_empty() || !self.under_way.has_room() {
            return None;
        }
        let next = self.held.pop_front();
        self.note_held();
        next
    }

    /// Removes the requests with this MD. They begin before it is unlinked, whatever the bound: they came before that.
    pub(super) fn take_of(&mut self, md: MdHandle) -> VecDeque<(u64, Operation)> {
        let (of_md, held) =
            self.held.drain(..).partition(|(_, operation)| md_of_request(operation) == Some(md));
        self.held = held;
        self.note_held();
        of_md
    }

    fn note_held(&self) {
        let held = u32::try_from(self.held.len()).unwrap_or(u32::MAX);
        self.under_way.held.store(held, Ordering::Relaxed);
    }

    /// Whether no operation is to be read until a request has begun.
    pub(super) fn is_full(&self) -> bool {
        self.held.len() >= MAX_HELD
    }

    /// Whether the thread may sleep as far as these are concerned. The end of a request wakes it then.
    pub(super) fn may_sleep(&self) -> bool {
        self.held.is_empty() || self.under_way.must_await()
    }
}

/// The MD of a PUT or GET; `None` for other operations.
const fn md_of_request(operation: &Operation) -> Option<MdHandle> {
    match operation {
        Operation::Put { md, .. } | Operation::Get { md, .. } => Some(*md),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_core::Target;
    use lnet_os::descriptor::new_eventfd;
    use lnet_wire::{Nid, Pid};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    const ONE: MdHandle = MdHandle::from_cookie(1);
    const OTHER: MdHandle = MdHandle::from_cookie(2);

    fn get(md: MdHandle) -> Operation {
        let target =
            Target { nid: Some(Nid::LOOPBACK), pid: Pid::LUSTRE, portal: 1, match_bits: 1, offset: 0 };
        Operation::Get { from: None, md, target }
    }

    fn rig(max: u32) -> (Arc<RequestsUnderWay>, HeldRequests, Arc<OwnedFd>) {
        let wake = Arc::new(new_eventfd().unwrap());
        let under_way = Arc::new(RequestsUnderWay::new(max, Arc::clone(&wake)));
        (Arc::clone(&under_way), HeldRequests::new(under_way), wake)
    }

    fn is_woken(eventfd: &OwnedFd) -> bool {
        let mut fds = [PollFd::new(eventfd, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).unwrap() > 0
    }

    #[test]
    fn requests_beyond_the_bound_wait_in_order_and_other_operations_pass() {
        let (under_way, mut requests, wake) = rig(1);
        assert!(requests.hold(1, get(ONE)).is_some());
        under_way.begin();
        assert!(requests.hold(2, get(ONE)).is_none() && requests.hold(3, get(OTHER)).is_none());
        assert!(requests.hold(4, Operation::DiscoveryStatus).is_some());
        assert_eq!((requests.next(), under_way.held()), (None, 2));
        assert!(requests.may_sleep() && !is_woken(&wake));
        under_way.end();
        assert!(is_woken(&wake) && !requests.may_sleep());
        assert!(requests.hold(5, get(ONE)).is_none(), "two came before it");
        assert_eq!(requests.next(), Some((2, get(ONE))));
        under_way.begin();
        assert_eq!((requests.next(), under_way.held()), (None, 2));
    }

    #[test]
    fn the_requests_of_an_md_that_is_unlinked_no_longer_wait() {
        let (under_way, mut requests, _) = rig(0);
        for (number, md) in [(1, ONE), (2, OTHER), (3, ONE)] {
            assert!(requests.hold(number, get(md)).is_none());
        }
        assert_eq!(requests.take_of(ONE), [(1, get(ONE)), (3, get(ONE))]);
        assert_eq!(requests.take_of(ONE), []);
        assert_eq!((requests.next(), under_way.held()), (None, 1));
    }

    #[test]
    fn a_limited_number_of_requests_waits() {
        let (_, mut requests, _) = rig(0);
        for number in 0..MAX_HELD {
            assert!(!requests.is_full(), "{number}");
            assert!(requests.hold(number as u64, get(ONE)).is_none());
        }
        assert!(requests.is_full());
    }
}
