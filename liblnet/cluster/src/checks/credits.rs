//! Credits and router buffers: whether they carry the nodes that an interface, or a router, serves.

use super::{Facts, Finding, FindingKind};
use crate::model::Class;
use crate::text::listed;
use lnet_core::router::BUFFER_SIZES;
use lnet_wire::NetId;

/// A class whose nodes are at least so many times as numerous as those of another one is served by that.
const MIN_CLIENTS_PER_SERVER: u64 = 10;
/// The most nodes that an interface can serve with one credit.
pub(super) const MAX_NODES_PER_CREDIT: u64 = 8;

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    for (index, class) in facts.cluster.classes.iter().enumerate() {
        above(facts, index, class, findings);
        for net in class.nets() {
            findings.extend(too_few(facts, index, class, net));
        }
        findings.extend(too_few_buffers(facts, index, class));
    }
}

fn above(facts: &Facts<'_>, index: usize, class: &Class, findings: &mut Vec<Finding>) {
    let is_above = |ni: &usize| class.nis[*ni].peer_credits() > class.nis[*ni].credits();
    let all: Vec<usize> = (0..class.nis.len()).filter(is_above).collect();
    let Some(first) = all.first() else { return };
    let names: Vec<String> = all.iter().map(|ni| class.ni_label(*ni)).collect();
    let what = format!("{}: peer_credits are above credits on {}", class.label(), listed(&names));
    let place = class.nis[*first].place;
    let finding = Finding::new(FindingKind::PeerCreditsAboveCredits, facts.cluster, &[index], place, what);
    findings.push(finding.with_subjects(names));
}

/// Compares the credits of the interfaces of a class on a net with the nodes that each of them serves. Nodes are spread over the interfaces
/// of a server, and over all routers of a class.
fn too_few(facts: &Facts<'_>, index: usize, class: &Class, net: NetId) -> Option<Finding> {
    let clients = facts.cluster.classes.iter().filter(|other| {
        other.is_on(net) && other.count >= class.count.saturating_mul(MIN_CLIENTS_PER_SERVER)
    });
    let clients: u64 = clients.map(|other| other.count).sum();
    let nis: Vec<_> = class.nis.iter().filter(|ni| ni.net == net).collect();
    let servers = if class.is_router { class.count } else { 1 };
    let shares = servers.saturating_mul(u64::try_from(nis.len()).unwrap_or(1)).max(1);
    let share = clients.div_ceil(shares);
    let least = share.div_ceil(MAX_NODES_PER_CREDIT);
    let small = nis.iter().find(|ni| u64::from(ni.credits()) < least)?;
    let said = if small.tunables.credits.is_some() { "" } else { ", the default," };
    let what = format!(
        "{}: {} credits{said} on {net} for {share} nodes on each interface, of {clients} in all",
        class.label(),
        small.credits()
    );
    let finding = Finding::new(FindingKind::CreditsTooFew, facts.cluster, &[index], small.place, what);
    Some(finding.with_subjects([net]).with_mend(format!(
        "Raise credits of the interface to {least} or more, or add interfaces or servers."
    )))
}

/// Compares the buffers of the routers of a class with the nodes on their nets: each message that is forwarded has one.
fn too_few_buffers(facts: &Facts<'_>, index: usize, class: &Class) -> Option<Finding> {
    let is_client = |other: &&Class| {
        let is_on_its_net = other.nis.iter().any(|ni| class.is_on(ni.net));
        is_on_its_net && other.count >= class.count.saturating_mul(MIN_CLIENTS_PER_SERVER)
    };
    let clients: u64 =
        facts.cluster.classes.iter().filter(|_| class.is_router).filter(is_client).map(|it| it.count).sum();
    let share = clients.div_ceil(class.count.max(1));
    let least = share.div_ceil(MAX_NODES_PER_CREDIT);
    let mut few = Vec::new();
    for ((name, size), given) in ["tiny", "small", "large"].iter().zip(BUFFER_SIZES).zip(class.buffers) {
        let (number, said) = if given == 0 { (size.default_count, " by default") } else { (given, "") };
        if u64::from(number) < least {
            few.push(format!("{number} {name} ones{said}"));
        }
    }
    if few.is_empty() {
        return None;
    }
    let what = format!(
        "{}: of the router buffers {} for {share} nodes on each router, of {clients} in all",
        class.label(),
        listed(few)
    );
    let finding = Finding::new(FindingKind::CreditsTooFew, facts.cluster, &[index], class.buffers_at, what);
    Some(finding.with_subjects(["buffers"]).with_mend(format!(
        "Raise the numbers of buffers to {least} or more, such as 'buffers: {{large: {least}}}', or add routers."
    )))
}
