//! Suspect paths: those that are late, and the other paths to a peer of which one path is late or unresponsive.
//!
//! A driver reports a path as late at the first sign that it may be dead: something is in flight, and nothing is
//! received. A failure that kills one path often kills others, which remains unnoticed where no message is in flight. So each
//! other path to the peer becomes suspect: it is pinged at once, and until something is received on it selection prefers
//! the paths on which something was received, then those between two ends of one link, and a late one last. Otherwise new
//! messages could use paths on which they wait until the path is found unresponsive, and messages that leave a dead path would
//! move to the next dead one.
//!
//! A suspicion decides between paths for new messages, and for those that wait for credits: once another path is known to work,
//! the messages in flight on a late path do not keep credits from them. Nothing else follows: no message is returned, resent
//! or failed because of it, and no health value changes.

use super::probe::Purpose;
use super::suspect_paths::{MAX_PING_INTERVAL, PROVEN_FOR, Pinged};
use super::{Health, Probe, ProbeAction};
use crate::environment::time::Time;
use crate::model::{Ni, PeerNi};
use crate::select;
use crate::topology::Topology;
use lnet_wire::Nid;
use std::time::Duration;

impl Health {
    /// Records that the driver receives nothing on a path with something in flight, or has to send it again. It reports this
    /// repeatedly.
    pub(crate) fn path_is_late(&self, topology: &Topology, ni: &Ni, peer_ni: &PeerNi, now: Time) {
        if topology.is_own(peer_ni.nid()) || select::is_avoided(ni, peer_ni) || peer_ni.is_truncated() {
            return;
        }
        if self.suspects.add_late((ni.nid(), peer_ni.nid()), now) && peer_ni.late_from(ni) {
            self.suspect_other_paths(topology, ni, peer_ni, now);
            // The monitor thread clears suspect paths in time.
            self.wake();
        }
    }

    /// A path has become late or unresponsive: the other paths to the peer that are not unresponsive become suspect.
    pub(super) fn suspect_other_paths(&self, topology: &Topology, ni: &Ni, peer_ni: &PeerNi, now: Time) {
        let peer = peer_ni.peer_now();
        if !peer.is_multi_rail() {
            return;
        }
        let path = (ni.nid(), peer_ni.nid());
        let mut any = false;
        topology.with_nets(|nets| {
            select::for_each_path(nets, &peer, |ni, peer_ni| {
                let other = (ni.nid(), peer_ni.nid());
                any |= other != path
                    && !select::is_avoided(ni, peer_ni)
                    && self.suspects.add(other, now, || peer_ni.suspect_from(ni));
            });
        });
        if any {
            self.wake();
        }
    }

    /// The pings of new suspect paths; paths that have been suspect for too long are cleared.
    pub(crate) fn poll_suspects(&self, topology: &Topology, now: Time) -> Vec<ProbeAction> {
        let mut actions = Vec::new();
        for (path @ (local, peer), Pinged { at, ping }) in self.suspects.all() {
            match at {
                None if may_work(topology, path) => {
                    actions.extend(ping.map(ProbeAction::End));
                    self.suspects.pinged(path, Pinged { at: Some(now), ping: None });
                    actions.push(ProbeAction::Send(Probe { local, peer, purpose: Purpose::Suspect }));
                }
                Some(at) if now.since(at) < stays_for(topology, path) && may_work(topology, path) => {}
                _ => {
                    actions.extend(ping.map(ProbeAction::End));
                    self.trust(topology, path);
                }
            }
        }
        actions
    }

    /// The time at which the next suspect path needs an action.
    pub(crate) fn next_suspect(&self, now: Time) -> Option<Time> {
        self.suspects.next(now)
    }

    fn trust(&self, topology: &Topology, path @ (local, peer): (Nid, Nid)) {
        self.suspects.remove(path);
        if let Some((ni, peer_ni)) = topology.ni(local).zip(topology.peer_ni(peer)) {
            peer_ni.trust_from(&ni);
        }
    }
}

/// The time for which a path is kept after its ping; a path that has responded is kept only as long as it must not be pinged
/// again.
fn stays_for(topology: &Topology, (local, peer): (Nid, Nid)) -> Duration {
    let ends = topology.ni(local).zip(topology.peer_ni(peer));
    match ends.is_some_and(|(ni, peer_ni)| peer_ni.is_suspect_from(&ni)) {
        true => MAX_PING_INTERVAL,
        false => PROVEN_FOR,
    }
}

/// Whether a path is not unresponsive, and both its ends exist.
fn may_work(topology: &Topology, (local, peer): (Nid, Nid)) -> bool {
    let ends = topology.ni(local).zip(topology.peer_ni(peer));
    ends.is_some_and(|(ni, peer_ni)| !select::is_avoided(&ni, &peer_ni))
}
