//! Health values, and the events that lower and raise them (HE-1, HE-10, core-behaviour 4.2).

use super::ni_reports::{self, Report};
use super::{Cause, Health, NiState, SendFailure};
use crate::environment::Environment;
use crate::environment::time::Time;
use crate::model::message::OutgoingMessage;
use crate::model::{Ni, PeerNi};
use crate::select;
use crate::sync::lock;
use crate::topology::Topology;
use lnet_log::LogClass;
use lnet_settings::MAX_HEALTH;

/// A value after a failure (HE-1).
pub(crate) const fn lowered(value: u32, sensitivity: u32) -> u32 {
    value.saturating_sub(sensitivity)
}

/// A value after a success (HE-1).
pub(crate) const fn raised(value: u32, sensitivity: u32) -> u32 {
    let value = value.saturating_add(sensitivity);
    if value > MAX_HEALTH { MAX_HEALTH } else { value }
}

impl Health {
    /// Counts a failure, and lowers the health of the interfaces that its cause blames.
    pub(crate) fn message_failed(
        &self,
        env: &Environment,
        topology: &Topology,
        message: &OutgoingMessage,
        failure: SendFailure,
    ) {
        let Some((ni, peer_ni)) = message.ni.as_ref().zip(message.peer_ni.as_ref()) else { return };
        if message.next_hop.nid.is_loopback() || !failure.delivery.concerns_path() || peer_ni.is_truncated() {
            return;
        }
        self.failures.count(failure.cause);
        if failure.cause.blames_ni() {
            ni.failures().count(failure.cause);
        }
        if failure.cause.blames_peer_ni() {
            peer_ni.failures().count(failure.cause);
        }
        if is_of_the_path(failure.cause) {
            peer_ni.note_not_heard_by(ni);
        }
        // The failure of an unresponsive path has already lowered the health of its ends.
        if message.is_recovery_ping()
            || env.now() >= message.deadline
            || is_of_the_path(failure.cause) && peer_ni.unresponsive().has(ni.nid())
        {
            return;
        }
        self.lower(env, topology, ni, peer_ni, failure.cause);
        if is_of_the_path(failure.cause) {
            // The line about the peer may be written at once, by another thread.
            lock(&peer_ni.peer_now().discovery.reachability).outage.last = Some(failure.errno);
            self.note_unresponsive(env, topology, ni, peer_ni);
        }
    }

    /// Lowers the health of the interfaces that the cause blames, except those without a substitute (HE-10).
    pub(super) fn lower(
        &self,
        env: &Environment,
        topology: &Topology,
        ni: &Ni,
        peer_ni: &PeerNi,
        cause: Cause,
    ) {
        if cause.blames_ni() && !ni.is_fatal() && !topology.is_single_rail() {
            self.lower_ni(env, ni);
        }
        if cause.blames_peer_ni() && !is_single_nid(peer_ni) && !topology.is_own(peer_ni.nid()) {
            self.lower_peer_ni(env, peer_ni);
        }
    }

    /// Raises the health of an interface on which a message has been sent, or has arrived from this node itself. That proves
    /// nothing about a rail that is known to be broken.
    #[inline(always)]
    pub(crate) fn ni_sends(&self, env: &Environment, topology: &Topology, ni: &Ni) {
        if ni.health() < MAX_HEALTH && !self.is_cut_off_from_some(topology, ni) {
            self.raise_ni(env, ni);
        }
    }

    /// Whether a path from this interface on which something has arrived is unresponsive although its peer is reached from
    /// another interface: then the peer is not the broken part.
    pub(super) fn is_cut_off_from_some(&self, topology: &Topology, ni: &Ni) -> bool {
        self.paths.any()
            && self.paths.from(ni.nid()).into_iter().filter_map(|nid| topology.peer_ni(nid)).any(|peer_ni| {
                peer_ni.was_ever_heard_by(ni)
                    && topology.with_nets(|nets| select::is_reached_from_another(nets, &peer_ni, ni))
            })
    }

    fn raise_ni(&self, env: &Environment, ni: &Ni) {
        if ni.health() < MAX_HEALTH && !ni.nid().is_loopback() {
            self.set_ni_value(env, ni, raised(ni.health(), env.settings().health_sensitivity));
        }
    }

    /// Raises the health of both ends of a path on which a message has arrived.
    #[inline(always)]
    pub(crate) fn heard(&self, env: &Environment, topology: &Topology, ni: &Ni, peer_ni: &PeerNi) {
        if ni.health() < MAX_HEALTH {
            match topology.is_own(peer_ni.nid()) {
                true => self.ni_sends(env, topology, ni),
                false => self.raise_ni(env, ni),
            }
        }
        let now = || env.now();
        let mut sooner = ni.recovery_state().heard(now);
        if peer_ni.health() < MAX_HEALTH {
            peer_ni.set_health(raised(peer_ni.health(), env.settings().health_sensitivity));
        }
        peer_ni.note_heard_by(ni);
        let is_first = !peer_ni.was_heard();
        sooner |= peer_ni.note_heard(now);
        // Recovery may have been given up (HE-11).
        if peer_ni.health() < MAX_HEALTH && peer_ni.recovery().next_ping.is_none() {
            self.recover_peer_ni(env, peer_ni);
        }
        if is_first {
            self.reachability_may_change(peer_ni.nid());
        }
        if sooner {
            self.wake();
        }
        if peer_ni.unresponsive().any() {
            self.path_is_responsive(env, ni.nid(), peer_ni);
        }
    }

    /// Records that a message from this peer NI has arrived over a gateway.
    pub(crate) fn heard_behind_gateway(&self, env: &Environment, peer_ni: &PeerNi) {
        let is_first = !peer_ni.was_heard();
        peer_ni.note_heard(|| env.now());
        if peer_ni.note_unresponsive_behind_gateways(false) || is_first {
            self.reachability_may_change(peer_ni.nid());
        }
    }

    /// Records that this peer NI was sent to over a gateway that works, as far as is known, and has not responded, or that
    /// the gateway could not reach it.
    pub(crate) fn note_unresponsive_behind_gateways(&self, peer_ni: &PeerNi) {
        if peer_ni.note_unresponsive_behind_gateways(true) {
            self.reachability_may_change(peer_ni.nid());
        }
    }

    /// Lowers the health of a local NI by one failure, and pings it until it is healthy.
    pub(super) fn lower_ni(&self, env: &Environment, ni: &Ni) {
        self.change_ni_health(env, ni, lowered(ni.health(), env.settings().health_sensitivity));
    }

    /// Lowers the health of a peer NI by one failure, and pings it until it is healthy.
    pub(super) fn lower_peer_ni(&self, env: &Environment, peer_ni: &PeerNi) {
        self.change_peer_ni_health(
            env,
            peer_ni,
            lowered(peer_ni.health(), env.settings().health_sensitivity),
        );
    }

    /// Sets the health of a local NI; below the maximum it is pinged until it has recovered (HE-5, HE-11).
    pub(crate) fn change_ni_health(&self, env: &Environment, ni: &Ni, value: u32) {
        self.set_ni_value(env, ni, value);
        if value < MAX_HEALTH {
            self.recover_ni(env, ni);
        }
    }

    /// Sets the health of a local NI. A change of its state that lasts is logged (dbg-110).
    fn set_ni_value(&self, env: &Environment, ni: &Ni, value: u32) {
        let before = NiState::of(ni);
        ni.set_health(value);
        if NiState::of(ni) != before {
            self.ni_states.changed(ni.nid(), before, env.now());
            self.wake();
        }
        if value == 0 {
            self.ni_reports.has_no_health(ni.nid(), ni.is_reported_unhealthy(), env.now());
            self.wake();
        }
    }

    /// Reports the NIs as down, or as up again, whose health demands it. Returns whether peers are to be told, and the time of
    /// the next call.
    pub(crate) fn report_nis(
        &self,
        env: &Environment,
        topology: &Topology,
        now: Time,
    ) -> (bool, Option<Time>) {
        let mut has_changed = false;
        for nid in self.ni_reports.take_due(now) {
            let Some(ni) = topology.ni(nid) else { continue };
            let report = ni_reports::report(ni.is_reported_unhealthy(), ni.health());
            if matches!(report, Report::Down | Report::StaysDown) {
                self.ni_reports.check_later(nid, now);
            }
            let status = match report {
                Report::Down => "down",
                Report::Up => "up",
                Report::Unchanged | Report::StaysDown => continue,
            };
            ni.set_reported_unhealthy(report == Report::Down);
            has_changed = true;
            let line = format_args!("NI {nid}: reported to peers as {status} (health value {})", ni.health());
            env.log(LogClass::NiHealth, nid, line);
        }
        (has_changed, self.ni_reports.next())
    }

    /// Logs the changes of NI states that have lasted; returns when the next is due.
    pub(crate) fn log_ni_states(&self, env: &Environment, topology: &Topology, now: Time) -> Option<Time> {
        for (nid, before) in self.ni_states.take_due(now) {
            let Some(ni) = topology.ni(nid) else { continue };
            let (state, value) = (NiState::of(&ni), ni.health());
            if state != before {
                let line = format_args!("NI {nid}: {before} -> {state} (health value {value})");
                env.log(LogClass::NiHealth, nid, line);
            }
        }
        self.ni_states.next()
    }

    /// The state of an NI that was logged last. The caller logs the current one.
    pub(crate) fn take_logged_state(&self, ni: &Ni) -> NiState {
        self.ni_states.take(ni.nid()).unwrap_or_else(|| NiState::of(ni))
    }

    /// Sets the health of a peer NI; below the maximum it is pinged until it has recovered.
    pub(crate) fn change_peer_ni_health(&self, env: &Environment, peer_ni: &PeerNi, value: u32) {
        peer_ni.set_health(value);
        if value < MAX_HEALTH {
            self.recover_peer_ni(env, peer_ni);
        }
    }
}

/// Whether the peer has no other NID (HE-10).
pub(super) fn is_single_nid(peer_ni: &PeerNi) -> bool {
    peer_ni.peer_now().nids.len() <= 1
}

/// Whether the cause concerns the path between two interfaces, and not only this node.
const fn is_of_the_path(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::LocalTimeout
            | Cause::RemoteError
            | Cause::RemoteDropped
            | Cause::RemoteTimeout
            | Cause::NetworkTimeout
    )
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// HE-1, HE-56: fails if a failure or a success changes a value by another amount than the sensitivity, or beyond 0 or 1000.
    #[test]
    fn values_go_down_and_up_by_the_sensitivity_between_0_and_1000() {
        let table = [(1000, 100, 900, 1000), (50, 100, 0, 150), (950, 100, 850, 1000), (700, 0, 700, 700)];
        for (value, sensitivity, down, up) in table {
            assert_eq!((lowered(value, sensitivity), raised(value, sensitivity)), (down, up), "{value}");
        }
        let failed = (0..3).fold(MAX_HEALTH, |value, _| lowered(value, 100));
        assert_eq!((failed, (0..3).fold(failed, |value, _| raised(value, 100))), (700, MAX_HEALTH));
    }
}
