//! Events: reports to the program about its operations.

mod context;
mod delivery_order;
mod queue;
mod unread;

pub use context::{HandlerState, in_handler};
pub(crate) use context::{enter_handler, handler_depth};
pub use delivery_order::DeliveryOrder;
pub use queue::{EventHandler, EventQueue, Polled};
pub use unread::{forget_left_events, has_left_events};

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
    /// The data that a GET requested has arrived.
    Reply = 3,
    /// The target has acknowledged a PUT.
    Ack = 4,
    /// A PUT or GET has been sent; the memory of a PUT may be reused.
    Send = 5,
    /// The MD was unlinked and no operation was left to report.
    Unlink = 6,
}

/// A node and process in an event. `None` is `LNET_NID_ANY` in a SEND event and zero in an UNLINK event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventParty {
    /// The NID of the interface.
    pub nid: Option<Nid>,
    /// The PID of the process.
    pub pid: Pid,
}

impl EventParty {
    /// The party of an event that no message causes.
    pub const NOBODY: Self = Self { nid: None, pid: Pid(0) };
}

/// An event. c-abi 2.7 has the meaning of each field for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The kind of the event.
    pub kind: EventKind,
    /// The local NID that the message came to; in a SEND event, the target of the request.
    pub target: EventParty,
    /// The primary NID of the peer (OM-20).
    pub initiator: EventParty,
    /// The NID that the peer sent from.
    pub source: EventParty,
    /// The node that sent the message to this one: the source, or a router.
    pub sender: Option<Nid>,
    /// The portal of the request.
    pub portal: u32,
    /// The match bits, as sent.
    pub match_bits: u64,
    /// The bytes that the message carried or requested.
    pub rlength: u32,
    /// The bytes of `rlength` that were moved.
    pub mlength: u32,
    /// The handle of the MD.
    pub md_handle: MdHandle,
    /// The spec of the MD when the operation began.
    pub md: MdSpec,
    /// The initiator's 64 bits (PUT, and SEND of a PUT).
    pub hdr_data: u64,
    /// The status of the operation.
    pub status: Result<(), Errno>,
    /// Whether this is the MD's last event.
    pub unlinked: bool,
    /// Whether a SEND event is that of a GET. No meaning in other events.
    pub of_get: bool,
    /// The offset in the MD's memory.
    pub offset: u32,
    /// The number of the event in its queue, from 1; 0 in a queue without a ring.
    pub sequence: u64,
}

impl Event {
    /// The content of a place for an event that has not been written yet.
    pub(crate) const BLANK: Self = Self::unlink(MdHandle::from_cookie(0), MdSpec::EMPTY);

    /// The event that `write` writes.
    #[inline(always)]
    pub(crate) fn written(write: impl FnOnce(&mut Self)) -> Self {
        let mut event = Self::BLANK;
        write(&mut event);
        event
    }

    /// An event that reports only the end of the MD (TRAP-9).
    pub const fn unlink(md_handle: MdHandle, md: MdSpec) -> Self {
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
            of_get: false,
            offset: 0,
            sequence: 0,
        }
    }
}
