//! A PUT or GET before it is a message.

use crate::environment::time::Time;
use crate::event::Event;
use crate::memory::Md;
use lnet_wire::{Body, Nid, PING_MATCH_BITS, Pid, ProcessId, RESERVED_PORTAL};
use std::sync::Arc;

/// Where a PUT or GET is addressed to.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The node; `None` is "any", which no message can be sent to.
    pub nid: Option<Nid>,
    /// The process.
    pub pid: Pid,
    /// The portal; not checked here.
    pub portal: u32,
    /// What the entries there match on.
    pub match_bits: u64,
    /// Where in the target's memory, if that is [`crate::memory::MdOptions::MANAGE_REMOTE`].
    pub offset: u32,
}

impl Target {
    /// Where a process is pinged, and pushed to.
    pub const fn of_pings(process: ProcessId) -> Self {
        let (portal, match_bits) = (RESERVED_PORTAL, PING_MATCH_BITS);
        Self { nid: Some(process.nid), pid: process.pid, portal, match_bits, offset: 0 }
    }
}

/// A PUT or GET of this node's, its MD charged.
#[derive(Debug)]
pub(crate) struct SendRequest {
    pub(crate) source: Option<Nid>,
    pub(crate) target: Target,
    pub(crate) md: Arc<Md>,
    pub(crate) outgoing: Outgoing,
    /// The SEND event, but for how it went.
    pub(crate) event: Event,
    /// The time of the operation: it began with the call, and the wait for a discovery is part of it.
    pub(crate) deadline: Time,
    /// It is a recovery ping: nobody's health suffers from it (HE-10).
    pub(crate) recovery: bool,
}

/// What a PUT and a GET differ in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) body: Body,
    pub(crate) length: u32,
}
