//! Events of descriptors, and their handlers.

use crate::{Errno, EventKind, ProcessId, Region, sys};
use liblnet::raw::MdOwner;
use std::sync::Arc;

/// An event of a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The kind of the event.
    pub kind: EventKind,
    /// The result of the operation.
    pub status: Result<(), Errno>,
    /// Whether the event is the last of its descriptor, whose memory LNet no longer accesses.
    pub unlinked: bool,
    initiator: sys::lnet_process_id,
    source: sys::lnet_process_id,
    target: sys::lnet_process_id,
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
    /// The number that the descriptor was made with ([`MdSpec::tag`](crate::MdSpec::tag)).
    pub tag: u32,
}

/// Handles the events of a descriptor.
pub trait EventHandler: Send + Sync {
    /// Called on LNet's threads, one event of a descriptor at a time; the event with [`Event::unlinked`] is the last. Must not
    /// block. LNet can be called here, but not to wait for events; handlers of PtlRPC do not call it (PR-56).
    fn on_event(&self, event: &Event);
}

/// The data that a descriptor owns until its last event.
pub(crate) struct MdContext {
    pub(crate) handler: Arc<dyn EventHandler>,
    /// The memory, which LNet may access until the last event; `None`: it is the handler's.
    pub(crate) region: Option<Arc<Region>>,
    pub(crate) tag: u32,
}

impl MdOwner for MdContext {
    fn on_event(&mut self, event: &sys::lnet_event) {
        let event = Event::from_c(event, self.tag);
        if event.unlinked {
            self.region = None;
        }
        self.handler.on_event(&event);
    }
}

impl Event {
    /// The sender of an incoming message, by its primary NID.
    pub fn initiator(&self) -> Option<ProcessId> {
        ProcessId::from_c(self.initiator)
    }

    /// The NI that an incoming message was sent from, where replies go.
    pub fn source(&self) -> Option<ProcessId> {
        ProcessId::from_c(self.source)
    }

    /// The local NI that an incoming message was sent to.
    pub fn target(&self) -> Option<ProcessId> {
        ProcessId::from_c(self.target)
    }

    fn from_c(event: &sys::lnet_event, tag: u32) -> Self {
        Self {
            kind: EventKind::from_c(event.r#type),
            status: Errno::check(event.status).map(drop),
            unlinked: event.unlinked != 0,
            initiator: event.initiator,
            source: event.source,
            target: event.target,
            match_bits: event.match_bits,
            rlength: event.rlength,
            mlength: event.mlength,
            offset: event.offset,
            hdr_data: event.hdr_data,
            tag,
        }
    }
}
