//! The structures of the network layer, which C programs allocate and read (motr-net 1.2).
//!
//! All of them are valid as zeros. Names, types and order of the fields are those of C. Fields that programs and callbacks
//! change while the library uses the structure are cells; see [`Object`] for the contract. The functions in a table, of a
//! transport or of callbacks, are safe to call with objects: Rust can put only such functions there, and C guarantees it for
//! its own as for any object.
#![allow(non_camel_case_types)]

use crate::object::Object;
use crate::support::{
    m0_atomic64, m0_bitmap, m0_bufvec, m0_chan, m0_list, m0_list_link, m0_mutex, m0_ref, m0_time_t, m0_tl,
    m0_tlink,
};
use lnet_api::c_pointer::{Out, Text};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// A number of bytes.
pub type m0_bcount_t = u64;

/// The number of queues, `M0_NET_QT_NR`.
pub const QUEUES: usize = super::queue::Queue::COUNT;
/// Stands for any colour, `M0_BUFFER_ANY_COLOUR`.
pub const ANY_COLOUR: u32 = u32::MAX;
/// The default of the minimum receive queue length, `M0_NET_TM_RECV_QUEUE_DEF_LEN`.
pub const DEFAULT_RECV_QUEUE_LEN: u32 = 2;

/// A transport.
#[repr(C)]
#[derive(Debug)]
pub struct m0_net_xprt {
    /// The name of the transport.
    pub nx_name: Text<'static>,
    /// The functions of the transport.
    pub nx_ops: Object<m0_net_xprt_ops>,
}

// SAFETY: transports are constants, which nothing writes.
unsafe impl Sync for m0_net_xprt {}

type Domain = Object<m0_net_domain>;
type Tm = Object<m0_net_transfer_mc>;
type Buffer = Object<m0_net_buffer>;

/// The functions of a transport. A transport may be a program's own; the optional ones may be NULL.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "net/net.h documents them")]
pub struct m0_net_xprt_ops {
    pub xo_dom_init: Option<extern "C" fn(Object<m0_net_xprt>, Domain) -> c_int>,
    pub xo_dom_fini: Option<extern "C" fn(Domain)>,
    pub xo_tm_init: Option<extern "C" fn(Tm) -> c_int>,
    pub xo_tm_confine: Option<extern "C" fn(Tm, Object<m0_bitmap>) -> c_int>,
    pub xo_tm_start: Option<extern "C" fn(Tm, Text<'_>) -> c_int>,
    pub xo_tm_stop: Option<extern "C" fn(Tm, bool) -> c_int>,
    pub xo_tm_fini: Option<extern "C" fn(Tm)>,
    pub xo_end_point_create: Option<extern "C" fn(Out<'_, Object<m0_net_end_point>>, Tm, Text<'_>) -> c_int>,
    pub xo_buf_register: Option<extern "C" fn(Buffer) -> c_int>,
    pub xo_buf_deregister: Option<extern "C" fn(Buffer)>,
    pub xo_buf_add: Option<extern "C" fn(Buffer) -> c_int>,
    pub xo_buf_del: Option<extern "C" fn(Buffer)>,
    pub xo_bev_deliver_sync: Option<extern "C" fn(Tm) -> c_int>,
    pub xo_bev_deliver_all: Option<extern "C" fn(Tm)>,
    pub xo_bev_pending: Option<extern "C" fn(Tm) -> bool>,
    pub xo_bev_notify: Option<extern "C" fn(Tm, Object<m0_chan>)>,
    pub xo_get_max_buffer_size: Option<extern "C" fn(Domain) -> m0_bcount_t>,
    pub xo_get_max_buffer_segment_size: Option<extern "C" fn(Domain) -> m0_bcount_t>,
    pub xo_get_max_buffer_segments: Option<extern "C" fn(Domain) -> i32>,
    pub xo_get_max_buffer_desc_size: Option<extern "C" fn(Domain) -> m0_bcount_t>,
    pub xo_rpc_max_seg_size: Option<extern "C" fn(Domain) -> m0_bcount_t>,
    pub xo_rpc_max_segs_nr: Option<extern "C" fn(Domain) -> u32>,
    pub xo_rpc_max_msg_size: Option<extern "C" fn(Domain, m0_bcount_t) -> m0_bcount_t>,
    pub xo_rpc_max_recv_msgs: Option<extern "C" fn(Domain, m0_bcount_t) -> u32>,
}

/// A domain: a transport in use, with its transfer machines, buffers and end points.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "net/net.h documents them")]
pub struct m0_net_domain {
    pub nd_mutex: m0_mutex,
    pub nd_registered_bufs: m0_list,
    pub nd_tms: m0_list,
    pub nd_xprt_private: Cell<*mut c_void>,
    pub nd_xprt: Cell<Object<m0_net_xprt>>,
    pub nd_app_linkage: m0_tlink,
    pub nd_get_max_buffer_segments: Cell<u32>,
    pub nd_get_max_buffer_segment_size: Cell<m0_bcount_t>,
    pub nd_get_max_buffer_size: Cell<m0_bcount_t>,
    pub nd_get_max_buffer_desc_size: Cell<m0_bcount_t>,
    pub nd_magix: Cell<u64>,
}

/// The address of a transfer machine, for another one that sends to it.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "net/net.h documents them")]
pub struct m0_net_end_point {
    pub nep_magix: Cell<u64>,
    pub nep_ref: m0_ref,
    pub nep_tm: Cell<Object<m0_net_transfer_mc>>,
    pub nep_tm_linkage: m0_tlink,
    pub nep_addr: Cell<*const c_char>,
    pub nep_xprt_pvt: Cell<*mut c_void>,
}

/// The lock of a state machine group, `struct m0_sm_group`.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "sm/sm.h documents it")]
pub struct m0_sm_group {
    pub s_lock: m0_mutex,
}

/// A transfer machine: an address, and the buffers that are queued at it.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "net/net.h documents them")]
pub struct m0_net_transfer_mc {
    pub ntm_callbacks: Cell<Object<m0_net_tm_callbacks>>,
    /// The state, one of [`tm_state`].
    pub ntm_state: Cell<c_uint>,
    pub ntm_group: m0_sm_group,
    pub ntm_callback_counter: Cell<u32>,
    pub ntm_dom: Cell<Object<m0_net_domain>>,
    pub ntm_end_points: m0_tl,
    pub ntm_ep: Cell<Object<m0_net_end_point>>,
    pub ntm_chan: m0_chan,
    pub ntm_q: [m0_tl; QUEUES],
    pub ntm_qstats: [Cell<m0_net_qstats>; QUEUES],
    pub ntm_dom_linkage: m0_list_link,
    pub ntm_xprt_private: Cell<*mut c_void>,
    pub ntm_bev_auto_deliver: Cell<bool>,
    pub ntm_recv_pool: Cell<Object<m0_net_buffer_pool>>,
    pub ntm_recv_pool_callbacks: Cell<Object<m0_net_buffer_callbacks>>,
    pub ntm_recv_queue_min_length: Cell<u32>,
    pub ntm_recv_queue_deficit: m0_atomic64,
    pub ntm_pool_colour: Cell<u32>,
    pub ntm_recv_queue_min_recv_size: Cell<m0_bcount_t>,
    pub ntm_recv_queue_max_recv_msgs: Cell<u32>,
}

/// The states of a transfer machine, `enum m0_net_tm_state`.
#[allow(missing_docs, reason = "net/net.h documents them")]
pub mod tm_state {
    use std::ffi::c_uint;
    pub const UNDEFINED: c_uint = 0;
    pub const INITIALIZED: c_uint = 1;
    pub const STARTING: c_uint = 2;
    pub const STARTED: c_uint = 3;
    pub const STOPPING: c_uint = 4;
    pub const STOPPED: c_uint = 5;
    pub const FAILED: c_uint = 6;
}

/// The types of its events, `enum m0_net_tm_ev_type`.
#[allow(missing_docs, reason = "net/net.h documents them")]
pub mod tm_event_type {
    use std::ffi::c_uint;
    pub const ERROR: c_uint = 0;
    pub const STATE_CHANGE: c_uint = 1;
    pub const DIAGNOSTIC: c_uint = 2;
}

/// The flags of a buffer, `enum m0_net_buf_flags`.
#[allow(missing_docs, reason = "net/net.h documents them")]
pub mod buf_flags {
    pub const REGISTERED: u64 = 1;
    pub const QUEUED: u64 = 2;
    pub const IN_USE: u64 = 4;
    pub const CANCELLED: u64 = 8;
    pub const TIMED_OUT: u64 = 16;
    pub const RETAIN: u64 = 32;
}

/// The callbacks of a transfer machine.
#[repr(C)]
#[derive(Debug)]
pub struct m0_net_tm_callbacks {
    /// Called for each event of the machine itself.
    pub ntc_event_cb: Option<extern "C" fn(Object<m0_net_tm_event>)>,
}

/// An event of a transfer machine.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "net/net.h documents them")]
pub struct m0_net_tm_event {
    /// The type, one of [`tm_event_type`].
    pub nte_type: c_uint,
    pub nte_tm: Object<m0_net_transfer_mc>,
    pub nte_time: m0_time_t,
    pub nte_status: i32,
    pub nte_next_state: c_uint,
    pub nte_ep: Object<m0_net_end_point>,
    pub nte_payload: *mut c_void,
}

/// The descriptor of a passive buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "net/net.h documents them")]
pub struct m0_net_buf_desc {
    pub nbd_len: u32,
    pub nbd_data: Object<u8>,
}

/// A descriptor, and the number of bytes of its buffer that are used.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "net/net.h documents them")]
pub struct m0_net_buf_desc_data {
    pub bdd_desc: m0_net_buf_desc,
    pub bdd_used: u64,
}

/// A buffer: memory, and the operation to be performed with it.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "net/net.h documents them")]
pub struct m0_net_buffer {
    pub nb_buffer: m0_bufvec,
    pub nb_length: Cell<m0_bcount_t>,
    pub nb_offset: Cell<m0_bcount_t>,
    pub nb_dom: Cell<Object<m0_net_domain>>,
    pub nb_tm: Cell<Object<m0_net_transfer_mc>>,
    /// The queue, as the number of a [`super::queue::Queue`].
    pub nb_qtype: Cell<c_uint>,
    pub nb_callbacks: Cell<Object<m0_net_buffer_callbacks>>,
    pub nb_timeout: Cell<m0_time_t>,
    pub nb_add_time: Cell<m0_time_t>,
    pub nb_desc: Cell<m0_net_buf_desc>,
    pub nb_ep: Cell<Object<m0_net_end_point>>,
    pub nb_tm_linkage: m0_tlink,
    pub nb_lru: m0_tlink,
    pub nb_extern_linkage: m0_tlink,
    pub nb_magic: Cell<u64>,
    pub nb_dom_linkage: m0_list_link,
    pub nb_xprt_private: Cell<*mut c_void>,
    pub nb_app_private: Cell<*mut c_void>,
    /// A combination of [`buf_flags`].
    pub nb_flags: Cell<u64>,
    pub nb_min_receive_size: Cell<m0_bcount_t>,
    pub nb_max_receive_msgs: Cell<u32>,
    pub nb_pool: Cell<Object<m0_net_buffer_pool>>,
    pub nb_msgs_received: Cell<u32>,
}

/// An event of a buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "net/net.h documents them")]
pub struct m0_net_buffer_event {
    pub nbe_buffer: Object<m0_net_buffer>,
    pub nbe_time: m0_time_t,
    pub nbe_status: i32,
    pub nbe_length: m0_bcount_t,
    pub nbe_offset: m0_bcount_t,
    pub nbe_ep: Object<m0_net_end_point>,
}

/// The callbacks of a buffer, one for each queue.
#[repr(C)]
#[derive(Debug)]
pub struct m0_net_buffer_callbacks {
    /// The callbacks, by the numbers of the queues.
    pub nbc_cb: [Option<extern "C" fn(Object<m0_net_buffer_event>)>; QUEUES],
}

/// The statistics of a queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "net/net.h documents them")]
pub struct m0_net_qstats {
    pub nqs_num_adds: u64,
    pub nqs_num_dels: u64,
    pub nqs_num_s_events: u64,
    pub nqs_num_f_events: u64,
    pub nqs_time_in_queue: m0_time_t,
    pub nqs_total_bytes: u64,
    pub nqs_max_bytes: u64,
}

/// The callbacks of a pool.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "net/buffer_pool.h documents them")]
pub struct m0_net_buffer_pool_ops {
    pub nbpo_not_empty: Option<extern "C" fn(Object<m0_net_buffer_pool>)>,
    pub nbpo_below_threshold: Option<extern "C" fn(Object<m0_net_buffer_pool>)>,
}

/// A pool of registered buffers that are not in use.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "net/buffer_pool.h documents them")]
pub struct m0_net_buffer_pool {
    pub nbp_free: Cell<u32>,
    pub nbp_threshold: Cell<u32>,
    pub nbp_seg_nr: Cell<u32>,
    pub nbp_buf_nr: Cell<u32>,
    pub nbp_seg_size: Cell<m0_bcount_t>,
    pub nbp_mutex: m0_mutex,
    pub nbp_ndom: Cell<Object<m0_net_domain>>,
    pub nbp_ops: Cell<Object<m0_net_buffer_pool_ops>>,
    pub nbp_colours_nr: Cell<u32>,
    pub nbp_colours: Cell<Object<m0_tl>>,
    pub nbp_align: Cell<c_uint>,
    pub nbp_dont_dump: Cell<bool>,
    pub nbp_lru: m0_tl,
}
