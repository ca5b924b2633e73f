//! What is sick is pinged until it is well (core-behaviour 4.6).

use super::Health;
use crate::core::Core;
use crate::environment::time::Time;
use crate::event::EventKind;
use crate::memory::{EqHandle, MdHandle, MdOptions, MdSpec, Room};
use crate::model::Target;
use crate::model::{Recovery, RecoveryState, Turn};
use crate::sync::{Mutex, lock};
use crate::topology::{Ni, PeerNi};
use lnet_log::LogClass;
use lnet_wire::ping_info::{PING_ENTRY_LEN, PING_HEADER_LEN};
use lnet_wire::{Errno, Nid, Pid, ProcessId};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// NIDs that there is room for in the answer, which nobody reads (HE-51).
const NIDS: usize = 16;
/// Bytes of it.
const ANSWER_LEN: u32 = (PING_HEADER_LEN + NIDS * PING_ENTRY_LEN) as u32;

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
            ni.trial().begin(self.env.now());
            self.health.wakeup.notify();
        }
    }

    /// The same for a peer's, if it has ever been heard of and not too long ago (HE-11).
    pub(super) fn try_peer_ni(&self, peer_ni: &PeerNi) {
        if !self.is_recoverable(peer_ni) {
            return peer_ni.trial().end(false);
        }
        if self.health.queues.add(NiKind::Peer, peer_ni.nid()) {
            peer_ni.trial().begin(self.env.now());
            self.health.wakeup.notify();
        }
    }

    pub(super) fn is_recoverable(&self, peer_ni: &PeerNi) -> bool {
        let limit = Duration::from_secs(self.settings().recovery_limit.into());
        let Recovery { next_ping, last_heard, .. } = peer_ni.recovery();
        let too_long = || self.env.now().since(last_heard) > limit;
        peer_ni.was_heard() && (limit.is_zero() || next_ping.is_none() || !too_long())
    }

    /// Pings what is sick and whose turn it is; when the next is to be.
    pub(super) fn try_sick(&self, now: Time) -> Option<Time> {
        for entry in self.health.queues.entries(NiKind::Local) {
            let ni = self.topology.with_nets(|nets| nets.ni(entry.nid).cloned());
            self.try_entry(NiKind::Local, entry, ni.as_ref().map(|ni| (ni.trial(), ni.health())), now);
        }
        for entry in self.health.queues.entries(NiKind::Peer) {
            let peer_ni = self.topology.peer_ni(entry.nid);
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
            let recovery = self.topology.with_nets(|nets| nets.ni(nid).map(|ni| ni.recovery()))?;
            recovery.next_ping
        });
        let peers = self.health.tried(NiKind::Peer);
        local
            .chain(peers.into_iter().filter_map(|nid| self.topology.peer_ni(nid)?.recovery().next_ping))
            .min()
    }

    /// Does for an entry of a queue what is due; `sick` is what belongs to it, if that is still there and to be tried.
    fn try_entry(&self, side: NiKind, entry: Entry, sick: Option<(&RecoveryState, u32)>, now: Time) {
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
            NiKind::Local => self.topology.with_nets(|nets| {
                let others = nets.net(nid.net())?.nis().iter().filter(|ni| ni.nid() != nid && !ni.is_fatal());
                let sources: Vec<Nid> = std::iter::once(nid).chain(others.map(|ni| ni.nid())).collect();
                sources.get(source.checked_rem(sources.len())?).copied()
            }),
            NiKind::Peer => {
                let peer_ni = self.topology.peer_ni(nid)?;
                self.topology.with_nets(|nets| crate::select::best_source(nets, &peer_ni, self.any_silent()))
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

    /// When an interface is pinged next to find out whether it has recovered.
    fn next_recovery_ping(&self, nid: Nid) -> Option<Time> {
        let own = self.topology.with_nets(|nets| nets.ni(nid).map(|ni| ni.recovery()));
        own.or_else(|| Some(self.topology.peer_ni(nid)?.recovery()))?.next_ping
    }

    /// HE-55.
    fn recovery_failed(&self, nid: Nid, errno: Errno) {
        if !self.is_ending() {
            let now = self.env.now();
            let next = self.next_recovery_ping(nid).map(|at| at.since(now).as_millis().div_ceil(1000));
            let consequence = next.map_or_else(String::new, |seconds| format!("; retry in {seconds} s"));
            self.env.log(
                LogClass::RecoveryPingFailed,
                nid,
                format_args!("recovery ping to {nid} failed: {}{consequence}", errno.text()),
            );
        }
    }
}
