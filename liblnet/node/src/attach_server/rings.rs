//! The memory of a program's rings.

use lnet_core::Errno;
use lnet_os::shared_memory::SharedMemory;
use lnet_ring::size_in_words;
use std::ffi::CStr;
use std::io;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The memory of a ring, for its side and for who looks at its fill.
#[derive(Clone, Debug)]
pub(super) struct RingMemory(Arc<SharedMemory>);

impl RingMemory {
    /// Memory with room for `capacity` words of records.
    pub(super) fn new(name: &CStr, capacity: usize) -> Result<Self, Errno> {
        let words = size_in_words(capacity).ok_or(Errno::Invalid)?;
        let memory = SharedMemory::create(name, words * size_of::<u64>()).map_err(|_| Errno::NoMemory)?;
        Ok(Self(Arc::new(memory)))
    }

    /// The file, for the program.
    pub(super) fn file(&self) -> io::Result<OwnedFd> {
        self.0.file().try_clone_to_owned()
    }
}

impl Deref for RingMemory {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        &self.0
    }
}
