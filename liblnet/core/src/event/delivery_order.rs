//! The order in which the events of one MD are delivered: one at a time, as they were decided.

use super::Event;
use std::collections::VecDeque;

/// The events of one MD whose handler may take long: the event that a thread is delivering, and those that wait for it.
///
/// The owner keeps this behind the lock under which it decides the order of the events, and calls the handler without that
/// lock:
///
/// - Whoever has an event calls [`DeliveryOrder::begin`]. With `None`, another thread delivers the event.
/// - A thread that has an event delivers it, locks again, and calls [`DeliveryOrder::next_event`], until that is `None`.
/// - A thread that waits until no event is being delivered calls [`DeliveryOrder::begin_wait`], and waits on a condition variable
///   while [`DeliveryOrder::is_delivering`]. Whoever ends the delivery wakes it ([`DeliveryOrder::has_waiters`]).
#[derive(Debug, Default)]
pub struct DeliveryOrder {
    is_delivering: bool,
    waiting: VecDeque<Event>,
    waiters: u32,
}

impl DeliveryOrder {
    /// No events. Nothing is allocated until an event has to wait.
    pub const fn new() -> Self {
        Self { is_delivering: false, waiting: VecDeque::new(), waiters: 0 }
    }

    /// No events, and a delivery that the maker has begun: events wait until it calls [`DeliveryOrder::next_event`].
    pub const fn begun() -> Self {
        Self { is_delivering: true, waiting: VecDeque::new(), waiters: 0 }
    }

    /// Adds an event as the last. Returns the event that the caller delivers now; `None` if another thread is delivering,
    /// which gets this event by [`DeliveryOrder::next_event`].
    #[must_use]
    pub fn begin(&mut self, event: Event) -> Option<Event> {
        if self.is_delivering {
            self.waiting.push_back(event);
            return None;
        }
        self.is_delivering = true;
        if self.waiting.is_empty() {
            return Some(event);
        }
        // Events wait without a delivery only after `give_up`.
        self.waiting.push_back(event);
        self.waiting.pop_front()
    }

    /// Ends the delivery of one event. Returns the event that the caller delivers next; with `None` the caller's delivery has
    /// ended.
    #[must_use]
    pub fn next_event(&mut self) -> Option<Event> {
        let next = self.waiting.pop_front();
        self.is_delivering = next.is_some();
        next
    }

    /// Ends the caller's delivery although events may wait, because its handler has panicked. The events that wait are delivered
    /// before the next one.
    pub const fn give_up(&mut self) {
        self.is_delivering = false;
    }

    /// Whether a thread is delivering an event.
    pub const fn is_delivering(&self) -> bool {
        self.is_delivering
    }

    /// Counts a thread that is about to wait until no event is being delivered.
    pub const fn begin_wait(&mut self) {
        self.waiters += 1;
    }

    /// Ends the effect of one [`DeliveryOrder::begin_wait`].
    pub const fn end_wait(&mut self) {
        self.waiters = self.waiters.saturating_sub(1);
    }

    /// Whether threads wait: a wake-up costs a system call even if none does.
    pub const fn has_waiters(&self) -> bool {
        self.waiters > 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::tests::{any_md_handle, plain_spec};

    fn event(match_bits: u64) -> Event {
        Event { match_bits, ..Event::unlink(any_md_handle(), plain_spec(8)) }
    }

    fn bits(event: Option<Event>) -> Option<u64> {
        event.map(|event| event.match_bits)
    }

    #[test]
    fn an_event_is_delivered_at_once_if_no_other_is_being_delivered() {
        let mut order = DeliveryOrder::new();
        for number in 1..3 {
            assert_eq!(bits(order.begin(event(number))), Some(number));
            assert!(order.is_delivering());
            assert_eq!(bits(order.next_event()), None);
            assert!(!order.is_delivering());
        }
        assert_eq!(order.waiting.capacity(), 0, "nothing has been allocated");
    }

    #[test]
    fn events_that_come_during_a_delivery_follow_one_at_a_time_in_their_order() {
        let mut order = DeliveryOrder::new();
        assert_eq!(bits(order.begin(event(1))), Some(1));
        assert_eq!(bits(order.begin(event(2))), None);
        assert_eq!(bits(order.begin(event(3))), None);
        assert_eq!(bits(order.next_event()), Some(2));
        assert_eq!(bits(order.begin(event(4))), None);
        assert_eq!([order.next_event(), order.next_event()].map(bits), [Some(3), Some(4)]);
        assert!(order.is_delivering(), "the last one is still being delivered");
        assert_eq!(bits(order.next_event()), None);
        assert!(!order.is_delivering());
    }

    #[test]
    fn events_that_a_panic_has_left_come_before_the_next_one() {
        let mut order = DeliveryOrder::new();
        assert_eq!([1, 2, 3].map(|number| bits(order.begin(event(number)))), [Some(1), None, None]);
        order.give_up();
        assert!(!order.is_delivering());
        assert_eq!(bits(order.begin(event(4))), Some(2));
        assert_eq!([order.next_event(), order.next_event()].map(bits), [Some(3), Some(4)]);
        assert_eq!(bits(order.next_event()), None);
    }

    #[test]
    fn there_are_waiters_until_the_last_one_has_gone() {
        let mut order = DeliveryOrder::new();
        assert!(!order.has_waiters());
        order.begin_wait();
        order.begin_wait();
        order.end_wait();
        assert!(order.has_waiters());
        order.end_wait();
        assert!(!order.has_waiters());
    }
}
