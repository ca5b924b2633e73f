//! Memory in several pieces (motr-net 8.1): sizes and allocation.

use super::memory::{m0_alloc, m0_alloc_aligned, m0_free};
use crate::object::Object;
use lnet_api::c_pointer::Out;
use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

/// The lengths of the pieces of memory.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_vec {
    /// The number of pieces.
    pub v_nr: Cell<u32>,
    /// The lengths of the pieces.
    pub v_count: Cell<Object<u64>>,
}

/// Memory in several pieces.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_bufvec {
    /// The lengths of the pieces.
    pub ov_vec: m0_vec,
    /// The addresses of the pieces.
    pub ov_buf: Cell<Object<*mut c_void>>,
}

impl Object<m0_vec> {
    /// The lengths of the pieces.
    pub(crate) fn counts(&self) -> &[Cell<u64>] {
        match self.v_count.get().get() {
            // SAFETY: an initialised vector has so many lengths (`Object`), which stay until it is freed.
            Some(counts) => unsafe {
                std::slice::from_raw_parts(counts.as_ptr().cast(), self.v_nr.get() as usize)
            },
            None => &[],
        }
    }
}

impl Object<m0_bufvec> {
    /// The lengths of the pieces, as a vector.
    pub(crate) fn lengths(self) -> Object<m0_vec> {
        self.part(|vec| &vec.ov_vec)
    }

    /// The addresses of the pieces.
    pub(crate) fn addresses(&self) -> &[Cell<*mut c_void>] {
        match self.ov_buf.get().get() {
            // SAFETY: an initialised vector has as many addresses as lengths (`Object`), which stay until it is freed.
            Some(addresses) => unsafe {
                std::slice::from_raw_parts(addresses.as_ptr().cast(), self.ov_vec.v_nr.get() as usize)
            },
            None => &[],
        }
    }
}

/// The way in which the memory of a vector is allocated.
#[derive(Clone, Copy, PartialEq)]
enum Pieces {
    /// Each piece is allocated separately.
    Single,
    /// All pieces are in one block.
    Packed,
}

/// Allocates `count` zeroed elements; NULL if there is no memory.
fn allocate_array<T>(count: usize) -> Object<T> {
    // SAFETY: new memory of so many elements, which stays until it is freed with the vector.
    unsafe { Object::new(m0_alloc(count * size_of::<T>()).cast()) }
}

/// Fills in a vector of `count` pieces of `size` bytes, at multiples of 2^`shift`.
fn allocate(vec: Out<'_, m0_bufvec>, count: u32, size: u64, shift: c_uint, pieces: Pieces) -> c_int {
    let vec = Object::init(vec, m0_bufvec::default());
    let Ok(length) = usize::try_from(size) else { return -libc::ENOMEM };
    if count == 0 || length == 0 {
        return -libc::EINVAL;
    }
    let number = count as usize;
    vec.ov_vec.v_nr.set(count);
    vec.ov_vec.v_count.set(allocate_array(number));
    vec.ov_buf.set(allocate_array(number));
    vec.lengths().counts().iter().for_each(|count| count.set(size));
    match pieces {
        Pieces::Single => {
            vec.addresses().iter().for_each(|address| address.set(m0_alloc_aligned(length, shift)));
        }
        Pieces::Packed => {
            let block =
                length.checked_mul(number).map_or(ptr::null_mut(), |all| m0_alloc_aligned(all, shift));
            for (index, address) in vec.addresses().iter().enumerate().filter(|_| !block.is_null()) {
                address.set(block.wrapping_byte_add(index * length));
            }
        }
    }
    let has_all = [vec.lengths().counts().len(), vec.addresses().len()] == [number; 2]
        && vec.addresses().iter().all(|address| !address.get().is_null());
    if !has_all {
        // SAFETY: filled in above, as far as there was memory.
        unsafe { release(vec, pieces) };
        return -libc::ENOMEM;
    }
    0
}

/// Frees a vector, also a partly allocated one, and zeroes it.
///
/// # Safety
/// The vector is zeroed, or from [`allocate`] with the same `pieces`; its memory is not in use any more.
unsafe fn release(vec: Object<m0_bufvec>, pieces: Pieces) {
    let all = vec.addresses();
    let blocks = if pieces == Pieces::Packed { &all[..all.len().min(1)] } else { all };
    let arrays = [vec.ov_buf.get().as_ptr().cast(), vec.ov_vec.v_count.get().as_ptr().cast()];
    for block in blocks.iter().map(Cell::get).chain(arrays) {
        // SAFETY: memory of `allocate`, which the caller gives up, or NULL; the vector is zeros when this returns.
        unsafe { m0_free(block) };
    }
    vec.ov_vec.v_nr.set(0);
    vec.ov_vec.v_count.take();
    vec.ov_buf.take();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_vec_count(vec: Object<m0_vec>) -> u64 {
    vec.counts().iter().fold(0, |sum, count| sum.saturating_add(count.get()))
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bufvec_alloc(bufvec: Out<'_, m0_bufvec>, num_segs: u32, seg_size: u64) -> c_int {
    allocate(bufvec, num_segs, seg_size, 0, Pieces::Single)
}

/// # Safety
/// The contract is that of [`release`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_free(bufvec: Object<m0_bufvec>) {
    // SAFETY: the same contract.
    unsafe { release(bufvec, Pieces::Single) };
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bufvec_alloc_aligned(
    bufvec: Out<'_, m0_bufvec>,
    num_segs: u32,
    seg_size: u64,
    shift: c_uint,
) -> c_int {
    allocate(bufvec, num_segs, seg_size, shift, Pieces::Single)
}

/// # Safety
/// The contract is that of [`release`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_free_aligned(bufvec: Object<m0_bufvec>, _shift: c_uint) {
    // SAFETY: the same contract.
    unsafe { release(bufvec, Pieces::Single) };
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bufvec_alloc_aligned_packed(
    bufvec: Out<'_, m0_bufvec>,
    num_segs: u32,
    seg_size: u64,
    shift: c_uint,
) -> c_int {
    allocate(bufvec, num_segs, seg_size, shift, Pieces::Packed)
}

/// # Safety
/// The contract is that of [`release`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_free_aligned_packed(bufvec: Object<m0_bufvec>, _shift: c_uint) {
    // SAFETY: the same contract.
    unsafe { release(bufvec, Pieces::Packed) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_lie_at_the_multiples_asked_for_and_packed_ones_behind_each_other() {
        for (number, size, shift) in [(1, 1, 0), (4, 100, 3), (256, 4096, 12), (3, 5000, 12)] {
            for pieces in [Pieces::Single, Pieces::Packed] {
                let vec = m0_bufvec::default();
                assert_eq!(allocate(Object::memory_of_test(&vec), number, size, shift, pieces), 0);
                let vec = Object::of_test(&vec);
                assert_eq!(m0_vec_count(vec.lengths()), u64::from(number) * size);
                let addresses: Vec<usize> = vec.addresses().iter().map(|it| it.get().addr()).collect();
                assert_eq!(addresses.len(), number as usize);
                assert_eq!(addresses[0] % (1 << shift), 0);
                match pieces {
                    Pieces::Single => assert!(addresses.iter().all(|it| it % (1 << shift) == 0)),
                    Pieces::Packed => {
                        assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] == size as usize));
                    }
                }
                // SAFETY: the vector of above, and then zeros.
                unsafe { release(vec, pieces) };
                assert!(vec.ov_vec.v_nr.get() == 0 && vec.ov_buf.get().is_null());
                // SAFETY: the same.
                unsafe { release(vec, pieces) };
            }
        }
    }

    #[test]
    fn a_vector_that_cannot_be_allocated_is_zeros() {
        let table = [
            (0, 1, 0, -libc::EINVAL),
            (1, 0, 0, -libc::EINVAL),
            (2, u64::MAX, 0, -libc::ENOMEM),
            (2, u64::MAX / 2, 12, -libc::ENOMEM),
            (1, 1, 99, -libc::ENOMEM),
        ];
        for (number, size, shift, expected) in table {
            for pieces in [Pieces::Single, Pieces::Packed] {
                let vec = m0_bufvec::default();
                let memory = Object::memory_of_test(&vec);
                assert_eq!(allocate(memory, number, size, shift, pieces), expected, "{number} {size}");
                assert!(vec.ov_buf.get().is_null());
            }
        }
    }
}
