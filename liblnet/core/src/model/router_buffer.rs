//! A buffer of a router, with the message that is received into it and sent from it.

use crate::memory::{MdMemory, RecvBuffer};
use lnet_wire::Nid;

/// A buffer that a message for another node holds.
#[derive(Debug)]
pub(crate) struct RouterBuffer {
    /// Owns what `bytes` describe.
    _memory: RecvBuffer,
    /// Its memory, as drivers read and write it.
    pub(crate) bytes: MdMemory,
    /// The peer NI whose router credit it takes, while a message holds it.
    pub(crate) from: Option<Nid>,
    pub(crate) place: BufferPlace,
    /// The bytes of payload of a message that has been sent on.
    pub(crate) sent: Option<u32>,
}

/// Which buffers it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferPlace {
    pub(crate) cpt: usize,
    /// The index in [`crate::router::BUFFER_SIZES`].
    pub(crate) size: usize,
}

impl RouterBuffer {
    pub(crate) fn new(memory: RecvBuffer, place: BufferPlace) -> Self {
        Self { bytes: memory.memory(), _memory: memory, from: None, place, sent: None }
    }
}
