//! Reading and writing sockets straight from and to the application's memory: the only unsafe code here.
//!
//! The C caller who made an MD promises that its memory stays valid, and is not written to while it is being sent;
//! the core hands out addresses of living MDs only (a message holds its MD).

use crate::proto::checksum::Checksum;
use lnet_core::memory::{MemRange, MemSlice};
use lnet_os::socket::{self, Wait};
use rustix::io::readv;
use rustix::net::{RecvFlags, recv};
use std::io::{self, IoSlice, IoSliceMut};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Maximum number of runs of memory in one call: a 1 MiB payload in pages of 4 KiB, not aligned, and a few heads.
const MAX_VECS: usize = 264;
/// Maximum number of bytes in several runs that are copied into one before they are sent: to give the kernel the runs takes more time.
const MAX_GATHERED: usize = 4 << 10;

/// Runs of memory for one system call. Runs that do not fit any more are left out, at the end.
pub(crate) struct Vecs<'a> {
    vecs: [MaybeUninit<libc::iovec>; MAX_VECS],
    len: usize,
    bytes: usize,
    full: bool,
    borrowed: PhantomData<&'a mut [u8]>,
}

impl<'a> Vecs<'a> {
    pub(crate) const fn new() -> Self {
        Self {
            vecs: [const { MaybeUninit::uninit() }; MAX_VECS],
            len: 0,
            bytes: 0,
            full: false,
            borrowed: PhantomData,
        }
    }

    /// Adds bytes to send. Not for receiving.
    pub(crate) fn bytes_to_send(&mut self, bytes: &'a [u8]) {
        self.push(MemRange { address: bytes.as_ptr() as usize, len: bytes.len() });
    }

    /// Adds a buffer to receive into.
    pub(crate) fn buffer(&mut self, buffer: &'a mut [u8]) {
        self.push(MemRange { address: buffer.as_mut_ptr() as usize, len: buffer.len() });
    }

    /// Adds the first `limit` bytes of the application's memory.
    pub(crate) fn memory(&mut self, memory: MemSlice<'a>, limit: usize) {
        for run in limited(memory, limit) {
            self.push(run);
            if self.full {
                return;
            }
        }
    }

    /// The number of bytes in all runs.
    pub(crate) const fn total(&self) -> usize {
        self.bytes
    }

    /// Whether something was left out.
    pub(crate) const fn is_full(&self) -> bool {
        self.full
    }

    fn push(&mut self, run: MemRange) {
        if self.full || run.len == 0 {
            return;
        }
        let Some(slot) = self.vecs.get_mut(self.len) else {
            self.full = true;
            return;
        };
        slot.write(libc::iovec { iov_base: run.address as *mut libc::c_void, iov_len: run.len });
        self.len += 1;
        self.bytes += run.len;
    }

    fn slices(&self) -> &[IoSlice<'_>] {
        // SAFETY: `len` iovecs are initialised, and an IoSlice is an iovec. Each names a borrowed slice or memory of an MD that
        // its message keeps alive, which nobody but the kernel reads through these.
        unsafe { std::slice::from_raw_parts(self.vecs.as_ptr().cast(), self.len) }
    }
    fn slices_to_fill(&mut self) -> &mut [IoSliceMut<'_>] {
        // SAFETY: `len` iovecs are initialised, and an IoSliceMut is an iovec. Each names an exclusively borrowed buffer or memory of an MD
        // that its message keeps alive and that the application has offered for writing; nobody but the kernel writes through these.
        unsafe { std::slice::from_raw_parts_mut(self.vecs.as_mut_ptr().cast(), self.len) }
    }
}

/// Sends as much as the socket takes now. Never blocks, never raises SIGPIPE.
pub(crate) fn send(socket: BorrowedFd<'_>, vecs: &Vecs<'_>) -> io::Result<usize> {
    match vecs.slices() {
        runs @ ([] | [_]) => socket::send(socket, runs, Wait::Never),
        runs if vecs.bytes <= MAX_GATHERED => {
            let mut gathered = [const { MaybeUninit::uninit() }; MAX_GATHERED];
            let mut len = 0;
            for run in runs {
                if let Some(to) = gathered.get_mut(len..len + run.len()) {
                    to.write_copy_of_slice(run);
                    len += run.len();
                }
            }
            // SAFETY: the first `len` bytes have just been written.
            let bytes = unsafe { gathered[..len].assume_init_ref() };
            socket::send(socket, &[IoSlice::new(bytes)], Wait::Never)
        }
        runs => socket::send(socket, runs, Wait::Never),
    }
}

/// Sends the few bytes of a handshake on a socket that takes them at once, because nothing was sent on it before. Fails if
/// the socket does not take them.
pub(crate) fn send_handshake(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    match socket::send(socket, &[IoSlice::new(bytes)], Wait::Never) {
        Ok(sent) if sent == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WouldBlock.into()),
        Err(error) => Err(error),
    }
}

/// Receives available bytes, at most what fits. Never blocks, as all sockets of connections are non-blocking. 0 is the end of the stream.
pub(crate) fn receive(socket: BorrowedFd<'_>, vecs: &mut Vecs<'_>) -> io::Result<usize> {
    match vecs.slices_to_fill() {
        // The kernel takes less time for one run than for a list of them.
        [only] => Ok(recv(socket, &mut **only, RecvFlags::DONTWAIT)?.1),
        runs => Ok(readv(socket, runs)?),
    }
}

/// Discards up to `bytes` available bytes. Never blocks. 0 is the end of the stream.
pub(crate) fn discard(socket: BorrowedFd<'_>, bytes: usize) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: with MSG_TRUNC the kernel's TCP copies nothing, so the null pointer is never used.
    let got = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), bytes, flags) };
    usize::try_from(got).map_err(|_| io::Error::last_os_error())
}

/// Copies as many bytes as fit into the application's memory.
pub(crate) fn copy(bytes: &[u8], memory: MemSlice<'_>) {
    let mut rest = bytes;
    for run in limited(memory, bytes.len()) {
        let (now, later) = rest.split_at(run.len.min(rest.len()));
        // SAFETY: the run is memory of a living MD, at least `len` bytes long, that the application has offered for
        // writing; `bytes` is memory of the driver's own, so the two do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), run.address as *mut u8, now.len()) };
        rest = later;
    }
}

/// Adds the first `limit` bytes of `memory` to a checksum.
pub(crate) fn add_to_checksum(sum: &mut Checksum, memory: MemSlice<'_>, limit: usize) {
    for run in limited(memory, limit) {
        // SAFETY: the run is memory of a living MD, at least `len` bytes long and not empty, which the
        // application does not write to while the message is under way.
        sum.update(unsafe { std::slice::from_raw_parts(run.address as *const u8, run.len) });
    }
}

fn limited(memory: MemSlice<'_>, mut limit: usize) -> impl Iterator<Item = MemRange> {
    memory.map_while(move |run| {
        let len = run.len.min(limit);
        limit -= len;
        (len > 0).then_some(MemRange { address: run.address, len })
    })
}
