//! Other paths to a peer of which one path has just turned out to be unresponsive.
//!
//! What has killed one path has often killed others, and where nothing is under way on those nobody can know. So each of
//! them is suspect from then on: it is pinged at once, and until something is heard on it, it comes after the paths on
//! which something was. Otherwise what leaves a dead path goes to the next dead one, and waits there anew.

use crate::core::Core;
use crate::memory::MdHandle;
use crate::select;
use crate::sync::{Mutex, lock};
use crate::time::Time;
use crate::topology::{Ni, PeerNi};
use lnet_wire::Nid;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a path is suspect if nothing is heard on it, and it does not turn out to be unresponsive.
const LONGEST: Duration = Duration::from_secs(5);
/// For so long a path that has answered its ping does not become suspect anew: where one path dies, others often die with
/// it, and are found one after the other.
const PROVEN: Duration = Duration::from_secs(1);
/// Paths that are suspect at once. More than these are used as before.
const MOST: usize = 64;

/// The paths of a node that are or lately were suspect by their ends, this node's first, and what has become of their
/// pings.
#[derive(Debug, Default)]
pub(crate) struct SuspectPaths {
    paths: Mutex<BTreeMap<(Nid, Nid), Ping>>,
}

#[derive(Clone, Copy, Debug)]
enum Ping {
    Due,
    Sent { ping: Option<MdHandle>, at: Time },
}

impl SuspectPaths {
    /// When the next is to be looked at.
    fn next(&self, now: Time) -> Option<Time> {
        let when = |ping: &Ping| match *ping {
            Ping::Due => now,
            Ping::Sent { at, .. } => at + LONGEST,
        };
        lock(&self.paths).values().map(when).min()
    }
}

impl Core {
    /// This path to a peer has turned out to be unresponsive: every other one that has not is suspect.
    pub(super) fn suspect_other_paths(&self, ni: &Ni, peer_ni: &PeerNi, now: Time) {
        let peer = peer_ni.peer_now();
        if !peer.is_multi_rail() {
            return;
        }
        let path = (ni.nid(), peer_ni.nid());
        let others = self.with_nets(|nets| {
            let is_other = |ni: &Ni, its: &PeerNi| (ni.nid(), its.nid()) != path && !select::is_bad(ni, its);
            let mut suspects = lock(&self.health.suspects.paths);
            let mut any = false;
            select::for_each_path(nets, &peer, |ni, its| {
                let other = (ni.nid(), its.nid());
                let is_proven =
                    |ping: &Ping| matches!(ping, Ping::Sent { at, .. } if now.since(*at) < PROVEN);
                if is_other(ni, its)
                    && (suspects.len() < MOST || suspects.contains_key(&other))
                    && !suspects.get(&other).is_some_and(is_proven)
                    && its.suspect_from(ni)
                {
                    suspects.insert(other, Ping::Due);
                    any = true;
                }
            });
            any
        });
        if others {
            self.health.alarm.ring();
        }
    }

    /// Pings paths that have become suspect, and forgets those that are so for too long. When the next are to be looked at.
    pub(super) fn try_suspects(&self, now: Time) -> Option<Time> {
        let paths: Vec<_> =
            lock(&self.health.suspects.paths).iter().map(|(path, ping)| (*path, *ping)).collect();
        for (path, ping) in paths {
            match ping {
                Ping::Due if self.may_work(path) => {
                    let ping = self.send_recovery_ping(path.0, path.1).ok();
                    lock(&self.health.suspects.paths).insert(path, Ping::Sent { ping, at: now });
                }
                Ping::Sent { at, .. } if now.since(at) < LONGEST && self.may_work(path) => {}
                _ => self.trust(path, ping),
            }
        }
        self.health.suspects.next(now)
    }

    /// Not if it turned out to be unresponsive, or if either end is gone.
    fn may_work(&self, (local, peer): (Nid, Nid)) -> bool {
        let ni = self.with_nets(|nets| nets.ni(local).cloned());
        ni.zip(self.peers.get(peer)).is_some_and(|(ni, peer_ni)| !select::is_bad(&ni, &peer_ni))
    }

    fn trust(&self, path @ (local, peer): (Nid, Nid), ping: Ping) {
        lock(&self.health.suspects.paths).remove(&path);
        let ni = self.with_nets(|nets| nets.ni(local).cloned());
        if let Some((ni, peer_ni)) = ni.zip(self.peers.get(peer)) {
            peer_ni.trust_from(&ni);
        }
        if let Ping::Sent { ping: Some(ping), .. } = ping {
            // It may have ended by itself.
            let _ = self.md_unlink(ping);
        }
    }
}
