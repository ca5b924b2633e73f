//! Spinning: waiting without sleeping, as long as that pays.
//!
//! Sleeping and waking cost more than many a message takes. But a thread that spins for a late event wastes its CPU,
//! so after a few waits without an event only one in many waits spins.

use lnet_core::lnd::Progress;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The number of waits without an event after which spinning stops.
const MAX_FAILED: u32 = 4;
/// The number of waits of which one spins while spinning has stopped.
const RETRY_INTERVAL_WAITS: u32 = 64;

/// The number of turns after which the CPU is yielded, by a system call, while no other thread wants it.
const MAX_TURNS_BEFORE_YIELD: u32 = 16;
/// The longest time that yielding the CPU takes if no other thread runs meanwhile.
const MAX_UNCONTENDED_YIELD: Duration = Duration::from_micros(3);

/// The decision whether and for how long to spin, for all waits of a node.
#[derive(Debug)]
pub struct Spin {
    limit: Duration,
    /// The number of waits since spinning last found an event.
    failed: AtomicU32,
    /// The number of turns without a message since the CPU was last yielded, over all waits: a short wait does not reset it.
    idle_turns: AtomicU32,
    /// Whether another thread ran when the CPU was last yielded.
    is_shared: AtomicBool,
}

impl Spin {
    /// Spins for `limit` at most; with zero, never.
    pub const fn new(limit: Duration) -> Self {
        Self {
            limit,
            failed: AtomicU32::new(0),
            idle_turns: AtomicU32::new(0),
            is_shared: AtomicBool::new(false),
        }
    }

    /// Calls `ask` until it returns something, for the limit or `timeout`, whichever is less. While bytes are moving the limit
    /// begins again: the awaited message is arriving.
    pub(super) fn run<T>(
        &self,
        timeout: Option<Duration>,
        mut ask: impl FnMut() -> (Progress, Option<T>),
    ) -> Option<T> {
        let failed = self.failed.load(Ordering::Relaxed);
        if self.limit.is_zero() {
            return None;
        }
        if !worth_trying(failed) {
            self.failed.store(failed.wrapping_add(1).max(MAX_FAILED), Ordering::Relaxed);
            return None;
        }
        // An event that is there already takes no look at the clock.
        if let (_, Some(found)) = ask() {
            self.failed.store(0, Ordering::Relaxed);
            return Some(found);
        }
        let begin = Instant::now();
        // A timeout that the clock cannot represent means no limit.
        let deadline = timeout.and_then(|timeout| begin.checked_add(timeout));
        let limit_from = |now: Instant| deadline.map_or(now + self.limit, |end| end.min(now + self.limit));
        let mut until = limit_from(begin);
        loop {
            match ask() {
                (_, Some(found)) => {
                    self.failed.store(0, Ordering::Relaxed);
                    return Some(found);
                }
                // Another thread polls the sockets; two threads would compete for them.
                (Progress::NotOffered, None) => return None,
                (Progress::Worked, None) if deadline.is_none_or(|end| Instant::now() < end) => {
                    until = limit_from(Instant::now());
                }
                _ if Instant::now() >= until => break,
                _ => self.yield_cpu_if_due(),
            }
        }
        self.failed.store(failed.wrapping_add(1), Ordering::Relaxed);
        None
    }

    /// Yields the CPU if that is due, as the thread that this one waits for may need it.
    fn yield_cpu_if_due(&self) {
        // Seldom more than one thread spins: it does no harm that two of them may lose counts.
        let turns = self.idle_turns.load(Ordering::Relaxed) + 1;
        let is_due = turns >= MAX_TURNS_BEFORE_YIELD || self.is_shared.load(Ordering::Relaxed);
        self.idle_turns.store(if is_due { 0 } else { turns }, Ordering::Relaxed);
        if is_due {
            self.yield_cpu();
        }
    }

    fn yield_cpu(&self) {
        let begin = Instant::now();
        std::thread::yield_now();
        self.is_shared.store(begin.elapsed() > MAX_UNCONTENDED_YIELD, Ordering::Relaxed);
    }
}

/// Whether to spin after this number of waits without an event.
fn worth_trying(failed: u32) -> bool {
    failed < MAX_FAILED || failed.is_multiple_of(RETRY_INTERVAL_WAITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn spinning_stops_when_it_finds_nothing_and_is_tried_again_later() {
        let spin = Spin::new(Duration::from_nanos(1));
        let tried = |_: &u32| {
            let asked = Cell::new(false);
            spin.run(None, || (asked.set(true), (Progress::Idle, None::<()>)).1);
            asked.get()
        };
        assert_eq!((0..100).filter(tried).collect::<Vec<_>>(), [0, 1, 2, 3, RETRY_INTERVAL_WAITS]);
        assert_eq!(spin.run(None, || (Progress::Idle, Some(()))), None);
    }

    #[test]
    fn an_event_found_while_spinning_resumes_spinning() {
        let spin = Spin::new(Duration::from_secs(60));
        spin.failed.store(RETRY_INTERVAL_WAITS, Ordering::Relaxed);
        assert_eq!(spin.run(None, || (Progress::Worked, Some(1))), Some(1));
        assert_eq!(spin.failed.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn no_thread_spins_beside_another_thread_or_without_a_spin_time() {
        let spin = Spin::new(Duration::from_secs(60));
        assert_eq!(spin.run(None, || (Progress::NotOffered, None::<()>)), None);
        assert_eq!(Spin::new(Duration::ZERO).run(None, || (Progress::Worked, Some(1))), None);
    }
}
