//! A buffer of a router, with the message that is received into it and sent from it.

use super::arrival::Arrival;
use crate::memory::{MdMemory, RecvBuffer};
use lnet_wire::Nid;
use std::sync::Arc;

/// A buffer that a message for another node holds.
#[derive(Debug)]
pub(crate) struct RouterBuffer {
    /// The owner of the memory that `bytes` describes.
    pub(super) memory: RecvBuffer,
    /// The memory of the buffer, as drivers read and write it.
    pub(crate) bytes: MdMemory,
    /// The peer NI whose router credit the message in the buffer takes.
    pub(crate) from: Option<Nid>,
    pub(crate) place: BufferPlace,
    /// The kind of node that the message in the buffer is sent to next.
    pub(crate) onward: Onward,
    /// The payload bytes of a message that has been sent on.
    pub(crate) sent: Option<u32>,
    /// The arrival of the last message in the buffer that was sent on while it arrived, for the next one.
    pub(super) spare_arrival: Option<Arc<Arrival>>,
}

/// The kind of next hop of a forwarded message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Onward {
    /// The destination, which takes the message in any case.
    #[default]
    ToDestination,
    /// The message goes to another router, which may wait for buffers of this one.
    ToRouter,
}

/// The pool that a buffer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferPlace {
    pub(crate) cpt: usize,
    /// The index in [`crate::router::BUFFER_SIZES`].
    pub(crate) size: usize,
}

impl RouterBuffer {
    pub(crate) fn new(memory: RecvBuffer, place: BufferPlace) -> Self {
        Self {
            bytes: memory.memory(),
            memory,
            from: None,
            place,
            onward: Onward::default(),
            sent: None,
            spare_arrival: None,
        }
    }
}
