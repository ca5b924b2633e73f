//! Configured peers: whether their NIDs are those of nodes.

use super::{Facts, Finding, FindingKind};
use crate::model::{Class, ClassPeer, NodeRef};
use crate::text::listed;
use lnet_wire::Nid;
use std::collections::BTreeSet;
use std::path::Path;

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    for (index, class) in facts.cluster.classes.iter().enumerate() {
        findings.extend(nobodys(facts, index, class));
        for peer in &class.peers {
            findings.extend(of_peer(facts, index, class, peer));
        }
    }
}

/// One finding for all NIDs of a class's peers that no node has: where files of nodes are missing there may be many.
fn nobodys(facts: &Facts<'_>, index: usize, class: &Class) -> Option<Finding> {
    let is_nobodys = |nid: &&Nid| facts.nids.is_nobodys(**nid);
    let first = class.peers.iter().find(|peer| peer.nids.iter().any(|nid| is_nobodys(&nid)))?;
    let all: BTreeSet<&Nid> = class.peers.iter().flat_map(|peer| &peer.nids).filter(is_nobodys).collect();
    let what = format!("{} has peers with NIDs that no node has: {}", class.label(), listed(&all));
    Some(finding(facts, FindingKind::PeerNobody, index, first, what).with_subjects(all))
}

fn of_peer(facts: &Facts<'_>, index: usize, class: &Class, peer: &ClassPeer) -> Option<Finding> {
    let primary = peer.nids.first()?;
    let owners: BTreeSet<NodeRef> =
        peer.nids.iter().filter_map(|nid| facts.nids.owner(*nid)).map(|owner| owner.node).collect();
    let owner = owners.first()?;
    if owners.len() > 1 {
        let names = listed(owners.iter().map(|node| facts.cluster.node_name(*node)));
        let what = format!("{} has a peer {primary} with NIDs of {names}", class.label());
        return Some(finding(facts, FindingKind::PeerOfTwoNodes, index, peer, what));
    }
    let real = facts.cluster.classes.get(owner.class)?.nid(0, owner.node)?;
    let name = facts.cluster.node_name(*owner);
    // A node that has pinged itself has itself as a peer, by each NID that it pinged.
    let is_called = |path: &Path| path.to_string_lossy() == name;
    let (stem, file) = (peer.file.file_stem().map(Path::new), peer.file.as_path());
    let is_itself = peer.nodes == 1
        && (stem.is_some_and(is_called) || is_called(&file.with_extension("")) || is_called(file));
    if !peer.multi_rail || real == *primary || facts.nids.owner(*primary).is_none() || is_itself {
        return None;
    }
    let what = format!("{} has {name} as peer {primary}, whose primary NID is {real}", class.label());
    let mend = format!("Name {real} as the primary NID of the peer.");
    Some(finding(facts, FindingKind::PeerWrongPrimary, index, peer, what).with_mend(mend))
}

/// A finding about a peer, at its place.
fn finding(facts: &Facts<'_>, kind: FindingKind, index: usize, peer: &ClassPeer, what: String) -> Finding {
    let finding = Finding::new(kind, facts.cluster, &[index], peer.place, what);
    Finding { file: peer.file.clone(), ..finding.with_subjects(peer.nids.first()) }
}
