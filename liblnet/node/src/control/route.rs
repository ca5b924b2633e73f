//! Routes and forwarding.

use lnet_core::router::BUFFER_SIZES;
use lnet_core::topology::Route;
use lnet_core::{Core, Errno};
use lnet_dlc::request::{self, AddRoute, BufferCounts, BufferPool, CptBuffers};
use lnet_log::{LogClass, write_line};
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

/// Gateways are not monitored yet: they count as alive, and as not on the net itself.
pub(super) fn get(core: &Core, index: u32) -> Result<request::Route, Errno> {
    let routes = core.routes();
    let route = routes.iter().nth(index as usize).ok_or(Errno::NotFound)?;
    Ok(request::Route {
        net: route.net,
        gateway: route.gateway,
        hops: route.hops,
        priority: route.priority,
        health_sensitivity: route.health_sensitivity,
        alive: true,
        single_hop: false,
    })
}

pub(super) fn switch(core: &Core, on: bool) -> Result<(), Errno> {
    if on {
        write_line!(
            LogClass::RoutingUnsupported,
            "forwarding: switched on and stored, but messages are not forwarded in this version"
        );
    }
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
    let counts = router.buffers_per_cpt(cpts).ok_or(Errno::NotFound)?;
    let pool = |i: usize| {
        let count = counts[i];
        let credits = i32::try_from(count).unwrap_or(i32::MAX);
        BufferPool { pages: BUFFER_SIZES[i].pages, buffers: count, credits, min_credits: credits }
    };
    let enabled = matches!(router, lnet_core::router::Router::Enabled(_));
    Ok(CptBuffers { tiny: pool(0), small: pool(1), large: pool(2), enabled })
}
