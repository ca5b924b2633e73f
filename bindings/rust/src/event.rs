//! Events of descriptors.

use crate::{Buffer, Errno, ProcessId, sys};

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A peer fetched data from the buffer.
    Get,
    /// A peer put data into the buffer.
    Put,
    /// The fetched data has arrived in the buffer.
    Reply,
    /// The target of a PUT has the data.
    Ack,
    /// A PUT or GET was sent, or could not be.
    Send,
    /// The descriptor was unlinked while nothing was in progress: by the program, or because no response came in time.
    Unlink,
}

impl EventKind {
    /// Converts from C.
    pub const fn from_c(kind: sys::lnet_event_kind) -> Self {
        use sys::lnet_event_kind as Kind;
        match kind {
            Kind::LNET_EVENT_GET => Self::Get,
            Kind::LNET_EVENT_PUT => Self::Put,
            Kind::LNET_EVENT_REPLY => Self::Reply,
            Kind::LNET_EVENT_ACK => Self::Ack,
            Kind::LNET_EVENT_SEND => Self::Send,
            Kind::LNET_EVENT_UNLINK => Self::Unlink,
        }
    }
}

/// An event of a descriptor. Look at `status` first, then at `kind`, then whether there is a `buffer`.
#[derive(Debug)]
pub struct Event {
    /// The kind of the event.
    pub kind: EventKind,
    /// The result of the operation.
    pub status: Result<(), Errno>,
    /// The number that the program gave its descriptor or message.
    pub tag: u64,
    /// The memory of the descriptor, in its last event: the program's again.
    pub buffer: Option<Buffer>,
    /// The sender of an incoming message, by the primary NID of its node: an identity.
    pub initiator: Option<ProcessId>,
    /// The interface that an incoming message was sent from: the address for responses.
    pub source: Option<ProcessId>,
    /// The interface that the message was sent to.
    pub target: Option<ProcessId>,
    /// The portal.
    pub portal: u32,
    /// The match bits that the sender chose.
    pub match_bits: u64,
    /// The 64 bits of header data of a PUT.
    pub hdr_data: u64,
    /// The number of bytes that were transferred.
    pub length: usize,
    /// The number of bytes that the sender requested; more than `length` if the message was truncated.
    pub requested: usize,
    /// The offset of the data in the buffer.
    pub offset: usize,
}

impl Event {
    /// The bytes of the message, if this is the last event of its descriptor; none otherwise.
    pub fn data(&self) -> &[u8] {
        let bytes = self.buffer.as_deref().unwrap_or_default();
        bytes.get(self.offset..self.offset.saturating_add(self.length)).unwrap_or_default()
    }

    /// Converts from C.
    pub(crate) fn from_c(event: &sys::lnet_event, tag: u64, buffer: Option<Buffer>) -> Self {
        Self {
            kind: EventKind::from_c(event.r#type),
            status: Errno::check(event.status).map(drop),
            tag,
            buffer,
            initiator: ProcessId::from_c(event.initiator),
            source: ProcessId::from_c(event.source),
            target: ProcessId::from_c(event.target),
            portal: event.pt_index,
            match_bits: event.match_bits,
            hdr_data: event.hdr_data,
            length: event.mlength as usize,
            requested: event.rlength as usize,
            offset: event.offset as usize,
        }
    }
}
