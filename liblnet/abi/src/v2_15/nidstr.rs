//! NIDs with addresses of 4 and 16 bytes as strings.

use super::nid::{read_id, read_nid};
use super::types::{lnet_nid, lnet_processid};
use crate::entry::{InConstString, helper};
use crate::nidstr::{_libcfs_next_nidstring, write_string};
use lnet_dlc::host_names::Names;
use lnet_wire::{AnyNid, Nid, Pid};
use std::ffi::{c_char, c_int};
use std::ptr::NonNull;

/// The size of a string in the headers of 2.15, `LNET_NIDSTR_SIZE`.
const NIDSTR_SIZE: usize = 64;

/// Writes a NID, such as 10.0.0.1@tcp1 or 2001:db8::1@tcp, into the n bytes of buf; returns buf. Writes <?> for a NID that stands for
/// any, for what is not a NID, and for NULL. The result is always terminated, and cut short where buf is too small. The signature is
/// liblnet's: c-abi does not have it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _libcfs_nidstr_r_2_15(
    nid: *const lnet_nid,
    buf: *mut c_char,
    n: usize,
) -> *mut c_char {
    // SAFETY: the NID is NULL or a variable of the program's, and `buf` NULL or `n` bytes of its, which the call may write.
    helper(buf, || unsafe {
        write_string(buf, n, AnyNid(read_nid(nid).ok().flatten()));
        buf
    })
}

/// Stores in *nid the NID that a string such as 10.0.0.1@tcp or 2001:db8::1@tcp names (tcp if there is no @). A host name may replace an
/// IP address; it is looked up by the system's resolver, for at most 5 s.
///
/// Returns 0; -EINVAL if it names none, with a NID that stands for any in *nid. The signature is liblnet's: c-abi does not have it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _libcfs_strnid_2_15(nid: *mut lnet_nid, str: InConstString<'_>) -> c_int {
    helper(-libc::EINVAL, || {
        let parsed = str.utf8_or(()).ok().and_then(|text| Names::new().nid(text).ok());
        // SAFETY: NULL, or a variable of the program's, which the call may write.
        unsafe { store(nid, parsed) };
        if parsed.is_some() { 0 } else { -libc::EINVAL }
    })
}

/// Does the same as libcfs_strnid, but accepts * for a NID that stands for any.
///
/// Returns 1; 0 if the string names none. The signature is liblnet's: c-abi does not have it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _libcfs_stranynid_2_15(nid: *mut lnet_nid, str: InConstString<'_>) -> c_int {
    helper(0, || {
        let parsed = match str.utf8_or(()).ok() {
            Some("*") => Some(None),
            text => text.and_then(|text| Names::new().nid(text).ok()).map(Some),
        };
        // SAFETY: NULL, or a variable of the program's, which the call may write.
        unsafe { store(nid, parsed.flatten()) };
        parsed.is_some().into()
    })
}

/// A process on a node, such as 12345-10.0.0.1@tcp, in a string of libcfs_next_nidstring: at most LNET_NIDSTR_SIZE
/// bytes with the terminator. The signature is liblnet's: c-abi does not have it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _libcfs_idstr_2_15(id: *mut lnet_processid) -> *mut c_char {
    let slot = _libcfs_next_nidstring();
    // SAFETY: the process ID is NULL or a variable of the program's; the slot has so many bytes.
    helper(slot, || unsafe {
        match read_id(id) {
            Ok(id) => {
                let nid = AnyNid(id.nid.to_nid().ok().flatten());
                write_string(slot, NIDSTR_SIZE, format_args!("{}-{nid}", Pid(id.pid)))
            }
            Err(_) => write_string(slot, NIDSTR_SIZE, AnyNid(None)),
        };
        slot
    })
}

/// # Safety
/// `to` is NULL, or valid for a write.
unsafe fn store(to: *mut lnet_nid, nid: Option<Nid>) {
    if let Some(to) = NonNull::new(to) {
        // SAFETY: checked for NULL; a variable of the calling program's, which is there until the C function returns and may be written.
        unsafe { to.write_unaligned(lnet_nid::from_nid(nid)) };
    }
}
