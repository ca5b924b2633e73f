//! Tests that the structures of the headers and of the library have the same sizes, and their fields the same offsets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

// Links the functions of LNet, which the library needs.
use lnet as _;
use m0net::net::types::*;
use m0net::support::*;
use std::fmt::Write;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

/// Makes a line for each structure and field: its name, and its size or offset.
macro_rules! layout {
    ($($name:ident { $($field:ident)* })*) => {
        [$(
            (concat!("sizeof(struct ", stringify!($name), ")"), size_of::<$name>()),
            $((concat!("offsetof(struct ", stringify!($name), ", ", stringify!($field), ")"), offset_of!($name, $field)),)*
        )*]
    };
}

#[test]
fn structures_are_the_same_in_c_and_in_rust() {
    let layout = layout! {
        m0_atomic64 { a_value }
        m0_bitmap { b_nr b_words }
        m0_bufvec { ov_vec ov_buf }
        m0_bufvec_cursor { bc_vc }
        m0_chan { ch_links ch_guard ch_waiters }
        m0_clink { cl_cb cl_chan cl_group cl_linkage cl_wait cl_is_oneshot }
        m0_cond { c_chan }
        m0_getopts_opt { go_type go_opt go_desc go_void go_number go_string go_format go_data go_flag }
        m0_list { l_head l_tail }
        m0_list_link { ll_next ll_prev }
        m0_mutex {}
        m0_ref { ref_cnt release }
        m0_semaphore {}
        m0_thread { t_state t_initrc t_handle t_init t_func t_arg t_wait t_namebuf }
        m0_tl { t_head }
        m0_tl_descr {}
        m0_tlink { t_link }
        m0_vec { v_nr v_count }
        m0_vec_cursor { vc_vec vc_seg vc_offset }
        m0_net_buf_desc { nbd_len nbd_data }
        m0_net_buf_desc_data { bdd_desc bdd_used }
        m0_net_buffer {
            nb_buffer nb_length nb_offset nb_dom nb_tm nb_qtype nb_callbacks nb_timeout nb_add_time nb_desc nb_ep nb_tm_linkage
            nb_lru nb_extern_linkage nb_magic nb_dom_linkage nb_xprt_private nb_app_private nb_flags nb_min_receive_size
            nb_max_receive_msgs nb_pool nb_msgs_received
        }
        m0_net_buffer_callbacks { nbc_cb }
        m0_net_buffer_event { nbe_buffer nbe_time nbe_status nbe_length nbe_offset nbe_ep }
        m0_net_buffer_pool {
            nbp_free nbp_threshold nbp_seg_nr nbp_buf_nr nbp_seg_size nbp_mutex nbp_ndom nbp_ops nbp_colours_nr nbp_colours
            nbp_align nbp_dont_dump nbp_lru
        }
        m0_net_buffer_pool_ops { nbpo_not_empty nbpo_below_threshold }
        m0_net_domain {
            nd_mutex nd_registered_bufs nd_tms nd_xprt_private nd_xprt nd_app_linkage nd_get_max_buffer_segments
            nd_get_max_buffer_segment_size nd_get_max_buffer_size nd_get_max_buffer_desc_size nd_magix
        }
        m0_net_end_point { nep_magix nep_ref nep_tm nep_tm_linkage nep_addr nep_xprt_pvt }
        m0_net_qstats {
            nqs_num_adds nqs_num_dels nqs_num_s_events nqs_num_f_events nqs_time_in_queue nqs_total_bytes nqs_max_bytes
        }
        m0_net_tm_callbacks { ntc_event_cb }
        m0_net_tm_event { nte_type nte_tm nte_time nte_status nte_next_state nte_ep nte_payload }
        m0_net_transfer_mc {
            ntm_callbacks ntm_state ntm_group ntm_callback_counter ntm_dom ntm_end_points ntm_ep ntm_chan ntm_q ntm_qstats
            ntm_dom_linkage ntm_xprt_private ntm_bev_auto_deliver ntm_recv_pool ntm_recv_pool_callbacks
            ntm_recv_queue_min_length ntm_recv_queue_deficit ntm_pool_colour ntm_recv_queue_min_recv_size
            ntm_recv_queue_max_recv_msgs
        }
        m0_net_xprt { nx_name nx_ops }
        m0_net_xprt_ops {
            xo_dom_init xo_dom_fini xo_tm_init xo_tm_confine xo_tm_start xo_tm_stop xo_tm_fini xo_end_point_create
            xo_buf_register xo_buf_deregister xo_buf_add xo_buf_del xo_bev_deliver_sync xo_bev_deliver_all xo_bev_pending
            xo_bev_notify xo_get_max_buffer_size xo_get_max_buffer_segment_size xo_get_max_buffer_segments
            xo_get_max_buffer_desc_size xo_rpc_max_seg_size xo_rpc_max_segs_nr xo_rpc_max_msg_size xo_rpc_max_recv_msgs
        }
        m0_sm_group { s_lock }
    };
    let mut source = String::from(
        "#include <lib/cond.h>\n#include <lib/getopts.h>\n#include <lib/thread.h>\n#include <lib/vec.h>\n\
         #include <net/buffer_pool.h>\n#include <net/net.h>\n",
    );
    for (expression, value) in layout {
        writeln!(source, "_Static_assert({expression} == {value}, \"in Rust {expression} is {value}\");")
            .unwrap();
    }
    // Constants that are numbers in Rust.
    for (name, value) in [
        ("M0_NET_QT_NR", QUEUES as u64),
        ("M0_NET_TM_STARTED", u64::from(tm_state::STARTED)),
        ("M0_NET_TM_FAILED", u64::from(tm_state::FAILED)),
        ("M0_NET_TEV_DIAGNOSTIC", u64::from(tm_event_type::DIAGNOSTIC)),
        ("M0_NET_BUF_RETAIN", buf_flags::RETAIN),
        ("(uint32_t)M0_BUFFER_ANY_COLOUR", u64::from(ANY_COLOUR)),
        ("M0_NET_TM_RECV_QUEUE_DEF_LEN", u64::from(DEFAULT_RECV_QUEUE_LEN)),
    ] {
        writeln!(source, "_Static_assert({name} == {value}ULL, \"{name}\");").unwrap();
    }
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("layout.c");
    std::fs::write(&file, source).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let Ok(gcc) =
        Command::new("gcc").args(["-std=gnu11", "-fsyntax-only", "-I"]).arg(include).arg(&file).output()
    else {
        test_support::skip("no gcc");
        return;
    };
    assert!(gcc.status.success(), "{}", String::from_utf8_lossy(&gcc.stderr));
}
