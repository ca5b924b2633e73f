//! What a discovery does, how it fails, and what it finds to differ.

use lnet_wire::{Errno, Nid};

/// What a node does to discover another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Asking it for its NIDs.
    Ping,
    /// Telling it this node's.
    Push,
}

/// Why a discovery did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("discovery {step} to {nid} failed: {}", errno.text())]
pub struct Failure {
    /// What was being done.
    pub step: Step,
    /// To which NID.
    pub nid: Nid,
    /// How it failed.
    pub errno: Errno,
}

/// How what a peer says of itself differs from what is known of it (dyn-060).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It has a NID that it is not known by.
    Extra(Nid),
    /// It does not have a NID that it is known by.
    Missing(Nid),
    /// It says that it is multi-rail (or not), and is known not to be (or to be).
    MultiRail(bool),
    /// Its primary NID is another.
    Primary(Nid),
    /// It has a NID that is known to be another peer's.
    Claimed(Nid),
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ping => "ping",
            Self::Push => "push",
        })
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Extra(nid) => write!(f, "it reports NID {nid}, by which it is not known"),
            Self::Missing(nid) => write!(f, "it does not report NID {nid}, by which it is known"),
            Self::MultiRail(true) => f.write_str("it reports to be multi-rail, and is not known to be"),
            Self::MultiRail(false) => f.write_str("it reports not to be multi-rail, and is known to be"),
            Self::Primary(nid) => write!(f, "it reports primary NID {nid}"),
            Self::Claimed(nid) => write!(f, "it reports NID {nid}, by which another peer is known"),
        }
    }
}
