//! Memory that LNet reads and writes beside this program.
//!
//! Whoever has the only [`Arc`] of a region has it for himself: no descriptor is left over it, because each keeps one
//! until its last event. So `Arc::get_mut` is what tells that memory may be touched again.

use std::convert::Infallible;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Bytes that do not move, and may be lent to LNet.
pub struct Region {
    start: NonNull<u8>,
    len: usize,
    owner: Owner,
}

/// Whose the bytes are.
enum Owner {
    Region,
    Other,
    /// He is told when the region is dropped.
    Lender(#[allow(dead_code, reason = "dropping it is what tells him")] Sender<Infallible>),
}

/// Tells the owner of bytes that he has lent ([`Region::lent`]) when they are his again.
#[derive(Debug)]
pub struct Loan(Receiver<Infallible>);

impl Loan {
    /// Waits until the region is dropped, with all descriptors over it.
    pub fn wait(self) {
        // Nothing can be sent: this returns when the sender is gone.
        let _ = self.0.recv();
    }
}

// SAFETY: the bytes belong to the region, or their owner has promised as much; they are only touched through `&mut`,
// through `Part`, and by LNet, and each of these says why the others are not there at the same time.
unsafe impl Send for Region {}
// SAFETY: the same.
unsafe impl Sync for Region {}

impl Region {
    /// So many zeros.
    pub fn zeroed(len: usize) -> Self {
        let start = NonNull::from(Box::leak(vec![0_u8; len].into_boxed_slice())).cast();
        Self { start, len, owner: Owner::Region }
    }

    /// A copy of these.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut region = Self::zeroed(bytes.len());
        region.bytes_mut().copy_from_slice(bytes);
        region
    }

    /// Somebody else's bytes.
    ///
    /// # Safety
    /// They are there until the region is dropped, and nobody else touches them until then but through it.
    pub unsafe fn borrowed(start: NonNull<u8>, len: usize) -> Self {
        Self { start, len, owner: Owner::Other }
    }

    /// Somebody else's bytes, and what tells him when they are his again.
    ///
    /// # Safety
    /// As for [`Region::borrowed`].
    pub unsafe fn lent(start: NonNull<u8>, len: usize) -> (Self, Loan) {
        let (sender, receiver) = channel();
        (Self { start, len, owner: Owner::Lender(sender) }, Loan(receiver))
    }

    /// How many bytes.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes, of which nobody else has any.
    pub const fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the region is borrowed exclusively, so neither a descriptor nor a `Part` is over it.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// A copy of what LNet may be writing just now: any mixture of old and new bytes, for who can tell.
    pub fn copy_while_written(&self, range: Range<usize>) -> Vec<u8> {
        let end = range.end.min(self.len);
        // SAFETY: inside the region. Each byte is read for itself, whatever others do there meanwhile.
        (range.start.min(end)..end).map(|at| unsafe { self.start.as_ptr().add(at).read_volatile() }).collect()
    }

    /// Where they are, for LNet.
    pub(super) const fn address(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if matches!(self.owner, Owner::Region) {
            let bytes = std::ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.len);
            // SAFETY: made from such a box in `zeroed`, and nobody has it any more.
            drop(unsafe { Box::from_raw(bytes) });
        }
    }
}

impl std::fmt::Debug for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Region({} bytes)", self.len)
    }
}

/// What holds a region: the region itself, or something more that is dropped with the last part.
pub trait Holder: Send + Sync {
    /// The memory.
    fn region(&self) -> &Region;
}

impl Holder for Region {
    fn region(&self) -> &Region {
        self
    }
}

/// Bytes of a region that nobody writes any more. Keeps the region.
pub struct Part<H: Holder = Region> {
    holder: Arc<H>,
    range: Range<usize>,
}

impl<H: Holder> Part<H> {
    /// These of the region; less of them where it is shorter.
    ///
    /// # Safety
    /// As long as the part is there, nothing writes them: a message that LNet has put there, in a descriptor of which each
    /// message has its own bytes (no `LNET_MD_MANAGE_REMOTE`), or in one that has had its last event.
    pub unsafe fn new(holder: Arc<H>, range: Range<usize>) -> Self {
        let len = holder.region().len();
        let end = range.end.min(len);
        Self { holder, range: range.start.min(end)..end }
    }

    /// A part of this part, by offsets in it.
    pub fn part(&self, range: Range<usize>) -> Self {
        let end = self.range.start.saturating_add(range.end).min(self.range.end);
        let start = self.range.start.saturating_add(range.start).min(end);
        Self { holder: Arc::clone(&self.holder), range: start..end }
    }
}

impl<H: Holder> Clone for Part<H> {
    fn clone(&self) -> Self {
        Self { holder: Arc::clone(&self.holder), range: self.range.clone() }
    }
}

impl<H: Holder> Deref for Part<H> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the range is inside the region (`new`), the region lives as long as `holder`, and nothing writes there
        // (promised to `new`).
        unsafe {
            std::slice::from_raw_parts(self.holder.region().address().add(self.range.start), self.range.len())
        }
    }
}

impl<H: Holder> std::fmt::Debug for Part<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Part({:?})", self.range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_the_only_one_may_write() {
        let mut region = Arc::new(Region::copy_of(b"abcdef"));
        let lent = Arc::clone(&region);
        assert!(Arc::get_mut(&mut region).is_none());
        drop(lent);
        Arc::get_mut(&mut region).unwrap().bytes_mut()[0] = b'x';
        // SAFETY: nothing writes to it.
        let part = unsafe { Part::new(Arc::clone(&region), 0..6) };
        assert_eq!(&*part, b"xbcdef");
        assert_eq!(&*part.part(2..4), b"cd");
    }

    #[test]
    fn a_part_never_reaches_beyond_its_region() {
        let region = Arc::new(Region::copy_of(b"abcdef"));
        for (range, bytes) in [(0..99, &b"abcdef"[..]), (4..7, b"ef"), (7..9, b""), (6..6, b"")] {
            // SAFETY: nothing writes to it.
            assert_eq!(&*unsafe { Part::new(Arc::clone(&region), range) }, bytes);
        }
        // SAFETY: nothing writes to it.
        let part = unsafe { Part::new(region, 2..4) };
        for (range, bytes) in [(0..2, &b"cd"[..]), (1..usize::MAX, b"d"), (3..9, b"")] {
            assert_eq!(&*part.part(range), bytes);
        }
    }

    #[test]
    fn who_has_lent_bytes_waits_until_nobody_has_them() {
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
