//! The identity of a session.

use lnet_wire::Nid;
use std::fmt;

/// The identity of a session: the console's NID, and a number that differs between its sessions. No session, which
/// is all ones on the wire, is the `None` of an `Option<SessionId>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId {
    nid: u64,
    stamp: i64,
}

impl SessionId {
    const ANY: u64 = u64::MAX;

    /// A console's session. `None`: a NID that does not fit in 64 bits.
    pub fn new(console: Nid, stamp: i64) -> Option<Self> {
        Some(Self { nid: console.to_u64()?, stamp })
    }

    /// Reads the ID from the wire; `None`: no session.
    pub(crate) const fn read(nid: u64, stamp: i64) -> Option<Self> {
        if nid == Self::ANY { None } else { Some(Self { nid, stamp }) }
    }

    /// Returns NID and stamp for the wire; `None` is no session.
    pub(crate) const fn write(id: Option<Self>) -> (u64, i64) {
        match id {
            Some(Self { nid, stamp }) => (nid, stamp),
            None => (Self::ANY, -1),
        }
    }

    /// The console's NID; `None`: the peer sent an invalid NID.
    pub const fn nid(self) -> Option<Nid> {
        Nid::from_u64(self.nid)
    }

    /// The part that differs between the sessions of a console; not a time that could be compared.
    pub const fn stamp(self) -> i64 {
        self.stamp
    }
}

impl fmt::Display for SessionId {
    /// Writes the ID as `lst show_session` prints it: `STAMP@NID`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nid() {
            Some(nid) => write!(f, "{}@{nid}", self.stamp),
            None => write!(f, "{}@{:#x}", self.stamp, self.nid),
        }
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
