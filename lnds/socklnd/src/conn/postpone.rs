//! Postponed messages: a thread that takes events from queues, and sends messages in between, sends them together.
//!
//! A message is postponed while others that were sent before it on the connection wait for their delivery ACKs, and a short one also if the
//! thread has left events in the queue from which it took the last: it comes back for them. So are delivery ACKs for ACKs of LNet that
//! an application's thread has received, as that takes the events of these next. A thread that works for long on an event does not postpone the
//! message that follows. What is postponed leaves when the thread finds no event and waits, when enough has gathered, with the next message that
//! is not postponed, or else when the connection's scheduler sends delivery ACKs, which wait in the same way.

use crate::conn::Connection;
use crate::late_schedule::LateSender;
use crate::scheduler::Pollable as _;
use lnd_common::pending_acks::Wait;
use lnet_core::event::{forget_left_events, has_left_events};
use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Maximum number of messages in a queue to which one is added that is postponed, a NOOP with delivery ACKs among them.
pub(super) const MAX_MESSAGES: usize = 32;
/// Maximum number of unsent bytes of a connection with postponed messages.
const MAX_BYTES: usize = 128 * 1024;
/// The same if no message on the connection waits for its delivery ACK: the peer may have nothing else to do.
const MAX_FIRST_BYTES: usize = 16 * 1024;
/// Maximum number of connections with messages that a thread has postponed.
const MAX_CONNECTIONS: usize = 16;
/// Number of messages that a thread postpones after a wait. A thread that sends more than that does not take an event for each.
const MAX_AFTER_WAIT: u32 = 1024;
/// Maximum time from when a thread has received, or sent what it had postponed, to the next message that it postpones: a thread that takes
/// longer may take as long for the next event, and the peer would wait for that.
const MAX_PAUSE: Duration = Duration::from_micros(50);

thread_local! {
    static THREAD: ThreadState = const {
        ThreadState {
            left: Cell::new(0),
            any: Cell::new(false),
            postponed: RefCell::new(Vec::new()),
            latest: Cell::new(None),
        }
    };
}

/// The state of a thread that postpones messages.
struct ThreadState {
    /// The number of messages that the thread may still postpone before it waits again.
    left: Cell<u32>,
    /// Whether there may be connections with messages that the thread has postponed.
    any: Cell<bool>,
    /// These connections, which may end before the thread waits again.
    postponed: RefCell<Vec<Weak<Connection>>>,
    /// The time when the thread has last received, or sent a message that it did not postpone.
    latest: Cell<Option<Instant>>,
}

/// The state of a connection that decides whether a message is postponed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// The number of messages in the queue.
    pub(super) queued: usize,
    /// The number of bytes that are not sent, with those of the message.
    pub(super) unsent: usize,
    /// Whether messages that have been sent wait for their delivery ACKs.
    pub(super) is_awaiting_acks: bool,
    /// Whether these are delivery ACKs, for which nobody waits.
    pub(super) is_acks: bool,
    /// Whether this is a message, and what is queued, if anything, ends with such delivery ACKs.
    pub(super) is_first: bool,
}

impl Load {
    /// Whether something is postponed: there is room for more, and it need not leave at once. `more_follows`: the thread will probably
    /// send more soon.
    fn postpones(self, more_follows: impl FnOnce() -> bool) -> bool {
        let most = if self.is_awaiting_acks { MAX_BYTES } else { MAX_FIRST_BYTES };
        self.queued < MAX_MESSAGES
            && self.unsent <= most
            && (self.is_awaiting_acks || self.is_acks || more_follows())
    }
}

impl ThreadState {
    fn postpones(&self, load: Load) -> bool {
        if self.left.get() == 0 {
            return false;
        }
        if load.queued >= MAX_MESSAGES {
            self.latest.set(Some(Instant::now()));
        }
        load.postpones(has_left_events)
            && !(load.is_first && self.is_too_late())
            && (!self.any.get() || self.postponed.borrow().len() < MAX_CONNECTIONS)
    }

    /// Whether the thread has taken too long to postpone the first message, which it sends now if so.
    fn is_too_late(&self) -> bool {
        let now = Instant::now();
        let has_paused = is_pause(self.latest.get(), now);
        if has_paused {
            self.latest.set(Some(now));
        }
        has_paused
    }

    fn note(&self, connection: &Arc<Connection>) {
        self.left.set(self.left.get().saturating_sub(1));
        self.any.set(true);
        let mut postponed = self.postponed.borrow_mut();
        if !postponed.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(connection))) {
            postponed.push(Arc::downgrade(connection));
        }
    }
}

fn is_pause(latest: Option<Instant>, now: Instant) -> bool {
    latest.is_none_or(|latest| now.saturating_duration_since(latest) > MAX_PAUSE)
}

/// Notes that the calling thread, an application's, has received, and will take the events.
pub(crate) fn note_received() {
    with_thread(|thread| thread.latest.set(Some(Instant::now())));
}

/// Whether the calling thread postpones what it sends on `connection` with this load. It is then to be queued, and [`note_queued`] to be
/// called.
pub(super) fn postpones(connection: &Arc<Connection>, load: Load) -> bool {
    let postpones = |thread: &ThreadState| {
        let postpones = thread.postpones(load);
        if postpones {
            thread.note(connection);
        }
        postpones
    };
    with_thread(postpones).unwrap_or(false)
}

/// Notes that the calling thread has queued a message on `connection` that it postpones. `is_first`: nothing else is queued.
pub(super) fn note_queued(connection: &Arc<Connection>, is_first: bool) {
    forget_left_events();
    if is_first {
        // The thread may not wait for long.
        let sender = Arc::downgrade(connection) as Weak<dyn LateSender>;
        connection.scheduler.note_late_sender(sender, Wait::Short);
    }
}

/// Sends what the calling thread has postponed, as it waits for an event.
pub(crate) fn send_postponed() {
    let any = with_thread(|thread| {
        thread.left.set(MAX_AFTER_WAIT);
        thread.any.replace(false)
    });
    if any != Some(true) {
        return;
    }
    // Sending completes messages, and their handlers may send.
    while let Some(connection) = with_thread(|thread| thread.postponed.borrow_mut().pop()).flatten() {
        if let Some(connection) = connection.upgrade() {
            connection.on_writable();
        }
    }
}

/// Calls `f` with the state of the calling thread; `None` while the thread ends: then nothing is postponed.
fn with_thread<R>(f: impl FnOnce(&ThreadState) -> R) -> Option<R> {
    THREAD.try_with(f).ok()
}

impl LateSender for Connection {
    fn send_late(self: Arc<Self>) {
        if !self.is_closed() {
            self.on_writable();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_postponed_while_others_are_under_way_or_more_follow_and_there_is_room() {
        for (queued, unsent, is_awaiting_acks, is_acks, more_follows, postpones) in [
            (0, 100, false, false, false, false),
            (0, 100, true, false, false, true),
            (0, 100, false, true, false, true),
            (0, 100, false, false, true, true),
            (MAX_MESSAGES - 1, 200, true, true, true, true),
            (MAX_MESSAGES, 200, true, true, true, false),
            (1, MAX_BYTES, true, false, false, true),
            (1, MAX_BYTES + 1, true, false, true, false),
            (0, MAX_FIRST_BYTES, false, false, true, true),
            (0, MAX_FIRST_BYTES + 1, false, true, true, false),
        ] {
            let load = Load { queued, unsent, is_awaiting_acks, is_acks, is_first: false };
            assert_eq!(load.postpones(|| more_follows), postpones, "{load:?}, {more_follows}");
        }
    }

    #[test]
    fn a_thread_pauses_if_it_takes_long_for_a_message_or_has_never_received() {
        let begin = Instant::now();
        for (latest, now, pauses) in [
            (None, Duration::ZERO, true),
            (Some(Duration::ZERO), MAX_PAUSE, false),
            (Some(Duration::ZERO), MAX_PAUSE + Duration::from_nanos(1), true),
            (Some(MAX_PAUSE), Duration::ZERO, false),
        ] {
            assert_eq!(
                is_pause(latest.map(|latest| begin + latest), begin + now),
                pauses,
                "{latest:?} {now:?}"
            );
        }
    }
}
