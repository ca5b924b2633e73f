//! Suspect paths: the other paths to a peer of which one path has become unresponsive.
//!
//! A failure that kills one path often kills others, which nothing shows where no message is in flight. So each other
//! path becomes suspect: it is pinged at once, and until something is received on it selection prefers the paths on
//! which something was. Otherwise messages that leave a dead path would move to the next dead one, and wait for its
//! timeout.

use super::probe::Purpose;
use super::suspect_paths::{LONGEST, Pinged};
use super::{Health, Probe, ProbeAction};
use crate::environment::time::Time;
use crate::model::{Ni, PeerNi};
use crate::select;
use crate::topology::Topology;
use lnet_wire::Nid;

impl Health {
    /// A path has become unresponsive: the other paths to the peer that are not unresponsive become suspect.
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
                Some(at) if now.since(at) < LONGEST && may_work(topology, path) => {}
                _ => {
                    actions.extend(ping.map(ProbeAction::End));
                    self.trust(topology, path);
                }
            }
        }
        actions
    }

    /// When the next suspect path needs an action.
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

/// Whether a path is not unresponsive, and both its ends exist.
fn may_work(topology: &Topology, (local, peer): (Nid, Nid)) -> bool {
    let ends = topology.ni(local).zip(topology.peer_ni(peer));
    ends.is_some_and(|(ni, peer_ni)| !select::is_avoided(&ni, &peer_ni))
}
