//! Domains over LNet, the limits of their buffers, and registered buffers.
#![allow(missing_docs, reason = "the headers document the functions of C")]

use super::budget::{Budget, Resources};
use super::buffer_descriptor;
use super::fragments::{MAX_BUFFER, MAX_FRAGMENTS, MAX_SEGMENT, fragments};
use super::machine::{LnetBuffer, lnet_buffer};
use crate::Errno;
use crate::backend::Backend;
use crate::backend::liblnet::Liblnet;
use crate::contract::require;
use crate::net::types::{m0_bcount_t, m0_net_buffer, m0_net_domain, m0_net_xprt};
use crate::object::Object;
use crate::support::{m0_alloc, m0_free};
use lnet_api::c_pointer::{InOut, Out};
use lnet_wire::Nid;
use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The state of a domain of this transport, in `nd_xprt_private`.
pub(super) struct LnetDomain {
    /// LNet as the domain uses it.
    pub(super) backend: Arc<dyn Backend>,
    /// The resources that the domain uses, and their limits.
    pub(super) resources: Arc<Resources>,
    /// Whether the transfer machines of the domain write more log lines.
    pub(super) debug: AtomicBool,
}

/// The state of an initialised domain of this transport.
pub(super) fn lnet_domain(dom: Object<m0_net_domain>) -> Object<LnetDomain> {
    // SAFETY: a domain of this transport has the box of `dom_init` there, until `dom_fini`.
    unsafe { Object::new(dom.nd_xprt_private.get().cast()) }
}

/// Implements `xo_dom_init`.
pub(super) extern "C" fn dom_init(_: Object<m0_net_xprt>, dom: Object<m0_net_domain>) -> c_int {
    Errno::to_c_result(Liblnet::start().map(|backend| {
        let domain =
            Box::new(LnetDomain { backend, resources: Arc::default(), debug: AtomicBool::new(false) });
        dom.nd_xprt_private.set(Box::into_raw(domain).cast());
    }))
}

/// Implements `xo_dom_fini`.
pub(super) extern "C" fn dom_fini(dom: Object<m0_net_domain>) {
    let domain = lnet_domain(dom);
    dom.nd_xprt_private.set(ptr::null_mut());
    // SAFETY: the box of `dom_init`; nobody uses the domain any more, which has it no longer.
    drop(unsafe { Box::from_raw(domain.as_ptr()) });
    // All log lines of the domain are now in the log of the program.
    lnet_log::flush();
}

/// Implements `xo_buf_register`.
pub(super) extern "C" fn buf_register(buf: Object<m0_net_buffer>) -> c_int {
    let vector = buf.part(|it| &it.nb_buffer);
    let lengths = vector.lengths();
    let (addresses, counts) = (vector.addresses(), lengths.counts());
    let segments =
        addresses.iter().zip(counts).map(|(address, len)| (address.get().expose_provenance(), len.get()));
    let registered = fragments(segments).and_then(|fragments| {
        let held = Budget::hold_one(&lnet_domain(buf.nb_dom.get()).resources, |its| &its.buffers)?;
        let total = counts.iter().map(Cell::get).sum();
        let lnet = Box::new(LnetBuffer {
            fragments: RefCell::new(fragments),
            total,
            handle: Cell::new(None),
            events: Cell::new(0),
            _held: held,
        });
        buf.nb_xprt_private.set(Box::into_raw(lnet).cast());
        Ok(())
    });
    Errno::to_c_result(registered)
}

/// Implements `xo_buf_deregister`.
pub(super) extern "C" fn buf_deregister(buf: Object<m0_net_buffer>) {
    let buffer = lnet_buffer(buf);
    buf.nb_xprt_private.set(ptr::null_mut());
    // SAFETY: the box of `buf_register`; the buffer, which is not queued, has it no longer.
    drop(unsafe { Box::from_raw(buffer.as_ptr()) });
}

pub(super) extern "C" fn max_buffer_size(_: Object<m0_net_domain>) -> m0_bcount_t {
    MAX_BUFFER
}

pub(super) extern "C" fn max_buffer_segment_size(_: Object<m0_net_domain>) -> m0_bcount_t {
    MAX_SEGMENT
}

pub(super) extern "C" fn max_buffer_segments(_: Object<m0_net_domain>) -> i32 {
    MAX_FRAGMENTS as i32
}

pub(super) extern "C" fn max_buffer_desc_size(_: Object<m0_net_domain>) -> m0_bcount_t {
    buffer_descriptor::LEN as m0_bcount_t
}

pub(super) extern "C" fn rpc_max_seg_size(_: Object<m0_net_domain>) -> m0_bcount_t {
    MAX_SEGMENT
}

pub(super) extern "C" fn rpc_max_segs_nr(_: Object<m0_net_domain>) -> u32 {
    (MAX_BUFFER / MAX_SEGMENT) as u32
}

pub(super) extern "C" fn rpc_max_msg_size(_: Object<m0_net_domain>, rpc_size: m0_bcount_t) -> m0_bcount_t {
    rpc_message_size(rpc_size)
}

pub(super) extern "C" fn rpc_max_recv_msgs(_: Object<m0_net_domain>, rpc_size: m0_bcount_t) -> u32 {
    (MAX_BUFFER / rpc_message_size(rpc_size)) as u32
}

fn rpc_message_size(rpc_size: m0_bcount_t) -> m0_bcount_t {
    if rpc_size == 0 { MAX_BUFFER } else { rpc_size.clamp(MAX_SEGMENT, MAX_BUFFER) }
}

/// An array of strings with a NULL at the end; `m0_net_lnet_ifaces_put` frees it.
#[unsafe(no_mangle)]
pub extern "C" fn m0_net_lnet_ifaces_get(
    dom: Object<m0_net_domain>,
    mut addrs: Out<'_, *mut *mut c_char>,
) -> c_int {
    if dom.is_null() || addrs.is_null() || dom.nd_xprt_private.get().is_null() {
        return Errno::Invalid.to_c();
    }
    let nids = lnet_domain(dom).backend.local_processes();
    let texts: Vec<CString> = nids
        .iter()
        .filter_map(|process| CString::new(Nid::from_u64(process.nid)?.to_string()).ok())
        .collect();
    let array = m0_alloc(size_of::<*mut c_char>() * (texts.len() + 1)).cast::<*mut c_char>();
    if array.is_null() {
        return Errno::NoMemory.to_c();
    }
    for (at, text) in texts.into_iter().enumerate() {
        // SAFETY: new memory for one pointer more than there are texts, which nobody else has yet.
        unsafe { array.add(at).write(text.into_raw()) };
    }
    Errno::to_c_result(addrs.store(array, Errno::Invalid))
}

/// Frees an array of [`m0_net_lnet_ifaces_get`].
///
/// # Safety
/// `*addrs` is NULL, or an array of [`m0_net_lnet_ifaces_get`], which nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_lnet_ifaces_put(
    _: Object<m0_net_domain>,
    addrs: InOut<'_, *mut *mut c_char>,
) {
    let array = addrs.or(()).map(|addrs| std::mem::replace(addrs, ptr::null_mut()));
    require!("m0_net_lnet_ifaces_put", array.is_ok(), "there is no array");
    let Some(array) = array.ok().filter(|array| !array.is_null()) else { return };
    // SAFETY: strings that `m0_net_lnet_ifaces_get` made, the last one followed by NULL, and the array of them; the caller gives all of
    // them up.
    unsafe {
        let texts = (0..).map(|at| *array.add(at)).take_while(|text| !text.is_null());
        texts.for_each(|text| drop(CString::from_raw(text)));
        m0_free(array.cast());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_of_rpcs_follow_from_those_of_buffers() {
        for (rpc_size, message) in
            [(0, MAX_BUFFER), (1, 4096), (4096, 4096), (5000, 5000), (2 << 20, MAX_BUFFER)]
        {
            assert_eq!(rpc_message_size(rpc_size), message, "{rpc_size}");
        }
    }
}
