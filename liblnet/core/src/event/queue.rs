//! Event queues: a ring that readers empty, a handler that is called, or both.

use super::{Event, enter_handler, in_handler, unread};
use crate::sync::{Condvar, Mutex, Spinlock, lock, thread};
use lnet_log::{LogClass, write_line};
use lnet_wire::Errno;
use std::fmt;

/// A handler that is called with every event of a queue, on the thread that completed the operation, without any lock of the
/// library. Calls for different MDs may run concurrently.
pub type EventHandler = Box<dyn Fn(&Event) + Send + Sync>;

/// The size of the largest ring: far beyond any use, so that a wrong count cannot allocate all memory.
const MAX_RING: u32 = 1 << 22;

/// An event queue: a ring, a handler, or both. The queues of a node are made by [`crate::DataPath::eq_alloc`]. A process whose MDs
/// are held by the node of another process has queues of its own.
///
/// A queue counts the MDs that refer to it: [`EventQueue::attach_md`] when one begins to, [`EventQueue::md_ending`] before and
/// [`EventQueue::md_ended`] after the delivery of its last event. All methods may be called from any thread, and hold no lock
/// while the handler runs.
pub struct EventQueue {
    /// Whether the ring has room for events.
    keeps: bool,
    ring: Spinlock<Ring>,
    handler: Option<EventHandler>,
    /// The function that passes the events on, in place of a ring and a handler.
    forwarder: Option<EventHandler>,
    users: Mutex<Users>,
    last_event_delivered: Condvar,
}

/// An event read from a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polled {
    /// The event.
    pub event: Event,
    /// Whether events before it were overwritten unread (`-EOVERFLOW`).
    pub lost: bool,
}

/// The numbers of MDs and threads that use a queue.
#[derive(Debug, Default)]
struct Users {
    /// The number of MDs that may still have several events.
    live: u32,
    /// The number of MDs whose last event is being delivered.
    ending: u32,
    /// The number of threads in [`EventQueue::wait_unused`].
    waiters: u32,
    /// Whether the queue has been freed: no MD may refer to it any more.
    freed: bool,
}

#[derive(Debug)]
struct Ring {
    /// The events in the form in which they are read, so that they are copied only once then. None of them is `None`.
    slots: Box<[Option<Polled>]>,
    next_write: u64,
    next_read: u64,
    readers: Vec<thread::Thread>,
    /// The error for readers, once the queue cannot be read any more.
    ended: Option<Errno>,
    /// Whether an event has been overwritten unread.
    has_lost: bool,
}

impl EventQueue {
    /// A queue whose ring holds `count` events, rounded up to a power of two; without a ring for 0.
    /// [`Errno::Invalid`] with neither ring nor handler, [`Errno::NoMemory`] for a ring that is too large.
    pub fn new(count: u32, handler: Option<EventHandler>) -> Result<Self, Errno> {
        if count == 0 && handler.is_none() {
            return Err(Errno::Invalid);
        }
        if count > MAX_RING {
            return Err(Errno::NoMemory);
        }
        let slots = if count > 0 { count.next_power_of_two() as usize } else { 0 };
        let ring = Spinlock::new(Ring::new(slots)?);
        let users = Mutex::new(Users::default());
        let last_event_delivered = Condvar::new();
        Ok(Self { keeps: count > 0, ring, handler, forwarder: None, users, last_event_delivered })
    }

    /// A queue whose events `forward` passes on, for example to another process. It is called with the lock of the event's MD: it is
    /// brief, and calls nothing of the node.
    pub fn forwarding(forward: EventHandler) -> Result<Self, Errno> {
        let (ring, users) = (Spinlock::new(Ring::new(0)?), Mutex::new(Users::default()));
        let (handler, forwarder) = (None, Some(forward));
        Ok(Self { keeps: false, ring, handler, forwarder, users, last_event_delivered: Condvar::new() })
    }

    /// Stores the event, calls the handler, and wakes readers, in this order. The event gets its [`Event::sequence`] here, if the
    /// queue has a ring. The caller delivers the events of one MD one at a time ([`super::DeliveryOrder`]), and without a lock that
    /// the handler may need.
    pub fn deliver(&self, event: &Event) {
        match &self.handler {
            Some(handler) => self.handle(event, handler),
            None => self.deliver_written(|place| *place = *event),
        }
    }

    /// Delivers an event of a queue without a handler as [`EventQueue::deliver`] does. `write` writes it where it is kept: every field
    /// but the sequence.
    #[inline(always)]
    pub(crate) fn deliver_written(&self, write: impl FnOnce(&mut Event)) {
        match &self.forwarder {
            None => self.store(write),
            Some(forward) => pass_on(forward, write),
        }
    }

    /// Stores an event, and wakes readers.
    #[inline(always)]
    fn store(&self, write: impl FnOnce(&mut Event)) {
        let first_loss = {
            let ring = &mut *self.ring.lock();
            ring.push(write);
            ring.wake_readers();
            ring.first_loss()
        };
        if let Some(size) = first_loss {
            log_loss(size);
        }
    }

    #[inline(never)]
    fn handle(&self, event: &Event, handler: &EventHandler) {
        let sequence =
            if self.keeps { self.ring.lock().push(|place| *place = *event) } else { event.sequence };
        {
            let _inside = enter_handler();
            handler(&Event { sequence, ..*event });
        }
        if self.keeps {
            self.ring.lock().wake_readers();
        }
    }

    /// Whether events are reported to a handler, which may call the library and take any time.
    pub const fn has_handler(&self) -> bool {
        self.handler.is_some()
    }

    /// The oldest event not yet read. A queue without a ring never has one. [`Errno::NotFound`] when the queue has been
    /// freed, [`Errno::NetworkDown`] when its node has ended.
    #[inline(always)]
    pub fn get(&self) -> Result<Option<Polled>, Errno> {
        self.get_with(|polled| *polled)
    }

    /// Does the same with the event where it is stored: `read` is called with the lock of the queue, is brief, and calls nothing of the
    /// node.
    #[inline(always)]
    pub fn get_with<R>(&self, read: impl FnOnce(&Polled) -> R) -> Result<Option<R>, Errno> {
        let ring = &mut *self.ring.lock();
        if let Some(errno) = ring.ended {
            return Err(errno);
        }
        unread::note(ring.next_write - ring.next_read > 1);
        match ring.next_unread() {
            Some(Some(unread)) => Ok(Some(read(unread))),
            Some(None) | None => Ok(None),
        }
    }

    /// Ends reading: threads that wait are woken, and [`EventQueue::get`] returns `why` from now on; of several calls the first
    /// counts. Unread events are lost.
    pub fn end(&self, why: Errno) {
        let ring = &mut *self.ring.lock();
        ring.ended.get_or_insert(why);
        ring.wake_readers();
    }

    /// Unparks the calling thread at every event and at the end, until [`EventQueue::leave_reader`].
    pub fn join_reader(&self) {
        self.ring.lock().readers.push(thread::current());
    }

    /// Ends the effect of [`EventQueue::join_reader`].
    pub fn leave_reader(&self) {
        let this = thread::current().id();
        let readers = &mut self.ring.lock().readers;
        if let Some(at) = readers.iter().position(|reader| reader.id() == this) {
            readers.swap_remove(at);
        }
    }

    /// Counts an MD that begins to refer to this queue; returns `false` if the queue has been freed, and then counts nothing. For
    /// each MD that is counted, [`EventQueue::md_ending`] and then [`EventQueue::md_ended`] must be called once.
    pub fn attach_md(&self) -> bool {
        let users = &mut *lock(&self.users);
        users.live += u32::from(!users.freed);
        !users.freed
    }

    /// Records that the last event of an MD of this queue is about to be delivered: it will have no other. From here on
    /// [`EventQueue::wait_unused`] waits for [`EventQueue::md_ended`] instead of failing.
    pub fn md_ending(&self) {
        let users = &mut *lock(&self.users);
        users.live -= 1;
        users.ending += 1;
    }

    /// Records that the last event of an MD has been delivered: its handler has returned.
    pub fn md_ended(&self) {
        let users = &mut *lock(&self.users);
        users.ending -= 1;
        // A wake-up costs a system call even if no thread waits.
        if users.waiters > 0 {
            self.last_event_delivered.notify_all();
        }
    }

    /// Waits until no MD refers to the queue any more, as far as that needs no more operations: waits for an MD whose
    /// last event is being handled (TRAP-3); fails with [`Errno::Busy`] for an MD that may have more events. On success the
    /// queue counts as freed. Inside a handler, where waiting might never end, it fails with [`Errno::Busy`] instead of waiting.
    pub fn wait_unused(&self) -> Result<(), Errno> {
        let mut users = lock(&self.users);
        loop {
            match *users {
                Users { live: 0, ending: 0, .. } => {
                    users.freed = true;
                    return Ok(());
                }
                Users { live: 0, .. } if !in_handler() => {
                    users.waiters += 1;
                    users = self.last_event_delivered.wait(users).unwrap_or_else(|e| e.into_inner());
                    users.waiters -= 1;
                }
                _ => return Err(Errno::Busy),
            }
        }
    }
}

impl Ring {
    fn new(len: usize) -> Result<Self, Errno> {
        let mut slots = Vec::new();
        slots.try_reserve_exact(len).map_err(|_| Errno::NoMemory)?;
        slots.resize(len, Some(Polled { event: Event::BLANK, lost: false }));
        Ok(Self {
            slots: slots.into(),
            next_write: 1,
            next_read: 1,
            readers: Vec::new(),
            ended: None,
            has_lost: false,
        })
    }

    fn wake_readers(&self) {
        for reader in &self.readers {
            reader.unpark();
        }
    }

    #[inline(always)]
    fn push(&mut self, write: impl FnOnce(&mut Event)) -> u64 {
        let sequence = self.next_write;
        let slot = self.slot(sequence);
        if let Some(Some(Polled { event, lost })) = self.slots.get_mut(slot) {
            write(event);
            event.sequence = sequence;
            *lost = false;
        }
        self.next_write += 1;
        sequence
    }

    /// The number of events that the ring holds, if one has been overwritten unread, at the first call since.
    fn first_loss(&mut self) -> Option<usize> {
        let size = self.slots.len();
        let is_first = self.next_write - self.next_read > size as u64 && !self.has_lost;
        self.has_lost |= is_first;
        is_first.then_some(size)
    }

    /// The slot of the oldest event that was not read; counts it as read.
    fn next_unread(&mut self) -> Option<&Option<Polled>> {
        if self.next_read == self.next_write {
            return None;
        }
        // No more than the slots have been written since: nothing is lost.
        let lost = self.next_write - self.next_read > self.slots.len() as u64;
        let sequence = if lost { self.next_write - self.slots.len() as u64 } else { self.next_read };
        self.next_read = sequence + 1;
        let slot = self.slot(sequence);
        let unread = self.slots.get_mut(slot)?;
        if lost && let Some(polled) = unread {
            polled.lost = true;
        }
        Some(unread)
    }

    fn slot(&self, sequence: u64) -> usize {
        // The number of slots is a power of two.
        (sequence & (self.slots.len() as u64).wrapping_sub(1)) as usize
    }
}

#[inline(never)]
fn pass_on(forward: &EventHandler, write: impl FnOnce(&mut Event)) {
    forward(&Event::written(write));
}

/// Logs that a queue without a handler loses events: once, as a program that never reads the queue gets no error.
#[cold]
fn log_loss(size: usize) {
    write_line!(
        LogClass::EventsLost,
        "event queue of {size} events: full (its program reads it too late, or never); the oldest events are lost: read it sooner (LNetEQPoll), or give LNetEQAlloc a larger count"
    );
}

impl fmt::Debug for EventQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventQueue").field("users", &self.users).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::tests::{any_md_handle, plain_spec};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn event(match_bits: u64) -> Event {
        Event { match_bits, ..Event::unlink(any_md_handle(), plain_spec(8)) }
    }

    #[test]
    fn a_queue_needs_a_ring_or_a_handler() {
        assert_eq!(EventQueue::new(0, None).err(), Some(Errno::Invalid));
        assert_eq!(EventQueue::new(u32::MAX, None).err(), Some(Errno::NoMemory));
        assert!(EventQueue::new(1, None).is_ok());
        assert!(EventQueue::new(0, Some(Box::new(|_| ()))).is_ok());
    }

    #[test]
    fn a_queue_that_forwards_keeps_no_event_and_has_no_handler_of_the_program() {
        let seen = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&seen);
        let forward: EventHandler = Box::new(move |event| {
            assert!(!in_handler());
            count.fetch_add(event.match_bits, Ordering::Relaxed);
        });
        let queue = EventQueue::forwarding(forward).unwrap();
        queue.deliver(&event(5));
        assert_eq!((seen.load(Ordering::Relaxed), queue.get(), queue.has_handler()), (5, Ok(None), false));
    }

    #[test]
    fn events_come_out_in_order_and_are_numbered_from_one() {
        let queue = EventQueue::new(3, None).unwrap();
        for bits in 10..14 {
            queue.deliver(&event(bits));
        }
        let got: Vec<_> = std::iter::from_fn(|| queue.get().unwrap())
            .map(|p| (p.event.match_bits, p.event.sequence, p.lost))
            .collect();
        assert_eq!(got, [(10, 1, false), (11, 2, false), (12, 3, false), (13, 4, false)]);
        assert_eq!(queue.get(), Ok(None));
    }

    #[test]
    fn a_full_ring_overwrites_the_oldest_event_and_reports_it_to_the_reader_once() {
        let queue = EventQueue::new(2, None).unwrap();
        for bits in 1..=5 {
            queue.deliver(&event(bits));
        }
        let first = queue.get().unwrap().unwrap();
        assert_eq!((first.event.match_bits, first.lost), (4, true));
        let second = queue.get().unwrap().unwrap();
        assert_eq!((second.event.match_bits, second.lost), (5, false));
        assert_eq!(queue.get(), Ok(None));
    }

    #[test]
    fn a_ring_tells_of_its_first_loss_once() {
        let mut ring = Ring::new(2).unwrap();
        let losses: Vec<_> = (1..=5)
            .map(|bits| {
                ring.push(|place| *place = event(bits));
                ring.first_loss()
            })
            .collect();
        assert_eq!(losses, [None, None, Some(2), None, None]);
    }

    #[test]
    fn a_handler_is_called_with_every_event_even_those_that_the_ring_dropped() {
        let seen = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&seen);
        let handler: EventHandler = Box::new(move |e| {
            count.fetch_add(e.match_bits, Ordering::Relaxed);
        });
        let queue = EventQueue::new(1, Some(handler)).unwrap();
        for bits in 1..=4 {
            queue.deliver(&event(bits));
        }
        assert_eq!(seen.load(Ordering::Relaxed), 10);
        assert_eq!(queue.get().unwrap().map(|p| (p.event.match_bits, p.lost)), Some((4, true)));
    }

    #[test]
    fn a_queue_is_busy_while_an_md_may_still_have_events() {
        let queue = EventQueue::new(1, None).unwrap();
        assert!(queue.attach_md());
        assert_eq!(queue.wait_unused(), Err(Errno::Busy));
        queue.md_ending();
        queue.md_ended();
        assert_eq!(queue.wait_unused(), Ok(()));
    }

    #[test]
    fn a_freed_queue_takes_no_more_mds() {
        let queue = EventQueue::new(1, None).unwrap();
        assert_eq!(queue.wait_unused(), Ok(()));
        assert!(!queue.attach_md());
        assert_eq!(queue.wait_unused(), Ok(()));
    }

    #[test]
    fn a_queue_without_a_ring_has_nothing_to_read() {
        let queue = EventQueue::new(0, Some(Box::new(|_| ()))).unwrap();
        queue.deliver(&event(1));
        assert_eq!(queue.get(), Ok(None));
    }

    #[test]
    fn a_closed_queue_returns_the_first_reason_and_drops_unread_events() {
        for handler in [None, Some(Box::new(|_: &Event| ()) as EventHandler)] {
            let queue = EventQueue::new(u32::from(handler.is_none()), handler).unwrap();
            queue.deliver(&event(1));
            queue.end(Errno::NotFound);
            queue.end(Errno::NetworkDown);
            assert_eq!(queue.get(), Err(Errno::NotFound));
        }
    }
}
