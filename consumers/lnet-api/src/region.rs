//! Memory that is shared with LNet.
//!
//! Each descriptor holds an [`Arc`] of its region until its last event, or of the owner of the region until that event was handled
//! ([`Node::attach_own`](crate::Node::attach_own)). So the holder of the only [`Arc`] has exclusive access, and `Arc::get_mut` tells when that is so.

use std::convert::Infallible;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Bytes at a fixed address, for descriptors.
pub struct Region {
    start: NonNull<u8>,
    len: usize,
    owner: Owner,
}

/// The most bytes that are zeroed here. Longer memory the system may have zeroed already.
const MAX_FILLED: usize = 1 << 10;

/// The owner of the bytes.
enum Owner {
    Region,
    Other,
    /// A [`Loan`] waits for the region to be dropped.
    Lender(#[allow(dead_code, reason = "dropping it ends the loan")] Sender<Infallible>),
}

/// Signals the owner of bytes ([`Region::lent`]) that they are no longer used.
#[derive(Debug)]
pub struct Loan(Receiver<Infallible>);

impl Loan {
    /// Waits until the region is dropped, with all descriptors over it.
    pub fn wait(self) {
        // Nothing is ever sent: this returns when the sender is dropped.
        let _ = self.0.recv();
    }
}

// SAFETY: the bytes belong to the region, or their owner has promised as much; they are only touched through `&mut`,
// through `RegionSlice`, and by LNet; each of these states why it excludes the others.
unsafe impl Send for Region {}
// SAFETY: the same.
unsafe impl Sync for Region {}

impl Region {
    /// Makes a region of zeroed bytes.
    pub fn zeroed(len: usize) -> Self {
        let bytes = match len {
            // The system's allocator takes ten times as long for memory that it zeroes.
            ..=MAX_FILLED => {
                let mut bytes = Vec::with_capacity(len);
                std::hint::black_box(&mut bytes).resize(len, 0_u8);
                bytes
            }
            _ => vec![0; len],
        };
        let start = NonNull::from(Box::leak(bytes.into_boxed_slice())).cast();
        Self { start, len, owner: Owner::Region }
    }

    /// Makes a region with a copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut region = Self::zeroed(bytes.len());
        region.bytes_mut().copy_from_slice(bytes);
        region
    }

    /// Makes a region of bytes of another owner.
    ///
    /// # Safety
    /// The bytes stay valid until the region is dropped, and until then are only accessed through it.
    pub unsafe fn borrowed(start: NonNull<u8>, len: usize) -> Self {
        Self { start, len, owner: Owner::Other }
    }

    /// Makes a region of bytes of another owner, and the loan that signals when they are no longer used.
    ///
    /// # Safety
    /// As for [`Region::borrowed`].
    pub unsafe fn lent(start: NonNull<u8>, len: usize) -> (Self, Loan) {
        let (sender, receiver) = channel();
        (Self { start, len, owner: Owner::Lender(sender) }, Loan(receiver))
    }

    /// The number of bytes.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether the region has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes, exclusively.
    pub const fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the region is borrowed exclusively, so neither a descriptor nor a `RegionSlice` is over it.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Copies bytes that LNet may be writing meanwhile: possibly a mixture of old and new ones, which the caller must detect.
    pub fn copy_while_written(&self, range: Range<usize>) -> Vec<u8> {
        let end = range.end.min(self.len);
        // SAFETY: inside the region. Each byte is read for itself, whatever others do there meanwhile.
        (range.start.min(end)..end).map(|at| unsafe { self.start.as_ptr().add(at).read_volatile() }).collect()
    }

    /// The address of the bytes, for LNet.
    pub(crate) const fn address(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if matches!(self.owner, Owner::Region) {
            let bytes = std::ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.len);
            // SAFETY: made from such a box in `zeroed`, and not used any more.
            drop(unsafe { Box::from_raw(bytes) });
        }
    }
}

impl std::fmt::Debug for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Region({} bytes)", self.len)
    }
}

/// Owner of a region: the region itself, or a larger object that is dropped with the last slice.
pub trait RegionOwner: Send + Sync {
    /// The memory.
    fn region(&self) -> &Region;
}

impl RegionOwner for Region {
    fn region(&self) -> &Region {
        self
    }
}

/// Bytes of a region that are no longer written. Keeps the region alive.
pub struct RegionSlice<H: RegionOwner = Region> {
    owner: Arc<H>,
    range: Range<usize>,
}

impl<H: RegionOwner> RegionSlice<H> {
    /// Makes a slice of these bytes of the region, as far as it reaches.
    ///
    /// # Safety
    /// Nothing writes them during the lifetime of the slice: a message that LNet has put there, in a descriptor of which each
    /// message has its own bytes (no `LNET_MD_MANAGE_REMOTE`), or in one that has had its last event.
    pub unsafe fn new(owner: Arc<H>, range: Range<usize>) -> Self {
        let len = owner.region().len();
        let end = range.end.min(len);
        Self { owner, range: range.start.min(end)..end }
    }

    /// Returns a part of this slice, by offsets in it.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let end = self.range.start.saturating_add(range.end).min(self.range.end);
        let start = self.range.start.saturating_add(range.start).min(end);
        Self { owner: Arc::clone(&self.owner), range: start..end }
    }
}

impl<H: RegionOwner> Clone for RegionSlice<H> {
    fn clone(&self) -> Self {
        Self { owner: Arc::clone(&self.owner), range: self.range.clone() }
    }
}

impl<H: RegionOwner> Deref for RegionSlice<H> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the range is inside the region (`new`), the region lives as long as `owner`, and nothing writes there
        // (promised to `new`).
        unsafe {
            std::slice::from_raw_parts(self.owner.region().address().add(self.range.start), self.range.len())
        }
    }
}

impl<H: RegionOwner> std::fmt::Debug for RegionSlice<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RegionSlice({:?})", self.range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_owner_may_write() {
        let mut region = Arc::new(Region::copy_of(b"abcdef"));
        let lent = Arc::clone(&region);
        assert!(Arc::get_mut(&mut region).is_none());
        drop(lent);
        Arc::get_mut(&mut region).unwrap().bytes_mut()[0] = b'x';
        // SAFETY: nothing writes to it.
        let slice = unsafe { RegionSlice::new(Arc::clone(&region), 0..6) };
        assert_eq!(&*slice, b"xbcdef");
        assert_eq!(&*slice.slice(2..4), b"cd");
    }

    #[test]
    fn a_slice_never_reaches_beyond_its_region() {
        let region = Arc::new(Region::copy_of(b"abcdef"));
        for (range, bytes) in [(0..99, &b"abcdef"[..]), (4..7, b"ef"), (7..9, b""), (6..6, b"")] {
            // SAFETY: nothing writes to it.
            assert_eq!(&*unsafe { RegionSlice::new(Arc::clone(&region), range) }, bytes);
        }
        // SAFETY: nothing writes to it.
        let slice = unsafe { RegionSlice::new(region, 2..4) };
        for (range, bytes) in [(0..2, &b"cd"[..]), (1..usize::MAX, b"d"), (3..9, b"")] {
            assert_eq!(&*slice.slice(range), bytes);
        }
    }

    #[test]
    fn a_loan_ends_when_the_region_is_dropped() {
        let mut bytes = *b"abc";
        // SAFETY: `bytes` outlives the wait, before which nothing touches them.
        let (region, loan) = unsafe { Region::lent(NonNull::from(&mut bytes).cast(), 3) };
        let region = Arc::new(region);
        let other = Arc::clone(&region);
        let thread = std::thread::spawn(move || drop(other));
        drop(region);
        loan.wait();
        assert_eq!(&bytes, b"abc");
        thread.join().unwrap();
    }

    #[test]
    fn an_empty_region_has_no_bytes() {
        let mut region = Region::zeroed(0);
        assert!(region.is_empty() && region.bytes_mut().is_empty());
    }
}
