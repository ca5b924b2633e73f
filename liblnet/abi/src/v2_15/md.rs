//! Memory descriptors, which name their handler from 2.15 on.

use super::handler::queue_of;
use super::me::handle_of;
use super::types::{lnet_md_2_15, lnet_me};
use crate::backend::{self, HandlerQueues, ProgramNode};
use crate::entry::{entry, not_null};
use crate::md::{MdFields, attach, bind, parse};
use crate::types::{EnumUnlink, Flag, lnet_handle_md};
use lnet_core::{Errno, MdMemory, MdOptions, MdSpec};
use lnet_wire::MAX_PAYLOAD;
use std::ffi::c_int;

/// Attaches a memory descriptor to a match entry: messages that match it may use the memory from now on.
///
/// *md and the fragment array that it may point to are copied. With LNET_UNLINK the descriptor is unlinked when it is
/// exhausted, with LNET_RETAIN it stays until LNetMDUnlink.
///
/// On a lazy portal the waiting PUTs that match are delivered to the descriptor, oldest first, until it is exhausted. For
/// PUTs whose data has arrived, the events come before the function returns, and their handler runs on the calling thread; so
/// the caller must hold no lock that the handler takes. For PUTs whose data is still arriving, the events come when it has
/// arrived. If another thread attaches matching memory at the same time, each PUT goes to one of the two.
///
/// Stores the handle in *handle before any event of the descriptor. Errors: -EINVAL (*md is not valid, or allows
/// neither PUT nor GET), -ENOENT (no such match entry), -EBUSY (the match entry has one already), -EFAULT, -ENOMEM. After an error
/// other than -EBUSY the match entry is gone. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMDAttach_2_15(
    me: *mut lnet_me,
    md: *const lnet_md_2_15,
    unlink: EnumUnlink,
    handle: *mut lnet_handle_md,
) -> c_int {
    entry("LNetMDAttach", || {
        let me = handle_of(me);
        backend::with_handlers(|node, queues| {
            // SAFETY: NULL, or a structure of the program's, with fragments if it says so, which is there until the call returns.
            let read = unsafe { read(node, queues, md) };
            // SAFETY: NULL, or a variable of the program's, which the call may write until it returns.
            let attached = read.and_then(|read| unsafe { attach(node, me, read, unlink, handle) });
            attached.inspect_err(|errno| {
                // With another descriptor of its own the entry stays that one's.
                if *errno != Errno::Busy {
                    let _ = node.me_unlink(me);
                }
            })
        })
        .map(|()| 0)
    })
}

/// Binds memory for LNetPut and LNetGet.
///
/// *md and the fragment array that it may point to are copied. With LNET_UNLINK the descriptor is unlinked when it is
/// exhausted, with LNET_RETAIN it stays until LNetMDUnlink.
///
/// Stores the handle in *handle. Errors: -EINVAL (*md is not valid, allows PUT or GET, or has more than LNET_MTU bytes), -EFAULT,
/// -ENOMEM. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMDBind_2_15(
    md: *const lnet_md_2_15,
    unlink: EnumUnlink,
    handle: *mut lnet_handle_md,
) -> c_int {
    entry("LNetMDBind", || {
        backend::with_handlers(|node, queues| {
            // SAFETY: NULL, or a structure of the program's, with fragments if it says so, which is there until the call returns.
            let (spec, memory) = unsafe { read(node, queues, md) }?;
            if memory.len() > MAX_PAYLOAD {
                return Err(Errno::Invalid);
            }
            // SAFETY: NULL, or a variable of the program's, which the call may write until it returns.
            unsafe { bind(node, (spec, memory), unlink, handle) }
        })
        .map(|()| 0)
    })
}

/// Ends a memory descriptor. LNetMDUnlink is a macro for it.
///
/// If nothing is in progress with it, its LNET_EVENT_UNLINK is delivered before the function returns. Otherwise the last operation's event
/// has `unlinked` set; until that event the memory is in use. In both cases a handler of the descriptor that is running has returned
/// when the function returns, unless it is called from a handler. Messages that have not been sent are cancelled whether discard is
/// set or not. The handle is invalid on return. Error: -ENOENT (also for a descriptor that was unlinked automatically, whose
/// last event may not have been delivered yet).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ___LNetMDUnlink_2_15(md: lnet_handle_md, discard: Flag) -> c_int {
    let _ = discard;
    entry("LNetMDUnlink", || backend::with(|node| node.md_unlink_and_wait(md.into())).map(|()| 0))
}

/// Reads what a program says of a descriptor (c-abi 1.4), with the queue of its handler.
///
/// # Safety
/// `md` is NULL, or valid for a read; with the KIOV option and a `start`, `start` points to `length` readable fragments.
unsafe fn read(
    node: &dyn ProgramNode,
    queues: &HandlerQueues,
    md: *const lnet_md_2_15,
) -> Result<(MdSpec, MdMemory), Errno> {
    let md = not_null(md.cast_mut())?;
    // SAFETY: checked for NULL; valid for a read, for which the caller vouches.
    let md = unsafe { md.read() };
    let lnet_md_2_15 { start, length, threshold, max_size, options, user_ptr, handler, bulk_handle } = md;
    // There is no other form of fragments any more.
    if MdOptions(options).has(MdOptions::IOVEC) {
        return Err(Errno::Invalid);
    }
    let fields = MdFields { start, length, threshold, max_size, options, user_ptr, bulk_handle };
    // SAFETY: the fragments are there if the options say so, for which the caller vouches.
    let (spec, memory) = unsafe { parse(&fields) }?;
    Ok((MdSpec { eq: queue_of(node, queues, handler)?, ..spec }, memory))
}
