//! Memory descriptors: C's description of memory is checked and copied.

use crate::backend::{self, ProgramNode};
use crate::entry::{entry, not_null};
use crate::me::auto_unlink;
use crate::types::{COOKIE_NONE, EnumUnlink, lnet_handle_md, lnet_handle_me, lnet_kiov, lnet_md};
use lnet_core::memory::MemRange;
use lnet_core::{EqHandle, Errno, MdHandle, MdMemory, MdOptions, MdSpec, MeHandle, Near};
use std::ffi::{c_int, c_uint, c_void};

/// The most fragments of an MD (`LNET_MAX_IOV`).
const MAX_FRAGMENTS: u32 = 256;
/// The number of bytes of the page that a `lnet_kiov_t` is in.
const PAGE_SIZE: u64 = 4096;

/// Attaches a memory descriptor to a match entry: messages that match it may use the memory from now on.
///
/// md and the fragment array that it may point to are copied. With LNET_UNLINK the descriptor is unlinked when it is
/// exhausted, with LNET_RETAIN it stays until LNetMDUnlink.
///
/// On a lazy portal the waiting PUTs that match are delivered to the descriptor, oldest first, until it is exhausted. For
/// PUTs whose data has arrived, the events come before the function returns, and their handler runs on the calling thread; so
/// the caller must hold no lock that the handler takes. For PUTs whose data is still arriving, the events come when it has
/// arrived. If another thread attaches matching memory at the same time, each PUT goes to one of the two.
///
/// Stores the handle in *handle before any event of the descriptor. Errors: -EINVAL (md is not valid, or allows
/// neither PUT nor GET), -ENOENT (no such match entry or event queue), -EBUSY (the match entry has one already),
/// -ENOMEM. After an error the match entry is not changed. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMDAttach(
    me: lnet_handle_me,
    md: lnet_md,
    unlink: EnumUnlink,
    handle: *mut lnet_handle_md,
) -> c_int {
    entry("LNetMDAttach", || {
        // SAFETY: `md` describes memory of the program's, and fragments if it says so, which are there until the call returns.
        let (spec, memory) = unsafe { parse(&fields(&md)) }?;
        let spec = MdSpec { eq: queue(&md), ..spec };
        // SAFETY: NULL, or a variable of the program's, which the call may write until it returns.
        backend::with(|node| unsafe { attach(node, me.into(), (spec, memory), unlink, handle) }).map(|()| 0)
    })
}

/// Binds memory for LNetPut and LNetGet.
///
/// md and the fragment array that it may point to are copied. With LNET_UNLINK the descriptor is unlinked when it is
/// exhausted, with LNET_RETAIN it stays until LNetMDUnlink.
///
/// Stores the handle in *handle. Errors: -EINVAL (md is not valid, or allows PUT or GET), -ENOENT (no such event
/// queue), -ENOMEM. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMDBind(md: lnet_md, unlink: EnumUnlink, handle: *mut lnet_handle_md) -> c_int {
    entry("LNetMDBind", || {
        // SAFETY: `md` describes memory of the program's, and fragments if it says so, which are there until the call returns.
        let (spec, memory) = unsafe { parse(&fields(&md)) }?;
        let spec = MdSpec { eq: queue(&md), ..spec };
        // SAFETY: NULL, or a variable of the program's, which the call may write until it returns.
        backend::with(|node| unsafe { bind(node, (spec, memory), unlink, handle) }).map(|()| 0)
    })
}

/// Ends a memory descriptor.
///
/// If nothing is in progress with it, its LNET_EVENT_UNLINK is delivered before the function returns. Otherwise
/// the function returns at once and the last operation's event has `unlinked` set; until that event the memory is
/// in use. The handle is invalid on return either way. Error: -ENOENT (also for a descriptor that was unlinked automatically,
/// whose last event may not have been delivered yet). Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetMDUnlink(md: lnet_handle_md) -> c_int {
    entry("LNetMDUnlink", || backend::with(|node| node.md_unlink(md.into())).map(|()| 0))
}

/// Attaches a descriptor to a match entry: `LNetMDAttach`. Stores its handle before its first event.
///
/// # Safety
/// `handle` is NULL, or valid for a write until this returns.
pub(crate) unsafe fn attach(
    node: &dyn ProgramNode,
    me: MeHandle,
    (spec, memory): (MdSpec, MdMemory),
    unlink: EnumUnlink,
    handle: *mut lnet_handle_md,
) -> Result<(), Errno> {
    let handle = not_null(handle)?;
    if !for_targets(spec.options) {
        return Err(Errno::Invalid);
    }
    let unlink = auto_unlink(unlink)?;
    let mut store = |md: MdHandle| {
        // SAFETY: checked for NULL; a variable of the calling program's, which is there until the C function returns and may be written.
        unsafe { handle.write(lnet_handle_md { cookie: md.cookie() }) }
    };
    node.md_attach(me, spec, memory, unlink, &mut store)
}

/// Binds memory for PUTs and GETs: `LNetMDBind`. Stores the handle of its descriptor.
///
/// # Safety
/// `handle` is NULL, or valid for a write until this returns.
pub(crate) unsafe fn bind(
    node: &dyn ProgramNode,
    (spec, memory): (MdSpec, MdMemory),
    unlink: EnumUnlink,
    handle: *mut lnet_handle_md,
) -> Result<(), Errno> {
    let handle = not_null(handle)?;
    if for_targets(spec.options) {
        return Err(Errno::Invalid);
    }
    let md = node.md_bind(spec, memory, auto_unlink(unlink)?)?;
    // SAFETY: checked for NULL; a variable of the calling program's, which is there until the C function returns and may be written.
    unsafe { handle.write(lnet_handle_md { cookie: md.cookie() }) };
    Ok(())
}

fn for_targets(options: MdOptions) -> bool {
    options.has(MdOptions::OP_PUT) || options.has(MdOptions::OP_GET)
}

/// A structure that describes a descriptor, of any release, without what becomes of its events.
pub(crate) struct MdFields {
    pub(crate) start: *mut c_void,
    pub(crate) length: c_uint,
    pub(crate) threshold: c_int,
    pub(crate) max_size: c_int,
    pub(crate) options: c_uint,
    pub(crate) user_ptr: *mut c_void,
    pub(crate) bulk_handle: lnet_handle_md,
}

const fn fields(md: &lnet_md) -> MdFields {
    let lnet_md { start, length, threshold, max_size, options, user_ptr, eq_handle: _, bulk_handle } = *md;
    MdFields { start, length, threshold, max_size, options, user_ptr, bulk_handle }
}

fn queue(md: &lnet_md) -> Option<EqHandle> {
    (md.eq_handle.cookie != COOKIE_NONE).then(|| EqHandle::from_cookie(md.eq_handle.cookie))
}

/// The content of `md`, if it is valid (c-abi 1.4), without a queue. The memory is described by value afterwards.
///
/// # Safety
/// With the KIOV or IOVEC option and a `start`, `start` points to `length` readable fragments.
pub(crate) unsafe fn parse(md: &MdFields) -> Result<(MdSpec, MdMemory), Errno> {
    let options = MdOptions(md.options);
    let (kiov, iovec) = (options.has(MdOptions::KIOV), options.has(MdOptions::IOVEC));
    let fragments = kiov || iovec;
    if md.start.is_null() && md.length != 0 || fragments && md.length > MAX_FRAGMENTS || kiov && iovec {
        return Err(Errno::Invalid);
    }

    let memory = if fragments {
        let mut runs = [MemRange { address: 0, len: 0 }; MAX_FRAGMENTS as usize];
        let runs = &mut runs[..md.length as usize];
        for (i, run) in runs.iter_mut().enumerate() {
            *run = if kiov {
                // SAFETY: `start` points to `length` fragments of the calling program's, which are there until the C function returns; `i` is below
                // `length`.
                page_fragment(unsafe { md.start.cast::<lnet_kiov>().add(i).read_unaligned() })?
            } else {
                // SAFETY: `start` points to `length` fragments of the calling program's, which are there until the C function returns; `i` is below
                // `length`.
                vector_fragment(unsafe { md.start.cast::<libc::iovec>().add(i).read_unaligned() })?
            };
        }
        MdMemory::scattered(runs).ok_or(Errno::Invalid)?
    } else {
        MdMemory::contiguous(md.start as usize, md.length)
    };
    let memory = match options.has(MdOptions::BULK_HANDLE) {
        true => memory.with_near(Near::Md(MdHandle::from_cookie(md.bulk_handle.cookie))),
        false => memory,
    };

    let max_size_is_wrong = u32::try_from(md.max_size).map_or(true, |max| max > memory.len());
    if options.has(MdOptions::MAX_SIZE) && max_size_is_wrong {
        return Err(Errno::Invalid);
    }
    let spec = MdSpec {
        start: md.start as usize,
        length: md.length,
        threshold: md.threshold,
        max_size: md.max_size,
        options,
        user_ptr: md.user_ptr as usize,
        eq: None,
    };
    Ok((spec, memory))
}

fn page_fragment(fragment: lnet_kiov) -> Result<MemRange, Errno> {
    if u64::from(fragment.kiov_offset) + u64::from(fragment.kiov_len) > PAGE_SIZE {
        return Err(Errno::Invalid);
    }
    let address = (fragment.kiov_page as usize).wrapping_add(fragment.kiov_offset as usize);
    Ok(MemRange { address, len: fragment.kiov_len as usize })
}

fn vector_fragment(fragment: libc::iovec) -> Result<MemRange, Errno> {
    if fragment.iov_len == 0 {
        return Err(Errno::Invalid);
    }
    Ok(MemRange { address: fragment.iov_base as usize, len: fragment.iov_len })
}
