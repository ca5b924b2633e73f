//! Memory in several pieces (motr-net 8.1): sizes and allocation.

use super::memory::{m0_alloc, m0_alloc_aligned, m0_free};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

/// The lengths of pieces.
#[repr(C)]
#[derive(Debug)]
pub struct m0_vec {
    /// How many pieces.
    pub v_nr: u32,
    /// Their lengths.
    pub v_count: *mut u64,
}

/// Pieces of memory.
#[repr(C)]
#[derive(Debug)]
pub struct m0_bufvec {
    /// Their lengths.
    pub ov_vec: m0_vec,
    /// Their addresses.
    pub ov_buf: *mut *mut c_void,
}

impl m0_vec {
    /// The lengths.
    ///
    /// # Safety
    /// There are as many as it says, and nothing writes them meanwhile.
    pub unsafe fn counts(&self) -> &[u64] {
        if self.v_nr == 0 {
            return &[];
        }
        // SAFETY: by contract.
        unsafe { std::slice::from_raw_parts(self.v_count, self.v_nr as usize) }
    }
}

impl m0_bufvec {
    const EMPTY: Self =
        Self { ov_vec: m0_vec { v_nr: 0, v_count: ptr::null_mut() }, ov_buf: ptr::null_mut() };

    /// The addresses of the pieces.
    ///
    /// # Safety
    /// There are as many as it says, and nothing writes them meanwhile.
    pub unsafe fn addresses(&self) -> &[*mut c_void] {
        if self.ov_vec.v_nr == 0 {
            return &[];
        }
        // SAFETY: by contract.
        unsafe { std::slice::from_raw_parts(self.ov_buf, self.ov_vec.v_nr as usize) }
    }
}

/// How the memory of a vector is allocated.
#[derive(Clone, Copy, PartialEq)]
enum Pieces {
    /// Each by itself.
    Single,
    /// In one block.
    Packed,
}

/// Fills in a vector of `count` pieces of `size` bytes, at multiples of 2^`shift`.
///
/// # Safety
/// `vec` is the caller's to write.
unsafe fn allocate(vec: *mut m0_bufvec, count: u32, size: u64, shift: c_uint, pieces: Pieces) -> c_int {
    // SAFETY: by contract.
    unsafe { vec.write(m0_bufvec::EMPTY) };
    let Ok(length) = usize::try_from(size) else { return -libc::ENOMEM };
    if count == 0 || length == 0 {
        return -libc::EINVAL;
    }
    let number = count as usize;
    let counts = m0_alloc(number * size_of::<u64>()).cast::<u64>();
    let addresses = m0_alloc(number * size_of::<*mut c_void>()).cast::<*mut c_void>();
    // SAFETY: by contract; the arrays have so many elements, unless they are NULL.
    unsafe {
        vec.write(m0_bufvec { ov_vec: m0_vec { v_nr: count, v_count: counts }, ov_buf: addresses });
        if counts.is_null() || addresses.is_null() {
            release(vec, pieces);
            return -libc::ENOMEM;
        }
        std::slice::from_raw_parts_mut(counts, number).fill(size);
        let addresses = std::slice::from_raw_parts_mut(addresses, number);
        match pieces {
            Pieces::Single => {
                for address in addresses.iter_mut() {
                    *address = m0_alloc_aligned(length, shift);
                }
            }
            Pieces::Packed => {
                let block =
                    length.checked_mul(number).map_or(ptr::null_mut(), |all| m0_alloc_aligned(all, shift));
                for (index, address) in addresses.iter_mut().enumerate().filter(|_| !block.is_null()) {
                    *address = block.byte_add(index * length);
                }
            }
        }
        if addresses.iter().any(|address| address.is_null()) {
            release(vec, pieces);
            return -libc::ENOMEM;
        }
    }
    0
}

/// Frees a vector, also one that is filled in partly, and makes it zeros.
///
/// # Safety
/// It is zeros, or from `allocate` with the same pieces.
unsafe fn release(vec: *mut m0_bufvec, pieces: Pieces) {
    // SAFETY: by contract; NULL may be freed.
    unsafe {
        if !(*vec).ov_buf.is_null() {
            let addresses = (*vec).addresses();
            let blocks =
                if pieces == Pieces::Packed { &addresses[..addresses.len().min(1)] } else { addresses };
            blocks.iter().for_each(|address| m0_free(*address));
        }
        m0_free((*vec).ov_buf.cast());
        m0_free((*vec).ov_vec.v_count.cast());
        vec.write(m0_bufvec::EMPTY);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_vec_count(vec: *const m0_vec) -> u64 {
    // SAFETY: by contract.
    unsafe { (*vec).counts() }.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_alloc(bufvec: *mut m0_bufvec, num_segs: u32, seg_size: u64) -> c_int {
    // SAFETY: by contract.
    unsafe { allocate(bufvec, num_segs, seg_size, 0, Pieces::Single) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_free(bufvec: *mut m0_bufvec) {
    // SAFETY: by contract.
    unsafe { release(bufvec, Pieces::Single) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_alloc_aligned(
    bufvec: *mut m0_bufvec,
    num_segs: u32,
    seg_size: u64,
    shift: c_uint,
) -> c_int {
    // SAFETY: by contract.
    unsafe { allocate(bufvec, num_segs, seg_size, shift, Pieces::Single) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_free_aligned(bufvec: *mut m0_bufvec, _shift: c_uint) {
    // SAFETY: by contract.
    unsafe { release(bufvec, Pieces::Single) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_alloc_aligned_packed(
    bufvec: *mut m0_bufvec,
    num_segs: u32,
    seg_size: u64,
    shift: c_uint,
) -> c_int {
    // SAFETY: by contract.
    unsafe { allocate(bufvec, num_segs, seg_size, shift, Pieces::Packed) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bufvec_free_aligned_packed(bufvec: *mut m0_bufvec, _shift: c_uint) {
    // SAFETY: by contract.
    unsafe { release(bufvec, Pieces::Packed) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::MaybeUninit;

    #[test]
    fn pieces_lie_at_the_multiples_asked_for_and_packed_ones_behind_each_other() {
        for (number, size, shift) in [(1, 1, 0), (4, 100, 3), (256, 4096, 12), (3, 5000, 12)] {
            for pieces in [Pieces::Single, Pieces::Packed] {
                let mut vec = MaybeUninit::uninit();
                // SAFETY: filled in by `allocate`.
                unsafe {
                    assert_eq!(allocate(vec.as_mut_ptr(), number, size, shift, pieces), 0);
                    let vec = vec.assume_init_mut();
                    assert_eq!(m0_vec_count(&raw const vec.ov_vec), u64::from(number) * size);
                    let addresses: Vec<usize> = vec.addresses().iter().map(|it| it.addr()).collect();
                    assert_eq!(addresses.len(), number as usize);
                    assert_eq!(addresses[0] % (1 << shift), 0);
                    match pieces {
                        Pieces::Single => assert!(addresses.iter().all(|it| it % (1 << shift) == 0)),
                        Pieces::Packed => {
                            assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] == size as usize));
                        }
                    }
                    release(vec, pieces);
                    assert!(vec.ov_vec.v_nr == 0 && vec.ov_buf.is_null());
                    release(vec, pieces);
                }
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
                let mut vec = MaybeUninit::uninit();
                // SAFETY: filled in by `allocate`.
                unsafe {
                    assert_eq!(
                        allocate(vec.as_mut_ptr(), number, size, shift, pieces),
                        expected,
                        "{number} {size}"
                    );
                    assert!(vec.assume_init().ov_buf.is_null());
                }
            }
        }
    }
}
