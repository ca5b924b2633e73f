//! The decision on how received ping information is merged (core-behaviour 5.6). This module changes nothing.

use super::Difference;
use super::step::is_older;
use crate::model::{LocalState, Peer, PeerState as Flag, Progress};
use crate::topology::Topology;
use foldhash::fast::FixedState;
use lnet_settings::DiscoveryMode;
use lnet_wire::Nid;
use lnet_wire::ping_info::{Features, PingInfo};
use std::hash::BuildHasher;
use std::sync::Arc;

/// The present owner of a NID that a peer claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// No peer owns the NID, or a peer that may lose it.
    Free,
    /// A configured peer.
    Configured,
    /// A peer with several NIDs, whose locked primary NID this is.
    Locked,
    /// A peer with this NID alone, which is locked as its primary NID: the peer that gets the NID is locked to it (OM-28).
    LockedAlone,
    /// The NIDs are those of this node.
    ThisNode,
    /// The NIDs are those of another node, although the peer is this node.
    NotThisNode,
}

/// The limits on the NIDs that are accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct MergeLimits {
    /// The number of NIDs of one peer.
    pub(super) max_interfaces: usize,
    /// The number of peer NIs of the node.
    pub(super) max_peers: usize,
}

/// The way in which received ping information is merged.
#[derive(Debug)]
pub(super) enum MergePlan {
    /// Nothing is merged: no NID of the information can be accepted.
    Ignore,
    /// Nothing is merged: discovery is disabled on this node or the peer.
    Disabled,
    /// Nothing is merged; these differences are reported.
    Compare(Vec<Difference>),
    /// Nothing is merged: newer information of the same node contradicts it.
    Stale,
    /// The information replaces the NIDs of a peer.
    Update(NidUpdate),
}

/// The new NIDs of a peer.
#[derive(Debug)]
pub(super) struct NidUpdate {
    /// The peer with the right primary NID, if that is not the one that was pinged: it gets the NIDs.
    pub(super) merge_target: Option<Arc<Peer>>,
    pub(super) nids: NidPlan,
}

/// The NIDs that a peer gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NidPlan {
    pub(super) primary: Nid,
    /// The NIDs, the primary one first.
    pub(super) nids: Vec<Nid>,
    /// NIDs that the peer claims and does not get.
    pub(super) rejected: Vec<(Nid, Owner)>,
    /// Whether the primary NID is that of a locked peer which is merged into this one.
    pub(super) inherits_lock: bool,
}

/// Plans the merge of the information `info` of `peer`.
pub(super) fn plan_merge(
    topology: &Topology,
    limits: MergeLimits,
    local: &LocalState,
    peer: &Arc<Peer>,
    info: &PingInfo,
) -> MergePlan {
    let claimed = claimed_nids(topology, limits, peer, info);
    let disabled = peer.discovery.with(|inner| inner.progress.is_disabled(local));
    let only_compare = local.mode == DiscoveryMode::Verify || peer.is_configured();
    if local.discovers() && only_compare && !claimed.is_empty() {
        return MergePlan::Compare(compare(topology, peer, info, &claimed));
    }
    if disabled {
        return MergePlan::Disabled;
    }
    let Some(first) = claimed.first() else { return MergePlan::Ignore };
    // The next REPLY shows whether a newer message has overtaken this one, or the peer has restarted.
    if is_stale(topology, peer, &claimed, info) {
        return MergePlan::Stale;
    }
    let merge_target = merge_target(topology, peer, *first, claimed.contains(&peer.primary));
    let grows = merge_target.as_ref().unwrap_or(peer);
    let keeps_primary = grows.state().contains(Flag::LOCK_PRIMARY);
    let nids = plan_nids(&grows.nids, keeps_primary, &claimed, |nid| owner(topology, nid, grows, peer));
    MergePlan::Update(NidUpdate { merge_target, nids })
}

/// The claimed NIDs that may be accepted: known NIDs, and unknown ones as far as the limit on peer NIs allows.
fn claimed_nids(topology: &Topology, limits: MergeLimits, peer: &Peer, info: &PingInfo) -> Vec<Nid> {
    let mut room = limits.max_peers.saturating_sub(topology.peers().len());
    let has_room = |nid: &Nid| {
        let left = if topology.peer_ni(*nid).is_some() { Some(room) } else { room.checked_sub(1) };
        room = left.unwrap_or(room);
        left.is_some()
    };
    let claimed = info.entries.iter().take(limits.max_interfaces).map(|entry| entry.nid);
    if peer.is_configured() { claimed.collect() } else { claimed.filter(has_room).collect() }
}

/// Plans the NIDs of a peer that has `nids` and claims `claimed`, the primary NID first in both (OM-24,
/// OM-28, OM-30). `keeps_primary`: the primary NID is locked.
fn plan_nids(nids: &[Nid], keeps_primary: bool, claimed: &[Nid], owner: impl Fn(Nid) -> Owner) -> NidPlan {
    let mut rejected = Vec::new();
    let mut locked = None;
    let mut gets = Vec::with_capacity(claimed.len());
    for nid in claimed {
        match if nids.contains(nid) { Owner::Free } else { owner(*nid) } {
            Owner::Free => gets.push(*nid),
            Owner::LockedAlone => {
                locked = locked.or(Some(*nid));
                gets.push(*nid);
            }
            owner => rejected.push((*nid, owner)),
        }
    }
    let known = nids.first().copied().filter(|_| keeps_primary);
    let inherits_lock = known.is_none() && locked.is_some();
    let mut all: Vec<Nid> = Vec::with_capacity(claimed.len() + 1);
    for nid in known.or(locked).into_iter().chain(gets) {
        if !all.contains(&nid) {
            all.push(nid);
        }
    }
    // No claimed NID is accepted: the peer keeps its NIDs.
    if all.is_empty() {
        all.extend_from_slice(nids);
    }
    NidPlan { primary: all.first().copied().unwrap_or(Nid::LOOPBACK), nids: all, rejected, inherits_lock }
}

/// Whether another peer with one of the claimed NIDs, which may be the same node, has sent newer information. A
/// sequence number that was stale before and came again in the REPLY to the next ping is accepted.
fn is_stale(topology: &Topology, peer: &Peer, claimed: &[Nid], info: &PingInfo) -> bool {
    let has_newer_info = |nid: &Nid| {
        topology.peer(*nid).is_some_and(|known| {
            known.discovery.id() != peer.discovery.id()
                && !known.is_configured()
                && known.discovery.with(|inner| inner.progress.knows_newer_than(info))
        })
    };
    peer.discovery.with(|inner| inner.progress.stale_seq) != Some(info.sequence)
        && claimed.iter().any(has_newer_info)
}

/// The other peer, if any, that is the same node as `peer`, which claims `first` as its primary NID: the peer with
/// that primary NID, the peer locked to it, or, if the primary NID of `peer` is not claimed, the peer with that NID.
fn merge_target(topology: &Topology, peer: &Peer, first: Nid, claims_primary: bool) -> Option<Arc<Peer>> {
    let known = topology.peer(first)?;
    let is_other = known.discovery.id() != peer.discovery.id();
    let may_grow = !known.is_configured()
        && (known.primary == first || !claims_primary || known.state().contains(Flag::LOCK_PRIMARY))
        && topology.is_own(known.primary) == topology.is_own(peer.primary);
    (is_other && may_grow && !peer.state().contains(Flag::LOCK_PRIMARY)).then_some(known)
}

/// The owner of `nid`, which `grows` is to get from the information of `peer`.
pub(super) fn owner(topology: &Topology, nid: Nid, grows: &Peer, peer: &Peer) -> Owner {
    match (topology.is_own(nid), topology.is_own(grows.primary)) {
        (true, false) => return Owner::ThisNode,
        (false, true) => return Owner::NotThisNode,
        _ => {}
    }
    let Some(known) = topology.peer(nid) else {
        return Owner::Free;
    };
    let locked = known.state().contains(Flag::LOCK_PRIMARY) && known.primary == nid;
    match known {
        known if known.discovery.id() == peer.discovery.id() => Owner::Free,
        known if known.is_configured() => Owner::Configured,
        known if locked && known.nids.len() > 1 => Owner::Locked,
        _ if locked => Owner::LockedAlone,
        _ => Owner::Free,
    }
}

fn compare(topology: &Topology, peer: &Peer, info: &PingInfo, claimed: &[Nid]) -> Vec<Difference> {
    // An unconfigured peer with a single NID may be the same node, which has sent from that interface.
    let is_of_another =
        |nid: Nid| topology.peer(nid).is_some_and(|known| known.is_configured() || known.nids.len() > 1);
    let says_multi_rail = info.features.contains(Features::MULTI_RAIL);
    peer.discovery
        .with(|inner| differences(&peer.nids, &inner.progress, says_multi_rail, claimed, is_of_another))
}

/// The differences between the claimed NIDs of a peer and the known ones (dyn-060).
fn differences(
    nids: &[Nid],
    progress: &Progress,
    says_multi_rail: bool,
    claimed: &[Nid],
    is_of_another: impl Fn(Nid) -> bool,
) -> Vec<Difference> {
    let mut found = Vec::new();
    let multi_rail = progress.has(Flag::MULTI_RAIL);
    found.extend((multi_rail != says_multi_rail).then_some(Difference::MultiRail(says_multi_rail)));
    let primary = claimed.first().copied().filter(|primary| nids.first() != Some(primary));
    found.extend(primary.map(Difference::Primary));
    for nid in claimed.iter().filter(|nid| !nids.contains(nid)) {
        found.push(if is_of_another(*nid) { Difference::Claimed(*nid) } else { Difference::Extra(*nid) });
    }
    found.extend(nids.iter().filter(|nid| !claimed.contains(nid)).copied().map(Difference::Missing));
    found
}

impl NidPlan {
    /// The flags that the peer gets.
    pub(super) fn marks(&self) -> Flag {
        let locked = if self.inherits_lock { Flag::LOCK_PRIMARY } else { Flag::default() };
        let rejected = self.rejected.iter().any(|(_, owner)| *owner == Owner::Locked);
        locked.union(if rejected { Flag::BAD_CONFIG } else { Flag::default() })
    }
}

impl Owner {
    /// The reason for the log why the NID is rejected.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Free | Self::LockedAlone => "no other peer has it",
            Self::Configured => "configured for another peer",
            Self::Locked => "locked primary NID of another peer",
            Self::ThisNode => "NID of this node",
            Self::NotThisNode => "the peer is this node, which does not have it",
        }
    }
}

impl Progress {
    /// Whether the known information is newer than `info`, or of another incarnation: the same number with other NIDs.
    pub(super) fn knows_newer_than(&self, info: &PingInfo) -> bool {
        let is_other = || self.peer_list.is_some_and(|known| known != digest(info));
        self.peer_sequence != 0
            && (is_older(info.sequence, self.peer_sequence)
                || info.sequence == self.peer_sequence && is_other())
    }

    /// Stores the sequence number and the digest of the NIDs that the peer has reported.
    pub(super) fn note_list(&mut self, info: &PingInfo) {
        (self.peer_sequence, self.peer_list) = (info.sequence, Some(digest(info)));
    }
}

/// A hash of the NIDs in `info`, in their order.
fn digest(info: &PingInfo) -> u64 {
    let nids: Vec<Nid> = info.entries.iter().map(|entry| entry.nid).collect();
    FixedState::default().hash_one(nids)
}

#[cfg(all(test, not(loom)))]
#[path = "merge_tests.rs"]
mod tests;
