//! The C types of the API, with the sizes and offsets of `v2_10_0` (c-abi 2 and 5).
//!
//! The names are C's, because the headers are generated from these items. An enum that comes *in* from C
//! is a plain number (`Enum...`), since C may pass any; an enum that goes out is the Rust enum.
#![allow(non_camel_case_types, non_snake_case)]

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

/// A type of `linux/types.h` in C.
pub type __u8 = u8;
/// A type of `linux/types.h` in C.
pub type __u16 = u16;
/// A type of `linux/types.h` in C.
pub type __u32 = u32;
/// A type of `linux/types.h` in C.
pub type __s32 = i32;
/// A type of `linux/types.h` in C.
pub type __u64 = u64;
/// `bool` in C, where it may hold any byte.
pub type Flag = u8;
/// `volatile unsigned long` in C.
pub type volatile_ulong = c_ulong;

/// A network interface: the network in the upper 32 bits, the address on it in the lower 32 bits, both
/// in host byte order. LNET_NID_ANY stands for any.
pub type lnet_nid_t = __u64;
/// A process on a node. LNET_PID_ANY stands for any.
pub type lnet_pid_t = __u32;

/// An `enum lnet_unlink` from C: any number.
pub type EnumUnlink = c_uint;
/// An `enum lnet_ins_pos` from C: any number.
pub type EnumInsPos = c_uint;
/// An `enum lnet_ack_req` from C: any number.
pub type EnumAckReq = c_uint;

/// The cookie of a handle that names nothing (LNET_WIRE_HANDLE_COOKIE_NONE in C).
pub(crate) const COOKIE_NONE: u64 = u64::MAX;
/// `LNET_NID_ANY` in C.
pub(crate) const NID_ANY: lnet_nid_t = lnet_nid_t::MAX;
/// `LNET_PID_ANY` in C.
pub(crate) const PID_ANY: lnet_pid_t = lnet_pid_t::MAX;

/// A process on a node, as an address.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lnet_process_id {
    /// The NID of the node's interface.
    pub nid: lnet_nid_t,
    /// The process on the node.
    pub pid: lnet_pid_t,
}

/// The handle of a memory descriptor. Opaque; never reused while the network is up.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lnet_handle_md {
    /// Opaque; all ones is no handle.
    pub cookie: __u64,
}

/// The handle of a match entry. Opaque; never reused while the network is up.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lnet_handle_me {
    /// Opaque; all ones is no handle.
    pub cookie: __u64,
}

/// The handle of an event queue. Opaque; never reused while the network is up.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct lnet_handle_eq {
    /// Opaque; all ones is no handle.
    pub cookie: __u64,
}

/// Whether an object is unlinked automatically when it is exhausted.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum lnet_unlink {
    /// The object stays until it is unlinked by a call.
    LNET_RETAIN = 0,
    /// The object is unlinked automatically.
    LNET_UNLINK = 1,
}

/// The position of a new match entry among the existing ones.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum lnet_ins_pos {
    /// Before the others.
    LNET_INS_BEFORE = 0,
    /// After the others.
    LNET_INS_AFTER = 1,
    /// After the others, where the calling CPU finds it first.
    LNET_INS_LOCAL = 2,
}

/// Whether a PUT asks for an acknowledgement. Note that 0 asks for one.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum lnet_ack_req {
    /// The PUT asks for an acknowledgement.
    LNET_ACK_REQ = 0,
    /// The PUT does not ask for an acknowledgement.
    LNET_NOACK_REQ = 1,
}

/// The type of an event.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum lnet_event_kind {
    /// Data of this MD was fetched by a peer; the REPLY has been sent.
    LNET_EVENT_GET = 1,
    /// Data has been put into this MD.
    LNET_EVENT_PUT = 2,
    /// The data that LNetGet requested is in this MD.
    LNET_EVENT_REPLY = 3,
    /// The target of an LNetPut has the data.
    LNET_EVENT_ACK = 4,
    /// A PUT or GET has been sent, or has failed: the memory of a PUT is free again.
    LNET_EVENT_SEND = 5,
    /// The MD was unlinked while nothing was in progress: by a call (status 0), or because the response that it
    /// waited for did not come in time (status -ETIMEDOUT).
    LNET_EVENT_UNLINK = 6,
}

/// The kinds of message on the wire.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum lnet_msg_type {
    /// The acknowledgement of a PUT.
    LNET_MSG_ACK = 0,
    /// Data for the target.
    LNET_MSG_PUT = 1,
    /// A request for the target's data.
    LNET_MSG_GET = 2,
    /// The data that a GET requested.
    LNET_MSG_REPLY = 3,
    /// Part of the oldest handshake, never a message.
    LNET_MSG_HELLO = 4,
}

/// Describes memory and the operations that may use it. The structure, and the fragment array it may point to,
/// are copied by LNetMDAttach and LNetMDBind; the memory itself is borrowed until the last event of the
/// MD, which has `unlinked` set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lnet_md {
    /// The memory; or an array of fragments with LNET_MD_KIOV or LNET_MD_IOVEC.
    pub start: *mut c_void,
    /// The number of bytes; or of fragments with LNET_MD_KIOV or LNET_MD_IOVEC, at most LNET_MAX_IOV.
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
    /// The queue for the MD's events; an invalid handle for none.
    pub eq_handle: lnet_handle_eq,
    /// Valid with LNET_MD_BULK_HANDLE: an MD whose best interface is preferred.
    pub bulk_handle: lnet_handle_md,
}

/// One fragment of an MD with LNET_MD_KIOV. In user space a page is its address.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lnet_kiov {
    /// The address of the page.
    pub kiov_page: *mut page,
    /// The number of bytes.
    pub kiov_len: c_uint,
    /// The offset of these bytes in the page.
    pub kiov_offset: c_uint,
}

/// An opaque page; its address is the address of its memory.
#[repr(C)]
#[derive(Debug)]
pub struct page {
    _opaque: [u8; 0],
}

/// An event of a memory descriptor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lnet_event {
    /// The process that the message was sent to.
    pub target: lnet_process_id,
    /// The sender, by the primary NID of its node: an identity, not an address for responses. If that NID has an address of 16 bytes, the
    /// NID of source is here.
    pub initiator: lnet_process_id,
    /// The interface that the message was sent from: the address for responses. LNET_NID_ANY if it has an address of 16 bytes: only programs
    /// with the API of 2.17 can respond there.
    pub source: lnet_process_id,
    /// The previous hop: a router, or the same as source.
    pub sender: lnet_nid_t,
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
    /// The memory descriptor when the operation started, with the operation already subtracted from its threshold.
    pub md: lnet_md,
    /// The 64 bits that the initiator of a PUT has given.
    pub hdr_data: __u64,
    /// 0, or a negative errno.
    pub status: c_int,
    /// Not 0: this is the last event of the MD, its handle is invalid and its memory free.
    pub unlinked: c_int,
    /// The offset of the data in the MD, in bytes.
    pub offset: c_uint,
    /// The number of the event in its queue, from 1; 0 if the queue keeps none.
    pub sequence: volatile_ulong,
}

/// Called for each event of a queue, on a thread of the library or on a thread that is inside an LNet call;
/// never at the same time for two events of one MD. The event is valid until the handler returns.
///
/// A handler should return soon, but need not: the messages that it sends leave while it runs, and it may wait for their events
/// by means of the program (LNetEQWait is refused), but not for a further event of its own MD, which comes after
/// it. If it runs on a thread that serves connections, another thread replaces that after some milliseconds, and the
/// other peers of the node, and other messages of the same peer, are served; so 64 handlers may take long at the same
/// time. A handler for an operation that failed or timed out may run on a thread that connects, resends and
/// discovers: these activities wait for it, established connections do not. LNetNIFini waits for every handler.
pub type lnet_eq_handler_t = Option<unsafe extern "C" fn(event: *mut lnet_event)>;

/// The counters of a node since it started.
#[repr(C, packed)]
#[derive(Clone, Copy, Debug, Default)]
pub struct lnet_counters {
    /// The number of messages in the node now.
    pub msgs_alloc: __u32,
    /// The highest number of messages at the same time.
    pub msgs_max: __u32,
    /// Messages that could not be sent or understood.
    pub errors: __u32,
    /// Messages sent.
    pub send_count: __u32,
    /// Messages received.
    pub recv_count: __u32,
    /// Messages forwarded.
    pub route_count: __u32,
    /// Messages dropped.
    pub drop_count: __u32,
    /// Bytes sent.
    pub send_length: __u64,
    /// Bytes received.
    pub recv_length: __u64,
    /// Bytes forwarded.
    pub route_length: __u64,
    /// Bytes dropped.
    pub drop_length: __u64,
}

/// An interface of the node; opaque, and there is no way to get one.
#[repr(C)]
#[derive(Debug)]
pub struct lnet_ni {
    _opaque: [u8; 0],
}

/// The CPU partitions of the node; opaque.
#[repr(C)]
#[derive(Debug)]
pub struct cfs_cpt_table {
    _opaque: [u8; 0],
}

/// A doubly linked circular list, as in Linux: the head has the same form as the links.
// cbindgen does not know what `Self` means here.
#[allow(clippy::use_self)]
#[repr(C)]
#[derive(Debug)]
pub struct list_head {
    /// The next link, or the head.
    pub next: *mut list_head,
    /// The previous link, or the head.
    pub prev: *mut list_head,
}

/// A piece of a string, not terminated.
#[repr(C)]
#[derive(Debug)]
pub struct cfs_lstr {
    /// The first character; NULL if the piece is absent.
    pub ls_str: *mut c_char,
    /// The number of characters.
    pub ls_len: c_int,
}

/// A range of a numeric expression: every re_stride-th number from re_lo to re_hi.
#[repr(C)]
#[derive(Debug)]
pub struct cfs_range_expr {
    /// The link in cfs_expr_list.el_exprs.
    pub re_link: list_head,
    /// The first number.
    pub re_lo: __u32,
    /// The last number, inclusive.
    pub re_hi: __u32,
    /// The step.
    pub re_stride: __u32,
}

/// A numeric expression: `[1-5,8,10-20/2]`, `7` or `*`.
#[repr(C)]
#[derive(Debug)]
pub struct cfs_expr_list {
    /// The link in a list of expressions, for instance the four of an IPv4 address.
    pub el_link: list_head,
    /// The ranges.
    pub el_exprs: list_head,
}

/// The start of every LNetCtl argument.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct libcfs_ioctl_hdr {
    /// The number of bytes of the whole argument, including this header.
    pub ioc_len: __u32,
    /// LIBCFS_IOCTL_VERSION or LIBCFS_IOCTL_VERSION2.
    pub ioc_version: __u32,
}

/// The argument of the commands of version 1. Two inline buffers may follow it, each padded to 8 bytes.
#[repr(C)]
#[derive(Debug)]
pub struct libcfs_ioctl_data {
    /// The header.
    pub ioc_hdr: libcfs_ioctl_hdr,
    /// A NID.
    pub ioc_nid: __u64,
    /// Meaning depends on the command.
    pub ioc_u64: [__u64; 1],
    /// Meaning depends on the command.
    pub ioc_flags: __u32,
    /// An index or a count.
    pub ioc_count: __u32,
    /// A network.
    pub ioc_net: __u32,
    /// Meaning depends on the command.
    pub ioc_u32: [__u32; 7],
    /// The number of bytes of the first inline buffer.
    pub ioc_inllen1: __u32,
    /// The first inline buffer.
    pub ioc_inlbuf1: *mut c_char,
    /// The number of bytes of the second inline buffer.
    pub ioc_inllen2: __u32,
    /// The second inline buffer.
    pub ioc_inlbuf2: *mut c_char,
    /// Bytes of the first buffer that is elsewhere.
    pub ioc_plen1: __u32,
    /// The first buffer that is elsewhere.
    pub ioc_pbuf1: *mut c_void,
    /// Bytes of the second buffer that is elsewhere.
    pub ioc_plen2: __u32,
    /// The second buffer that is elsewhere.
    pub ioc_pbuf2: *mut c_void,
}

/// The argument of IOC_LIBCFS_SET_NUMA_RANGE and IOC_LIBCFS_GET_NUMA_RANGE.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lnet_ioctl_numa_range {
    /// The header.
    pub nr_hdr: libcfs_ioctl_hdr,
    /// The distance up to which interfaces count as equally near.
    pub nr_range: __u32,
}

/// The argument of IOC_LIBCFS_GET_LNET_STATS.
#[repr(C, packed)]
#[derive(Clone, Copy, Debug)]
pub struct lnet_ioctl_lnet_stats {
    /// The header.
    pub st_hdr: libcfs_ioctl_hdr,
    /// The counters of the node.
    pub st_cntrs: lnet_counters,
}

/// The argument of IOC_LIBCFS_PING_PEER and IOC_LIBCFS_DISCOVER.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lnet_ioctl_ping_data {
    /// The header.
    pub ping_hdr: libcfs_ioctl_hdr,
    /// In: the timeout in milliseconds; for a discovery, 1: push to the peer even if it is up to date.
    pub op_param: __u32,
    /// In: the number of elements of ping_buf. Out: the number of interfaces.
    pub ping_count: __u32,
    /// Not used.
    pub ping_flags: __u32,
    /// Out: the peer is multi-rail.
    pub mr_info: Flag,
    /// In: the target. Out of a discovery: its primary NID.
    pub ping_id: lnet_process_id,
    /// Out: the interfaces of the peer.
    pub ping_buf: *mut lnet_process_id,
}

macro_rules! layout {
    ($($name:ident $size:literal { $($field:ident $offset:literal),* })*) => {
        const _: () = {
            $(
                assert!(size_of::<$name>() == $size);
                $(assert!(std::mem::offset_of!($name, $field) == $offset);)*
            )*
        };
    };
}

// The tables of c-abi. `c-tests/layout.c` checks the headers against the same numbers.
layout! {
    lnet_process_id 16 { nid 0, pid 8 }
    lnet_handle_md 8 { cookie 0 }
    lnet_md 48 { start 0, length 8, threshold 12, max_size 16, options 20, user_ptr 24, eq_handle 32, bulk_handle 40 }
    lnet_kiov 16 { kiov_page 0, kiov_len 8, kiov_offset 12 }
    lnet_event 168 {
        target 0, initiator 16, source 32, sender 48, r#type 56, pt_index 60, match_bits 64, rlength 72, mlength 76,
        md_handle 80, md 88, hdr_data 136, status 144, unlinked 148, offset 152, sequence 160
    }
    lnet_counters 60 { send_length 28 }
    libcfs_ioctl_data 128 {
        ioc_nid 8, ioc_u64 16, ioc_flags 24, ioc_count 28, ioc_net 32, ioc_u32 36, ioc_inllen1 64, ioc_inlbuf1 72,
        ioc_inllen2 80, ioc_inlbuf2 88, ioc_plen1 96, ioc_pbuf1 104, ioc_plen2 112, ioc_pbuf2 120
    }
    lnet_ioctl_numa_range 12 { nr_range 8 }
    lnet_ioctl_lnet_stats 68 { st_cntrs 8 }
    lnet_ioctl_ping_data 48 { op_param 8, ping_count 12, ping_flags 16, mr_info 20, ping_id 24, ping_buf 40 }
}
