//! Primary NIDs of other nodes, and declaration of peers.

use crate::backend;
use crate::entry::{entry, helper, not_null};
use crate::types::{__u32, lnet_nid_t, lnet_process_id};
use lnet_core::Errno;
use lnet_dlc::ops::peer::MAX_NIDS;
use lnet_log::{LogClass, write_line};
use lnet_wire::Nid;
use std::ffi::c_int;

/// The primary NID of the node that has the interface nid: match entries compare it, and it is the initiator in
/// events. nid itself if the node is unknown, and if its primary NID has an address of 16 bytes: match entries with nid match the
/// node's messages then, too.
///
/// The result stays valid: a match id with it matches the node's messages, and it is their initiator, whatever discovery
/// finds later. A node that has not been discovered is discovered. The call does not wait for that: its result
/// stays the node's primary NID. If the environment has LNET_LOCK_PRIM_NID=0 it waits, but not in an event handler,
/// for at most twice the transaction timeout; then the result is permanent only for nodes that could not be discovered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetPrimaryNID(nid: lnet_nid_t) -> lnet_nid_t {
    helper(nid, || match Nid::from_u64(nid) {
        Some(known) => {
            let primary = backend::with(|node| node.primary_nid(known));
            primary.ok().and_then(Nid::to_u64).unwrap_or(nid)
        }
        None => nid,
    })
}

/// Declares that these NIDs, at most 128, belong to one node. From 2.15. The first one is its primary NID, permanently unless
/// the environment has LNET_LOCK_PRIM_NID=0. Without discovery each NID is a separate node. Configured peers are not changed.
/// Sends nothing.
///
/// Returns 0. Errors: -ENETDOWN, -EFAULT (NULL), -EINVAL (no NID but 0@lo, or an invalid one, or too many), -EEXIST (a NID is
/// locked to another node), -EPERM (the node is configured without this NID). After -EEXIST or -EPERM the NIDs before the
/// failing one belong to the node. -EBUSY from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetAddPeer(nids: *mut lnet_nid_t, num_nids: __u32) -> c_int {
    entry("LNetAddPeer", || {
        let nids = not_null(nids)?;
        let count = checked_count(num_nids)?;
        // SAFETY: checked for NULL; so many NIDs of the program's, unchanged during the call.
        let nids = (0..count).map(|i| unsafe { nids.add(i).read_unaligned() });
        let nids: Option<Vec<Nid>> = nids.map(Nid::from_u64).collect();
        backend::with(|node| node.add_peer(&nids.ok_or(Errno::Invalid)?)).map(|()| 0)
    })
}

/// Whether the node with this NID can be used. From 2.17, where NIDs are larger. Does not wait.
///
/// Returns 1 if so. -EALREADY: a discovery is in progress. -EAGAIN: a discovery has been started. -EHOSTUNREACH: the node is
/// not known, or it has not responded; the next call tries again. -EINVAL: the argument is not a NID.
/// Errors: -ENETDOWN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetPeerDiscovered(nid: lnet_nid_t) -> c_int {
    entry("LNetPeerDiscovered", || {
        let nid = Nid::from_u64(nid).ok_or(Errno::Invalid)?;
        backend::with(|node| node.peer_discovered(nid)).map(|()| 1)
    })
}

/// Whether this node discovers others: 1 or 0. From 2.12. Errors: -ENETDOWN. Allowed in an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetGetPeerDiscoveryStatus() -> c_int {
    entry("LNetGetPeerDiscoveryStatus", || backend::with(|node| node.discovers().map(c_int::from)))
}

/// Logs this node's knowledge of a peer. Allowed in an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetDebugPeer(id: lnet_process_id) {
    entry("LNetDebugPeer", || Nid::from_u64(id.nid).map_or(Ok(()), log_peer));
}

/// The number of NIDs that a program gives for one node. [`Errno::Invalid`] for too many.
pub(crate) fn checked_count(num_nids: u32) -> Result<usize, Errno> {
    usize::try_from(num_nids).ok().filter(|count| *count <= MAX_NIDS).ok_or(Errno::Invalid)
}

/// Logs this node's knowledge of a peer.
pub(crate) fn log_peer(nid: Nid) -> Result<(), Errno> {
    for line in backend::with(|node| node.describe_peer(nid))?.lines() {
        write_line!(LogClass::PeerDump, "{line}");
    }
    Ok(())
}
