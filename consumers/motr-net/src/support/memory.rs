//! Allocation of memory (motr-net 8.1), by the C library, so that a program may free it with either.

use std::ffi::{c_uint, c_void};
use std::ptr;

/// Allocates `size` zeroed bytes, at least one; NULL if there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn m0_alloc(size: usize) -> *mut c_void {
    // SAFETY: has no preconditions.
    unsafe { libc::calloc(1, size.max(1)) }
}

/// # Safety
/// `data` is NULL, or memory of one of the functions of this file, which is not in use any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_free(data: *mut c_void) {
    // SAFETY: NULL, or the C library's memory, which the caller gives up.
    unsafe { libc::free(data) };
}

/// Allocates `size` zeroed bytes at a multiple of 2^`shift`; NULL if there is no memory, or no such multiple.
#[unsafe(no_mangle)]
pub extern "C" fn m0_alloc_aligned(size: usize, shift: c_uint) -> *mut c_void {
    let mut memory = ptr::null_mut();
    let Some(alignment) = 1_usize.checked_shl(shift) else { return memory };
    let alignment = alignment.max(size_of::<*mut c_void>());
    // SAFETY: `memory` is there to be written, and the alignment a power of 2 of at least a pointer.
    if unsafe { libc::posix_memalign(&raw mut memory, alignment, size.max(1)) } != 0 {
        return ptr::null_mut();
    }
    // SAFETY: as many bytes were just allocated, and nobody else has them yet.
    unsafe { memory.cast::<u8>().write_bytes(0, size) };
    memory
}

/// # Safety
/// The contract is that of [`m0_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_free_aligned(data: *mut c_void, _size: usize, _shift: c_uint) {
    // SAFETY: the same contract.
    unsafe { m0_free(data) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zeros_at_the_multiple_asked_for() {
        for (size, shift) in [(1, 0), (100, 3), (4096, 12), (5000, 12), (0, 6), (64, 20)] {
            let memory = m0_alloc_aligned(size, shift);
            assert!(!memory.is_null() && memory.addr().is_multiple_of(1 << shift), "{size} {shift}");
            // SAFETY: as many bytes were allocated.
            unsafe {
                assert!(std::slice::from_raw_parts(memory.cast::<u8>(), size).iter().all(|byte| *byte == 0));
                m0_free_aligned(memory, size, shift);
                let memory = m0_alloc(size);
                assert!(std::slice::from_raw_parts(memory.cast::<u8>(), size).iter().all(|byte| *byte == 0));
                m0_free(memory);
            }
        }
        assert!(m0_alloc_aligned(1, 64).is_null() && m0_alloc_aligned(1, 1000).is_null());
        assert!(m0_alloc(usize::MAX).is_null());
    }
}
