//! Credits and router buffers: whether they carry the nodes that an interface, or a router, serves.

use super::{Facts, Finding, FindingKind};
use crate::model::Class;
use crate::text::listed;
use lnet_core::router::BUFFER_SIZES;
use lnet_dlc::model::BUFFER_NAMES;
use lnet_wire::NetId;
use std::collections::{BTreeMap, BTreeSet};

/// A class whose nodes are at least so many times as numerous as those of another one is served by that.
const MIN_CLIENTS_PER_SERVER: u64 = 10;
/// The most nodes that an interface can serve with one credit.
pub(super) const MAX_NODES_PER_CREDIT: u64 = 8;

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let roles = Roles::of(facts);
    for (index, class) in facts.cluster.classes.iter().enumerate() {
        above(facts, index, class, findings);
        for net in class.nets() {
            findings.extend(too_few(facts, &roles, index, net));
        }
        findings.extend(too_few_buffers(facts, &roles, index));
    }
}

/// The role of each class: the classes of one role count as one. Classes of a topology file have their own. Of a directory nodes are in one role that
/// are on the same nets with the same credits, and have the same routes: one of ten thousand clients that has another setting is no server of the
/// others.
struct Roles {
    /// The role of each class.
    of_class: Vec<usize>,
    /// The number of nodes of each role.
    nodes: Vec<u64>,
}

impl Roles {
    fn of(facts: &Facts<'_>) -> Self {
        let mut by_key = BTreeMap::new();
        let mut roles = Self { of_class: Vec::new(), nodes: Vec::new() };
        for (index, class) in facts.cluster.classes.iter().enumerate() {
            let credits: Vec<_> =
                class.nis.iter().map(|ni| (ni.net, ni.credits(), ni.peer_credits())).collect();
            let routes: BTreeSet<_> = class.routes.iter().map(|route| (route.net, route.gateway)).collect();
            let own = class.nodes.is_empty().then_some(index);
            let role = *by_key.entry((own, credits, routes)).or_insert(roles.nodes.len());
            if role == roles.nodes.len() {
                roles.nodes.push(0);
            }
            roles.nodes[role] += class.count;
            roles.of_class.push(role);
        }
        roles
    }

    /// The number of nodes of the role of a class.
    fn nodes_like(&self, class: usize) -> u64 {
        self.of_class.get(class).and_then(|role| self.nodes.get(*role)).copied().unwrap_or(0)
    }

    /// The nodes that a class serves: those of roles that are far more numerous, and for which `is_meant` holds.
    fn clients(&self, facts: &Facts<'_>, class: usize, is_meant: impl Fn(&Class) -> bool) -> u64 {
        let least = self.nodes_like(class).saturating_mul(MIN_CLIENTS_PER_SERVER);
        let classes = facts.cluster.classes.iter().enumerate();
        let clients = classes.filter(|(index, it)| self.nodes_like(*index) >= least && is_meant(it));
        clients.map(|(_, it)| it.count).sum()
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
/// of a server, and over all routers of a role.
fn too_few(facts: &Facts<'_>, roles: &Roles, index: usize, net: NetId) -> Option<Finding> {
    let class = facts.cluster.classes.get(index)?;
    let clients = roles.clients(facts, index, |other| other.is_on(net));
    let nis: Vec<_> = class.nis.iter().filter(|ni| ni.net == net).collect();
    let servers = if class.is_router || !facts.is_end(index) { roles.nodes_like(index) } else { 1 };
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
fn too_few_buffers(facts: &Facts<'_>, roles: &Roles, index: usize) -> Option<Finding> {
    let class = facts.cluster.classes.get(index).filter(|class| class.is_router)?;
    let clients = roles.clients(facts, index, |other| other.nis.iter().any(|ni| class.is_on(ni.net)));
    let share = clients.div_ceil(roles.nodes_like(index).max(1));
    let least = share.div_ceil(MAX_NODES_PER_CREDIT);
    let mut few = Vec::new();
    for ((name, size), given) in BUFFER_NAMES.iter().zip(BUFFER_SIZES).zip(class.buffers) {
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
