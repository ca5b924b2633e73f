//! The C API, as far as it is used, by this crate and by crates that have descriptors of their own.
#![allow(unreachable_pub, dead_code, non_camel_case_types, missing_docs)]

/// The C types. This file is a link to that of the library, from which `lnet/types.h` is generated.
#[path = "types.rs"]
mod types;

pub use types::{
    lnet_counters, lnet_event, lnet_event_kind, lnet_handle_eq, lnet_handle_md, lnet_handle_me,
    lnet_ioctl_ping_data, lnet_md, lnet_nid_t, lnet_pid_t, lnet_process_id,
};

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
use types::{EnumAckReq, EnumInsPos, EnumUnlink, lnet_eq_handler_t};

pub const LNET_RETAIN: EnumUnlink = 0;
pub const LNET_UNLINK: EnumUnlink = 1;
pub const LNET_INS_AFTER: EnumInsPos = 1;
pub const LNET_ACK_REQ: EnumAckReq = 0;
pub const LNET_NOACK_REQ: EnumAckReq = 1;

pub const LNET_NID_ANY: lnet_nid_t = lnet_nid_t::MAX;
pub const LNET_PID_ANY: lnet_pid_t = lnet_pid_t::MAX;
pub const LNET_PID_LUSTRE: lnet_pid_t = 12345;
pub const COOKIE_NONE: u64 = u64::MAX;

pub const LNET_MD_OP_PUT: c_uint = 1 << 0;
pub const LNET_MD_OP_GET: c_uint = 1 << 1;
pub const LNET_MD_MANAGE_REMOTE: c_uint = 1 << 2;
pub const LNET_MD_TRUNCATE: c_uint = 1 << 4;
pub const LNET_MD_IOVEC: c_uint = 1 << 6;
pub const LNET_MD_MAX_SIZE: c_uint = 1 << 7;
pub const LNET_MD_BULK_HANDLE: c_uint = 1 << 9;
pub const LNET_MD_THRESH_INF: c_int = -1;

/// Number of bytes of the text of a NID, with the terminator.
pub const LNET_NIDSTR_SIZE: usize = 32;
/// Number of bytes that one message carries at most.
pub const LNET_MTU: usize = 1 << 20;

pub const IOC_LIBCFS_DISCOVER: c_uint = 0xc008_654d;

// SAFETY: the declarations are those of the library's headers (`include/lnet/api.h`). A `safe` one takes numbers, which the library checks,
// and references to results: a handle that names nothing is an error number, as is a call before `LNetNIInit`.
unsafe extern "C" {
    pub safe fn LNetNIInit(requested_pid: lnet_pid_t) -> c_int;
    pub safe fn LNetNIFini() -> c_int;
    pub safe fn LNetGetId(index: c_uint, id: &mut lnet_process_id) -> c_int;
    pub safe fn LNetDist(nid: lnet_nid_t, source: &mut lnet_nid_t, order: &mut u32) -> c_int;
    pub safe fn LNetPrimaryNID(nid: lnet_nid_t) -> lnet_nid_t;
    pub fn LNetAddPeer(nids: *mut lnet_nid_t, count: u32) -> c_int;
    pub safe fn LNetMEAttach(
        portal: c_uint,
        match_id: lnet_process_id,
        match_bits: u64,
        ignore_bits: u64,
        unlink: EnumUnlink,
        position: EnumInsPos,
        handle: &mut lnet_handle_me,
    ) -> c_int;
    pub safe fn LNetMEUnlink(me: lnet_handle_me) -> c_int;
    pub fn LNetMDAttach(
        me: lnet_handle_me,
        md: lnet_md,
        unlink: EnumUnlink,
        handle: *mut lnet_handle_md,
    ) -> c_int;
    pub fn LNetMDBind(md: lnet_md, unlink: EnumUnlink, handle: *mut lnet_handle_md) -> c_int;
    pub safe fn LNetMDUnlink(md: lnet_handle_md) -> c_int;
    pub fn LNetEQAlloc(count: c_uint, handler: lnet_eq_handler_t, handle: *mut lnet_handle_eq) -> c_int;
    pub safe fn LNetEQFree(eq: lnet_handle_eq) -> c_int;
    pub fn LNetEQPoll(
        eqs: *mut lnet_handle_eq,
        count: c_int,
        timeout_ms: c_long,
        event: *mut lnet_event,
        which: *mut c_int,
    ) -> c_int;
    pub safe fn LNetPut(
        self_nid: lnet_nid_t,
        md: lnet_handle_md,
        ack: EnumAckReq,
        target: lnet_process_id,
        portal: c_uint,
        match_bits: u64,
        offset: c_uint,
        hdr_data: u64,
    ) -> c_int;
    pub safe fn LNetGet(
        self_nid: lnet_nid_t,
        md: lnet_handle_md,
        target: lnet_process_id,
        portal: c_uint,
        match_bits: u64,
        offset: c_uint,
    ) -> c_int;
    pub safe fn LNetSetLazyPortal(portal: c_int) -> c_int;
    pub safe fn LNetClearLazyPortal(portal: c_int) -> c_int;
    pub safe fn LNetClaimBits(portal: c_uint, match_bits: u64, ignore_bits: u64) -> c_int;
    pub safe fn LNetReleaseBits(portal: c_uint, match_bits: u64, ignore_bits: u64) -> c_int;
    pub safe fn lnet_counters_get(counters: &mut lnet_counters);
    pub fn LNetCtl(command: c_uint, argument: *mut c_void) -> c_int;
    pub fn LNetMemAlloc(length: usize) -> *mut c_void;
    pub fn LNetMemFree(memory: *mut c_void) -> c_int;
    pub fn libcfs_str2nid(text: *const c_char) -> lnet_nid_t;
    pub fn libcfs_nid2str_r(nid: lnet_nid_t, text: *mut c_char, size: usize) -> *mut c_char;
}

impl lnet_ioctl_ping_data {
    /// Makes the argument of a query about that peer, whose NIDs go into `nids`.
    pub fn whose(peer: lnet_process_id, version: u32, nids: &mut [lnet_process_id]) -> Self {
        Self {
            ping_hdr: types::libcfs_ioctl_hdr { ioc_len: size_of::<Self>() as u32, ioc_version: version },
            op_param: 0,
            ping_count: nids.len() as u32,
            ping_flags: 0,
            mr_info: 0,
            ping_id: peer,
            ping_buf: nids.as_mut_ptr(),
        }
    }
}
