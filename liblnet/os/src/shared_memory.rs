//! Memory that two processes have in common: anonymous files (memfd) that are mapped.
//!
//! The size of such a file is sealed before anybody maps it: a process that made its file smaller would end the other one by SIGBUS.
//! What the other process writes, and when, nobody can say. So the memory is never a Rust slice of bytes here: it is atomic words, or
//! addresses for copies.

use crate::descriptor::above_standard;
use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate, memfd_create,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::{Resource, getrlimit};
use std::ffi::CStr;
use std::io;
use std::ops::{Deref, Range};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// The seals without which no file is mapped.
const SIZE_IS_FINAL: SealFlags = SealFlags::SHRINK;
/// The kind of file system that has files of ordinary pages: in one of huge pages an access ends the process when none is left.
const TMPFS_MAGIC: i64 = 0x0102_1994;
/// The most bytes of one piece of memory.
const MAX_LEN: u64 = 1 << 40;

/// The bytes of a page.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// Shared memory, mapped into this process. Its pages are taken from the system when they are first written.
#[derive(Debug)]
pub struct SharedMemory {
    file: OwnedFd,
    mapping: Mapping,
}

/// Shared memory without its file: it takes no descriptor.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

/// The reason why a file cannot be mapped as shared memory.
#[derive(Debug, thiserror::Error)]
pub enum NotShared {
    /// The file may become smaller, or is none that can be sealed.
    #[error("its size is not sealed")]
    NotSealed,
    /// The file is none in memory with pages of the ordinary size.
    #[error("it is not in ordinary pages of memory")]
    Pages,
    /// The file is empty, or larger than any that is of use.
    #[error("it has {0} bytes")]
    Size(u64),
    /// The system refused.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl From<rustix::io::Errno> for NotShared {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::System(errno.into())
    }
}

// SAFETY: the mapping belongs to the value and stays where it is; it is accessed through atomics, or by copies whose callers answer for
// them.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// The number of bytes.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes, which never is so.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of the first byte in this process, valid as long as the value.
    pub fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }
}

impl SharedMemory {
    /// Makes memory of `len` bytes, all zero. `name` is what the system shows in `/proc/PID/maps`. [`NotShared::System`] with
    /// [`io::ErrorKind::FileTooLarge`] if the process may not make files of this size.
    pub fn create(name: &CStr, len: usize) -> Result<Self, NotShared> {
        // The limit is for files in memory, too, and one that is larger raises SIGXFSZ, which ends the process.
        if getrlimit(Resource::Fsize).current.is_some_and(|max| len as u64 > max) {
            return Err(rustix::io::Errno::FBIG.into());
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = above_standard(memfd_create(name, flags)?)?;
        ftruncate(&file, len as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::map(file)
    }

    /// Maps memory that another process has made. The file's size must be sealed.
    pub fn map(file: OwnedFd) -> Result<Self, NotShared> {
        if !fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SIZE_IS_FINAL)) {
            return Err(NotShared::NotSealed);
        }
        if fstatfs(&file)?.f_type != TMPFS_MAGIC {
            return Err(NotShared::Pages);
        }
        let size = u64::try_from(fstat(&file)?.st_size).unwrap_or(0);
        let Some(len) = usize::try_from(size).ok().filter(|_| (1..=MAX_LEN).contains(&size)) else {
            return Err(NotShared::Size(size));
        };
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at an address of the system's choice, is nobody else's memory.
        let start = unsafe {
            mmap(std::ptr::null_mut(), len, access, MapFlags::SHARED | MapFlags::NORESERVE, &file, 0)
        }?;
        let start = NonNull::new(start.cast()).ok_or(NotShared::Size(size))?;
        Ok(Self { file, mapping: Mapping { start, len } })
    }

    /// The file, to be passed to another process.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Closes the file. The memory stays mapped.
    pub fn into_mapping(self) -> Mapping {
        self.mapping
    }

    /// The number of bytes.
    pub const fn len(&self) -> usize {
        self.mapping.len
    }

    /// Whether there are no bytes, which never is so.
    pub const fn is_empty(&self) -> bool {
        self.mapping.is_empty()
    }

    /// The address of the first byte in this process, valid as long as the value.
    pub fn address(&self) -> usize {
        self.mapping.address()
    }

    /// Gives the pages of this range back to the system; they are zero when they are next read. Only whole pages are.
    pub fn discard(&self, range: Range<usize>) {
        let page = page_size();
        let (start, end) = (range.start.next_multiple_of(page), range.end.min(self.len()) / page * page);
        if start < end {
            let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
            // Without it the memory stays allocated, which is all.
            _ = rustix::fs::fallocate(&self.file, flags, start as u64, (end - start) as u64);
        }
    }
}

/// The whole words of the memory.
impl Deref for SharedMemory {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `len` bytes from the beginning of a page on are mapped, for reading and writing, as long as `self`; all accesses to
        // them as words are atomic, and any bytes are a word.
        unsafe {
            std::slice::from_raw_parts(
                self.mapping.start.as_ptr().cast(),
                self.len() / size_of::<AtomicU64>(),
            )
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and nothing borrows it any more.
        _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_of_one_file_have_the_same_bytes() {
        let one = SharedMemory::create(c"test", 10_000).unwrap();
        let other = SharedMemory::map(one.file().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!((other.len(), other.deref().len()), (10_000, 1250));
        assert_ne!(one.address(), other.address());
        one[1249].store(7, Ordering::Relaxed);
        assert_eq!(other[1249].load(Ordering::Relaxed), 7);
    }

    #[test]
    fn discarded_pages_are_zero() {
        let memory = SharedMemory::create(c"test", 3 * 4096).unwrap();
        memory.iter().for_each(|word| word.store(1, Ordering::Relaxed));
        memory.discard(100..2 * 4096 + 100);
        let words: Vec<u64> = memory.iter().map(|word| word.load(Ordering::Relaxed)).collect();
        assert_eq!(words[..512], [1; 512]);
        assert_eq!(words[512..1024], [0; 512]);
        assert_eq!(words[1024..], [1; 512]);
    }

    /// Whoever can make a mapped file smaller ends the process that reads it.
    #[test]
    fn files_whose_size_may_change_are_refused() {
        let open = memfd_create(c"open", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&open, 4096).unwrap();
        let plain = std::fs::File::open("/proc/self/exe").unwrap();
        let empty = memfd_create(c"empty", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        fcntl_add_seals(&empty, SealFlags::SHRINK).unwrap();
        for (file, text) in [
            (open, "its size is not sealed"),
            (plain.into(), "its size is not sealed"),
            (empty, "it has 0 bytes"),
        ] {
            assert_eq!(SharedMemory::map(file).unwrap_err().to_string(), text);
        }
    }
}
