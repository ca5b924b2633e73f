//! The NIDs of this node.

use super::types::lnet_processid;
use crate::backend;
use crate::entry::{entry, not_null};
use crate::ni::{is_local, short_ni_by_index};
use crate::types::lnet_nid_t;
use lnet_core::Errno;
use lnet_wire::{Nid, ProcessId};
use std::ffi::{c_int, c_uint};

/// Stores in *id the address of this node's interface number index. Number 0 is 0@lo. Interfaces with 16-byte addresses are not counted.
///
/// Returns 0; -ENOENT if there is no interface with this number, with *id unchanged.
/// Allowed in an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetGetId_2_15(index: c_uint, id: *mut lnet_processid) -> c_int {
    entry("LNetGetId", || {
        // SAFETY: NULL, or a variable of the program's, which the call may write until it returns.
        unsafe { store(backend::with(|node| short_ni_by_index(node, index)), id) }
    })
}

/// Stores a process ID that was asked for.
///
/// # Safety
/// `id` is NULL, or valid for a write.
pub(crate) unsafe fn store(found: Result<ProcessId, Errno>, id: *mut lnet_processid) -> Result<c_int, Errno> {
    let id = not_null(id)?;
    let ProcessId { nid, pid } = found?;
    // SAFETY: checked for NULL; a variable of the calling program's, which is there until the C function returns and may be written.
    unsafe { id.write_unaligned(lnet_processid::new(Some(nid), pid)) };
    Ok(0)
}

/// Whether a NID is one of this node's. Allowed in an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetIsPeerLocal_2_15(nid: lnet_nid_t) -> bool {
    entry("LNetIsPeerLocal", || Nid::from_u64(nid).map_or(Ok(false), is_local))
}
