//! Paths, each from an interface of this node's to one of a peer's, and which of them are unresponsive.
//!
//! The kernel blames one end or the other, takes the other paths of that end for worse than they are, and forgets it as
//! soon as that end has said anything to anybody. Here the path itself is remembered, the last one to a peer like any
//! other: it comes last in the selection, as long as there are others, until something has arrived over it; and it is
//! tried with pings until then, more and more seldom.

use crate::core::Core;
use crate::environment::time::Time;
use crate::health::Cause;
use crate::memory::MdHandle;
use crate::model::message::Message;
use crate::model::wait_before;
use crate::select;
use crate::sync::{Mutex, lock};
use crate::topology::{Ni, PeerNi};
use lnet_log::LogClass;
use lnet_wire::Nid;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The longest time between two pings of an unresponsive path to a peer that has another one, working or not. What has
/// come back is used again within this.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Paths that are pinged at once: more wait for the next turn.
const MOST_PINGS: usize = 64;
/// How long those wait.
const NEXT_TURN: Duration = Duration::from_millis(250);

/// A path on which nothing gets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnresponsivePath {
    /// This node's end.
    pub local: Nid,
    /// The peer's end.
    pub peer: Nid,
    /// When that was noticed.
    pub since: Time,
}

/// The unresponsive paths of a node, by their ends (this node's first), and when each is pinged.
#[derive(Debug, Default)]
pub(crate) struct UnresponsivePaths {
    count: AtomicUsize,
    paths: Mutex<BTreeMap<(Nid, Nid), Pinged>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pinged {
    pings: u32,
    next: Time,
    /// The last ping, as long as it is not known to have ended.
    ping: Option<MdHandle>,
}

impl UnresponsivePaths {
    /// Whether there is any.
    pub(crate) fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    fn add(&self, path: (Nid, Nid), next: Time) {
        let mut paths = lock(&self.paths);
        paths.entry(path).or_insert(Pinged { pings: 0, next, ping: None });
        self.count.store(paths.len(), Ordering::Relaxed);
    }

    fn remove(&self, path: (Nid, Nid)) {
        let mut paths = lock(&self.paths);
        paths.remove(&path);
        self.count.store(paths.len(), Ordering::Relaxed);
    }

    /// Has all of them tried now.
    fn hurry(&self, now: Time, of: impl Fn(Nid, Nid) -> bool) {
        for (_, pinged) in lock(&self.paths).iter_mut().filter(|((local, peer), _)| of(*local, *peer)) {
            pinged.next = now;
            pinged.pings = 0;
        }
    }

    /// Takes the turn of those that are due: their ends, with the ping that has not been answered. `longest` is the pause
    /// between the pings of a path.
    fn due(
        &self,
        now: Time,
        longest: impl Fn((Nid, Nid)) -> Duration,
    ) -> Vec<((Nid, Nid), Option<MdHandle>)> {
        let due = |(path, pinged): (&(Nid, Nid), &Pinged)| (pinged.next <= now).then_some(*path);
        let due: Vec<_> = lock(&self.paths).iter().filter_map(due).take(MOST_PINGS).collect();
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

    fn pinged(&self, path: (Nid, Nid), ping: MdHandle) {
        if let Some(pinged) = lock(&self.paths).get_mut(&path) {
            pinged.ping = Some(ping);
        }
    }

    /// When the next is due, not before `not_before`.
    fn next(&self, not_before: Time) -> Option<Time> {
        lock(&self.paths).values().map(|pinged| pinged.next.max(not_before)).min()
    }
}

impl Core {
    /// The paths to the peer of this NID on which nothing gets through, in the order of its NIDs. A peer whose paths are
    /// all among these cannot be reached. Nothing for a NID that is not known.
    pub fn unresponsive_paths(&self, peer: Nid) -> Vec<UnresponsivePath> {
        let Some(peer_ni) = self.topology.peer_ni(peer) else { return Vec::new() };
        let peer_nis =
            peer_ni.peer().nids.iter().filter_map(|nid| self.topology.peer_ni(*nid)).collect::<Vec<_>>();
        let of_one = |peer_ni: &std::sync::Arc<PeerNi>| {
            let peer = peer_ni.nid();
            let all = peer_ni.unresponsive().all().into_iter();
            all.map(move |(local, since)| UnresponsivePath { local, peer, since })
        };
        peer_nis.iter().flat_map(of_one).collect()
    }

    /// Nothing has been heard on this path for too long: that is remembered, and both ends are to blame, once; what waits
    /// for credits to go by it takes another. Whether all messages of the peer's could take another path.
    pub(crate) fn path_is_unresponsive(&self, ni: &Ni, peer_ni: &PeerNi) -> bool {
        let is_new = self.note_unresponsive(ni, peer_ni);
        if is_new && self.has_other_path(ni, peer_ni, true) {
            self.lower(ni, peer_ni, Cause::NetworkTimeout);
        }
        if is_new {
            self.move_waiting_for_peers(|message| {
                message.source.is_none()
                    && message.peer_ni.as_ref().is_some_and(|its| its.nid() == peer_ni.nid())
                    && message.ni.as_ref().is_some_and(|its| its.nid() == ni.nid())
            });
        }
        // Also where the others are known to be unresponsive: who waits for the last one waits for as long as its driver
        // tries, and one that was given up may have come back before that is known.
        self.topology.with_nets(|nets| select::may_try_other_path(nets, peer_ni, ni.nid()))
    }

    /// Notes that nothing gets through on this path, whether or not there is another. Whether that is news.
    pub(super) fn note_unresponsive(&self, ni: &Ni, peer_ni: &PeerNi) -> bool {
        let path @ (local, peer) = (ni.nid(), peer_ni.nid());
        if self.topology.is_own(peer) {
            return false;
        }
        let now = self.env.now();
        let is_new = peer_ni.unresponsive().add(local, now);
        if is_new {
            let consequence = match self.has_other_path(ni, peer_ni, true) {
                true => "using other paths",
                false => "there is no other path",
            };
            self.env.log(
                LogClass::PathUnresponsive,
                format_args!("{local} -> {peer}"),
                format_args!("path {local} -> {peer} unresponsive; {consequence}"),
            );
            self.health.paths.add(path, now + wait_before(0, LONGEST_PAUSE));
            self.suspect_other_paths(ni, peer_ni, now);
            self.reachability_may_change(peer);
        }
        is_new
    }

    /// Whether another path than this one may work, for a message to the reserved portal if `reserved`.
    pub(super) fn has_other_path(&self, ni: &Ni, peer_ni: &PeerNi, reserved: bool) -> bool {
        self.topology.with_nets(|nets| select::has_other_path(nets, peer_ni, ni, reserved))
    }

    /// Whether this message, which has a path, could take another that may work.
    pub(crate) fn may_change_path(&self, message: &Message) -> bool {
        let path = message.ni.as_ref().zip(message.peer_ni.as_ref());
        message.source.is_none()
            && path.is_some_and(|(ni, peer_ni)| self.has_other_path(ni, peer_ni, message.leaves_by_any()))
    }

    /// Something has arrived over a path that may be unresponsive.
    pub(crate) fn path_is_responsive(&self, local: Nid, peer_ni: &PeerNi) {
        if peer_ni.unresponsive().remove(local) {
            self.health.paths.remove((local, peer_ni.nid()));
            let peer = peer_ni.nid();
            self.env.log(
                LogClass::PathResponsive,
                format_args!("{local} -> {peer}"),
                format_args!("path {local} -> {peer} responsive again"),
            );
            self.hurry_later(&peer_ni.peer_now());
            self.reachability_may_change(peer_ni.nid());
        }
    }

    /// Has unresponsive paths from this interface tried at once: something has changed there.
    pub(crate) fn hurry_paths_from(&self, local: Nid) {
        self.health.paths.hurry(self.env.now(), |ni, _| ni == local);
        self.health.wakeup.notify();
    }

    /// Has unresponsive paths to this peer NI tried at once.
    pub(crate) fn hurry_paths_to(&self, peer: Nid) {
        self.health.paths.hurry(self.env.now(), |_, peer_ni| peer_ni == peer);
        self.health.wakeup.notify();
    }

    /// Pings the unresponsive paths whose turn it is; when the next are to be.
    pub(super) fn try_paths(&self, now: Time) -> Option<Time> {
        let due = self.health.paths.due(now, |path| match self.is_only_path(path) {
            true => Duration::from_secs(self.settings().max_recovery_ping_interval.into()),
            false => LONGEST_PAUSE,
        });
        for (path @ (local, peer), unanswered) in due {
            if let Some(md) = unanswered {
                // It may have ended by itself.
                let _ = self.md_unlink(md);
            }
            let ni = self.topology.ni(local);
            let peer_ni = self.topology.peer_ni(peer);
            match (ni, peer_ni) {
                (Some(ni), Some(peer_ni)) if peer_ni.unresponsive().has(local) => {
                    // Who was never heard by any of its NIDs, or has one path and was not heard for long, may not be there
                    // at all (HE-11).
                    let may_be_there = self.is_recoverable(&peer_ni)
                        || !self.is_only_path(path) && self.topology.was_heard(&peer_ni.peer_now());
                    if may_be_there
                        && !ni.is_fatal()
                        && let Ok(ping) = self.send_recovery_ping(local, peer)
                    {
                        self.health.paths.pinged(path, ping);
                    }
                }
                // The peer NI may be another, of the same NID.
                (_, peer_ni) => {
                    if let Some(peer_ni) = peer_ni {
                        peer_ni.unresponsive().remove(local);
                    }
                    self.health.paths.remove(path);
                }
            }
        }
        self.health.paths.next(now + NEXT_TURN)
    }

    /// Whether there is no other path to the peer, working or not.
    fn is_only_path(&self, (local, peer): (Nid, Nid)) -> bool {
        self.topology
            .peer_ni(peer)
            .is_none_or(|peer_ni| self.topology.with_nets(|nets| select::is_only_path(nets, &peer_ni, local)))
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
    fn an_unresponsive_path_is_tried_after_1_2_4_and_then_every_5_seconds_and_at_once_when_hurried() {
        let paths = UnresponsivePaths::default();
        let due = |now| paths.due(at(now), |_| LONGEST_PAUSE);
        assert!(!paths.any());
        paths.add((nid(1), nid(2)), at(1000));
        assert!(paths.any());
        let mut tried = Vec::new();
        for millis in (0..30_000).step_by(500) {
            tried.extend(due(millis).iter().map(|_| millis));
        }
        assert_eq!(tried, [1000, 3000, 7000, 12_000, 17_000, 22_000, 27_000]);
        assert_eq!(paths.next(at(0)), Some(at(32_000)));
        paths.hurry(at(30_000), |local, _| local == nid(9));
        assert_eq!(due(30_000), []);
        paths.hurry(at(30_000), |local, _| local == nid(1));
        assert_eq!(due(30_000), [((nid(1), nid(2)), None)]);
        paths.remove((nid(1), nid(2)));
        assert!(!paths.any() && paths.next(at(0)).is_none());
    }

    #[test]
    fn the_only_path_to_a_peer_is_tried_as_seldom_as_the_settings_say() {
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
