//! End points: one object for each address that a transfer machine uses.

use super::address::Address;
use super::machine::machine;
use crate::Errno;
use crate::families::{m0_nep_tlink_init_at_tail, m0_nep_tlist_del};
use crate::net::types::{m0_net_end_point, m0_net_transfer_mc};
use crate::object::Object;
use crate::support::{m0_ref, m0_ref_get, m0_ref_init, m0_tlink};
use lnet_api::c_pointer::{Out, Text};
use std::cell::Cell;
use std::ffi::{CString, c_int};
use std::mem::offset_of;
use std::ptr;

/// An end point of this transport, with the part that programs see.
#[repr(C)]
struct LnetEndPoint {
    public: m0_net_end_point,
    address: Address,
    text: CString,
}

/// The end point of an address, with one more reference. The machine is locked.
pub(super) fn end_point(
    tm: Object<m0_net_transfer_mc>,
    address: Address,
) -> Result<Object<m0_net_end_point>, Errno> {
    let known = machine(tm).end_points.borrow().get(&address).copied();
    if let Some(ep) = known {
        m0_ref_get(ep.part(|it| &it.nep_ref));
        return Ok(ep);
    }
    let text = CString::new(address.to_string()).map_err(|_| Errno::Invalid)?;
    let public = m0_net_end_point {
        nep_magix: Cell::new(0),
        nep_ref: m0_ref::default(),
        nep_tm: Cell::new(tm),
        nep_tm_linkage: m0_tlink::default(),
        nep_addr: Cell::new(text.as_ptr()),
        nep_xprt_pvt: Cell::new(ptr::null_mut()),
    };
    // SAFETY: a box, which `release` frees.
    let ep = unsafe { Object::new(Box::into_raw(Box::new(LnetEndPoint { public, address, text }))) };
    // SAFETY: nobody uses it yet.
    m0_ref_init(unsafe { ep.part(|it| &it.public.nep_ref).memory() }, 1, Some(release));
    let ep = ep.part(|it| &it.public);
    m0_nep_tlink_init_at_tail(ep, tm.part(|it| &it.ntm_end_points));
    machine(tm).end_points.borrow_mut().insert(address, ep);
    Ok(ep)
}

/// The address of an end point.
pub(super) fn address_of(ep: Object<m0_net_end_point>) -> Address {
    // SAFETY: an end point of this transport is that part of one, which `end_point` has made.
    unsafe { ep.container::<LnetEndPoint>(offset_of!(LnetEndPoint, public)) }.address
}

/// Frees the end point when its last reference has been dropped. The machine is locked.
///
/// # Safety
/// The reference is that of an end point which [`end_point`] has made, and which nobody uses any more.
unsafe extern "C" fn release(reference: Object<m0_ref>) {
    // SAFETY: that part of an end point, for which the caller vouches.
    let ep: Object<LnetEndPoint> = unsafe { reference.container(offset_of!(LnetEndPoint, public.nep_ref)) };
    m0_nep_tlist_del(ep.part(|it| &it.public));
    machine(ep.public.nep_tm.get()).end_points.borrow_mut().remove(&ep.address);
    // SAFETY: the box of `end_point`; neither the list nor the map has it any more, and the caller vouches for everybody else.
    drop(unsafe { Box::from_raw(ep.as_ptr()) });
}

/// Implements `xo_end_point_create`.
pub(super) extern "C" fn end_point_create(
    mut epp: Out<'_, Object<m0_net_end_point>>,
    tm: Object<m0_net_transfer_mc>,
    addr: Text<'_>,
) -> c_int {
    let created = parse(addr).and_then(|address: Address| end_point(tm, address));
    epp.store_if_wanted(created.unwrap_or_default());
    Errno::to_c_result(created.map(drop))
}

/// Reads an address from C. `EINVAL`: NULL, or not an address.
pub(super) fn parse<T: std::str::FromStr<Err = Errno>>(addr: Text<'_>) -> Result<T, Errno> {
    addr.utf8_or(Errno::Invalid)?.parse()
}
