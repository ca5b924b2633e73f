//! Settings that should be equal on all nodes, or on all interfaces of a net.

use super::{Facts, Finding, FindingKind};
use crate::model::Class;
use crate::text::listed;
use lnet_dlc::model::Place;
use lnet_settings::Setting;
use lnet_wire::NetType;
use std::collections::BTreeMap;
use std::fmt::Display;

/// The settings that should be equal on all nodes.
const EQUAL: &[Setting] = &[Setting::TransactionTimeout, Setting::RetryCount, Setting::HealthSensitivity];

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    for setting in EQUAL {
        // Without health sensitivity there are no retries: that difference is found as one of the sensitivity.
        let has = |class: &Class| *setting != Setting::RetryCount || class.settings.health_sensitivity > 0;
        let classes = facts.cluster.classes.iter().enumerate().filter(|(_, class)| has(class));
        let values = classes.map(|(index, class)| Value {
            class: index,
            place: class.settings_at,
            value: class.settings.get(*setting),
        });
        findings.extend(difference(facts, FindingKind::SettingDiffers, setting.name(), values));
    }
    let classes = facts.cluster.classes.iter().enumerate();
    let on_tcp = |class: &&Class| class.nis.iter().any(|ni| ni.net.kind() == NetType::TCP);
    let ports = classes.clone().filter(|(_, class)| on_tcp(class)).filter_map(|(index, class)| {
        Some(Value {
            class: index,
            place: Place { line: 1, column: 1 },
            value: i64::from(class.accept_port?),
        })
    });
    findings.extend(difference(facts, FindingKind::AcceptPortDiffers, "accept_port", ports));
    for net in facts.cluster.nets() {
        let nis = classes.clone().flat_map(|(index, class)| class.nis.iter().map(move |ni| (index, ni)));
        let nis = nis.filter(|(_, ni)| ni.net == net);
        let values = |value: fn(&crate::model::ClassNi) -> Option<u32>| {
            nis.clone().filter_map(move |(class, ni)| {
                Some(Value { class, place: ni.place, value: i64::from(value(ni)?) })
            })
        };
        let name = format!("peer_credits on {net}");
        let credits = values(|ni| Some(ni.peer_credits()));
        findings.extend(difference(facts, FindingKind::PeerCreditsDiffer, &name, credits));
        let mtu = values(|ni| ni.mtu);
        findings.extend(difference(facts, FindingKind::MtuDiffers, &format!("the MTU on {net}"), mtu));
    }
}

/// The value that a class has.
struct Value<T> {
    class: usize,
    place: Place,
    value: T,
}

/// A finding if the values differ: about the classes that have another one than most nodes.
fn difference<T: Ord + Copy + Display>(
    facts: &Facts<'_>,
    kind: FindingKind,
    name: &str,
    values: impl Iterator<Item = Value<T>>,
) -> Option<Finding> {
    let mut by_value: BTreeMap<T, (u64, Vec<usize>, Place)> = BTreeMap::new();
    for Value { class, place, value } in values {
        let (nodes, classes, _) = by_value.entry(value).or_insert_with(|| (0, Vec::new(), place));
        *nodes += facts.cluster.classes[class].count;
        classes.push(class);
        classes.dedup();
    }
    let all: u64 = by_value.values().map(|(nodes, ..)| *nodes).fold(0, u64::saturating_add);
    let most = by_value.iter().max_by_key(|(_, (nodes, ..))| *nodes).filter(|_| by_value.len() > 1);
    let (usual, (with_usual, classes_with_usual, _)) = most?;
    let usual = *usual;
    let usual_nodes = match with_usual.saturating_mul(2) > all {
        true => "most nodes".to_owned(),
        false => listed(classes_with_usual.iter().map(|index| facts.cluster.classes[*index].label())),
    };
    let others = by_value.iter().filter(|(value, _)| **value != usual);
    let mut about = Vec::new();
    let mut texts = Vec::new();
    let mut place = None;
    for (value, (_, classes, at)) in others {
        let labels = listed(classes.iter().map(|index| facts.cluster.classes[*index].label()));
        texts.push(format!("{value} on {labels}"));
        about.extend(classes);
        place = place.or(Some(*at));
    }
    let what = format!("{name} is {usual} on {usual_nodes}, but {}", listed(texts));
    let finding = Finding::new(kind, facts.cluster, &about, place.unwrap_or_default(), what);
    Some(finding.with_subjects([name]))
}
