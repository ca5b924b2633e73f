//! Health values: what lowers and raises them (HE-1, HE-10, core-behaviour 4.2).

use super::{Cause, NiState, SendFailure};
use crate::core::Core;
use crate::environment::settings::MAX_HEALTH;
use crate::model::message::Message;
use crate::topology::{Ni, PeerNi};
use lnet_log::LogClass;

/// A value after a failure (HE-1).
pub(crate) const fn lowered(value: u32, sensitivity: u32) -> u32 {
    value.saturating_sub(sensitivity)
}

/// A value after a success (HE-1).
pub(crate) const fn raised(value: u32, sensitivity: u32) -> u32 {
    let value = value.saturating_add(sensitivity);
    if value > MAX_HEALTH { MAX_HEALTH } else { value }
}

impl Core {
    /// Counts a failure, and lowers the health of whom it is blamed on.
    pub(crate) fn blame(&self, message: &Message, failure: SendFailure) {
        let Some((ni, peer_ni)) = message.ni.as_ref().zip(message.peer_ni.as_ref()) else { return };
        if message.next_hop.nid.is_loopback() {
            return;
        }
        self.health.failures.count(failure.cause);
        if failure.cause.blames_ni() {
            ni.failures().count(failure.cause);
        }
        if failure.cause.blames_peer_ni() {
            peer_ni.failures().count(failure.cause);
        }
        if is_of_the_path(failure.cause) {
            peer_ni.note_not_heard_by(ni);
        }
        // What is known to be unresponsive is not to blame anybody for again.
        if message.recovery
            || self.env.now() >= message.deadline
            || is_of_the_path(failure.cause) && peer_ni.unresponsive().has(ni.nid())
        {
            return;
        }
        self.lower(ni, peer_ni, failure.cause);
        if is_of_the_path(failure.cause) {
            self.note_unresponsive(ni, peer_ni);
        }
    }

    /// Lowers the health of whom it is to be blamed on, who is not alone (HE-10).
    pub(super) fn lower(&self, ni: &Ni, peer_ni: &PeerNi, cause: Cause) {
        if cause.blames_ni() && !ni.is_fatal() && !self.is_single_rail() {
            self.lower_ni(ni);
        }
        if cause.blames_peer_ni() && !self.is_single_nid(peer_ni) && !self.topology.is_own(peer_ni.nid()) {
            self.lower_peer_ni(peer_ni);
        }
    }

    /// A message has left, or arrived, by this interface.
    pub(crate) fn ni_works(&self, ni: &Ni) {
        if ni.health() < MAX_HEALTH && !ni.nid().is_loopback() {
            self.set_ni_value(ni, raised(ni.health(), self.settings().health_sensitivity));
        }
    }

    /// A message has arrived.
    pub(crate) fn heard(&self, ni: &Ni, peer_ni: &PeerNi) {
        self.ni_works(ni);
        let now = || self.env.now();
        let mut sooner = ni.trial().heard(now);
        if peer_ni.health() < MAX_HEALTH {
            peer_ni.set_health(raised(peer_ni.health(), self.settings().health_sensitivity));
        }
        peer_ni.note_heard_by(ni);
        let is_first = !peer_ni.was_heard();
        sooner |= peer_ni.note_heard(now);
        // It may have been given up (HE-11).
        if peer_ni.health() < MAX_HEALTH && peer_ni.recovery().next_ping.is_none() {
            self.try_peer_ni(peer_ni);
        }
        if is_first {
            self.reachability_may_change(peer_ni.nid());
        }
        if sooner {
            self.health.wakeup.notify();
        }
        if peer_ni.unresponsive().any() {
            self.path_is_responsive(ni.nid(), peer_ni);
        }
    }

    /// Lowers it by one failure's worth, and has the interface tried until it is well.
    pub(super) fn lower_ni(&self, ni: &Ni) {
        self.change_ni_health(ni, lowered(ni.health(), self.settings().health_sensitivity));
    }

    /// The same for a peer's.
    pub(super) fn lower_peer_ni(&self, peer_ni: &PeerNi) {
        self.change_peer_ni_health(peer_ni, lowered(peer_ni.health(), self.settings().health_sensitivity));
    }

    /// Sets it; who is not quite well is tried until it is (HE-5, HE-11).
    pub(crate) fn change_ni_health(&self, ni: &Ni, value: u32) {
        self.set_ni_value(ni, value);
        if value < MAX_HEALTH {
            self.try_ni(ni);
        }
    }

    /// Sets it, and says if that makes it another state (dbg-110).
    fn set_ni_value(&self, ni: &Ni, value: u32) {
        let before = NiState::of(ni);
        ni.set_health(value);
        let now = NiState::of(ni);
        if now != before {
            self.env.log(
                LogClass::NiHealth,
                ni.nid(),
                format_args!("NI {}: {before} -> {now} (health value {value})", ni.nid()),
            );
        }
    }

    /// The same for a peer's.
    pub(crate) fn change_peer_ni_health(&self, peer_ni: &PeerNi, value: u32) {
        peer_ni.set_health(value);
        if value < MAX_HEALTH {
            self.try_peer_ni(peer_ni);
        }
    }

    /// Whether this node has one interface beside the loopback: there is no other to blame it before (HE-10).
    pub(super) fn is_single_rail(&self) -> bool {
        self.topology.with_nets(|nets| nets.nis().filter(|ni| !ni.nid().is_loopback()).count() <= 1)
    }

    /// Whether the peer has no other NID (HE-10).
    pub(super) fn is_single_nid(&self, peer_ni: &PeerNi) -> bool {
        peer_ni.peer_now().nids.len() <= 1
    }
}

/// Whether it tells something of the way between two interfaces, and not of this node alone.
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

    /// HE-1, HE-56.
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
