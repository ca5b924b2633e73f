//! Clocks of the nodes under test. The driver reads its clock when its connecting thread wakes, which it does at least once in the
//! interval of its scans.

use super::wait_for;
use lnet_core::Clock;
pub use lnet_core::ManualClock;
use lnet_core::time::SystemClock;
use std::sync::Arc;
use std::time::Duration;

pub fn running_clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// A clock that stands still until a test advances it.
pub fn manual_clock() -> Arc<ManualClock> {
    Arc::default()
}

/// Advances a clock by `step` again and again until `condition` holds.
pub fn advance_until(clock: &ManualClock, step: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || {
        clock.advance(step);
        condition()
    });
}
