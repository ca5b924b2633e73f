//! Event queues in a process whose MDs the node of another process holds: they are used without a core.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use lnet_core::event::{DeliveryOrder, EventQueue};
use lnet_core::{Errno, Event, EventKind, EventParty, MdHandle, MdOptions, MdSpec};
use lnet_wire::Pid;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

const EVENTS: u64 = 400;

/// What such a process knows of an MD: its queue, and the order of its events.
struct RemoteMd {
    queue: Arc<EventQueue>,
    order: Mutex<DeliveryOrder>,
    delivered: Condvar,
    decided: AtomicU64,
}

impl RemoteMd {
    /// Decides on an event, and delivers it and those after it, unless another thread does.
    fn report(&self) {
        let mut order = self.order.lock().unwrap();
        let number = self.decided.fetch_add(1, Ordering::Relaxed) + 1;
        if number == EVENTS {
            self.queue.md_ending();
        }
        let mut next = order.begin(event(number));
        drop(order);
        while let Some(event) = next {
            self.queue.deliver(&event);
            if event.unlinked {
                self.queue.md_ended();
            }
            let mut order = self.order.lock().unwrap();
            next = order.next_event();
            if next.is_none() && order.has_waiters() {
                self.delivered.notify_all();
            }
        }
    }

    fn wait_until_delivered(&self) {
        let mut order = self.order.lock().unwrap();
        order.begin_wait();
        while order.is_delivering() {
            order = self.delivered.wait(order).unwrap();
        }
        order.end_wait();
    }
}

fn event(number: u64) -> Event {
    let spec = MdSpec {
        start: 0,
        length: 0,
        threshold: -1,
        max_size: 0,
        options: MdOptions(0),
        user_ptr: 0,
        eq: None,
    };
    let nobody = EventParty { nid: None, pid: Pid(0) };
    Event {
        kind: EventKind::Put,
        target: nobody,
        initiator: nobody,
        source: nobody,
        sender: None,
        portal: 0,
        match_bits: number,
        rlength: 0,
        mlength: 0,
        md_handle: MdHandle::from_cookie(1),
        md: spec,
        hdr_data: 0,
        status: Ok(()),
        unlinked: number == EVENTS,
        of_get: false,
        offset: 0,
        sequence: 0,
    }
}

/// Fails if events of one MD come in another order than that in which they were decided, or two at a time, or if the queue can
/// be freed before the last one has been handled.
#[test]
fn events_that_many_threads_report_come_in_their_order_and_the_queue_waits_for_the_last() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&heard);
    let handler = Box::new(move |event: &Event| {
        tell.try_lock().expect("another handler is running").push((event.match_bits, event.sequence));
    });
    let queue = Arc::new(EventQueue::new(2, Some(handler)).unwrap());
    assert!(queue.has_handler() && queue.attach_md());
    assert_eq!(queue.wait_unused(), Err(Errno::Busy));
    let md = RemoteMd {
        queue: Arc::clone(&queue),
        order: Mutex::new(DeliveryOrder::new()),
        delivered: Condvar::new(),
        decided: AtomicU64::new(0),
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..EVENTS / 4).for_each(|_| md.report()));
        }
        scope.spawn(|| md.wait_until_delivered());
    });
    assert_eq!(queue.wait_unused(), Ok(()));
    assert!(heard.lock().unwrap().iter().copied().eq((1..=EVENTS).map(|number| (number, number))));
    assert!(!queue.attach_md(), "the queue has been freed");
    queue.end(Errno::NotFound);
    assert_eq!(queue.get(), Err(Errno::NotFound));
}
