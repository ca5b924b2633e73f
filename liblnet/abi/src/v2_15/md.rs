//! Memory descriptors, which name their handler from 2.15 on.

use super::handler::{is_retired, queue_of};
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
/// the match entry is gone, unless it has another descriptor, which it keeps. Must not be called from an event handler.
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
            // SAFETY: NULL, or a variable of the program's, which the call may write until it returns.
            let attach = |spec, memory| unsafe { attach(node, me, (spec, memory), unlink, handle) };
            // SAFETY: NULL, or a structure of the program's, with fragments if it says so, which is there until the call returns.
            let attached = unsafe { with_md(node, queues, md, attach) };
            // An entry that has another descriptor keeps it.
            attached.inspect_err(|_| _ = node.me_unlink_unused(me))
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
            let bind = |spec, memory: MdMemory| {
                if memory.len() > MAX_PAYLOAD {
                    return Err(Errno::Invalid);
                }
                // SAFETY: NULL, or a variable of the program's, which the call may write until it returns.
                unsafe { bind(node, (spec, memory), unlink, handle) }
            };
            // SAFETY: NULL, or a structure of the program's, with fragments if it says so, which is there until the call returns.
            unsafe { with_md(node, queues, md, bind) }
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

/// Calls `f` with what a program says of a descriptor (c-abi 1.4), and with the queue of its handler.
///
/// # Safety
/// `md` is NULL, or valid for a read; with the KIOV option and a `start`, `start` points to `length` readable fragments.
unsafe fn with_md(
    node: &dyn ProgramNode,
    queues: &HandlerQueues,
    md: *const lnet_md_2_15,
    f: impl Fn(MdSpec, MdMemory) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let md = not_null(md.cast_mut())?;
    // SAFETY: checked for NULL; a variable of the calling program's, which is there and unchanged until the C function returns.
    let md = unsafe { md.read() };
    let lnet_md_2_15 { start, length, threshold, max_size, options, user_ptr, handler, bulk_handle } = md;
    // KIOV is the only form of fragments.
    if MdOptions(options).has(MdOptions::IOVEC) {
        return Err(Errno::Invalid);
    }
    let fields = MdFields { start, length, threshold, max_size, options, user_ptr, bulk_handle };
    loop {
        // SAFETY: if the options say so `start` points to the calling program's fragments, which are there until the C function returns.
        let (spec, memory) = unsafe { parse(&fields) }?;
        let eq = queue_of(node, queues, handler)?;
        match f(MdSpec { eq, ..spec }, memory) {
            // Another thread may have freed the queue meanwhile.
            Err(Errno::NotFound) if is_retired(queues, handler, eq) => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::COOKIE_NONE;
    use crate::v2_15::types::lnet_event_2_15;
    use lnet_node::{Node, StartConfig};
    use lnet_wire::Pid;
    use std::cell::Cell;

    unsafe extern "C" fn handler(_: *mut lnet_event_2_15) {}

    #[test]
    fn a_descriptor_gets_a_new_queue_if_that_of_its_handler_is_freed_meanwhile() {
        static mut BYTES: [u8; 8] = [0; 8];
        let node = Node::start(Pid::LUSTRE, StartConfig::default()).unwrap();
        let program: &dyn ProgramNode = &*node;
        let queues = HandlerQueues::default();
        let md = lnet_md_2_15 {
            start: (&raw mut BYTES).cast(),
            length: 8,
            threshold: 1,
            max_size: 0,
            options: 0,
            user_ptr: std::ptr::null_mut(),
            handler: Some(handler),
            bulk_handle: lnet_handle_md { cookie: COOKIE_NONE },
        };
        let calls = Cell::new(0);
        let bind = |spec, memory| {
            calls.set(calls.get() + 1);
            if calls.get() == 1 {
                queues.forget(program, handler as *const () as usize)?;
            }
            program.md_bind(spec, memory, true).map(|_| ())
        };
        // SAFETY: the structure has no fragments, and is there until the call returns.
        assert_eq!(unsafe { with_md(program, &queues, &raw const md, bind) }, Ok(()));
        assert_eq!(calls.get(), 2);
        // An error that has nothing to do with the queue is returned at once.
        let missing = |_, _| Err(Errno::NotFound);
        // SAFETY: the same structure without fragments, which is there until the call returns.
        assert_eq!(unsafe { with_md(program, &queues, &raw const md, missing) }, Err(Errno::NotFound));
        node.shutdown();
    }
}
