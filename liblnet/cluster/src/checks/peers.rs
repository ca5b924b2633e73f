//! Configured peers: whether their NIDs are those of nodes.

use super::{Facts, Finding, FindingKind, listed};
use crate::model::{Class, ClassPeer, NodeRef};
use std::collections::BTreeSet;

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    for (index, class) in facts.cluster.classes.iter().enumerate() {
        for peer in &class.peers {
            findings.extend(of_peer(facts, index, class, peer));
        }
    }
}

fn of_peer(facts: &Facts<'_>, index: usize, class: &Class, peer: &ClassPeer) -> Option<Finding> {
    let finding = |kind, what| Some(Finding::new(kind, facts.cluster, &[index], peer.place, what));
    let primary = peer.nids.first()?;
    let nobodys: Vec<_> = peer.nids.iter().filter(|nid| facts.nids.is_nobodys(**nid)).collect();
    if !nobodys.is_empty() {
        let what =
            format!("{} has a peer {primary} with NIDs that no node has: {}", class.label(), listed(nobodys));
        return finding(FindingKind::PeerNobody, what);
    }
    let owners: BTreeSet<NodeRef> =
        peer.nids.iter().filter_map(|nid| facts.nids.owner(*nid)).map(|owner| owner.node).collect();
    let owner = owners.first()?;
    if owners.len() > 1 {
        let names = listed(owners.iter().map(|node| facts.cluster.node_name(*node)));
        let what = format!("{} has a peer {primary} with NIDs of {names}", class.label());
        return finding(FindingKind::PeerOfTwoNodes, what);
    }
    let its_class = facts.cluster.classes.get(owner.class)?;
    let real = its_class.nid(0, owner.node)?;
    if !peer.multi_rail || real == *primary {
        return None;
    }
    let name = facts.cluster.node_name(*owner);
    let what = format!("{} has {name} as peer {primary}, whose primary NID is {real}", class.label());
    finding(FindingKind::PeerWrongPrimary, what)
        .map(|finding| finding.with_mend(format!("Name {real} as the primary NID of the peer.")))
}
