//! Domains over LNet, the limits of their buffers, and registered buffers.
#![allow(missing_docs, clippy::missing_safety_doc, reason = "the headers document the functions of C")]

use super::buffer_descriptor;
use super::fragments::{MAX_BUFFER, MAX_FRAGMENTS, MAX_SEGMENT, fragments};
use super::limits::{Budget, Resources};
use super::machine::LnetBuffer;
use crate::backend::Backend;
use crate::backend::liblnet::Liblnet;
use crate::contract::require;
use crate::errno::Errno;
use crate::net::types::{m0_bcount_t, m0_net_buffer, m0_net_domain, m0_net_xprt};
use crate::support::{m0_alloc, m0_free};
use lnet_wire::Nid;
use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a domain has: `nd_xprt_private`.
struct LnetDomain {
    backend: Arc<dyn Backend>,
    resources: Arc<Resources>,
    /// Whether its transfer machines say more in the log.
    debug: AtomicBool,
}

/// LNet, as a domain uses it.
///
/// # Safety
/// An initialised domain of this transport.
pub(super) unsafe fn backend_of(dom: *mut m0_net_domain) -> Arc<dyn Backend> {
    // SAFETY: a box that `dom_init` has made.
    unsafe { Arc::clone(&(*(*dom).nd_xprt_private.cast::<LnetDomain>()).backend) }
}

/// What a domain uses, and how much it may.
///
/// # Safety
/// An initialised domain of this transport.
pub(super) unsafe fn resources_of(dom: *mut m0_net_domain) -> Arc<Resources> {
    // SAFETY: a box that `dom_init` has made.
    unsafe { Arc::clone(&(*(*dom).nd_xprt_private.cast::<LnetDomain>()).resources) }
}

/// Whether its transfer machines say more in the log.
///
/// # Safety
/// An initialised domain of this transport, which stays as long as the reference is used.
pub(super) unsafe fn debug_of<'a>(dom: *mut m0_net_domain) -> &'a AtomicBool {
    // SAFETY: a box that `dom_init` has made.
    unsafe { &(*(*dom).nd_xprt_private.cast::<LnetDomain>()).debug }
}

/// `xo_dom_init`
pub(super) unsafe extern "C" fn dom_init(_: *const m0_net_xprt, dom: *mut m0_net_domain) -> c_int {
    Errno::to_c_result(Liblnet::start().map(|backend| {
        let domain =
            Box::new(LnetDomain { backend, resources: Arc::default(), debug: AtomicBool::new(false) });
        // SAFETY: the contract of the transport's functions (`super::transport`).
        unsafe { (*dom).nd_xprt_private = Box::into_raw(domain).cast() };
    }))
}

/// `xo_dom_fini`
pub(super) unsafe extern "C" fn dom_fini(dom: *mut m0_net_domain) {
    // SAFETY: the contract of the transport's functions (`super::transport`): the box of `dom_init`.
    unsafe {
        drop(Box::from_raw((*dom).nd_xprt_private.cast::<LnetDomain>()));
        (*dom).nd_xprt_private = ptr::null_mut();
    }
    // A program that looks at its log now finds all of the domain there.
    lnet_log::flush();
}

/// `xo_buf_register`
pub(super) unsafe extern "C" fn buf_register(buf: *mut m0_net_buffer) -> c_int {
    // SAFETY: the contract of the transport's functions (`super::transport`).
    unsafe {
        let vector = &(*buf).nb_buffer;
        let (addresses, counts) = (vector.addresses(), vector.ov_vec.counts());
        let segments = addresses.iter().zip(counts).map(|(address, len)| (address.expose_provenance(), *len));
        let registered = fragments(segments).and_then(|fragments| {
            let held = Budget::hold_one(&resources_of((*buf).nb_dom), |its| &its.buffers)?;
            let total = counts.iter().sum();
            let lnet = Box::new(LnetBuffer { fragments, total, handle: None, events: 0, _held: held });
            (*buf).nb_xprt_private = Box::into_raw(lnet).cast();
            Ok(())
        });
        Errno::to_c_result(registered)
    }
}

/// `xo_buf_deregister`
pub(super) unsafe extern "C" fn buf_deregister(buf: *mut m0_net_buffer) {
    // SAFETY: the contract of the transport's functions (`super::transport`): the box of `buf_register`.
    unsafe { drop(Box::from_raw((*buf).nb_xprt_private.cast::<LnetBuffer>())) };
}

pub(super) unsafe extern "C" fn max_buffer_size(_: *const m0_net_domain) -> m0_bcount_t {
    MAX_BUFFER
}

pub(super) unsafe extern "C" fn max_buffer_segment_size(_: *const m0_net_domain) -> m0_bcount_t {
    MAX_SEGMENT
}

pub(super) unsafe extern "C" fn max_buffer_segments(_: *const m0_net_domain) -> i32 {
    MAX_FRAGMENTS as i32
}

pub(super) unsafe extern "C" fn max_buffer_desc_size(_: *const m0_net_domain) -> m0_bcount_t {
    buffer_descriptor::LEN as m0_bcount_t
}

pub(super) unsafe extern "C" fn rpc_max_seg_size(_: *mut m0_net_domain) -> m0_bcount_t {
    MAX_SEGMENT
}

pub(super) unsafe extern "C" fn rpc_max_segs_nr(_: *mut m0_net_domain) -> u32 {
    (MAX_BUFFER / MAX_SEGMENT) as u32
}

pub(super) unsafe extern "C" fn rpc_max_msg_size(
    _: *mut m0_net_domain,
    rpc_size: m0_bcount_t,
) -> m0_bcount_t {
    rpc_message_size(rpc_size)
}

pub(super) unsafe extern "C" fn rpc_max_recv_msgs(_: *mut m0_net_domain, rpc_size: m0_bcount_t) -> u32 {
    (MAX_BUFFER / rpc_message_size(rpc_size)) as u32
}

fn rpc_message_size(rpc_size: m0_bcount_t) -> m0_bcount_t {
    if rpc_size == 0 { MAX_BUFFER } else { rpc_size.clamp(MAX_SEGMENT, MAX_BUFFER) }
}

/// An array of strings, which NULL ends; `m0_net_lnet_ifaces_put` frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_lnet_ifaces_get(
    dom: *mut m0_net_domain,
    addrs: *mut *mut *mut c_char,
) -> c_int {
    // SAFETY: the contract of the C functions (`crate::net`).
    unsafe {
        if dom.is_null() || addrs.is_null() || (*dom).nd_xprt_private.is_null() {
            return Errno::INVALID.to_c();
        }
        let nids = backend_of(dom).local_processes();
        let texts: Vec<CString> = nids
            .iter()
            .filter_map(|process| CString::new(Nid::from_u64(process.nid)?.to_string()).ok())
            .collect();
        let array = m0_alloc(size_of::<*mut c_char>() * (texts.len() + 1)).cast::<*mut c_char>();
        if array.is_null() {
            return Errno::NO_MEMORY.to_c();
        }
        texts.into_iter().enumerate().for_each(|(at, text)| array.add(at).write(text.into_raw()));
        addrs.write(array);
        0
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_lnet_ifaces_put(_: *mut m0_net_domain, addrs: *mut *mut *mut c_char) {
    require!("m0_net_lnet_ifaces_put", !addrs.is_null(), "there is no array");
    // SAFETY: the contract of the C functions (`crate::net`): an array of `m0_net_lnet_ifaces_get`.
    unsafe {
        let array = std::mem::replace(&mut *addrs, ptr::null_mut());
        if array.is_null() {
            return;
        }
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
