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
    /// Where the message that holds it goes.
    pub(crate) onward: Onward,
    /// The bytes of payload of a message that has been sent on.
    pub(crate) sent: Option<u32>,
}

/// Where a message goes from a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Onward {
    /// To its destination, which takes it in any case.
    #[default]
    ToDestination,
    /// To another router, which may wait for buffers of this one.
    ToRouter,
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
        Self {
            bytes: memory.memory(),
            _memory: memory,
            from: None,
            place,
            onward: Onward::default(),
            sent: None,
        }
    }
}
