/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checks every size, offset and constant of c-abi at compile time. */
#include <lnet/lnetconfig/liblnetconfig.h>
#include <libcfs/libcfs.h>
#include <libcfs/linux_compat.h>
#include <libcfs/util/ioctl.h>
#include <libcfs/util/parser.h>
#include <lnet/api.h>
#include <lnet/lib-dlc.h>
#include <lnet/lib-lnet.h>
#include <lnet/lib-types.h>
#include <lnet/lnet.h>
#include <lnet/lnetctl.h>
#include <lnet/nidstr.h>
#include <lnet/socklnd.h>
#include <lustre_ver.h>
#include <stddef.h>
#include <sys/uio.h>

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define IS(name, value) _Static_assert((name) == (value), #name)

/* 2.1 scalars */
SIZE(lnet_nid_t, 8);
SIZE(lnet_pid_t, 4);
IS(LNET_NID_ANY, 0xffffffffffffffffULL);
IS(LNET_PID_ANY, 0xffffffffU);
IS(LNET_PID_RESERVED, 0xf0000000U);
IS(LNET_PID_USERFLAG, 0x80000000U);
IS(LNET_PID_LUSTRE, 12345);
IS(LNET_RESERVED_PORTAL, 0);
IS(MAX_PORTALS, 64);
IS(LNET_PROTO_PING_MATCHBITS, 0x8000000000000000ULL);
IS(LNET_PROTO_PING_MAGIC, 0x70696E67);
IS(LNET_MTU_BITS, 20);
IS(LNET_MTU, 1048576);
IS(LNET_MAX_PAYLOAD, LNET_MTU);
IS(LNET_MAX_IOV, 256);
IS(LNET_NUM_INTERFACES, 16);
IS(LNET_NIDSTR_SIZE, 32);
IS(LNET_NIDSTR_COUNT, 1024);
IS((__u64)LNET_WIRE_HANDLE_COOKIE_NONE, 0xffffffffffffffffULL);
IS(LNET_MD_THRESH_INF, -1);
IS(LNET_NI_STATUS_UP, 0x15aac0deU);
IS(LNET_NI_STATUS_DOWN, 0xdeadfaceU);
IS(LNET_NI_STATUS_INVALID, 0);
IS(LNET_UNDEFINED_HOPS, 0xffffffffU);
IS(LNET_SEQ_GT(2UL, 1UL), 1);
IS(LNET_SEQ_GT(0UL, ~0UL), 1);
IS(LNET_SEQ_GT(1UL, 1UL), 0);
IS(LNET_PROTO_TCP_MAGIC, 0xeebc0dedU);
IS(LNET_PROTO_ACCEPTOR_MAGIC, 0xacce7100U);
IS(LNET_PROTO_ACCEPTOR_VERSION, 1);
IS(LNET_PROTO_IB_MAGIC, 0x0be91b91U);
IS(LNET_PROTO_GNI_MAGIC, 0xb00fbabeU);
IS(LNET_PROTO_MAGIC, 0x45726963U);
_Static_assert(sizeof(LNET_VERSION) == sizeof("0.7.0"), "LNET_VERSION");

/* 2.3 handles, 2.4 process ids */
SIZE(struct lnet_handle_md, 8);
SIZE(struct lnet_handle_me, 8);
SIZE(struct lnet_handle_eq, 8);
SIZE(lnet_handle_wire_t, 16);
_Static_assert(_Alignof(lnet_handle_wire_t) == 1, "packed");
AT(struct lnet_handle_wire, wh_object_cookie, 8);
SIZE(struct lnet_process_id, 16);
AT(struct lnet_process_id, pid, 8);
SIZE(lnet_process_id_packed, 12);
AT(lnet_process_id_packed, pid, 8);
_Static_assert(_Alignof(lnet_process_id_packed) == 1, "packed");

/* 2.5 memory descriptors */
SIZE(lnet_md_t, 48);
AT(struct lnet_md, start, 0);
AT(struct lnet_md, length, 8);
AT(struct lnet_md, threshold, 12);
AT(struct lnet_md, max_size, 16);
AT(struct lnet_md, options, 20);
AT(struct lnet_md, user_ptr, 24);
AT(struct lnet_md, eq_handle, 32);
AT(struct lnet_md, bulk_handle, 40);
IS(LNET_MD_OP_PUT, 0x001);
IS(LNET_MD_OP_GET, 0x002);
IS(LNET_MD_MANAGE_REMOTE, 0x004);
IS(LNET_MD_TRUNCATE, 0x010);
IS(LNET_MD_ACK_DISABLE, 0x020);
IS(LNET_MD_IOVEC, 0x040);
IS(LNET_MD_MAX_SIZE, 0x080);
IS(LNET_MD_KIOV, 0x100);
IS(LNET_MD_BULK_HANDLE, 0x200);
IS(LNET_MD_PHYS, 0);

/* 2.6 fragments */
SIZE(lnet_kiov_t, 16);
AT(lnet_kiov_t, kiov_page, 0);
AT(lnet_kiov_t, kiov_len, 8);
AT(lnet_kiov_t, kiov_offset, 12);
SIZE(struct kvec, sizeof(struct iovec));
AT(struct kvec, iov_len, offsetof(struct iovec, iov_len));

/* 2.7 events */
SIZE(lnet_event_t, 168);
AT(struct lnet_event, target, 0);
AT(struct lnet_event, initiator, 16);
AT(struct lnet_event, source, 32);
AT(struct lnet_event, sender, 48);
AT(struct lnet_event, type, 56);
AT(struct lnet_event, pt_index, 60);
AT(struct lnet_event, match_bits, 64);
AT(struct lnet_event, rlength, 72);
AT(struct lnet_event, mlength, 76);
AT(struct lnet_event, md_handle, 80);
AT(struct lnet_event, md, 88);
AT(struct lnet_event, hdr_data, 136);
AT(struct lnet_event, status, 144);
AT(struct lnet_event, unlinked, 148);
AT(struct lnet_event, offset, 152);
AT(struct lnet_event, sequence, 160);
SIZE(lnet_event_kind_t, 4);
IS(LNET_EVENT_GET, 1);
IS(LNET_EVENT_PUT, 2);
IS(LNET_EVENT_REPLY, 3);
IS(LNET_EVENT_ACK, 4);
IS(LNET_EVENT_SEND, 5);
IS(LNET_EVENT_UNLINK, 6);
SIZE(lnet_unlink_t, 4);
IS(LNET_RETAIN, 0);
IS(LNET_UNLINK, 1);
SIZE(lnet_ins_pos, 4);
IS(LNET_INS_BEFORE, 0);
IS(LNET_INS_AFTER, 1);
IS(LNET_INS_LOCAL, 2);
SIZE(lnet_ack_req_t, 4);
IS(LNET_ACK_REQ, 0);
IS(LNET_NOACK_REQ, 1);
SIZE(lnet_msg_type_t, 4);
IS(LNET_MSG_ACK, 0);
IS(LNET_MSG_PUT, 1);
IS(LNET_MSG_GET, 2);
IS(LNET_MSG_REPLY, 3);
IS(LNET_MSG_HELLO, 4);
SIZE(lnet_eq_handler_t, 8);

/* 2.8 drivers */
IS(SOCKLND, 2);
IS(O2IBLND, 5);
IS(LOLND, 9);
IS(GNILND, 13);
IS(GNIIPLND, 14);
IS(PTL4LND, 15);

/* 2.9 on the wire */
SIZE(lnet_hdr_t, 72);
AT(struct lnet_hdr, dest_nid, 0);
AT(struct lnet_hdr, src_nid, 8);
AT(struct lnet_hdr, dest_pid, 16);
AT(struct lnet_hdr, src_pid, 20);
AT(struct lnet_hdr, type, 24);
AT(struct lnet_hdr, payload_length, 28);
AT(struct lnet_hdr, msg, 32);
SIZE(struct lnet_put, 40);
AT(struct lnet_put, hdr_data, 24);
SIZE(struct lnet_get, 36);
AT(struct lnet_get, sink_length, 32);
SIZE(struct lnet_ack, 28);
SIZE(struct lnet_reply, 16);
SIZE(struct lnet_hello, 12);
SIZE(lnet_magic_version_t, 8);
SIZE(lnet_acceptor_connreq_t, 16);
SIZE(struct lnet_ping_info, 16);
SIZE(struct lnet_ni_status, 16);
AT(struct lnet_ping_info, pi_ni, 16);
SIZE(lnet_counters_t, 60);
AT(struct lnet_counters, drop_count, 24);
AT(struct lnet_counters, send_length, 28);
AT(struct lnet_counters, drop_length, 52);

/* 2.10 names that old consumers use: this file would not compile without them */
struct old_names {
	lnet_process_id_t a;
	lnet_handle_md_t b;
	lnet_handle_me_t c;
	lnet_handle_eq_t d;
	lnet_msg_t *e;
	lnet_libhandle_t *f;
	lnet_eq_t *g;
	lnet_me_t *h;
	lnet_libmd_t *i;
	lnet_ni_t *j;
	lnd_t *k;
};

/* 5.1 and 5.2 commands */
IS(LIBCFS_IOCTL_VERSION, 0x0001000a);
IS(LIBCFS_IOCTL_VERSION2, 0x0001000b);
IS(LIBCFS_IOC_DATA_MAX, 131072);
IS(LNET_DEV_ID, 0);
IS(IOC_LIBCFS_CLEAR_DEBUG, 0xc008651fU);
IS(IOC_LIBCFS_MARK_DEBUG, 0xc0086520U);
IS(IOC_LIBCFS_GET_NI, 0xc0086532U);
IS(IOC_LIBCFS_FAIL_NID, 0xc0086533U);
IS(IOC_LIBCFS_NOTIFY_ROUTER, 0xc0086537U);
IS(IOC_LIBCFS_UNCONFIGURE, 0xc0086538U);
IS(IOC_LIBCFS_LNET_DIST, 0xc008653aU);
IS(IOC_LIBCFS_CONFIGURE, 0xc008653bU);
IS(IOC_LIBCFS_TESTPROTOCOMPAT, 0xc008653cU);
IS(IOC_LIBCFS_PING, 0xc008653dU);
IS(IOC_LIBCFS_PING_PEER, 0xc008653eU);
IS(IOC_LIBCFS_LNETST, 0xc008653fU);
IS(IOC_LIBCFS_LNET_FAULT, 0xc0086540U);
IS(IOC_LIBCFS_REGISTER_MYNID, 0xc0086546U);
IS(IOC_LIBCFS_GET_PEER, 0xc008654cU);
IS(IOC_LIBCFS_DISCOVER, 0xc008654dU);
IS(IOC_LIBCFS_ADD_INTERFACE, 0xc008654eU);
IS(IOC_LIBCFS_GET_INTERFACE, 0xc0086550U);
IS(IOC_LIBCFS_ADD_ROUTE, 0xc0b86551U);
IS(IOC_LIBCFS_DEL_ROUTE, 0xc0b86552U);
IS(IOC_LIBCFS_GET_ROUTE, 0xc0b86553U);
IS(IOC_LIBCFS_ADD_NET, 0xc0b86554U);
IS(IOC_LIBCFS_DEL_NET, 0xc0b86555U);
IS(IOC_LIBCFS_GET_NET, 0xc0b86556U);
IS(IOC_LIBCFS_CONFIG_RTR, 0xc0b86557U);
IS(IOC_LIBCFS_ADD_BUF, 0xc0b86558U);
IS(IOC_LIBCFS_GET_BUF, 0xc0b86559U);
IS(IOC_LIBCFS_GET_PEER_INFO, 0xc0b8655aU);
IS(IOC_LIBCFS_GET_LNET_STATS, 0xc0b8655bU);
IS(IOC_LIBCFS_ADD_PEER_NI, 0xc0b8655cU);
IS(IOC_LIBCFS_DEL_PEER_NI, 0xc0b8655dU);
IS(IOC_LIBCFS_GET_PEER_NI, 0xc0b8655eU);
IS(IOC_LIBCFS_ADD_LOCAL_NI, 0xc0b8655fU);
IS(IOC_LIBCFS_DEL_LOCAL_NI, 0xc0b86560U);
IS(IOC_LIBCFS_GET_LOCAL_NI, 0xc0b86561U);
IS(IOC_LIBCFS_SET_NUMA_RANGE, 0xc0b86562U);
IS(IOC_LIBCFS_GET_NUMA_RANGE, 0xc0b86563U);
IS(IOC_LIBCFS_GET_PEER_LIST, 0xc0b86564U);
IS(IOC_LIBCFS_GET_LOCAL_NI_MSG_STATS, 0xc0b86565U);
IS(IOC_LIBCFS_SET_HEALHV, 0xc0b86566U);
IS(IOC_LIBCFS_GET_LOCAL_HSTATS, 0xc0b86567U);
IS(IOC_LIBCFS_GET_RECOVERY_QUEUE, 0xc0b86568U);
IS(IOC_LIBCFS_ADD_UDSP, 0xc0b86569U);
IS(IOC_LIBCFS_GET_CONST_UDSP_INFO, 0xc0b8656dU);
IS(IOC_LIBCFS_RESET_LNET_STATS, 0xc0b8656eU);
IS(IOC_LIBCFS_SET_CONNS_PER_PEER, 0xc0b8656fU);
IS(IOC_LIBCFS_SET_PEER, 0xc0b86570U);
IS(LIBCFS_IOC_DEBUG_MASK, 0xc00866faU);

/* 5.4 arguments */
SIZE(struct libcfs_ioctl_hdr, 8);
SIZE(struct libcfs_ioctl_data, 128);
AT(struct libcfs_ioctl_data, ioc_nid, 8);
AT(struct libcfs_ioctl_data, ioc_u64, 16);
AT(struct libcfs_ioctl_data, ioc_flags, 24);
AT(struct libcfs_ioctl_data, ioc_count, 28);
AT(struct libcfs_ioctl_data, ioc_net, 32);
AT(struct libcfs_ioctl_data, ioc_u32, 36);
AT(struct libcfs_ioctl_data, ioc_inllen1, 64);
AT(struct libcfs_ioctl_data, ioc_inlbuf1, 72);
AT(struct libcfs_ioctl_data, ioc_inllen2, 80);
AT(struct libcfs_ioctl_data, ioc_inlbuf2, 88);
AT(struct libcfs_ioctl_data, ioc_plen1, 96);
AT(struct libcfs_ioctl_data, ioc_pbuf1, 104);
AT(struct libcfs_ioctl_data, ioc_plen2, 112);
AT(struct libcfs_ioctl_data, ioc_pbuf2, 120);
AT(struct libcfs_ioctl_data, ioc_bulk, 128);
SIZE(struct lnet_ioctl_udsp, 32);
AT(struct lnet_ioctl_udsp, iou_idx, 8);
AT(struct lnet_ioctl_udsp, iou_action_type, 12);
AT(struct lnet_ioctl_udsp, iou_bulk_size, 16);
AT(struct lnet_ioctl_udsp, iou_action, 20);
AT(struct lnet_ioctl_udsp, iou_bulk, 24);
/* Structures of the first design, which specifies no sizes: these are the sizes in this library. */
SIZE(struct lnet_match_expr, 12);
SIZE(struct lnet_ioctl_selection_net_rule, 140);
SIZE(struct lnet_ioctl_selection_nid_rule, 164);
SIZE(struct lnet_ioctl_selection_peer_rule, 324);
SIZE(struct lnet_ioctl_selection_rule, 344);
AT(struct lnet_ioctl_selection_rule, lisr_idx, 8);
AT(struct lnet_ioctl_selection_rule, lisr_id, 12);
AT(struct lnet_ioctl_selection_rule, lisr_selection_type, 16);
AT(struct lnet_ioctl_selection_rule, lisr_u, 20);
AT(struct lnet_ioctl_selection_rule, lisr_selection_bulk, 344);
SIZE(struct lnet_ioctl_config_data, 184);
AT(struct lnet_ioctl_config_data, cfg_net, 8);
AT(struct lnet_ioctl_config_data, cfg_count, 12);
AT(struct lnet_ioctl_config_data, cfg_nid, 16);
AT(struct lnet_ioctl_config_data, cfg_ncpts, 24);
AT(struct lnet_ioctl_config_data, cfg_config_u, 28);
AT(struct lnet_ioctl_config_data, cfg_config_u.cfg_route.rtr_priority, 32);
AT(struct lnet_ioctl_config_data, cfg_config_u.cfg_route.rtr_flags, 36);
AT(struct lnet_ioctl_config_data, cfg_config_u.cfg_net.net_peer_timeout, 156);
AT(struct lnet_ioctl_config_data, cfg_config_u.cfg_net.net_max_tx_credits, 168);
AT(struct lnet_ioctl_config_data, cfg_config_u.cfg_net.net_cksum_algo, 172);
AT(struct lnet_ioctl_config_data, cfg_config_u.cfg_net.net_interface_count, 176);
AT(struct lnet_ioctl_config_data, cfg_config_u.cfg_buffers.buf_tiny, 32);
AT(struct lnet_ioctl_config_data, cfg_config_u.cfg_buffers.buf_large, 40);
AT(struct lnet_ioctl_config_data, cfg_bulk, 180);
SIZE(struct lnet_ioctl_config_ni, 2728);
AT(struct lnet_ioctl_config_ni, lic_nid, 8);
AT(struct lnet_ioctl_config_ni, lic_ni_intf, 16);
AT(struct lnet_ioctl_config_ni, lic_legacy_ip2nets, 2064);
AT(struct lnet_ioctl_config_ni, lic_cpts, 2192);
AT(struct lnet_ioctl_config_ni, lic_ncpts, 2704);
AT(struct lnet_ioctl_config_ni, lic_status, 2708);
AT(struct lnet_ioctl_config_ni, lic_tcp_bonding, 2712);
AT(struct lnet_ioctl_config_ni, lic_idx, 2716);
AT(struct lnet_ioctl_config_ni, lic_dev_cpt, 2720);
AT(struct lnet_ioctl_config_ni, pad, 2724);
AT(struct lnet_ioctl_config_ni, lic_bulk, 2728);
SIZE(struct lnet_ioctl_peer_cfg, 48);
AT(struct lnet_ioctl_peer_cfg, prcfg_prim_nid, 8);
AT(struct lnet_ioctl_peer_cfg, prcfg_cfg_nid, 16);
AT(struct lnet_ioctl_peer_cfg, prcfg_count, 24);
AT(struct lnet_ioctl_peer_cfg, prcfg_mr, 28);
AT(struct lnet_ioctl_peer_cfg, prcfg_state, 32);
AT(struct lnet_ioctl_peer_cfg, prcfg_size, 36);
AT(struct lnet_ioctl_peer_cfg, prcfg_bulk, 40);
SIZE(struct lnet_ioctl_element_stats, 12);
SIZE(struct lnet_ioctl_comm_count, 20);
SIZE(struct lnet_ioctl_element_msg_stats, 72);
AT(struct lnet_ioctl_element_msg_stats, im_idx, 8);
AT(struct lnet_ioctl_element_msg_stats, im_send_stats, 12);
AT(struct lnet_ioctl_element_msg_stats, im_recv_stats, 32);
AT(struct lnet_ioctl_element_msg_stats, im_drop_stats, 52);
SIZE(struct lnet_ioctl_ping_data, 48);
AT(struct lnet_ioctl_ping_data, op_param, 8);
AT(struct lnet_ioctl_ping_data, ping_count, 12);
AT(struct lnet_ioctl_ping_data, ping_flags, 16);
AT(struct lnet_ioctl_ping_data, mr_info, 20);
AT(struct lnet_ioctl_ping_data, ping_id, 24);
AT(struct lnet_ioctl_ping_data, ping_buf, 40);
SIZE(struct lnet_ioctl_peer, 184);
AT(struct lnet_ioctl_peer, pr_count, 8);
AT(struct lnet_ioctl_peer, pr_nid, 16);
AT(struct lnet_ioctl_peer, pr_lnd_u.pr_peer_credits, 24);
SIZE(struct lnet_peer_ni_credit_info, 160);
AT(struct lnet_peer_ni_credit_info, cr_refcount, 128);
AT(struct lnet_peer_ni_credit_info, cr_ncpt, 156);
SIZE(struct lnet_ioctl_numa_range, 12);
AT(struct lnet_ioctl_numa_range, nr_range, 8);
SIZE(struct lnet_ioctl_lnet_stats, 68);
AT(struct lnet_ioctl_lnet_stats, st_cntrs, 8);
SIZE(struct lnet_ioctl_net_config, 2564);
AT(struct lnet_ioctl_net_config, ni_status, 2048);
AT(struct lnet_ioctl_net_config, ni_cpts, 2052);
SIZE(struct lnet_ioctl_pool_cfg, 52);
AT(struct lnet_ioctl_pool_cfg, pl_routing, 48);
SIZE(struct lnet_ioctl_config_lnd_cmn_tunables, 20);
SIZE(struct lnet_ioctl_config_o2iblnd_tunables, 32);
SIZE(struct lnet_ioctl_config_socklnd_tunables, 8);
AT(struct lnet_ioctl_config_socklnd_tunables, lnd_conns_per_peer, 4);
SIZE(struct lnet_lnd_tunables, 32);
SIZE(struct lnet_ioctl_config_lnd_tunables, 52);
AT(struct lnet_ioctl_config_lnd_tunables, lt_tun, 20);
SIZE(struct lnet_fault_attr, 96);
AT(struct lnet_fault_attr, fa_dst, 8);
AT(struct lnet_fault_attr, fa_ptl_mask, 16);
AT(struct lnet_fault_attr, fa_msg_mask, 24);
AT(struct lnet_fault_attr, u, 32);
SIZE(struct lnet_fault_stat, 104);
AT(struct lnet_fault_stat, u, 40);
SIZE(struct cYAML, 72);
AT(struct cYAML, cy_next, 0);
AT(struct cYAML, cy_prev, 8);
AT(struct cYAML, cy_child, 16);
AT(struct cYAML, cy_type, 24);
AT(struct cYAML, cy_valuestring, 32);
AT(struct cYAML, cy_valueint, 40);
AT(struct cYAML, cy_valuedouble, 48);
AT(struct cYAML, cy_string, 56);
AT(struct cYAML, cy_user_data, 64);
SIZE(struct lnet_dlc_network_descr, 40);
AT(struct lnet_dlc_network_descr, nw_id, 16);
AT(struct lnet_dlc_network_descr, nw_intflist, 24);
SIZE(struct lnet_dlc_intf_descr, 40);
AT(struct lnet_dlc_intf_descr, intf_name, 16);
AT(struct lnet_dlc_intf_descr, cpt_expr, 32);
SIZE(struct lnet_ud_net_descr, 24);
SIZE(struct lnet_ud_nid_descr, 40);
SIZE(struct lnet_udsp, 152);
AT(struct lnet_udsp, udsp_idx, 16);
AT(struct lnet_udsp, udsp_src, 24);
AT(struct lnet_udsp, udsp_rte, 104);
AT(struct lnet_udsp, udsp_action_type, 144);
AT(struct lnet_udsp, udsp_action, 148);
SIZE(union lnet_udsp_action, 4);
IS(CYAML_TYPE_FALSE, 0);
IS(CYAML_TYPE_OBJECT, 6);
IS(LUSTRE_CFG_RC_NO_ERR, 0);
IS(LUSTRE_CFG_RC_BAD_PARAM, -1);
IS(LUSTRE_CFG_RC_MARSHAL_FAIL, -10);
IS(LNETCTL_CONFIG_CMD, 1);
IS(LNETCTL_ADD_CMD, 3);
IS(LNETCTL_DEL_CMD, 4);
IS(LNETCTL_LAST_CMD, 8);
IS(EN_LNET_UDSP_ACTION_PREFERRED_LIST, 2);
IS(LNET_MAX_STR_LEN, 128);
IS(LNET_MAX_SHOW_NUM_CPT, 128);
IS(MAX_NUM_SHOW_ENTRIES, 32);
IS(LNET_TINY_BUF_IDX, 0);
IS(LNET_LARGE_BUF_IDX, 2);
IS(LNET_CTL_DROP_ADD, 0);
IS(LNET_CTL_DELAY_LIST, 7);
IS(LNET_ACK_BIT, 1);
IS(LNET_PUT_BIT, 2);
IS(LNET_GET_BIT, 4);
IS(LNET_REPLY_BIT, 8);

/* 1.9 visible structures */
SIZE(struct cfs_lstr, 16);
SIZE(struct cfs_expr_list, 32);
AT(struct cfs_expr_list, el_exprs, 16);
SIZE(struct cfs_range_expr, 32);
AT(struct cfs_range_expr, re_lo, 16);
AT(struct cfs_range_expr, re_stride, 24);

SIZE(struct netstrfns, 80);
AT(struct netstrfns, nf_name, 8);
AT(struct netstrfns, nf_addr2str, 24);
AT(struct netstrfns, nf_min_max, 72);

/* 5.1 commands */
IS(IOC_LIBCFS_TYPE, 'e');
IS(IOC_LIBCFS_MIN_NR, 30);
IS(IOC_LIBCFS_MAX_NR, 99);
SIZE(IOCTL_LIBCFS_TYPE, 8);
SIZE(IOCTL_CONFIG_SIZE, 184);
IS(IOC_LIBCFS_GET_INTERFACE, _IOWR(IOC_LIBCFS_TYPE, 80, IOCTL_LIBCFS_TYPE));
IS(IOC_LIBCFS_ADD_ROUTE, _IOWR(IOC_LIBCFS_TYPE, 81, IOCTL_CONFIG_SIZE));
IS(IOC_LIBCFS_GET_NUMA_RANGE, _IOWR(IOC_LIBCFS_TYPE, IOC_LIBCFS_MAX_NR, IOCTL_CONFIG_SIZE));

/* The TCP driver on the wire (wire-tcp 2.3, 2.5 and 3.1) */
SIZE(ksock_hello_msg_t, 56);
AT(ksock_hello_msg_t, kshm_src_nid, 8);
AT(ksock_hello_msg_t, kshm_dst_nid, 16);
AT(ksock_hello_msg_t, kshm_src_pid, 24);
AT(ksock_hello_msg_t, kshm_dst_pid, 28);
AT(ksock_hello_msg_t, kshm_src_incarnation, 32);
AT(ksock_hello_msg_t, kshm_dst_incarnation, 40);
AT(ksock_hello_msg_t, kshm_ctype, 48);
AT(ksock_hello_msg_t, kshm_nips, 52);
AT(ksock_hello_msg_t, kshm_ips, 56);
AT(ksock_msg_t, ksm_csum, 4);
AT(ksock_msg_t, ksm_zc_cookies, 8);
AT(ksock_msg_t, ksm_u.lnetmsg.ksnm_hdr, 24);
SIZE(ksock_msg_t, 96);
IS(KSOCK_MSG_NOOP, 0xc0);
IS(KSOCK_MSG_LNET, 0xc1);
IS(SOCKLND_CONN_NONE, -1);
IS(SOCKLND_CONN_CONTROL, 1);
IS(SOCKLND_CONN_BULK_OUT, 3);
IS(SOCKLND_CONN_ACK, SOCKLND_CONN_BULK_IN);

/* The command parser */
AT(command_t, pc_func, 8);
AT(command_t, pc_sub_cmd, 16);
AT(command_t, pc_help, 24);

/* Releases */
IS(LIBLNET_VERSION, LIBLNET_VERSION_CODE(LIBLNET_VERSION_MAJOR, LIBLNET_VERSION_MINOR, LIBLNET_VERSION_PATCH));
IS(LIBLNET_VERSION >= LIBLNET_VERSION_CODE(0, 1, 0), 1);
#if LIBLNET_VERSION < LIBLNET_VERSION_CODE(0, 1, 0)
#error "the preprocessor can compare versions"
#endif

/* 7.1 */
IS(OBD_OCD_VERSION(2, 10, 0, 0), 0x020a0000);
IS(LUSTRE_VERSION_CODE, OBD_OCD_VERSION(2, 10, 0, 0));

int main(void)
{
	return 0;
}
