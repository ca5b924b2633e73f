//! Discovery that is off where nodes have several interfaces.

use super::{Facts, Finding, FindingKind};
use crate::model::{Class, NodeRef};
use crate::text::listed;
use lnet_settings::DiscoveryMode;
use lnet_wire::NetId;
use std::collections::BTreeSet;

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let classes = &facts.cluster.classes;
    let is_off = |class: &Class| class.settings.discovery == DiscoveryMode::Off;
    let mut off = BTreeSet::new();
    let mut unused = BTreeSet::new();
    for (one, user) in classes.iter().enumerate() {
        for (other, target) in classes.iter().enumerate() {
            let is_pair = one != other || user.count > 1;
            if !is_pair || !facts.is_end(one) || !facts.is_end(other) || !(is_off(user) || is_off(target)) {
                continue;
            }
            if rails(user, target) > 1 && !knows_all(facts, one, other) {
                off.extend([one, other].into_iter().filter(|index| is_off(&classes[*index])));
                unused.insert(other);
            }
        }
    }
    let Some(first) = off.first().and_then(|index| classes.get(*index)) else { return };
    let labels = |indices: &BTreeSet<usize>| listed(indices.iter().map(|index| classes[*index].label()));
    let what = format!(
        "discovery is off on {}; of each of {} only one interface is used",
        labels(&off),
        labels(&unused)
    );
    let about: Vec<usize> = off.iter().copied().collect();
    findings.push(Finding::new(FindingKind::DiscoveryOff, facts.cluster, &about, first.settings_at, what));
}

/// The interfaces of a class that another one can use: those on nets that it is on or has routes to.
fn rails(user: &Class, target: &Class) -> usize {
    let usable = |net: NetId| user.is_on(net) || user.routes.iter().any(|route| route.net == net);
    target.nis.iter().filter(|ni| usable(ni.net)).count()
}

/// Whether the files of a class name all NIDs of all nodes of another one.
fn knows_all(facts: &Facts<'_>, one: usize, other: usize) -> bool {
    let (user, target) = (&facts.cluster.classes[one], &facts.cluster.classes[other]);
    let mut known = BTreeSet::new();
    // A node of the same class does not name itself.
    let users = user.count - u64::from(one == other);
    for peer in user.peers.iter().filter(|peer| peer.nodes >= users) {
        let owner = peer.nids.first().and_then(|nid| facts.nids.owner(*nid)).map(|owner| owner.node);
        if let Some(NodeRef { class, node }) = owner.filter(|node| node.class == other)
            && facts.cluster.classes[class].nids(node).all(|nid| peer.nids.contains(&nid))
        {
            known.insert(node);
        }
    }
    u64::try_from(known.len()).is_ok_and(|known| known >= target.count)
}
