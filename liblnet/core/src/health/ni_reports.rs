//! Local NIs that are reported to peers as down because of their health.
//!
//! An NI is reported as down if its health was 0 and is not restored soon after, and as up when its health has not been 0 for a
//! while. It need not be healthy for that, as in the kernel: peers do not use an NI that is down, so that little
//! would restore its health.

use crate::environment::time::Time;
use crate::sync::{Mutex, lock};
use lnet_settings::MAX_HEALTH;
use lnet_wire::Nid;
use std::collections::BTreeMap;
use std::time::Duration;

/// The time for restoring the health of an NI before it is reported as down.
const RESTORED_WITHIN: Duration = Duration::from_secs(2);
/// The time without a health of 0 after which an NI is reported as up.
const UP_AFTER: Duration = Duration::from_secs(10);

/// The NIs whose report is to be checked, each with the time of that.
#[derive(Debug, Default)]
pub(super) struct NiReports(Mutex<BTreeMap<Nid, Time>>);

/// The outcome of the check of an NI's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The report stays as it is.
    Unchanged,
    /// The NI is reported as down from now on, and checked again.
    Down,
    /// The NI stays reported as down, and is checked again.
    StaysDown,
    /// The NI is reported as up from now on.
    Up,
}

/// The report of an NI with this health, which is reported as down or not.
pub(super) const fn report(is_down: bool, health: u32) -> Report {
    match (is_down, health) {
        (false, MAX_HEALTH..) => Report::Unchanged,
        (false, _) => Report::Down,
        (true, 0) => Report::StaysDown,
        (true, _) => Report::Up,
    }
}

impl NiReports {
    /// Records that the health of an NI has become 0, or stays so; `is_down`: it is reported as down.
    pub(super) fn has_no_health(&self, nid: Nid, is_down: bool, now: Time) {
        match is_down {
            true => self.check_later(nid, now),
            false => {
                lock(&self.0).entry(nid).or_insert(now + RESTORED_WITHIN);
            }
        }
    }

    /// Plans the check of an NI that is reported as down.
    pub(super) fn check_later(&self, nid: Nid, now: Time) {
        lock(&self.0).insert(nid, now + UP_AFTER);
    }

    /// Takes the NIs whose check is due.
    pub(super) fn take_due(&self, now: Time) -> Vec<Nid> {
        lock(&self.0).extract_if(.., |_, at| *at <= now).map(|(nid, _)| nid).collect()
    }

    /// The time of the next check.
    pub(super) fn next(&self) -> Option<Time> {
        lock(&self.0).values().min().copied()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_ni_whose_health_is_not_restored_is_reported_as_down_until_it_is_not_0() {
        let table = [
            (false, MAX_HEALTH, Report::Unchanged),
            (false, MAX_HEALTH - 1, Report::Down),
            (false, 0, Report::Down),
            (true, 0, Report::StaysDown),
            (true, 1, Report::Up),
            (true, MAX_HEALTH, Report::Up),
        ];
        for (is_down, health, expected) in table {
            assert_eq!(report(is_down, health), expected, "{is_down} {health}");
        }
    }

    #[test]
    fn the_first_failure_counts_for_down_and_the_last_for_up() {
        let nid: Nid = "10.0.0.1@tcp".parse().unwrap();
        let at = |seconds| Time(Duration::from_secs(seconds));
        let reports = NiReports::default();
        reports.has_no_health(nid, false, at(0));
        reports.has_no_health(nid, false, at(1));
        assert_eq!((reports.take_due(at(1)), reports.next()), (vec![], Some(at(2))));
        assert_eq!((reports.take_due(at(2)), reports.next()), (vec![nid], None));
        reports.check_later(nid, at(2));
        reports.has_no_health(nid, true, at(9));
        assert_eq!((reports.take_due(at(18)), reports.next()), (vec![], Some(at(19))));
        assert_eq!(reports.take_due(at(19)), [nid]);
    }
}
