//! Memory of the peer that its device knows.

use crate::device::model::ModelDevice;
use crate::device::{Device, Paging, Registration, Segment, Write};
use crate::proto::{Descriptor, Fragment, Fragments};
use lnet_core::memory::MemRange;
use std::rc::Rc;

/// Memory of the peer that the engine may write to, or that the peer writes from.
#[derive(Clone)]
pub(crate) struct PeerMemory {
    bytes: Rc<[u8]>,
    pub(super) registration: Registration,
}

impl PeerMemory {
    pub(super) fn new(bytes: Vec<u8>, device: &mut ModelDevice) -> Self {
        let bytes: Rc<[u8]> = bytes.into();
        let range = MemRange { address: bytes.as_ptr() as usize, len: bytes.len() };
        Self { registration: device.register(range, Paging::Pinned).unwrap(), bytes }
    }

    /// A part of the memory, as the engine may write to it.
    pub(crate) fn fragment(&self, offset: usize, bytes: usize) -> Fragment {
        Fragment { bytes: bytes as u32, address: self.bytes.as_ptr() as u64 + offset as u64 }
    }

    /// Parts of the memory: offset and length.
    pub(crate) fn descriptor(&self, parts: &[(usize, usize)]) -> Descriptor {
        let fragments: Vec<_> = parts.iter().map(|(offset, len)| self.fragment(*offset, *len)).collect();
        Descriptor { rkey: self.registration.rkey, fragments: Fragments::new(&fragments).unwrap() }
    }

    /// An RDMA WRITE of the first bytes to the beginning of the engine's memory.
    pub(crate) fn write(&self, len: usize, to: &Descriptor) -> Write {
        let address = self.bytes.as_ptr() as u64;
        let from = vec![Segment { address, len: len as u32, lkey: self.registration.lkey }];
        Write { from, to: to.fragments[0].address, rkey: to.rkey }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        std::hint::black_box(&self.bytes)
    }
}
