//! The recovery state of an unhealthy interface: the time of its next ping (HE-51, HE-52).

use crate::environment::time::Time;
use crate::sync::{Mutex, lock};
use lnet_settings::MAX_HEALTH;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The recovery of an unhealthy interface by pings (HE-51).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The number of pings since something was last received.
    pub ping_count: u32,
    /// The time of the next ping; `None` if the interface is not in a recovery queue.
    pub next_ping: Option<Time>,
    /// The time at which something was last received, or at which the interface became unhealthy.
    pub last_heard: Time,
}

/// An interface's [`Recovery`], with a flag that receiving threads read without its lock.
#[derive(Debug, Default)]
pub(crate) struct RecoveryState {
    recovery: Mutex<Recovery>,
    /// Whether the recovery changes if a message is received.
    is_concerned: AtomicBool,
}

impl RecoveryState {
    pub(crate) fn get(&self) -> Recovery {
        *lock(&self.recovery)
    }

    /// Starts the recovery: the interface enters the queue.
    pub(crate) fn begin(&self, now: Time) {
        self.change(|recovery| *recovery = Recovery::beginning(now));
    }

    /// Ends the recovery: the interface is healthy or removed (`is_well`), or has not responded for too long; then the number of
    /// pings is kept.
    pub(crate) fn end(&self, is_well: bool) {
        self.change(|recovery| {
            let ping_count = if is_well { 0 } else { recovery.ping_count };
            *recovery = Recovery { ping_count, ..Recovery::default() };
        });
    }

    /// Returns the action that is due, and stores it first: the reply to a ping may arrive before the ping is known to
    /// be sent.
    pub(crate) fn take_turn(&self, health: u32, now: Time, longest: Duration) -> Turn {
        self.change(|recovery| {
            let turn = turn(Some(health), *recovery, now, longest);
            if let Turn::Ping(next) = turn {
                *recovery = next;
            }
            turn
        })
    }

    fn change<R>(&self, change: impl FnOnce(&mut Recovery) -> R) -> R {
        let recovery = &mut *lock(&self.recovery);
        let result = change(recovery);
        let is_concerned = recovery.next_ping.is_some() || recovery.ping_count > 0;
        self.is_concerned.store(is_concerned, Ordering::Relaxed);
        result
    }

    /// Records that something has arrived: the intervals between pings start again (HE-52). Returns whether the next ping comes
    /// sooner.
    #[inline]
    pub(crate) fn heard(&self, now: impl FnOnce() -> Time) -> bool {
        self.is_concerned.load(Ordering::Relaxed) && self.begin_anew(now())
    }

    #[cold]
    fn begin_anew(&self, now: Time) -> bool {
        self.change(|recovery| {
            recovery.last_heard = now;
            recovery.begin_anew(now)
        })
    }
}

impl Recovery {
    fn beginning(now: Time) -> Self {
        Self { ping_count: 0, next_ping: Some(now + wait_before(0, Duration::MAX)), last_heard: now }
    }

    /// Makes the next ping due after the first interval, as the interface has responded. Returns whether it comes sooner.
    fn begin_anew(&mut self, now: Time) -> bool {
        self.ping_count = 0;
        let soon = now + wait_before(0, Duration::MAX);
        let sooner = self.next_ping.is_some_and(|next| next > soon);
        if sooner {
            self.next_ping = Some(soon);
        }
        sooner
    }
}

/// The action that is due for an interface in a recovery queue (HE-51).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Remove the interface from the queue: it is healthy or removed.
    Leave,
    Wait(Time),
    /// Ping the interface, and store this state with the time of the next ping.
    Ping(Recovery),
}

/// The interval after this number of pings without response, at most `longest` (HE-51, HE-52).
pub(crate) fn wait_before(pings: u32, longest: Duration) -> Duration {
    match pings {
        0..=9 => Duration::from_secs(1 << pings).min(longest),
        _ => longest,
    }
}

fn turn(health: Option<u32>, recovery: Recovery, now: Time, longest: Duration) -> Turn {
    match (health, recovery.next_ping) {
        (None | Some(MAX_HEALTH..), _) => Turn::Leave,
        (Some(_), Some(next)) if now < next => Turn::Wait(next),
        (Some(_), _) => {
            let ping_count = recovery.ping_count.saturating_add(1);
            let next_ping = Some(now + wait_before(ping_count, longest));
            Turn::Ping(Recovery { ping_count, next_ping, ..recovery })
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MAX_INTERVAL: Duration = Duration::from_secs(900);

    fn at(seconds: u64) -> Time {
        Time(Duration::from_secs(seconds))
    }

    /// HE-52: fails if the intervals between recovery pings without a reply do not double up to the limit.
    #[test]
    fn recovery_pings_without_a_reply_back_off() {
        let mut recovery = Recovery { next_ping: Some(at(1)), ..Recovery::default() };
        let mut now = at(0);
        let mut waits = Vec::new();
        for _ in 0..13 {
            if let Turn::Wait(next) = turn(Some(900), recovery, now, MAX_INTERVAL) {
                waits.push(next.since(now).as_secs());
                now = next;
            }
            match turn(Some(900), recovery, now, MAX_INTERVAL) {
                Turn::Ping(next) => recovery = next,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
    }

    #[test]
    fn a_healthy_or_removed_interface_leaves_the_recovery_queue() {
        assert_eq!(turn(Some(MAX_HEALTH), Recovery::default(), at(0), MAX_INTERVAL), Turn::Leave);
        assert_eq!(turn(None, Recovery::default(), at(0), MAX_INTERVAL), Turn::Leave);
    }
}
