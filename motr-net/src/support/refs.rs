//! Counts of references (motr-net 8.1).

use super::atomic::m0_atomic64;
use crate::contract::require;
use std::ffi::c_int;

/// A count, and what releases the object when it falls to 0.
#[repr(C)]
#[derive(Debug)]
pub struct m0_ref {
    /// The references.
    pub ref_cnt: m0_atomic64,
    /// Called when there are none left.
    pub release: Option<unsafe extern "C" fn(*mut Self)>,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_ref_init(
    reference: *mut m0_ref,
    init_num: c_int,
    release: Option<unsafe extern "C" fn(*mut m0_ref)>,
) {
    // SAFETY: by contract the caller's to write.
    unsafe { reference.write(m0_ref { ref_cnt: m0_atomic64::default(), release }) };
    // SAFETY: just written.
    unsafe { (*reference).ref_cnt.set(i64::from(init_num)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_ref_get(reference: *mut m0_ref) {
    // SAFETY: by contract.
    let count = unsafe { (*reference).ref_cnt.add_return(1) };
    require!("m0_ref_get", count > 1, "nobody has a reference");
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_ref_put(reference: *mut m0_ref) {
    // SAFETY: by contract; what releases it is read before another thread may do so.
    let (release, count) = unsafe { ((*reference).release, (*reference).ref_cnt.add_return(-1)) };
    require!("m0_ref_put", count >= 0, "nobody has a reference");
    if count == 0
        && let Some(release) = release
    {
        // SAFETY: by contract; nobody has a reference any more.
        unsafe { release(reference) };
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_ref_read(reference: *const m0_ref) -> i64 {
    // SAFETY: by contract.
    unsafe { (*reference).ref_cnt.get() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::MaybeUninit;

    unsafe extern "C" fn released(reference: *mut m0_ref) {
        // SAFETY: the one of the test.
        unsafe { (*reference).ref_cnt.set(-100) };
    }

    #[test]
    fn the_last_reference_that_is_given_back_releases() {
        let mut reference = MaybeUninit::<m0_ref>::uninit();
        let reference = reference.as_mut_ptr();
        // SAFETY: it lives to the end of the test.
        unsafe {
            m0_ref_init(reference, 1, Some(released));
            m0_ref_get(reference);
            assert_eq!(m0_ref_read(reference), 2);
            m0_ref_put(reference);
            assert_eq!(m0_ref_read(reference), 1);
            m0_ref_put(reference);
            assert_eq!(m0_ref_read(reference), -100);
        }
    }
}
