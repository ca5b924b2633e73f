//! Address families: nodes that have a net in common, and no family on it.

use super::{Facts, Finding, FindingKind, Severity};
use crate::model::Class;
use crate::text::listed;
use lnet_wire::NetId;

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    findings.extend(facts.cluster.nets().into_iter().filter_map(|net| on_net(facts, net)));
}

/// The families of the NIDs of a class on a net: whether it has IPv4 NIDs, and IPv6 NIDs. `None` if it is not on the net, or an address is
/// not known.
fn families(class: &Class, net: NetId) -> Option<(bool, bool)> {
    let nis = || class.nis.iter().filter(move |ni| ni.net == net);
    let is_known = nis().next().is_some() && nis().all(|ni| ni.addresses.is_known());
    is_known.then(|| (nis().any(|ni| ni.addresses.has_ipv4()), nis().any(|ni| ni.addresses.has_ipv6())))
}

fn on_net(facts: &Facts<'_>, net: NetId) -> Option<Finding> {
    let classes = &facts.cluster.classes;
    let only = |of: (bool, bool)| -> Vec<usize> {
        (0..classes.len()).filter(|index| families(&classes[*index], net) == Some(of)).collect()
    };
    let (short, long) = (only((true, false)), only((false, true)));
    let pairs = || short.iter().flat_map(|one| long.iter().map(move |other| (*one, *other)));
    let mut meant = pairs().filter(|(one, other)| !facts.cluster.may_be_apart(*one, *other)).peekable();
    meant.peek()?;
    let is_end = |index| facts.is_end(index);
    let is_cut = meant.any(|(one, other)| is_end(one) && is_end(other) && !has_other_path(facts, one, other));
    let labels = |indices: &[usize]| listed(indices.iter().map(|index| classes[*index].label()));
    let what =
        format!("on {net} {} have IPv4 NIDs only, and {} IPv6 NIDs only", labels(&short), labels(&long));
    let count = |indices: &[usize]| -> u64 { indices.iter().map(|index| classes[*index].count).sum() };
    let about = if count(&short) < count(&long) { &short } else { &long };
    let nis = about.first().and_then(|index| classes.get(*index)).map_or(&[][..], |class| &class.nis);
    let place = nis.iter().find(|ni| ni.net == net).map(|ni| ni.place).unwrap_or_default();
    let finding = Finding::new(FindingKind::FamilyDiffers, facts.cluster, about, place, what);
    Some(if is_cut { finding.with_severity(Severity::Error) } else { finding })
}

/// Whether two classes have a net in common on which they have a family in common, or on which a family is not known.
fn has_other_path(facts: &Facts<'_>, one: usize, other: usize) -> bool {
    let (one, other) = (&facts.cluster.classes[one], &facts.cluster.classes[other]);
    one.nets().into_iter().filter(|net| other.is_on(*net)).any(|net| {
        match (families(one, net), families(other, net)) {
            (Some((short, long)), Some((its_short, its_long))) => short && its_short || long && its_long,
            _ => true,
        }
    })
}
