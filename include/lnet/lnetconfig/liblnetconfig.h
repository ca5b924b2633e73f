/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Dynamic LNet configuration: the operations of lnetctl, for programs.
 *
 * The functions configure the node of this process. If the process has none, they configure the node behind the
 * control socket of the name LNET_NODE. Unless stated otherwise, functions return 0, one of LUSTRE_CFG_RC_*, or the
 * negative errno with which the node refused; -ENETDOWN if there is no node. Common parameters:
 *
 * seq_no   a number that the caller chooses, by which it finds the errors of this call; -1 for none
 * err_rc   the tree of errors. It is created if *err_rc is NULL, and extended otherwise. Functions other
 *          than ping and discover extend it on success too (with errno 0). NULL for none. The caller
 *          frees it with cYAML_free_tree
 * show_rc  the tree of things shown, created or extended likewise; *show_rc does not change if there is
 *          nothing to show or the call fails. If it is NULL, the things shown are written to standard output
 *
 * The functions neither change strings nor keep pointers to them. Every function may be called from every thread; a
 * tree may be used by one thread at a time. No function may be called from an event handler. */
#ifndef LNETCONFIG_LIBLNETCONFIG_H
#define LNETCONFIG_LIBLNETCONFIG_H

#include <libcfs/libcfs_string.h>
#include <libcfs/util/list.h>
#include <lnet/lib-dlc.h>
#include <lnet/lnetconfig/cyaml.h>
#include <lnet/nidstr.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Success; there may have been nothing to do. */
#define LUSTRE_CFG_RC_NO_ERR 0
/** An argument cannot be read or is not allowed. */
#define LUSTRE_CFG_RC_BAD_PARAM (-1)
#define LUSTRE_CFG_RC_MISSING_PARAM (-2)
#define LUSTRE_CFG_RC_OUT_OF_RANGE_PARAM (-3)
#define LUSTRE_CFG_RC_OUT_OF_MEM (-4)
/** A setting refused its value. */
#define LUSTRE_CFG_RC_GENERIC_ERR (-5)
/** The named thing does not exist. */
#define LUSTRE_CFG_RC_NO_MATCH (-6)
/* The other codes are never returned. */
#define LUSTRE_CFG_RC_MATCH (-7)
#define LUSTRE_CFG_RC_SKIP (-8)
#define LUSTRE_CFG_RC_LAST_ELEM (-9)
#define LUSTRE_CFG_RC_MARSHAL_FAIL (-10)

/** The first level of a tree of errors: the operation that was tried. */
#define CONFIG_CMD "configure"
#define UNCONFIG_CMD "unconfigure"
#define ADD_CMD "add"
#define DEL_CMD "del"
#define SHOW_CMD "show"
#define DBG_CMD "dbg"
#define MANAGE_CMD "manage"

/** The operations; lustre_lnet_modify_peer takes two of them. */
enum lnetctl_cmd {
	LNETCTL_CONFIG_CMD = 1,
	LNETCTL_UNCONFIG_CMD = 2,
	LNETCTL_ADD_CMD = 3,
	LNETCTL_DEL_CMD = 4,
	LNETCTL_SHOW_CMD = 5,
	LNETCTL_DBG_CMD = 6,
	LNETCTL_MANAGE_CMD = 7,
	LNETCTL_LAST_CMD = 8
};

#define MAX_NUM_IPS 128
#define LNET_MAX_NIDS_PER_PEER 128
#define LNET_MAX_SHOW_NUM_NID 128
#define LNET_INTERFACES_NUM 16
#define LNET_INTERFACES_MIN 16
#define LNET_INTERFACES_MAX_DEFAULT 200

/** A net and its interfaces. Made with lustre_lnet_init_nw_descr. */
struct lnet_dlc_network_descr {
	/** The link in lists of the program. */
	struct list_head network_on_rule;
	/** The net: libcfs_str2net; all ones for none. */
	__u32 nw_id;
	/** The list of its interfaces, struct lnet_dlc_intf_descr. */
	struct list_head nw_intflist;
};

/**
 * An interface. A program that fills a list itself allocates it, and cpt_expr, with malloc: functions that get a
 * list free its descriptors.
 */
struct lnet_dlc_intf_descr {
	/** The link in nw_intflist. */
	struct list_head intf_on_network;
	/** The name of the interface, or its address; with a terminating zero. */
	char intf_name[16];
	/** The CPU partitions that the interface is bound to; NULL if none were given. Freed with the descriptor. */
	struct cfs_expr_list *cpt_expr;
};

/** The effect of a selection rule. */
enum lnet_udsp_action_type {
	EN_LNET_UDSP_ACTION_NONE = 0,
	EN_LNET_UDSP_ACTION_PRIORITY = 1,
	EN_LNET_UDSP_ACTION_PREFERRED_LIST = 2
};

/** The action of a selection rule. */
union lnet_udsp_action {
	/** The priority, from 0 to 255: smaller is preferred. */
	int udsp_priority;
};

/** The description of the nets to which a selection rule applies. */
struct lnet_ud_net_descr {
	/** The type of the nets; 0 if nets are no criterion. */
	__u32 udn_net_type;
	/** The numbers of the nets, as a list of struct cfs_expr_list. */
	struct list_head udn_net_num_range;
};

/** The description of the NIDs to which a selection rule applies. */
struct lnet_ud_nid_descr {
	struct lnet_ud_net_descr ud_net_id;
	/** The addresses, as a list of struct cfs_expr_list. */
	struct list_head ud_addr_range;
};

/** A selection rule. */
struct lnet_udsp {
	struct list_head udsp_on_list;
	__u32 udsp_idx;
	struct lnet_ud_nid_descr udsp_src;
	struct lnet_ud_nid_descr udsp_dst;
	struct lnet_ud_nid_descr udsp_rte;
	enum lnet_udsp_action_type udsp_action_type;
	union {
		__u32 udsp_priority;
	} udsp_action;
};

/* Functions for the library and for LNet as a whole. */

/**
 * Prepares the library. Returns the number of a device, which is 0; other implementations return a
 * negative number on failure. There is nothing to prepare here: nothing is connected before it is needed.
 */
int lustre_lnet_config_lib_init(void);

/** Undoes lustre_lnet_config_lib_init, which is nothing. */
void lustre_lnet_config_lib_uninit(void);

/**
 * Starts LNet (up), with the nets that are configured for the start if load_ni_from_mod; or stops
 * it. Returns 0, also if there is nothing to do; -EBUSY if a program uses the node that is to be stopped.
 */
int lustre_lnet_config_ni_system(bool up, bool load_ni_from_mod, int seq_no, struct cYAML **err_rc);

/* Functions for descriptions of nets and interfaces. */

/** Makes a descriptor without a net and without interfaces. */
void lustre_lnet_init_nw_descr(struct lnet_dlc_network_descr *nw_descr);

/**
 * Adds the interfaces of a list such as `eth0,eth1[0,2]` to the descriptor; in brackets are CPU partitions.
 * Addresses may replace names. Returns 0; LUSTRE_CFG_RC_BAD_PARAM if the text is not such a list or has a name
 * of more than 15 characters, LUSTRE_CFG_RC_OUT_OF_MEM: nothing is added then.
 */
int lustre_lnet_parse_interfaces(char *intf_str, struct lnet_dlc_network_descr *nw_descr);

/* Functions for interfaces of this node. */

/**
 * Adds the interfaces of nw_descr, in their order; the first that is refused ends the call, those before it stay.
 *
 * global_cpts applies to interfaces without CPU partitions, and the caller still owns it; NULL for all.
 * ip2net, unless NULL, is a rule such as "tcp 10.0.0.*" in place of nw_descr. With tunables NULL, and a member
 * 0 or -1, the default is used; so it is with cpp -1, the connections to each peer. The interfaces of nw_descr
 * are removed from it and freed in any case.
 *
 * Returns 0; LUSTRE_CFG_RC_BAD_PARAM, LUSTRE_CFG_RC_MISSING_PARAM; -EEXIST, -EINVAL and other errors of the
 * node.
 */
int lustre_lnet_config_ni(struct lnet_dlc_network_descr *nw_descr,
		struct cfs_expr_list *global_cpts, char *ip2net,
		struct lnet_ioctl_config_lnd_tunables *tunables, long cpp, int seq_no,
		struct cYAML **err_rc);

/**
 * Deletes the interfaces of nw, all of the net if it has none; all are tried. The interfaces are
 * removed from nw and freed in any case. Returns 0 or the last failure, such as -ENOENT.
 */
int lustre_lnet_del_ni(struct lnet_dlc_network_descr *nw, int seq_no, struct cYAML **err_rc);

/**
 * Shows the interfaces of the net nw, or all if it is NULL, under net. detail is the level of
 * verbosity, 0 to 4; with backup, only what can be imported again is shown.
 */
int lustre_lnet_show_net(char *nw, int detail, int seq_no, struct cYAML **show_rc,
		struct cYAML **err_rc, bool backup);

/**
 * Sets the health value of the interface ni_nid, or of all: 0 to 1000; -1 stands for 1000. LUSTRE_CFG_RC_BAD_PARAM for any
 * other value and for a text that is not a NID, -ENOENT for a NID that the node does not have, LUSTRE_CFG_RC_MISSING_PARAM
 * without ni_nid and all.
 */
int lustre_lnet_config_ni_healthv(int value, bool all, char *ni_nid, int seq_no,
		struct cYAML **err_rc);

/**
 * Sets the number of connections to each peer, 0 to 127, of the interface ni_nid, or of all; -1 changes
 * nothing. Otherwise as lustre_lnet_config_ni_healthv.
 */
int lustre_lnet_config_ni_conns_per_peer(int value, bool all, char *ni_nid, int seq_no,
		struct cYAML **err_rc);

/**
 * Does nothing and returns 0. Other implementations set up the host's routing tables for several interfaces on one net; this
 * library does not change the host's routing. SOCKLND_BIND_TO_DEVICE=1 makes connections leave by their interface.
 */
int lustre_lnet_setup_mrrouting(struct cYAML **err_rc);

/**
 * Stores the ID of the RDMA service of the node's o2ib interfaces in *service_id, in network byte order, and returns 0.
 * LUSTRE_CFG_RC_NO_MATCH without such an interface, and *service_id is 0 then.
 */
int lustre_lnet_calc_service_id(__u64 *service_id);

/**
 * The CPU partition, of ncpts, that the NID nidc belongs to unless configured otherwise. Needs no network.
 * LUSTRE_CFG_RC_BAD_PARAM for a text that is not a NID, and unless ncpts is positive.
 */
int lustre_lnet_calc_cpt_of_nid(char *nidc, long ncpts);

/* Functions for routes. */

/**
 * Adds routes to the net nw over each gateway of the list gw (NIDs or ranges of NIDs). hops is from 1 to 255,
 * prio from 0 (smaller is preferred), sen from 1 (the gateways' health sensitivity); -1 leaves each open.
 * A route that exists already is no failure.
 */
int lustre_lnet_config_route(char *nw, char *gw, int hops, int prio, int sen, int seq_no,
		struct cYAML **err_rc);

/** Deletes the routes to the net nw over each gateway of the list gw. */
int lustre_lnet_del_route(char *nw, char *gw, int seq_no, struct cYAML **err_rc);

/**
 * Shows routes under route: those to the net nw, over the gateway gw, with this number of hops and this priority;
 * NULL and -1 for any. If detail is above 0 all values of each are shown; with backup, only what can be imported.
 */
int lustre_lnet_show_route(char *nw, char *gw, int hops, int prio, int detail, int seq_no,
		struct cYAML **show_rc, struct cYAML **err_rc, bool backup);

/* Functions for forwarding messages of other nodes. */

/** Switches forwarding for other nodes on (enable other than 0) or off (0). */
int lustre_lnet_enable_routing(int enable, int seq_no, struct cYAML **err_rc);

/**
 * Sets the numbers of router buffers over all CPU partitions: 0 for the default, -1 for no
 * change. Without effect while forwarding is off.
 */
int lustre_lnet_config_buffers(int tiny, int small, int large, int seq_no, struct cYAML **err_rc);

/** Shows the router buffers under routing; nothing until forwarding has been switched on once. */
int lustre_lnet_show_routing(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc,
		bool backup);

/* Functions for other nodes. */

/**
 * Creates the peer with the primary NID prim_nid or adds NIDs to it (cmd LNETCTL_ADD_CMD; is_mr: the peer is
 * multi-rail; force other than 0: discovery must not change its primary NID), or removes NIDs from it or
 * the peer (LNETCTL_DEL_CMD; force: even if its primary NID is locked). nids is a list of NIDs or ranges
 * of NIDs, at most 128; NULL for the peer itself. A refused NID ends the call, those before it stay.
 */
int lustre_lnet_modify_peer(char *prim_nid, char *nids, bool is_mr, int cmd, int force, int seq_no,
		struct cYAML **err_rc);

/**
 * Shows the peer with the NID knid, or all if it is NULL, under peer. detail is the level of verbosity,
 * 0 to 4; with backup, only what can be imported again is shown.
 */
int lustre_lnet_show_peer(char *knid, int detail, int seq_no, struct cYAML **show_rc,
		struct cYAML **err_rc, bool backup);

/**
 * Shows at most max peers under peer, all if max is 0 or negative; detail as for lustre_lnet_show_peer. The name is that of
 * the Multi-Rail design; not in other implementations.
 */
int lustre_lnet_show_peers(int max, int detail, int seq_no, struct cYAML **show_rc,
		struct cYAML **err_rc);

/** Shows the primary NIDs of all peers under peer list. */
int lustre_lnet_list_peer(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/** Sets the health value of the peer's interface pni_nid, or of all; as lustre_lnet_config_ni_healthv. */
int lustre_lnet_config_peer_ni_healthv(int value, bool all, char *pni_nid, int seq_no,
		struct cYAML **err_rc);

/** Overwrites the state word of the peer with the NID lpni_nid: for debugging. */
int lustre_lnet_set_peer_state(int state, char *lpni_nid, int seq_no, struct cYAML **err_rc);

/**
 * Stores every NID of a list of NIDs or ranges of NIDs, such as "10.0.0.[1-3]@tcp", in lnet_nidlist, which
 * has space for max_nids.
 *
 * Returns the number of NIDs; a negative number if the text is not such a list, names no NID, or more than max_nids. The
 * error is then in err_str, of at least LNET_MAX_STR_LEN bytes, unless that is NULL.
 */
int lustre_lnet_parse_nidstr(char *nidstr, lnet_nid_t *lnet_nidlist, int max_nids, char *err_str);

/* Functions that ask other nodes for their NIDs. */

/**
 * Pings every node of the comma list pnid and shows its NIDs under ping. src_nidstr is the NID to send from, or
 * NULL; timeout is in milliseconds, and a value that is not positive or above 180000 means 180000. Returns 0 if at
 * least one node responded.
 */
int lustre_lnet_ping_nid(char *pnid, char *src_nidstr, int timeout, int seq_no,
		struct cYAML **show_rc, struct cYAML **err_rc);

/**
 * Discovers the NIDs of every node of the comma list pnid, even of nodes that are known already, and shows them
 * under discover. If force is not 0 each node also gets this node's NIDs, even if it has them. err_rc has the
 * step that failed and the NID. Returns 0 if at least one node responded.
 */
int lustre_lnet_discover_nid(char *pnid, int force, int seq_no, struct cYAML **show_rc,
		struct cYAML **err_rc);

/* Functions for settings of the whole node. */

/**
 * Sets by how much NUMA distances may differ. LUSTRE_CFG_RC_GENERIC_ERR for a value that the node refuses;
 * so in all these functions.
 */
int lustre_lnet_config_numa_range(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as numa_range. */
int lustre_lnet_show_numa_range(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/** Sets the most interfaces that a peer may have: from 16. */
int lustre_lnet_config_max_intf(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as max_interfaces. */
int lustre_lnet_show_max_intf(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/**
 * Sets whether peers are discovered: 0 not, 1 yes, 2 only to compare what they
 * say with what is known of them.
 */
int lustre_lnet_config_discovery(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as discovery. */
int lustre_lnet_show_discovery(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/**
 * Sets whether messages are dropped that came by another way than the
 * answer would go: 0 or 1.
 */
int lustre_lnet_config_drop_asym_route(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as drop_asym_route. */
int lustre_lnet_show_drop_asym_route(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/** Sets how often a message is sent again. */
int lustre_lnet_config_retry_count(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as retry_count. */
int lustre_lnet_show_retry_count(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/** Sets the seconds that a message and its answer may take. */
int lustre_lnet_config_transaction_to(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as transaction_timeout. */
int lustre_lnet_show_transaction_to(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/** Sets by how much a failure lowers a health value, 0 to 1000. */
int lustre_lnet_config_hsensitivity(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as health_sensitivity. */
int lustre_lnet_show_hsensitivity(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/** Sets the recovery interval, which has no effect. */
int lustre_lnet_config_recov_intrv(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as recovery_interval. */
int lustre_lnet_show_recov_intrv(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/** Sets the percentage of its health that a router must have. */
int lustre_lnet_config_rtr_sensitivity(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as router_sensitivity. */
int lustre_lnet_show_rtr_sensitivity(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/**
 * Sets for which messages answers are tracked: 0 LNet's own, 1 GETs,
 * 2 PUTs, 3 both.
 */
int lustre_lnet_config_response_tracking(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as response_tracking. */
int lustre_lnet_show_response_tracking(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/** Sets the seconds for which recovery pings go to an unhealthy interface; 0 for ever. */
int lustre_lnet_config_recovery_limit(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as recovery_limit. */
int lustre_lnet_show_recovery_limit(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/** Sets the most seconds between two recovery pings to an unhealthy interface, from 1 on. Not in other implementations. */
int lustre_lnet_config_max_recovery_ping_interval(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as max_recovery_ping_interval. Not in other implementations. */
int lustre_lnet_show_max_recovery_ping_interval(int seq_no, struct cYAML **show_rc,
		struct cYAML **err_rc);

/** Sets whether a peer's interfaces are compared by their queued bytes before their credits: 0 or 1. Not in other implementations. */
int lustre_lnet_config_compare_queued_bytes(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as compare_queued_bytes. Not in other implementations. */
int lustre_lnet_show_compare_queued_bytes(int seq_no, struct cYAML **show_rc,
		struct cYAML **err_rc);

/** Sets the seconds that a discovery may take, all of its steps together, from 1. */
int lustre_lnet_config_discovery_to(int value, int seq_no, struct cYAML **err_rc);

/** Shows that under global, as discovery_timeout. */
int lustre_lnet_show_discovery_to(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/**
 * Shows under global, as lnd_timeout, the seconds that a driver has for one message. It follows from other
 * settings.
 */
int lustre_lnet_show_lnd_timeout(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/* Functions for counters and recovery. */

/** Shows the node's counters under statistics. */
int lustre_lnet_show_stats(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/** Sets the node's counters to 0. */
int lustre_lnet_reset_stats(int seq_no, struct cYAML **err_rc);

/** Shows the NIDs of this node that are being recovered; nothing if there are none. */
int lustre_lnet_show_local_ni_recovq(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/** Shows the NIDs of other nodes that are being recovered; nothing if there are none. */
int lustre_lnet_show_peer_ni_recovq(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/* Functions for selection rules. */

/**
 * Adds a selection rule: src for interfaces of this node, dst for those of peers, rte for routers, each NULL or such as
 * tcp[1-3] or 10.0.0.*@tcp. type is priority, with its value from 0 to 255 in *action, or pref, for which action may be
 * NULL; with NULL the type follows from the criteria. idx is the rule's index, -1 for the end. -EALREADY if the rule exists.
 */
int lustre_lnet_add_udsp(char *src, char *dst, char *rte, char *type,
		union lnet_udsp_action *action, int idx, int seq_no, struct cYAML **err_rc);

/** Deletes the selection rule with the index idx; all, if idx is (unsigned int)-1. */
int lustre_lnet_del_udsp(unsigned int idx, int seq_no, struct cYAML **err_rc);

/**
 * Deletes the selection rule that has exactly these criteria, each as for lustre_lnet_add_udsp; if idx is not negative
 * the rule must have it as its index. Not in other implementations.
 */
int lustre_lnet_del_same_udsp(char *src, char *dst, char *rte, int idx, int seq_no,
		struct cYAML **err_rc);

/** Shows the selection rule with the index idx, all if it is negative, under udsp. */
int lustre_lnet_show_udsp(int idx, int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/**
 * Adds a selection rule of a selection_type, which is refused without the net, the NIDs or the pair of NIDs that the type
 * needs; for NIDs two rules are added, for those of this node and of peers. 0 is the highest priority, 255 the lowest. Not
 * in other implementations.
 */
int lustre_lnet_selection_add(int type, char *pattern1, char *pattern2, unsigned int priority,
		int seq_no, struct cYAML **err_rc);

/**
 * Deletes the selection rule with the index idx, which must be of this selection_type, or if that is negative the rules with
 * these criteria, each as for lustre_lnet_selection_add or NULL; if both are given they must mean one rule. Not in other
 * implementations.
 */
int lustre_lnet_selection_del(int type, char *pattern1, char *pattern2, int idx, int seq_no,
		struct cYAML **err_rc);

/** Shows the selection rules of this selection_type, each with its index, under udsp. Not in other implementations. */
int lustre_lnet_selection_show(int type, int seq_no, struct cYAML **show_rc, struct cYAML **err_rc);

/** The type of selection rules with this name: `priority`, or `pref` for a list. The beginning of the word decides. */
enum lnet_udsp_action_type lustre_lnet_udsp_str_to_action(char *action);

/** The number of bytes that lnet_udsp_marshal needs for a selection rule; -EINVAL for an invalid rule. */
int lnet_get_udsp_size(struct lnet_udsp *udsp);

/**
 * Stores a selection rule in one piece in the *bulk_size bytes of bulk, and the number of bytes in *bulk_size. Returns 0;
 * -ENOSPC if bulk is too small, -EINVAL for an invalid rule.
 */
int lnet_udsp_marshal(struct lnet_udsp *udsp, __u32 *bulk_size, void *bulk);

/**
 * Makes *udsp the selection rule that lnet_udsp_marshal has stored in the bulk_size bytes of bulk. It is in no list. The
 * caller frees its ranges, each with cfs_expr_list_free_list. Returns 0; -EINVAL for other bytes, -ENOMEM; the rule has no
 * ranges then.
 */
int lnet_udsp_demarshal(void *bulk, __u32 bulk_size, struct lnet_udsp *udsp);

/* Functions for configuration files; f is a name, or NULL for standard input. */

/**
 * Adds the items of the YAML file with the name f, or of standard input if f is NULL. Returns 0 or the
 * last failure; the items after one that fails are still added. LUSTRE_CFG_RC_BAD_PARAM for a file with an
 * error, of which nothing is added.
 */
int lustre_yaml_config(char *f, struct cYAML **err_rc);

/** Deletes the items of such a file; otherwise like lustre_yaml_config. */
int lustre_yaml_del(char *f, struct cYAML **err_rc);

/**
 * Shows the items of such a file; otherwise like lustre_yaml_config. Items are also shown if others
 * failed.
 */
int lustre_yaml_show(char *f, struct cYAML **show_rc, struct cYAML **err_rc);

/** Carries out the pings and discoveries of such a file; otherwise like lustre_yaml_show. */
int lustre_yaml_exec(char *f, struct cYAML **show_rc, struct cYAML **err_rc);

#ifdef __cplusplus
}
#endif

#endif
