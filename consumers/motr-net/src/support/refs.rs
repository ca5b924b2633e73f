//! Reference counts (motr-net 8.1).

use super::atomic::m0_atomic64;
use crate::contract::require;
use crate::object::Object;
use lnet_api::c_pointer::Out;
use std::cell::Cell;
use std::ffi::c_int;

/// A reference count, and the function that releases the object when it falls to 0.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_ref {
    /// The number of references.
    pub ref_cnt: m0_atomic64,
    /// The function that is called when no reference is left.
    pub release: Cell<Option<unsafe extern "C" fn(Object<Self>)>>,
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_ref_init(
    reference: Out<'_, m0_ref>,
    init_num: c_int,
    release: Option<unsafe extern "C" fn(Object<m0_ref>)>,
) {
    let reference =
        Object::init(reference, m0_ref { release: Cell::new(release), ref_cnt: m0_atomic64::default() });
    reference.ref_cnt.set(i64::from(init_num));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_ref_get(reference: Object<m0_ref>) {
    let count = reference.ref_cnt.add_return(1);
    require!("m0_ref_get", count > 1, "nobody has a reference");
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_ref_put(reference: Object<m0_ref>) {
    // The function is read before another thread may release the object.
    let (release, count) = (reference.release.get(), reference.ref_cnt.add_return(-1));
    require!("m0_ref_put", count >= 0, "nobody has a reference");
    if count == 0
        && let Some(release) = release
    {
        // SAFETY: what `m0_ref_init` was given for this object, called once: the count fell to 0, so that nobody has a reference.
        unsafe { release(reference) };
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_ref_read(reference: Object<m0_ref>) -> i64 {
    reference.ref_cnt.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn released(reference: Object<m0_ref>) {
        reference.ref_cnt.set(-100);
    }

    #[test]
    fn the_last_reference_that_is_given_back_releases() {
        let reference = m0_ref::default();
        m0_ref_init(Object::memory_of_test(&reference), 1, Some(released));
        let reference = Object::of_test(&reference);
        m0_ref_get(reference);
        assert_eq!(m0_ref_read(reference), 2);
        m0_ref_put(reference);
        assert_eq!(m0_ref_read(reference), 1);
        m0_ref_put(reference);
        assert_eq!(m0_ref_read(reference), -100);
    }
}
