//! The checks: functions of a cluster that return findings.
//!
//! [`table`] has one row for each kind of finding. Each check has a file; its cost grows with classes, nets and gateways, as its row says.

mod credits;
mod discovery;
mod families;
mod finding;
mod gateways;
mod nids;
mod pairs;
mod peers;
mod rules;
mod settings;
mod single_points;
mod symmetry;
mod table;

pub use finding::Finding;
pub use table::{FindingKind, Row, Severity};

use crate::model::{Cluster, NidIndex, NodeRef};
use crate::reach::{Families, Gateway, Reach};
use std::collections::{BTreeMap, BTreeSet};

/// The facts that the checks read: the cluster, and what follows from it.
pub(crate) struct Facts<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) nids: NidIndex,
    /// The reachability with nothing lost: group `i` is class `i`.
    pub(crate) reach: Reach,
    /// The same if the families of NIDs did not count: pairs that are apart by their families only have a finding of their own.
    pub(crate) joined: Reach,
    /// The classes that only pass messages on: they need not reach all that they connect.
    transit: BTreeSet<usize>,
}

impl Facts<'_> {
    /// Whether the nodes of a class are ends of messages, not gateways.
    pub(crate) fn is_end(&self, class: usize) -> bool {
        !self.transit.contains(&class)
    }
}

/// A check.
type Check = fn(&Facts<'_>, &mut Vec<Finding>);

/// All checks. Their order does not matter: findings are sorted.
const CHECKS: &[Check] = &[
    gateways::check,
    pairs::check,
    symmetry::check,
    nids::check,
    families::check,
    peers::check,
    discovery::check,
    settings::check,
    rules::check,
    credits::check,
    single_points::check,
];

/// All findings about a cluster, the worst first, those of one kind together.
pub fn check(cluster: &Cluster) -> Vec<Finding> {
    let nids = NidIndex::of(cluster);
    let reach = Reach::of(cluster, &nids, None);
    let joined = Reach::with_families(cluster, &nids, None, Families::Joined);
    let transit = transit(cluster, &reach);
    let facts = Facts { cluster, nids, reach, joined, transit };
    let mut findings = Vec::new();
    CHECKS.iter().for_each(|check| check(&facts, &mut findings));
    findings.sort_by_key(|finding| (finding.severity, finding.kind));
    findings
}

/// The classes that only pass messages on: those that forward, if a route names one of their nodes; and those whose nodes are all named by
/// routes to nets that they are on or have routes to, which are routers that were meant to forward. A node that a route names by mistake
/// does not make an end of its class a router. Of nodes whose addresses are not known those that may be meant by a route count as named.
fn transit(cluster: &Cluster, reach: &Reach) -> BTreeSet<usize> {
    let mut named: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    for route in reach.groups().iter().flat_map(|group| &group.routes) {
        let Some(NodeRef { class, node }) = route.node else { continue };
        let Some(gateway) = cluster.classes.get(class) else { continue };
        let leads_on = || gateway.is_on(route.net) || gateway.routes.iter().any(|own| own.net == route.net);
        if gateway.is_router || leads_on() {
            named.entry(class).or_default().insert(node);
        }
    }
    let is_transit = |class: &usize, nodes: &BTreeSet<u64>| {
        let is_every = |count| u64::try_from(nodes.len()) == Ok(count);
        cluster.classes.get(*class).is_some_and(|class| class.is_router || is_every(class.count))
    };
    let mut transit: BTreeSet<usize> =
        named.into_iter().filter(|(class, nodes)| is_transit(class, nodes)).map(|(class, _)| class).collect();
    for group in reach.groups() {
        let routes = cluster.classes.get(group.class).map_or(&[][..], |class| &class.routes);
        let assumed = group.routes.iter().filter(|route| route.gateway == Gateway::Assumed);
        for route in assumed.filter_map(|route| routes.get(route.index)) {
            let meant = cluster.classes.iter().enumerate().filter(|(_, class)| class.may_be_gateway(route));
            transit.extend(meant.map(|(index, _)| index));
        }
    }
    transit
}
