//! LNet, through its C API alone: the one folder with calls into it.

mod count;
mod event;
mod md;
mod node;
mod region;
mod sys;

pub use event::{Event, EventKind};
pub use lnet_wire::{Nid, Pid};
pub use md::{Md, MdSpec, Sink};
pub use node::{Ack, Criteria, Distance, Node};
pub use region::{Holder, Loan, Part, Region};
pub(crate) use sys::{lnet_nid_t, lnet_process_id};

/// A process on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    /// The node's interface.
    pub nid: Nid,
    /// The process.
    pub pid: Pid,
}

impl ProcessId {
    /// The one that Lustre is, on that node.
    pub const fn lustre(nid: Nid) -> Self {
        Self { nid, pid: Pid::LUSTRE }
    }

    /// `None`: no NID that names somebody.
    fn from_c(id: sys::lnet_process_id) -> Option<Self> {
        Some(Self { nid: Nid::from_u64(id.nid)?, pid: Pid(id.pid) })
    }

    /// `None`: a NID that the C API cannot name.
    pub(crate) fn to_c(self) -> Option<sys::lnet_process_id> {
        Some(sys::lnet_process_id { nid: self.nid.to_u64()?, pid: self.pid.0 })
    }
}

impl std::fmt::Display for ProcessId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.pid.0, self.nid)
    }
}
