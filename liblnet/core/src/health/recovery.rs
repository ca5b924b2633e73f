//! What is sick is pinged until it is well (core-behaviour 4.6).

use super::Health;
use crate::complaints::Reason;
use crate::core::Core;
use crate::data::Target;
use crate::event::EventKind;
use crate::memory::{EqHandle, MdHandle, MdOptions, MdSpec, Room};
use crate::settings::MAX_HEALTH;
use crate::sync::{Mutex, lock};
use crate::time::Time;
use crate::topology::{Ni, PeerNi};
use lnet_wire::ping_info::{PING_ENTRY_LEN, PING_HEADER_LEN};
use lnet_wire::{Errno, Nid, Pid, ProcessId};
use log::Level;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// NIDs that there is room for in the answer, which nobody reads (HE-51).
const NIDS: usize = 16;
/// Bytes of it.
const ANSWER_LEN: u32 = (PING_HEADER_LEN + NIDS * PING_ENTRY_LEN) as u32;

/// When a sick interface is tried again (HE-51).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Pings since something was last received.
    pub ping_count: u32,
    /// When the next one is due; `None` for who is not in the queue.
    pub next_ping: Option<Time>,
    /// When something was last received, or when it fell sick.
    pub last_heard: Time,
}

/// An interface's [`Recovery`], which who receives a message looks at without its lock.
#[derive(Debug, Default)]
pub(crate) struct Trial {
    recovery: Mutex<Recovery>,
    /// There is something that a message from it changes.
    is_concerned: AtomicBool,
}

impl Trial {
    pub(crate) fn get(&self) -> Recovery {
        *lock(&self.recovery)
    }

    /// It is in the queue from now on.
    fn begin(&self, now: Time) {
        self.change(|recovery| *recovery = Recovery::beginning(now));
    }

    /// It leaves the queue, because it is well or gone; or it has not been heard for too long: then how often it was
    /// pinged stays to be seen.
    fn end(&self, is_well: bool) {
        self.change(|recovery| {
            let ping_count = if is_well { 0 } else { recovery.ping_count };
            *recovery = Recovery { ping_count, ..Recovery::default() };
        });
    }

    /// What is to be done now, noted before it is done: the answer to a ping may be there before the ping has left here.
    fn take_turn(&self, health: u32, now: Time, longest: Duration) -> Turn {
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

    /// Something has arrived: the pings begin anew (HE-52). Whether the next one comes sooner for that.
    pub(crate) fn heard(&self, now: impl FnOnce() -> Time) -> bool {
        self.is_concerned.load(Ordering::Relaxed) && {
            let now = now();
            self.change(|recovery| {
                recovery.last_heard = now;
                recovery.begin_anew(now)
            })
        }
    }
}

impl Recovery {
    fn beginning(now: Time) -> Self {
        Self { ping_count: 0, next_ping: Some(now + wait_before(0, Duration::MAX)), last_heard: now }
    }

    /// It has been heard of: the next ping need not wait for as long as after those that were not answered. Whether it
    /// comes sooner.
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

/// Whose interfaces are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NiKind {
    /// This node's.
    Local,
    /// Peers'.
    Peer,
}

/// Who is sick, in the order in which it came.
#[derive(Debug, Default)]
pub(super) struct Queues {
    local: Mutex<Vec<Entry>>,
    peer: Mutex<Vec<Entry>>,
    eq: OnceLock<EqHandle>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    nid: Nid,
    /// The last ping, as long as it is not known to have ended.
    ping: Option<MdHandle>,
    /// Of an interface of this node's: how often another one was to ping it than before.
    source: usize,
}

/// What is to be done with an entry of a queue (HE-51).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// It is well, or gone.
    Leave,
    Wait(Time),
    /// Ping it; the next time is then.
    Ping(Recovery),
}

/// How long to wait after so many pings without an answer, at most `longest` (HE-51, HE-52).
pub(super) fn wait_before(pings: u32, longest: Duration) -> Duration {
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

impl Queues {
    fn of(&self, side: NiKind) -> &Mutex<Vec<Entry>> {
        match side {
            NiKind::Local => &self.local,
            NiKind::Peer => &self.peer,
        }
    }

    /// Whether it is new.
    fn add(&self, side: NiKind, nid: Nid) -> bool {
        let mut queue = lock(self.of(side));
        let new = queue.iter().all(|entry| entry.nid != nid);
        if new {
            queue.push(Entry { nid, ping: None, source: 0 });
        }
        new
    }

    fn remove(&self, side: NiKind, nid: Nid) {
        lock(self.of(side)).retain(|entry| entry.nid != nid);
    }

    fn entries(&self, side: NiKind) -> Vec<Entry> {
        lock(self.of(side)).clone()
    }

    fn pinged(&self, side: NiKind, pinged: Entry) {
        if let Some(entry) = lock(self.of(side)).iter_mut().find(|entry| entry.nid == pinged.nid) {
            *entry = pinged;
        }
    }
}

impl Health {
    /// The NIDs that are tried.
    fn tried(&self, side: NiKind) -> Vec<Nid> {
        self.queues.entries(side).iter().map(|entry| entry.nid).collect()
    }
}

impl Core {
    /// The NIDs that are tried again and again until they are well (`lnetctl debug recovery`).
    pub fn recovery_queue(&self, side: NiKind) -> Vec<Nid> {
        self.health.tried(side)
    }

    /// Has an interface of this node's tried until it is well.
    pub(super) fn try_ni(&self, ni: &Ni) {
        if !ni.nid().is_loopback() && self.health.queues.add(NiKind::Local, ni.nid()) {
            ni.trial().begin(self.config.clock.now());
            self.health.alarm.ring();
        }
    }

    /// The same for a peer's, if it has ever been heard of and not too long ago (HE-11).
    pub(super) fn try_peer_ni(&self, peer_ni: &PeerNi) {
        if !self.is_recoverable(peer_ni) {
            return peer_ni.trial().end(false);
        }
        if self.health.queues.add(NiKind::Peer, peer_ni.nid()) {
            peer_ni.trial().begin(self.config.clock.now());
            self.health.alarm.ring();
        }
    }

    pub(super) fn is_recoverable(&self, peer_ni: &PeerNi) -> bool {
        let limit = Duration::from_secs(self.settings().recovery_limit.into());
        let Recovery { next_ping, last_heard, .. } = peer_ni.recovery();
        let too_long = || self.config.clock.now().since(last_heard) > limit;
        peer_ni.was_heard() && (limit.is_zero() || next_ping.is_none() || !too_long())
    }

    /// Pings what is sick and whose turn it is; when the next is to be.
    pub(super) fn try_sick(&self, now: Time) -> Option<Time> {
        for entry in self.health.queues.entries(NiKind::Local) {
            let ni = self.with_nets(|nets| nets.ni(entry.nid).cloned());
            self.try_entry(NiKind::Local, entry, ni.as_ref().map(|ni| (ni.trial(), ni.health())), now);
        }
        for entry in self.health.queues.entries(NiKind::Peer) {
            let peer_ni = self.peers.get(entry.nid);
            let sick = peer_ni.as_ref().filter(|peer_ni| self.is_recoverable(peer_ni));
            self.try_entry(NiKind::Peer, entry, sick.map(|peer_ni| (peer_ni.trial(), peer_ni.health())), now);
            if let (None, Some(peer_ni)) = (sick, &peer_ni) {
                peer_ni.trial().end(false);
            }
        }
        self.next_try()
    }

    /// When the next ping of something sick is due. Looked up when all pings have left: an answer that is there already
    /// may have brought one forward.
    fn next_try(&self) -> Option<Time> {
        let local = self.health.tried(NiKind::Local).into_iter().filter_map(|nid| {
            let recovery = self.with_nets(|nets| nets.ni(nid).map(|ni| ni.recovery()))?;
            recovery.next_ping
        });
        let peers = self.health.tried(NiKind::Peer);
        local.chain(peers.into_iter().filter_map(|nid| self.peers.get(nid)?.recovery().next_ping)).min()
    }

    /// Does for an entry of a queue what is due; `sick` is what belongs to it, if that is still there and to be tried.
    fn try_entry(&self, side: NiKind, entry: Entry, sick: Option<(&Trial, u32)>, now: Time) {
        let longest = Duration::from_secs(self.settings().max_recovery_ping_interval.into());
        let was_answered = sick.is_some_and(|(trial, _)| trial.get().ping_count == 0);
        let turn = sick.map_or(Turn::Leave, |(trial, health)| trial.take_turn(health, now, longest));
        if !matches!(turn, Turn::Wait(_))
            && let Some(unanswered) = entry.ping
        {
            // It may have ended by itself.
            let _ = self.md_unlink(unanswered);
        }
        match turn {
            Turn::Wait(_) => {}
            Turn::Leave => {
                self.health.queues.remove(side, entry.nid);
                if let Some((trial, _)) = sick {
                    trial.end(true);
                }
            }
            Turn::Ping(_) => {
                let source = entry.source.wrapping_add(usize::from(!was_answered));
                let ping = self.recovery_source(side, entry.nid, source).and_then(|own| {
                    self.send_recovery_ping(own, entry.nid)
                        .inspect_err(|errno| self.recovery_failed(entry.nid, *errno))
                        .ok()
                });
                self.health.queues.pinged(side, Entry { ping, source, ..entry });
            }
        }
    }

    /// By which interface: to a peer's any that fits (HE-53). To one of this node's by itself, as in the kernel; after a
    /// ping without an answer by the next one on its net, since that path alone may be closed to it.
    fn recovery_source(&self, side: NiKind, nid: Nid, source: usize) -> Option<Nid> {
        match side {
            NiKind::Local => self.with_nets(|nets| {
                let others = nets.net(nid.net())?.nis().iter().filter(|ni| ni.nid() != nid && !ni.is_fatal());
                let sources: Vec<Nid> = std::iter::once(nid).chain(others.map(|ni| ni.nid())).collect();
                sources.get(source.checked_rem(sources.len())?).copied()
            }),
            NiKind::Peer => {
                let peer_ni = self.peers.get(nid)?;
                self.with_nets(|nets| crate::select::best_source(nets, &peer_ni, self.any_silent()))
            }
        }
    }

    /// Asks the process at `its`, from `own`, who it is; nothing comes of it but that something is heard.
    pub(super) fn send_recovery_ping(&self, own: Nid, its: Nid) -> Result<MdHandle, Errno> {
        let room = Room::new(ANSWER_LEN);
        let memory = room.memory();
        let spec = MdSpec {
            start: memory.first().unwrap_or_default(),
            length: memory.len(),
            threshold: 2,
            max_size: 0,
            options: MdOptions(MdOptions::TRUNCATE.0 | MdOptions::NO_TRACK_RESPONSE.0),
            user_ptr: 0,
            eq: Some(self.recovery_eq()?),
        };
        let md = self.bind_owned(spec, memory, true, Arc::new(room))?;
        let target = Target::of_pings(ProcessId { nid: its, pid: Pid::LUSTRE });
        self.get_for_recovery(own, md, target).map(|()| md).inspect_err(|_| {
            let _ = self.md_unlink(md);
        })
    }

    fn recovery_eq(&self) -> Result<EqHandle, Errno> {
        if let Some(eq) = self.health.queues.eq.get() {
            return Ok(*eq);
        }
        let this = self.this().ok_or(Errno::Shutdown)?;
        let this = Arc::downgrade(&this);
        let heard = move |event: &crate::event::Event| {
            if let (EventKind::Send | EventKind::Reply, Err(errno), Some(core)) =
                (event.kind, event.status, this.upgrade())
                && let Some(nid) = event.target.nid
                && errno != Errno::Cancelled
            {
                core.recovery_failed(nid, errno);
            }
        };
        let eq = self.eq_alloc(0, Some(Box::new(heard)))?;
        Ok(*self.health.queues.eq.get_or_init(|| eq))
    }

    /// HE-55.
    fn recovery_failed(&self, nid: Nid, errno: Errno) {
        if !self.is_ending() {
            let line = format_args!("{nid} is not well yet: a ping to it failed: {}", errno.text());
            self.complain(Reason::Recovery, Level::Warn, line);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(900);

    fn at(seconds: u64) -> Time {
        Time(Duration::from_secs(seconds))
    }

    /// HE-52.
    #[test]
    fn pings_without_an_answer_come_more_and_more_seldom() {
        let mut recovery = Recovery { next_ping: Some(at(1)), ..Recovery::default() };
        let mut now = at(0);
        let mut waits = Vec::new();
        for _ in 0..13 {
            if let Turn::Wait(next) = turn(Some(900), recovery, now, LONGEST) {
                waits.push(next.since(now).as_secs());
                now = next;
            }
            match turn(Some(900), recovery, now, LONGEST) {
                Turn::Ping(next) => recovery = next,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
    }

    #[test]
    fn who_is_well_or_gone_leaves_the_queue() {
        assert_eq!(turn(Some(MAX_HEALTH), Recovery::default(), at(0), LONGEST), Turn::Leave);
        assert_eq!(turn(None, Recovery::default(), at(0), LONGEST), Turn::Leave);
    }
}
