//! Recovery: unhealthy interfaces are pinged until they have recovered (core-behaviour 4.6).

use super::probe::Purpose;
use super::recovery_queues::{NiKind, QueuedNi};
use super::{Health, Probe, ProbeAction};
use crate::environment::Environment;
use crate::environment::time::Time;
use crate::memory::MdHandle;
use crate::model::{AddressFamily, Ni, PeerNi, Recovery, RecoveryState, Turn};
use crate::select;
use crate::topology::Topology;
use lnet_log::LogClass;
use lnet_wire::{Errno, Nid};
use std::sync::Arc;
use std::time::Duration;

impl Health {
    /// The NIDs in the recovery queue (`lnetctl debug recovery`).
    pub(crate) fn recovery_queue(&self, kind: NiKind) -> Vec<Nid> {
        self.queues.entries(kind).iter().map(|entry| entry.nid).collect()
    }

    /// Adds a local NI to the recovery queue.
    pub(super) fn recover_ni(&self, env: &Environment, ni: &Ni) {
        if !ni.nid().is_loopback() && self.queues.add(NiKind::Local, ni.nid()) {
            ni.recovery_state().begin(env.now());
            self.wake();
        }
    }

    /// Adds a peer NI to the recovery queue, if it has responded before and not too long ago (HE-11).
    pub(super) fn recover_peer_ni(&self, env: &Environment, peer_ni: &PeerNi) {
        if !is_recoverable(env, peer_ni) {
            return peer_ni.recovery_state().end(false);
        }
        if self.queues.add(NiKind::Peer, peer_ni.nid()) {
            peer_ni.recovery_state().begin(env.now());
            self.wake();
        }
    }

    /// The recovery pings that are due.
    pub(crate) fn poll_recovery(
        &self,
        env: &Environment,
        topology: &Topology,
        now: Time,
    ) -> Vec<ProbeAction> {
        let mut actions = Vec::new();
        for entry in self.queues.entries(NiKind::Local) {
            let ni = topology.ni(entry.nid);
            let unhealthy = ni.as_ref().map(|ni| (ni.recovery_state(), ni.health()));
            self.poll_entry(env, topology, NiKind::Local, entry, unhealthy, now, &mut actions);
        }
        for entry in self.queues.entries(NiKind::Peer) {
            let peer_ni = topology.peer_ni(entry.nid);
            let recoverable = peer_ni.as_ref().filter(|peer_ni| is_recoverable(env, peer_ni));
            let unhealthy = recoverable.map(|peer_ni| (peer_ni.recovery_state(), peer_ni.health()));
            self.poll_entry(env, topology, NiKind::Peer, entry, unhealthy, now, &mut actions);
            if let (None, Some(peer_ni)) = (recoverable, &peer_ni) {
                peer_ni.recovery_state().end(false);
            }
        }
        actions
    }

    /// The time of the next recovery ping. Called when all pings have been sent: a reply that has already arrived may
    /// have advanced the next one.
    pub(crate) fn next_recovery(&self, topology: &Topology) -> Option<Time> {
        let local = self.recovery_queue(NiKind::Local).into_iter();
        let local = local.filter_map(|nid| topology.ni(nid)?.recovery().next_ping);
        let peers = self.recovery_queue(NiKind::Peer).into_iter();
        local.chain(peers.filter_map(|nid| topology.peer_ni(nid)?.recovery().next_ping)).min()
    }

    /// Records that a ping has been sent, with this MD.
    pub(crate) fn probe_sent(&self, probe: Probe, md: MdHandle) {
        let path = (probe.local, probe.peer);
        match probe.purpose {
            Purpose::Recovery(kind, entry) => self.queues.update(kind, QueuedNi { ping: Some(md), ..entry }),
            Purpose::Unresponsive => self.paths.pinged(path, md),
            Purpose::Suspect => self.suspects.ping_left(path, md),
        }
    }

    /// Records that a ping could not be sent.
    pub(crate) fn probe_refused(&self, env: &Environment, topology: &Topology, probe: Probe, errno: Errno) {
        if let Purpose::Recovery(..) = probe.purpose {
            self.recovery_ping_failed(env, topology, probe.peer, errno);
        }
    }

    /// Records that a recovery ping to this NID has failed (HE-55).
    pub(crate) fn recovery_ping_failed(
        &self,
        env: &Environment,
        topology: &Topology,
        nid: Nid,
        errno: Errno,
    ) {
        if env.is_ending() {
            return;
        }
        let now = env.now();
        let local = topology.ni(nid).map(|ni| ni.recovery());
        let recovery = local.or_else(|| topology.peer_ni(nid).map(|peer_ni| peer_ni.recovery()));
        let next = recovery.and_then(|recovery| recovery.next_ping);
        let seconds = next.map(|at| at.since(now).as_millis().div_ceil(1000));
        let consequence = seconds.map_or_else(String::new, |seconds| format!("; retry in {seconds} s"));
        env.log(
            LogClass::RecoveryPingFailed,
            nid,
            format_args!("recovery ping to {nid} failed: {}{consequence}", errno.text()),
        );
    }

    /// Performs the action that is due for an entry of a queue; `unhealthy` is its interface, if that still exists and is
    /// recoverable.
    #[allow(
        clippy::too_many_arguments,
        reason = "the environment and the topology are two of them everywhere"
    )]
    fn poll_entry(
        &self,
        env: &Environment,
        topology: &Topology,
        kind: NiKind,
        entry: QueuedNi,
        unhealthy: Option<(&RecoveryState, u32)>,
        now: Time,
        actions: &mut Vec<ProbeAction>,
    ) {
        let longest = Duration::from_secs(env.settings().max_recovery_ping_interval.into());
        let was_answered = unhealthy.is_some_and(|(state, _)| state.get().ping_count == 0);
        let turn = unhealthy.map_or(Turn::Leave, |(state, health)| state.take_turn(health, now, longest));
        if !matches!(turn, Turn::Wait(_)) {
            actions.extend(entry.ping.map(ProbeAction::End));
        }
        match turn {
            Turn::Wait(_) => {}
            Turn::Leave => {
                self.queues.remove(kind, entry.nid);
                if let Some((state, _)) = unhealthy {
                    state.end(true);
                }
            }
            Turn::Ping(_) => {
                let source = entry.source.wrapping_add(usize::from(!was_answered));
                let entry = QueuedNi { ping: None, source, ..entry };
                self.queues.update(kind, entry);
                if let Some((local, peer)) = self.recovery_path(topology, kind, entry) {
                    let purpose = Purpose::Recovery(kind, entry);
                    actions.push(ProbeAction::Send(Probe { local, peer, purpose }));
                }
            }
        }
    }

    /// The path of a recovery ping: to a peer NI from any interface that fits (HE-53); to a local NI from itself, as in the kernel,
    /// and after a ping without response from the next one on its net, since only the path to itself may be blocked. An interface whose
    /// rail is known to be broken towards some peer pings another peer, if it can: only that shows that the rest of it works.
    fn recovery_path(&self, topology: &Topology, kind: NiKind, entry: QueuedNi) -> Option<(Nid, Nid)> {
        let nid = entry.nid;
        match kind {
            NiKind::Local => {
                let ni = topology.ni(nid)?;
                let others = if self.is_cut_off_from_some(topology, &ni) {
                    heard_on(topology, &ni)
                } else {
                    Vec::new()
                };
                if let Some(turn) = entry.source.checked_rem(others.len()) {
                    return Some((nid, *others.get(turn)?));
                }
                topology.with_nets(|nets| {
                    let may_ping = |ni: &&Arc<Ni>| {
                        ni.nid() != nid && !ni.is_fatal() && ni.reaches(AddressFamily::of(nid))
                    };
                    let others = nets.net(nid.net())?.nis().iter().filter(may_ping);
                    let sources: Vec<Nid> = std::iter::once(nid).chain(others.map(|ni| ni.nid())).collect();
                    Some((*sources.get(entry.source.checked_rem(sources.len())?)?, nid))
                })
            }
            NiKind::Peer => {
                let peer_ni = topology.peer_ni(nid)?;
                let any_suspect = self.any_suspect();
                let best = topology.with_nets(|nets| select::best_source(nets, &peer_ni, any_suspect));
                best.map(|local| (local, nid))
            }
        }
    }
}

/// The NIDs of other nodes that are reached from this interface, as far as is known.
fn heard_on(topology: &Topology, ni: &Ni) -> Vec<Nid> {
    let all = topology.peers().all().into_iter();
    let is_heard = |peer_ni: &PeerNi| {
        peer_ni.nid().net() == ni.nid().net()
            && peer_ni.was_heard_by(ni)
            && !select::is_avoided(ni, peer_ni)
            && !topology.is_own(peer_ni.nid())
    };
    all.filter(|peer_ni| is_heard(peer_ni)).map(|peer_ni| peer_ni.nid()).collect()
}

/// Whether a peer NI is pinged for recovery: if it has responded before, and not too long ago (HE-11).
pub(super) fn is_recoverable(env: &Environment, peer_ni: &PeerNi) -> bool {
    let limit = Duration::from_secs(env.settings().recovery_limit.into());
    let Recovery { next_ping, last_heard, .. } = peer_ni.recovery();
    let too_long = || env.now().since(last_heard) > limit;
    peer_ni.was_heard() && (limit.is_zero() || next_ping.is_none() || !too_long())
}
