//! Requests about routes and forwarding.

use crate::node::Node;
use crate::waiting::route_of;
use lnet_core::policy::{Action, Rule, Rules, Subject};
use lnet_core::router::{BUFFER_SIZES, PoolState};
use lnet_core::topology::Route;
use lnet_core::{Core, Errno};
use lnet_dlc::request::{self, AddRoute, BufferCounts, BufferPool, CptBuffers, DelRoute};
use lnet_wire::lnd_table::AddressKind;
use lnet_wire::{NetId, Nid, Selector};
use std::num::NonZeroUsize;

/// Adds a route. One through a net whose interface waits, waits as well; a net whose interface waits counts as one that the node is on.
pub(super) fn add(node: &Node, add: AddRoute) -> Result<(), Errno> {
    if node.waiting.waits_for(add.net) {
        return Err(Errno::Exists);
    }
    match node.core().admin().add_route(route_of(add)) {
        Err(Errno::HostUnreachable) if node.waiting.waits_for(add.gateway.net()) => {
            node.waiting.add_route(add)
        }
        result => result,
    }
}

/// Deletes routes, those that wait as well.
pub(super) fn delete(node: &Node, which: DelRoute) -> Result<(), Errno> {
    let have_waited = node.waiting.delete_routes(which);
    match node.core().admin().delete_routes(which.net, which.gateway) {
        Err(Errno::NotFound) if have_waited => Ok(()),
        result => result,
    }
}

/// The report on the route with this number, and whether it may be used at present. Those that wait come last.
pub(super) fn get(node: &Node, index: u32) -> Result<request::Route, Errno> {
    let core = node.core();
    let routes = core.admin().routes();
    let index = index as usize;
    let Some(active) = routes.active().get(index) else {
        return node.waiting.route(index - routes.active().len()).ok_or(Errno::NotFound);
    };
    let route = active.route;
    Ok(request::Route {
        net: route.net,
        gateway: route.gateway,
        hops: route.hops,
        priority: route.priority,
        health_sensitivity: route.health_sensitivity,
        alive: core.admin().route_is_up(active),
        single_hop: active.is_single_hop(),
        rules: preferring_rules(core, &route),
    })
}

/// The indexes of the rules that prefer the gateway for some destinations on the net of the route.
fn preferring_rules(core: &Core, route: &Route) -> Vec<u32> {
    let nids = |gateway: Nid| {
        core.admin().peer(gateway).map_or_else(|| vec![gateway], |(peer, _)| peer.nids.clone())
    };
    let its = nids(route.gateway);
    let all: Vec<Nid> = core.admin().routes().iter().flat_map(|route| nids(route.gateway)).collect();
    rules_that_prefer(&core.admin().rules(), route.net, &its, &all)
}

/// The indexes of the rules that prefer the gateway with the NIDs `its` for some destination on `net`, among the NIDs of `all`
/// gateways. Rules without effect are left out: those whose destinations are all covered by an earlier one. Of several lists
/// only the first that finds a gateway applies, and of several rules about one gateway the first.
fn rules_that_prefer(rules: &Rules, net: NetId, its: &[Nid], all: &[Nid]) -> Vec<u32> {
    let names = |rule: &Rule, nids: &[Nid]| {
        rule.rte.as_ref().is_some_and(|rte| nids.iter().any(|nid| rte.matches_nid(*nid)))
    };
    let is_list = |rule: &Rule| rule.action == Action::PreferredList && rule.messages.is_none();
    let mut found = Vec::new();
    let (mut lists, mut about_it): (Vec<&Selector>, Vec<&Selector>) = (Vec::new(), Vec::new());
    for (index, rule) in (0..).zip(rules.iter()) {
        let Some(dst) = rule.dst.as_ref().filter(|dst| {
            rule.subject() == Some(Subject::Router) && dst.matches_net(net) && names(rule, all)
        }) else {
            continue;
        };
        let is_covered_by = |earlier: &[&Selector]| earlier.iter().any(|earlier| covers(earlier, dst));
        if is_list(rule) {
            if is_covered_by(&lists) {
                continue;
            }
            lists.push(dst);
        }
        if names(rule, its) && !is_covered_by(&about_it) {
            about_it.push(dst);
            found.push(index);
        }
    }
    found
}

/// Whether `one` is known to match all NIDs that `other` matches, where both match the same net.
fn covers(one: &Selector, other: &Selector) -> bool {
    match (one.addresses(), other.addresses()) {
        (None, _) => true,
        (Some(all), Some(some)) => all.covers(some),
        // On other nets all addresses are of one family.
        (Some(all), None) => {
            all.is_whole_family() && one.kind().lnd().is_some_and(|lnd| lnd.addresses != AddressKind::Ip)
        }
    }
}

pub(super) fn switch(core: &Core, on: bool) -> Result<(), Errno> {
    core.admin().change_router(|router| router.switched(on))
}

pub(super) fn set_buffers(core: &Core, counts: BufferCounts) -> Result<(), Errno> {
    core.admin().change_router(|router| router.with_buffers([counts.tiny, counts.small, counts.large]))
}

/// The buffers of one CPU partition. [`Errno::NotFound`] past the last one, and on a node on which forwarding was
/// never enabled.
pub(super) fn buffers(core: &Core, cpt: u32) -> Result<CptBuffers, Errno> {
    let cpts =
        NonZeroUsize::new(core.cpts()).filter(|cpts| (cpt as usize) < cpts.get()).ok_or(Errno::NotFound)?;
    let router = core.admin().router();
    router.buffers_per_cpt(cpts).ok_or(Errno::NotFound)?;
    let pools = core.admin().router_buffers(cpt as usize).ok_or(Errno::NotFound)?;
    let pool = |size: usize| {
        let PoolState { buffers, credits, min_credits } = pools[size];
        BufferPool { pages: BUFFER_SIZES[size].pages, buffers, credits, min_credits }
    };
    Ok(CptBuffers { tiny: pool(0), small: pool(1), large: pool(2), enabled: router.is_on() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_rule_is_named_by_the_routes_of_its_gateways_unless_an_earlier_one_counts_instead() {
        type Rules3 = &'static [(&'static str, &'static str, Action)];
        const LIST: Action = Action::PreferredList;
        let (first, second) = ("10.0.0.8@tcp", "10.0.0.9@tcp");
        // The rules, and those that prefer the first and the second gateway to tcp1.
        let table: [(Rules3, &[u32], &[u32]); 9] = [
            (&[("tcp1", "10.0.0.8@tcp", LIST)], &[0], &[]),
            (&[("tcp2", "10.0.0.8@tcp", LIST)], &[], &[]),
            (&[("tcp1", "10.0.0.8@tcp", LIST), ("tcp1", "10.0.0.[8-9]@tcp", LIST)], &[0], &[]),
            // A rule that finds no gateway has no effect.
            (&[("tcp1", "10.0.0.7@tcp", LIST), ("tcp1", "10.0.0.[8-9]@tcp", LIST)], &[1], &[1]),
            (&[("tcp1", "10.0.0.8@tcp", LIST), ("10.1.0.5@tcp1", "10.0.0.9@tcp", LIST)], &[0], &[]),
            (&[("*.*.*.*@tcp1", "10.0.0.8@tcp", LIST), ("10.1.0.5@tcp1", "10.0.0.9@tcp", LIST)], &[0], &[]),
            (&[("10.1.0.5@tcp1", "10.0.0.9@tcp", LIST), ("tcp1", "10.0.0.[8-9]@tcp", LIST)], &[1], &[0, 1]),
            // Rules with a priority apply together, but of two about one gateway only the first.
            (
                &[
                    ("tcp1", "10.0.0.8@tcp", Action::Priority(1)),
                    ("tcp1", "10.0.0.9@tcp", Action::Priority(0)),
                    ("tcp1", "10.0.0.[8-9]@tcp", Action::Priority(2)),
                ],
                &[0],
                &[1],
            ),
            (&[("tcp1", "10.0.0.8@tcp", LIST), ("tcp1", "10.0.0.9@tcp", Action::Priority(1))], &[0], &[1]),
        ];
        for (given, of_first, of_second) in table {
            let mut rules = Rules::default();
            for (dst, rte, action) in given {
                let rule = Rule::new(None, Some(dst.parse().unwrap()), Some(rte.parse().unwrap()), *action);
                rules.add(rule, None).unwrap();
            }
            let all = [first, second].map(|nid| nid.parse::<Nid>().unwrap());
            let of = |at: usize| rules_that_prefer(&rules, "tcp1".parse().unwrap(), &all[at..=at], &all);
            assert_eq!((&of(0)[..], &of(1)[..]), (of_first, of_second), "{given:?}");
        }
    }
}
