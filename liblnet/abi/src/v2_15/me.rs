//! Match entries, which are pointers from 2.15 on.

use super::nid::read_id;
use super::types::{lnet_me, lnet_processid};
use crate::backend;
use crate::entry::{FromErrno, entry};
use crate::me::{auto_unlink, position};
use crate::types::{__u64, EnumInsPos, EnumUnlink};
use lnet_attach::record::MatchEntry;
use lnet_core::{Errno, MeHandle};
use std::ffi::c_uint;
use std::ptr;

/// The largest errno that a pointer can express, as `IS_ERR` has it.
const MAX_ERRNO: usize = 4095;

// A pointer to a match entry is its handle.
const _: () = assert!(size_of::<usize>() == size_of::<u64>());

/// Adds a match entry to a portal. It matches nothing until it has a memory descriptor, not even the PUTs that wait
/// on a lazy portal, which LNetMDAttach delivers.
///
/// The entry matches messages from match_id whose match bits equal match_bits where ignore_bits has zeros. The NID in match_id is any of
/// the node, for which the primary NID is taken that is known now; a NID of type 0xff and LNET_PID_ANY are wildcards. With LNET_UNLINK it is removed together with its memory
/// descriptor, with LNET_RETAIN it stays until LNetNIFini. The first entry of a portal decides permanently whether the portal is for
/// entries with wildcards (in match_id or ignore_bits) or without.
///
/// Returns the entry, which is not to be dereferenced. Errors, as pointers for which IS_ERR holds: -EINVAL (no such portal, or match_id is
/// no NID), -EPERM (an entry of another kind than the portal's; pos is unknown), -EFAULT, -ENOMEM, -ENETDOWN. Must not be called from an
/// event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMEAttach_2_15(
    portal: c_uint,
    match_id: *mut lnet_processid,
    match_bits: __u64,
    ignore_bits: __u64,
    unlink: EnumUnlink,
    pos: EnumInsPos,
) -> *mut lnet_me {
    entry("LNetMEAttach", || {
        // SAFETY: NULL, or a variable of the program's that nobody changes during the call.
        let from = unsafe { read_id(match_id) }?.to_match_id()?;
        let (unlink, position) = (auto_unlink(unlink)?, position(pos)?);
        let entry = MatchEntry { from, match_bits, ignore_bits, unlink, position };
        backend::with(|node| {
            let me = node.me_attach(portal, entry)?;
            to_pointer(me).inspect_err(|_| {
                let _ = node.me_unlink(me);
            })
        })
    })
}

/// The pointer that C gets for an entry. A handle that would be taken for an errno is not given out.
fn to_pointer(me: MeHandle) -> Result<*mut lnet_me, Errno> {
    let address = usize::try_from(me.cookie()).ok().filter(|address| *address < usize::MAX - MAX_ERRNO);
    address.map(ptr::without_provenance_mut).ok_or(Errno::NoMemory)
}

/// The entry of a pointer, which may be any.
pub(super) fn handle_of(me: *mut lnet_me) -> MeHandle {
    MeHandle::from_cookie(me.addr() as u64)
}

impl FromErrno for *mut lnet_me {
    fn from_errno(errno: Errno) -> Self {
        ptr::without_provenance_mut(errno.to_c() as isize as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_an_entry_or_an_errno() {
        for cookie in [2, 0x0001_0000_0000_0002, u64::MAX - 5000] {
            let me = to_pointer(MeHandle::from_cookie(cookie)).unwrap();
            assert_eq!(handle_of(me).cookie(), cookie);
        }
        for cookie in [u64::MAX, u64::MAX - 4095] {
            assert_eq!(to_pointer(MeHandle::from_cookie(cookie)), Err(Errno::NoMemory));
        }
        let error = <*mut lnet_me>::from_errno(Errno::Invalid);
        assert_eq!(error.addr() as isize, -(libc::EINVAL as isize));
    }
}
