//! The C types that 2.15 has and 2.10 has not, with sizes and offsets of `2.15.8` (c-abi 4.2).
//!
//! A type that 2.10 has, too, ends in `_2_15` here; the headers have it without.
#![allow(non_camel_case_types, non_snake_case)]

use crate::types::{__u8, __u32, __u64, lnet_event_kind, lnet_handle_md, lnet_pid_t, volatile_ulong};
use std::ffi::{c_int, c_uint, c_void};

/// A type of `linux/types.h` in C: in network byte order.
pub type __be16 = u16;
/// A type of `linux/types.h` in C: in network byte order.
pub type __be32 = u32;

/// A network interface, with an address of 4 or 16 bytes. The NID of an interface with a 4-byte address has in its first 8 bytes what
/// lnet_nid_t has, in network byte order. LNET_NID_IS_ANY tells whether it stands for any.
#[repr(C, packed)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lnet_nid {
    /// The number of bytes that are used, less 8: 0 or 12.
    pub nid_size: __u8,
    /// The type of the network: SOCKLND, O2IBLND, ...; 0xff for any NID.
    pub nid_type: __u8,
    /// The number of the network within its type.
    pub nid_num: __be16,
    /// The address, in the first element or in all four.
    pub nid_addr: [__be32; 4],
}

/// A process on a node, as an address.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lnet_processid {
    /// The NID of the node's interface.
    pub nid: lnet_nid,
    /// The process on the node.
    pub pid: lnet_pid_t,
}

/// Called for each event of the memory descriptors that name it, on a thread of the library or on a thread that is inside an LNet
/// call; never at the same time for two events of one MD, and with no lock of the library held. The event is valid until the handler
/// returns.
///
/// A handler should return soon, but need not: the messages that it sends leave while it runs, and it may wait for their events
/// by means of the program, but not for a further event of its own MD, which comes after it. If it runs on a thread that serves
/// connections, another thread replaces that after some milliseconds; 64 handlers may take long at the same time. LNetNIFini waits for
/// every handler.
pub type lnet_handler_t = Option<unsafe extern "C" fn(event: *mut lnet_event_2_15)>;

/// Describes memory and the operations that may use it. The structure, and the fragment array it may point to,
/// are copied by LNetMDAttach and LNetMDBind; the memory itself is borrowed until the last event of the
/// MD, which has `unlinked` set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lnet_md_2_15 {
    /// The memory; or an array of struct bio_vec with LNET_MD_KIOV.
    pub start: *mut c_void,
    /// The number of bytes; or of fragments with LNET_MD_KIOV, at most LNET_MAX_IOV.
    pub length: c_uint,
    /// The number of operations after which the MD is exhausted; LNET_MD_THRESH_INF for no limit. A PUT with an
    /// acknowledgement and a GET take two, every other operation one.
    pub threshold: c_int,
    /// Valid with LNET_MD_MAX_SIZE: the length of the longest message, and the free space below which the MD is exhausted.
    pub max_size: c_int,
    /// A combination of LNET_MD_* bits.
    pub options: c_uint,
    /// Data of the caller, which is part of every event.
    pub user_ptr: *mut c_void,
    /// The handler of the MD's events; NULL for none.
    pub handler: lnet_handler_t,
    /// Valid with LNET_MD_BULK_HANDLE: an MD whose best interface is preferred.
    pub bulk_handle: lnet_handle_md,
}

/// A match entry; opaque. The pointer is a handle, not an address.
#[repr(C)]
#[derive(Debug)]
pub struct lnet_me {
    _opaque: [u8; 0],
}

/// An event of a memory descriptor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lnet_event_2_15 {
    /// The process that the message was sent to.
    pub target: lnet_processid,
    /// The sender, by the primary NID of its node: an identity, not an address for responses.
    pub initiator: lnet_processid,
    /// The interface that the message was sent from: the address for responses.
    pub source: lnet_processid,
    /// The previous hop: a router, or the same as source.
    pub sender: lnet_nid,
    /// The type of the event.
    pub r#type: lnet_event_kind,
    /// The portal.
    pub pt_index: c_uint,
    /// The match bits, as given by the initiator.
    pub match_bits: __u64,
    /// The number of bytes requested.
    pub rlength: c_uint,
    /// The number of bytes moved.
    pub mlength: c_uint,
    /// The memory descriptor.
    pub md_handle: lnet_handle_md,
    /// The memory of the memory descriptor, as its maker has given it.
    pub md_start: *mut c_void,
    /// The data of the memory descriptor's maker.
    pub md_user_ptr: *mut c_void,
    /// The LNET_MD_* bits of the memory descriptor.
    pub md_options: c_uint,
    /// The 64 bits that the initiator of a PUT has given.
    pub hdr_data: __u64,
    /// The kind of the message that the event is about, an enum lnet_msg_type. No meaning in an LNET_EVENT_UNLINK.
    pub msg_type: __u32,
    /// 0, or a negative errno.
    pub status: c_int,
    /// Not 0: this is the last event of the MD, its handle is invalid and its memory free.
    pub unlinked: c_int,
    /// The offset of the data in the MD, in bytes.
    pub offset: c_uint,
    /// 0: there are no queues.
    pub sequence: volatile_ulong,
}
