//! Places in memory of several pieces, and copies from there to there (motr-net 8.4).

use super::vec::{m0_bufvec, m0_vec};
use crate::contract::require;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;

/// A place in a vector.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct m0_vec_cursor {
    /// The vector.
    pub vc_vec: *const m0_vec,
    /// The piece; as many as there are: the end.
    pub vc_seg: u32,
    /// The bytes of the piece that lie before the place; fewer than it has.
    pub vc_offset: u64,
}

/// A place in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct m0_bufvec_cursor {
    /// The place in the lengths, which are the first field of an `m0_bufvec`.
    pub bc_vc: m0_vec_cursor,
}

/// A place: a piece with bytes left in it, or the number of pieces for the end; and the bytes before it in the piece.
type Place = (usize, u64);

/// `count` bytes further on, past empty pieces too.
fn moved(counts: &[u64], (mut piece, mut offset): Place, mut count: u64) -> Place {
    while let Some(length) = counts.get(piece) {
        let left = length.saturating_sub(offset);
        if count < left {
            return (piece, offset + count);
        }
        count -= left;
        (piece, offset) = (piece + 1, 0);
    }
    (counts.len(), 0)
}

impl m0_bufvec_cursor {
    /// # Safety
    /// The cursor is initialised, and its vector is valid.
    unsafe fn counts(&self) -> &[u64] {
        // SAFETY: by contract.
        unsafe { (*self.bc_vc.vc_vec).counts() }
    }

    /// The bytes left in its piece; `None`: it is at the end.
    ///
    /// # Safety
    /// As `counts`.
    unsafe fn left(&self) -> Option<u64> {
        // SAFETY: by contract.
        unsafe { self.counts() }.get(self.bc_vc.vc_seg as usize).map(|length| length - self.bc_vc.vc_offset)
    }

    /// # Safety
    /// As `counts`, and it is not at the end.
    unsafe fn address(&self) -> *mut c_void {
        const { assert!(offset_of!(m0_bufvec, ov_vec) == 0) };
        let vec = self.bc_vc.vc_vec.cast::<m0_bufvec>();
        // SAFETY: by contract; the lengths are the first field of the vector, and the place is in one of its pieces.
        unsafe { (*vec).addresses()[self.bc_vc.vc_seg as usize].byte_add(self.bc_vc.vc_offset as usize) }
    }

    /// Moves it; true: it is at the end.
    ///
    /// # Safety
    /// As `counts`.
    unsafe fn advance(&mut self, count: u64) -> bool {
        // SAFETY: by contract.
        let counts = unsafe { self.counts() };
        let (piece, offset) = moved(counts, (self.bc_vc.vc_seg as usize, self.bc_vc.vc_offset), count);
        let is_end = piece == counts.len();
        (self.bc_vc.vc_seg, self.bc_vc.vc_offset) = (piece as u32, offset);
        is_end
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_cursor_init(cur: *mut m0_bufvec_cursor, bvec: *const m0_bufvec) {
    let start = m0_vec_cursor { vc_vec: bvec.cast(), vc_seg: 0, vc_offset: 0 };
    // SAFETY: by contract the caller's to write, and a valid vector.
    unsafe {
        cur.write(m0_bufvec_cursor { bc_vc: start });
        (*cur).advance(0);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_cursor_move(cur: *mut m0_bufvec_cursor, count: u64) -> bool {
    // SAFETY: by contract.
    unsafe { (*cur).advance(count) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_cursor_step(cur: *const m0_bufvec_cursor) -> u64 {
    // SAFETY: by contract.
    let left = unsafe { (*cur).left() };
    require!("m0_bufvec_cursor_step", left.is_some(), "the cursor is at the end");
    left.unwrap_or(0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_cursor_addr(cur: *mut m0_bufvec_cursor) -> *mut c_void {
    // SAFETY: by contract.
    unsafe {
        require!("m0_bufvec_cursor_addr", (*cur).left().is_some(), "the cursor is at the end");
        (*cur).address()
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_cursor_copy(
    dcur: *mut m0_bufvec_cursor,
    scur: *mut m0_bufvec_cursor,
    num_bytes: u64,
) -> u64 {
    let mut copied = 0;
    // SAFETY: by contract the pieces of both are memory of the caller's; they may overlap.
    unsafe {
        while copied < num_bytes
            && let (Some(room), Some(left)) = ((*dcur).left(), (*scur).left())
        {
            let count = room.min(left).min(num_bytes - copied);
            ptr::copy((*scur).address().cast::<u8>(), (*dcur).address().cast::<u8>(), count as usize);
            (*dcur).advance(count);
            (*scur).advance(count);
            copied += count;
        }
    }
    copied
}

/// A cursor over plain memory, for `body`.
fn over_memory<T>(data: *mut c_void, length: u64, body: impl FnOnce(*mut m0_bufvec_cursor) -> T) -> T {
    let (mut data, mut length) = (data, length);
    let vec = m0_bufvec { ov_vec: m0_vec { v_nr: 1, v_count: &raw mut length }, ov_buf: &raw mut data };
    let start = m0_vec_cursor { vc_vec: (&raw const vec).cast(), vc_seg: 0, vc_offset: 0 };
    let mut cursor = m0_bufvec_cursor { bc_vc: start };
    // SAFETY: a valid vector of one piece.
    unsafe { cursor.advance(0) };
    body(&raw mut cursor)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_cursor_copyto(
    dcur: *mut m0_bufvec_cursor,
    sdata: *mut c_void,
    num_bytes: u64,
) -> u64 {
    // SAFETY: by contract.
    over_memory(sdata, num_bytes, |scur| unsafe { m0_bufvec_cursor_copy(dcur, scur, num_bytes) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_cursor_copyfrom(
    scur: *mut m0_bufvec_cursor,
    ddata: *mut c_void,
    num_bytes: u64,
) -> u64 {
    // SAFETY: by contract.
    over_memory(ddata, num_bytes, |dcur| unsafe { m0_bufvec_cursor_copy(dcur, scur, num_bytes) })
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
