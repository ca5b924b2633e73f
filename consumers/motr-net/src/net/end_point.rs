//! End points (motr-net 1.5).

use super::domain::ops;
use super::guard::Guard;
use super::types::{m0_net_end_point, m0_net_transfer_mc, tm_state};
use crate::Errno;
use crate::contract::require;
use crate::object::Object;
use crate::support::{m0_ref_get, m0_ref_put, m0_ref_read};
use lnet_api::c_pointer::{Out, Text};
use std::ffi::c_int;

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_end_point_create(
    epp: Out<'_, Object<m0_net_end_point>>,
    tm: Object<m0_net_transfer_mc>,
    addr: Text<'_>,
) -> c_int {
    if epp.is_null() || tm.is_null() || tm.ntm_state.get() == tm_state::UNDEFINED {
        return Errno::Invalid.to_c();
    }
    let _tm = Guard::tm(tm);
    if tm.ntm_state.get() != tm_state::STARTED {
        return Errno::Invalid.to_c();
    }
    let create = ops(tm.ntm_dom.get()).xo_end_point_create;
    create.map_or(Errno::NoFunction.to_c(), |create| create(epp, tm, addr))
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_end_point_get(ep: Object<m0_net_end_point>) {
    const NAME: &str = "m0_net_end_point_get";
    require!(NAME, !ep.is_null(), "there is no end point");
    require!(NAME, m0_ref_read(ep.part(|it| &it.nep_ref)) > 0, "the end point has been released");
    m0_ref_get(ep.part(|it| &it.nep_ref));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_end_point_put(ep: Object<m0_net_end_point>) {
    const NAME: &str = "m0_net_end_point_put";
    require!(NAME, !ep.is_null(), "there is no end point");
    require!(NAME, m0_ref_read(ep.part(|it| &it.nep_ref)) > 0, "the end point has been released");
    // The last reference is dropped with the lock of the machine, which guards its look-ups of end points.
    let _tm = Guard::tm(ep.nep_tm.get());
    m0_ref_put(ep.part(|it| &it.nep_ref));
}
