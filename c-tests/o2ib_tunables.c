/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tests that the tunables of o2ib interfaces which a program gives reach the node behind the control socket, and come back from it. That
 * node has models of RDMA devices at all addresses of the loopback.
 */
#include "dlc.h"
#include <endian.h>
#include <lnet/lnetconfig/liblnd.h>

static int add(const char *interface, struct lnet_ioctl_config_lnd_tunables *tunables, long connections)
{
	struct lnet_dlc_network_descr net;

	lustre_lnet_init_nw_descr(&net);
	CHECK_EQ(lustre_lnet_parse_interfaces(c(interface), &net), 0);
	net.nw_id = LNET_MKNET(O2IBLND, 0);
	return lustre_lnet_config_ni(&net, NULL, NULL, tunables, connections, NONE, &err);
}

/* The tunables that the only o2ib interface is shown with; it is deleted then. */
static struct lnet_ioctl_config_lnd_tunables shown_and_deleted(void)
{
	struct lnet_ioctl_config_lnd_tunables found;
	struct lnet_dlc_network_descr net;

	memset(&found, 0xa5, sizeof(found));
	shown = NULL;
	CALL(lustre_lnet_show_net(c("o2ib"), 1, NONE, &shown, &err, true), 0);
	found.lt_cmn.lct_peer_timeout = number("peer_timeout");
	found.lt_cmn.lct_peer_tx_credits = number("peer_credits");
	found.lt_cmn.lct_peer_rtr_credits = number("peer_buffer_credits");
	found.lt_cmn.lct_max_tx_credits = number("credits");
	lustre_yaml_extract_lnd_tunables(shown, LNET_MKNET(O2IBLND, 0), &found.lt_tun);
	cYAML_free_tree(shown);
	shown = NULL;
	lustre_lnet_init_nw_descr(&net);
	net.nw_id = LNET_MKNET(O2IBLND, 0);
	CALL(lustre_lnet_del_ni(&net, NONE, &err), 0);
	return found;
}

static void check_o2ib(const struct lnet_ioctl_config_lnd_tunables *found,
		       const struct lnet_ioctl_config_o2iblnd_tunables *want)
{
	const struct lnet_ioctl_config_o2iblnd_tunables *got = &found->lt_tun.lnd_tun_u.lnd_o2ib;

	CHECK_EQ(got->lnd_peercredits_hiw, want->lnd_peercredits_hiw);
	CHECK_EQ(got->lnd_map_on_demand, want->lnd_map_on_demand);
	CHECK_EQ(got->lnd_concurrent_sends, want->lnd_concurrent_sends);
	CHECK_EQ(got->lnd_fmr_pool_size, want->lnd_fmr_pool_size);
	CHECK_EQ(got->lnd_fmr_flush_trigger, want->lnd_fmr_flush_trigger);
	CHECK_EQ(got->lnd_fmr_cache, want->lnd_fmr_cache);
	CHECK_EQ(got->lnd_ntx, want->lnd_ntx);
	CHECK_EQ(got->lnd_conns_per_peer, want->lnd_conns_per_peer);
}

/* Those of a kernel node. */
static const struct lnet_ioctl_config_o2iblnd_tunables defaults = {
	.lnd_peercredits_hiw = 4,
	.lnd_map_on_demand = 1,
	.lnd_concurrent_sends = 8,
	.lnd_fmr_pool_size = 512,
	.lnd_fmr_flush_trigger = 384,
	.lnd_fmr_cache = 1,
	.lnd_conns_per_peer = 1,
	.lnd_ntx = 512,
};

int main(void)
{
	struct lnet_ioctl_config_lnd_tunables tunables, found;
	struct lnet_ioctl_config_o2iblnd_tunables *o2ib = &tunables.lt_tun.lnd_tun_u.lnd_o2ib;
	struct lnet_ioctl_config_o2iblnd_tunables with_two;
	__u64 service_id = 5;

	/* Every number is another one than the default. */
	memset(&tunables, 0, sizeof(tunables));
	tunables.lt_cmn.lct_peer_timeout = 100;
	tunables.lt_cmn.lct_peer_tx_credits = 32;
	tunables.lt_cmn.lct_peer_rtr_credits = 5;
	tunables.lt_cmn.lct_max_tx_credits = 1024;
	o2ib->lnd_peercredits_hiw = 20;
	o2ib->lnd_map_on_demand = 32;
	o2ib->lnd_concurrent_sends = 64;
	o2ib->lnd_fmr_pool_size = 2048;
	o2ib->lnd_fmr_flush_trigger = 500;
	o2ib->lnd_fmr_cache = 2;
	o2ib->lnd_conns_per_peer = 4;
	o2ib->lnd_ntx = 1000;
	CALL(add("127.0.0.1", &tunables, -1), 0);
	found = shown_and_deleted();
	CHECK_EQ(found.lt_cmn.lct_peer_timeout, 100);
	CHECK_EQ(found.lt_cmn.lct_peer_tx_credits, 32);
	CHECK_EQ(found.lt_cmn.lct_peer_rtr_credits, 5);
	CHECK_EQ(found.lt_cmn.lct_max_tx_credits, 1024);
	check_o2ib(&found, o2ib);

	/* What was shown may be given again, as by a program that moves an interface. */
	CALL(add("127.0.0.2", &found, -1), 0);
	/* The port space of TCP, and port 987. */
	CHECK_EQ(lustre_lnet_calc_service_id(&service_id), 0);
	CHECK_EQ(be64toh(service_id), 0x010603db);
	found = shown_and_deleted();
	CHECK_EQ(found.lt_cmn.lct_peer_tx_credits, 32);
	check_o2ib(&found, o2ib);
	CHECK_EQ(lustre_lnet_calc_service_id(&service_id), LUSTRE_CFG_RC_NO_MATCH);
	CHECK_EQ(service_id, 0);

	/* The number of connections in the call goes before that in the structure, and leaves the others. */
	with_two = *o2ib;
	with_two.lnd_conns_per_peer = 2;
	CALL(add("127.0.0.1", &tunables, 2), 0);
	found = shown_and_deleted();
	check_o2ib(&found, &with_two);

	/* NULL, 0 and -1 stand for the driver's own numbers. */
	CALL(add("127.0.0.1", NULL, -1), 0);
	found = shown_and_deleted();
	check_o2ib(&found, &defaults);
	for (int none = -1; none <= 0; none++) {
		memset(&tunables, none, sizeof(tunables));
		CALL(add("127.0.0.1", &tunables, -1), 0);
		found = shown_and_deleted();
		CHECK_EQ(found.lt_cmn.lct_peer_tx_credits, 8);
		check_o2ib(&found, &defaults);
	}

	/* A number that the driver cannot have is refused by its name. */
	o2ib->lnd_peercredits_hiw = 255;
	err = NULL;
	CHECK_EQ(add("127.0.0.1", &tunables, -1), -EINVAL);
	shown = err;
	CHECK(strstr(string("descr"), "peercredits_hiw 255 is not within 0 to 254") != NULL);
	cYAML_free_tree(err);
	return failures != 0;
}
