//! When to connect to a peer, and for which type of connection (wire-tcp 2.11, 3.9).

use crate::proto::ConnectionType;
use lnet_core::Time;
use std::time::Duration;

/// After so many refusals in a row this node stops believing in "try later" (as 2.17 does).
const MAX_REFUSALS: u32 = 3;

/// Open connections by type, connected and accepted alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConnCounts {
    pub(crate) any: usize,
    pub(crate) control: usize,
    pub(crate) bulk_in: usize,
    pub(crate) bulk_out: usize,
}

impl ConnCounts {
    pub(crate) fn of(kinds: impl IntoIterator<Item = ConnectionType>) -> Self {
        let mut counts = Self::default();
        for kind in kinds {
            *match kind {
                ConnectionType::Any => &mut counts.any,
                ConnectionType::Control => &mut counts.control,
                ConnectionType::BulkIn => &mut counts.bulk_in,
                ConnectionType::BulkOut => &mut counts.bulk_out,
            } += 1;
        }
        counts
    }

    /// Whether every type is there at least once.
    const fn all_types(self) -> bool {
        self.control > 0 && self.bulk_in > 0 && self.bulk_out > 0
    }

    const fn total(self) -> usize {
        self.any + self.control + self.bulk_in + self.bulk_out
    }
}

/// The type to ask for next, until the set is complete: control, then bulk-in and bulk-out alternately up
/// to `per_peer` of each; or `per_peer` untyped ones.
pub(crate) const fn next_type(have: ConnCounts, typed: bool, per_peer: usize) -> Option<ConnectionType> {
    if !typed {
        return if have.any < per_peer { Some(ConnectionType::Any) } else { None };
    }
    if have.control == 0 {
        Some(ConnectionType::Control)
    } else if have.bulk_in <= have.bulk_out && have.bulk_in < per_peer {
        Some(ConnectionType::BulkIn)
    } else if have.bulk_out < per_peer {
        Some(ConnectionType::BulkOut)
    } else {
        None
    }
}

/// How long to wait between connects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// After a first failure, and between connects to a peer to which something is to be sent.
    pub(crate) min: Duration,
    /// The longest wait.
    pub(crate) max: Duration,
    /// A random number: waits are shorter by up to a quarter, so that many nodes do not connect at the same moment.
    pub(crate) random: u32,
}

impl Pace {
    fn spread(self, wait: Duration) -> Duration {
        wait - wait.mul_f64(f64::from(self.random) / f64::from(u32::MAX) / 4.0)
    }

    /// A first failure may be over soon.
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
pub(crate) struct ConnectSchedule {
    phase: Phase,
    /// Connects in a row that failed.
    failures: u32,
    refusals: u32,
    /// The peer refused surplus connections: no more are asked for while those that exist last.
    satisfied: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    /// The connecting thread has been asked to connect.
    Requested,
    /// A connect is under way since then.
    Connecting(Time),
    /// No connect before that time.
    NotBefore(Time),
}

/// What follows from a connect that brought no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Connect again at once.
    Now,
    /// Connect again then.
    At(Time),
    /// Leave it at the connections there are.
    Enough,
    /// The connect has failed; if there is no connection, what waits for one fails with it. Connect again then.
    Failed(Time),
}

impl ConnectSchedule {
    /// Whether the connecting thread should be asked to connect now; notes that it was.
    pub(crate) fn request(&mut self, wanted: Option<ConnectionType>) -> bool {
        if self.phase != Phase::Idle || wanted.is_none() || self.satisfied {
            return false;
        }
        self.phase = Phase::Requested;
        true
    }

    /// Whether the connecting thread has been asked to connect and has not begun.
    pub(crate) fn is_requested(&self) -> bool {
        self.phase == Phase::Requested
    }

    /// For how long a connect has been under way, if one is.
    pub(crate) fn connecting(&self, now: Time) -> Option<Duration> {
        match self.phase {
            Phase::Connecting(since) => Some(now.since(since)),
            _ => None,
        }
    }

    /// Whether a message that needs a connection is to fail at once: connects have failed twice or more, and the
    /// next is not due. After a first failure it waits for the next connect instead, because that is soon and may well
    /// succeed.
    pub(crate) fn is_backing_off(&self, now: Time) -> bool {
        matches!(self.phase, Phase::NotBefore(at) if at > now) && self.failures > 1
    }

    /// Whether the last connect failed: that must be remembered for the length of the next wait.
    pub(crate) fn has_failed(&self) -> bool {
        self.failures > 0
    }

    /// Whether nothing is under way and nothing is planned.
    pub(crate) fn idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// A connect begins.
    pub(crate) fn begin(&mut self, now: Time) {
        self.phase = Phase::Connecting(now);
    }

    /// There is nothing to connect for after all.
    pub(crate) fn cancel(&mut self) {
        *self = Self { satisfied: self.satisfied, ..Self::default() };
    }

    /// The connect brought a connection.
    pub(crate) fn succeeded(&mut self) {
        self.cancel();
    }

    /// The connect was given up for a reason that tells nothing about the peer.
    pub(crate) fn abandoned(&mut self) {
        if matches!(self.phase, Phase::Connecting(_)) {
            self.cancel();
        }
    }

    /// All connections are gone: what the peer refused before, it may accept now, and what was wrong with further
    /// connections is no reason to wait with the first.
    pub(crate) fn start_over(&mut self) {
        self.satisfied = false;
        if matches!(self.phase, Phase::NotBefore(_)) {
            self.cancel();
        }
    }

    /// The connect failed: the next is due after a wait, a short one the first time. If the peer is `connected` all the same it
    /// doubles each time.
    pub(crate) fn failed(&mut self, now: Time, pace: Pace, connected: bool) -> Next {
        self.failures = self.failures.saturating_add(1);
        self.refusals = 0;
        let wait = match (connected, self.failures) {
            (true, failures) => pace.doubled(failures),
            (false, 1) => pace.soon(),
            (false, _) => pace.min,
        };
        let at = now + pace.spread(wait);
        self.phase = Phase::NotBefore(at);
        Next::Failed(at)
    }

    /// The peer's system did not answer the connect in time. That has taken long enough: the next, with a socket whose
    /// retries are frequent again, follows at once if something waits for it (`wanted`).
    pub(crate) fn unanswered(&mut self, wanted: bool) -> Next {
        if wanted {
            self.phase = Phase::Requested;
            return Next::Now;
        }
        self.cancel();
        Next::Enough
    }

    /// The peer answered "none" in the version that it was asked in: a race, or one connection too many.
    pub(crate) fn refused(&mut self, now: Time, pace: Pace, have: ConnCounts) -> Next {
        self.refusals += 1;
        if self.refusals < MAX_REFUSALS {
            // The first may have told the peer that it had taken dead connections for living ones.
            let wait = if self.refusals == 1 { pace.soon() } else { pace.min };
            let at = now + pace.spread(wait);
            self.phase = Phase::NotBefore(at);
            return Next::At(at);
        }
        if have.all_types() || (have.any > 0 && have.any == have.total()) {
            *self = Self { satisfied: true, ..Self::default() };
            return Next::Enough;
        }
        self.failed(now, pace, have.total() > 0)
    }

    /// This node must connect again at once: the peer proposed another version, or has been restarted. Too
    /// often in a row is a failure.
    pub(crate) fn again(&mut self, now: Time, pace: Pace) -> Next {
        self.refusals += 1;
        if self.refusals >= MAX_REFUSALS {
            return self.failed(now, pace, false);
        }
        self.phase = Phase::Requested;
        Next::Now
    }

    /// The wait is over: whether to connect. Notes that the connecting thread is about to.
    pub(crate) fn due(&mut self, now: Time) -> bool {
        match self.phase {
            Phase::NotBefore(at) if at <= now => {
                self.phase = Phase::Requested;
                true
            }
            _ => false,
        }
    }

    /// The connect waits for an inbound handshake to finish.
    pub(crate) fn postpone(&mut self, until: Time) {
        self.phase = Phase::NotBefore(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::ConnectionType::{Any, BulkIn, BulkOut, Control};

    const SECOND: Duration = Duration::from_secs(1);
    const PACE: Pace = Pace { min: SECOND, max: Duration::from_secs(60), random: 0 };
    const NO: Option<ConnectionType> = None;

    #[test]
    fn the_set_is_dialled_in_the_captured_order() {
        for (typed, per_peer, want) in [
            (true, 1, vec![Control, BulkIn, BulkOut]),
            (true, 2, vec![Control, BulkIn, BulkOut, BulkIn, BulkOut]),
            (false, 2, vec![Any, Any]),
        ] {
            let mut have = Vec::new();
            while let Some(kind) = next_type(ConnCounts::of(have.iter().copied()), typed, per_peer) {
                have.push(kind);
            }
            assert_eq!(have, want);
        }
    }

    #[test]
    fn what_the_peer_opened_counts() {
        for (have, want) in [
            (vec![BulkIn], Some(Control)),
            (vec![Control, BulkOut], Some(BulkIn)),
            (vec![Control, BulkIn], Some(BulkOut)),
            (vec![Control, Control, BulkIn, BulkOut], NO),
            (vec![Control, BulkIn, BulkIn], Some(BulkOut)),
        ] {
            assert_eq!(next_type(ConnCounts::of(have.clone()), true, 1), want, "{have:?}");
        }
    }

    #[test]
    fn while_nothing_is_connected_calls_are_as_close_as_may_be_and_for_a_larger_set_ever_rarer() {
        let now = Time(Duration::from_secs(1000));
        let larger_set = [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000];
        let nothing_yet = [250, 1000, 1000, 1000, 1000, 1000, 1000, 1000];
        for (connected, want) in [(true, larger_set), (false, nothing_yet)] {
            let mut dialling = ConnectSchedule::default();
            let waits = want.map(|_| match dialling.failed(now, PACE, connected) {
                Next::Failed(at) => at.since(now).as_millis(),
                _ => 0,
            });
            assert_eq!(waits, want);
            dialling.succeeded();
            let first = now + Duration::from_millis(want[0] as u64);
            assert_eq!(dialling.failed(now, PACE, connected), Next::Failed(first));
        }
    }

    #[test]
    fn waits_are_spread_and_never_longer() {
        let now = Time(Duration::from_secs(1000));
        for (random, wait) in [(0, 1000), (u32::MAX / 2 + 1, 875), (u32::MAX, 750)] {
            let pace = Pace { random, ..PACE };
            let next = ConnectSchedule::default().failed(now, pace, true);
            assert_eq!(next, Next::Failed(now + Duration::from_millis(wait)), "{random}");
        }
    }

    #[test]
    fn messages_wait_for_a_second_call_and_not_for_a_third() {
        let now = Time(Duration::from_secs(1000));
        let mut dialling = ConnectSchedule::default();
        assert!(!dialling.is_backing_off(now));
        let _ = dialling.failed(now, PACE, false);
        assert!(!dialling.is_backing_off(now));
        let _ = dialling.failed(now, PACE, false);
        assert!(dialling.is_backing_off(now));
        assert!(!dialling.is_backing_off(now + SECOND));
        dialling.start_over();
        assert!(!dialling.is_backing_off(now));
    }

    #[test]
    fn one_call_at_a_time_is_asked_for_and_none_before_its_time() {
        let now = Time(Duration::from_secs(1000));
        let mut dialling = ConnectSchedule::default();
        assert!(!dialling.request(NO));
        assert!(dialling.request(Some(Control)));
        assert!(!dialling.request(Some(Control)));
        dialling.begin(now);
        assert_eq!(dialling.connecting(now + SECOND), Some(SECOND));
        assert!(!dialling.request(Some(Control)));
        let _ = dialling.failed(now, PACE, false);
        assert_eq!(dialling.connecting(now), None);
        assert!(!dialling.request(Some(Control)));
        assert!(!dialling.due(now));
        assert!(dialling.due(now + SECOND));
        assert!(!dialling.due(now + SECOND));
    }

    #[test]
    fn a_call_that_nobody_answers_is_followed_by_another_at_once_while_something_waits() {
        let now = Time(Duration::from_secs(1000));
        let mut dialling = ConnectSchedule::default();
        for _ in 0..10 {
            dialling.begin(now);
            assert_eq!(dialling.unanswered(true), Next::Now);
            assert!(dialling.is_requested());
        }
        dialling.begin(now);
        assert_eq!(dialling.unanswered(false), Next::Enough);
        assert!(dialling.request(Some(Control)));
    }

    #[test]
    fn once_all_connections_are_gone_the_wait_for_further_ones_is_no_reason_to_wait() {
        let now = Time(Duration::from_secs(1000));
        let mut dialling = ConnectSchedule::default();
        for _ in 0..9 {
            let _ = dialling.failed(now, PACE, true);
        }
        assert!(!dialling.request(Some(BulkIn)));
        dialling.start_over();
        assert!(dialling.request(Some(Control)));
    }

    #[test]
    fn a_call_that_is_abandoned_may_be_made_anew() {
        let now = Time(Duration::from_secs(1000));
        let mut dialling = ConnectSchedule::default();
        let _ = dialling.failed(now, PACE, false);
        dialling.begin(now);
        dialling.abandoned();
        assert!(dialling.idle() && !dialling.has_failed());
        assert!(dialling.request(Some(Control)));
        dialling.abandoned();
        assert!(dialling.is_requested());
    }

    #[test]
    fn a_third_refusal_is_enough_if_all_types_are_there_and_a_failure_otherwise() {
        let now = Time(Duration::from_secs(1000));
        let full = ConnCounts { control: 1, bulk_in: 1, bulk_out: 1, ..ConnCounts::default() };
        for (have, third) in [(full, Next::Enough), (ConnCounts::default(), Next::Failed(now + SECOND / 4))] {
            let mut dialling = ConnectSchedule::default();
            assert_eq!(dialling.refused(now, PACE, have), Next::At(now + SECOND / 4));
            assert_eq!(dialling.refused(now, PACE, have), Next::At(now + SECOND));
            assert_eq!(dialling.refused(now, PACE, have), third);
            assert!(!dialling.request(Some(BulkIn)), "{have:?}");
        }
    }

    #[test]
    fn a_peer_that_had_enough_is_asked_again_once_its_connections_are_gone() {
        let now = Time(Duration::from_secs(1000));
        let full = ConnCounts { control: 1, bulk_in: 1, bulk_out: 1, ..ConnCounts::default() };
        let mut dialling = ConnectSchedule::default();
        for _ in 0..3 {
            let _ = dialling.refused(now, PACE, full);
        }
        assert!(!dialling.request(Some(Control)));
        dialling.start_over();
        assert!(dialling.request(Some(Control)));
    }
}
