//! End points: one object for each address that a transfer machine uses.

use super::address::Address;
use super::machine::machine;
use crate::errno::Errno;
use crate::families::{m0_nep_tlink_init_at_tail, m0_nep_tlist_del};
use crate::net::types::{m0_net_end_point, m0_net_transfer_mc};
use crate::support::{m0_ref, m0_ref_get, m0_ref_init, m0_tlink};
use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::offset_of;
use std::ptr;

/// An end point and what belongs to it.
#[repr(C)]
struct LnetEndPoint {
    public: m0_net_end_point,
    address: Address,
    text: CString,
}

/// The end point of an address, with one more reference. The machine is locked.
///
/// # Safety
/// The machine is one of this transport, and initialised.
pub(super) unsafe fn end_point(
    tm: *mut m0_net_transfer_mc,
    address: Address,
) -> Result<*mut m0_net_end_point, Errno> {
    // SAFETY: by contract; end points are in the map until they are released, with the lock of the machine.
    unsafe {
        if let Some(ep) = machine(tm).end_points.get(&address) {
            m0_ref_get(&raw mut (**ep).nep_ref);
            return Ok(*ep);
        }
        let text = CString::new(address.to_string()).map_err(|_| Errno::INVALID)?;
        // SAFETY: plain numbers and pointers.
        let public: m0_net_end_point = std::mem::zeroed();
        let ep = Box::into_raw(Box::new(LnetEndPoint { public, address, text }));
        (*ep).public.nep_tm = tm;
        (*ep).public.nep_addr = (*ep).text.as_ptr();
        (*ep).public.nep_tm_linkage = m0_tlink::default();
        m0_ref_init(&raw mut (*ep).public.nep_ref, 1, Some(release));
        let ep = ep.cast::<m0_net_end_point>();
        m0_nep_tlink_init_at_tail(ep, &raw mut (*tm).ntm_end_points);
        machine(tm).end_points.insert(address, ep);
        Ok(ep)
    }
}

/// The numbers of an end point.
///
/// # Safety
/// It is one of this transport.
pub(super) unsafe fn address_of(ep: *mut m0_net_end_point) -> Address {
    // SAFETY: by contract.
    unsafe { (*ep.cast::<LnetEndPoint>()).address }
}

/// The last reference is gone. The machine is locked.
unsafe extern "C" fn release(reference: *mut m0_ref) {
    let ep = reference.wrapping_byte_sub(offset_of!(m0_net_end_point, nep_ref)).cast::<m0_net_end_point>();
    // SAFETY: an end point of `end_point`, which nobody uses.
    unsafe {
        m0_nep_tlist_del(ep);
        let ep = Box::from_raw(ep.cast::<LnetEndPoint>());
        machine(ep.public.nep_tm).end_points.remove(&ep.address);
    }
}

/// `xo_end_point_create`
pub(super) unsafe extern "C" fn end_point_create(
    epp: *mut *mut m0_net_end_point,
    tm: *mut m0_net_transfer_mc,
    addr: *const c_char,
) -> c_int {
    // SAFETY: the contract of the transport's functions (`super::transport`).
    unsafe {
        epp.write(ptr::null_mut());
        let created = parse(addr).and_then(|address: Address| end_point(tm, address));
        Errno::to_c_result(created.map(|ep| epp.write(ep)))
    }
}

/// An address from C. `EINVAL`: NULL, or none.
///
/// # Safety
/// NULL or a string.
pub(super) unsafe fn parse<T: std::str::FromStr<Err = Errno>>(addr: *const c_char) -> Result<T, Errno> {
    if addr.is_null() {
        return Err(Errno::INVALID);
    }
    // SAFETY: by contract.
    unsafe { CStr::from_ptr(addr) }.to_str().map_err(|_| Errno::INVALID)?.parse()
}
