//! Interfaces that are down, as the machine or the peer reports (HE-4): their messages change their path without waiting for
//! a timeout.

use super::Admin;
use crate::discovery::{Failure, Step};
use crate::health::{Cause, NiState};
use crate::model::message::OutgoingMessage;
use crate::model::{FatalReporter, Ni, PeerNi};
use lnet_log::LogClass;
use lnet_settings::MAX_HEALTH;
use lnet_wire::{Errno, Nid};
use std::sync::Arc;

/// The number of peer NIs on a net up to which each is pinged before an interface that has recovered is used again.
const MAX_PATHS_TRIED: usize = 256;

impl Admin<'_> {
    /// Stores whether an interface of this node has a fatal error, as its driver or the machine reports, and pushes
    /// the change to peers (HE-4, dyn-050). `why` is the cause for the log (dbg-110), or `None` if the interface has
    /// recovered. Any thread may call, event handlers too. An unknown NID changes nothing, nor does a further cause.
    ///
    /// Messages in flight on a failed interface, and on paths that begin at it, are resent on other paths, if there
    /// are any.
    ///
    /// With several reporters an interface has a fatal error as long as one of them says so.
    pub fn set_ni_fatal(&self, nid: Nid, reporter: FatalReporter, why: Option<&str>) {
        let fatal = why.is_some();
        let is_new = |ni: &&Arc<Ni>| ni.fatal_reporters().any(|other| other == reporter) != fatal;
        let Some(ni) = self.topology.with_nets(|nets| nets.ni(nid).filter(is_new).cloned()) else { return };
        if ni.fatal_reporters().any(|other| other != reporter) {
            return ni.set_fatal(reporter, fatal);
        }
        let before = self.health.take_logged_state(&ni);
        ni.set_fatal(reporter, fatal);
        let now = NiState::of(&ni);
        let cause = why.unwrap_or("recovered");
        self.env.log(ni_class(fatal), nid, format_args!("NI {nid}: {before} -> {now} ({cause})"));
        self.health.reachability_may_change_for_all(self.topology);
        self.discovery.schedule_republish();
        if fatal {
            self.leave(&ni);
        } else {
            self.health.expedite_paths_from(nid, self.env.now());
            self.neighbours_of(&ni)
                .iter()
                .for_each(|peer_ni| self.health.expedite_paths_to(peer_ni.nid(), self.env.now()));
        }
    }

    /// Moves all messages from this interface to other paths.
    fn leave(&self, ni: &Arc<Ni>) {
        let nets = self.topology.nets();
        let peer_nis = self.peers_on_net_of(ni);
        for peer_ni in &peer_nis {
            // Once the interface has recovered, pings show which of its paths work that have never been used.
            let may_be_tried = peer_nis.len() <= MAX_PATHS_TRIED && !peer_ni.was_heard_by(ni);
            if may_be_tried && self.may_abandon(ni, peer_ni) {
                self.health.note_unresponsive(self.env, self.topology, ni, peer_ni);
            }
            self.abort_tx(ni, peer_ni, Cause::LocalAborted);
        }
        for peer_ni in self.neighbours_of(ni) {
            let others = nets.net(ni.nid().net()).into_iter().flat_map(|net| net.nis());
            let others = others.filter(|other| !other.is_fatal());
            for other in others.filter(|other| !other.is_neighbour(peer_ni.nid())) {
                if self.may_abandon(other, &peer_ni) {
                    self.health.note_unresponsive(self.env, self.topology, other, &peer_ni);
                    self.abort_tx(other, &peer_ni, Cause::NetworkTimeout);
                }
            }
        }
        self.data_path.move_waiting(ni);
    }

    /// Stores whether a peer reports one of its interfaces as down.
    pub(crate) fn set_reported_down(&self, peer_ni: &Arc<PeerNi>, down: bool) {
        if peer_ni.is_reported_down() == down {
            return;
        }
        peer_ni.set_reported_down(down);
        self.health.reachability_may_change(peer_ni.nid());
        if !down {
            return self.health.expedite_paths_to(peer_ni.nid(), self.env.now());
        }
        let nets = self.topology.nets();
        let nis = nets.net(peer_ni.nid().net()).into_iter().flat_map(|net| net.nis());
        nis.for_each(|ni| self.abort_tx(ni, peer_ni, Cause::RemoteDropped));
        let its = |message: &OutgoingMessage| {
            message.peer_ni.as_ref().is_some_and(|its| Arc::ptr_eq(its, peer_ni))
                && message.source().is_none()
        };
        self.data_path.move_waiting_for_peers(its);
    }

    /// Stores an operator's report about an interface of a peer: alive, which also restores its health, or down (RT-33). If the
    /// peer is a gateway, the report also counts as the result of its last check, until the next one. An unknown NID changes
    /// nothing.
    pub fn notify_peer_ni(&self, nid: Nid, alive: bool) {
        let Some(peer_ni) = self.topology.peer_ni(nid) else { return };
        self.set_reported_down(&peer_ni, !alive);
        if alive {
            self.set_peer_ni_health(Some(nid), MAX_HEALTH);
        }
        let peer = peer_ni.peer();
        if self.topology.is_gateway(&peer) {
            let failure = Failure { step: Step::Ping, nid, errno: Errno::HostUnreachable, limit: None };
            peer.discovery.with(|inner| inner.failure = (!alive).then_some(failure));
            self.note_routes();
            // Lines about routes may wait.
            self.health.wake();
        }
    }

    /// Makes the driver return the messages in flight on this path, if they can take another one, or can be returned to the
    /// node that they came from.
    fn abort_tx(&self, ni: &Ni, peer_ni: &PeerNi, cause: Cause) {
        if (self.may_abandon(ni, peer_ni) || self.topology.forwards())
            && let Some(lnd) = ni.lnd()
        {
            lnd.abort_tx(Some(peer_ni.nid()), cause);
        }
    }

    /// Whether all messages on this path could take another one.
    fn may_abandon(&self, ni: &Ni, peer_ni: &PeerNi) -> bool {
        peer_ni.peer_now().is_multi_rail() && self.topology.has_other_path(ni, peer_ni, false)
    }

    fn peers_on_net_of(&self, ni: &Ni) -> Vec<Arc<PeerNi>> {
        let all = self.topology.peers().all().into_iter();
        all.filter(|peer_ni| peer_ni.nid().net() == ni.nid().net()).collect()
    }

    /// The peer NIs that are known to be on the same link as the interface.
    fn neighbours_of(&self, ni: &Ni) -> Vec<Arc<PeerNi>> {
        self.peers_on_net_of(ni).into_iter().filter(|peer_ni| ni.is_neighbour(peer_ni.nid())).collect()
    }
}

/// The class of the line about a change of an NI: a failure or a recovery.
const fn ni_class(has_failed: bool) -> LogClass {
    if has_failed { LogClass::NiState } else { LogClass::NiRecovered }
}
