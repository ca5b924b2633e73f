//! Gateways of routes: whether they exist, can be reached, forward, and lead to the net; and the hops.

use super::{Facts, Finding, FindingKind, Severity};
use crate::model::{Class, ClassRoute};
use crate::reach::{Gateway, GroupRoute, Passage};
use crate::text::listed;
use lnet_dlc::model::Place;
use lnet_wire::NetId;
use std::collections::BTreeMap;

pub(super) fn check(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let mut groups: BTreeMap<Key, Vec<RouteRef>> = BTreeMap::new();
    for (class, it) in facts.cluster.classes.iter().enumerate() {
        for route in routes(facts, class) {
            let Some(said) = it.routes.get(route.index) else { continue };
            let Some(fault) = fault(facts, class, route) else { continue };
            let gateway = match fault {
                FindingKind::GatewayNobody | FindingKind::GatewayNotOnOwnNet => said.gateway.to_string(),
                FindingKind::RouteToOwnNet | FindingKind::HopsDisagree => String::new(),
                _ => route.node.map_or_else(String::new, |node| facts.cluster.node_name(node)),
            };
            let net = (fault != FindingKind::GatewayDoesNotForward).then_some(said.net);
            // Hops and routes to own nets are mistakes of the file that has the route, the others are of the gateway.
            let user =
                matches!(fault, FindingKind::RouteToOwnNet | FindingKind::HopsDisagree).then_some(class);
            groups
                .entry(Key { fault, user, gateway, net })
                .or_default()
                .push(RouteRef { class, route: *route });
        }
    }
    findings.extend(groups.into_iter().map(|(key, routes)| finding(facts, &key, &routes)));
}

/// Routes with the same fault.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    fault: FindingKind,
    /// The class whose file is wrong, where it is not the gateway.
    user: Option<usize>,
    /// The gateway: its node or its NID.
    gateway: String,
    /// The net, unless the fault concerns all nets.
    net: Option<NetId>,
}

/// A route of a class.
#[derive(Clone, Copy)]
struct RouteRef {
    class: usize,
    route: GroupRoute,
}

fn routes<'a>(facts: &'a Facts<'_>, class: usize) -> &'a [GroupRoute] {
    facts.joined.groups().get(class).map_or(&[], |group| &group.routes)
}

/// The fault of a route, if it has one; of several, the one that is to be mended first.
fn fault(facts: &Facts<'_>, class: usize, route: &GroupRoute) -> Option<FindingKind> {
    let user = facts.cluster.classes.get(class)?;
    if user.is_on(route.net) {
        return Some(FindingKind::RouteToOwnNet);
    }
    if !user.is_on(route.gateway_net) {
        return Some(FindingKind::GatewayNotOnOwnNet);
    }
    let gateway = match route.gateway {
        Gateway::Nobody => return Some(FindingKind::GatewayNobody),
        Gateway::Assumed => return None,
        Gateway::Group(gateway) => gateway,
    };
    let its_class = facts.cluster.classes.get(gateway)?;
    if !its_class.is_router {
        return Some(FindingKind::GatewayDoesNotForward);
    }
    let is_on = its_class.is_on(route.net);
    let is_onward = |own: &ClassRoute| own.net == route.net && own.gateway.net() != route.gateway_net;
    let has_route = its_class.routes.iter().any(is_onward);
    if !is_on && !has_route {
        return Some(FindingKind::GatewayNotOnTarget);
    }
    // A route of the gateway that does not work has a finding of its own.
    let behind = facts.joined.hops_onward(gateway, route.net, route.gateway_net)?;
    route.hops.filter(|hops| *hops != behind + 1).map(|_| FindingKind::HopsDisagree)
}

/// Whether the path of a class to a net is broken by a route that has a finding.
pub(super) fn is_explained(facts: &Facts<'_>, class: usize, net: NetId) -> bool {
    let mut seen = Vec::new();
    explained(facts, class, net, &mut seen)
}

fn explained(facts: &Facts<'_>, class: usize, net: NetId, seen: &mut Vec<usize>) -> bool {
    if seen.contains(&class) {
        return false;
    }
    seen.push(class);
    routes(facts, class).iter().filter(|route| route.net == net).any(|route| {
        fault(facts, class, route).is_some()
            || matches!(route.gateway, Gateway::Group(gateway) if explained(facts, gateway, net, seen))
    })
}

fn finding(facts: &Facts<'_>, key: &Key, routes: &[RouteRef]) -> Finding {
    let classes = &facts.cluster.classes;
    let mut users: Vec<usize> = routes.iter().map(|it| it.class).collect();
    users.dedup();
    let user_names = listed(users.iter().filter_map(|index| classes.get(*index)).map(Class::label));
    let mut nets: Vec<NetId> = routes.iter().map(|it| it.route.net).collect();
    nets.sort_unstable();
    nets.dedup();
    let nets = listed(nets);
    let said =
        |it: &RouteRef| classes.get(it.class).and_then(|class| class.routes.get(it.route.index)).copied();
    let first: Option<ClassRoute> = routes.first().and_then(said);
    let place = first.map_or_else(Place::default, |route| route.place);
    let gateway_class = match routes.first().map(|it| it.route.gateway) {
        Some(Gateway::Group(group)) => Some(group),
        _ => None,
    };
    let gateway = &key.gateway;
    let (what, about, place) = match key.fault {
        FindingKind::GatewayDoesNotForward => {
            let at =
                gateway_class.and_then(|index| classes.get(index)).map_or(place, |class| class.routing_at);
            let what = format!("{gateway} does not forward; routes to {nets} by it: {user_names}");
            (what, gateway_class.map_or_else(|| users.clone(), |index| vec![index]), at)
        }
        FindingKind::GatewayNotOnTarget => (
            format!("{gateway} is not on {nets}; routes to it by {gateway}: {user_names}"),
            users.clone(),
            place,
        ),
        FindingKind::GatewayNobody => (
            match first.is_none_or(|route| facts.nids.is_nobodys(route.gateway)) {
                true => format!("no node has the NID {gateway}; routes to {nets} by it: {user_names}"),
                false => format!(
                    "no node has the NID {gateway}, and none with an unknown address on its net forwards and leads to {nets}; routes by it: {user_names}"
                ),
            },
            users.clone(),
            place,
        ),
        FindingKind::GatewayNotOnOwnNet => {
            let what = format!("{user_names} has a route to {nets} by {gateway}, on a net that it is not on");
            (what, users.clone(), place)
        }
        FindingKind::RouteToOwnNet => {
            (format!("{user_names} is on {nets}, and has a route to it"), users.clone(), place)
        }
        _ => (hops_text(facts, &user_names, routes, said), users.clone(), place),
    };
    let cut = users_cut_off(facts, routes);
    let severity = match key.fault {
        FindingKind::RouteToOwnNet => Severity::Warning,
        _ if cut.is_empty() => Severity::Warning,
        _ => Severity::Error,
    };
    let what = if cut.is_empty() { what } else { format!("{what}; no path {}", listed(cut)) };
    let net = key.net.map_or_else(String::new, |net| net.to_string());
    let finding = Finding::new(key.fault, facts.cluster, &about, place, what)
        .with_subjects([format!("{gateway} {net}")])
        .with_severity(severity);
    match routes.first().and_then(|it| it.route.node) {
        Some(node) if key.fault == FindingKind::GatewayDoesNotForward => {
            finding.in_file_of(facts.cluster, node, |file| Some(file.routing_at))
        }
        _ => finding,
    }
}

fn hops_text(
    facts: &Facts<'_>,
    users: &str,
    routes: &[RouteRef],
    said: impl Fn(&RouteRef) -> Option<ClassRoute>,
) -> String {
    let text = |it: &RouteRef| {
        let route = said(it)?;
        let Gateway::Group(gateway) = it.route.gateway else { return None };
        let real = facts.joined.hops_onward(gateway, route.net, route.gateway.net())? + 1;
        let hops = route.hops?;
        Some(format!("by {} {hops} instead of {real}", route.gateway))
    };
    let net = routes.first().map_or_else(String::new, |it| it.route.net.to_string());
    format!("{users} has routes to {net} with wrong hops: {}", listed(routes.iter().filter_map(text)))
}

/// The pairs, as texts, that have no path because of faulty routes.
fn users_cut_off(facts: &Facts<'_>, routes: &[RouteRef]) -> Vec<String> {
    let classes = &facts.cluster.classes;
    let mut cut = Vec::new();
    for it in routes {
        let Some(user) = classes.get(it.class).filter(|_| facts.is_end(it.class)) else { continue };
        for (index, target) in classes.iter().enumerate() {
            let is_cut = index != it.class
                && facts.is_end(index)
                && target.is_on(it.route.net)
                && facts.joined.passage(it.class, index) == Passage::NoPath;
            let text = format!("from {} to {}", user.name, target.name);
            if is_cut && !cut.contains(&text) {
                cut.push(text);
            }
        }
    }
    cut
}
