//! The argument of a control command: bytes of the caller, whose number the header states.

use crate::types::{libcfs_ioctl_data, libcfs_ioctl_hdr, lnet_ioctl_lnet_stats, lnet_ioctl_ping_data};
use lnet_core::Errno;
use std::ffi::c_void;
use std::ptr::NonNull;

const VERSION_1: u32 = 0x0001_000a;
const VERSION_2: u32 = 0x0001_000b;
const LARGEST_ARGUMENT: u32 = 128 * 1024;

/// An argument with a valid header: the caller's bytes, as many as the header states.
pub(super) struct Argument {
    start: NonNull<c_void>,
    len: u32,
    version: u32,
}

impl Argument {
    /// # Safety
    /// `start` has the header and as many bytes as it says, which are the caller's to read and write while
    /// this lives.
    pub(super) unsafe fn parse(start: NonNull<c_void>) -> Result<Self, Errno> {
        // SAFETY: not NULL; an argument of the calling program's with a header, which is there until the C function returns. It may be unaligned.
        let header = unsafe { start.cast::<libcfs_ioctl_hdr>().read_unaligned() };
        let version_is_known = matches!(header.ioc_version, VERSION_1 | VERSION_2);
        if !version_is_known || !(8..=LARGEST_ARGUMENT).contains(&header.ioc_len) {
            return Err(Errno::Invalid);
        }
        Ok(Self { start, len: header.ioc_len, version: header.ioc_version })
    }

    /// The argument of a command whose structure has one size, from a caller that leaves out the header, as callers within
    /// the kernel do; `None` if there is a header.
    ///
    /// # Safety
    /// `start` has a header; if that is zero, it has a [`libcfs_ioctl_data`], as in [`Self::parse`].
    pub(super) unsafe fn without_header(start: NonNull<c_void>) -> Option<Self> {
        // SAFETY: not NULL; an argument of the calling program's with a header, which is there until the C function returns. It may be unaligned.
        let header = unsafe { start.cast::<libcfs_ioctl_hdr>().read_unaligned() };
        let is_zero = header.ioc_len == 0 && header.ioc_version == 0;
        is_zero.then_some(Self { start, len: size_of::<libcfs_ioctl_data>() as u32, version: VERSION_1 })
    }

    /// The argument of an old command; its length must account for the inline buffers, if they follow it.
    pub(super) fn data<'a>(self) -> Result<&'a mut libcfs_ioctl_data, Errno> {
        let (len, version) = (self.len, self.version);
        let data: &mut libcfs_ioctl_data = self.at_least()?;
        let padded = |len: u32| (u64::from(len) + 7) & !7;
        let alone = size_of::<libcfs_ioctl_data>() as u64;
        let with_buffers = alone + padded(data.ioc_inllen1) + padded(data.ioc_inllen2);
        if version == VERSION_1 && ![alone, with_buffers].contains(&u64::from(len)) {
            return Err(Errno::Invalid);
        }
        Ok(data)
    }

    /// The argument as a `T` at its start.
    pub(super) fn at_least<'a, T: Plain>(self) -> Result<&'a mut T, Errno> {
        let start = self.start.cast::<T>();
        if (self.len as usize) < size_of::<T>() || !start.is_aligned() {
            return Err(Errno::Invalid);
        }
        // SAFETY: aligned and long enough (checked); `len` bytes of the calling program's, which are there until the C function returns and
        // which it alone reads and writes; any bytes are a `T`. `self` is used up, so that there is one reference.
        Ok(unsafe { &mut *start.as_ptr() })
    }

    /// The argument as bytes, at least `least` of them.
    pub(super) fn bytes<'a>(self, least: usize) -> Result<Bytes<'a>, Errno> {
        if (self.len as usize) < least {
            return Err(Errno::Invalid);
        }
        // SAFETY: `len` bytes of the calling program's, which are there until the C function returns and which it alone reads and writes.
        // `self` is used up, so that there is one reference.
        Ok(Bytes(unsafe { std::slice::from_raw_parts_mut(self.start.cast().as_ptr(), self.len as usize) }))
    }

    /// The argument as bytes, exactly `len` of them.
    pub(super) fn exactly<'a>(self, len: usize) -> Result<Bytes<'a>, Errno> {
        if self.len as usize == len { self.bytes(len) } else { Err(Errno::Invalid) }
    }
}

/// The bytes of a structure, read and written by offset in this machine's byte order (c-abi 5.4).
/// Bytes beyond the end read as 0 and are not written: commands check the length that they need first.
pub(super) struct Bytes<'a>(pub(super) &'a mut [u8]);

impl Bytes<'_> {
    /// The number of bytes.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn u32(&self, offset: usize) -> u32 {
        self.array(offset).map_or(0, u32::from_ne_bytes)
    }

    pub(super) fn i32(&self, offset: usize) -> i32 {
        self.u32(offset) as i32
    }

    pub(super) fn u16(&self, offset: usize) -> u16 {
        self.array(offset).map_or(0, u16::from_ne_bytes)
    }

    pub(super) fn u64(&self, offset: usize) -> u64 {
        self.array(offset).map_or(0, u64::from_ne_bytes)
    }

    /// A text of at most `room` bytes that ends in a zero; `None` for an empty one and for bytes that are not UTF-8.
    pub(super) fn text(&self, offset: usize, room: usize) -> Option<&str> {
        let field = self.0.get(offset..offset.checked_add(room)?)?;
        let text = field.split(|byte| *byte == 0).next()?;
        std::str::from_utf8(text).ok().filter(|text| !text.is_empty())
    }

    pub(super) fn put_u32(&mut self, offset: usize, value: u32) {
        self.put(offset, &value.to_ne_bytes());
    }

    pub(super) fn put_i32(&mut self, offset: usize, value: i32) {
        self.put(offset, &value.to_ne_bytes());
    }

    pub(super) fn put_u64(&mut self, offset: usize, value: u64) {
        self.put(offset, &value.to_ne_bytes());
    }

    /// Stores a text in `room` bytes, truncated if necessary, followed by zeros.
    pub(super) fn put_text(&mut self, offset: usize, room: usize, text: &str) {
        if let Some(field) = self.0.get_mut(offset..offset + room) {
            field.fill(0);
            let len = text.len().min(room.saturating_sub(1));
            field[..len].copy_from_slice(&text.as_bytes()[..len]);
        }
    }

    pub(super) fn put(&mut self, offset: usize, bytes: &[u8]) {
        if let Some(field) = self.0.get_mut(offset..offset + bytes.len()) {
            field.copy_from_slice(bytes);
        }
    }

    /// The bytes from an offset on; `None` beyond the end.
    pub(super) fn array<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        self.0.get(offset..offset + N)?.try_into().ok()
    }
}

/// A structure of which any bytes are a valid value.
///
/// # Safety
/// Every field must be a number or a pointer.
pub(super) unsafe trait Plain {}

// SAFETY: numbers and pointers only.
unsafe impl Plain for libcfs_ioctl_data {}
// SAFETY: numbers only.
unsafe impl Plain for lnet_ioctl_lnet_stats {}
// SAFETY: numbers and a pointer only.
unsafe impl Plain for lnet_ioctl_ping_data {}

/// Copies `bytes` to the caller's memory at `address`, which by the contract of `LNetCtl` has as much
/// space as the argument states.
pub(super) fn store(address: u64, bytes: &[u8]) -> Result<(), Errno> {
    let to = std::ptr::NonNull::new(address as usize as *mut u8).ok_or(Errno::Fault)?;
    // SAFETY: checked for NULL; memory of the calling program's at the address in its argument, with at least so much room as that states,
    // which is there until `LNetCtl` returns and may be written.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
    Ok(())
}

/// Copies `len` bytes from the caller's memory at `address`.
pub(super) fn load(address: u64, len: usize) -> Result<Vec<u8>, Errno> {
    let from = std::ptr::NonNull::new(address as usize as *mut u8).ok_or(Errno::Fault)?;
    // SAFETY: checked for NULL; `len` bytes of the calling program's at the address in its argument, which are there and unchanged until
    // `LNetCtl` returns.
    Ok(unsafe { std::slice::from_raw_parts(from.as_ptr(), len) }.to_vec())
}
