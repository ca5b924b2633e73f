//! Changes of the paths between classes.

use super::nodes::Movement;
use crate::model::{Cluster, NidIndex, NodeRef};
use crate::reach::{Passage, Reach};
use serde::Serialize;
use std::collections::BTreeSet;

/// A pair of classes, in one direction, whose paths change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathChange {
    /// The class of the nodes that send; with its old name in brackets if that is another one.
    pub from: String,
    /// The class of the targets.
    pub to: String,
    /// The paths before.
    pub old: Reached,
    /// The paths after.
    pub new: Reached,
}

/// The paths of requests from the nodes of one class to those of another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    /// By these nets, which both are on.
    Direct(Vec<String>),
    /// By these gateways: `NET by NID`.
    Routed(Vec<String>),
    /// Requests arrive by these gateways, and there is no path for responses.
    NoResponse(Vec<String>),
    /// There is no path.
    No,
}

/// One configuration, and what follows from it.
struct Side<'a> {
    cluster: &'a Cluster,
    reach: Reach,
}

impl<'a> Side<'a> {
    fn of(cluster: &'a Cluster) -> Self {
        Self { cluster, reach: Reach::of(cluster, &NidIndex::of(cluster), None) }
    }

    /// The paths between two classes, by their indices.
    fn reached(&self, from: usize, to: usize) -> Reached {
        let group = |class: usize| self.reach.group_of(NodeRef { class, node: 0 });
        let (Some(from), Some(to)) = (group(from), group(to)) else { return Reached::No };
        let passage = self.reach.passage(from, to);
        if passage == Passage::NoPath {
            return Reached::No;
        }
        let (Some(source), Some(target)) = (self.reach.groups().get(from), self.reach.groups().get(to))
        else {
            return Reached::No;
        };
        let shared: BTreeSet<_> = source.families.intersection(&target.families).map(|its| its.net).collect();
        if !shared.is_empty() {
            return Reached::Direct(shared.iter().map(ToString::to_string).collect());
        }
        let routes = self.cluster.classes.get(source.class).map_or(&[][..], |class| &class.routes);
        let working = target.nets.iter().flat_map(|net| self.reach.working_routes(from, *net));
        let named = working.filter_map(|route| routes.get(route.index));
        let gateways: BTreeSet<_> = named.map(|route| (route.net, route.gateway)).collect();
        let gateways = gateways.into_iter().map(|(net, gateway)| format!("{net} by {gateway}")).collect();
        if passage == Passage::Answered { Reached::Routed(gateways) } else { Reached::NoResponse(gateways) }
    }
}

/// The changes between classes that both configurations have; pairs that lose their paths come first.
pub(super) fn changes(old: &Cluster, new: &Cluster, movements: &[Movement]) -> Vec<PathChange> {
    let (before, after) = (Side::of(old), Side::of(new));
    let both: Vec<(usize, usize)> =
        movements.iter().filter_map(|movement| Some((movement.old?, movement.new?))).collect();
    let name = |(was, is): (usize, usize)| {
        let of = |cluster: &Cluster, class: usize| cluster.classes.get(class).map(|class| class.name.clone());
        match (of(old, was).unwrap_or_default(), of(new, is).unwrap_or_default()) {
            (was, is) if was == is => is,
            (was, is) => format!("{is} (was {was})"),
        }
    };
    let has_pair =
        |class: usize, cluster: &Cluster| cluster.classes.get(class).is_some_and(|class| class.count > 1);
    let mut all = Vec::new();
    for from in &both {
        for to in &both {
            if from == to && !(has_pair(from.0, old) && has_pair(from.1, new))
                || new.may_be_apart(from.1, to.1)
            {
                continue;
            }
            let (was, is) = (before.reached(from.0, to.0), after.reached(from.1, to.1));
            if was != is {
                all.push(PathChange { from: name(*from), to: name(*to), old: was, new: is });
            }
        }
    }
    all.sort_by_key(|change| (change.new != Reached::No, change.old != Reached::No));
    all
}
