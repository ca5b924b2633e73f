//! Times of connects to a peer, and of waits after a failure (wire-tcp 2.11, 3.9).

use lnet_core::Time;
use std::time::Duration;

/// Number of refusals in a row after which this node no longer treats a refusal as "try later" (as 2.17 does).
const MAX_REFUSALS: u32 = 3;

/// The connections to the peer that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connected {
    /// No connection.
    Not,
    /// There are connections, but messages of some kind have no connection of their own yet.
    Partly,
    /// All connections that are needed; more would only be faster.
    Sufficiently,
}

/// The waits between connects.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The wait after a first failure, and between connects to a peer to which something is to be sent.
    pub min: Duration,
    /// The longest wait.
    pub max: Duration,
    /// A random number: waits are shorter by up to a quarter, so that many nodes do not connect at the same moment.
    pub random: u32,
}

impl Pace {
    fn spread(self, wait: Duration) -> Duration {
        wait - wait.mul_f64(f64::from(self.random) / f64::from(u32::MAX) / 4.0)
    }

    /// Returns the wait after a first failure, which may be over soon.
    fn soon(self) -> Duration {
        self.min / 4
    }

    fn doubled(self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.min.saturating_mul(factor).min(self.max)
    }
}

/// The state of connecting to a peer.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectSchedule {
    phase: ConnectPhase,
    /// Number of connects in a row that failed.
    failures: u32,
    refusals: u32,
    /// Whether the peer has refused surplus connections: no more are requested while the existing ones last.
    satisfied: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ConnectPhase {
    #[default]
    Idle,
    /// The connecting thread has been asked to connect.
    Requested,
    /// A connect has been in progress since this time.
    Connecting(Time),
    /// No connect is made before this time.
    NotBefore(Time),
}

/// The next step after a connect that brought no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Connect again at once.
    Now,
    /// Connect again at this time.
    At(Time),
    /// Keep the existing connections, and make no more.
    Enough,
    /// The connect has failed; without a connection, the messages that wait for one fail, too. Connect again at this time.
    Failed(Time),
}

impl ConnectSchedule {
    /// Whether the connecting thread should be asked to connect now; notes that it was.
    pub fn request(&mut self, wanted: bool) -> bool {
        if self.phase != ConnectPhase::Idle || !wanted || self.satisfied {
            return false;
        }
        self.phase = ConnectPhase::Requested;
        true
    }

    /// Whether the connecting thread has been asked to connect and has not begun.
    pub fn is_requested(&self) -> bool {
        self.phase == ConnectPhase::Requested
    }

    /// Returns the duration of the connect in progress, if there is one.
    pub fn connecting(&self, now: Time) -> Option<Duration> {
        match self.phase {
            ConnectPhase::Connecting(since) => Some(now.since(since)),
            _ => None,
        }
    }

    /// Whether a message that needs a connection is to fail at once: connects have failed twice or more, and the
    /// next is not due. After a first failure it waits for the next connect instead, because that is soon and may well
    /// succeed.
    pub fn is_backing_off(&self, now: Time) -> bool {
        matches!(self.phase, ConnectPhase::NotBefore(at) if at > now) && self.failures > 1
    }

    /// Whether the last connect failed: that must be remembered for the length of the next wait.
    pub fn has_failed(&self) -> bool {
        self.failures > 0
    }

    /// Whether no connect is in progress or planned.
    pub fn idle(&self) -> bool {
        self.phase == ConnectPhase::Idle
    }

    /// Notes that a connect begins.
    pub fn begin(&mut self, now: Time) {
        self.phase = ConnectPhase::Connecting(now);
    }

    /// Cancels the connect: there is nothing to connect for.
    pub fn cancel(&mut self) {
        *self = Self { satisfied: self.satisfied, ..Self::default() };
    }

    /// Notes that the connect brought a connection.
    pub fn succeeded(&mut self) {
        self.cancel();
    }

    /// Notes that the connect was given up for a reason that does not concern the peer.
    pub fn abandoned(&mut self) {
        if matches!(self.phase, ConnectPhase::Connecting(_)) {
            self.cancel();
        }
    }

    /// Forgets refusals and failures, because all connections have ended: the peer may now accept connections that it refused
    /// before, and the failure of further connections is no reason to delay the first.
    pub fn start_over(&mut self) {
        self.satisfied = false;
        if matches!(self.phase, ConnectPhase::NotBefore(_)) {
            self.cancel();
        }
    }

    /// Records that the connect failed: the next is due after a wait, a short one the first time. If the peer is `connected`
    /// anyway, the wait doubles each time.
    pub fn failed(&mut self, now: Time, pace: Pace, connected: bool) -> Next {
        self.failures = self.failures.saturating_add(1);
        self.refusals = 0;
        let wait = match (connected, self.failures) {
            (true, failures) => pace.doubled(failures),
            (false, 1) => pace.soon(),
            (false, _) => pace.min,
        };
        let at = now + pace.spread(wait);
        self.phase = ConnectPhase::NotBefore(at);
        Next::Failed(at)
    }

    /// Notes that the peer's system did not respond to the connect in time. That has taken long enough: the next, with a
    /// socket whose retries are frequent again, follows at once if something waits for it (`wanted`).
    pub fn unanswered(&mut self, wanted: bool) -> Next {
        if wanted {
            self.phase = ConnectPhase::Requested;
            return Next::Now;
        }
        self.cancel();
        Next::Enough
    }

    /// Notes the response "none" of the peer in the requested version: a race, or one connection too many.
    pub fn refused(&mut self, now: Time, pace: Pace, have: Connected) -> Next {
        self.refusals += 1;
        if self.refusals < MAX_REFUSALS {
            // The first connect may have shown the peer that connections which it believed open are dead.
            let wait = if self.refusals == 1 { pace.soon() } else { pace.min };
            let at = now + pace.spread(wait);
            self.phase = ConnectPhase::NotBefore(at);
            return Next::At(at);
        }
        if have == Connected::Sufficiently {
            *self = Self { satisfied: true, ..Self::default() };
            return Next::Enough;
        }
        self.failed(now, pace, have != Connected::Not)
    }

    /// Notes that this node must connect again at once: the peer proposed another version, or has been restarted. Too
    /// often in a row is a failure.
    pub fn again(&mut self, now: Time, pace: Pace) -> Next {
        self.refusals += 1;
        if self.refusals >= MAX_REFUSALS {
            return self.failed(now, pace, false);
        }
        self.phase = ConnectPhase::Requested;
        Next::Now
    }

    /// Whether the wait is over, so that the connecting thread connects; records that a connect begins.
    pub fn due(&mut self, now: Time) -> bool {
        match self.phase {
            ConnectPhase::NotBefore(at) if at <= now => {
                self.phase = ConnectPhase::Requested;
                true
            }
            _ => false,
        }
    }

    /// Postpones the connect, which waits for an inbound handshake to finish.
    pub fn postpone(&mut self, until: Time) {
        self.phase = ConnectPhase::NotBefore(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const PACE: Pace = Pace { min: SECOND, max: Duration::from_secs(60), random: 0 };

    #[test]
    fn retries_stay_frequent_without_a_connection_and_back_off_for_further_ones() {
        let now = Time(Duration::from_secs(1000));
        let larger_set = [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000];
        let nothing_yet = [250, 1000, 1000, 1000, 1000, 1000, 1000, 1000];
        for (connected, want) in [(true, larger_set), (false, nothing_yet)] {
            let mut schedule = ConnectSchedule::default();
            let waits = want.map(|_| match schedule.failed(now, PACE, connected) {
                Next::Failed(at) => at.since(now).as_millis(),
                _ => 0,
            });
            assert_eq!(waits, want);
            schedule.succeeded();
            let first = now + Duration::from_millis(want[0] as u64);
            assert_eq!(schedule.failed(now, PACE, connected), Next::Failed(first));
        }
    }

    #[test]
    fn waits_are_randomised_and_never_longer() {
        let now = Time(Duration::from_secs(1000));
        for (random, wait) in [(0, 1000), (u32::MAX / 2 + 1, 875), (u32::MAX, 750)] {
            let pace = Pace { random, ..PACE };
            let next = ConnectSchedule::default().failed(now, pace, true);
            assert_eq!(next, Next::Failed(now + Duration::from_millis(wait)), "{random}");
        }
    }

    #[test]
    fn messages_wait_for_a_second_connect_and_not_for_a_third() {
        let now = Time(Duration::from_secs(1000));
        let mut schedule = ConnectSchedule::default();
        assert!(!schedule.is_backing_off(now));
        let _ = schedule.failed(now, PACE, false);
        assert!(!schedule.is_backing_off(now));
        let _ = schedule.failed(now, PACE, false);
        assert!(schedule.is_backing_off(now));
        assert!(!schedule.is_backing_off(now + SECOND));
        schedule.start_over();
        assert!(!schedule.is_backing_off(now));
    }

    #[test]
    fn one_connect_at_a_time_is_requested_and_none_before_its_time() {
        let now = Time(Duration::from_secs(1000));
        let mut schedule = ConnectSchedule::default();
        assert!(!schedule.request(false));
        assert!(schedule.request(true));
        assert!(!schedule.request(true));
        schedule.begin(now);
        assert_eq!(schedule.connecting(now + SECOND), Some(SECOND));
        assert!(!schedule.request(true));
        let _ = schedule.failed(now, PACE, false);
        assert_eq!(schedule.connecting(now), None);
        assert!(!schedule.request(true));
        assert!(!schedule.due(now));
        assert!(schedule.due(now + SECOND));
        assert!(!schedule.due(now + SECOND));
    }

    #[test]
    fn an_unanswered_connect_is_repeated_at_once_while_messages_wait() {
        let now = Time(Duration::from_secs(1000));
        let mut schedule = ConnectSchedule::default();
        for _ in 0..10 {
            schedule.begin(now);
            assert_eq!(schedule.unanswered(true), Next::Now);
            assert!(schedule.is_requested());
        }
        schedule.begin(now);
        assert_eq!(schedule.unanswered(false), Next::Enough);
        assert!(schedule.request(true));
    }

    #[test]
    fn the_backoff_of_further_connections_ends_with_the_last_connection() {
        let now = Time(Duration::from_secs(1000));
        let mut schedule = ConnectSchedule::default();
        for _ in 0..9 {
            let _ = schedule.failed(now, PACE, true);
        }
        assert!(!schedule.request(true));
        schedule.start_over();
        assert!(schedule.request(true));
    }

    #[test]
    fn an_abandoned_connect_may_be_repeated() {
        let now = Time(Duration::from_secs(1000));
        let mut schedule = ConnectSchedule::default();
        let _ = schedule.failed(now, PACE, false);
        schedule.begin(now);
        schedule.abandoned();
        assert!(schedule.idle() && !schedule.has_failed());
        assert!(schedule.request(true));
        schedule.abandoned();
        assert!(schedule.is_requested());
    }

    #[test]
    fn a_third_refusal_is_accepted_with_all_types_connected_and_a_failure_otherwise() {
        let now = Time(Duration::from_secs(1000));
        for (have, third) in
            [(Connected::Sufficiently, Next::Enough), (Connected::Not, Next::Failed(now + SECOND / 4))]
        {
            let mut schedule = ConnectSchedule::default();
            assert_eq!(schedule.refused(now, PACE, have), Next::At(now + SECOND / 4));
            assert_eq!(schedule.refused(now, PACE, have), Next::At(now + SECOND));
            assert_eq!(schedule.refused(now, PACE, have), third);
            assert!(!schedule.request(true), "{have:?}");
        }
    }

    #[test]
    fn surplus_connections_are_requested_again_after_the_last_connection_is_gone() {
        let now = Time(Duration::from_secs(1000));
        let mut schedule = ConnectSchedule::default();
        for _ in 0..3 {
            let _ = schedule.refused(now, PACE, Connected::Sufficiently);
        }
        assert!(!schedule.request(true));
        schedule.start_over();
        assert!(schedule.request(true));
    }
}
