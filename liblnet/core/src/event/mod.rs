//! Events: what the application learns of its operations.

mod context;
mod queue;

pub use context::{HandlerState, in_handler};
pub(crate) use context::{enter_handler, handler_depth};
pub use queue::{EventHandler, EventQueue, Polled};

use crate::memory::{MdHandle, MdSpec};
use lnet_wire::Errno;
use lnet_wire::{Nid, Pid};

/// The kind of an event, with the C API's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum EventKind {
    /// This node's data was fetched: the REPLY has been sent.
    Get = 1,
    /// Data has arrived in this node's memory.
    Put = 2,
    /// The data that a GET asked for has arrived.
    Reply = 3,
    /// The target has acknowledged a PUT.
    Ack = 4,
    /// A PUT or GET has been sent; the memory of a PUT may be reused.
    Send = 5,
    /// The MD was unlinked and nothing else was left to report.
    Unlink = 6,
}

/// A node and process in an event. `None` is "any" in a SEND event and zero in an UNLINK event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventParty {
    /// The interface.
    pub nid: Option<Nid>,
    /// The process.
    pub pid: Pid,
}

impl EventParty {
    pub(crate) const NOBODY: Self = Self { nid: None, pid: Pid(0) };
}

/// One event. Which field means what in which kind: c-abi 2.7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The local NID that the message came to; in a SEND event, the target.
    pub target: EventParty,
    /// The primary NID of the peer (OM-20).
    pub initiator: EventParty,
    /// The NID that the peer sent from.
    pub source: EventParty,
    /// The node that sent the message to this one: the source, or a router.
    pub sender: Option<Nid>,
    /// The portal.
    pub portal: u32,
    /// The match bits, as sent.
    pub match_bits: u64,
    /// Bytes that the message carried or asked for.
    pub rlength: u32,
    /// Bytes of them that were moved.
    pub mlength: u32,
    /// The MD.
    pub md_handle: MdHandle,
    /// The MD as it was when the operation began.
    pub md: MdSpec,
    /// The initiator's 64 bits (PUT and its SEND).
    pub hdr_data: u64,
    /// The status.
    pub status: Result<(), Errno>,
    /// Whether this is the MD's last event.
    pub unlinked: bool,
    /// The offset in the MD's memory.
    pub offset: u32,
    /// The number of the event in its queue, from 1; 0 in a queue without a ring.
    pub sequence: u64,
}

impl Event {
    /// An event that reports only the end of the MD (TRAP-9).
    pub(crate) const fn unlink(md_handle: MdHandle, md: MdSpec) -> Self {
        Self {
            kind: EventKind::Unlink,
            target: EventParty::NOBODY,
            initiator: EventParty::NOBODY,
            source: EventParty::NOBODY,
            sender: None,
            portal: 0,
            match_bits: 0,
            rlength: 0,
            mlength: 0,
            md_handle,
            md,
            hdr_data: 0,
            status: Ok(()),
            unlinked: true,
            offset: 0,
            sequence: 0,
        }
    }
}
