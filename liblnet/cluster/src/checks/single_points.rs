//! Single points of failure: interfaces, routers, nets and switches whose loss cuts some pair of nodes off.
//!
//! Each element that can matter is lost once, and the reachability of the rest compared with that of the whole. Of the nodes of a class that are
//! no gateways one stands for all. Routers count as paths, not as ends.

use super::{Facts, Finding, FindingKind};
use crate::model::{Class, Element, NodeRef};
use crate::reach::Reach;
use crate::text::listed;
use lnet_dlc::model::Place;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    nets(facts, findings);
    switches(facts, findings);
    let gateways = gateways(facts);
    let lone = routers(facts, &gateways, findings);
    interfaces(facts, &gateways, &lone, findings);
}

/// A pair of groups that a loss has cut off, by their classes.
type Cut = BTreeSet<(usize, usize)>;

/// The pairs of classes of which some nodes reach each other, and no longer do after a loss. `only`: the node whose own paths alone can have
/// changed, since no other node sends by it.
fn cut(facts: &Facts<'_>, lost: &Element, only: Option<NodeRef>) -> Cut {
    let after = Reach::of(facts.cluster, &facts.nids, Some(lost));
    let groups = after.groups();
    let is_end = |index: &usize| !groups[*index].is_lost && facts.is_end(groups[*index].class);
    let ends: Vec<usize> = (0..groups.len()).filter(is_end).collect();
    let mut cut = Cut::new();
    for (one, other) in compared(&ends, only.and_then(|node| after.group_of(node))) {
        let classes = (groups[one].class, groups[other].class);
        let is_pair = one != other || groups[one].count > 1;
        let was_mutual = || facts.reach.is_mutual(classes.0, classes.1);
        if is_pair && !cut.contains(&classes) && was_mutual() && !after.is_mutual(one, other) {
            cut.insert(classes);
        }
    }
    cut
}

/// The pairs of these groups that are to be compared, the lesser one first: those with the group `only`, or all.
fn compared(ends: &[usize], only: Option<usize>) -> Vec<(usize, usize)> {
    match only {
        Some(group) if !ends.contains(&group) => Vec::new(),
        Some(group) => ends.iter().map(|end| (group.min(*end), group.max(*end))).collect(),
        None => {
            ends.iter().enumerate().flat_map(|(at, one)| ends[at..].iter().map(|it| (*one, *it))).collect()
        }
    }
}

/// The pairs as text.
fn pairs(facts: &Facts<'_>, cut: &Cut) -> String {
    let name = |index: usize| facts.cluster.classes.get(index).map_or("", |class| &class.name);
    listed(cut.iter().map(|(one, other)| match one == other {
        true => format!("{} among each other", name(*one)),
        false => format!("{} from {}", name(*one), name(*other)),
    }))
}

fn classes_of(cut: &Cut) -> Vec<usize> {
    let all: BTreeSet<usize> = cut.iter().flat_map(|(one, other)| [*one, *other]).collect();
    all.into_iter().collect()
}

fn nets(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    for net in facts.cluster.nets() {
        let cut = cut(facts, &Element::Net(net), None);
        if !cut.is_empty() {
            let what = format!("without net {net}, these are cut off: {}", pairs(facts, &cut));
            let place = |class: &Class| class.nis.iter().find(|ni| ni.net == net).map(|ni| ni.place);
            let finding = about(facts, FindingKind::SingleNet, &cut, place, what);
            findings.push(finding.with_elements(vec![Element::Net(net)]));
        }
    }
}

fn switches(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    for label in facts.cluster.switches() {
        let cut = cut(facts, &Element::Switch(label.to_owned()), None);
        if !cut.is_empty() {
            let what = format!("without switch {label}, these are cut off: {}", pairs(facts, &cut));
            let is_on = |ni: &&crate::model::ClassNi| ni.switches.iter().any(|its| its == label);
            let place = |class: &Class| class.nis.iter().find(is_on).map(|ni| ni.place);
            let finding = about(facts, FindingKind::SingleSwitch, &cut, place, what);
            findings.push(finding.with_elements(vec![Element::Switch(label.to_owned())]));
        }
    }
}

/// A finding about the classes of a cut, first the one that has the place.
fn about(
    facts: &Facts<'_>,
    kind: FindingKind,
    cut: &Cut,
    place: impl Fn(&Class) -> Option<Place>,
    what: String,
) -> Finding {
    let mut classes = classes_of(cut);
    let place_in = |index: &usize| facts.cluster.classes.get(*index).and_then(&place);
    let at = classes.iter().position(|index| place_in(index).is_some()).unwrap_or(0);
    classes.swap(0, at);
    let place = classes.first().and_then(place_in).unwrap_or(Place { line: 1, column: 1 });
    Finding::new(kind, facts.cluster, &classes, place, what)
}

/// The nodes that routes name as gateways.
fn gateways(facts: &Facts<'_>) -> BTreeSet<NodeRef> {
    facts.reach.groups().iter().flat_map(|group| &group.routes).filter_map(|route| route.node).collect()
}

/// Finds routers whose loss cuts nodes off, and returns them.
fn routers(
    facts: &Facts<'_>,
    gateways: &BTreeSet<NodeRef>,
    findings: &mut Vec<Finding>,
) -> BTreeSet<NodeRef> {
    let mut lone = BTreeSet::new();
    let mut by_class: BTreeMap<usize, (Vec<NodeRef>, Cut)> = BTreeMap::new();
    for node in gateways {
        let cut = cut(facts, &Element::Node(*node), None);
        if !cut.is_empty() {
            lone.insert(*node);
            let (nodes, all) = by_class.entry(node.class).or_default();
            nodes.push(*node);
            all.extend(cut);
        }
    }
    for (class, (nodes, cut)) in by_class {
        let names: Vec<String> = nodes.iter().map(|node| facts.cluster.node_name(*node)).collect();
        let what =
            format!("without router {}, these are cut off: {}", names.join(" or "), pairs(facts, &cut));
        let place = facts.cluster.classes[class].routing_at;
        let finding = Finding::new(FindingKind::SingleRouter, facts.cluster, &[class], place, what);
        let node_count = u64::try_from(names.len()).unwrap_or(u64::MAX);
        let finding = match nodes.first() {
            Some(first) => finding.in_file_of(facts.cluster, *first, |file| Some(file.routing_at)),
            None => finding,
        };
        let elements = nodes.into_iter().map(Element::Node).collect();
        findings.push(Finding { nodes: names, node_count, elements, ..finding });
    }
    lone
}

/// Finds interfaces whose loss cuts nodes off. The interfaces of a router whose loss is a finding are none of their own.
fn interfaces(
    facts: &Facts<'_>,
    gateways: &BTreeSet<NodeRef>,
    lone: &BTreeSet<NodeRef>,
    findings: &mut Vec<Finding>,
) {
    for (index, class) in facts.cluster.classes.iter().enumerate() {
        let of_class = gateways.iter().filter(|node| node.class == index);
        let plain =
            (0..class.count).map(|node| NodeRef { class: index, node }).find(|node| !gateways.contains(node));
        let nodes = of_class.copied().chain(plain).filter(|node| !lone.contains(node));
        let mut single: BTreeMap<usize, Cut> = BTreeMap::new();
        let by_interface = by_interface(class);
        for node in nodes {
            let only = (!gateways.contains(&node)).then_some(node);
            for nis in &by_interface {
                let cut = cut(facts, &Element::Interface { node, nis: nis.clone() }, only);
                if let (Some(first), false) = (nis.first(), cut.is_empty()) {
                    single.entry(*first).or_default().extend(cut);
                }
            }
        }
        let Some(first) = single.keys().next() else { continue };
        let names = listed(single.keys().map(|ni| class.ni_label(*ni)));
        let all = single.values().flatten().copied().collect();
        let what = format!("without {names}, a node of {} is cut off: {}", class.label(), pairs(facts, &all));
        let place = class.nis[*first].place;
        let node = NodeRef { class: index, node: 0 };
        let lost =
            by_interface.into_iter().filter(|nis| nis.first().is_some_and(|ni| single.contains_key(ni)));
        let elements = lost.map(|nis| Element::Interface { node, nis }).collect();
        let finding = Finding::new(FindingKind::SingleInterface, facts.cluster, &[index], place, what);
        findings.push(finding.with_elements(elements));
    }
}

/// The NIs of a class by interface: those with the same name are lost together.
fn by_interface(class: &Class) -> Vec<Vec<usize>> {
    let mut all: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    for (index, ni) in class.nis.iter().enumerate() {
        let name = ni.interface.as_deref();
        match all.iter_mut().find(|(its, _)| its.is_some() && *its == name) {
            Some((_, nis)) => nis.push(index),
            None => all.push((name, vec![index])),
        }
    }
    all.into_iter().map(|(_, nis)| nis).collect()
}

#[cfg(test)]
mod tests {
    use super::compared;

    /// Fails if the loss of an interface of each class compares all pairs of classes: that is the third power of their number.
    #[test]
    fn only_pairs_with_the_group_that_has_changed_are_compared() {
        let ends: Vec<usize> = (0..400).collect();
        assert_eq!(compared(&ends, None).len(), 400 * 401 / 2);
        assert_eq!(compared(&ends, Some(7)).len(), 400);
        assert_eq!(compared(&[1, 3, 4], Some(3)), [(1, 3), (3, 3), (3, 4)]);
        assert_eq!(compared(&[1, 4], Some(3)), []);
        assert_eq!(compared(&[1, 4], None), [(1, 1), (1, 4), (4, 4)]);
    }
}
