//! Who a peer is: finding out which NIDs a node has, and telling it which this one has (behaviour sheet 5).

use crate::core::Core;
use crate::time::Time;
use crate::topology::PeerState;
use lnet_wire::{Errno, Nid};
use std::time::Duration;

/// Whether and how this node discovers (5.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiscoveryMode {
    /// Peers are what they are configured to be, or what their one NID says.
    Off,
    /// Peers are asked for their NIDs before they are used, and told this node's.
    #[default]
    On,
    /// As [`DiscoveryMode::On`], but what is found is only compared with what is known; differences are
    /// reported.
    Verify,
}

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
#[error("the {step} to {nid} failed: {}", errno.text())]
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

/// How far the discovery of a peer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The bits that the kernel's tools show.
    pub state: PeerState,
    /// Whether messages go to it without waiting (DI-11).
    pub up_to_date: bool,
    /// The latest of this node's configurations that it is known to have received; 0: none.
    pub node_sequence: u32,
    /// The latest of its configurations that was received; 0: none.
    pub peer_sequence: u32,
    /// Requests that wait for the discovery.
    pub parked: usize,
    /// Why the last discovery failed, if it did.
    pub failure: Option<Failure>,
    /// What was found and not followed: by the last discovery of a configured peer, or in
    /// [`DiscoveryMode::Verify`].
    pub differences: Vec<Difference>,
}

impl Core {
    /// Has the peer with this NID examined, whatever is known of it: pinged, and pushed to if it is
    /// multi-rail (DI-35). With `force` it is pushed to even if it has everything. Returns at once.
    /// [`Errno::Shutdown`] when the node is ending.
    pub fn discover(&self, nid: Nid, force: bool) -> Result<(), Errno> {
        let _ = (nid, force);
        Err(Errno::NotSupported)
    }

    /// Waits until the discovery of the peer with this NID has ended, at most so long. Not from an event
    /// handler ([`Errno::Busy`]).
    pub fn wait_discovered(&self, nid: Nid, timeout: Duration) -> Result<(), Failure> {
        let _ = timeout;
        Err(Failure { step: Step::Ping, nid, errno: Errno::NotSupported })
    }

    /// How far the discovery of the peer with this NID is; `None` for a NID that is not known.
    pub fn discovery_of(&self, nid: Nid) -> Option<Standing> {
        let _ = nid;
        None
    }

    /// Does what discovery has to do now: one thread at a time, and not from an event handler. Returns when
    /// it wants to be called again at the latest, if it waits for anything; before that whenever
    /// [`Core::wait_for_discovery`] says so.
    pub fn run_discovery(&self) -> Option<Time> {
        None
    }

    /// Waits until there is something for [`Core::run_discovery`] to do, or the node ends, at most so long.
    pub fn wait_for_discovery(&self, timeout: Option<Duration>) {
        let _ = timeout;
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ping => "ping",
            Self::Push => "push",
        })
    }
}
