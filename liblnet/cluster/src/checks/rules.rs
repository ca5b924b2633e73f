//! Selection rules that match nothing, or contradict each other.

use super::{Facts, Finding, FindingKind};
use crate::model::{Class, ClassNi, ClassRule};
use crate::text::listed;
use lnet_dlc::ops::policy::RuleAction;
use lnet_wire::Selector;
use std::collections::BTreeSet;

/// The most addresses of one interface that are compared with a rule about NIDs; a class with more is taken to match.
const MAX_COMPARED: u64 = 1 << 17;

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    for (index, class) in facts.cluster.classes.iter().enumerate() {
        for rule in &class.rules {
            findings.extend(unmatched(facts, index, class, rule));
        }
        for (at, one) in class.rules.iter().enumerate() {
            let others = class.rules[at + 1..].iter();
            findings.extend(others.filter(|other| contradict(class, one, other)).map(|other| {
                let what = format!(
                    "{}: the rules for {} (line {}) and for {} contradict each other",
                    class.label(),
                    text(one),
                    one.place.line,
                    text(other)
                );
                Finding::new(FindingKind::RulesContradict, facts.cluster, &[index], other.place, what)
                    .with_subjects([text(one), text(other)])
            }));
        }
    }
}

/// The selectors of a rule as text.
fn text(rule: &ClassRule) -> String {
    let parts = [("src", &rule.src), ("dst", &rule.dst), ("rte", &rule.rte)];
    let said = parts.iter().filter_map(|(name, selector)| Some(format!("{name} {}", selector.as_ref()?)));
    said.collect::<Vec<_>>().join(" ")
}

fn unmatched(facts: &Facts<'_>, index: usize, class: &Class, rule: &ClassRule) -> Option<Finding> {
    let any_of = |class: &Class, selector: &Selector| class.nis.iter().any(|ni| may_match(ni, selector));
    let src = rule.src.as_ref().filter(|src| !any_of(class, src));
    let others =
        || facts.cluster.classes.iter().enumerate().filter(|(other, it)| *other != index || it.count > 1);
    let dst = rule.dst.as_ref().filter(|dst| !others().any(|(_, other)| any_of(other, dst)));
    let rte = rule.rte.as_ref().filter(|rte| {
        let is_meant = |nid| rte.matches_nid(nid);
        !class.routes.iter().any(|route| {
            let node = facts.nids.owner(route.gateway).map(|owner| owner.node);
            let nids = node.and_then(|node| Some(facts.cluster.classes.get(node.class)?.nids(node.node)));
            is_meant(route.gateway) || nids.into_iter().flatten().any(is_meant)
        })
    });
    let named = [("interface of the node", src), ("peer", dst), ("gateway", rte)];
    let missing = named.iter().filter_map(|(what, selector)| Some(format!("no {what} is {}", (*selector)?)));
    let missing = listed(missing);
    if missing.is_empty() {
        return None;
    }
    let what = format!("{}: the rule for {} has no effect: {missing}", class.label(), text(rule));
    let finding = Finding::new(FindingKind::RuleMatchesNothing, facts.cluster, &[index], rule.place, what);
    Some(finding.with_subjects([text(rule)]))
}

/// Whether a selector matches the interface of some node, or may do so because its address is not known.
fn may_match(ni: &ClassNi, selector: &Selector) -> bool {
    if !selector.matches_net(ni.net) {
        return false;
    }
    if selector.is_of_nets() || !ni.addresses.is_known() || ni.addresses.count() > MAX_COMPARED {
        return true;
    }
    let mut addresses = ni.addresses.runs().iter().flat_map(|run| (0..run.count).map(|index| run.at(index)));
    addresses.any(|address| selector.matches_nid(address.on(ni.net)))
}

/// Whether two rules give the same interfaces different priorities, or have the same selectors and another effect.
fn contradict(class: &Class, one: &ClassRule, other: &ClassRule) -> bool {
    let effect = |rule: &ClassRule| (effective(rule), rule.messages);
    if effect(one) == effect(other) {
        return false;
    }
    if (&one.src, &one.dst, &one.rte) == (&other.src, &other.dst, &other.rte) {
        return true;
    }
    let (Some(first), Some(second)) = (about_src(one), about_src(other)) else { return false };
    let matched = |selector| -> BTreeSet<usize> {
        (0..class.nis.len()).filter(|ni| may_match(&class.nis[*ni], selector)).collect()
    };
    let first_matched = matched(first);
    // Of a rule for a net and one for NIDs on it both have an effect.
    first.is_of_nets() == second.is_of_nets()
        && (first.is_of_nets() || class.count == 1)
        && !first_matched.is_empty()
        && first_matched == matched(second)
}

/// The selector of a rule about interfaces of the node alone.
const fn about_src(rule: &ClassRule) -> Option<&Selector> {
    match (&rule.src, &rule.dst, &rule.rte) {
        (Some(src), None, None) => Some(src),
        _ => None,
    }
}

/// The action that a rule has when it is added.
const fn effective(rule: &ClassRule) -> RuleAction {
    match (rule.action, &rule.src, &rule.dst, &rule.rte) {
        (RuleAction::Suited, Some(_), None, None) | (RuleAction::Suited, None, Some(_), None) => {
            RuleAction::Priority(0)
        }
        (RuleAction::Suited, ..) => RuleAction::PreferredList,
        (action, ..) => action,
    }
}
