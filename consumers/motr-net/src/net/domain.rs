//! Domains (motr-net 1.3).

use super::guard::Guard;
use super::provision_thread;
use super::types::{m0_bcount_t, m0_net_domain, m0_net_xprt, m0_net_xprt_ops};
use crate::Errno;
use crate::contract::require;
use crate::object::Object;
use crate::support::{m0_list_fini, m0_list_init, m0_list_is_empty, m0_mutex, m0_mutex_fini, m0_mutex_init};
use std::ffi::c_int;
use std::ptr;

/// Held while domains are initialised and finalised.
#[allow(non_upper_case_globals, reason = "C's name")]
#[unsafe(no_mangle)]
pub static m0_net_mutex: m0_mutex = m0_mutex::new();

/// The magic number of a domain.
const DOMAIN: u64 = u64::from_le_bytes(*b"m0netdom");

/// The functions of a domain's transport.
pub(crate) fn ops(dom: Object<m0_net_domain>) -> Object<m0_net_xprt_ops> {
    dom.nd_xprt.get().nx_ops
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_domain_init(dom: Object<m0_net_domain>, xprt: Object<m0_net_xprt>) -> c_int {
    if dom.is_null() || xprt.is_null() || xprt.nx_ops.is_null() || !dom.nd_xprt.get().is_null() {
        return Errno::Invalid.to_c();
    }
    let Some(init) = xprt.nx_ops.xo_dom_init else { return Errno::NoFunction.to_c() };
    let _global = Guard::of(Object::of_static(&m0_net_mutex));
    // SAFETY: the domain is not initialised: nobody uses its parts.
    unsafe {
        m0_mutex_init(dom.part(|it| &it.nd_mutex).memory());
        m0_list_init(dom.part(|it| &it.nd_registered_bufs).memory());
        m0_list_init(dom.part(|it| &it.nd_tms).memory());
    }
    dom.nd_xprt_private.set(ptr::null_mut());
    dom.nd_xprt.set(xprt);
    dom.nd_magix.set(DOMAIN);
    let rc = init(xprt, dom);
    if rc < 0 {
        uninit(dom);
        return rc;
    }
    dom.nd_get_max_buffer_size.set(m0_net_domain_get_max_buffer_size(dom));
    dom.nd_get_max_buffer_segment_size.set(m0_net_domain_get_max_buffer_segment_size(dom));
    dom.nd_get_max_buffer_segments.set(m0_net_domain_get_max_buffer_segments(dom).max(0) as u32);
    dom.nd_get_max_buffer_desc_size.set(m0_net_domain_get_max_buffer_desc_size(dom));
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_domain_fini(dom: Object<m0_net_domain>) {
    require!("m0_net_domain_fini", !dom.nd_xprt.get().is_null(), "the domain is not initialised");
    require!(
        "m0_net_domain_fini",
        m0_list_is_empty(dom.part(|it| &it.nd_tms)),
        "the domain has transfer machines"
    );
    require!(
        "m0_net_domain_fini",
        m0_list_is_empty(dom.part(|it| &it.nd_registered_bufs)),
        "the domain has registered buffers"
    );
    provision_thread::end(dom);
    let _global = Guard::of(Object::of_static(&m0_net_mutex));
    if let Some(fini) = ops(dom).xo_dom_fini {
        fini(dom);
    }
    uninit(dom);
}

fn uninit(dom: Object<m0_net_domain>) {
    m0_list_fini(dom.part(|it| &it.nd_tms));
    m0_list_fini(dom.part(|it| &it.nd_registered_bufs));
    m0_mutex_fini(dom.part(|it| &it.nd_mutex));
    dom.nd_xprt.set(Object::NULL);
    dom.nd_magix.set(0);
}

/// Defines a function that asks the transport for a number, and returns 0 if the transport does not have it.
macro_rules! limit {
    ($name:ident, $op:ident, $number:ty, $domain:ty $(, $argument:ident: $type:ty)*) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(dom: $domain $(, $argument: $type)*) -> $number {
                require!(stringify!($name), !dom.nd_xprt.get().is_null(), "the domain is not initialised");
                ops(dom).$op.map_or(0, |op| op(dom $(, $argument)*))

        }
    };
}

limit!(m0_net_domain_get_max_buffer_size, xo_get_max_buffer_size, m0_bcount_t, Object<m0_net_domain>);
limit!(
    m0_net_domain_get_max_buffer_segment_size,
    xo_get_max_buffer_segment_size,
    m0_bcount_t,
    Object<m0_net_domain>
);
limit!(m0_net_domain_get_max_buffer_segments, xo_get_max_buffer_segments, i32, Object<m0_net_domain>);
limit!(
    m0_net_domain_get_max_buffer_desc_size,
    xo_get_max_buffer_desc_size,
    m0_bcount_t,
    Object<m0_net_domain>
);
