//! Memory for messages.

use crate::{Errno, sys};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Memory that is sent from, received into, or made available to other nodes.
///
/// A descriptor takes its buffer away from the program, and the descriptor's last event gives it back ([`Event::buffer`](crate::Event)). So
/// the program never sees bytes that LNet may be reading or writing.
pub struct Buffer {
    start: NonNull<u8>,
    length: usize,
    allocation: Allocation,
}

/// The allocator of the bytes.
enum Allocation {
    /// A `Vec` of this capacity.
    Vec(usize),
    /// `LNetMemAlloc`.
    Node,
}

// SAFETY: the bytes belong to the buffer alone; they are accessed through `&` and `&mut` of it, and by LNet while a descriptor owns it.
unsafe impl Send for Buffer {}
// SAFETY: the same; through `&` they are only read.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Makes a buffer of zeroed bytes.
    pub fn zeroed(length: usize) -> Self {
        vec![0; length].into()
    }

    /// Makes a buffer of zeroed bytes that a program which shares a node of another process accesses in place. Other memory is copied
    /// once more there, on its way to that process. The network is up; [`Errno::NoMemory`] otherwise.
    pub fn of_node(length: usize) -> Result<Self, Errno> {
        // SAFETY: this is a plain allocation, with its length.
        let start = unsafe { sys::LNetMemAlloc(length.max(1)) };
        let start = NonNull::new(start.cast()).ok_or(Errno::NoMemory)?;
        Ok(Self { start, length, allocation: Allocation::Node })
    }

    /// The address of the bytes, for LNet.
    pub(crate) const fn address(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl From<Vec<u8>> for Buffer {
    /// Takes the bytes, without copying them.
    fn from(bytes: Vec<u8>) -> Self {
        let mut bytes = ManuallyDrop::new(bytes);
        Self {
            start: NonNull::from(bytes.as_mut_slice()).cast(),
            length: bytes.len(),
            allocation: Allocation::Vec(bytes.capacity()),
        }
    }
}

impl From<&[u8]> for Buffer {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

impl From<&str> for Buffer {
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are the buffer's, initialised, and nobody writes them while it is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the same, and it is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match self.allocation {
            Allocation::Vec(capacity) => {
                // SAFETY: made of such a vector in `from`, and not used any more.
                drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), self.length, capacity) });
            }
            Allocation::Node => {
                // SAFETY: made by `LNetMemAlloc`, and no descriptor uses it.
                unsafe { sys::LNetMemFree(self.start.as_ptr().cast()) };
            }
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.length)
    }
}
