//! Addresses: NIDs, and processes on nodes.

use crate::{Errno, sys};
use std::ffi::CString;
use std::fmt;
use std::str::FromStr;

/// The address of a network interface of a node, such as `10.0.0.1@tcp`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nid(sys::lnet_nid_t);

/// A process on a node: the destination or the origin of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    /// The NID of the node.
    pub nid: Nid,
    /// The process. Programs with a node of their own have [`ProcessId::LUSTRE`]; those that share a node have different ones.
    pub pid: u32,
}

impl Nid {
    /// Makes a NID of its number: the network in the upper half, the address in the lower. `None` for the number that means any.
    pub const fn from_u64(number: u64) -> Option<Self> {
        match number {
            sys::LNET_NID_ANY => None,
            number => Some(Self(number)),
        }
    }

    /// The number of the NID.
    pub const fn to_u64(self) -> u64 {
        self.0
    }
}

impl FromStr for Nid {
    type Err = Errno;

    /// Reads a NID such as `10.0.0.1@tcp`. A host name may stand for the address; looking it up takes 5 s at most.
    fn from_str(text: &str) -> Result<Self, Errno> {
        let text = CString::new(text).map_err(|_| Errno::Invalid)?;
        // SAFETY: a string with its terminator, which is only read during the call.
        Self::from_u64(unsafe { sys::libcfs_str2nid(text.as_ptr()) }).ok_or(Errno::Invalid)
    }
}

impl fmt::Display for Nid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0_u8; sys::LNET_NIDSTR_SIZE];
        // SAFETY: memory for as many bytes as the call is told.
        unsafe { sys::libcfs_nid2str_r(self.0, text.as_mut_ptr().cast(), text.len()) };
        let length = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        f.pad(&String::from_utf8_lossy(&text[..length]))
    }
}

impl fmt::Debug for Nid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ProcessId {
    /// The PID of Lustre, and of the first program on a node.
    pub const LUSTRE: u32 = sys::LNET_PID_LUSTRE;

    /// The process with Lustre's PID on that node.
    pub const fn lustre(nid: Nid) -> Self {
        Self { nid, pid: Self::LUSTRE }
    }

    /// Converts from C. `None`: any node.
    pub(crate) const fn from_c(id: sys::lnet_process_id) -> Option<Self> {
        match Nid::from_u64(id.nid) {
            Some(nid) => Some(Self { nid, pid: id.pid }),
            None => None,
        }
    }

    pub(crate) const fn to_c(self) -> sys::lnet_process_id {
        sys::lnet_process_id { nid: self.nid.0, pid: self.pid }
    }
}

impl fmt::Display for ProcessId {
    /// Writes it as `12345-10.0.0.1@tcp`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.pid, self.nid)
    }
}

impl fmt::Debug for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
