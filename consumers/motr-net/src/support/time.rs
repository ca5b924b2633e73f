//! Times in nanoseconds (motr-net 8.5): the monotonic clock with a fixed number added, so that it looks like the time of day.

use crate::contract::require;
use lnet_api::c_pointer::Out;
use std::ffi::{c_int, c_long};
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// A time or a duration in nanoseconds.
pub type m0_time_t = u64;

/// The time after every other one.
pub const TIME_NEVER: m0_time_t = m0_time_t::MAX;
const SECOND: u64 = 1_000_000_000;

/// [`TIME_NEVER`] for C.
#[unsafe(no_mangle)]
pub static M0_TIME_NEVER: m0_time_t = TIME_NEVER;
/// The time before every other one, for C.
#[unsafe(no_mangle)]
pub static M0_TIME_IMMEDIATELY: m0_time_t = 0;

/// The number that is added to the monotonic clock; constant for the life of the process.
static OFFSET: LazyLock<u64> = LazyLock::new(|| {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(0).saturating_sub(monotonic_now())
});

fn monotonic_now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` outlives the call, which writes it.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * SECOND + now.tv_nsec as u64
}

/// A deadline as a time of the machine's monotonic clock; 0 if it is before the start of that clock.
pub(super) fn monotonic_deadline(deadline: m0_time_t) -> libc::timespec {
    to_timespec(deadline.saturating_sub(*OFFSET))
}

fn to_timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / SECOND) as libc::time_t, tv_nsec: (ns % SECOND) as c_long }
}

/// The sum; [`TIME_NEVER`] if it overflows, or if one of the arguments is that.
#[unsafe(no_mangle)]
pub extern "C" fn m0_time_add(t1: m0_time_t, t2: m0_time_t) -> m0_time_t {
    t1.saturating_add(t2)
}

/// The difference; [`TIME_NEVER`] stays unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn m0_time_sub(t1: m0_time_t, t2: m0_time_t) -> m0_time_t {
    require!("m0_time_sub", t1 >= t2, "the first time is the earlier one");
    if t1 == TIME_NEVER { t1 } else { t1 - t2 }
}

/// The time of this many seconds and nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn m0_time(secs: u64, ns: c_long) -> m0_time_t {
    secs.saturating_mul(SECOND).saturating_add_signed(ns)
}

/// The current time.
#[unsafe(no_mangle)]
pub extern "C" fn m0_time_now() -> m0_time_t {
    *OFFSET + monotonic_now()
}

/// The time this many seconds and nanoseconds from now.
#[unsafe(no_mangle)]
pub extern "C" fn m0_time_from_now(secs: u64, ns: c_long) -> m0_time_t {
    m0_time_add(m0_time_now(), m0_time(secs, ns))
}

/// The whole seconds of a time.
#[unsafe(no_mangle)]
pub extern "C" fn m0_time_seconds(time: m0_time_t) -> u64 {
    time / SECOND
}

/// The nanoseconds of a time beyond its whole seconds.
#[unsafe(no_mangle)]
pub extern "C" fn m0_time_nanoseconds(time: m0_time_t) -> u64 {
    time % SECOND
}

/// Whether a time is before now.
#[unsafe(no_mangle)]
pub extern "C" fn m0_time_is_in_past(time: m0_time_t) -> bool {
    time < m0_time_now()
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_nanosleep(req: m0_time_t, mut rem: Out<'_, m0_time_t>) -> c_int {
    let (req, mut left) = (to_timespec(req), to_timespec(0));
    // SAFETY: both outlive the call, and `left` is there to be written.
    if unsafe { libc::nanosleep(&raw const req, &raw mut left) } == 0 {
        return 0;
    }
    rem.store_if_wanted(left.tv_sec as u64 * SECOND + left.tv_nsec as u64);
    -libc::EINTR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_and_never_stays_never() {
        let table = [
            (m0_time(1, 500), 1_000_000_500),
            (m0_time(0, 0), 0),
            (m0_time(2, -1), 1_999_999_999),
            (m0_time(u64::MAX, 0), TIME_NEVER),
            (m0_time_add(3, 4), 7),
            (m0_time_add(TIME_NEVER, 1), TIME_NEVER),
            (m0_time_add(1, TIME_NEVER), TIME_NEVER),
            (m0_time_sub(7, 4), 3),
            (m0_time_sub(TIME_NEVER, 4), TIME_NEVER),
            (m0_time_from_now(u64::MAX, 0), TIME_NEVER),
            (m0_time_seconds(1_999_999_999), 1),
            (m0_time_nanoseconds(1_999_999_999), 999_999_999),
        ];
        for (row, (found, expected)) in table.into_iter().enumerate() {
            assert_eq!(found, expected, "row {row}");
        }
    }

    #[test]
    fn the_clock_looks_like_the_time_of_day_and_never_goes_back() {
        let (before, now) = (m0_time_now(), m0_time_now());
        assert!(before <= now && m0_time_is_in_past(before - 1) && !m0_time_is_in_past(TIME_NEVER));
        // After 2020, and before the year 2200.
        assert!((1_577_836_800..7_258_118_400).contains(&m0_time_seconds(now)), "{now}");
        // SAFETY: NULL is allowed.
        assert_eq!(m0_nanosleep(1, unsafe { Out::new(std::ptr::null_mut()) }), 0);
    }
}
