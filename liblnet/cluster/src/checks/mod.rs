//! The checks: functions of a cluster that return findings.
//!
//! [`table`] has one row for each kind of finding. Each check has a file; its cost grows with classes, nets and gateways, as its row says.

mod credits;
mod discovery;
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

pub use finding::{Finding, MAX_SHOWN, listed};
pub use table::{FindingKind, Row, Severity};

use crate::model::{Cluster, NidIndex};
use crate::reach::Reach;
use std::collections::BTreeSet;

/// What the checks read: the cluster, and what follows from it.
pub(crate) struct Facts<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) nids: NidIndex,
    /// The reachability with nothing lost: group `i` is class `i`.
    pub(crate) reach: Reach,
    /// The classes that only pass messages on: routers, and nodes that others name as gateways. They need not reach all that they connect.
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
    let routers =
        cluster.classes.iter().enumerate().filter(|(_, class)| class.is_router).map(|(index, _)| index);
    let gateways = reach.groups().iter().flat_map(|group| &group.routes).filter_map(|route| route.node);
    let transit = routers.chain(gateways.map(|node| node.class)).collect();
    let facts = Facts { cluster, nids, reach, transit };
    let mut findings = Vec::new();
    CHECKS.iter().for_each(|check| check(&facts, &mut findings));
    findings.sort_by_key(|finding| (finding.severity, finding.kind));
    findings
}
