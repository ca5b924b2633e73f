//! Routes that differ.

use super::change::Change;
use super::now::Now;
use crate::ops::route::AskedRoute;
use crate::request::{AddRoute, DelRoute, Request, Route};
use lnet_wire::{NetId, Nid};
use std::collections::HashSet;

/// The changes of routes, and the gateways that the node has after them.
#[derive(Debug, Default)]
pub(super) struct RoutePlan {
    pub(super) remove: Vec<Change>,
    pub(super) add: Vec<Change>,
    pub(super) gateways: HashSet<Nid>,
}

/// Plans the changes. A route with other numbers is removed and added again. Those over a gateway on one of the nets `emptied`
/// are lost with it, and added again.
pub(super) fn plan(now: &Now, wanted: Option<&[AskedRoute]>, emptied: &[NetId]) -> RoutePlan {
    let mut plan = RoutePlan::default();
    let mut kept = vec![false; now.config.routes.len()];
    for asked in wanted.unwrap_or_default() {
        plan.gateways.insert(asked.gateway);
        let found = now.config.routes.iter().position(|route| leads_as(now, route, asked));
        match found.and_then(|at| Some((at, now.config.routes.get(at)?))) {
            Some((at, route)) if asked.differs(route).is_ok() => {
                if let Some(kept) = kept.get_mut(at) {
                    *kept = true;
                }
            }
            Some((_, route)) => plan.add.push(addition(merged(asked, route))),
            None => plan.add.push(addition(asked.request())),
        }
    }
    for (route, kept) in now.config.routes.iter().zip(kept) {
        match (kept || wanted.is_none(), emptied.contains(&route.gateway.net())) {
            (false, _) => plan.remove.push(removal(route)),
            (true, true) => plan.add.push(addition(as_it_is(route))),
            (true, false) => {}
        }
        if wanted.is_none() {
            plan.gateways.insert(route.gateway);
        }
    }
    plan
}

/// Whether the route is the one that is asked for: its gateway may be known by another of its NIDs.
fn leads_as(now: &Now, route: &Route, asked: &AskedRoute) -> bool {
    let is_one_peer = |peer: &&crate::request::Peer| peer.nis.iter().any(|ni| ni.nid == asked.gateway);
    let nids = || now.peers.iter().find(is_one_peer).map(|peer| &peer.nis);
    route.net == asked.net
        && (route.gateway == asked.gateway
            || nids().is_some_and(|nis| nis.iter().any(|ni| ni.nid == route.gateway)))
}

/// The route with the numbers that are given, and for the rest those that it has.
fn merged(asked: &AskedRoute, now: &Route) -> AddRoute {
    AddRoute {
        gateway: asked.gateway,
        hops: asked.hops.or(now.hops),
        priority: asked.priority.unwrap_or(now.priority),
        health_sensitivity: asked.sensitivity.unwrap_or(now.health_sensitivity),
        ..as_it_is(now)
    }
}

const fn as_it_is(route: &Route) -> AddRoute {
    AddRoute {
        net: route.net,
        gateway: route.gateway,
        hops: route.hops,
        priority: route.priority,
        health_sensitivity: route.health_sensitivity,
    }
}

fn addition(route: AddRoute) -> Change {
    Change::add(format!("route {} by {}", route.net, route.gateway), Request::AddRoute(route))
}

fn removal(route: &Route) -> Change {
    let del = DelRoute { net: Some(route.net), gateway: Some(route.gateway) };
    Change::remove(format!("route {} by {}", route.net, route.gateway), Request::DelRoute(del))
}
