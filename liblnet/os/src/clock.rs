//! The clocks of nodes and of the programs on them. A part that waits, or has timeouts, is passed its [`Clock`] when it starts.

use std::fmt;
use std::ops::{Add, AddAssign};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A point in time, relative to the start of its clock, which is arbitrary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub Duration);

impl Time {
    /// The start of the clock.
    pub const START: Self = Self(Duration::ZERO);

    /// The duration since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// The duration since the start of the clock, for the log.
impl From<Time> for Duration {
    fn from(time: Time) -> Self {
        time.0
    }
}

/// The time that long after the start of the clock.
impl From<Duration> for Time {
    fn from(since_start: Duration) -> Self {
        Self(since_start)
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(later))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, later: Duration) {
        *self = *self + later;
    }
}

/// A clock that never goes backward. Any thread may read it.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Time;

    /// Returns the current time, not rounded, for short delays. Reading it may take several times as long as [`Clock::now`].
    fn exact(&self) -> Time {
        self.now()
    }

    /// Returns how long, in real time, a thread may sleep that waits until `left` has passed on this clock. The thread then
    /// reads the clock again.
    fn sleep_limit(&self, left: Duration) -> Duration {
        left
    }
}

/// The machine's monotonic clock. Every value shows the same time.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[cfg(unix)]
    fn now(&self) -> Time {
        use nix::time::{ClockId, clock_gettime};
        // Cannot fail: every system has this clock, which starts with the machine.
        Time(clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from))
    }

    #[cfg(not(unix))]
    fn now(&self) -> Time {
        static START: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        Time(START.elapsed())
    }
}

/// A clock that stands still until it is set: virtual time for simulators and tests, to the nanosecond, for 500 years. Clones show the
/// same time.
#[derive(Clone, Default)]
pub struct ManualClock(Arc<ManualTime>);

#[derive(Default)]
struct ManualTime {
    nanoseconds: AtomicU64,
    has_hook: AtomicBool,
    hook: Mutex<Option<ReadHook>>,
}

/// A function that is called within a read of the clock.
struct ReadHook {
    /// Number of reads until the call, which is within the last of them.
    reads: u32,
    call: Box<dyn FnOnce() + Send>,
}

impl ManualClock {
    /// A thread that waits for this clock reads it again after this real time.
    const POLL_INTERVAL: Duration = Duration::from_millis(1);

    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        self.0.nanoseconds.fetch_add(nanoseconds(by), Ordering::Relaxed);
    }

    /// Sets the clock to a time, or to a duration after its start, unless it shows a later time.
    pub fn advance_to(&self, time: impl Into<Time>) {
        self.0.nanoseconds.fetch_max(nanoseconds(time.into().0), Ordering::Relaxed);
    }

    /// Calls `hook` within the `read`-th read from now on, so that another thread's action falls between two steps of the reader.
    pub fn at_read(&self, read: u32, hook: impl FnOnce() + Send + 'static) {
        *self.hook() = Some(ReadHook { reads: read, call: Box::new(hook) });
        self.0.has_hook.store(true, Ordering::Release);
    }

    /// Whether the hook has yet to be called.
    pub fn has_hook(&self) -> bool {
        self.0.has_hook.load(Ordering::Acquire)
    }

    fn hook(&self) -> std::sync::MutexGuard<'_, Option<ReadHook>> {
        self.0.hook.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a read; returns the hook if this is its read.
    fn hook_of_this_read(&self) -> Option<ReadHook> {
        let mut hook = self.hook();
        if let Some(hook) = &mut *hook {
            hook.reads = hook.reads.saturating_sub(1);
        }
        let due = hook.take_if(|hook| hook.reads == 0);
        self.0.has_hook.store(hook.is_some(), Ordering::Release);
        due
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ManualClock").field(&self.0.nanoseconds).finish()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        let now = self.exact();
        if self.has_hook()
            && let Some(hook) = self.hook_of_this_read()
        {
            (hook.call)();
        }
        now
    }

    /// Calls no hook.
    fn exact(&self) -> Time {
        Time(Duration::from_nanos(self.0.nanoseconds.load(Ordering::Relaxed)))
    }

    fn sleep_limit(&self, left: Duration) -> Duration {
        left.min(Self::POLL_INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_shows_what_it_was_advanced_by() {
        let clock = ManualClock::default();
        let start = clock.now();
        assert_eq!(clock.now(), start);
        clock.advance(Duration::from_secs(9));
        assert_eq!(clock.clone().now(), start + Duration::from_secs(9));
        clock.advance_to(Duration::from_secs(8));
        assert_eq!(clock.now(), Time(Duration::from_secs(9)));
        assert!(clock.sleep_limit(Duration::from_secs(9)) < Duration::from_secs(1));
        assert_eq!(SystemClock.sleep_limit(Duration::from_secs(9)), Duration::from_secs(9));
    }

    #[test]
    fn a_hook_is_called_within_the_read_that_it_was_given_for() {
        let (clock, called) = (ManualClock::default(), Arc::new(AtomicBool::new(false)));
        let tell = Arc::clone(&called);
        clock.at_read(2, move || tell.store(true, Ordering::SeqCst));
        for (read, expected) in [(1, false), (2, true)] {
            let _ = clock.now();
            assert_eq!((called.load(Ordering::SeqCst), clock.has_hook()), (expected, !expected), "{read}");
        }
    }
}
