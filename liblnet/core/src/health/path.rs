//! Paths, each from a local NI to a peer NI, and which of them are unresponsive.
//!
//! The kernel lowers the health of one end, which makes the other paths of that end look bad, and raises it again as
//! soon as that end has received anything on any path. Here the path itself is marked, even the last one to a peer:
//! selection uses it last, as long as there are others, until something has arrived over it. Until then it is pinged
//! at growing intervals.

use super::probe::Purpose;
use super::recovery::is_recoverable;
use super::unresponsive_paths::{MAX_PAUSE, NEXT_TURN};
use super::{Cause, Health, Probe, ProbeAction};
use crate::environment::Environment;
use crate::environment::time::Time;
use crate::model::{Ni, PeerNi, can_reach, wait_before};
use crate::topology::Topology;
use lnet_log::LogClass;
use lnet_wire::Nid;
use std::time::Duration;

impl Health {
    /// Whether any path is unresponsive or suspect.
    pub(crate) fn any_suspect(&self) -> bool {
        self.paths.any() || self.suspects.any()
    }

    /// Marks a path as unresponsive and lowers the health of both ends, once. Returns whether the mark is new: then
    /// messages that wait for credits on the path take another.
    pub(crate) fn path_is_unresponsive(
        &self,
        env: &Environment,
        topology: &Topology,
        ni: &Ni,
        peer_ni: &PeerNi,
    ) -> bool {
        let is_new = self.note_unresponsive(env, topology, ni, peer_ni);
        if is_new && topology.has_other_path(ni, peer_ni, true) {
            self.lower(env, topology, ni, peer_ni, Cause::NetworkTimeout);
        }
        is_new
    }

    /// Marks a path as unresponsive, also if it is the only one. Returns whether the mark is new.
    pub(crate) fn note_unresponsive(
        &self,
        env: &Environment,
        topology: &Topology,
        ni: &Ni,
        peer_ni: &PeerNi,
    ) -> bool {
        let path @ (local, peer) = (ni.nid(), peer_ni.nid());
        if topology.is_own(peer) || !can_reach(ni, peer_ni) || peer_ni.is_truncated() {
            return false;
        }
        let now = env.now();
        let is_new = peer_ni.unresponsive().add(local, now);
        if is_new {
            let consequence = match topology.has_other_path(ni, peer_ni, true) {
                true => "using other paths",
                false => "there is no other path",
            };
            env.log(
                LogClass::PathUnresponsive,
                format_args!("{local} -> {peer}"),
                format_args!("path {local} -> {peer} unresponsive; {consequence}"),
            );
            self.paths.add(path, now + wait_before(0, MAX_PAUSE));
            self.suspect_other_paths(topology, ni, peer_ni, now);
            self.reachability_may_change(peer);
            if self.repeats.any() {
                self.wake();
            }
        }
        is_new
    }

    /// Clears the mark of a path over which something has arrived.
    pub(crate) fn path_is_responsive(&self, env: &Environment, local: Nid, peer_ni: &PeerNi) {
        if peer_ni.unresponsive().remove(local) {
            let peer = peer_ni.nid();
            self.paths.remove((local, peer));
            env.log(
                LogClass::PathResponsive,
                format_args!("{local} -> {peer}"),
                format_args!("path {local} -> {peer} responsive again"),
            );
            // A path to the peer has recovered.
            self.resend_queue.expedite(&peer_ni.peer_now(), env.now());
            self.reachability_may_change(peer);
        }
    }

    /// Pings the unresponsive paths from this interface at once: its state has changed.
    pub(crate) fn expedite_paths_from(&self, local: Nid, now: Time) {
        self.paths.expedite(now, |ni, _| ni == local);
        self.wake();
    }

    /// Pings the unresponsive paths to this peer NI at once.
    pub(crate) fn expedite_paths_to(&self, peer: Nid, now: Time) {
        self.paths.expedite(now, |_, peer_ni| peer_ni == peer);
        self.wake();
    }

    /// The pings of unresponsive paths that are due.
    pub(crate) fn poll_paths(&self, env: &Environment, topology: &Topology, now: Time) -> Vec<ProbeAction> {
        let due = self.paths.due(now, |path| match topology.is_only_path(path) {
            true => Duration::from_secs(env.settings().max_recovery_ping_interval.into()),
            false => MAX_PAUSE,
        });
        let mut actions = Vec::new();
        for (path @ (local, peer), unanswered) in due {
            actions.extend(unanswered.map(ProbeAction::End));
            let (ni, peer_ni) = (topology.ni(local), topology.peer_ni(peer));
            match (ni, peer_ni) {
                (Some(ni), Some(peer_ni)) if peer_ni.unresponsive().has(local) => {
                    // A peer that never responded on any of its NIDs, or that has a single path and has not responded
                    // for long, may not exist (HE-11).
                    let may_be_there = is_recoverable(env, &peer_ni)
                        || !topology.is_only_path(path) && topology.was_heard(&peer_ni.peer_now());
                    if may_be_there && !ni.is_fatal() {
                        let purpose = Purpose::Unresponsive;
                        actions.push(ProbeAction::Send(Probe { local, peer, purpose }));
                    }
                }
                // The peer NI may have been replaced by another with the same NID.
                (_, peer_ni) => {
                    if let Some(peer_ni) = peer_ni {
                        peer_ni.unresponsive().remove(local);
                    }
                    self.paths.remove(path);
                }
            }
        }
        actions
    }

    /// The time of the next ping of an unresponsive path.
    pub(crate) fn next_path(&self, now: Time) -> Option<Time> {
        self.paths.next(now + NEXT_TURN)
    }
}
