//! The paths of a node that are or recently were suspect, and the times of their pings.

use crate::environment::time::Time;
use crate::memory::MdHandle;
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time for which a path stays suspect if nothing is received on it, its driver does not report it as late again, and it
/// does not become unresponsive.
pub(super) const MAX_PING_INTERVAL: Duration = Duration::from_secs(5);
/// The time for which a path that has responded to its ping does not become suspect again: if one path fails others often
/// fail with it, and are detected one after the other.
pub(super) const PROVEN_FOR: Duration = Duration::from_secs(1);
/// The maximum number of suspect paths. Further paths are used as before.
const MAX_SUSPECT_PATHS: usize = 64;

/// The paths of a node that are or recently were suspect, by local and peer NID.
#[derive(Debug, Default)]
pub(super) struct SuspectPaths {
    /// Whether there are any: read for every message.
    any: AtomicBool,
    paths: Mutex<BTreeMap<(Nid, Nid), Pinged>>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pinged {
    /// The time at which the ping was sent, or the path was last reported as late; `None`: the ping is due.
    pub(super) at: Option<Time>,
    /// The MD of the last ping, until it has ended.
    pub(super) ping: Option<MdHandle>,
}

impl SuspectPaths {
    /// Adds a path, unless it has just answered or too many are suspect. `becomes_suspect` marks the path, and
    /// returns whether the mark is new. Returns whether the path is to be pinged.
    pub(super) fn add(&self, path: (Nid, Nid), now: Time, becomes_suspect: impl FnOnce() -> bool) -> bool {
        let mut paths = lock(&self.paths);
        let known = paths.get(&path);
        let is_proven = known.and_then(|pinged| pinged.at).is_some_and(|at| now.since(at) < PROVEN_FOR);
        if is_proven || known.is_none() && paths.len() >= MAX_SUSPECT_PATHS || !becomes_suspect() {
            return false;
        }
        // A previous ping may still be in flight: it is ended when the next one is sent.
        paths.entry(path).or_default().at = None;
        self.any.store(true, Ordering::Relaxed);
        true
    }

    /// Adds a path that its driver reports as late, unless too many are suspect; the messages in flight on it serve as a
    /// ping. Returns whether the path is in the table.
    pub(super) fn add_late(&self, path: (Nid, Nid), now: Time) -> bool {
        let mut paths = lock(&self.paths);
        if !paths.contains_key(&path) && paths.len() >= MAX_SUSPECT_PATHS {
            return false;
        }
        paths.entry(path).or_default().at = Some(now);
        self.any.store(true, Ordering::Relaxed);
        true
    }

    /// Whether any path is or recently was suspect.
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    pub(super) fn all(&self) -> Vec<((Nid, Nid), Pinged)> {
        lock(&self.paths).iter().map(|(path, pinged)| (*path, *pinged)).collect()
    }

    /// Records that the ping has been sent.
    pub(super) fn ping_left(&self, path: (Nid, Nid), ping: MdHandle) {
        if let Some(pinged) = lock(&self.paths).get_mut(&path) {
            pinged.ping = Some(ping);
        }
    }

    pub(super) fn pinged(&self, path: (Nid, Nid), pinged: Pinged) {
        lock(&self.paths).insert(path, pinged);
    }

    pub(super) fn remove(&self, path: (Nid, Nid)) {
        let mut paths = lock(&self.paths);
        paths.remove(&path);
        self.any.store(!paths.is_empty(), Ordering::Relaxed);
    }

    /// The time at which the next path needs an action.
    pub(super) fn next(&self, now: Time) -> Option<Time> {
        let due = |at: Time| if now < at + PROVEN_FOR { at + PROVEN_FOR } else { at + MAX_PING_INTERVAL };
        lock(&self.paths).values().map(|pinged| pinged.at.map_or(now, due)).min()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn path(n: u8) -> (Nid, Nid) {
        let nid = |host: u8| format!("10.0.0.{host}@tcp").parse().unwrap();
        (nid(1), nid(n))
    }

    fn at(millis: u64) -> Time {
        Time(Duration::from_millis(millis))
    }

    #[test]
    fn a_path_pinged_recently_is_not_pinged_again_and_its_last_ping_is_remembered() {
        let suspects = SuspectPaths::default();
        assert!(!suspects.add(path(2), at(0), || false), "it was suspect already");
        assert!(suspects.add(path(2), at(0), || true));
        assert_eq!(suspects.next(at(7)), Some(at(7)));
        let ping = Some(MdHandle::from_cookie(1));
        suspects.pinged(path(2), Pinged { at: Some(at(10)), ping });
        assert_eq!(suspects.next(at(11)), Some(at(10) + PROVEN_FOR), "whether it has answered by then");
        assert_eq!(suspects.next(at(2000)), Some(at(10) + MAX_PING_INTERVAL));
        assert!(!suspects.add(path(2), at(900), || true));
        assert!(suspects.add(path(2), at(1100), || true));
        let all = suspects.all();
        assert_eq!((all[0].1.at, all[0].1.ping), (None, ping));
        assert!(suspects.any());
        suspects.remove(path(2));
        assert_eq!((suspects.next(at(2000)), suspects.any()), (None, false));
    }

    #[test]
    fn a_late_path_is_not_pinged_and_stays_as_long_as_it_is_reported() {
        let suspects = SuspectPaths::default();
        for millis in [0, 100, 200] {
            assert!(suspects.add_late(path(2), at(millis)));
            assert_eq!(suspects.all()[0].1.at, Some(at(millis)));
        }
        assert!(suspects.any());
        assert_eq!(suspects.next(at(300)), Some(at(200) + PROVEN_FOR));
    }

    #[test]
    fn only_so_many_paths_are_suspect_at_once() {
        let suspects = SuspectPaths::default();
        let added = (0..=255).filter(|n| suspects.add(path(*n), at(0), || true)).count();
        assert_eq!(added, MAX_SUSPECT_PATHS);
        assert!(suspects.add(path(0), at(0), || true), "it is there already");
    }
}
