//! Descriptors of passive buffers, as bytes (motr-net 1.6). Their memory is the program's, to be freed by `m0_net_desc_free`.

use super::types::m0_net_buf_desc;
use crate::contract::require;
use crate::errno::Errno;
use crate::support::{m0_alloc, m0_free};
use std::ffi::c_int;
use std::ptr;

/// A descriptor of these bytes.
pub(crate) fn allocate(bytes: &[u8]) -> Result<m0_net_buf_desc, Errno> {
    let len = u32::try_from(bytes.len()).map_err(|_| Errno::TOO_BIG)?;
    let data = m0_alloc(bytes.len()).cast::<u8>();
    if data.is_null() {
        return Err(Errno::NO_MEMORY);
    }
    // SAFETY: new memory of this length.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len()) };
    Ok(m0_net_buf_desc { nbd_len: len, nbd_data: data })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_desc_copy(from: *const m0_net_buf_desc, to: *mut m0_net_buf_desc) -> c_int {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        if from.is_null() || to.is_null() || (*from).nbd_len == 0 || (*from).nbd_data.is_null() {
            return Errno::INVALID.to_c();
        }
        let bytes = std::slice::from_raw_parts((*from).nbd_data, (*from).nbd_len as usize);
        match allocate(bytes) {
            Ok(copy) => to.write(copy),
            Err(errno) => return errno.to_c(),
        }
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_desc_free(desc: *mut m0_net_buf_desc) {
    require!("m0_net_desc_free", !desc.is_null(), "there is no descriptor");
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        m0_free((*desc).nbd_data.cast());
        desc.write(m0_net_buf_desc { nbd_len: 0, nbd_data: ptr::null_mut() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_independent_and_can_be_freed_twice() {
        let mut from = allocate(b"opaque").unwrap();
        let mut to = m0_net_buf_desc { nbd_len: 0, nbd_data: ptr::null_mut() };
        // SAFETY: descriptors of this test.
        unsafe {
            assert_eq!(m0_net_desc_copy(&raw const to, &raw mut from), -libc::EINVAL);
            assert_eq!(m0_net_desc_copy(&raw const from, &raw mut to), 0);
            m0_net_desc_free(&raw mut from);
            assert_eq!(std::slice::from_raw_parts(to.nbd_data, to.nbd_len as usize), b"opaque");
            m0_net_desc_free(&raw mut to);
            m0_net_desc_free(&raw mut to);
        }
        assert!(to.nbd_len == 0 && to.nbd_data.is_null());
    }
}
