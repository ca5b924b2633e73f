//! A PUT or GET before it is a message.

use crate::environment::time::Time;
use crate::event::Event;
use crate::memory::Md;
use lnet_wire::{Body, Nid, PING_MATCH_BITS, Pid, ProcessId, RESERVED_PORTAL};
use std::sync::Arc;

/// The target of a PUT or GET.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The node; `None` is "any", which no message can be sent to.
    pub nid: Option<Nid>,
    /// The process.
    pub pid: Pid,
    /// The portal.
    pub portal: u32,
    /// The match bits.
    pub match_bits: u64,
    /// The offset in the target's memory, if that is [`crate::memory::MdOptions::MANAGE_REMOTE`].
    pub offset: u32,
}

impl Target {
    /// The target of pings and pushes to a process.
    pub const fn of_pings(process: ProcessId) -> Self {
        let (portal, match_bits) = (RESERVED_PORTAL, PING_MATCH_BITS);
        Self { nid: Some(process.nid), pid: process.pid, portal, match_bits, offset: 0 }
    }
}

/// A PUT or GET of this node, counted against the threshold of its MD.
#[derive(Debug)]
pub(crate) struct SendRequest {
    pub(crate) source: Option<Nid>,
    pub(crate) target: Target,
    pub(crate) md: Arc<Md>,
    pub(crate) outgoing: Outgoing,
    /// The SEND event, without its status.
    pub(crate) event: Event,
    /// The deadline of the operation: its time began with the call, and includes the wait for discovery.
    pub(crate) deadline: Time,
    /// Whether and until when it waits for the discovery of its peer.
    pub(crate) wait: DiscoveryWait,
    /// Whether it is a recovery ping, whose failure lowers no health value (HE-10).
    pub(crate) recovery: bool,
}

/// Whether a request waits for the discovery of its peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DiscoveryWait {
    /// It waits if it has to.
    #[default]
    IfNeeded,
    /// It has begun to wait, and waits until then at the latest.
    Until(Time),
    /// It has waited for long enough: it is sent by what is known of the peer.
    Over,
}

/// What differs between a PUT and a GET.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) body: Body,
    pub(crate) length: u32,
}
