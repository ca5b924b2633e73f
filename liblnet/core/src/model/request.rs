//! A PUT or GET that is not a message yet.

use crate::environment::time::Time;
use crate::md::{Md, TrackerNumber};
use lnet_wire::{Body, Nid, PING_MATCH_BITS, Pid, ProcessId, RESERVED_PORTAL};
use std::sync::Arc;

/// The target of a PUT or GET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The NID of the node; `None` is `LNET_NID_ANY`, to which no message can be sent.
    pub nid: Option<Nid>,
    /// The PID of the process.
    pub pid: Pid,
    /// The portal of the target.
    pub portal: u32,
    /// The match bits of the request.
    pub match_bits: u64,
    /// The offset in the target's MD in bytes, used if that has [`crate::memory::MdOptions::MANAGE_REMOTE`].
    pub offset: u32,
}

impl Target {
    /// The target of pings and pushes to `process`.
    pub const fn of_pings(process: ProcessId) -> Self {
        let (portal, match_bits) = (RESERVED_PORTAL, PING_MATCH_BITS);
        Self { nid: Some(process.nid), pid: process.pid, portal, match_bits, offset: 0 }
    }
}

/// A PUT or GET of this node, counted against the threshold of its MD.
#[derive(Debug)]
pub(crate) struct SendRequest {
    pub(crate) md: Arc<Md>,
    pub(crate) terms: RequestTerms,
}

/// The parts of a [`SendRequest`] beside its MD, which the message takes over without a copy of the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestTerms {
    pub(crate) source: Option<Nid>,
    pub(crate) target: Target,
    pub(crate) outgoing: Outgoing,
    /// The threshold of the MD after this operation.
    pub(crate) threshold: i32,
    /// The time of the call, if the delays of the request are measured.
    pub(crate) begun: Option<Time>,
    /// The number of the tracker that the MD has for the request; `None` if it has none yet, or is not to have one.
    pub(crate) tracker: Option<TrackerNumber>,
    /// The deadline of the operation, counted from the call, so that it includes the wait for discovery.
    pub(crate) deadline: Time,
    /// The state of the request's wait for the discovery of its peer.
    pub(crate) wait: DiscoveryWait,
    /// Whether the request is a recovery ping, whose failure lowers no health value (HE-10).
    pub(crate) recovery: bool,
}

impl SendRequest {
    /// Removes the tracker of the request, which is not sent, or not now: no response to it can be missing.
    pub(crate) fn untrack(&mut self) {
        if let Some(number) = self.terms.tracker.take() {
            self.md.untrack(number);
        }
    }
}

/// Whether a request waits for the discovery of its peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DiscoveryWait {
    /// The request waits if the peer is not up to date.
    #[default]
    IfNeeded,
    /// The request waits for discovery, until this time at the latest.
    Until(Time),
    /// The wait has ended, successfully or not: the request is sent with the present knowledge of the peer.
    Over,
}

/// The parts of a request that differ between a PUT and a GET.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) body: Body,
    pub(crate) length: u32,
}
