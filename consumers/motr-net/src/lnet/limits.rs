//! Limits of the resources of a domain, which the program sets: the bounded resources of the design document.
#![allow(missing_docs, reason = "the headers document the functions of C")]

use super::budget::Budget;
use super::domain::lnet_domain;
use crate::Errno;
use crate::net::types::m0_net_domain;
use crate::object::Object;
use lnet_api::c_pointer::{In, Out};
use std::ffi::c_int;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct m0_net_lnet_limits {
    pub ll_tms: u32,
    pub ll_buffers: u32,
    pub ll_events: u32,
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_lnet_dom_set_limits(
    dom: Object<m0_net_domain>,
    limits: In<'_, m0_net_lnet_limits>,
) -> c_int {
    let Some(limits) = limits.get().filter(|_| !dom.is_null() && !dom.nd_xprt_private.get().is_null()) else {
        return Errno::Invalid.to_c();
    };
    let resources = &lnet_domain(dom).resources;
    resources.tms.set_limit(limits.ll_tms);
    resources.buffers.set_limit(limits.ll_buffers);
    resources.events.set_limit(limits.ll_events);
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_lnet_dom_get_limits(
    dom: Object<m0_net_domain>,
    mut limits: Out<'_, m0_net_lnet_limits>,
    mut used: Out<'_, m0_net_lnet_limits>,
) -> c_int {
    if dom.is_null() || dom.nd_xprt_private.get().is_null() {
        return Errno::Invalid.to_c();
    }
    let resources = &lnet_domain(dom).resources;
    let of = |number: fn(&Budget) -> u32| m0_net_lnet_limits {
        ll_tms: number(&resources.tms),
        ll_buffers: number(&resources.buffers),
        ll_events: number(&resources.events),
    };
    limits.store_if_wanted(of(Budget::limit));
    used.store_if_wanted(of(Budget::used));
    0
}
