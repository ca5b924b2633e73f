//! Events of descriptors.

use crate::Errno;
use crate::{ProcessId, md::MdContext, sys};
use std::cell::Cell;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A peer fetched data from the descriptor.
    Get,
    /// A peer put data into the descriptor.
    Put,
    /// The fetched data has arrived in the descriptor.
    Reply,
    /// The target of a PUT has the data.
    Ack,
    /// A PUT or GET was sent, or could not be.
    Send,
    /// A call unlinked the descriptor.
    Unlink,
}

/// An event of a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The kind of the event.
    pub kind: EventKind,
    /// The result of the operation.
    pub status: Result<(), Errno>,
    /// Whether the event is the last of its descriptor, whose memory LNet no longer accesses.
    pub unlinked: bool,
    /// The sender of an incoming message, by its primary NID.
    pub initiator: Option<ProcessId>,
    /// The NI that an incoming message was sent from, where replies go.
    pub source: Option<ProcessId>,
    /// The local NI that an incoming message was sent to.
    pub target: Option<ProcessId>,
    /// The match bits that the sender chose.
    pub match_bits: u64,
    /// Number of bytes that the sender requested.
    pub rlength: u32,
    /// Number of bytes that were transferred.
    pub mlength: u32,
    /// The offset in the descriptor, in bytes.
    pub offset: u32,
    /// The 64 bits of header data of a PUT.
    pub hdr_data: u64,
}

thread_local! {
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in an event handler, where LNet must not be called.
pub(crate) fn in_handler() -> bool {
    IN_HANDLER.get()
}

/// The event handler of the queue that all descriptors share.
///
/// # Safety
/// `event` is one of LNet's, of a descriptor whose `user_ptr` is a [`MdContext`] that [`crate::Node`] made.
pub(crate) unsafe extern "C" fn handle(event: *mut sys::lnet_event) {
    // SAFETY: LNet lends it for as long as this runs.
    let event = unsafe { &*event };
    let context: *mut MdContext = event.md.user_ptr.cast();
    let converted = Event::from_c(event);
    IN_HANDLER.set(true);
    if converted.unlinked {
        // SAFETY: it is there until the last event, and the events of a descriptor come one after the other: nobody else is here.
        drop(unsafe { (*context).region.take() });
    }
    // SAFETY: the same.
    unsafe { &*context }.handler.on_event(&converted);
    if converted.unlinked {
        // SAFETY: a box that `Node` gave away, and this is the last event.
        drop(unsafe { Box::from_raw(context) });
    }
    IN_HANDLER.set(false);
}

impl Event {
    fn from_c(event: &sys::lnet_event) -> Self {
        use sys::lnet_event_kind as Kind;
        Self {
            kind: match event.r#type {
                Kind::LNET_EVENT_GET => EventKind::Get,
                Kind::LNET_EVENT_PUT => EventKind::Put,
                Kind::LNET_EVENT_REPLY => EventKind::Reply,
                Kind::LNET_EVENT_ACK => EventKind::Ack,
                Kind::LNET_EVENT_SEND => EventKind::Send,
                Kind::LNET_EVENT_UNLINK => EventKind::Unlink,
            },
            status: Errno::check(event.status).map(drop),
            unlinked: event.unlinked != 0,
            initiator: ProcessId::from_c(event.initiator),
            source: ProcessId::from_c(event.source),
            target: ProcessId::from_c(event.target),
            match_bits: event.match_bits,
            rlength: event.rlength,
            mlength: event.mlength,
            offset: event.offset,
            hdr_data: event.hdr_data,
        }
    }
}
