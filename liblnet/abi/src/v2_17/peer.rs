//! Other nodes: primary NIDs, and what is known of them.

use crate::backend::{self, nids_of_node};
use crate::entry::{entry, helper, not_null};
use crate::ni::is_local;
use crate::peer::checked_count;
use crate::v2_15::nid::read_nid;
use crate::v2_15::types::lnet_nid;
use lnet_core::Errno;
use lnet_dlc::request::Peer;
use lnet_dlc::{Backend, Request};
use lnet_wire::Nid;
use std::ffi::c_int;

/// Replaces *nid, the NID of an interface, by the primary NID of its node: match entries compare it, and it is the initiator in
/// events. *nid stays if the node is unknown, and if it is 0@lo.
///
/// The result stays valid: a match id with it matches the node's messages, and it is their initiator, whatever discovery
/// finds later. A node that has not been discovered is discovered. The call does not wait for that: its result
/// stays the node's primary NID. If the environment has LNET_LOCK_PRIM_NID=0 it waits, but not in an event handler,
/// for at most twice the transaction timeout; then the result is permanent only for nodes that could not be discovered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetPrimaryNID_2_17(nid: *mut lnet_nid) {
    helper((), || {
        // SAFETY: NULL, or a variable of the program's that nobody changes during the call.
        let Ok(Some(known)) = (unsafe { read_nid(nid) }) else { return };
        if let Ok(primary) = backend::with(|node| node.primary_nid(known)) {
            // SAFETY: not NULL, as it could be read; a variable of the program's, which the call may write until it returns.
            unsafe { nid.write_unaligned(lnet_nid::from_nid(Some(primary))) };
        }
    });
}

/// Declares that these NIDs, at most 128, belong to one node. The first one is its primary NID, permanently unless
/// the environment has LNET_LOCK_PRIM_NID=0. Without discovery each NID is a separate node. Configured peers are not changed.
/// Sends nothing.
///
/// Errors are not reported: nothing is changed for NULL, for no NID but 0@lo, an invalid one or too many; a NID that is locked to another
/// node, or that the node is configured without, ends the call, and the NIDs before it belong to the node. Has no effect in an event
/// handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetAddPeer_2_17(nids: *mut lnet_nid, num_nids: c_int) {
    entry("LNetAddPeer", || {
        let nids = not_null(nids)?;
        let count = checked_count(u32::try_from(num_nids).map_err(|_| Errno::Invalid)?)?;
        // SAFETY: checked for NULL; so many NIDs of the program's, unchanged during the call.
        let nids = (0..count).map(|i| unsafe { read_nid(nids.add(i).as_ptr()) });
        let nids: Result<Vec<Nid>, Errno> = nids.map(|nid| nid?.ok_or(Errno::Invalid)).collect();
        let nids = nids?;
        backend::with(|node| node.add_peer(&nids))
    });
}

/// Whether the node with this NID can be used. Does not wait.
///
/// Returns 1 if so. -EALREADY: a discovery is in progress. -EAGAIN: a discovery has been started. -EHOSTUNREACH: the node is
/// not known, or it has not responded; the next call tries again. -EINVAL: the argument is not a NID.
/// Errors: -ENETDOWN, -EFAULT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetPeerDiscovered_2_17(nid: *mut lnet_nid) -> c_int {
    entry("LNetPeerDiscovered", || {
        // SAFETY: NULL, or a variable of the program's that nobody changes during the call.
        let nid = unsafe { read_nid(nid) }?.ok_or(Errno::Invalid)?;
        backend::with(|node| node.peer_discovered(nid)).map(|()| 1)
    })
}

/// Stores in nids, which has room for count, the NIDs of a node that has *nid, as far as this node knows it: the primary NID first. With
/// NULL for nid, and with a NID of this node, these are the NIDs of this node without 0@lo.
///
/// Returns the number of these NIDs, which may be more than count. Errors: -ENOENT (the node is not known), -EINVAL (*nid is not a NID, or
/// count is negative), -EFAULT (nids is NULL, but count is not 0), -ENETDOWN. An attached program asks for another node's NIDs by the control
/// socket of lnetd, and gets an error if it may not. The signature is liblnet's: c-abi does not have it. Must not be called from an event
/// handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetFetchNIDs_2_17(nid: *mut lnet_nid, nids: *mut lnet_nid, count: c_int) -> c_int {
    entry("LNetFetchNIDs", || {
        let count = usize::try_from(count).map_err(|_| Errno::Invalid)?;
        if nids.is_null() && count > 0 {
            return Err(Errno::Fault);
        }
        let found = match nid.is_null() {
            true => backend::with(nids_of_node)?,
            // SAFETY: not NULL; a variable of the program's that nobody changes during the call.
            false => nids_of(unsafe { read_nid(nid) }?.ok_or(Errno::Invalid)?)?,
        };
        for (i, nid) in found.iter().take(count).enumerate() {
            // SAFETY: checked for NULL; room for `count` NIDs, which the call may write, and `i` is below that.
            unsafe { nids.add(i).write_unaligned(lnet_nid::from_nid(Some(*nid))) };
        }
        Ok(c_int::try_from(found.len()).unwrap_or(c_int::MAX))
    })
}

/// The NIDs of a node, the primary NID first.
fn nids_of(nid: Nid) -> Result<Vec<Nid>, Errno> {
    if is_local(nid)? {
        return backend::with(nids_of_node);
    }
    let node = backend::control()?;
    let node: &dyn Backend = &*node;
    let peer: Box<Peer> = node.ask(Request::GetPeerNi(nid))?;
    let others = peer.nis.iter().map(|peer_ni| peer_ni.nid).filter(|nid| *nid != peer.primary);
    Ok([peer.primary].into_iter().chain(others).collect())
}
