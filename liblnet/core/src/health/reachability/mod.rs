//! The reachability of peers: a state of each peer, derived from its paths and logged when it changes.
//!
//! The state is a pure function of the paths ([`Assessment::of`]). Changes of its inputs mark the peer
//! ([`Health::reachability_may_change`]); the monitor thread computes and stores the new state, and logs it when it has lasted
//! (`crate::model::settling`). That a peer is unreachable which has never responded is logged at once. Peers that change in
//! the same way share a line. Lines about peers that an operator has configured, as peers or as gateways, are not suppressed
//! because of others, which may be created by any sender.

mod assessment;
mod lines;

use super::{Health, PeerNiState};
use crate::environment::Environment;
use crate::environment::time::Time;
use crate::model::{GatewayTerms, Peer, PeerNi, Reachability};
use crate::sync::lock;
use crate::topology::Topology;
use assessment::{Assessment, assess, facts, facts_of_routes};
use lines::{Line, Unlogged, note_one, take_line};
use lnet_wire::{NetId, Nid};

/// The reachability of one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerReachability {
    /// The state.
    pub state: Reachability,
    /// The time of the last change of the state.
    pub since: Time,
    /// The number of paths to the peer.
    pub paths: usize,
    /// The number of usable paths.
    pub usable: usize,
}

impl Health {
    /// Marks the peer with this NID: its reachability may have changed.
    pub(crate) fn reachability_may_change(&self, nid: Nid) {
        lock(&self.reachability).insert(nid);
        self.wake();
    }

    /// Marks all peers: the local interfaces have changed.
    pub(crate) fn reachability_may_change_for_all(&self, topology: &Topology) {
        let peers = topology.peers().peers();
        lock(&self.reachability).extend(peers.iter().map(|peer| peer.primary));
        self.wake();
    }

    /// Marks the peers on this net: the routes to it have changed.
    pub(crate) fn reachability_may_change_on(&self, topology: &Topology, net: NetId) {
        let peers = topology.peers().peers();
        let on_net = peers.iter().filter(|peer| peer.net(net).is_some());
        lock(&self.reachability).extend(on_net.map(|peer| peer.primary));
        self.wake();
    }

    /// Stores the reachability of peers that have been marked, and logs what has lasted; returns when the next line is due.
    pub(crate) fn update_reachability(
        &self,
        env: &Environment,
        topology: &Topology,
        now: Time,
    ) -> Option<Time> {
        let pending = std::mem::take(&mut *lock(&self.reachability));
        let is_node = |nid: &Nid| !topology.peer_ni(*nid).is_some_and(|peer_ni| peer_ni.is_truncated());
        let peers = pending.into_iter().filter(is_node).filter_map(|nid| topology.peer(nid));
        let waiting: Vec<Unlogged> = peers.filter_map(|peer| note_one(env, topology, peer, now)).collect();
        // Peers that have changed a little later in the same way go into the same line.
        let has_come = |change| waiting.iter().any(|its| its.change == change && its.due <= now);
        let (due, later): (Vec<_>, Vec<_>) = waiting.iter().partition(|its| has_come(its.change));
        let mut lines: Vec<Line> = Vec::new();
        for line in due.into_iter().filter_map(|its| take_line(topology, its, now)) {
            match lines.iter_mut().find(|other| other.may_include(&line)) {
                Some(other) => other.others.push(line.primary),
                None => lines.push(line),
            }
        }
        lines.iter().for_each(|line| line.write(env));
        lock(&self.reachability).extend(later.iter().map(|its| its.peer.primary));
        later.iter().map(|its| its.due).min()
    }
}

impl PeerReachability {
    /// The current reachability of a peer.
    pub(crate) fn of(peer: &Peer, env: &Environment, topology: &Topology) -> Self {
        let Assessment { state, paths, usable, .. } = assess(env, topology, peer);
        let remembered = *lock(&peer.discovery.reachability);
        // A change that has just happened has not been stored yet.
        let since = match remembered.settling.state() == state {
            true => remembered.settling.since(),
            false => env.now(),
        };
        Self { state, since, paths, usable }
    }
}

/// The state of a peer NI (dbg-030): it has failed, too, if no path to it can be used.
pub(crate) fn peer_ni_state(env: &Environment, topology: &Topology, peer_ni: &PeerNi) -> PeerNiState {
    let peer = peer_ni.peer_now();
    let terms = GatewayTerms::of(&env.settings());
    let facts = topology.with_paths(|paths| match paths.nets.net(peer_ni.nid().net()) {
        Some(_) => facts(paths.nets, peer_ni, peer.is_multi_rail()),
        None => facts_of_routes(paths, &peer, peer_ni, terms),
    });
    let has_paths = !facts.is_empty();
    match Assessment::of(peer_ni.was_heard(), [facts]).state {
        Reachability::Unreachable if has_paths => PeerNiState::Failed,
        _ => PeerNiState::of(peer_ni),
    }
}
