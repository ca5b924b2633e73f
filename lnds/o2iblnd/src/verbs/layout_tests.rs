//! The declarations are those of the C headers.

use super::ffi;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

/// Sizes and offsets of this crate, with the C expressions that give them.
fn table() -> Vec<(&'static str, usize)> {
    macro_rules! field {
        ($type:ident, $($field:ident).+) => {
            (concat!("offsetof(struct ", stringify!($type), ", ", stringify!($($field).+), ")"), offset_of!(ffi::$type, $($field).+))
        };
        ($type:ident, $field:ident, $c:literal) => {
            (concat!("offsetof(struct ", stringify!($type), ", ", $c, ")"), offset_of!(ffi::$type, $field))
        };
    }
    macro_rules! size {
        ($type:ident) => {
            (concat!("sizeof(struct ", stringify!($type), ")"), size_of::<ffi::$type>())
        };
    }
    vec![
        size!(ibv_context_ops),
        field!(ibv_context_ops, poll_cq),
        field!(ibv_context_ops, req_notify_cq),
        field!(ibv_context_ops, post_send),
        field!(ibv_context_ops, post_recv),
        field!(ibv_context, ops),
        field!(ibv_context, cmd_fd),
        field!(ibv_context, async_fd),
        field!(ibv_comp_channel, fd),
        field!(ibv_cq, cqe),
        field!(ibv_mr, lkey),
        field!(ibv_mr, rkey),
        size!(ibv_sge),
        size!(ibv_send_wr),
        field!(ibv_send_wr, opcode),
        field!(ibv_send_wr, send_flags),
        field!(ibv_send_wr, remote_addr, "wr.rdma.remote_addr"),
        field!(ibv_send_wr, rkey, "wr.rdma.rkey"),
        size!(ibv_recv_wr),
        size!(ibv_wc),
        field!(ibv_wc, status),
        field!(ibv_wc, byte_len),
        size!(ibv_qp_init_attr),
        field!(ibv_qp_init_attr, cap),
        field!(ibv_qp_init_attr, qp_type),
        size!(ibv_device_attr),
        field!(ibv_device_attr, max_qp_wr),
        field!(ibv_device_attr, max_sge),
        field!(ibv_device_attr, max_cqe),
        size!(ibv_device_attr_ex),
        field!(ibv_device_attr_ex, odp_general_caps, "odp_caps.general_caps"),
        field!(ibv_device_attr_ex, odp_rc_caps, "odp_caps.per_transport_caps.rc_odp_caps"),
        field!(ibv_context, abi_compat),
        size!(ibv_context),
        (
            "offsetof(struct verbs_context, context) - offsetof(struct verbs_context, query_device_ex)",
            offset_of!(ffi::verbs_context, context),
        ),
        (
            "offsetof(struct verbs_context, context) - offsetof(struct verbs_context, sz)",
            offset_of!(ffi::verbs_context, context) - offset_of!(ffi::verbs_context, sz),
        ),
        ("IBV_ACCESS_ON_DEMAND", ffi::IBV_ACCESS_ON_DEMAND as usize),
        ("IBV_ODP_SUPPORT", ffi::IBV_ODP_SUPPORT as usize),
        ("IBV_ODP_SUPPORT_SEND", ffi::IBV_ODP_SUPPORT_SEND as usize),
        ("IBV_ODP_SUPPORT_WRITE", ffi::IBV_ODP_SUPPORT_WRITE as usize),
        size!(ibv_port_attr),
        field!(ibv_port_attr, gid_tbl_len),
        size!(ibv_async_event),
        field!(ibv_async_event, event_type),
        ("sizeof(union ibv_gid)", size_of::<ffi::ibv_gid>()),
        field!(rdma_event_channel, fd),
        field!(rdma_cm_id, verbs),
        field!(rdma_cm_id, context),
        field!(rdma_cm_id, qp),
        field!(rdma_cm_id, route),
        field!(rdma_cm_id, port_num),
        size!(rdma_route),
        field!(rdma_route, src, "addr.src_addr"),
        field!(rdma_route, dst, "addr.dst_addr"),
        field!(rdma_route, sgid, "addr.addr.ibaddr.sgid"),
        size!(rdma_conn_param),
        field!(rdma_conn_param, private_data_len),
        field!(rdma_conn_param, retry_count),
        field!(rdma_conn_param, rnr_retry_count),
        field!(rdma_conn_param, qp_num),
        field!(rdma_cm_event, id),
        field!(rdma_cm_event, event),
        field!(rdma_cm_event, status),
        field!(rdma_cm_event, conn, "param.conn"),
        ("RDMA_CM_EVENT_CONNECT_REQUEST", ffi::cm_event::CONNECT_REQUEST as usize),
        ("RDMA_CM_EVENT_REJECTED", ffi::cm_event::REJECTED as usize),
        ("RDMA_CM_EVENT_ESTABLISHED", ffi::cm_event::ESTABLISHED as usize),
        ("RDMA_CM_EVENT_DISCONNECTED", ffi::cm_event::DISCONNECTED as usize),
        ("RDMA_CM_EVENT_DEVICE_REMOVAL", ffi::cm_event::DEVICE_REMOVAL as usize),
        ("IBV_EVENT_DEVICE_FATAL", ffi::async_event::DEVICE_FATAL as usize),
        ("IBV_EVENT_PORT_ACTIVE", ffi::async_event::PORT_ACTIVE as usize),
        ("IBV_EVENT_PORT_ERR", ffi::async_event::PORT_ERR as usize),
        ("IBV_EVENT_GID_CHANGE", ffi::async_event::GID_CHANGE as usize),
        ("IBV_WC_WR_FLUSH_ERR", ffi::status::WR_FLUSH_ERR as usize),
        ("IBV_WC_REM_ACCESS_ERR", ffi::status::REM_ACCESS_ERR as usize),
        ("IBV_WC_RETRY_EXC_ERR", ffi::status::RETRY_EXC_ERR as usize),
        ("IBV_WC_RNR_RETRY_EXC_ERR", ffi::status::RNR_RETRY_EXC_ERR as usize),
        ("IBV_WR_RDMA_WRITE", ffi::IBV_WR_RDMA_WRITE as usize),
        ("IBV_WR_SEND", ffi::IBV_WR_SEND as usize),
        ("IBV_SEND_SIGNALED", ffi::IBV_SEND_SIGNALED as usize),
        ("IBV_QPT_RC", ffi::IBV_QPT_RC as usize),
        ("IBV_PORT_ACTIVE", ffi::IBV_PORT_ACTIVE as usize),
        ("RDMA_OPTION_ID_REUSEADDR", ffi::RDMA_OPTION_ID_REUSEADDR as usize),
        ("RDMA_PS_TCP", ffi::RDMA_PS_TCP as usize),
    ]
}

#[test]
fn the_declarations_are_those_of_the_c_headers() {
    if !Path::new("/usr/include/rdma/rdma_cma.h").exists() {
        test_support::skip("no C headers of RDMA (libibverbs-dev, librdmacm-dev)");
        return;
    }
    let table = table();
    let checks =
        table.iter().map(|(c, value)| format!("_Static_assert({c} == {value}, \"{c} is not {value}\");\n"));
    let source = format!(
        "#include <stddef.h>\n#include <infiniband/verbs.h>\n#include <rdma/rdma_cma.h>\n{}",
        checks.collect::<String>()
    );
    let path = std::env::temp_dir().join(format!("o2iblnd-layout-{}.c", std::process::id()));
    std::fs::write(&path, source).unwrap();
    let output = Command::new("cc").args(["-std=gnu11", "-fsyntax-only"]).arg(&path).output().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
