//! The unresponsive paths of a node, and when each is pinged.

use crate::environment::time::Time;
use crate::memory::MdHandle;
use crate::model::wait_before;
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The longest interval between two pings of an unresponsive path to a peer that has another path, in whatever state.
/// A recovered path is used again within this time.
pub(super) const MAX_PAUSE: Duration = Duration::from_secs(5);
/// The maximum number of pings in flight; further paths wait.
const MAX_PINGS: usize = 64;
/// The time after which the paths beyond [`MAX_PINGS`] are tried again.
pub(super) const NEXT_TURN: Duration = Duration::from_millis(250);

/// An unresponsive path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnresponsivePath {
    /// The local NID.
    pub local: Nid,
    /// The peer NID.
    pub peer: Nid,
    /// The time at which it was detected.
    pub since: Time,
}

/// The unresponsive paths of a node, by local and peer NID, and the times of their pings.
#[derive(Debug, Default)]
pub(super) struct UnresponsivePaths {
    count: AtomicUsize,
    paths: Mutex<BTreeMap<(Nid, Nid), Pinged>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pinged {
    pings: u32,
    next: Time,
    /// The MD of the last ping, until it has ended.
    ping: Option<MdHandle>,
}

impl UnresponsivePaths {
    /// Whether there are any.
    pub(super) fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// The peer NIDs of the unresponsive paths from this local NID.
    pub(super) fn from(&self, local: Nid) -> Vec<Nid> {
        lock(&self.paths).keys().filter(|(own, _)| *own == local).map(|(_, peer)| *peer).collect()
    }

    pub(super) fn add(&self, path: (Nid, Nid), next: Time) {
        let mut paths = lock(&self.paths);
        paths.entry(path).or_insert(Pinged { pings: 0, next, ping: None });
        self.count.store(paths.len(), Ordering::Relaxed);
    }

    pub(super) fn remove(&self, path: (Nid, Nid)) {
        let mut paths = lock(&self.paths);
        paths.remove(&path);
        self.count.store(paths.len(), Ordering::Relaxed);
    }

    /// Makes the pings of these paths due now.
    pub(super) fn expedite(&self, now: Time, of: impl Fn(Nid, Nid) -> bool) {
        for (_, pinged) in lock(&self.paths).iter_mut().filter(|((local, peer), _)| of(*local, *peer)) {
            pinged.next = now;
            pinged.pings = 0;
        }
    }

    /// Takes the paths whose pings are due, each with its last ping if that has no response. `longest` limits the interval
    /// between the pings of a path.
    pub(super) fn due(
        &self,
        now: Time,
        longest: impl Fn((Nid, Nid)) -> Duration,
    ) -> Vec<((Nid, Nid), Option<MdHandle>)> {
        let due = |(path, pinged): (&(Nid, Nid), &Pinged)| (pinged.next <= now).then_some(*path);
        let due: Vec<_> = lock(&self.paths).iter().filter_map(due).take(MAX_PINGS).collect();
        let pauses: Vec<_> = due.into_iter().map(|path| (path, longest(path))).collect();
        let mut paths = lock(&self.paths);
        let taken = pauses.into_iter().filter_map(|(path, longest)| {
            let pinged = paths.get_mut(&path)?;
            pinged.pings += 1;
            pinged.next = now + wait_before(pinged.pings, longest);
            Some((path, pinged.ping.take()))
        });
        taken.collect()
    }

    pub(super) fn pinged(&self, path: (Nid, Nid), ping: MdHandle) {
        if let Some(pinged) = lock(&self.paths).get_mut(&path) {
            pinged.ping = Some(ping);
        }
    }

    /// The time of the next ping, not before `not_before`.
    pub(super) fn next(&self, not_before: Time) -> Option<Time> {
        lock(&self.paths).values().map(|pinged| pinged.next.max(not_before)).min()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn nid(n: u8) -> Nid {
        format!("10.0.0.{n}@tcp").parse().unwrap()
    }

    fn at(millis: u64) -> Time {
        Time(Duration::from_millis(millis))
    }

    #[test]
    fn an_unresponsive_path_is_pinged_after_1_2_4_and_then_every_5_seconds_and_at_once_on_request() {
        let paths = UnresponsivePaths::default();
        let due = |now| paths.due(at(now), |_| MAX_PAUSE);
        assert!(!paths.any());
        paths.add((nid(1), nid(2)), at(1000));
        assert!(paths.any());
        let mut tried = Vec::new();
        for millis in (0..30_000).step_by(500) {
            tried.extend(due(millis).iter().map(|_| millis));
        }
        assert_eq!(tried, [1000, 3000, 7000, 12_000, 17_000, 22_000, 27_000]);
        assert_eq!(paths.next(at(0)), Some(at(32_000)));
        paths.expedite(at(30_000), |local, _| local == nid(9));
        assert_eq!(due(30_000), []);
        paths.expedite(at(30_000), |local, _| local == nid(1));
        assert_eq!(due(30_000), [((nid(1), nid(2)), None)]);
        paths.remove((nid(1), nid(2)));
        assert!(!paths.any() && paths.next(at(0)).is_none());
    }

    #[test]
    fn the_only_path_to_a_peer_is_pinged_at_the_configured_interval() {
        let paths = UnresponsivePaths::default();
        paths.add((nid(1), nid(2)), at(1000));
        let mut tried = Vec::new();
        for seconds in 0..100 {
            let due = paths.due(at(seconds * 1000), |_| Duration::from_secs(900));
            tried.extend(due.iter().map(|_| seconds));
        }
        assert_eq!(tried, [1, 3, 7, 15, 31, 63]);
    }
}
