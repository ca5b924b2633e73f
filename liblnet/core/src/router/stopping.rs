//! The end of routing (RT-43): peers are told first, and their messages are forwarded until they must know.

use crate::environment::time::Time;
use crate::sync::{Mutex, lock};
use std::time::Duration;

/// The interval at which the end of routing is examined.
const INTERVAL: Duration = Duration::from_secs(1);
/// The number of grace periods after which routing stops even if messages still arrive.
const MAX_GRACE_PERIODS: u32 = 3;

/// The state of a router that is being switched off.
#[derive(Debug, Default)]
pub(crate) struct Stopping {
    state: Mutex<Option<StoppingState>>,
}

#[derive(Clone, Copy, Debug)]
struct StoppingState {
    since: Time,
    /// The number of forwarded messages, and the time at which it was first seen.
    forwarded: u64,
    idle_since: Time,
}

impl Stopping {
    /// Returns `Ok` if routing stops now, as nothing has been forwarded for the grace period, and otherwise the time of the next
    /// call.
    pub(crate) fn poll(&self, now: Time, forwarded: u64, grace: Duration) -> Result<(), Time> {
        let state = &mut *lock(&self.state);
        let its = state.get_or_insert(StoppingState { since: now, forwarded, idle_since: now });
        if its.forwarded != forwarded {
            (its.forwarded, its.idle_since) = (forwarded, now);
        }
        if now.since(its.idle_since) < grace && now.since(its.since) < grace * MAX_GRACE_PERIODS {
            return Err(now + INTERVAL);
        }
        *state = None;
        Ok(())
    }

    /// Forgets the state, when routing is on again or has ended.
    pub(crate) fn reset(&self) {
        *lock(&self.state) = None;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn routing_stops_when_nothing_was_forwarded_for_a_grace_period_and_at_last_after_three() {
        // Seconds and messages forwarded until then, and the second at which it stops.
        let table: [(&[(u64, u64)], u64); 4] = [
            (&[(0, 5)], 10),
            (&[(0, 5), (9, 6)], 19),
            (&[(0, 5), (9, 6), (18, 7), (27, 8)], 30),
            (&[(0, 5), (30, 6)], 10),
        ];
        for (forwarded, expected) in table {
            let stopping = Stopping::default();
            let until =
                |second| forwarded.iter().rev().find(|(at, _)| *at <= second).map_or(0, |(_, count)| *count);
            let stops = (0..).find(|second| {
                let now = Time(Duration::from_secs(*second));
                let polled = stopping.poll(now, until(*second), Duration::from_secs(10));
                assert!(polled.is_ok() || polled == Err(now + INTERVAL));
                polled.is_ok()
            });
            assert_eq!(stops, Some(expected), "{forwarded:?}");
        }
    }
}
