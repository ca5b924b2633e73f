//! LNet for PtlRPC, LNet selftest and Motr's network layer, which call LNet only through this crate: the base of the crate `liblnet`
//! (the C functions, descriptors with owners) with what a crate of the workspace needs besides: shared memory of several owners, its types
//! of NIDs and errors, the clock.
//!
//! | file | holds |
//! |---|---|
//! | [`clock`], [`sync`] | time, locks |
//! | `node` | the node of this process: descriptors, messages, its knowledge of peers |
//! | `md`, `event` | descriptors and their events |
//! | `region` | memory that is shared with LNet |
//! | `send_pool` | memory and descriptors of messages that are sent, kept for other messages |
//! | [`sys`] | the C functions |
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod sync;

mod event;
mod md;
mod node;
mod region;
mod send_pool;

pub use event::{Event, EventHandler};
pub use liblnet::{EventKind, sys};
pub use lnet_os::{c_pointer, clock};
pub use lnet_wire::{Errno, Nid, Pid};
pub use md::{Md, MdSpec};
pub use node::{Ack, Distance, MatchCriteria, Node};
pub use region::{Loan, Region, RegionOwner, RegionSlice};
pub use send_pool::{Destination, MessageId, NotSent, SendBuffer, SendEvents, SendPool};
/// Numbers of messages and bytes that a node has sent and received.
pub use sys::lnet_counters as Counters;
pub use sys::{lnet_nid_t, lnet_process_id};

/// A process on an LNet node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    /// The NID of the node.
    pub nid: Nid,
    /// The PID.
    pub pid: Pid,
}

impl ProcessId {
    /// Lustre's process on that node.
    pub const fn lustre(nid: Nid) -> Self {
        Self { nid, pid: Pid::LUSTRE }
    }

    /// Converts from C. `None`: not the NID of a node.
    fn from_c(id: sys::lnet_process_id) -> Option<Self> {
        Some(Self { nid: Nid::from_u64(id.nid)?, pid: Pid(id.pid) })
    }

    /// Converts to C. `None`: a NID that the C API cannot express.
    pub fn to_c(self) -> Option<sys::lnet_process_id> {
        Some(sys::lnet_process_id { nid: self.nid.to_u64()?, pid: self.pid.0 })
    }
}

impl std::fmt::Display for ProcessId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.pid.0, self.nid)
    }
}
