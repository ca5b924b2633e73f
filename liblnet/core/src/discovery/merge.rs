//! Following what a peer says of itself (core-behaviour 5.6).

use super::Difference;
use super::step::{Input, is_older};
use crate::core::Core;
use crate::environment::settings::DiscoveryMode;
use crate::model::Inner;
use crate::model::Progress;
use crate::sync::lock;
use crate::topology::{Peer, PeerState as Flag, Preferred};
use lnet_log::LogClass;
use lnet_wire::Nid;
use lnet_wire::ping_info::{Features, NiStatus, PingInfo};
use std::sync::Arc;

/// What is known of who has a NID that a peer claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
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

/// What is to become of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) primary: Nid,
    /// The primary one first.
    pub(crate) nids: Vec<Nid>,
    /// NIDs that it says it has and does not get.
    pub(crate) refused: Vec<(Nid, Owner)>,
    /// Its primary NID is that of a locked peer that it takes in.
    pub(crate) inherits_lock: bool,
}

/// What a peer with `nids`, the primary one first, becomes when it says that it has the NIDs `said`, the primary
/// one first (OM-24, OM-28, OM-30). `keeps_primary`: that is locked.
pub(crate) fn plan(nids: &[Nid], keeps_primary: bool, said: &[Nid], owner: impl Fn(Nid) -> Owner) -> Plan {
    let mut refused = Vec::new();
    let mut locked = None;
    let mut gets = Vec::with_capacity(said.len());
    for nid in said {
        match if nids.contains(nid) { Owner::Free } else { owner(*nid) } {
            Owner::Free => gets.push(*nid),
            Owner::LockedAlone => {
                locked = locked.or(Some(*nid));
                gets.push(*nid);
            }
            refusal => refused.push((*nid, refusal)),
        }
    }
    let known = nids.first().copied().filter(|_| keeps_primary);
    let inherits_lock = known.is_none() && locked.is_some();
    let mut all: Vec<Nid> = Vec::with_capacity(said.len() + 1);
    for nid in known.or(locked).into_iter().chain(gets) {
        if !all.contains(&nid) {
            all.push(nid);
        }
    }
    // Nothing that it may have: it stays what it was.
    if all.is_empty() {
        all.extend_from_slice(nids);
    }
    Plan { primary: all.first().copied().unwrap_or(Nid::LOOPBACK), nids: all, refused, inherits_lock }
}

/// How what a peer says differs from what is known of it (dyn-060).
pub(crate) fn differences(
    nids: &[Nid],
    progress: &Progress,
    says_multi_rail: bool,
    said: &[Nid],
    is_anothers: impl Fn(Nid) -> bool,
) -> Vec<Difference> {
    let mut found = Vec::new();
    let multi_rail = progress.has(Flag::MULTI_RAIL);
    found.extend((multi_rail != says_multi_rail).then_some(Difference::MultiRail(says_multi_rail)));
    let primary = said.first().copied().filter(|primary| nids.first() != Some(primary));
    found.extend(primary.map(Difference::Primary));
    for nid in said.iter().filter(|nid| !nids.contains(nid)) {
        found.push(if is_anothers(*nid) { Difference::Claimed(*nid) } else { Difference::Extra(*nid) });
    }
    found.extend(nids.iter().filter(|nid| !said.contains(nid)).copied().map(Difference::Missing));
    found
}

impl Core {
    /// Follows what `peer` said.
    pub(crate) fn merge(&self, peer: &Arc<Peer>, info: PingInfo) {
        let _configuration = lock(&self.configuration);
        let Some(peer) = self.topology.peer_of(&peer.record) else { return };
        if self.is_ending() {
            return;
        }
        let local = self.discovery.local_state();
        let most = self.settings().max_interfaces as usize;
        // Of NIDs that nobody has it gets as many as there is room for.
        let mut room = self.env.config().max_peers.saturating_sub(self.topology.peers().len());
        let has_room = |nid: &Nid| {
            let left = if self.topology.peer_ni(*nid).is_some() { Some(room) } else { room.checked_sub(1) };
            room = left.unwrap_or(room);
            left.is_some()
        };
        let said = info.entries.iter().take(most).map(|entry| entry.nid);
        let said: Vec<Nid> =
            if peer.is_configured() { said.collect() } else { said.filter(has_room).collect() };
        self.note_statuses(&peer, &info);
        let disabled = peer.record.with(|inner| inner.progress.is_disabled(&local));
        let says_multi_rail = info.features.contains(Features::MULTI_RAIL);
        let only_compare = local.mode == DiscoveryMode::Verify || peer.is_configured();
        if local.discovers() && only_compare && !said.is_empty() {
            self.compare(&peer, says_multi_rail, &said);
        } else if disabled {
            peer.record.with(|inner| inner.differences.clear());
        } else if let Some(first) = said.first() {
            // The next answer will tell whether it was overtaken, or the peer has begun a new life.
            if self.is_overtaken(&peer, &said, info.sequence) {
                self.tell(&peer.record, Input::Doubted(info.sequence));
                return;
            }
            let heir = self.heir(&peer, *first, said.contains(&peer.primary));
            self.follow(&peer, &said, heir.as_ref(), &info);
            // It was another that answered, by a NID that this one has lost: it has not been heard itself.
            if heir.is_some() && self.topology.peer_of(&peer.record).is_some() {
                self.tell(&peer.record, Input::AnsweredByAnother);
                return;
            }
        }
        self.tell(&peer.record, Input::Merged);
    }

    /// Whether one that has some of these NIDs has told later news of itself, as far as can be known: it may be the same
    /// node, heard by another NID. Not if this was doubted before, and the peer has answered so when it was asked again.
    fn is_overtaken(&self, peer: &Peer, said: &[Nid], sequence: u32) -> bool {
        let knows_better = |nid: &Nid| {
            let known = self.topology.peer_ni(*nid).map(|peer_ni| peer_ni.peer());
            known.is_some_and(|known| {
                !Arc::ptr_eq(&known.record, &peer.record)
                    && !known.is_configured()
                    && known.record.with(|inner| inner.progress.knows_better(sequence))
            })
        };
        peer.record.with(|inner| inner.progress.doubted) != Some(sequence) && said.iter().any(knows_better)
    }

    /// The peer that the one who says that `first` is its primary NID is already known as, if that is another one: by
    /// that NID, by one that it is locked to, or, if what is said has not got `peer`'s own primary NID, by any.
    fn heir(&self, peer: &Peer, first: Nid, says_primary: bool) -> Option<Arc<Peer>> {
        let known = self.topology.peer_ni(first)?.peer();
        let is_other = !Arc::ptr_eq(&known.record, &peer.record);
        let may_grow = !known.is_configured()
            && (known.primary == first || !says_primary || known.state().contains(Flag::LOCK_PRIMARY))
            && self.topology.is_own(known.primary) == self.topology.is_own(peer.primary);
        (is_other && may_grow && !peer.state().contains(Flag::LOCK_PRIMARY)).then_some(known)
    }

    /// Gives a peer the NIDs that it says it has. If it is known twice, the one that is known by the right primary
    /// NID takes over.
    fn follow(&self, peer: &Arc<Peer>, said: &[Nid], heir: Option<&Arc<Peer>>, info: &PingInfo) {
        if let Some(heir) = heir {
            let between = peer.record.with(|inner| inner.progress.between);
            heir.record.with(|inner| inner.progress.inherit(between, info.sequence));
        }
        let grows = heir.unwrap_or(peer);
        let keeps_primary = grows.state().contains(Flag::LOCK_PRIMARY);
        let plan = plan(&grows.nids, keeps_primary, said, |nid| self.owner(nid, grows, peer));
        for (nid, owner) in &plan.refused {
            let (primary, why) = (grows.primary, owner.words());
            self.env.log(
                LogClass::PeerNidRejected,
                format_args!("{primary} claims {nid}"),
                format_args!("peer {primary}: NID {nid} rejected ({why}); its other NIDs are used"),
            );
        }
        let (mark, renamed) = (plan.marks(), plan.primary != grows.primary);
        grows.record.with(|Inner { progress, differences, refused, .. }| {
            differences.clear();
            *refused = plan.refused.iter().map(|(nid, _)| *nid).collect();
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
            self.topology
                .peers()
                .reshape(grows, plan.primary, plan.nids, |nid| self.topology.first_peer_credits(nid))
        };
        self.freshen(&grown);
        // Those too that it has just got.
        self.note_statuses(&grown, info);
        self.health.reachability_may_change(grown.primary);
        if heir.is_some() {
            self.tell(&grown.record, Input::Wanted);
        }
    }

    /// Whether a peer that says that it has this NID would get it.
    pub(crate) fn is_free_for(&self, nid: Nid, peer: &Peer) -> bool {
        matches!(self.owner(nid, peer, peer), Owner::Free | Owner::LockedAlone)
    }

    /// Who has `nid`, which `grows` is to get from what `peer` said.
    fn owner(&self, nid: Nid, grows: &Peer, peer: &Peer) -> Owner {
        match (self.topology.is_own(nid), self.topology.is_own(grows.primary)) {
            (true, false) => return Owner::Myself,
            (false, true) => return Owner::NotMyself,
            _ => {}
        }
        let Some(known) = self.topology.peer(nid) else {
            return Owner::Free;
        };
        let locked = known.state().contains(Flag::LOCK_PRIMARY) && known.primary == nid;
        match known {
            known if Arc::ptr_eq(&known.record, &peer.record) => Owner::Free,
            known if known.is_configured() => Owner::Configured,
            known if locked && known.nids.len() > 1 => {
                known.record.with(|inner| inner.progress.set(Flag::BAD_CONFIG));
                Owner::Locked
            }
            _ if locked => Owner::LockedAlone,
            _ => Owner::Free,
        }
    }

    /// What is new on a multi-rail peer sticks to no interface (OM-23) and is under the rules.
    fn freshen(&self, peer: &Peer) {
        for peer_ni in peer.nids.iter().filter_map(|nid| self.topology.peer_ni(*nid)) {
            if matches!(*peer_ni.preferred(), Preferred::Sticky(_)) {
                peer_ni.set_preferred(Preferred::Nothing);
            }
            if self.topology.has_rules() {
                self.topology.apply_rules_to(&peer_ni);
            }
        }
    }

    /// Notes which of a peer's interfaces it says do not work.
    fn note_statuses(&self, peer: &Peer, info: &PingInfo) {
        for entry in info.entries.iter().filter(|entry| peer.nids.contains(&entry.nid)) {
            if let Some(peer_ni) = self.topology.peer_ni(entry.nid) {
                self.set_reported_down(&peer_ni, entry.status == NiStatus::Down);
            }
        }
    }

    /// Changes nothing: what differs is reported, once as long as it stays so.
    fn compare(&self, peer: &Peer, says_multi_rail: bool, said: &[Nid]) {
        // One of a single NID that nobody made may well be the same node: it has sent by that interface.
        let is_anothers = |nid: Nid| {
            let known = self.topology.peer(nid);
            known.is_some_and(|known| known.is_configured() || known.nids.len() > 1)
        };
        let is_new = peer.record.with(|inner| {
            let found = differences(&peer.nids, &inner.progress, says_multi_rail, said, is_anothers);
            let is_new = inner.differences != found;
            inner.differences.clone_from(&found);
            is_new.then_some(found)
        });
        for difference in is_new.unwrap_or_default() {
            let primary = peer.primary;
            self.env.log(
                LogClass::PeerMismatch,
                primary,
                format_args!("peer {primary}: {difference}; its configuration here stays as it is"),
            );
        }
    }
}

/// Whether these are the same NIDs, in whichever order.
fn same(some: &[Nid], others: &[Nid]) -> bool {
    some.len() == others.len() && some.iter().all(|nid| others.contains(nid))
}

impl Plan {
    /// What the flags of the peer get.
    fn marks(&self) -> Flag {
        let locked = if self.inherits_lock { Flag::LOCK_PRIMARY } else { Flag::default() };
        let refused = self.refused.iter().any(|(_, owner)| *owner == Owner::Locked);
        locked.and(if refused { Flag::BAD_CONFIG } else { Flag::default() })
    }
}

impl Owner {
    const fn words(self) -> &'static str {
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

    /// A peer that was known twice goes on as this one.
    fn inherit(&mut self, between: Option<(Nid, Nid)>, sequence: u32) {
        self.set(Flag::MULTI_RAIL.and(Flag::NIDS_UPTODATE));
        self.clear(Flag::NO_DISCOVERY.and(Flag::FORCE_PING).and(Flag::PING_FAILED));
        self.peer_sequence = sequence;
        self.between = self.between.or(between);
    }
}

#[cfg(all(test, not(loom)))]
#[path = "merge_tests.rs"]
mod tests;
