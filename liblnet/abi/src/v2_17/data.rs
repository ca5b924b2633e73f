//! Moving data.

use crate::backend;
use crate::data::wants_ack;
use crate::entry::entry;
use crate::types::{__u64, EnumAckReq, Flag, lnet_handle_md};
use crate::v2_15::nid::{read_id, read_self};
use crate::v2_15::types::{lnet_nid, lnet_processid};
use std::ffi::{c_int, c_uint};

/// Sends all of a memory descriptor's data to a target.
///
/// *self_nid is the interface to send from, and then the target's NID is used unchanged; NULL, and a NID that stands for any, leave both to
/// LNet. The target receives the data into the match entry that matches on portal by match_bits and this node; offset only
/// has an effect with LNET_MD_MANAGE_REMOTE there. hdr_data becomes part of the target's event.
///
/// Returns 0 when the PUT was accepted: everything else, including that it cannot be sent, is reported by events:
/// LNET_EVENT_SEND, and LNET_EVENT_ACK if ack is LNET_ACK_REQ and the target accepted it. The events may come before the function
/// returns.
///
/// If the ACK does not come within the transaction timeout (LNET_TRANSACTION_TIMEOUT) the memory descriptor is
/// unlinked, and its last event, LNET_EVENT_UNLINK if nothing else is in progress, has the status -ETIMEDOUT. If
/// LNET_EVENT_SEND has another status than 0, no ACK is awaited: its share of the threshold is taken, so that a
/// memory descriptor for just this PUT ends with that event.
///
/// The status is -EINVAL if *self_nid is not this node's, -EHOSTUNREACH if there is no path to the target or it
/// refuses connections, -EMSGSIZE for more than LNET_MTU bytes, -ECANCELED if the memory descriptor was unlinked
/// before the message was sent, -ESHUTDOWN if the node shuts down or its interface is removed, -ETIMEDOUT, or the
/// error of the network.
///
/// Errors, without events: -ENOENT (no such memory descriptor, or it is exhausted, or attached to a match entry),
/// -EINVAL (ack; *self_nid is not a NID; portal is not below MAX_PORTALS, the number of portals of every node), -EFAULT (target
/// is NULL), -ENOMEM, -EIO (fault injection). Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetPut_2_17(
    self_nid: *mut lnet_nid,
    md: lnet_handle_md,
    ack: EnumAckReq,
    target: *mut lnet_processid,
    portal: c_uint,
    match_bits: __u64,
    offset: c_uint,
    hdr_data: __u64,
) -> c_int {
    entry("LNetPut", || {
        let ack = wants_ack(ack)?;
        // SAFETY: NULL, or variables of the program's that nobody changes during the call.
        let (from, target) = unsafe { (read_self(self_nid)?, read_id(target)?) };
        let target = target.to_target(portal, match_bits, offset);
        backend::with(|node| node.put(from, md.into(), ack, target, hdr_data)).map(|()| 0)
    })
}

/// Fetches data from a target into all of a memory descriptor, as LNetGet of 2.15 does, with the arguments of LNetPut.
///
/// Returns 0 when the GET was accepted; lnet/api.h has its events and their statuses at LNetGet. Errors, without events: those of LNetPut. Must
/// not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetGet_2_17(
    self_nid: *mut lnet_nid,
    md: lnet_handle_md,
    target: *mut lnet_processid,
    portal: c_uint,
    match_bits: __u64,
    offset: c_uint,
    recovery: Flag,
) -> c_int {
    let _ = recovery;
    entry("LNetGet", || {
        // SAFETY: NULL, or variables of the program's that nobody changes during the call.
        let (from, target) = unsafe { (read_self(self_nid)?, read_id(target)?) };
        let target = target.to_target(portal, match_bits, offset);
        backend::with(|node| node.get(from, md.into(), target)).map(|()| 0)
    })
}
