/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The arguments of the commands that configure a node and inquire about it. */
#ifndef LNET_LIB_DLC_H
#define LNET_LIB_DLC_H

#include <libcfs/libcfs_ioctl.h>
#include <lnet/types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAX_NUM_SHOW_ENTRIES 32
#define LNET_MAX_STR_LEN 128
#define LNET_MAX_SHOW_NUM_CPT 128
#define LNET_UNDEFINED_HOPS ((__u32)-1)

/** The three pools of router buffers. */
#define LNET_TINY_BUF_IDX 0
#define LNET_SMALL_BUF_IDX 1
#define LNET_LARGE_BUF_IDX 2
#define LNET_NRBPOOLS (LNET_LARGE_BUF_IDX + 1)

/** The tunables of every kind of network: counts, and times in seconds. -1 leaves the default. */
struct lnet_ioctl_config_lnd_cmn_tunables {
	__u32 lct_version;
	__s32 lct_peer_timeout;
	__s32 lct_peer_tx_credits;
	__s32 lct_peer_rtr_credits;
	__s32 lct_max_tx_credits;
};

/** The tunables of InfiniBand networks. */
struct lnet_ioctl_config_o2iblnd_tunables {
	__u32 lnd_version;
	__u32 lnd_peercredits_hiw;
	__u32 lnd_map_on_demand;
	__u32 lnd_concurrent_sends;
	__u32 lnd_fmr_pool_size;
	__u32 lnd_fmr_flush_trigger;
	__u32 lnd_fmr_cache;
	__u16 lnd_conns_per_peer;
	__u16 lnd_ntx;
};

/** The tunables of TCP networks. */
struct lnet_ioctl_config_socklnd_tunables {
	__u32 lnd_version;
	/** The number of connections to each peer; 0 leaves the default. */
	__u16 lnd_conns_per_peer;
	__u16 lnd_pad;
};

/** The tunables that depend on the kind of network. */
struct lnet_lnd_tunables {
	union {
		struct lnet_ioctl_config_o2iblnd_tunables lnd_o2ib;
		struct lnet_ioctl_config_socklnd_tunables lnd_sock;
	} lnd_tun_u;
};

/** All tunables: those of every kind of network, and those that depend on the kind. */
struct lnet_ioctl_config_lnd_tunables {
	struct lnet_ioctl_config_lnd_cmn_tunables lt_cmn;
	struct lnet_lnd_tunables lt_tun;
};

/** Follows lnet_ioctl_config_data in the reply to IOC_LIBCFS_GET_NET. */
struct lnet_ioctl_net_config {
	char ni_interfaces[LNET_NUM_INTERFACES][LNET_MAX_STR_LEN];
	__u32 ni_status;
	__u32 ni_cpts[LNET_MAX_SHOW_NUM_CPT];
	__extension__ char cfg_bulk[0];
};

/** The argument of IOC_LIBCFS_ADD_UDSP, DEL_UDSP, GET_UDSP_SIZE and GET_UDSP: a rule of the selection policy. */
struct lnet_ioctl_udsp {
	/** The header of the argument. */
	struct libcfs_ioctl_hdr iou_hdr;
	/**
	 * The position of the rule among the rules; -1: the end when a rule is added, all rules when rules are
	 * deleted.
	 */
	__s32 iou_idx;
	/** A value of enum lnet_udsp_action_type. */
	__u32 iou_action_type;
	/** The size of iou_bulk in bytes. */
	__u32 iou_bulk_size;
	union {
		__u32 priority;
	} iou_action;
	/** The descriptors of source, destination and router, flattened. */
	void *iou_bulk;
};

/** The longest name of a net in a selection rule, with the zero that ends it. */
#define LNET_MAX_STR LNET_MAX_STR_LEN

/** Numbers from lme_start to lme_end, every lme_incr-th of them. */
struct lnet_match_expr {
	__u32 lme_start;
	__u32 lme_end;
	__u32 lme_incr;
	__extension__ char lme_r_expr[0];
};

/** The position of an expression in lisr_selection_bulk: lodesc_size bytes of struct lnet_match_expr from
 * lodesc_offset on. If the size is 0, the expression matches every number. */
struct lnet_offset_descriptor {
	__u32 lodesc_size;
	__u32 lodesc_offset;
};

/** The expressions for the parts of an address. An address that is a single number has only the first. */
struct lnet_address_descriptor {
	struct lnet_offset_descriptor lad_octets[4];
};

/**
 * A rule about nets: the name of a kind of network and an expression for the numbers; or only the name of one net or
 * of several nets.
 */
struct lnet_ioctl_selection_net_rule {
	char lnsn_net_name[LNET_MAX_STR];
	__u32 lnsn_priority;
	struct lnet_offset_descriptor lnsn_net_descr;
};

/** A rule about NIDs, either of this node or of other nodes. */
struct lnet_ioctl_selection_nid_rule {
	char lnsn_net_name[LNET_MAX_STR];
	__u32 lnsn_priority;
	struct lnet_address_descriptor lnsn_ip_descr;
};

/** A rule about pairs: NIDs of this node, and NIDs of other nodes. */
struct lnet_ioctl_selection_peer_rule {
	char lisp_net_name[2][LNET_MAX_STR];
	__u32 lisp_priority;
	struct lnet_address_descriptor lisp_nid_descrs[2];
};

/** The subject of a selection rule. */
enum lnet_selection_rule_type {
	LNET_SELECTION_NET_RULE = 0,
	LNET_SELECTION_NID_RULE = 1,
	LNET_SELECTION_PEER_RULE = 2
};

/** The argument of IOC_LNET_ADD_NET_SELECTION_RULE and of similar commands. */
struct lnet_ioctl_selection_rule {
	/** The header of the argument; ioc_len includes lisr_selection_bulk. */
	struct libcfs_ioctl_hdr lisr_hdr;
	/**
	 * Show: the index of the rule among the rules of this kind, from 0 on; the result is -ENOENT after the last.
	 */
	__u32 lisr_idx;
	/** The ID of the rule. Show returns it. Delete takes it, or -1 to delete the rules with the given criteria. */
	__s32 lisr_id;
	enum lnet_selection_rule_type lisr_selection_type;
	union {
		struct lnet_ioctl_selection_net_rule lisr_net_rule;
		struct lnet_ioctl_selection_nid_rule lisr_nid_rule;
		struct lnet_ioctl_selection_peer_rule lisr_peer_rule;
	} lisr_u;
	/** The expressions. Show fails with -ENOSPC if they do not fit. */
	__extension__ char lisr_selection_bulk[0];
};

/** The pools of router buffers of one CPU partition. */
struct lnet_ioctl_pool_cfg {
	struct {
		__u32 pl_npages;
		__u32 pl_nbuffers;
		__u32 pl_credits;
		__u32 pl_mincredits;
	} pl_pools[LNET_NRBPOOLS];
	__u32 pl_routing;
};

/** The argument of commands for a route, a network or the router buffers. */
struct lnet_ioctl_config_data {
	struct libcfs_ioctl_hdr cfg_hdr;
	__u32 cfg_net;
	__u32 cfg_count;
	__u64 cfg_nid;
	__u32 cfg_ncpts;
	union {
		struct {
			__u32 rtr_hop;
			__u32 rtr_priority;
			__u32 rtr_flags;
		} cfg_route;
		struct {
			char net_intf[LNET_MAX_STR_LEN];
			__s32 net_peer_timeout;
			__s32 net_peer_tx_credits;
			__s32 net_peer_rtr_credits;
			__s32 net_max_tx_credits;
			__u32 net_cksum_algo;
			__u32 net_interface_count;
		} cfg_net;
		struct {
			__u32 buf_enable;
			__s32 buf_tiny;
			__s32 buf_small;
			__s32 buf_large;
		} cfg_buffers;
	} cfg_config_u;
	/** The member at offset 180, before the padding at the end of the structure. */
	__extension__ char cfg_bulk[0];
};

/** The message counts of an interface, either of this node or of a peer. */
struct lnet_ioctl_element_stats {
	__u32 iel_send_count;
	__u32 iel_recv_count;
	__u32 iel_drop_count;
};

/** The number of messages by type. */
struct lnet_ioctl_comm_count {
	__u32 ico_get_count;
	__u32 ico_put_count;
	__u32 ico_reply_count;
	__u32 ico_ack_count;
	__u32 ico_hello_count;
};

/** The message counts of an interface by type. */
struct lnet_ioctl_element_msg_stats {
	struct libcfs_ioctl_hdr im_hdr;
	__u32 im_idx;
	struct lnet_ioctl_comm_count im_send_stats;
	struct lnet_ioctl_comm_count im_recv_stats;
	struct lnet_ioctl_comm_count im_drop_stats;
};

/** The configuration and state of an interface of this node. */
struct lnet_ioctl_config_ni {
	struct libcfs_ioctl_hdr lic_cfg_hdr;
	lnet_nid_t lic_nid;
	char lic_ni_intf[LNET_NUM_INTERFACES][LNET_MAX_STR_LEN];
	char lic_legacy_ip2nets[LNET_MAX_STR_LEN];
	__u32 lic_cpts[LNET_MAX_SHOW_NUM_CPT];
	__u32 lic_ncpts;
	__u32 lic_status;
	__u32 lic_tcp_bonding;
	__u32 lic_idx;
	__s32 lic_dev_cpt;
	char pad[4];
	__extension__ char lic_bulk[0];
};

/** The state of a peer's NI and its credits. */
struct lnet_peer_ni_credit_info {
	char cr_aliveness[LNET_MAX_STR_LEN];
	__u32 cr_refcount;
	__s32 cr_ni_peer_tx_credits;
	__s32 cr_peer_tx_credits;
	__s32 cr_peer_min_tx_credits;
	__u32 cr_peer_tx_qnob;
	__s32 cr_peer_rtr_credits;
	__s32 cr_peer_min_rtr_credits;
	__u32 cr_ncpt;
};

/** The argument for an interface of a peer, which is selected by its number. */
struct lnet_ioctl_peer {
	struct libcfs_ioctl_hdr pr_hdr;
	__u32 pr_count;
	__u32 pr_pad;
	lnet_nid_t pr_nid;
	union {
		struct lnet_peer_ni_credit_info pr_peer_credits;
	} pr_lnd_u;
};

/** The argument for a peer and one of its interfaces. */
struct lnet_ioctl_peer_cfg {
	struct libcfs_ioctl_hdr prcfg_hdr;
	lnet_nid_t prcfg_prim_nid;
	lnet_nid_t prcfg_cfg_nid;
	__u32 prcfg_count;
	bool prcfg_mr;
	__u32 prcfg_state;
	__u32 prcfg_size;
	void *prcfg_bulk;
};

/** The argument of IOC_LIBCFS_SET_NUMA_RANGE and IOC_LIBCFS_GET_NUMA_RANGE. */
struct lnet_ioctl_numa_range {
	/** The header. */
	struct libcfs_ioctl_hdr nr_hdr;
	/** The distance up to which interfaces count as equally near. */
	__u32 nr_range;
};

/** The argument of IOC_LIBCFS_GET_LNET_STATS. */
struct __attribute__((packed)) lnet_ioctl_lnet_stats {
	/** The header. */
	struct libcfs_ioctl_hdr st_hdr;
	/** The counters of the node. */
	struct lnet_counters st_cntrs;
};

/** The argument of IOC_LIBCFS_PING_PEER and IOC_LIBCFS_DISCOVER. */
struct lnet_ioctl_ping_data {
	/** The header. */
	struct libcfs_ioctl_hdr ping_hdr;
	/** In: the timeout in milliseconds; for a discovery, 1: push to the peer even if it is up to date. */
	__u32 op_param;
	/** In: the number of elements of ping_buf. Out: the number of interfaces. */
	__u32 ping_count;
	/** Not used. */
	__u32 ping_flags;
	/** Out: the peer is multi-rail. */
	bool mr_info;
	/** In: the target. Out of a discovery: its primary NID. */
	struct lnet_process_id ping_id;
	/** Out: the interfaces of the peer. */
	struct lnet_process_id *ping_buf;
};

#ifdef __cplusplus
}
#endif

#endif
