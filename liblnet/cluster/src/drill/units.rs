//! Numbers of reports, in their units.

use std::time::Duration;

/// Milliseconds, rounded down.
pub(super) fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The number of bytes in a second; 0 for no time.
pub(super) fn per_second(bytes: u64, time: Duration) -> u64 {
    let per_second = u128::from(bytes) * 1_000_000_000 / time.as_nanos().max(1);
    if time.is_zero() { 0 } else { u64::try_from(per_second).unwrap_or(u64::MAX) }
}
