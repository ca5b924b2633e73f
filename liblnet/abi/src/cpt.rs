//! CPU partitions, and the NUMA distances between them.

use crate::backend;
use crate::entry::helper;
use crate::types::{cfs_cpt_table, lnet_ni, lnet_nid_t};
use std::ffi::{c_int, c_uint};

/// `CFS_CPT_ANY` in C.
const ANY: c_int = -1;

/// The CPU partition that serves a peer: for C programs there is only one, number 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lnet_cpt_of_nid(nid: lnet_nid_t, ni: *mut lnet_ni) -> c_int {
    let _ = (nid, ni);
    0
}

/// The CPU partitions, for the caller's calls that take a table. Never NULL, and not to be dereferenced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lnet_cpt_table() -> *mut cfs_cpt_table {
    static TABLE: u64 = 0;
    (&raw const TABLE).cast_mut().cast()
}

/// The distance between two CPU partitions of this process's node: the largest between their NUMA nodes; the largest
/// of the machine if there is no such partition, as CFS_CPT_ANY. Use it only for comparison with other distances. cptab is
/// ignored. 0 while the network is down.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_cpt_distance(cptab: *mut cfs_cpt_table, cpt1: c_int, cpt2: c_int) -> c_uint {
    let _ = cptab;
    let number = |cpt: c_int| u32::try_from(cpt).ok();
    helper(0, || backend::with(|node| node.cpt_distance(number(cpt1), number(cpt2))).unwrap_or(0))
}

/// The CPU partition of this process's node that a NUMA node belongs to, always the same one; CFS_CPT_ANY if there is
/// no such NUMA node, and while the network is down. cptab is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cfs_cpt_of_node(cptab: *mut cfs_cpt_table, node: c_int) -> c_int {
    let _ = cptab;
    helper(ANY, || {
        let of_node = |node| backend::with(|its| its.cpt_of_node(node)).ok().flatten();
        let cpt = u32::try_from(node).ok().and_then(of_node);
        cpt.and_then(|cpt| c_int::try_from(cpt).ok()).unwrap_or(ANY)
    })
}
