//! Bounce buffers: registered memory of the driver, for transfers that are short, or whose memory is in pieces.

use crate::device::{Device, Paging, Registration, Segment};
use lnet_core::Errno;
use lnet_core::memory::MemRange;

/// The lengths of buffers in bytes: a transfer takes the shortest that is long enough. The last is LNet's largest payload.
const LENGTHS: [usize; 3] = [16 << 10, 128 << 10, 1 << 20];
/// The buffers of each length that are kept when nobody uses them.
const SPARE: [usize; 3] = [64, 16, 4];

/// A buffer of the driver that the device may read and write.
#[derive(Debug)]
pub(crate) struct Bounce {
    bytes: Box<[u8]>,
    registration: Registration,
}

/// The buffers that nobody uses.
#[derive(Debug, Default)]
pub(crate) struct BouncePool([Vec<Bounce>; 3]);

impl Bounce {
    /// The bytes of the buffer, as far as the peer has written them.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Copies `bytes` to the beginning.
    pub(crate) fn fill(&mut self, bytes: &[u8]) {
        let len = bytes.len().min(self.bytes.len());
        self.bytes[..len].copy_from_slice(&bytes[..len]);
    }

    pub(crate) fn segment(&self, len: u32) -> Segment {
        Segment { address: self.bytes.as_ptr() as u64, len, lkey: self.registration.lkey }
    }

    pub(crate) const fn rkey(&self) -> u32 {
        self.registration.rkey
    }
}

impl BouncePool {
    /// A buffer of at least `len` bytes. [`Errno::MessageSize`] above LNet's largest payload.
    pub(crate) fn take(&mut self, device: &mut dyn Device, len: usize) -> Result<Bounce, Errno> {
        let class = LENGTHS.iter().position(|its| *its >= len).ok_or(Errno::MessageSize)?;
        if let Some(bounce) = self.0[class].pop() {
            return Ok(bounce);
        }
        let bytes = vec![0; LENGTHS[class]].into_boxed_slice();
        let range = MemRange { address: bytes.as_ptr() as usize, len: bytes.len() };
        Ok(Bounce { registration: device.register(range, Paging::Pinned)?, bytes })
    }

    /// Takes a buffer back.
    pub(crate) fn put(&mut self, device: &mut dyn Device, bounce: Bounce) {
        let class = LENGTHS.iter().position(|its| *its == bounce.bytes.len());
        match class.map(|class| (&mut self.0[class], SPARE[class])) {
            Some((spare, most)) if spare.len() < most => spare.push(bounce),
            _ => device.deregister(bounce.registration),
        }
    }

    /// Ends the registrations of all buffers.
    pub(crate) fn clear(&mut self, device: &mut dyn Device) {
        for bounce in self.0.iter_mut().flat_map(|spare| spare.drain(..)) {
            device.deregister(bounce.registration);
        }
    }
}
