//! Other nodes.

use super::nid::read_id;
use super::types::lnet_processid;
use crate::entry::entry;
use crate::peer::log_peer;

/// Logs this node's knowledge of a peer. Allowed in an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetDebugPeer_2_15(id: *mut lnet_processid) {
    entry("LNetDebugPeer", || {
        // SAFETY: NULL, or a variable of the program's that nobody changes during the call.
        unsafe { read_id(id) }?.nid.to_nid()?.map_or(Ok(()), log_peer)
    });
}
