//! End points (motr-net 1.5).

use super::domain::ops;
use super::guard::Guard;
use super::types::{m0_net_end_point, m0_net_transfer_mc, tm_state};
use crate::contract::require;
use crate::errno::Errno;
use crate::support::{m0_ref_get, m0_ref_put, m0_ref_read};
use std::ffi::{c_char, c_int};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_end_point_create(
    epp: *mut *mut m0_net_end_point,
    tm: *mut m0_net_transfer_mc,
    addr: *const c_char,
) -> c_int {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        if epp.is_null() || tm.is_null() || (*tm).ntm_state == tm_state::UNDEFINED {
            return Errno::INVALID.to_c();
        }
        let _tm = Guard::tm(tm);
        if (*tm).ntm_state != tm_state::STARTED {
            return Errno::INVALID.to_c();
        }
        let create = ops((*tm).ntm_dom).xo_end_point_create;
        create.map_or(Errno::NOT_SUPPORTED.to_c(), |create| create(epp, tm, addr))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_end_point_get(ep: *mut m0_net_end_point) {
    const NAME: &str = "m0_net_end_point_get";
    require!(NAME, !ep.is_null(), "there is no end point");
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        require!(NAME, m0_ref_read(&raw const (*ep).nep_ref) > 0, "the end point has been released");
        m0_ref_get(&raw mut (*ep).nep_ref);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_end_point_put(ep: *mut m0_net_end_point) {
    const NAME: &str = "m0_net_end_point_put";
    require!(NAME, !ep.is_null(), "there is no end point");
    // SAFETY: the contract of the C functions (`super`). The last reference is given up with the lock of the machine, which looks
    // end points up with it.
    unsafe {
        require!(NAME, m0_ref_read(&raw const (*ep).nep_ref) > 0, "the end point has been released");
        let _tm = Guard::tm((*ep).nep_tm);
        m0_ref_put(&raw mut (*ep).nep_ref);
    }
}
