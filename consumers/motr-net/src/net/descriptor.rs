//! Descriptors of passive buffers, as bytes (motr-net 1.6). The program owns their memory and frees it by `m0_net_desc_free`.

use super::types::m0_net_buf_desc;
use crate::Errno;
use crate::contract::violated;
use crate::object::Object;
use crate::support::{m0_alloc, m0_free};
use lnet_api::c_pointer::{In, InOut, Out};
use std::ffi::c_int;
use std::ptr;

/// A descriptor with these bytes, in new memory.
pub(crate) fn allocate(bytes: &[u8]) -> Result<m0_net_buf_desc, Errno> {
    let len = u32::try_from(bytes.len()).map_err(|_| Errno::FileTooBig)?;
    // SAFETY: new memory of so many bytes, which stays until `free`.
    let data = unsafe { Object::new(m0_alloc(bytes.len()).cast::<u8>()) }.get().ok_or(Errno::NoMemory)?;
    // SAFETY: so many bytes were just allocated, and nobody else has them yet.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data.as_ptr(), bytes.len()) };
    Ok(m0_net_buf_desc { nbd_len: len, nbd_data: data })
}

/// Frees a descriptor.
///
/// # Safety
/// The contract is that of [`m0_net_desc_free`].
pub(super) unsafe fn free(descriptor: m0_net_buf_desc) {
    // SAFETY: NULL, or memory of `m0_alloc`, which the caller gives up.
    unsafe { m0_free(descriptor.nbd_data.as_ptr().cast()) };
}

impl m0_net_buf_desc {
    /// The bytes of the descriptor; none if it is empty.
    ///
    /// # Safety
    /// Unless `nbd_data` is NULL, it has `nbd_len` bytes, which do not change as long as the result is used.
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        match self.nbd_data.get() {
            // SAFETY: not NULL, so it has so many bytes, unchanged, for which the caller vouches.
            Some(data) => unsafe { std::slice::from_raw_parts(data.as_ptr(), self.nbd_len as usize) },
            None => &[],
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_desc_copy(from: In<'_, m0_net_buf_desc>, mut to: Out<'_, m0_net_buf_desc>) -> c_int {
    let copied = from.or(Errno::Invalid).and_then(|from| {
        // SAFETY: a descriptor of the program's has as many bytes as it says, unchanged during the call (`net/net.h`).
        let bytes = unsafe { from.bytes() };
        if bytes.is_empty() || to.is_null() {
            return Err(Errno::Invalid);
        }
        to.store(allocate(bytes)?, Errno::Invalid)
    });
    Errno::to_c_result(copied)
}

/// # Safety
/// The data is NULL, or memory of [`m0_alloc`], which nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_desc_free(desc: InOut<'_, m0_net_buf_desc>) {
    match desc.or(()) {
        // SAFETY: the same contract.
        Ok(desc) => unsafe { free(std::mem::take(desc)) },
        Err(()) => violated("m0_net_desc_free", "desc", format_args!("there is no descriptor")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_independent_and_can_be_freed_twice() {
        let mut from = allocate(b"opaque").unwrap();
        let mut to = m0_net_buf_desc::default();
        // SAFETY: descriptors of this test.
        unsafe {
            assert_eq!(m0_net_desc_copy(In::new(&raw const to), Out::new(&raw mut from)), -libc::EINVAL);
            assert_eq!(m0_net_desc_copy(In::new(&raw const from), Out::new(&raw mut to)), 0);
            m0_net_desc_free(InOut::new(&raw mut from));
            assert_eq!(to.bytes(), b"opaque");
            m0_net_desc_free(InOut::new(&raw mut to));
            m0_net_desc_free(InOut::new(&raw mut to));
        }
        assert!(to.nbd_len == 0 && to.nbd_data.is_null());
    }
}
