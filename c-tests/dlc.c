/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tests the functions of the DLC API other than those for selection rules: without a node, and on the node of this
 * process.
 */
#include "dlc.h"
#include <arpa/inet.h>
#include <lnet/lnetconfig/liblnd.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define OWN "127.0.0.1@tcp"

static void descriptors(void)
{
	static const char *const wrong[] = { "", "lo,", "lo[", "lo[a]", "a-name-of-17-char" };
	struct lnet_dlc_network_descr net;
	struct lnet_dlc_intf_descr *first, *second;
	__u32 *cpts = NULL;

	lustre_lnet_init_nw_descr(&net);
	lustre_lnet_init_nw_descr(NULL);
	CHECK(list_empty(&net.network_on_rule) && list_empty(&net.nw_intflist));
	CHECK_EQ(net.nw_id, (__u32)-1);
	for (size_t i = 0; i < LENGTH(wrong); i++)
		CHECK_EQ(lustre_lnet_parse_interfaces(c(wrong[i]), &net), LUSTRE_CFG_RC_BAD_PARAM);
	CHECK_EQ(lustre_lnet_parse_interfaces(NULL, &net), LUSTRE_CFG_RC_BAD_PARAM);
	CHECK_EQ(lustre_lnet_parse_interfaces(c("lo"), NULL), LUSTRE_CFG_RC_BAD_PARAM);
	CHECK(list_empty(&net.nw_intflist));

	CHECK_EQ(lustre_lnet_parse_interfaces(c("eth0[0,2], 127.0.0.1"), &net), 0);
	first = list_entry(net.nw_intflist.next, struct lnet_dlc_intf_descr, intf_on_network);
	second = list_entry(net.nw_intflist.prev, struct lnet_dlc_intf_descr, intf_on_network);
	CHECK_STR(first->intf_name, "eth0");
	CHECK_EQ(cfs_expr_list_values(first->cpt_expr, 8, &cpts), 2);
	CHECK(cpts != NULL && cpts[0] == 0 && cpts[1] == 2);
	cfs_expr_list_values_free(cpts, 2);
	CHECK_STR(second->intf_name, "127.0.0.1");
	CHECK(second->cpt_expr == NULL);

	/*
	 * A call that takes the descriptor empties it, even if the call fails; a call that fails because no net is
	 * named does not.
	 */
	CHECK(lustre_lnet_config_ni(&net, NULL, NULL, NULL, -1, NONE, NULL) < 0);
	CHECK(list_empty(&net.nw_intflist));
	CHECK(lustre_lnet_config_ni(NULL, NULL, NULL, NULL, -1, NONE, NULL) < 0);
	CHECK_EQ(lustre_lnet_parse_interfaces(c("lo[1]"), &net), 0);
	CHECK(lustre_lnet_del_ni(&net, NONE, NULL) < 0);
	CHECK(list_empty(&net.nw_intflist));
	CHECK(lustre_lnet_del_ni(NULL, NONE, NULL) < 0);
}

static void what_needs_no_node(void)
{
	lnet_nid_t nids[4];
	char why[LNET_MAX_STR_LEN] = "", list[] = "10.0.0.[1-3]@tcp,10.0.0.9@tcp1";
	__u64 id = 5;

	CHECK_EQ(lustre_lnet_config_lib_init(), 0);
	lustre_lnet_config_lib_uninit();
	CALL(lustre_lnet_setup_mrrouting(&err), 0);
	CHECK_EQ(lustre_lnet_calc_service_id(&id), LUSTRE_CFG_RC_NO_MATCH);
	CHECK_EQ(lustre_lnet_calc_service_id(NULL), LUSTRE_CFG_RC_NO_MATCH);
	CHECK_EQ(id, 0);

	CHECK_EQ(lustre_lnet_calc_cpt_of_nid(c("10.0.0.1@tcp"), 1), 0);
	CHECK_EQ(lustre_lnet_calc_cpt_of_nid(c("10.0.0.1@tcp"), 4), (10 + 1 + 2) % 4);
	CHECK_EQ(lustre_lnet_calc_cpt_of_nid(c("10.0.0.1@tcp"), 0), LUSTRE_CFG_RC_BAD_PARAM);
	CHECK_EQ(lustre_lnet_calc_cpt_of_nid(c("bogus@net"), 4), LUSTRE_CFG_RC_BAD_PARAM);
	CHECK_EQ(lustre_lnet_calc_cpt_of_nid(NULL, 4), LUSTRE_CFG_RC_BAD_PARAM);

	CHECK_EQ(lustre_lnet_parse_nidstr(list, nids, 4, why), 4);
	CHECK_STR(list, "10.0.0.[1-3]@tcp,10.0.0.9@tcp1");
	CHECK_EQ(nids[0], libcfs_str2nid("10.0.0.1@tcp"));
	CHECK_EQ(nids[3], libcfs_str2nid("10.0.0.9@tcp1"));
	CHECK(lustre_lnet_parse_nidstr(list, nids, 3, why) < 0);
	CHECK(why[0] != '\0');
	CHECK(lustre_lnet_parse_nidstr(c("10.0.0.1-3@tcp"), nids, 4, NULL) < 0);
	CHECK(lustre_lnet_parse_nidstr(NULL, nids, 4, why) < 0);
	CHECK(lustre_lnet_parse_nidstr(list, nids, 0, why) < 0);
}

static void tunables_in_trees(void)
{
	struct lnet_ioctl_config_lnd_tunables tunables;
	struct lnet_lnd_tunables read;
	struct cYAML *tree = cYAML_create_object(NULL, NULL), *map;
	char *text = NULL;

	memset(&tunables, 0, sizeof(tunables));
	tunables.lt_cmn.lct_peer_timeout = 180;
	tunables.lt_cmn.lct_peer_tx_credits = 8;
	tunables.lt_cmn.lct_max_tx_credits = 256;
	tunables.lt_tun.lnd_tun_u.lnd_sock.lnd_conns_per_peer = 4;
	map = cYAML_create_object(tree, c("tunables"));
	CHECK_EQ(lustre_net_show_tunables(map, &tunables.lt_cmn), 0);
	map = cYAML_create_object(tree, c("lnd tunables"));
	CHECK_EQ(lustre_ni_show_tunables(map, SOCKLND, &tunables.lt_tun), 0);
	CHECK_EQ(lustre_ni_show_tunables(map, LOLND, &tunables.lt_tun), 0);
	CHECK_EQ(lustre_ni_show_tunables(NULL, SOCKLND, &tunables.lt_tun), LUSTRE_CFG_RC_BAD_PARAM);
	CHECK_EQ(lustre_net_show_tunables(map, NULL), LUSTRE_CFG_RC_BAD_PARAM);
	cYAML_dump(tree, &text);
	CHECK_STR(text, "tunables:\n"
			"    peer_timeout: 180\n"
			"    peer_credits: 8\n"
			"    peer_buffer_credits: 0\n"
			"    credits: 256\n"
			"lnd tunables:\n"
			"    conns_per_peer: 4\n");
	free(text);
	memset(&read, 0, sizeof(read));
	lustre_yaml_extract_lnd_tunables(tree, LNET_MKNET(SOCKLND, 1), &read);
	CHECK_EQ(read.lnd_tun_u.lnd_sock.lnd_conns_per_peer, 4);
	cYAML_free_tree(tree);

	tree = cYAML_create_object(NULL, NULL);
	map = cYAML_create_object(tree, c("lnd tunables"));
	lustre_yaml_extract_lnd_tunables(tree, SOCKLND, &read);
	CHECK_EQ(read.lnd_tun_u.lnd_sock.lnd_conns_per_peer, 1);
	cYAML_create_number(map, c("ntx"), 512);
	memset(&read, 0, sizeof(read));
	lustre_yaml_extract_lnd_tunables(tree, O2IBLND, &read);
	CHECK_EQ(read.lnd_tun_u.lnd_o2ib.lnd_ntx, 512);
	CHECK_EQ(lustre_ni_show_tunables(tree, O2IBLND, &read), 0);
	CHECK_EQ(cYAML_find_object(tree->cy_child->cy_next, "ntx")->cy_valueint, 512);
	lustre_yaml_extract_lnd_tunables(NULL, O2IBLND, &read);
	lustre_yaml_extract_lnd_tunables(tree, O2IBLND, NULL);
	cYAML_free_tree(tree);
}

static void without_a_node(void)
{
	/* There is no configuration to remove. */
	CALL(lustre_lnet_config_ni_system(false, false, NONE, &err), 0);
	CALL(lustre_lnet_show_net(NULL, 0, NONE, &shown, &err, false), -ENETDOWN);
	CHECK(shown == NULL);
	CALL(lustre_lnet_show_stats(NONE, &shown, &err), -ENETDOWN);
	CALL(lustre_lnet_reset_stats(NONE, &err), -ENETDOWN);
	CALL(lustre_lnet_show_peer(NULL, 0, NONE, &shown, &err, false), -ENETDOWN);
	CALL(lustre_lnet_list_peer(NONE, &shown, &err), -ENETDOWN);
	CALL(lustre_lnet_show_route(NULL, NULL, -1, -1, 0, NONE, &shown, &err, false), -ENETDOWN);
	CHECK(shown == NULL);
	CHECK_EQ(lustre_lnet_show_stats(NONE, NULL, NULL), -ENETDOWN);
	/* The tree of errors contains the sequence number of the command. */
	CHECK_EQ(lustre_lnet_show_stats(42, &shown, &err), -ENETDOWN);
	CHECK_EQ(cYAML_find_object(err, "seq_no")->cy_valueint, 42);
	/* Earlier errors stay in the tree. */
	CHECK_EQ(lustre_lnet_reset_stats(43, &err), -ENETDOWN);
	CHECK_EQ(cYAML_find_object(err, "seq_no")->cy_valueint, 42);
	cYAML_free_tree(err);
	err = NULL;
}

static struct lnet_dlc_network_descr *net_with(const char *net, const char *interfaces)
{
	static struct lnet_dlc_network_descr descr;

	lustre_lnet_init_nw_descr(&descr);
	descr.nw_id = libcfs_str2net(net);
	if (interfaces != NULL)
		CHECK_EQ(lustre_lnet_parse_interfaces(c(interfaces), &descr), 0);
	return &descr;
}

static void interfaces(void)
{
	struct lnet_ioctl_config_lnd_tunables tunables;

	CALL(lustre_lnet_config_ni_system(true, false, NONE, &err), 0);
	CALL(lustre_lnet_config_ni_system(false, false, NONE, &err), -EBUSY);

	memset(&tunables, 0, sizeof(tunables));
	tunables.lt_cmn.lct_peer_timeout = -1;
	tunables.lt_cmn.lct_peer_tx_credits = 16;
	tunables.lt_cmn.lct_max_tx_credits = 64;
	CALL(lustre_lnet_config_ni(net_with("tcp1", "127.0.0.1"), NULL, NULL, &tunables, 2, NONE, &err), 0);
	CALL(lustre_lnet_config_ni(net_with("tcp1", "127.0.0.1"), NULL, NULL, NULL, -1, NONE, &err), -EEXIST);
	CALL(lustre_lnet_config_ni(net_with("tcp1", NULL), NULL, NULL, NULL, -1, NONE, &err),
	     LUSTRE_CFG_RC_MISSING_PARAM);
	CALL(lustre_lnet_config_ni(net_with("tcp2", "127.0.0.1"), NULL, NULL, NULL, 70000, NONE, &err),
	     LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_config_ni(net_with("tcp2", "127.0.0.1"), NULL, NULL, NULL, 128, NONE, &err),
	     LUSTRE_CFG_RC_BAD_PARAM);

	shown = NULL;
	CALL(lustre_lnet_show_net(c("tcp1"), 1, NONE, &shown, &err, false), 0);
	CHECK_STR(string("nid"), "127.0.0.1@tcp1");
	CHECK_EQ(number("peer_credits"), 16);
	CHECK_EQ(number("credits"), 64);
	CHECK_EQ(number("conns_per_peer"), 2);
	/* A call adds its result to the existing tree. */
	CALL(lustre_lnet_show_net(c("tcp"), 0, NONE, &shown, &err, false), 0);
	CHECK(shown->cy_child->cy_next == NULL && shown->cy_child->cy_child->cy_next != NULL);
	cYAML_free_tree(shown);
	SHOW(lustre_lnet_show_net(c("tcp77"), 0, NONE, &shown, &err, false), "");
	CALL(lustre_lnet_show_net(c("\xfftcp"), 0, NONE, &shown, &err, false), LUSTRE_CFG_RC_BAD_PARAM);
	/* Without a tree the result goes to standard output. */
	CALL(lustre_lnet_show_net(NULL, 4, NONE, NULL, &err, false), 0);

	CALL(lustre_lnet_config_ni_healthv(500, false, c(OWN), NONE, &err), 0);
	shown = NULL;
	CALL(lustre_lnet_show_net(c("tcp"), 2, NONE, &shown, &err, false), 0);
	CHECK_EQ(number("health value"), 500);
	cYAML_free_tree(shown);
	CALL(lustre_lnet_config_ni_healthv(-1, true, NULL, NONE, &err), 0);
	CALL(lustre_lnet_config_ni_healthv(-1, false, NULL, NONE, &err), LUSTRE_CFG_RC_MISSING_PARAM);
	CALL(lustre_lnet_config_ni_healthv(1001, true, NULL, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_config_ni_healthv(500, false, c("127.0.0.9@tcp77"), NONE, &err), -ENOENT);
	CALL(lustre_lnet_config_ni_conns_per_peer(3, false, c("127.0.0.1@tcp1"), NONE, &err), 0);
	CALL(lustre_lnet_config_ni_conns_per_peer(200, true, NULL, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_config_ni_conns_per_peer(2, false, NULL, NONE, &err), LUSTRE_CFG_RC_MISSING_PARAM);
	shown = NULL;
	CALL(lustre_lnet_show_local_ni_recovq(NONE, &shown, &err), 0);
	cYAML_free_tree(shown);
	shown = NULL;

	CALL(lustre_lnet_del_ni(net_with("tcp1", "127.0.0.1"), NONE, &err), 0);
	CHECK(lustre_lnet_del_ni(net_with("tcp1", NULL), NONE, NULL) < 0);
}

static void peers(void)
{
	CALL(lustre_lnet_modify_peer(c("10.0.0.1@tcp"), c("10.0.0.[2-3]@tcp"), true, LNETCTL_ADD_CMD, 0, NONE, &err), 0);
	CALL(lustre_lnet_modify_peer(c("10.0.0.1@tcp"), NULL, true, LNETCTL_LAST_CMD, 0, NONE, &err),
	     LUSTRE_CFG_RC_BAD_PARAM);
	shown = NULL;
	CALL(lustre_lnet_show_peer(c("10.0.0.2@tcp"), 2, NONE, &shown, &err, false), 0);
	CHECK_STR(string("primary nid"), "10.0.0.1@tcp");
	CHECK_STR(string("Multi-Rail"), "True");
	cYAML_free_tree(shown);
	SHOW(lustre_lnet_list_peer(NONE, &shown, &err), "peer list:\n    - nid: 10.0.0.1@tcp\n");
	CALL(lustre_lnet_config_peer_ni_healthv(700, false, c("10.0.0.2@tcp"), NONE, &err), 0);
	CALL(lustre_lnet_config_peer_ni_healthv(-1, true, NULL, NONE, &err), 0);
	CALL(lustre_lnet_config_peer_ni_healthv(5, false, NULL, NONE, &err), LUSTRE_CFG_RC_MISSING_PARAM);
	CALL(lustre_lnet_set_peer_state(1, c("10.0.0.1@tcp"), NONE, &err), 0);
	shown = NULL;
	CALL(lustre_lnet_show_peer_ni_recovq(NONE, &shown, &err), 0);
	cYAML_free_tree(shown);
	shown = NULL;
	CALL(lustre_lnet_modify_peer(c("10.0.0.1@tcp"), c("10.0.0.3@tcp"), false, LNETCTL_DEL_CMD, 0, NONE, &err), 0);
	CALL(lustre_lnet_modify_peer(c("10.0.0.1@tcp"), NULL, false, LNETCTL_DEL_CMD, 0, NONE, &err), 0);

	shown = NULL;
	/* The contents of the reply are shown, and the tree of errors stays empty. */
	CHECK_EQ(lustre_lnet_ping_nid(c(OWN), NULL, 5000, NONE, &shown, &err), 0);
	CHECK_STR(string("primary nid"), OWN);
	CHECK(err == NULL);
	cYAML_free_tree(shown);
	shown = NULL;
	CHECK_EQ(lustre_lnet_discover_nid(c(OWN), 0, NONE, &shown, &err), 0);
	CHECK_STR(string("primary nid"), OWN);
	CHECK(err == NULL);
	cYAML_free_tree(shown);
	shown = NULL;
	CHECK(lustre_lnet_ping_nid(c("bogus"), NULL, 1, NONE, &shown, &err) < 0);
	CHECK(lustre_lnet_ping_nid(NULL, NULL, 1, NONE, &shown, NULL) <= 0);
	CHECK(lustre_lnet_discover_nid(c("bogus"), 1, NONE, &shown, &err) < 0);
	CHECK(shown == NULL);
	cYAML_free_tree(err);
	err = NULL;
}

static void routes(void)
{
	CALL(lustre_lnet_config_route(c("tcp5"), c("127.0.0.2@tcp"), 2, 3, -1, NONE, &err), 0);
	SHOW(lustre_lnet_show_route(c("tcp5"), NULL, -1, -1, 0, NONE, &shown, &err, false),
	     "route:\n    - net: tcp5\n      gateway: 127.0.0.2@tcp\n");
	shown = NULL;
	CALL(lustre_lnet_show_route(NULL, c("127.0.0.2@tcp"), 2, 3, 1, NONE, &shown, &err, true), 0);
	CHECK_EQ(number("hop"), 2);
	CHECK_EQ(number("priority"), 3);
	cYAML_free_tree(shown);
	SHOW(lustre_lnet_show_route(NULL, NULL, 7, -1, 0, NONE, &shown, &err, false), "");
	CALL(lustre_lnet_config_route(NULL, c("127.0.0.2@tcp"), -1, -1, -1, NONE, &err), LUSTRE_CFG_RC_MISSING_PARAM);
	CALL(lustre_lnet_config_route(c("tcp5"), c("127.0.0.2@tcp"), 256, -1, -1, NONE, &err),
	     LUSTRE_CFG_RC_OUT_OF_RANGE_PARAM);
	CALL(lustre_lnet_config_route(c("tcp5"), c("127.0.0.2@tcp"), -1, -1, -1, NONE, &err), 0);
	CALL(lustre_lnet_config_route(c("tcp5"), c("127.0.0.2@tcp"), 2, 4, -1, NONE, &err), -EEXIST);
	CALL(lustre_lnet_config_route(c("tcp"), c("1@gni"), -1, -1, -1, NONE, &err), -EEXIST);
	CALL(lustre_lnet_del_route(c("tcp5"), c("127.0.0.9@tcp"), NONE, &err), -ENOENT);
	CALL(lustre_lnet_del_route(c("tcp5"), c("127.0.0.2@tcp"), NONE, &err), 0);

	SHOW(lustre_lnet_show_routing(NONE, &shown, &err, false), "");
	CALL(lustre_lnet_enable_routing(1, NONE, &err), 0);
	CALL(lustre_lnet_config_buffers(1024, -1, 0, NONE, &err), 0);
	shown = NULL;
	CALL(lustre_lnet_show_routing(NONE, &shown, &err, false), 0);
	CHECK(cYAML_find_object(shown, "routing") != NULL);
	cYAML_free_tree(shown);
	CALL(lustre_lnet_enable_routing(0, NONE, &err), 0);
}

static void settings(void)
{
	static const struct {
		int (*set)(int, int, struct cYAML **);
		int (*show)(int, struct cYAML **, struct cYAML **);
		const char *name;
		int value, back;
	} rows[] = {
		{ lustre_lnet_config_numa_range, lustre_lnet_show_numa_range, "numa_range", 5, 0 },
		{ lustre_lnet_config_max_intf, lustre_lnet_show_max_intf, "max_interfaces", 20, 4096 },
		{ lustre_lnet_config_discovery, lustre_lnet_show_discovery, "discovery", 0, 1 },
		{ lustre_lnet_config_discovery, lustre_lnet_show_discovery, "discovery", 2, 1 },
		{ lustre_lnet_config_drop_asym_route, lustre_lnet_show_drop_asym_route, "drop_asym_route", 1, 0 },
		{ lustre_lnet_config_retry_count, lustre_lnet_show_retry_count, "retry_count", 3, 2 },
		{ lustre_lnet_config_transaction_to, lustre_lnet_show_transaction_to, "transaction_timeout", 60, 50 },
		{ lustre_lnet_config_hsensitivity, lustre_lnet_show_hsensitivity, "health_sensitivity", 50, 100 },
		{ lustre_lnet_config_recov_intrv, lustre_lnet_show_recov_intrv, "recovery_interval", 1, 1 },
		{ lustre_lnet_config_rtr_sensitivity, lustre_lnet_show_rtr_sensitivity, "router_sensitivity", 70, 100 },
		{ lustre_lnet_config_response_tracking, lustre_lnet_show_response_tracking, "response_tracking", 1, 3 },
		{ lustre_lnet_config_recovery_limit, lustre_lnet_show_recovery_limit, "recovery_limit", 9, 0 },
		{ lustre_lnet_config_max_recovery_ping_interval, lustre_lnet_show_max_recovery_ping_interval,
		  "max_recovery_ping_interval", 60, 900 },
		{ lustre_lnet_config_compare_queued_bytes, lustre_lnet_show_compare_queued_bytes, "compare_queued_bytes", 1, 0 },
		{ lustre_lnet_config_discovery_to, lustre_lnet_show_discovery_to, "discovery_timeout", 5, 10 },
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		CALL(rows[i].set(rows[i].value, NONE, &err), 0);
		shown = NULL;
		CALL(rows[i].show(NONE, &shown, &err), 0);
		CHECK_STR(shown->cy_child->cy_string, "global");
		CHECK_EQ(number(rows[i].name), rows[i].value);
		cYAML_free_tree(shown);
		CALL(rows[i].set(rows[i].back, NONE, &err), 0);
	}
	SHOW(lustre_lnet_show_lnd_timeout(NONE, &shown, &err), "global:\n    lnd_timeout: 16\n");
	/* Settings that are shown one after the other are under the same key. */
	shown = NULL;
	CALL(lustre_lnet_show_numa_range(NONE, &shown, &err), 0);
	CALL(lustre_lnet_show_lnd_timeout(NONE, &shown, &err), 0);
	check_shown("global:\n    numa_range: 0\n    lnd_timeout: 16\n", "two settings");
	cYAML_free_tree(shown);
	CALL(lustre_lnet_config_response_tracking(4, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_config_retry_count(1000, NONE, &err), LUSTRE_CFG_RC_GENERIC_ERR);

	shown = NULL;
	CALL(lustre_lnet_reset_stats(NONE, &err), 0);
	CALL(lustre_lnet_show_stats(NONE, &shown, &err), 0);
	CHECK(cYAML_find_object(shown, "send_count") != NULL);
	cYAML_free_tree(shown);
	shown = NULL;
}

static const char *file_with(const char *text)
{
	static char path[] = "/tmp/dlc-test-XXXXXX";
	static int fd = -1;

	if (fd < 0)
		fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, 0), 0);
	CHECK_EQ(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
	return path;
}

static void files(void)
{
	static const char net[] = "net:\n"
				  "    - net type: tcp1\n"
				  "      local NI(s):\n"
				  "        - interfaces:\n"
				  "              0: 127.0.0.1\n"
				  "global:\n"
				  "    retry_count: 3\n";
	char *path = c(file_with(net));

	CALL(lustre_yaml_config(path, &err), 0);
	CALL(lustre_yaml_del(path, &err), 0);
	shown = NULL;
	CALL(lustre_yaml_show(c(file_with("net:\n    - net: tcp\nglobal:\n")), &shown, &err), 0);
	CHECK(cYAML_find_object(shown, "net type") != NULL);
	cYAML_free_tree(shown);
	shown = NULL;
	CHECK_EQ(lustre_yaml_exec(c(file_with("ping:\n    - primary nid: " OWN "\n")), &shown, &err), 0);
	CHECK(err == NULL);
	CHECK(cYAML_find_object(shown, "ping") != NULL);
	cYAML_free_tree(shown);
	shown = NULL;

	CALL(lustre_yaml_config(c(file_with("net: [\n")), &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_yaml_config(c("/no/such/file"), &err), LUSTRE_CFG_RC_BAD_PARAM);
	/* Without a name the function reads standard input. */
	CHECK(freopen(file_with("global:\n    retry_count: 2\n"), "r", stdin) != NULL);
	CALL(lustre_yaml_config(NULL, &err), 0);
	unlink(path);
}

/* The number of items that a call has shown under a key. */
static int items(const char *key)
{
	struct cYAML *list = shown == NULL ? NULL : cYAML_get_object_item(shown, key), *place = NULL;
	int count = 0;

	while (list != NULL && cYAML_get_next_seq_item(list, &place) != NULL)
		count++;
	cYAML_free_tree(shown);
	shown = NULL;
	return count;
}

static void names_of_the_first_design(void)
{
	char *one[] = { c("10.3.0.1@tcp"), c("10.3.0.2@tcp"), NULL }, *two[] = { c("10.3.0.3@tcp"), NULL };

	shown = NULL;
	CALL(lustre_lnet_show_ni(NULL, 0, NONE, &shown, &err), 0);
	CHECK(items("net") >= 1);
	CALL(lustre_lnet_config_peer(one, NONE, &err), 0);
	CALL(lustre_lnet_config_peer(two, NONE, &err), 0);
	/* Shows peers up to a maximum number, and without a maximum. */
	CALL(lustre_lnet_show_peers(1, 0, NONE, &shown, &err), 0);
	CHECK_EQ(items("peer"), 1);
	CALL(lustre_lnet_show_peers(2, 4, NONE, &shown, &err), 0);
	CHECK_EQ(items("peer"), 2);
	for (int max = -1; max <= 0; max++) {
		CALL(lustre_lnet_show_peers(max, 1, NONE, &shown, &err), 0);
		CHECK(items("peer") >= 2);
	}
	CALL(lustre_lnet_show_peer(c("10.3.0.2@tcp"), 0, NONE, &shown, &err, false), 0);
	CHECK_EQ(items("peer"), 1);
	CALL(lustre_lnet_del_peer(one, NONE, &err), 0);
	CALL(lustre_lnet_del_peer(two, NONE, &err), 0);
	CALL(lustre_lnet_show_peer(c("10.3.0.2@tcp"), 0, NONE, &shown, &err, false), -ENOENT);
}

/* The NIDs of the peer with this NID, separated by blanks, the primary one first. */
static const char *nids_of(const char *nid)
{
	static char nids[128];
	struct cYAML *peer = NULL, *list, *item, *place = NULL;

	shown = NULL;
	nids[0] = '\0';
	if (lustre_lnet_show_peer(c(nid), 0, NONE, &shown, NULL, false) != 0)
		return "none";
	strcat(nids, string("primary nid"));
	list = cYAML_find_object(shown, "peer ni");
	while (list != NULL && (item = cYAML_get_next_seq_item(list, &place)) != NULL) {
		peer = cYAML_get_object_item(item, "nid");
		if (peer != NULL && strcmp(peer->cy_valuestring, string("primary nid")) != 0)
			strcat(strcat(nids, " "), peer->cy_valuestring);
	}
	cYAML_free_tree(shown);
	shown = NULL;
	return nids;
}

#define A "10.0.1.1@tcp"
#define B "10.0.1.2@tcp"
#define C "10.0.1.3@tcp1"
#define D "10.0.1.4@tcp1"

static void nids_of_a_peer_go(void)
{
	char *all[] = { c(A), c(B), c(C), c(D), NULL };
	char *one[] = { c(B), NULL }, *primary[] = { c(A), NULL }, *rest[] = { c(D), c(C), NULL };
	char *two[] = { c(A), c(B), NULL };

	CALL(lustre_lnet_config_peer_nid(all, NONE, &err), 0);
	CHECK_STR(nids_of(A), A " " B " " C " " D);
	/* Any NID of a peer identifies the peer. */
	CALL(lustre_lnet_del_peer_nid(one, NONE, &err), 0);
	CHECK_STR(nids_of(A), A " " C " " D);
	CALL(lustre_lnet_del_peer_nid(one, NONE, &err), -ENOENT);
	/* The primary NID can be removed like any other. */
	CALL(lustre_lnet_del_peer_nid(primary, NONE, &err), 0);
	CHECK_STR(nids_of(A), "none");
	CHECK_STR(nids_of(D), C " " D);
	/* The peer is removed together with its last NID. */
	CALL(lustre_lnet_del_peer_nid(rest, NONE, &err), 0);
	CHECK_STR(nids_of(C), "none");
	CHECK_STR(nids_of(D), "none");

	CALL(lustre_lnet_config_peer_nid(two, NONE, &err), 0);
	CALL(lustre_lnet_del_peer_nid(two, NONE, &err), 0);
	CHECK_STR(nids_of(A), "none");
	CHECK_STR(nids_of(B), "none");
	/* A NID that the peer does not have ends the operation, before the primary NID is removed. */
	CALL(lustre_lnet_config_peer_nid(one, NONE, &err), 0);
	CHECK(lustre_lnet_del_peer_nid(two + 1, NONE, NULL) == 0);
	CALL(lustre_lnet_config_peer_nid(one, NONE, &err), 0);
	one[0] = c(A);
	CALL(lustre_lnet_del_peer_nid(one, NONE, &err), -ENOENT);
	CHECK_STR(nids_of(B), B);
	CALL(lustre_lnet_del_peer_nid(two + 1, NONE, &err), 0);
}

static long long discovery(void)
{
	long long mode;

	shown = NULL;
	CHECK_EQ(lustre_lnet_show_discovery(NONE, &shown, NULL), 0);
	mode = number("discovery");
	cYAML_free_tree(shown);
	shown = NULL;
	return mode;
}

static void names_of_the_design_documents(void)
{
	char *none[] = { NULL };

	CALL(lustre_lnet_config_net(c("tcp1"), c("127.0.0.1"), NULL, -1, 8, -1, -1, NULL, NONE, &err), 0);
	CALL(lustre_lnet_config_net(c("bogus"), c("lo"), NULL, -1, -1, -1, -1, NULL, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_config_net(c("tcp"), c("lo"), NULL, -1, -1, -1, -1, c("["), NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_config_net(c("tcp"), c("lo["), NULL, -1, -1, -1, -1, c("0"), NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_del_net(c("tcp1"), NULL, NONE, &err), 0);
	CALL(lustre_lnet_config_peer_nid(none, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	nids_of_a_peer_go();
	names_of_the_first_design();
	CALL(lustre_lnet_set_dynamic_discover(2, NONE, &err), 0);
	CHECK_EQ(discovery(), 2);
	CALL(lustre_lnet_set_dynamic_discover(0, NONE, &err), 0);
	CHECK_EQ(discovery(), 0);
	CALL(lustre_lnet_set_dynamic_discover(1, NONE, &err), 0);
	CHECK_EQ(discovery(), 1);
	CALL(lustre_lnet_set_use_tcp_bonding(0, NONE, &err), 0);
	CALL(lustre_lnet_set_use_tcp_bonding(1, NONE, &err), -EOPNOTSUPP);
}

static void *many_calls(void *nid)
{
	for (int i = 0; i < 20; i++) {
		struct cYAML *errors = NULL, *tree = NULL;

		if (lustre_lnet_modify_peer(nid, NULL, true, LNETCTL_ADD_CMD, 0, i, &errors) != 0 ||
		    lustre_lnet_show_peer(nid, 4, i, &tree, &errors, false) != 0 || tree == NULL ||
		    lustre_lnet_show_net(NULL, 4, i, &tree, &errors, true) != 0 ||
		    lustre_lnet_modify_peer(nid, NULL, true, LNETCTL_DEL_CMD, 0, i, &errors) != 0)
			return "failed";
		cYAML_free_tree(tree);
		cYAML_free_tree(errors);
	}
	return NULL;
}

static void several_threads(void)
{
	static char nids[4][20] = { "10.1.0.1@tcp", "10.1.0.2@tcp", "10.1.0.3@tcp", "10.1.0.4@tcp" };
	pthread_t threads[4];

	for (size_t i = 0; i < LENGTH(threads); i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, many_calls, nids[i]), 0);
	for (size_t i = 0; i < LENGTH(threads); i++) {
		void *result = NULL;

		pthread_join(threads[i], &result);
		CHECK(result == NULL);
	}
}

static const char *free_port(void)
{
	static char text[8];
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	CHECK_EQ(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	close(listener);
	snprintf(text, sizeof(text), "%d", ntohs(at.sin_port));
	return text;
}

/* Tests the same calls in a process that has no node itself. */
static int in_another_process(void)
{
	shown = NULL;
	CALL(lustre_lnet_show_net(c("tcp"), 1, NONE, &shown, &err, false), 0);
	CHECK_STR(string("nid"), OWN);
	cYAML_free_tree(shown);
	shown = NULL;
	CALL(lustre_lnet_config_ni(net_with("tcp3", "127.0.0.1"), NULL, NULL, NULL, -1, NONE, &err), 0);
	CALL(lustre_lnet_config_ni(net_with("tcp3", "127.0.0.1"), NULL, NULL, NULL, -1, NONE, &err), -EEXIST);
	CALL(lustre_lnet_del_ni(net_with("tcp3", NULL), NONE, &err), 0);
	CALL(lustre_lnet_config_ni_system(false, false, NONE, &err), -EBUSY);
	return failures != 0;
}

static void from_another_process(char *program)
{
	char *arguments[] = { program, c("elsewhere"), NULL };
	int status = -1;
	pid_t child;

	CHECK_EQ(posix_spawn(&child, program, NULL, NULL, arguments, environ), 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return in_another_process();
	setenv("LNET_ACCEPT", "all", 1);
	setenv("LNET_ACCEPT_PORT", free_port(), 1);
	setenv("LNET_NETWORKS", "tcp(127.0.0.1)", 1);

	descriptors();
	what_needs_no_node();
	tunables_in_trees();
	without_a_node();
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	interfaces();
	peers();
	routes();
	settings();
	files();
	names_of_the_design_documents();
	several_threads();
	from_another_process(argv[0]);
	CHECK_EQ(LNetNIFini(), 0);
	without_a_node();
	return failures != 0;
}
