//! What becomes of a peer that has said something of itself (core-behaviour 5.6): decided, and nothing changed.

use super::Difference;
use super::step::is_older;
use crate::environment::settings::DiscoveryMode;
use crate::model::{LocalState, Peer, PeerState as Flag, Progress};
use crate::topology::Topology;
use lnet_wire::Nid;
use lnet_wire::ping_info::{Features, PingInfo};
use std::sync::Arc;

/// What is known of who has a NID that a peer claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Nobody, or a peer that gives it up.
    Free,
    /// A peer that an operator has made.
    Configured,
    /// A peer with other NIDs whose locked primary NID it is.
    Locked,
    /// A peer without others whose locked primary NID it is: who gets it is locked to it (OM-28).
    LockedAlone,
    /// This node itself.
    Myself,
    /// Not this node, which the peer is.
    NotMyself,
}

/// How many NIDs are believed and taken in.
#[derive(Clone, Copy, Debug)]
pub(super) struct MergeLimits {
    /// Interfaces of one peer.
    pub(super) max_interfaces: usize,
    /// Peer NIs of the node.
    pub(super) max_peers: usize,
}

/// What is done about what a peer said.
#[derive(Debug)]
pub(super) enum MergePlan {
    /// Nothing.
    Ignore,
    /// Nothing; neither side is to learn from the other.
    Disabled,
    /// The peer stays as it is, and is said to differ so.
    Compare(Vec<Difference>),
    /// Nothing: one that is known better says otherwise.
    Stale,
    /// A peer gets other NIDs.
    Follow(Follow),
}

/// What a peer gets.
#[derive(Debug)]
pub(super) struct Follow {
    /// The peer that was already known by the right primary NID, and takes over from the one that was asked.
    pub(super) merge_target: Option<Arc<Peer>>,
    pub(super) nids: NidPlan,
}

/// The NIDs that a peer gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NidPlan {
    pub(super) primary: Nid,
    /// The primary one first.
    pub(super) nids: Vec<Nid>,
    /// NIDs that it says it has and does not get.
    pub(super) rejected: Vec<(Nid, Owner)>,
    /// Its primary NID is that of a locked peer that it takes in.
    pub(super) inherits_lock: bool,
}

/// What is to be done about what `peer` said.
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
    // The next answer will tell whether it was overtaken, or the peer has begun a new life.
    if is_stale(topology, peer, &claimed, info.sequence) {
        return MergePlan::Stale;
    }
    let merge_target = merge_target(topology, peer, *first, claimed.contains(&peer.primary));
    let grows = merge_target.as_ref().unwrap_or(peer);
    let keeps_primary = grows.state().contains(Flag::LOCK_PRIMARY);
    let nids = plan_nids(&grows.nids, keeps_primary, &claimed, |nid| owner(topology, nid, grows, peer));
    MergePlan::Follow(Follow { merge_target, nids })
}

/// The NIDs that count of those that a peer says it has. Of NIDs that nobody has it gets as many as there is room for.
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

/// What a peer with `nids`, the primary one first, becomes when it says that it has the NIDs `claimed`, the primary
/// one first (OM-24, OM-28, OM-30). `keeps_primary`: that is locked.
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
    // Nothing that it may have: it stays what it was.
    if all.is_empty() {
        all.extend_from_slice(nids);
    }
    NidPlan { primary: all.first().copied().unwrap_or(Nid::LOOPBACK), nids: all, rejected, inherits_lock }
}

/// Whether one that has some of these NIDs has told later news of itself, as far as can be known: it may be the same
/// node, known by another NID. Not if the same number was stale before, and the peer has answered so when it was asked again.
fn is_stale(topology: &Topology, peer: &Peer, claimed: &[Nid], sequence: u32) -> bool {
    let knows_better = |nid: &Nid| {
        topology.peer(*nid).is_some_and(|known| {
            known.discovery.id() != peer.discovery.id()
                && !known.is_configured()
                && known.discovery.with(|inner| inner.progress.knows_better(sequence))
        })
    };
    peer.discovery.with(|inner| inner.progress.stale_seq) != Some(sequence)
        && claimed.iter().any(knows_better)
}

/// The peer that the one who says that `first` is its primary NID is already known as, if that is another one: by
/// that NID, by one that it is locked to, or, if `peer`'s own primary NID is not claimed, by any.
fn merge_target(topology: &Topology, peer: &Peer, first: Nid, claims_primary: bool) -> Option<Arc<Peer>> {
    let known = topology.peer(first)?;
    let is_other = known.discovery.id() != peer.discovery.id();
    let may_grow = !known.is_configured()
        && (known.primary == first || !claims_primary || known.state().contains(Flag::LOCK_PRIMARY))
        && topology.is_own(known.primary) == topology.is_own(peer.primary);
    (is_other && may_grow && !peer.state().contains(Flag::LOCK_PRIMARY)).then_some(known)
}

/// Who has `nid`, which `grows` is to get from what `peer` said.
pub(super) fn owner(topology: &Topology, nid: Nid, grows: &Peer, peer: &Peer) -> Owner {
    match (topology.is_own(nid), topology.is_own(grows.primary)) {
        (true, false) => return Owner::Myself,
        (false, true) => return Owner::NotMyself,
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
    // One of a single NID that nobody made may well be the same node: it has sent by that interface.
    let is_anothers =
        |nid: Nid| topology.peer(nid).is_some_and(|known| known.is_configured() || known.nids.len() > 1);
    let says_multi_rail = info.features.contains(Features::MULTI_RAIL);
    peer.discovery
        .with(|inner| differences(&peer.nids, &inner.progress, says_multi_rail, claimed, is_anothers))
}

/// How what a peer says differs from what is known of it (dyn-060).
fn differences(
    nids: &[Nid],
    progress: &Progress,
    says_multi_rail: bool,
    claimed: &[Nid],
    is_anothers: impl Fn(Nid) -> bool,
) -> Vec<Difference> {
    let mut found = Vec::new();
    let multi_rail = progress.has(Flag::MULTI_RAIL);
    found.extend((multi_rail != says_multi_rail).then_some(Difference::MultiRail(says_multi_rail)));
    let primary = claimed.first().copied().filter(|primary| nids.first() != Some(primary));
    found.extend(primary.map(Difference::Primary));
    for nid in claimed.iter().filter(|nid| !nids.contains(nid)) {
        found.push(if is_anothers(*nid) { Difference::Claimed(*nid) } else { Difference::Extra(*nid) });
    }
    found.extend(nids.iter().filter(|nid| !claimed.contains(nid)).copied().map(Difference::Missing));
    found
}

impl NidPlan {
    /// What the flags of the peer get.
    pub(super) fn marks(&self) -> Flag {
        let locked = if self.inherits_lock { Flag::LOCK_PRIMARY } else { Flag::default() };
        let rejected = self.rejected.iter().any(|(_, owner)| *owner == Owner::Locked);
        locked.and(if rejected { Flag::BAD_CONFIG } else { Flag::default() })
    }
}

impl Owner {
    /// Why the NID is rejected.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Free | Self::LockedAlone => "no other peer has it",
            Self::Configured => "configured for another peer",
            Self::Locked => "locked primary NID of another peer",
            Self::Myself => "it is this node's own",
            Self::NotMyself => "the peer is this node, which does not have it",
        }
    }
}

impl Progress {
    /// Whether what came with this number is older than what is known.
    const fn knows_better(&self, sequence: u32) -> bool {
        self.peer_sequence != 0 && is_older(sequence, self.peer_sequence)
    }
}

#[cfg(all(test, not(loom)))]
#[path = "merge_tests.rs"]
mod tests;
