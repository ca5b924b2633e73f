//! Merging the ping information of a peer into the topology (core-behaviour 5.6).

use super::merge_plan::{MergeLimits, MergePlan, NidUpdate, Owner, owner, plan_merge};
use super::requests::max_interfaces;
use super::{Difference, Discovery, Input};
use crate::environment::{ConfigGuard, Environment};
use crate::model::{Inner, Peer, PeerState as Flag, Progress};
use crate::topology::Topology;
use lnet_log::LogClass;
use lnet_wire::Nid;
use lnet_wire::ping_info::PingInfo;
use std::sync::Arc;

/// The result of a merge; pass it to [`Discovery::finish_merge`].
#[derive(Debug, Default)]
pub(crate) struct MergeEffects {
    /// The peer after the merge, to which paths may have changed.
    pub(crate) grown: Option<Arc<Peer>>,
    /// Whether `grown` is not the peer that was pinged.
    into_another: bool,
    /// Whether the information is older than the known one.
    stale: bool,
}

impl Discovery {
    /// Merges the ping information `info` of `peer`.
    pub(crate) fn merge(
        &self,
        config: &ConfigGuard<'_>,
        env: &Environment,
        topology: &Topology,
        peer: &Arc<Peer>,
        info: &PingInfo,
    ) -> MergeEffects {
        let limits = MergeLimits {
            max_interfaces: max_interfaces(&env.settings()) as usize,
            max_peers: env.config().max_peers,
        };
        match plan_merge(topology, limits, &self.local_state(), peer, info) {
            MergePlan::Ignore => MergeEffects::default(),
            MergePlan::Stale => MergeEffects { stale: true, ..MergeEffects::default() },
            MergePlan::Disabled => {
                peer.discovery.with(|inner| inner.differences.clear());
                MergeEffects::default()
            }
            MergePlan::Compare(found) => {
                note_differences(env, peer, &found);
                MergeEffects::default()
            }
            MergePlan::Update(plan) => {
                let effects = update_nids(config, env, topology, peer, plan, info);
                topology.note_told(env, &info.entries.iter().map(|entry| entry.nid).collect::<Vec<_>>());
                effects
            }
        }
    }

    /// Completes a merge after its effects have been carried out.
    pub(crate) fn finish_merge(
        &self,
        topology: &Topology,
        peer: &Peer,
        info: &PingInfo,
        effects: &MergeEffects,
    ) {
        if effects.stale {
            return self.handle_input(&peer.discovery, Input::StaleReply(info.sequence));
        }
        if let Some(grown) = effects.grown.as_ref().filter(|_| effects.into_another) {
            self.handle_input(&grown.discovery, Input::Wanted);
            // The REPLY came from another peer, by a NID that `peer` has lost: nothing was received from `peer`
            // itself.
            if topology.peer_of(&peer.discovery).is_some() {
                return self.handle_input(&peer.discovery, Input::AnotherResponded);
            }
        }
        self.handle_input(&peer.discovery, Input::Merged);
    }

    /// Pings again each peer that claims NIDs which were rejected and would be accepted now.
    pub(crate) fn reverify_rejected(&self, topology: &Topology) {
        for peer in topology.listed_peers() {
            let rejected = peer.discovery.with(|inner| inner.rejected_nids.clone());
            let is_free = |nid: &Nid| {
                let owner = owner(topology, *nid, &peer, &peer);
                note_conflict(topology, *nid, owner);
                matches!(owner, Owner::Free | Owner::LockedAlone)
            };
            if rejected.iter().any(is_free) {
                self.handle_input(&peer.discovery, Input::Reverify);
            }
        }
    }
}

/// Sets the NIDs of a peer to those that it claims. If the node is known as two peers, the peer with the right primary NID (the
/// merge target) takes them over.
fn update_nids(
    config: &ConfigGuard<'_>,
    env: &Environment,
    topology: &Topology,
    peer: &Arc<Peer>,
    plan: NidUpdate,
    info: &PingInfo,
) -> MergeEffects {
    let NidUpdate { merge_target, nids: plan } = plan;
    if let Some(target) = &merge_target {
        let path = peer.discovery.with(|inner| inner.progress.path);
        target.discovery.with(|inner| inner.progress.inherit(path, info));
    }
    let grows = merge_target.as_ref().unwrap_or(peer);
    for (nid, owner) in &plan.rejected {
        let (primary, why) = (grows.primary, owner.text());
        env.log(
            LogClass::PeerNidRejected,
            format_args!("{primary} claims {nid}"),
            format_args!("peer {primary}: NID {nid} rejected ({why}); its other NIDs are used"),
        );
        note_conflict(topology, *nid, *owner);
    }
    let (mark, renamed) = (plan.marks(), plan.primary != grows.primary);
    grows.discovery.with(|Inner { progress, differences, rejected_nids, .. }| {
        differences.clear();
        *rejected_nids = plan.rejected.iter().map(|(nid, _)| *nid).collect();
        progress.set(mark);
        // The node that received this node's configuration may not be this peer, or the push may
        // have been acknowledged by a node that has taken over one of this peer's NIDs.
        if renamed || progress.confirmed_by.is_some_and(|nid| !plan.nids.contains(&nid)) {
            progress.node_sequence = 0;
            progress.confirmed_by = None;
        }
    });
    let grown = if plan.primary == grows.primary && same_nids(&plan.nids, &grows.nids) {
        Arc::clone(grows)
    } else {
        log::debug!("peer {}: {} NIDs after discovery", plan.primary, plan.nids.len());
        let credits = |nid| topology.first_peer_credits(nid);
        topology.peers().reshape(config, grows, plan.primary, plan.nids, credits)
    };
    init_new_peer_nis(topology, &grown);
    MergeEffects { grown: Some(grown), into_another: merge_target.is_some(), stale: false }
}

/// Logs the differences, once until they change.
fn note_differences(env: &Environment, peer: &Peer, found: &[Difference]) {
    let is_new = peer.discovery.with(|inner| {
        let is_new = inner.differences != found;
        inner.differences = found.to_vec();
        is_new
    });
    let primary = peer.primary;
    for difference in found.iter().filter(|_| is_new) {
        let line = format_args!("peer {primary}: {difference}; its configuration here stays as it is");
        env.log(LogClass::PeerMismatch, primary, line);
    }
}

/// Flags a peer as badly configured if another peer claims its locked primary NID.
fn note_conflict(topology: &Topology, nid: Nid, owner: Owner) {
    if owner == Owner::Locked
        && let Some(locked) = topology.peer(nid)
    {
        locked.discovery.with(|inner| inner.progress.set(Flag::BAD_CONFIG));
    }
}

/// Unbinds new NIDs of a multi-rail peer from any interface (OM-23).
fn init_new_peer_nis(topology: &Topology, peer: &Peer) {
    for peer_ni in peer.nids.iter().filter_map(|nid| topology.peer_ni(*nid)) {
        peer_ni.set_sticky(None);
    }
}

/// Whether both lists hold the same NIDs, in any order.
fn same_nids(some: &[Nid], others: &[Nid]) -> bool {
    some.len() == others.len() && some.iter().all(|nid| others.contains(nid))
}

impl Progress {
    /// Takes over the path and the sequence number from a duplicate of this peer.
    fn inherit(&mut self, path: Option<(Nid, Nid)>, info: &PingInfo) {
        self.set(Flag::MULTI_RAIL.union(Flag::NIDS_UPTODATE));
        self.clear(Flag::NO_DISCOVERY.union(Flag::FORCE_PING).union(Flag::PING_FAILED));
        self.note_list(info);
        self.path = self.path.or(path);
    }
}
