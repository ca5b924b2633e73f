//! Address families: nodes that have a net in common and no family on it, and gateways that are named by a NID of another family.

use super::{Facts, Finding, FindingKind, Severity};
use crate::model::{Class, ClassRoute, is_long};
use crate::reach::Passage;
use crate::text::listed;
use lnet_wire::NetId;

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let cut = cut(facts);
    findings.extend(facts.cluster.nets().into_iter().filter_map(|net| on_net(facts, net, &cut)));
    findings.extend((0..facts.cluster.classes.len()).filter_map(|index| of_routes(facts, index, &cut)));
}

/// Pairs of classes of which the first one cannot send to the other one, or gets no responses, for no other reason than families.
fn cut(facts: &Facts<'_>) -> Vec<(usize, usize)> {
    let classes = &facts.cluster.classes;
    // Without NIDs of IPv6 there is nothing to look for.
    if !classes.iter().flat_map(|class| &class.nis).any(|ni| ni.addresses.has_ipv6()) {
        return Vec::new();
    }
    let ends: Vec<usize> = (0..classes.len()).filter(|index| facts.is_end(*index)).collect();
    let pairs = ends.iter().flat_map(|one| ends.iter().map(move |other| (*one, *other)));
    let is_cut = |(one, other): &(usize, usize)| {
        one != other
            && !facts.cluster.may_be_apart(*one, *other)
            && facts.reach.passage(*one, *other) != Passage::Answered
            && facts.joined.passage(*one, *other) == Passage::Answered
    };
    pairs.filter(is_cut).collect()
}

/// The families of the NIDs of a class on a net: whether it has IPv4 NIDs, and IPv6 NIDs. `None` if it is not on the net, or an address is
/// not known.
fn families(class: &Class, net: NetId) -> Option<(bool, bool)> {
    let nis = || class.nis.iter().filter(move |ni| ni.net == net);
    let is_known = nis().next().is_some() && nis().all(|ni| ni.addresses.is_known());
    is_known.then(|| (nis().any(|ni| ni.addresses.has_ipv4()), nis().any(|ni| ni.addresses.has_ipv6())))
}

fn on_net(facts: &Facts<'_>, net: NetId, cut: &[(usize, usize)]) -> Option<Finding> {
    let classes = &facts.cluster.classes;
    let only = |of: (bool, bool)| -> Vec<usize> {
        (0..classes.len()).filter(|index| families(&classes[*index], net) == Some(of)).collect()
    };
    let (short, long) = (only((true, false)), only((false, true)));
    let pairs = || short.iter().flat_map(|one| long.iter().map(move |other| (*one, *other)));
    pairs().find(|(one, other)| !facts.cluster.may_be_apart(*one, *other))?;
    let labels = |indices: &[usize]| listed(indices.iter().map(|index| classes[*index].label()));
    let what =
        format!("on {net} {} have IPv4 NIDs only, and {} IPv6 NIDs only", labels(&short), labels(&long));
    let count = |indices: &[usize]| -> u64 { indices.iter().map(|index| classes[*index].count).sum() };
    let about = if count(&short) < count(&long) { &short } else { &long };
    let nis = about.first().and_then(|index| classes.get(*index)).map_or(&[][..], |class| &class.nis);
    let place = nis.iter().find(|ni| ni.net == net).map(|ni| ni.place).unwrap_or_default();
    let is_about = |index: &usize| short.contains(index) || long.contains(index);
    let cut = cut.iter().filter(|(one, other)| is_about(one) || is_about(other));
    let (what, severity) = with_cut(facts, what, cut);
    let finding = Finding::new(FindingKind::FamilyDiffers, facts.cluster, about, place, what);
    Some(finding.with_severity(severity))
}

/// The routes of a class by NIDs of a family that it has not on their net. Where the gateway has no other NID there either, the net has a finding.
fn of_routes(facts: &Facts<'_>, index: usize, cut: &[(usize, usize)]) -> Option<Finding> {
    let class = facts.cluster.classes.get(index)?;
    let is_foreign = |route: &&ClassRoute| {
        let (net, is_ipv6) = (route.gateway.net(), is_long(route.gateway.address()));
        let owner =
            facts.nids.owner(route.gateway).and_then(|owner| facts.cluster.classes.get(owner.node.class));
        let has_both = owner.is_some_and(|gateway| families(gateway, net) == Some((true, true)));
        has_both && families(class, net) == Some((is_ipv6, !is_ipv6))
    };
    let foreign: Vec<&ClassRoute> = class.routes.iter().filter(is_foreign).collect();
    let first = foreign.first()?;
    let mut gateways: Vec<String> = foreign.iter().map(|route| route.gateway.to_string()).collect();
    gateways.dedup();
    let what = format!(
        "{} has routes by {}, and on {} no NID of that family",
        class.label(),
        listed(&gateways),
        first.gateway.net()
    );
    let (what, severity) =
        with_cut(facts, what, cut.iter().filter(|pair| pair.0 == index || pair.1 == index));
    let finding = Finding::new(FindingKind::FamilyDiffers, facts.cluster, &[index], first.place, what);
    Some(finding.with_subjects(gateways).with_severity(severity).with_mend(
        "Name the gateway by its NID of the other family, or give the nodes a NID of this one.".to_owned(),
    ))
}

/// The text with the pairs that are cut, and the severity.
fn with_cut<'a>(
    facts: &Facts<'_>,
    what: String,
    cut: impl Iterator<Item = &'a (usize, usize)>,
) -> (String, Severity) {
    let name = |index: usize| facts.cluster.classes.get(index).map_or("", |class| &class.name);
    let pairs: Vec<String> =
        cut.map(|(one, other)| format!("from {} to {}", name(*one), name(*other))).collect();
    match pairs.is_empty() {
        true => (what, Severity::Warning),
        false => (format!("{what}; no path {}", listed(pairs)), Severity::Error),
    }
}
