//! What libibverbs and librdmacm declare, as far as this driver needs it: stable ABIs, `IBVERBS_1.1` and `RDMACM_1.0`.
//!
//! Structures of which the driver reads only the beginning end there: the libraries make them, and the driver has pointers only.
//! `layout_tests` compares sizes and offsets with the C headers, where they are installed.
#![allow(non_camel_case_types, missing_docs, clippy::use_self)]

use libc::{c_int, c_void, sockaddr, sockaddr_in};

pub(super) enum ibv_device {}
pub(super) enum ibv_srq {}

#[repr(C)]
pub(super) struct ibv_context {
    pub(super) device: *mut ibv_device,
    pub(super) ops: ibv_context_ops,
    pub(super) cmd_fd: c_int,
    pub(super) async_fd: c_int,
    num_comp_vectors: c_int,
    mutex: libc::pthread_mutex_t,
    pub(super) abi_compat: *mut c_void,
}

/// The mark of a context that is the last member of a [`verbs_context`].
pub(super) const ABI_IS_EXTENDED: usize = usize::MAX;

/// A context with functions that were added later, from the one that is used here on.
#[repr(C)]
pub(super) struct verbs_context {
    pub(super) query_device_ex: Option<
        unsafe extern "C" fn(*mut ibv_context, *const c_void, *mut ibv_device_attr_ex, usize) -> c_int,
    >,
    after_query_device_ex: [Unused; 10],
    placeholder: u64,
    /// The size of what the provider has of the structure.
    pub(super) sz: usize,
    pub(super) context: ibv_context,
}

type Unused = *const c_void;

/// The functions that the header makes inline calls of.
#[repr(C)]
pub(super) struct ibv_context_ops {
    before_poll_cq: [Unused; 11],
    pub(super) poll_cq: Option<unsafe extern "C" fn(*mut ibv_cq, c_int, *mut ibv_wc) -> c_int>,
    pub(super) req_notify_cq: Option<unsafe extern "C" fn(*mut ibv_cq, c_int) -> c_int>,
    before_post_send: [Unused; 12],
    pub(super) post_send:
        Option<unsafe extern "C" fn(*mut ibv_qp, *mut ibv_send_wr, *mut *mut ibv_send_wr) -> c_int>,
    pub(super) post_recv:
        Option<unsafe extern "C" fn(*mut ibv_qp, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int>,
    after_post_recv: [Unused; 5],
}

#[repr(C)]
pub(super) struct ibv_pd {
    context: *mut ibv_context,
    handle: u32,
}

#[repr(C)]
pub(super) struct ibv_comp_channel {
    context: *mut ibv_context,
    pub(super) fd: c_int,
}

#[repr(C)]
pub(super) struct ibv_cq {
    pub(super) context: *mut ibv_context,
    channel: *mut ibv_comp_channel,
    cq_context: *mut c_void,
    handle: u32,
    pub(super) cqe: c_int,
}

#[repr(C)]
pub(super) struct ibv_qp {
    pub(super) context: *mut ibv_context,
}

#[repr(C)]
pub(super) struct ibv_mr {
    context: *mut ibv_context,
    pd: *mut ibv_pd,
    addr: *mut c_void,
    length: usize,
    handle: u32,
    pub(super) lkey: u32,
    pub(super) rkey: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct ibv_sge {
    pub(super) addr: u64,
    pub(super) length: u32,
    pub(super) lkey: u32,
}

/// A send work request; the unions have their first members only, and room for the others.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct ibv_send_wr {
    pub(super) wr_id: u64,
    pub(super) next: *mut ibv_send_wr,
    pub(super) sg_list: *mut ibv_sge,
    pub(super) num_sge: c_int,
    pub(super) opcode: c_int,
    pub(super) send_flags: u32,
    pub(super) imm_data: u32,
    pub(super) remote_addr: u64,
    pub(super) rkey: u32,
    pub(super) rest: [u32; 19],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct ibv_recv_wr {
    pub(super) wr_id: u64,
    pub(super) next: *mut ibv_recv_wr,
    pub(super) sg_list: *mut ibv_sge,
    pub(super) num_sge: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct ibv_wc {
    pub(super) wr_id: u64,
    pub(super) status: c_int,
    pub(super) opcode: c_int,
    pub(super) vendor_err: u32,
    pub(super) byte_len: u32,
    imm_data: u32,
    qp_num: u32,
    src_qp: u32,
    wc_flags: u32,
    pkey_index: u16,
    slid: u16,
    sl: u8,
    dlid_path_bits: u8,
}

#[repr(C)]
pub(super) struct ibv_qp_cap {
    pub(super) max_send_wr: u32,
    pub(super) max_recv_wr: u32,
    pub(super) max_send_sge: u32,
    pub(super) max_recv_sge: u32,
    pub(super) max_inline_data: u32,
}

#[repr(C)]
pub(super) struct ibv_qp_init_attr {
    pub(super) qp_context: *mut c_void,
    pub(super) send_cq: *mut ibv_cq,
    pub(super) recv_cq: *mut ibv_cq,
    pub(super) srq: *mut ibv_srq,
    pub(super) cap: ibv_qp_cap,
    pub(super) qp_type: c_int,
    pub(super) sq_sig_all: c_int,
}

#[repr(C)]
pub(super) struct ibv_device_attr {
    fw_ver: [u8; 64],
    guids: [u64; 2],
    max_mr_size: u64,
    page_size_cap: u64,
    vendor: [u32; 3],
    max_qp: c_int,
    pub(super) max_qp_wr: c_int,
    device_cap_flags: u32,
    pub(super) max_sge: c_int,
    max_sge_rd: c_int,
    max_cq: c_int,
    pub(super) max_cqe: c_int,
    rest: [u32; 24],
}

#[repr(C)]
pub(super) struct ibv_device_attr_ex {
    orig_attr: ibv_device_attr,
    comp_mask: u32,
    pub(super) odp_general_caps: u64,
    pub(super) odp_rc_caps: u32,
    rest: [u32; 37],
}

#[repr(C)]
pub(super) struct ibv_port_attr {
    pub(super) state: c_int,
    max_mtu: c_int,
    active_mtu: c_int,
    pub(super) gid_tbl_len: c_int,
    rest: [u32; 9],
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ibv_gid(pub(super) [u8; 16]);

#[repr(C)]
pub(super) struct ibv_async_event {
    pub(super) port_num: u64,
    pub(super) event_type: c_int,
}

#[repr(C)]
pub(super) struct rdma_event_channel {
    pub(super) fd: c_int,
}

/// An address of up to 128 bytes, of which the beginning is an IPv4 address.
#[repr(C)]
pub(super) struct rdma_sockaddr {
    pub(super) sin: sockaddr_in,
    rest: [u64; 14],
}

#[repr(C)]
pub(super) struct rdma_route {
    pub(super) src: rdma_sockaddr,
    pub(super) dst: rdma_sockaddr,
    pub(super) sgid: ibv_gid,
    dgid: ibv_gid,
    pkey: u16,
    path_rec: *mut c_void,
    num_paths: c_int,
}

#[repr(C)]
pub(super) struct rdma_cm_id {
    pub(super) verbs: *mut ibv_context,
    channel: *mut rdma_event_channel,
    pub(super) context: *mut c_void,
    pub(super) qp: *mut ibv_qp,
    pub(super) route: rdma_route,
    ps: c_int,
    pub(super) port_num: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct rdma_conn_param {
    pub(super) private_data: *const c_void,
    pub(super) private_data_len: u8,
    pub(super) responder_resources: u8,
    pub(super) initiator_depth: u8,
    pub(super) flow_control: u8,
    pub(super) retry_count: u8,
    pub(super) rnr_retry_count: u8,
    pub(super) srq: u8,
    pub(super) qp_num: u32,
}

#[repr(C)]
pub(super) struct rdma_cm_event {
    pub(super) id: *mut rdma_cm_id,
    pub(super) listen_id: *mut rdma_cm_id,
    pub(super) event: c_int,
    pub(super) status: c_int,
    pub(super) conn: rdma_conn_param,
}

/// `enum rdma_cm_event_type`.
pub(super) mod cm_event {
    use libc::c_int;
    pub(crate) const ADDR_RESOLVED: c_int = 0;
    pub(crate) const ADDR_ERROR: c_int = 1;
    pub(crate) const ROUTE_RESOLVED: c_int = 2;
    pub(crate) const ROUTE_ERROR: c_int = 3;
    pub(crate) const CONNECT_REQUEST: c_int = 4;
    pub(crate) const CONNECT_ERROR: c_int = 6;
    pub(crate) const UNREACHABLE: c_int = 7;
    pub(crate) const REJECTED: c_int = 8;
    pub(crate) const ESTABLISHED: c_int = 9;
    pub(crate) const DISCONNECTED: c_int = 10;
    pub(crate) const DEVICE_REMOVAL: c_int = 11;
}

/// `enum ibv_event_type`.
pub(super) mod async_event {
    use libc::c_int;
    pub(crate) const DEVICE_FATAL: c_int = 8;
    pub(crate) const PORT_ACTIVE: c_int = 9;
    pub(crate) const PORT_ERR: c_int = 10;
    pub(crate) const GID_CHANGE: c_int = 18;
}

/// `enum ibv_wc_status`.
pub(super) mod status {
    use libc::c_int;
    pub(crate) const SUCCESS: c_int = 0;
    pub(crate) const WR_FLUSH_ERR: c_int = 5;
    pub(crate) const REM_INV_REQ_ERR: c_int = 9;
    pub(crate) const REM_ACCESS_ERR: c_int = 10;
    pub(crate) const REM_OP_ERR: c_int = 11;
    pub(crate) const RETRY_EXC_ERR: c_int = 12;
    pub(crate) const RNR_RETRY_EXC_ERR: c_int = 13;
}

pub(super) const IBV_WR_RDMA_WRITE: c_int = 0;
pub(super) const IBV_WR_SEND: c_int = 2;
pub(super) const IBV_SEND_SIGNALED: u32 = 2;
pub(super) const IBV_QPT_RC: c_int = 2;
pub(super) const IBV_PORT_ACTIVE: c_int = 4;
pub(super) const IBV_ACCESS_LOCAL_WRITE: c_int = 1;
pub(super) const IBV_ACCESS_REMOTE_WRITE: c_int = 2;
pub(super) const IBV_ACCESS_ON_DEMAND: c_int = 1 << 6;
pub(super) const IBV_ODP_SUPPORT: u64 = 1;
pub(super) const IBV_ODP_SUPPORT_SEND: u32 = 1;
pub(super) const IBV_ODP_SUPPORT_WRITE: u32 = 1 << 2;
pub(super) const RDMA_PS_TCP: c_int = 0x0106;
pub(super) const RDMA_OPTION_ID: c_int = 0;
pub(super) const RDMA_OPTION_ID_REUSEADDR: c_int = 1;

/// The address as the libraries take it.
pub(super) const fn as_sockaddr(address: &mut sockaddr_in) -> *mut sockaddr {
    std::ptr::from_mut(address).cast()
}
