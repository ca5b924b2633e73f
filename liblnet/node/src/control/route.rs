//! Routes and forwarding.

use lnet_core::policy::{Rule, Subject};
use lnet_core::router::{BUFFER_SIZES, PoolState};
use lnet_core::topology::Route;
use lnet_core::{Core, Errno};
use lnet_dlc::request::{self, AddRoute, BufferCounts, BufferPool, CptBuffers};
use std::num::NonZeroUsize;

pub(super) fn add(core: &Core, add: AddRoute) -> Result<(), Errno> {
    core.add_route(Route {
        net: add.net,
        gateway: add.gateway,
        hops: add.hops,
        priority: add.priority,
        health_sensitivity: add.health_sensitivity,
    })
}

/// The route with this number, and whether it may be used now.
pub(super) fn get(core: &Core, index: u32) -> Result<request::Route, Errno> {
    let routes = core.routes();
    let active = routes.active().get(index as usize).ok_or(Errno::NotFound)?;
    let route = active.route;
    Ok(request::Route {
        net: route.net,
        gateway: route.gateway,
        hops: route.hops,
        priority: route.priority,
        health_sensitivity: route.health_sensitivity,
        alive: core.route_is_up(active),
        single_hop: active.is_single_hop(),
        rules: preferring_rules(core, &route),
    })
}

/// The rules that prefer the gateway for destinations on the net of the route.
fn preferring_rules(core: &Core, route: &Route) -> Vec<u32> {
    let nids = core.peer(route.gateway).map_or_else(|| vec![route.gateway], |(peer, _)| peer.nids.clone());
    let prefers = |rule: &Rule| {
        let dst = rule.dst.as_ref().filter(|_| rule.subject() == Some(Subject::Router));
        dst.is_some_and(|dst| dst.matches_net(route.net))
            && rule.rte.as_ref().is_some_and(|rte| nids.iter().any(|nid| rte.matches_nid(*nid)))
    };
    let rules = core.rules();
    (0..).zip(rules.iter()).filter(|(_, rule)| prefers(rule)).map(|(index, _)| index).collect()
}

pub(super) fn switch(core: &Core, on: bool) -> Result<(), Errno> {
    core.change_router(|router| router.switched(on))
}

pub(super) fn set_buffers(core: &Core, counts: BufferCounts) -> Result<(), Errno> {
    core.change_router(|router| router.with_buffers([counts.tiny, counts.small, counts.large]))
}

/// The buffers of one CPU partition. [`Errno::NotFound`] past the last one, and on a node on which forwarding was
/// never enabled.
pub(super) fn buffers(core: &Core, cpt: u32) -> Result<CptBuffers, Errno> {
    let cpts =
        NonZeroUsize::new(core.cpts()).filter(|cpts| (cpt as usize) < cpts.get()).ok_or(Errno::NotFound)?;
    let router = core.router();
    router.buffers_per_cpt(cpts).ok_or(Errno::NotFound)?;
    let pools = core.router_buffers(cpt as usize).ok_or(Errno::NotFound)?;
    let pool = |size: usize| {
        let PoolState { buffers, credits, min_credits } = pools[size];
        BufferPool { pages: BUFFER_SIZES[size].pages, buffers, credits, min_credits }
    };
    Ok(CptBuffers { tiny: pool(0), small: pool(1), large: pool(2), enabled: router.is_on() })
}
