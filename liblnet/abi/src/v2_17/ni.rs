//! The NIDs of this node, and distances to others.

use crate::backend;
use crate::entry::{entry, not_null};
use crate::ni::{is_local, short_ni_by_index};
use crate::types::{__u32, Flag};
use crate::v2_15::ni::store;
use crate::v2_15::nid::read_nid;
use crate::v2_15::types::{lnet_nid, lnet_processid};
use lnet_core::Errno;
use std::ffi::{c_int, c_uint};
use std::ptr::NonNull;

/// Stores in *id the address of this node's interface number index. Number 0 is 0@lo. Interfaces with 16-byte addresses are counted only
/// if large_nids is set.
///
/// Returns 0; -ENOENT if there is no interface with this number, with *id unchanged.
/// Allowed in an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetGetId_2_17(index: c_uint, id: *mut lnet_processid, large_nids: Flag) -> c_int {
    entry("LNetGetId", || {
        let found = backend::with(|node| match large_nids {
            0 => short_ni_by_index(node, index),
            _ => node.ni_by_index(index),
        });
        // SAFETY: NULL, or a variable of the program's, which the call may write until it returns.
        unsafe { store(found, id) }
    })
}

/// The distance of an interface: 0 for an interface of this node, 1 on a network that this node is on, more
/// over routers.
///
/// Stores the interface of this node that would send in *srcnid (unless NULL), and in *order (unless NULL) the
/// rank among paths of equal distance: smaller is better, 0 is 0@lo, 1 another interface of this
/// node. Errors: -EHOSTUNREACH, -EFAULT. Allowed in an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetDist_2_17(
    nid: *mut lnet_nid,
    srcnid: *mut lnet_nid,
    order: *mut __u32,
) -> c_int {
    entry("LNetDist", || {
        // SAFETY: NULL, or a variable of the program's that nobody changes during the call.
        let nid = unsafe { read_nid(nid) }?.ok_or(Errno::HostUnreachable)?;
        let distance = backend::with(|node| node.dist(nid))?;
        if let Some(srcnid) = NonNull::new(srcnid) {
            // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
            unsafe { srcnid.write_unaligned(lnet_nid::from_nid(Some(distance.source))) };
        }
        if let Some(order) = NonNull::new(order) {
            // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
            unsafe { order.write(distance.order) };
        }
        Ok(c_int::try_from(distance.hops).unwrap_or(c_int::MAX))
    })
}

/// Whether a NID is one of this node's. Allowed in an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetIsPeerLocal_2_17(nid: *mut lnet_nid) -> bool {
    entry("LNetIsPeerLocal", || {
        // SAFETY: NULL, or a variable of the program's that nobody changes during the call.
        unsafe { read_nid(nid) }?.map_or(Ok(false), is_local)
    })
}

/// Stores in *nid the primary NID of this node: that of its first interface after 0@lo, by which other nodes know it.
///
/// Returns 0; -ENOENT if there is no other interface than 0@lo, with *nid unchanged. The signature is liblnet's: c-abi does not have it.
/// Allowed in an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetLocalPrimaryNID_2_17(nid: *mut lnet_nid) -> c_int {
    entry("LNetLocalPrimaryNID", || {
        let nid = not_null(nid)?;
        let first = backend::with(|node| node.ni_by_index(1))?;
        // SAFETY: checked for NULL; a variable of the program's, which the call may write until it returns.
        unsafe { nid.write_unaligned(lnet_nid::from_nid(Some(first.nid))) };
        Ok(0)
    })
}
