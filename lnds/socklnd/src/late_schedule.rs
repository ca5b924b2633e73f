//! Schedule of what leaves late: delivery ACKs and confirmations that wait for a message with which they can be sent, and postponed
//! messages. It has their senders, and when they send without waiting any longer.
//!
//! Some delivery ACKs wait for a short time, as a program may wait for them; others, for ACKs of LNet, for a long time, so that with a
//! thousand peers the next message to each still takes them along.

use crate::sync::lock;
use lnd_common::pending_acks::Wait;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// The short time, while there is no other work.
const SHORT_IDLE: Duration = Duration::from_micros(100);
/// The short time, while there is other work.
pub(crate) const SHORT: Duration = Duration::from_millis(1);
/// The same in turns of an application's thread that does not wait.
const SHORT_TURNS: u32 = 16;
/// The least of the long time; the most is twice that.
const LONG: Duration = Duration::from_millis(40);

/// Sender of what waits for more to leave with it: a peer with pending delivery ACKs, or a connection with postponed messages.
pub(crate) trait LateSender: Send + Sync {
    /// Sends all, after the sender was taken off the list of those that wait for a short time.
    fn send_late(self: Arc<Self>);

    /// Sends all if some of it was there at the last call, too. Returns whether there is only what came since; then the sender is to
    /// stay on the list of those that wait for a long time.
    fn send_aged(self: Arc<Self>) -> bool {
        self.send_late();
        false
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct LateSchedule {
    short: SenderList,
    long: SenderList,
    /// Turns of application threads since the first entry of `short`.
    turns: AtomicU32,
    begin: Instant,
    /// Microseconds from `begin` to the time when `long` got its first entry or was last looked through.
    aged: AtomicU64,
}

#[derive(Default)]
struct SenderList {
    senders: Mutex<VecDeque<Weak<dyn LateSender>>>,
    /// Whether `senders` has entries.
    has_entries: AtomicBool,
}

impl std::fmt::Debug for SenderList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SenderList").field("senders", &lock(&self.senders).len()).finish_non_exhaustive()
    }
}

impl LateSchedule {
    pub(crate) fn new(begin: Instant) -> Self {
        Self {
            short: SenderList::default(),
            long: SenderList::default(),
            turns: AtomicU32::new(0),
            begin,
            aged: AtomicU64::new(0),
        }
    }

    /// Puts a sender on one of the lists.
    pub(crate) fn list(&self, sender: Weak<dyn LateSender>, wait: Wait, now: impl FnOnce() -> Instant) {
        match wait {
            Wait::Short => self.short.push(sender),
            Wait::Long => {
                if !self.long.has_entries() {
                    self.aged.store(self.since_begin(now()), Ordering::Relaxed);
                }
                self.long.push(sender);
            }
        }
    }

    /// The time for which a thread may wait for other work until something is to be sent; `None` if nothing waits.
    pub(crate) fn may_wait(&self) -> Option<Duration> {
        if self.short.has_entries() {
            Some(SHORT_IDLE)
        } else if self.long.has_entries() {
            Some(LONG)
        } else {
            None
        }
    }

    /// Whether something waits for a short time.
    pub(crate) fn has_short(&self) -> bool {
        self.short.has_entries()
    }

    /// Counts a turn of an application's thread; sends what has waited for the short time.
    pub(crate) fn on_application_turn(&self) {
        if self.has_short() && self.turns.fetch_add(1, Ordering::Relaxed) >= SHORT_TURNS {
            self.send_short();
        }
    }

    /// Sends what is due after a thread has looked for work. `waited`: whether it waited for as long as it may, in vain.
    pub(crate) fn on_look(&self, waited: bool, now: impl FnOnce() -> Instant) {
        if waited {
            self.send_short();
        }
        if !self.long.has_entries() {
            return;
        }
        let now = self.since_begin(now());
        if now.saturating_sub(self.aged.load(Ordering::Relaxed)) >= LONG.as_micros() as u64 {
            self.aged.store(now, Ordering::Relaxed);
            self.long.each(|sender| sender.send_aged());
        }
    }

    /// Sends all that wait for a short time.
    pub(crate) fn send_short(&self) {
        self.turns.store(0, Ordering::Relaxed);
        self.short.each(|sender| {
            sender.send_late();
            false
        });
    }

    /// Microseconds from `begin` to `now`.
    fn since_begin(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.begin).as_micros() as u64
    }
}

impl SenderList {
    fn has_entries(&self) -> bool {
        self.has_entries.load(Ordering::SeqCst)
    }

    fn push(&self, sender: Weak<dyn LateSender>) {
        let mut senders = lock(&self.senders);
        senders.push_back(sender);
        // Under the lock, like its reset: the flag is set whenever there are some.
        self.has_entries.store(true, Ordering::SeqCst);
    }

    /// Calls `send` for each sender, without the lock, and keeps on the list those for which it returns true. Senders that come meanwhile
    /// are left.
    fn each(&self, send: impl Fn(Arc<dyn LateSender>) -> bool) {
        let listed = lock(&self.senders).len();
        for _ in 0..listed {
            let sender = lock(&self.senders).pop_front();
            let stays = sender.as_ref().and_then(Weak::upgrade).is_some_and(&send);
            let mut senders = lock(&self.senders);
            senders.extend(sender.filter(|_| stays));
            if senders.is_empty() {
                self.has_entries.store(false, Ordering::SeqCst);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts what it sends. Its ACKs are new whenever it is asked an odd number of times.
    #[derive(Default)]
    struct Sender {
        sent: AtomicU32,
        asked: AtomicU32,
    }

    impl LateSender for Sender {
        fn send_late(self: Arc<Self>) {
            self.sent.fetch_add(1, Ordering::Relaxed);
        }

        fn send_aged(self: Arc<Self>) -> bool {
            let is_new = self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
            self.sent.fetch_add(u32::from(!is_new), Ordering::Relaxed);
            is_new
        }
    }

    struct Rig {
        schedule: LateSchedule,
        begin: Instant,
        senders: Vec<Arc<Sender>>,
    }

    impl Rig {
        /// Three senders on a list.
        fn new(wait: Wait) -> Self {
            let begin = Instant::now();
            let senders = (0..3).map(|_| Arc::default()).collect();
            let rig = Self { schedule: LateSchedule::new(begin), begin, senders };
            rig.list(wait);
            rig
        }

        fn list(&self, wait: Wait) {
            for sender in &self.senders {
                let weak: Weak<Sender> = Arc::downgrade(sender);
                self.schedule.list(weak, wait, || self.begin);
            }
        }

        fn sent(&self) -> u32 {
            self.senders.iter().map(|sender| sender.sent.swap(0, Ordering::Relaxed)).sum()
        }

        fn looks(&self, at: Duration, waited: bool) -> u32 {
            self.schedule.on_look(waited, || self.begin + at);
            self.sent()
        }
    }

    #[test]
    fn what_waits_for_a_short_time_leaves_after_a_wait_in_vain_or_some_turns() {
        let rig = Rig::new(Wait::Short);
        assert_eq!(rig.schedule.may_wait(), Some(SHORT_IDLE));
        assert_eq!(rig.looks(10 * LONG, false), 0, "the wait has not passed");
        assert_eq!(rig.looks(Duration::ZERO, true), 3);
        assert_eq!(rig.schedule.may_wait(), None);
        rig.list(Wait::Short);
        let turns = (0..100).take_while(|_| {
            rig.schedule.on_application_turn();
            rig.sent() == 0
        });
        assert_eq!(turns.count(), SHORT_TURNS as usize);
    }

    #[test]
    fn what_waits_for_a_long_time_leaves_when_it_is_found_the_second_time() {
        let rig = Rig::new(Wait::Long);
        assert_eq!(rig.schedule.may_wait(), Some(LONG));
        let least = Duration::from_micros(1);
        for (at, sent) in [(LONG - least, 0), (LONG, 0), (2 * LONG - least, 0), (2 * LONG, 3), (4 * LONG, 0)]
        {
            assert_eq!(rig.looks(at, true), sent, "{at:?}");
        }
        assert_eq!(rig.schedule.may_wait(), None);
    }

    #[test]
    fn senders_that_are_gone_leave_the_list() {
        let mut rig = Rig::new(Wait::Long);
        rig.senders.clear();
        assert_eq!(rig.looks(LONG, true), 0);
        assert_eq!(rig.schedule.may_wait(), None);
    }
}
