//! NIDs that two interfaces have, and interfaces whose NID is not known.

use super::{Facts, Finding, FindingKind};
use crate::model::{ClassNi, Duplicate, NidOwner};
use crate::text::listed;

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    duplicates(facts, findings);
    unknown(facts, findings);
}

fn duplicates(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    for Duplicate { nid, one, other, count, runs, nodes: interfaces } in facts.nids.duplicates() {
        let who = |owner: NidOwner| {
            let class = facts.cluster.classes.get(owner.node.class);
            let ni = class.map_or_else(String::new, |class| class.ni_label(owner.ni));
            format!("{} of {}", ni, facts.cluster.node_name(owner.node))
        };
        let more = match (count, runs) {
            (1, _) => String::new(),
            (_, 1) => format!(", and {} more NIDs after it", count - 1),
            _ => {
                format!(", and there are {} more interfaces like these with a NID of another one", count - 1)
            }
        };
        let what = format!("{nid} is the NID of {} and of {}{more}", who(one), who(other));
        let class = other.node.class;
        let ni = facts.cluster.classes.get(class).and_then(|class| class.nis.get(other.ni));
        let place = ni.map(|ni| ni.place).unwrap_or_default();
        let mut classes = vec![class, one.node.class];
        classes.dedup();
        let finding = Finding::new(FindingKind::DuplicateNid, facts.cluster, &classes, place, what)
            .in_file_of(facts.cluster, other.node, |file| file.nis.get(other.ni).copied());
        let mut nodes = vec![facts.cluster.node_name(other.node), facts.cluster.node_name(one.node)];
        nodes.dedup();
        // Interfaces of one node are counted once.
        let node_count = if one.node == other.node { interfaces.div_ceil(2) } else { interfaces };
        findings.push(Finding { nodes, node_count, ..finding.with_subjects([nid]) });
    }
}

fn unknown(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    for (index, class) in facts.cluster.classes.iter().enumerate() {
        for kind in [FindingKind::NetsUnknown, FindingKind::AddressUnknown] {
            let is_assumed = kind == FindingKind::NetsUnknown;
            let is_unknown = |ni: &ClassNi| !ni.addresses.is_known() && ni.is_assumed == is_assumed;
            let unknown = (0..class.nis.len()).filter(|ni| is_unknown(&class.nis[*ni]));
            let names: Vec<String> = unknown.clone().map(|ni| class.ni_label(ni)).collect();
            let Some(first) = unknown.clone().next() else { continue };
            let said =
                if is_assumed { "rules that depend on its addresses add" } else { "no address is known of" };
            let what = format!("{}: {said} {}", class.label(), listed(&names));
            let finding = Finding::new(kind, facts.cluster, &[index], class.nis[first].place, what);
            findings.push(finding.with_subjects(names));
        }
    }
}
