//! Requests about peers.

use lnet_core::topology::PeerState;
use lnet_core::{Core, Errno};
use lnet_dlc::request::{AddPeerNi, SetPeerState};

/// Adds a peer, or a NID to it (cfg-070).
pub(super) fn add(core: &Core, add: AddPeerNi) -> Result<(), Errno> {
    match add.nid {
        None => core.admin().make_peer(add.primary, add.multi_rail, add.lock_primary),
        Some(nid) => core.admin().add_peer_nid(add.primary, nid, add.multi_rail),
    }
}

pub(super) fn set_state(core: &Core, set: SetPeerState) -> Result<(), Errno> {
    core.admin().set_peer_state(set.nid, PeerState(set.state))
}
