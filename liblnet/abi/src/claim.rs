//! Claims of match bits among the programs of a node.

use crate::backend;
use crate::entry::entry;
use crate::types::__u64;
use lnet_attach::record::ClaimedBits;
use std::ffi::{c_int, c_uint};

/// Claims match bits at a portal, except for the bits that are set in ignore_bits, for messages to the PID of this process: programs that share
/// a node, or libraries of one process, so find out which of them may use an address. Of liblnet only. A claim does not attach anything, and
/// match entries need none; it ends with LNetReleaseBits, LNetNIFini or the end of the process.
///
/// A process that has claimed bits has the PID that it asked for in LNetNIInit, as LNetGetId tells, even if another program on its node has that
/// PID: match bits tell them apart.
///
/// Returns 0; -EADDRINUSE if some of these bits are claimed at that portal for the same PID, by any program of the node; -EINVAL for portal 0 and
/// numbers that are no portal's; -ENOMEM for too many claims.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetClaimBits(portal: c_uint, match_bits: __u64, ignore_bits: __u64) -> c_int {
    entry("LNetClaimBits", || {
        backend::with(|node| node.claim(ClaimedBits { portal, match_bits, ignore_bits })).map(|()| 0)
    })
}

/// Ends a claim of LNetClaimBits, with the same arguments. Of liblnet only.
///
/// Returns 0; -ENOENT if this process has no such claim.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetReleaseBits(portal: c_uint, match_bits: __u64, ignore_bits: __u64) -> c_int {
    entry("LNetReleaseBits", || {
        backend::with(|node| node.release(ClaimedBits { portal, match_bits, ignore_bits })).map(|()| 0)
    })
}
