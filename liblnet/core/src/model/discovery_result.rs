//! The steps and failures of a discovery, and the differences that it finds.

use lnet_wire::{Errno, Nid};

/// A step of a discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The ping, which fetches the NIDs of the peer.
    Ping,
    /// The push, which sends the NIDs of this node.
    Push,
}

/// The failure of a discovery: the step, the peer's NID and the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("discovery {step} to {nid} failed: {}{}", errno.text(), Limit(*limit))]
pub struct Failure {
    /// The step that failed.
    pub step: Step,
    /// The NID that the request of this step was sent to.
    pub nid: Nid,
    /// The error.
    pub errno: Errno,
    /// The time for all steps together in seconds (`discovery_timeout`), if the discovery failed because it was over.
    pub limit: Option<u32>,
}

/// The part of the error text that names the time limit.
struct Limit(Option<u32>);

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |seconds| write!(f, " (discovery_timeout: {seconds} s)"))
    }
}

/// A difference between the ping information of a peer and what is known of the peer (dyn-060).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// An unknown NID.
    Extra(Nid),
    /// A known NID is missing.
    Missing(Nid),
    /// The peer reports to be multi-rail (`true`) or not, which differs from what is known.
    MultiRail(bool),
    /// The peer reports another primary NID.
    Primary(Nid),
    /// A NID of another known peer.
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
