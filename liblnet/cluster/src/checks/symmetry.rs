//! Routes by which requests and responses take different gateways.

use super::{Facts, Finding, FindingKind, Severity};
use crate::model::NodeRef;
use crate::text::listed;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let classes = &facts.cluster.classes;
    let mut differing: BTreeMap<(usize, Gateways, Gateways), Vec<usize>> = BTreeMap::new();
    for one in 0..classes.len() {
        for other in one + 1..classes.len() {
            if !facts.reach.is_mutual(one, other) || !facts.is_end(one) || !facts.is_end(other) {
                continue;
            }
            let (Some(there), Some(back)) = (gateways(facts, one, other), gateways(facts, other, one)) else {
                continue;
            };
            if there != back {
                differing.entry((one, there, back)).or_default().push(other);
            }
        }
    }
    for ((one, there, back), others) in differing {
        let class = &classes[one];
        let names =
            |gateways: &Gateways| match (gateways.all == there.all && gateways.all == back.all, gateways) {
                (true, gateways) => format!("first by {}", named(facts, &gateways.best)),
                (false, gateways) => format!("by {}", named(facts, &gateways.all)),
            };
        let labels = listed(others.iter().map(|index| classes[*index].label()));
        let what = format!(
            "{} sends to {labels} {}, and gets responses {}",
            class.label(),
            names(&there),
            names(&back)
        );
        let drops = |index: &usize| classes[*index].settings.drop_asym_route;
        let is_dropped = drops(&one) && !back.all.is_subset(&there.all)
            || others.iter().any(drops) && !there.all.is_subset(&back.all);
        let place = class.routes.first().map(|route| route.place).unwrap_or_default();
        let mut about = vec![one];
        about.extend(&others);
        let finding = Finding::new(FindingKind::AsymmetricRoute, facts.cluster, &about, place, what);
        findings.push(if is_dropped { finding.with_severity(Severity::Error) } else { finding });
    }
}

/// The gateways of a class to another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Gateways {
    /// All that work.
    all: BTreeSet<NodeRef>,
    /// Those of the routes with the best priority.
    best: BTreeSet<NodeRef>,
}

/// The gateways by which a class sends to another one; `None` if they have a net in common, or more than one gateway lies between: the
/// gateways next to either end are then never the same.
fn gateways(facts: &Facts<'_>, from: usize, to: usize) -> Option<Gateways> {
    let (source, target) = (facts.cluster.classes.get(from)?, facts.cluster.classes.get(to)?);
    if target.nets().into_iter().any(|net| source.is_on(net)) {
        return None;
    }
    let mut all = Vec::new();
    for net in target.nets() {
        for route in facts.reach.working_routes(from, net) {
            let node = route.node?;
            if !facts.cluster.classes.get(node.class)?.is_on(net) {
                return None;
            }
            all.push((source.routes.get(route.index)?.priority, node));
        }
    }
    let best = all.iter().map(|(priority, _)| *priority).min()?;
    let of_best = all.iter().filter(|(priority, _)| *priority == best).map(|(_, node)| *node).collect();
    Some(Gateways { all: all.into_iter().map(|(_, node)| node).collect(), best: of_best })
}

fn named(facts: &Facts<'_>, nodes: &BTreeSet<NodeRef>) -> String {
    listed(nodes.iter().map(|node| facts.cluster.node_name(*node)))
}
