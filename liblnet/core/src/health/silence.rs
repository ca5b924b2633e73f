//! Pairs of interfaces, one of this node's and one of a peer's, between which nothing gets through.
//!
//! The kernel blames one end or the other, takes the other pairs of that end for worse than they are, and forgets it as
//! soon as that end has said anything to anybody. Here the pair is remembered: it comes last in the selection, as long as
//! there are others, until something has arrived over it; and it is tried with pings until then, more and more seldom.

use crate::complaints::Reason;
use crate::core::Core;
use crate::health::Cause;
use crate::health::recovery::wait_before;
use crate::memory::MdHandle;
use crate::select;
use crate::sync::{Mutex, lock};
use crate::time::Time;
use crate::topology::{Ni, PeerNi};
use lnet_wire::Nid;
use log::Level;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// The longest time between two pings of a silent pair. What has come back is used again within this.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Pairs that are pinged at once: more wait for the next turn.
const MOST_PINGS: usize = 64;
/// How long those wait.
const NEXT_TURN: Duration = Duration::from_millis(250);

/// The silent pairs of a node.
#[derive(Debug, Default)]
pub(crate) struct Silences {
    count: AtomicUsize,
    pairs: Mutex<Vec<Pair>>,
}

#[derive(Debug)]
struct Pair {
    own: Nid,
    its: Nid,
    pings: u32,
    next: Time,
    /// The last ping, as long as it is not known to have ended.
    ping: Option<MdHandle>,
}

/// From which of this node's NIDs a peer NI has not answered; asked on the way of every message while the node has a
/// silent pair anywhere.
#[derive(Debug, Default)]
pub(crate) struct SilentTowards {
    any: AtomicBool,
    nids: Mutex<Vec<Nid>>,
}

impl SilentTowards {
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    pub(crate) fn has(&self, own: Nid) -> bool {
        self.any() && lock(&self.nids).contains(&own)
    }

    pub(crate) fn all(&self) -> Vec<Nid> {
        lock(&self.nids).clone()
    }

    /// Whether it is new.
    fn add(&self, own: Nid) -> bool {
        let mut nids = lock(&self.nids);
        let new = !nids.contains(&own);
        if new {
            nids.push(own);
            self.any.store(true, Ordering::Relaxed);
        }
        new
    }

    /// Whether it was there.
    fn remove(&self, own: Nid) -> bool {
        let mut nids = lock(&self.nids);
        let before = nids.len();
        nids.retain(|nid| *nid != own);
        self.any.store(!nids.is_empty(), Ordering::Relaxed);
        nids.len() < before
    }
}

impl Silences {
    /// Whether there is any.
    pub(crate) fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    fn add(&self, own: Nid, its: Nid, next: Time) {
        let mut pairs = lock(&self.pairs);
        pairs.push(Pair { own, its, pings: 0, next, ping: None });
        self.count.store(pairs.len(), Ordering::Relaxed);
    }

    fn remove(&self, own: Nid, its: Nid) {
        let mut pairs = lock(&self.pairs);
        pairs.retain(|pair| (pair.own, pair.its) != (own, its));
        self.count.store(pairs.len(), Ordering::Relaxed);
    }

    /// Has all of them tried now.
    fn hurry(&self, now: Time, of: impl Fn(Nid, Nid) -> bool) {
        for pair in lock(&self.pairs).iter_mut().filter(|pair| of(pair.own, pair.its)) {
            pair.next = now;
            pair.pings = 0;
        }
    }

    /// Takes the turn of those that are due: their NIDs, with the ping that has not been answered.
    fn due(&self, now: Time) -> Vec<(Nid, Nid, Option<MdHandle>)> {
        let mut pairs = lock(&self.pairs);
        let due = pairs.iter_mut().filter(|pair| pair.next <= now).take(MOST_PINGS);
        due.map(|pair| {
            pair.pings += 1;
            pair.next = now + wait_before(pair.pings, LONGEST_PAUSE);
            (pair.own, pair.its, pair.ping.take())
        })
        .collect()
    }

    fn pinged(&self, own: Nid, its: Nid, ping: MdHandle) {
        if let Some(pair) = lock(&self.pairs).iter_mut().find(|pair| (pair.own, pair.its) == (own, its)) {
            pair.ping = Some(ping);
        }
    }

    /// When the next is due, not before `not_before`.
    fn next(&self, not_before: Time) -> Option<Time> {
        lock(&self.pairs).iter().map(|pair| pair.next.max(not_before)).min()
    }
}

impl Core {
    /// Nothing has been heard between these two for too long: both ends are to blame, once; whether messages could go by
    /// another pair.
    pub(crate) fn fell_silent(&self, ni: &Ni, peer_ni: &PeerNi) -> bool {
        let is_known = peer_ni.silent().has(ni.nid());
        let is_silent = self.is_silent(ni, peer_ni);
        if is_silent && !is_known {
            self.lower(ni, peer_ni, Cause::NetworkTimeout);
        }
        is_silent
    }

    /// Notes that nothing gets through between these two, if something could by another pair; whether that is so.
    pub(crate) fn is_silent(&self, ni: &Ni, peer_ni: &PeerNi) -> bool {
        let peer = peer_ni.peer();
        let pair = (ni.nid(), peer_ni.nid());
        let is_own = self.is_own(peer_ni.nid());
        if is_own || !self.with_nets(|nets| select::has_other_way(nets, &peer, pair)) {
            return false;
        }
        if peer_ni.silent().add(ni.nid()) {
            let (own, its) = pair;
            let line = format_args!("nothing gets through from {own} to {its}: other pairs are used");
            self.complain(Reason::Silence, Level::Error, line);
            self.health.silences.add(own, its, self.config.clock.now() + wait_before(0, LONGEST_PAUSE));
            self.health.alarm.ring();
        }
        true
    }

    /// Something has arrived from a peer NI that may have been silent.
    pub(super) fn is_heard(&self, own: Nid, peer_ni: &PeerNi) {
        if peer_ni.silent().remove(own) {
            self.health.silences.remove(own, peer_ni.nid());
            let line = format_args!("{} is heard again at {own}", peer_ni.nid());
            self.complain(Reason::Silence, Level::Warn, line);
        }
    }

    /// Has silent pairs with this interface tried at once: something has changed there.
    pub(crate) fn hurry_silent(&self, own: Nid) {
        self.health.silences.hurry(self.config.clock.now(), |ni, _| ni == own);
        self.health.alarm.ring();
    }

    /// Has silent pairs with this peer NI tried at once.
    pub(crate) fn hurry_silent_peer(&self, its: Nid) {
        self.health.silences.hurry(self.config.clock.now(), |_, peer_ni| peer_ni == its);
        self.health.alarm.ring();
    }

    /// Pings the silent pairs whose turn it is; when the next are to be.
    pub(super) fn try_silent(&self, now: Time) -> Option<Time> {
        for (own, its, unanswered) in self.health.silences.due(now) {
            if let Some(md) = unanswered {
                // It may have ended by itself.
                let _ = self.md_unlink(md);
            }
            let ni = self.with_nets(|nets| nets.ni(own).cloned());
            let peer_ni = self.peers.get(its);
            match (ni, peer_ni) {
                (Some(ni), Some(peer_ni)) if peer_ni.silent().has(own) => {
                    if !ni.is_fatal()
                        && let Ok(ping) = self.send_recovery_ping(own, its)
                    {
                        self.health.silences.pinged(own, its, ping);
                    }
                }
                // The peer NI may be another, of the same NID.
                (_, peer_ni) => {
                    if let Some(peer_ni) = peer_ni {
                        peer_ni.silent().remove(own);
                    }
                    self.health.silences.remove(own, its);
                }
            }
        }
        self.health.silences.next(now + NEXT_TURN)
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
    fn a_silent_pair_is_tried_after_1_2_4_and_then_every_5_seconds_and_at_once_when_hurried() {
        let silences = Silences::default();
        assert!(!silences.any());
        silences.add(nid(1), nid(2), at(1000));
        assert!(silences.any());
        let mut tried = Vec::new();
        for millis in (0..30_000).step_by(500) {
            tried.extend(silences.due(at(millis)).iter().map(|_| millis));
        }
        assert_eq!(tried, [1000, 3000, 7000, 12_000, 17_000, 22_000, 27_000]);
        assert_eq!(silences.next(at(0)), Some(at(32_000)));
        silences.hurry(at(30_000), |own, _| own == nid(9));
        assert_eq!(silences.due(at(30_000)), []);
        silences.hurry(at(30_000), |own, _| own == nid(1));
        assert_eq!(silences.due(at(30_000)), [(nid(1), nid(2), None)]);
        silences.remove(nid(1), nid(2));
        assert!(!silences.any() && silences.next(at(0)).is_none());
    }

    #[test]
    fn a_peer_ni_knows_from_where_it_has_not_answered() {
        let silent = SilentTowards::default();
        assert!(!silent.any() && !silent.has(nid(1)));
        assert!(silent.add(nid(1)) && !silent.add(nid(1)) && silent.add(nid(2)));
        assert!(silent.has(nid(1)) && !silent.has(nid(3)));
        assert!(silent.remove(nid(1)) && !silent.remove(nid(1)) && silent.any());
        assert!(silent.remove(nid(2)) && !silent.any());
    }
}
