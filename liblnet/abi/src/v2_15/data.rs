//! Moving data: `LNetGet` with a last argument, which came with 2.12.

use crate::backend;
use crate::data::target_of;
use crate::entry::entry;
use crate::types::{__u64, Flag, lnet_handle_md, lnet_nid_t, lnet_process_id};
use lnet_wire::Nid;
use std::ffi::{c_int, c_uint};

/// Fetches data from a target into all of a memory descriptor, as LNetGet of 2.10 does.
///
/// recovery has no effect: the node sends its recovery pings itself. Returns 0 when the GET was accepted; lnet/api.h has its events and their
/// statuses at LNetGet. Errors, without events: those of LNetPut. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetGet_2_15(
    self_nid: lnet_nid_t,
    md: lnet_handle_md,
    target: lnet_process_id,
    portal: c_uint,
    match_bits: __u64,
    offset: c_uint,
    recovery: Flag,
) -> c_int {
    let _ = recovery;
    entry("LNetGet", || {
        let target = target_of(target, portal, match_bits, offset);
        backend::with(|node| node.get(Nid::from_u64(self_nid), md.into(), target)).map(|()| 0)
    })
}
