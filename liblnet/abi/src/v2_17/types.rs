//! The C type that 2.17 has in another form than 2.15 (c-abi 4.2).
#![allow(non_camel_case_types)]

use crate::types::lnet_handle_md;
use crate::v2_15::types::lnet_handler_t;
use std::ffi::{c_int, c_uint, c_void};

/// Describes memory and the operations that may use it. The structure, and the fragment array it may point to,
/// are copied by LNetMDAttach and LNetMDBind; the memory itself is borrowed until the last event of the
/// MD, which has `unlinked` set.
// The layout is that of 2.15; only the names are others, so the functions are those of 2.15.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lnet_md_2_17 {
    /// The memory; or an array of struct bio_vec with LNET_MD_KIOV.
    pub umd_start: *mut c_void,
    /// The number of bytes; or of fragments with LNET_MD_KIOV, at most LNET_MAX_IOV.
    pub umd_length: c_uint,
    /// The number of operations after which the MD is exhausted; LNET_MD_THRESH_INF for no limit. A PUT with an
    /// acknowledgement and a GET take two, every other operation one.
    pub umd_threshold: c_int,
    /// Valid with LNET_MD_MAX_SIZE: the length of the longest message, and the free space below which the MD is exhausted.
    pub umd_max_size: c_int,
    /// A combination of LNET_MD_* bits.
    pub umd_options: c_uint,
    /// Data of the caller, which is part of every event.
    pub umd_user_ptr: *mut c_void,
    /// The handler of the MD's events; NULL for none.
    pub umd_handler: lnet_handler_t,
    /// Valid with LNET_MD_BULK_HANDLE: an MD whose best interface is preferred.
    pub umd_bulk_handle: lnet_handle_md,
}
