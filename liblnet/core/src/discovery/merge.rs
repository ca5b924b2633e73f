//! Following what a peer says of itself (core-behaviour 5.6).

use super::merge_plan::{Follow, MergeLimits, MergePlan, Owner, owner, plan_merge};
use super::{Difference, Discovery, Input};
use crate::environment::{ConfigGuard, Environment};
use crate::model::{Inner, Peer, PeerState as Flag, Preferred, Progress};
use crate::topology::Topology;
use lnet_log::LogClass;
use lnet_wire::Nid;
use lnet_wire::ping_info::PingInfo;
use std::sync::Arc;

/// What came of following a peer; [`Discovery::finish_merge`] is to be called with it.
#[derive(Debug, Default)]
pub(crate) struct MergeEffects {
    /// The peer that has, perhaps, got other NIDs: paths to it may have changed.
    pub(crate) grown: Option<Arc<Peer>>,
    /// The peer that grew is not the one that was asked.
    into_another: bool,
    /// What was said is older than what is known.
    stale: bool,
}

impl Discovery {
    /// Follows what `peer` said.
    pub(crate) fn merge(
        &self,
        config: &ConfigGuard<'_>,
        env: &Environment,
        topology: &Topology,
        peer: &Arc<Peer>,
        info: &PingInfo,
    ) -> MergeEffects {
        let limits = MergeLimits {
            max_interfaces: env.settings().max_interfaces as usize,
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
            MergePlan::Follow(plan) => follow(config, env, topology, peer, plan, info),
        }
    }

    /// What [`Discovery::merge`] returned has been dealt with.
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
            // It was another that answered, by a NID that this one has lost: it has not been heard itself.
            if topology.peer_of(&peer.discovery).is_some() {
                return self.handle_input(&peer.discovery, Input::AnsweredByAnother);
            }
        }
        self.handle_input(&peer.discovery, Input::Merged);
    }

    /// Has those asked again who said that they have NIDs that they did not get, but would get now.
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

/// Gives a peer the NIDs that it says it has. If it is known twice, the one that is known by the right primary
/// NID takes over.
fn follow(
    config: &ConfigGuard<'_>,
    env: &Environment,
    topology: &Topology,
    peer: &Arc<Peer>,
    plan: Follow,
    info: &PingInfo,
) -> MergeEffects {
    let Follow { merge_target, nids: plan } = plan;
    if let Some(target) = &merge_target {
        let path = peer.discovery.with(|inner| inner.progress.path);
        target.discovery.with(|inner| inner.progress.inherit(path, info.sequence));
    }
    let grows = merge_target.as_ref().unwrap_or(peer);
    for (nid, owner) in &plan.rejected {
        let (primary, why) = (grows.primary, owner.words());
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
        // It may be another node than the one that was told what this one has, or another that has got a NID of
        // its may have confirmed that.
        if renamed || progress.confirmed_by.is_some_and(|nid| !plan.nids.contains(&nid)) {
            progress.node_sequence = 0;
            progress.confirmed_by = None;
        }
    });
    let grown = if plan.primary == grows.primary && same(&plan.nids, &grows.nids) {
        Arc::clone(grows)
    } else {
        log::debug!("peer {}: {} NIDs after discovery", plan.primary, plan.nids.len());
        let credits = |nid| topology.first_peer_credits(nid);
        topology.peers().reshape(config, grows, plan.primary, plan.nids, credits)
    };
    freshen(topology, &grown);
    MergeEffects { grown: Some(grown), into_another: merge_target.is_some(), stale: false }
}

/// What differs is logged, once as long as it stays so.
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

/// A peer whose locked primary NID another claims is shown to be configured badly.
fn note_conflict(topology: &Topology, nid: Nid, owner: Owner) {
    if owner == Owner::Locked
        && let Some(locked) = topology.peer(nid)
    {
        locked.discovery.with(|inner| inner.progress.set(Flag::BAD_CONFIG));
    }
}

/// What is new on a multi-rail peer sticks to no interface (OM-23) and is under the rules.
fn freshen(topology: &Topology, peer: &Peer) {
    for peer_ni in peer.nids.iter().filter_map(|nid| topology.peer_ni(*nid)) {
        if matches!(*peer_ni.preferred(), Preferred::Sticky(_)) {
            peer_ni.set_preferred(Preferred::Nothing);
        }
        if topology.has_rules() {
            topology.apply_rules_to(&peer_ni);
        }
    }
}

/// Whether these are the same NIDs, in whichever order.
fn same(some: &[Nid], others: &[Nid]) -> bool {
    some.len() == others.len() && some.iter().all(|nid| others.contains(nid))
}

impl Progress {
    /// A peer that was known twice goes on as this one.
    fn inherit(&mut self, path: Option<(Nid, Nid)>, sequence: u32) {
        self.set(Flag::MULTI_RAIL.and(Flag::NIDS_UPTODATE));
        self.clear(Flag::NO_DISCOVERY.and(Flag::FORCE_PING).and(Flag::PING_FAILED));
        self.peer_sequence = sequence;
        self.path = self.path.or(path);
    }
}
