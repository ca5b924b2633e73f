//! Cursors in memory of several pieces, and copying between them (motr-net 8.4).

use super::vec::{m0_bufvec, m0_vec};
use crate::contract::require;
use crate::object::Object;
use lnet_api::c_pointer::Out;
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;

/// A cursor in a vector of lengths.
#[repr(C)]
#[derive(Clone, Debug, Default)]
pub struct m0_vec_cursor {
    /// The vector of lengths.
    pub vc_vec: Cell<Object<m0_vec>>,
    /// The index of the piece; the number of pieces at the end.
    pub vc_seg: Cell<u32>,
    /// The bytes of the piece before the cursor; fewer than the piece has.
    pub vc_offset: Cell<u64>,
}

/// A cursor in memory of several pieces.
#[repr(C)]
#[derive(Clone, Debug, Default)]
pub struct m0_bufvec_cursor {
    /// The cursor in the lengths, which are the first field of an `m0_bufvec`.
    pub bc_vc: m0_vec_cursor,
}

/// A position: the index of a piece with bytes left, or the number of pieces at the end; and the bytes before the position in
/// the piece.
type Place = (usize, u64);

/// The position `count` bytes further on; empty pieces are skipped.
fn moved(counts: &[Cell<u64>], (mut piece, mut offset): Place, mut count: u64) -> Place {
    while let Some(length) = counts.get(piece) {
        let left = length.get().saturating_sub(offset);
        if count < left {
            return (piece, offset + count);
        }
        count -= left;
        (piece, offset) = (piece + 1, 0);
    }
    (counts.len(), 0)
}

impl m0_bufvec_cursor {
    /// A cursor at the start of a vector.
    fn start_of(vector: Object<m0_bufvec>) -> Self {
        let place = m0_vec_cursor { vc_vec: Cell::new(vector.lengths()), ..m0_vec_cursor::default() };
        Self { bc_vc: place }
    }
}

impl Object<m0_bufvec_cursor> {
    /// The index of the piece.
    fn piece(self) -> usize {
        self.bc_vc.vc_seg.get() as usize
    }

    /// The bytes left in the piece; `None` at the end.
    fn left(self) -> Option<u64> {
        let length = self.bc_vc.vc_vec.get().counts().get(self.piece())?.get();
        Some(length - self.bc_vc.vc_offset.get())
    }

    /// The address of the position, which is not at the end.
    fn address(self) -> *mut c_void {
        // SAFETY: the lengths of a cursor are that field of an `m0_bufvec` (`Object`).
        let vector: Object<m0_bufvec> =
            unsafe { self.bc_vc.vc_vec.get().container(offset_of!(m0_bufvec, ov_vec)) };
        vector.addresses()[self.piece()].get().wrapping_byte_add(self.bc_vc.vc_offset.get() as usize)
    }

    /// Moves the cursor; returns whether it is at the end.
    fn advance(self, count: u64) -> bool {
        let lengths = self.bc_vc.vc_vec.get();
        let counts = lengths.counts();
        let (piece, offset) = moved(counts, (self.piece(), self.bc_vc.vc_offset.get()), count);
        self.bc_vc.vc_seg.set(piece as u32);
        self.bc_vc.vc_offset.set(offset);
        piece == counts.len()
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bufvec_cursor_init(cur: Out<'_, m0_bufvec_cursor>, bvec: Object<m0_bufvec>) {
    Object::init(cur, m0_bufvec_cursor::start_of(bvec)).advance(0);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bufvec_cursor_move(cur: Object<m0_bufvec_cursor>, count: u64) -> bool {
    cur.advance(count)
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bufvec_cursor_step(cur: Object<m0_bufvec_cursor>) -> u64 {
    let left = cur.left();
    require!("m0_bufvec_cursor_step", left.is_some(), "the cursor is at the end");
    left.unwrap_or(0)
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bufvec_cursor_addr(cur: Object<m0_bufvec_cursor>) -> *mut c_void {
    require!("m0_bufvec_cursor_addr", cur.left().is_some(), "the cursor is at the end");
    cur.address()
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bufvec_cursor_copy(
    dcur: Object<m0_bufvec_cursor>,
    scur: Object<m0_bufvec_cursor>,
    num_bytes: u64,
) -> u64 {
    let mut copied = 0;
    while copied < num_bytes
        && let (Some(room), Some(left)) = (dcur.left(), scur.left())
    {
        let count = room.min(left).min(num_bytes - copied);
        let (from, to) = (scur.address().cast::<u8>(), dcur.address().cast::<u8>());
        // SAFETY: so many bytes are left in the piece of either cursor, which is the program's memory and its own during the call
        // (`lib/vec.h`); the two may overlap.
        unsafe { ptr::copy(from, to, count as usize) };
        dcur.advance(count);
        scur.advance(count);
        copied += count;
    }
    copied
}

/// Calls `body` with a cursor over plain memory of `length` bytes, which `body` may read or write through it.
fn over_memory<T>(data: *mut c_void, length: u64, body: impl FnOnce(Object<m0_bufvec_cursor>) -> T) -> T {
    let (mut data, mut length) = (data, length);
    let mut vector = m0_bufvec::default();
    vector.ov_vec.v_nr.set(1);
    // SAFETY: one length and one address, which stay until `body` has returned, and so do the vector and the cursor.
    let vector = unsafe {
        vector.ov_vec.v_count.set(Object::new(&raw mut length));
        vector.ov_buf.set(Object::new(&raw mut data));
        Object::new(&raw mut vector)
    };
    let mut cursor = m0_bufvec_cursor::start_of(vector);
    // SAFETY: the same.
    let cursor = unsafe { Object::new(&raw mut cursor) };
    cursor.advance(0);
    body(cursor)
}

/// # Safety
/// `sdata` has `num_bytes` bytes, which do not change during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_cursor_copyto(
    dcur: Object<m0_bufvec_cursor>,
    sdata: *mut c_void,
    num_bytes: u64,
) -> u64 {
    over_memory(sdata, num_bytes, |scur| m0_bufvec_cursor_copy(dcur, scur, num_bytes))
}

/// # Safety
/// `ddata` has `num_bytes` bytes, which no other thread uses during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_cursor_copyfrom(
    scur: Object<m0_bufvec_cursor>,
    ddata: *mut c_void,
    num_bytes: u64,
) -> u64 {
    over_memory(ddata, num_bytes, |dcur| m0_bufvec_cursor_copy(dcur, scur, num_bytes))
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
