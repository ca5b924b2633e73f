//! The transport as a table of functions, and the functions for it alone (motr-net 1.1).
//!
//! **Contract of the transport's functions.** The network layer ([`crate::net`]) calls them with the locks that motr-net 1.2 lists, with objects
//! that are initialised and of this transport.
#![allow(missing_docs, reason = "the headers document the functions of C")]

use super::address::{StartAddress, compare_nids};
use super::budget::Budget;
use super::delivery::{bev_deliver_all, bev_notify, bev_pending};
use super::domain::{
    buf_deregister, buf_register, dom_fini, dom_init, lnet_domain, max_buffer_desc_size,
    max_buffer_segment_size, max_buffer_segments, max_buffer_size, rpc_max_msg_size, rpc_max_recv_msgs,
    rpc_max_seg_size, rpc_max_segs_nr,
};
use super::end_point::{end_point_create, parse};
use super::event_thread::spawn;
use super::machine::{Machine, Stopping, machine};
use super::operation::{buf_add, buf_del};
use crate::Errno;
use crate::net::buffer::cancel;
use crate::net::queue::Queue;
use crate::net::registry::{
    m0_net_xprt_default_get, m0_net_xprt_default_set, m0_net_xprt_deregister, m0_net_xprt_register,
};
use crate::net::tm_queues::is_from_pool;
use crate::net::types::{m0_net_transfer_mc, m0_net_xprt, m0_net_xprt_ops};
use crate::object::Object;
use crate::support::{m0_bitmap, m0_time_from_now};
use lnet_api::c_pointer::Text;
use std::ffi::{c_int, c_long};
use std::ptr;
use std::sync::Arc;

/// The time after which a stop without abort cancels the buffers that are still queued, in seconds.
const STOP_GRACE_SECONDS: u64 = 10;
/// The time after a stop in which the program may fetch events itself, in nanoseconds.
const STOP_DELIVERY_NANOSECONDS: c_long = 100_000_000;

static OPS: m0_net_xprt_ops = m0_net_xprt_ops {
    xo_dom_init: Some(dom_init),
    xo_dom_fini: Some(dom_fini),
    xo_tm_init: Some(tm_init),
    xo_tm_confine: Some(tm_confine),
    xo_tm_start: Some(tm_start),
    xo_tm_stop: Some(tm_stop),
    xo_tm_fini: Some(tm_fini),
    xo_end_point_create: Some(end_point_create),
    xo_buf_register: Some(buf_register),
    xo_buf_deregister: Some(buf_deregister),
    xo_buf_add: Some(buf_add),
    xo_buf_del: Some(buf_del),
    xo_bev_deliver_sync: Some(bev_deliver_sync),
    xo_bev_deliver_all: Some(bev_deliver_all),
    xo_bev_pending: Some(bev_pending),
    xo_bev_notify: Some(bev_notify),
    xo_get_max_buffer_size: Some(max_buffer_size),
    xo_get_max_buffer_segment_size: Some(max_buffer_segment_size),
    xo_get_max_buffer_segments: Some(max_buffer_segments),
    xo_get_max_buffer_desc_size: Some(max_buffer_desc_size),
    xo_rpc_max_seg_size: Some(rpc_max_seg_size),
    xo_rpc_max_segs_nr: Some(rpc_max_segs_nr),
    xo_rpc_max_msg_size: Some(rpc_max_msg_size),
    xo_rpc_max_recv_msgs: Some(rpc_max_recv_msgs),
};

#[allow(non_upper_case_globals, reason = "C's name")]
#[unsafe(no_mangle)]
pub static m0_net_lnet_xprt: m0_net_xprt =
    m0_net_xprt { nx_name: Text::of(c"lnet"), nx_ops: Object::of_static(&OPS) };

#[allow(non_upper_case_globals, reason = "C's name")]
#[unsafe(no_mangle)]
pub static m0_lnet_xprt: m0_net_xprt =
    m0_net_xprt { nx_name: Text::of(c"lnet"), nx_ops: Object::of_static(&OPS) };

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_lnet_init() -> c_int {
    m0_net_xprt_register(Object::of_static(&m0_net_lnet_xprt));
    if m0_net_xprt_default_get().is_null() {
        m0_net_xprt_default_set(Object::of_static(&m0_net_lnet_xprt));
    }
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_lnet_fini() {
    m0_net_xprt_deregister(Object::of_static(&m0_net_lnet_xprt));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_lnet_ep_addr_net_cmp(addr1: Text<'_>, addr2: Text<'_>) -> c_int {
    let (Some(addr1), Some(addr2)) = (addr1.get(), addr2.get()) else { return -1 };
    compare_nids(addr1.to_bytes(), addr2.to_bytes())
}

extern "C" fn tm_init(tm: Object<m0_net_transfer_mc>) -> c_int {
    let events = Arc::clone(&lnet_domain(tm.ntm_dom.get()).resources.events);
    tm.ntm_xprt_private.set(Box::into_raw(Box::new(Machine::new(events))).cast());
    0
}

/// Implements `xo_tm_fini`. No thread uses the machine any more except its own, which is about to end.
extern "C" fn tm_fini(tm: Object<m0_net_transfer_mc>) {
    let machine = machine(tm);
    let thread = machine.thread.take();
    if let Some(thread) = thread {
        let _ = thread.join();
    }
    tm.ntm_xprt_private.set(ptr::null_mut());
    // SAFETY: the box of `tm_init`; nobody uses the machine any more, which has it no longer.
    drop(unsafe { Box::from_raw(machine.as_ptr()) });
}

extern "C" fn tm_confine(tm: Object<m0_net_transfer_mc>, processors: Object<m0_bitmap>) -> c_int {
    machine(tm).processors.replace(Some(processors.numbers().collect()));
    0
}

extern "C" fn tm_start(tm: Object<m0_net_transfer_mc>, addr: Text<'_>) -> c_int {
    let started = parse(addr).and_then(|address: StartAddress| {
        let held = Budget::hold_one(&lnet_domain(tm.ntm_dom.get()).resources, |its| &its.tms)?;
        machine(tm).start.set(Some(address));
        machine(tm).held.replace(Some(held));
        spawn(tm).inspect_err(|_| drop(machine(tm).held.take()))
    });
    Errno::to_c_result(started)
}

/// Receive buffers wait for nothing, so any stop cancels them; those of a pool are cancelled by the network layer. Without
/// `cancels_all` the other buffers have [`STOP_GRACE_SECONDS`].
extern "C" fn tm_stop(tm: Object<m0_net_transfer_mc>, cancels_all: bool) -> c_int {
    let machine = machine(tm);
    machine.stopping.set(Some(Stopping {
        cancel_at: m0_time_from_now(STOP_GRACE_SECONDS, 0),
        deliver_at: m0_time_from_now(0, STOP_DELIVERY_NANOSECONDS),
    }));
    if machine.thread.borrow().is_none()
        && let Err(errno) = spawn(tm)
    {
        machine.stopping.set(None);
        return errno.to_c();
    }
    if cancels_all {
        cancel(tm, &Queue::ALL, |_| true);
    } else {
        cancel(tm, &[Queue::MsgRecv], |buf| !is_from_pool(tm, buf));
    }
    machine.wake();
    0
}

/// Does nothing: the machine's thread reads from the machine whether it is to deliver events.
extern "C" fn bev_deliver_sync(_: Object<m0_net_transfer_mc>) -> c_int {
    0
}
