/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions with the names in the design documents of Multi-Rail, and lustre_lnet_config_net of releases before 2.10.
 * They are implemented with the functions of liblnetconfig.h. show_net, show_peer and *_udsp of the design documents
 * exist there under the same names, with the arguments of the releases. The functions are inline, so that no name of
 * the library has two meanings. */
#ifndef LNETCONFIG_LNETCONFIG_HLD_H
#define LNETCONFIG_LNETCONFIG_HLD_H

#include <errno.h>
#include <lnet/lnetconfig/liblnetconfig.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The subject of a rule of struct lnet_selection_descriptor. */
enum selection_type {
	LNET_SELECTION_NET = 0,
	LNET_SELECTION_NID = 1,
	LNET_SELECTION_PEER = 2
};

/** A selection rule. */
struct lnet_selection_descriptor {
	enum selection_type lsd_type;
	/** The pattern of the nets, or of the NIDs; in a point-to-point rule, of this node's NIDs. */
	char *lsd_pattern1;
	/** The pattern for the other node's NIDs in a point-to-point rule; otherwise NULL. */
	char *lsd_pattern2;
	union {
		/** The priority: 0 is the highest, 255 the lowest. */
		__u32 lsda_priority;
	} lsd_action_u;
};

/** Records an argument that cannot be used. */
static inline int lustre_lnet_hld_bad_param(const char *cmd, const char *entity, int seq_no,
					    struct cYAML **err_rc)
{
	cYAML_build_error(LUSTRE_CFG_RC_BAD_PARAM, seq_no, (char *)cmd, (char *)entity,
			  (char *)"\"an argument is missing or cannot be read\"", err_rc);
	return LUSTRE_CFG_RC_BAD_PARAM;
}

/**
 * Adds the interfaces of the comma-separated list intf to a net, or those that the rule ip2net specifies. Time-out
 * and credits: -1 leaves the default. smp is an expression for CPU partitions, or NULL.
 */
static inline int lustre_lnet_config_net(char *net, char *intf, char *ip2net, int peer_to, int peer_cr,
					 int peer_buf_cr, int credits, char *smp, int seq_no,
					 struct cYAML **err_rc)
{
	struct lnet_ioctl_config_lnd_tunables tunables;
	struct lnet_dlc_network_descr descr;
	struct cfs_expr_list *cpts = NULL;
	int rc;

	memset(&tunables, 0, sizeof(tunables));
	tunables.lt_cmn.lct_peer_timeout = peer_to;
	tunables.lt_cmn.lct_peer_tx_credits = peer_cr;
	tunables.lt_cmn.lct_peer_rtr_credits = peer_buf_cr;
	tunables.lt_cmn.lct_max_tx_credits = credits;
	lustre_lnet_init_nw_descr(&descr);
	if (net != NULL) {
		descr.nw_id = libcfs_str2net(net);
		if (descr.nw_id == (__u32)-1)
			return lustre_lnet_hld_bad_param(ADD_CMD, "net", seq_no, err_rc);
	}
	if (smp != NULL && cfs_expr_list_parse(smp, (int)strlen(smp), 0, (unsigned int)-1, &cpts) != 0)
		return lustre_lnet_hld_bad_param(ADD_CMD, "net", seq_no, err_rc);
	if (intf != NULL && lustre_lnet_parse_interfaces(intf, &descr) != 0)
		rc = lustre_lnet_hld_bad_param(ADD_CMD, "net", seq_no, err_rc);
	else
		rc = lustre_lnet_config_ni(&descr, cpts, ip2net, &tunables, -1, seq_no, err_rc);
	cfs_expr_list_free(cpts);
	return rc;
}

/** Removes the interfaces of the comma-separated list intf from a net; if intf is NULL, removes the net. */
static inline int lustre_lnet_del_net(char *nw, char *intf, int seq_no, struct cYAML **err_rc)
{
	struct lnet_dlc_network_descr descr;

	lustre_lnet_init_nw_descr(&descr);
	if (nw != NULL) {
		descr.nw_id = libcfs_str2net(nw);
		if (descr.nw_id == (__u32)-1)
			return lustre_lnet_hld_bad_param(DEL_CMD, "net", seq_no, err_rc);
	}
	if (intf != NULL && lustre_lnet_parse_interfaces(intf, &descr) != 0)
		return lustre_lnet_hld_bad_param(DEL_CMD, "net", seq_no, err_rc);
	return lustre_lnet_del_ni(&descr, seq_no, err_rc);
}

/** Shows the interfaces of a net, or of all nets (NULL), like lustre_lnet_show_net. */
static inline int lustre_lnet_show_ni(char *nw, int detail, int seq_no, struct cYAML **show_rc, struct cYAML **err_rc)
{
	return lustre_lnet_show_net(nw, detail, seq_no, show_rc, err_rc, false);
}

/** Makes a multi-rail peer of a NULL-terminated array of NIDs, the primary one first. */
static inline int lustre_lnet_config_peer_nid(char **nids, int seq_no, struct cYAML **err_rc)
{
	int rc;

	if (nids == NULL || nids[0] == NULL)
		return lustre_lnet_hld_bad_param(ADD_CMD, "peer", seq_no, err_rc);
	rc = lustre_lnet_modify_peer(nids[0], NULL, true, LNETCTL_ADD_CMD, 0, seq_no, err_rc);
	for (char **nid = nids + 1; rc == 0 && *nid != NULL; nid++)
		rc = lustre_lnet_modify_peer(nids[0], *nid, true, LNETCTL_ADD_CMD, 0, seq_no, err_rc);
	return rc;
}

/** Whether a NULL-terminated array contains a NID. */
static inline bool lustre_lnet_hld_has_nid(char **nids, const char *nid)
{
	for (; *nids != NULL; nids++)
		if (libcfs_str2nid(*nids) == libcfs_str2nid(nid))
			return true;
	return false;
}

/** Configures a peer again with those NIDs of a shown peer which are not in a NULL-terminated array. */
static inline int lustre_lnet_hld_keep_others(struct cYAML *peer, char **nids, int seq_no, struct cYAML **err_rc)
{
	struct cYAML *multi_rail = cYAML_get_object_item(peer, "Multi-Rail");
	struct cYAML *list = cYAML_get_object_item(peer, "peer ni"), *place = NULL, *item;
	bool is_mr = multi_rail == NULL || multi_rail->cy_valuestring == NULL ||
		     strcmp(multi_rail->cy_valuestring, "False") != 0;
	char *primary = NULL;
	int rc = 0;

	while (rc == 0 && list != NULL && (item = cYAML_get_next_seq_item(list, &place)) != NULL) {
		struct cYAML *nid = cYAML_get_object_item(item, "nid");

		if (nid == NULL || nid->cy_valuestring == NULL || lustre_lnet_hld_has_nid(nids, nid->cy_valuestring))
			continue;
		rc = lustre_lnet_modify_peer(primary == NULL ? nid->cy_valuestring : primary,
					     primary == NULL ? NULL : nid->cy_valuestring, is_mr, LNETCTL_ADD_CMD,
					     0, seq_no, err_rc);
		if (primary == NULL)
			primary = nid->cy_valuestring;
	}
	return rc;
}

/**
 * Takes the NIDs of a NULL-terminated array, all of one peer, from that peer, which is forgotten when it has no other. If
 * its primary NID is among them, the first of the others takes its place. The first NID that the peer does not have ends
 * it; what came before it stays done, and the primary NID stays.
 */
static inline int lustre_lnet_del_peer_nid(char **nids, int seq_no, struct cYAML **err_rc)
{
	struct cYAML *shown = NULL, *peer, *primary, *place = NULL;
	int rc = 0;

	if (nids == NULL || nids[0] == NULL)
		return lustre_lnet_hld_bad_param(DEL_CMD, "peer", seq_no, err_rc);
	lustre_lnet_show_peer(nids[0], 0, seq_no, &shown, NULL, false);
	peer = shown == NULL ? NULL : cYAML_get_object_item(shown, "peer");
	peer = peer == NULL ? NULL : cYAML_get_next_seq_item(peer, &place);
	primary = peer == NULL ? NULL : cYAML_get_object_item(peer, "primary nid");
	if (primary == NULL || primary->cy_valuestring == NULL)
		/* No peer has this NID, or there is no node. This call fails and creates the message. */
		rc = lustre_lnet_modify_peer(nids[0], NULL, true, LNETCTL_DEL_CMD, 0, seq_no, err_rc);
	else {
		for (char **nid = nids; rc == 0 && *nid != NULL; nid++)
			if (libcfs_str2nid(*nid) != libcfs_str2nid(primary->cy_valuestring))
				rc = lustre_lnet_modify_peer(primary->cy_valuestring, *nid, true, LNETCTL_DEL_CMD, 0,
							     seq_no, err_rc);
		if (rc == 0 && lustre_lnet_hld_has_nid(nids, primary->cy_valuestring)) {
			rc = lustre_lnet_modify_peer(primary->cy_valuestring, NULL, true, LNETCTL_DEL_CMD, 0, seq_no,
						     err_rc);
			if (rc == 0)
				rc = lustre_lnet_hld_keep_others(peer, nids, seq_no, err_rc);
		}
	}
	cYAML_free_tree(shown);
	return rc;
}

/** Adds NIDs to a peer, like lustre_lnet_config_peer_nid. */
static inline int lustre_lnet_config_peer(char **nids, int seq_no, struct cYAML **err_rc)
{
	return lustre_lnet_config_peer_nid(nids, seq_no, err_rc);
}

/** Removes NIDs from a peer, like lustre_lnet_del_peer_nid. */
static inline int lustre_lnet_del_peer(char **nids, int seq_no, struct cYAML **err_rc)
{
	return lustre_lnet_del_peer_nid(nids, seq_no, err_rc);
}

/**
 * Adds a selection rule: the priority of a net of this node; the priority of NIDs (of this node or of others: two
 * rules); or the priority of pairs of NIDs (one of this node, one of another).
 */
static inline int lustre_lnet_add_selection(struct lnet_selection_descriptor *selection, int seq_no,
					    struct cYAML **err_rc)
{
	if (selection == NULL)
		return lustre_lnet_hld_bad_param(ADD_CMD, "selection", seq_no, err_rc);
	return lustre_lnet_selection_add(selection->lsd_type, selection->lsd_pattern1, selection->lsd_pattern2,
					 selection->lsd_action_u.lsda_priority, seq_no, err_rc);
}

/** Adds a rule about nets of this node. 0 is the highest priority, 255 the lowest. */
static inline int lustre_lnet_config_net_selection_rule(char *net, __u32 priority, int seq_no, struct cYAML **err_rc)
{
	return lustre_lnet_selection_add(LNET_SELECTION_NET, net, NULL, priority, seq_no, err_rc);
}

/** Adds a rule about NIDs, this node's and others': two rules. */
static inline int lustre_lnet_config_nid_selection_rule(char *nid, __u32 priority, int seq_no, struct cYAML **err_rc)
{
	return lustre_lnet_selection_add(LNET_SELECTION_NID, nid, NULL, priority, seq_no, err_rc);
}

/** Adds a rule about NIDs of this node for NIDs of others. */
static inline int lustre_lnet_config_peer_selection_rule(char *local, char *remote, __u32 priority, int seq_no,
							 struct cYAML **err_rc)
{
	return lustre_lnet_selection_add(LNET_SELECTION_PEER, local, remote, priority, seq_no, err_rc);
}

/** Deletes a rule about nets of this node: by its criterion, or with NULL by its index; with both they must be of one rule. */
static inline int lustre_lnet_del_net_selection_rule(char *net, int id, int seq_no, struct cYAML **err_rc)
{
	return lustre_lnet_selection_del(LNET_SELECTION_NET, net, NULL, id, seq_no, err_rc);
}

/** Deletes the rules about NIDs, this node's and others': by their criterion, or with NULL one of them by its index. */
static inline int lustre_lnet_del_nid_selection_rule(char *nid, int id, int seq_no, struct cYAML **err_rc)
{
	return lustre_lnet_selection_del(LNET_SELECTION_NID, nid, NULL, id, seq_no, err_rc);
}

/** Deletes a rule about NIDs of this node for NIDs of others: by its criteria, or with NULL by its index. */
static inline int lustre_lnet_del_peer_selection_rule(char *local, char *remote, int id, int seq_no,
						      struct cYAML **err_rc)
{
	return lustre_lnet_selection_del(LNET_SELECTION_PEER, local, remote, id, seq_no, err_rc);
}

/** Shows the rules about nets of this node, each with its index, under udsp. */
static inline int lustre_lnet_net_selection_rule(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc)
{
	return lustre_lnet_selection_show(LNET_SELECTION_NET, seq_no, show_rc, err_rc);
}

/** Shows the rules about NIDs, each with its index, under udsp. */
static inline int lustre_lnet_nid_selection_rule(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc)
{
	return lustre_lnet_selection_show(LNET_SELECTION_NID, seq_no, show_rc, err_rc);
}

/** Shows the rules about pairs of NIDs, each with its index, under udsp. */
static inline int lustre_lnet_peer_selection_rule(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc)
{
	return lustre_lnet_selection_show(LNET_SELECTION_PEER, seq_no, show_rc, err_rc);
}

/** The three functions for the kind of rule that the design calls "connection" in one place and "peer" in another. */
static inline int lustre_lnet_config_connection_selection_rule(char *local, char *remote, __u32 priority, int seq_no,
							       struct cYAML **err_rc)
{
	return lustre_lnet_config_peer_selection_rule(local, remote, priority, seq_no, err_rc);
}

static inline int lustre_lnet_del_connection_selection_rule(char *local, char *remote, int id, int seq_no,
							    struct cYAML **err_rc)
{
	return lustre_lnet_del_peer_selection_rule(local, remote, id, seq_no, err_rc);
}

static inline int lustre_lnet_connection_selection_rule(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc)
{
	return lustre_lnet_peer_selection_rule(seq_no, show_rc, err_rc);
}

/** Sets whether peers are discovered: 0 no, 1 yes, 2 only to compare their replies with what is known of them. */
static inline int lustre_lnet_set_dynamic_discover(int enable, int seq_no, struct cYAML **err_rc)
{
	return lustre_lnet_config_discovery(enable, seq_no, err_rc);
}

/** Accepts only 0, because TCP bonding does not exist any more; switching it on fails with -EOPNOTSUPP. */
static inline int lustre_lnet_set_use_tcp_bonding(int enable, int seq_no, struct cYAML **err_rc)
{
	int rc = enable != 0 ? -EOPNOTSUPP : LUSTRE_CFG_RC_NO_ERR;

	cYAML_build_error(rc, seq_no, (char *)ADD_CMD, (char *)"use_tcp_bonding",
			  (char *)(enable != 0 ? "\"not supported\"" : "\"success\""), err_rc);
	return rc;
}

#ifdef __cplusplus
}
#endif

#endif
