/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests domains, their limits, interfaces and the registry of transports: acceptance cases 1 to 4. */
#include "m0net_rig.h"

static bool power_of_two(m0_bcount_t value)
{
	return value >= 2 && (value & (value - 1)) == 0;
}

static void domains_come_and_go_and_live_beside_each_other(void)
{
	static struct m0_net_domain doms[3];

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(m0_net_domain_init(&doms[0], &m0_net_lnet_xprt), 0);
		CHECK(doms[0].nd_xprt == &m0_net_lnet_xprt);
		m0_net_domain_fini(&doms[0]);
		CHECK(doms[0].nd_xprt == NULL);
	}
	for (int i = 0; i < 3; i++)
		CHECK_EQ(m0_net_domain_init(&doms[i], i == 1 ? &m0_lnet_xprt : &m0_net_lnet_xprt), 0);
	for (int i = 0; i < 3; i++) {
		m0_bcount_t size = m0_net_domain_get_max_buffer_size(&doms[i]);
		m0_bcount_t segment = m0_net_domain_get_max_buffer_segment_size(&doms[i]);
		int32_t segments = m0_net_domain_get_max_buffer_segments(&doms[i]);

		CHECK(power_of_two(size) && power_of_two(segment) && power_of_two(segments));
		CHECK_EQ(size, 1 << 20);
		CHECK_EQ(segment, 4096);
		CHECK_EQ(segments, 256);
		CHECK_EQ(m0_net_domain_get_max_buffer_desc_size(&doms[i]), 48);
		CHECK_EQ(doms[i].nd_get_max_buffer_size, size);
		CHECK_EQ(doms[i].nd_get_max_buffer_segments, segments);
		CHECK(m0_list_is_empty(&doms[i].nd_tms) && m0_list_is_empty(&doms[i].nd_registered_bufs));
	}
	for (int i = 0; i < 3; i++)
		m0_net_domain_fini(&doms[i]);
}

static void interfaces_are_listed(void)
{
	static struct m0_net_domain dom;
	char **nids = NULL;
	bool found = false;

	CHECK_EQ(m0_net_domain_init(&dom, &m0_net_lnet_xprt), 0);
	CHECK_EQ(m0_net_lnet_ifaces_get(&dom, &nids), 0);
	CHECK(nids != NULL && nids[0] != NULL);
	for (int i = 0; nids[i] != NULL; i++)
		found = found || strncmp(nids[i], own_address, strlen(own_address)) == 0;
	CHECK(found);
	m0_net_lnet_ifaces_put(&dom, &nids);
	CHECK(nids == NULL);
	m0_net_domain_fini(&dom);
}

static int sign(int value)
{
	return (value > 0) - (value < 0);
}

static void addresses_are_compared_by_their_nids(void)
{
	static const struct {
		const char *a, *b;
		int order;
	} table[] = {
		{ "192.168.96.128@tcp1:12345:31:10", "192.168.96.128@tcp1:12345:31:11", 0 },
		{ "192.168.96.128@tcp1:12345:31:10", "192.168.96.128@tcp1:12345:32:*", 0 },
		{ "10.72.49.14@o2ib0:12345:31:0", "192.168.96.128@tcp1:12345:32:0", -1 },
		{ "192.168.96.128@tcp1:12345:32:0", "10.72.49.14@o2ib0:12345:31:0", 1 },
		{ "192.168.96.128@tcp1", "192.168.96.128@tcp1:12345:32:0", -1 },
		{ "192.168.96.128@tcp1:12345:32:0", "192.168.96.128@tcp1", -1 },
		{ "", "", -1 },
	};

	for (size_t i = 0; i < LENGTH(table); i++)
		CHECK_EQ(sign(m0_net_lnet_ep_addr_net_cmp(table[i].a, table[i].b)), table[i].order);
}

static void valid_end_points_are_told_from_others(void)
{
	static const char *const good[] = {
		"0@lo:12345:34:1",	     "172.18.1.1@tcp:12345:40:401",	 "255.0.0.0@tcp:12345:1:1",
		"172.18.50.40@o2ib1:12345:34:1", "0.0.0.0@o2ib:12345:0:0",	 "1.2.3.4@tcp9:12345:61:4095",
	};
	static const char *const bad[] = {
		"",
		" 0@lo:12345:34:1",
		"0@lo:12345:34:1 ",
		"1@lo:12345:34:1",
		"172.18.1.1:12345:40:401",
		"172.18.1.1@:12345:40:401",
		"172.18.1@tcp:12345:40:401",
		"172.18.1.256@tcp:12345:40:401",
		"172.18.1.1@tcp:12346:40:401",
		"172.18.1.1@tcp:12345:40:*",
		"172.18.1.1@tcp:12345:40:",
		"172.18.1.1@tcp:12345:40",
		"172.18.1.1@tcp:12345::1",
		"172.18.1.1@tcp10:12345:40:401",
		"172.18.1.1@ib:12345:40:401",
		"172.18.1.1@tcp:12345:40:1234567890123456",
		"172.18.1.1@tcp:12345:40:401:1",
	};

	for (size_t i = 0; i < LENGTH(good); i++)
		if (!m0_net_endpoint_is_valid(good[i]))
			CHECK_STR(good[i], "valid");
	for (size_t i = 0; i < LENGTH(bad); i++)
		if (m0_net_endpoint_is_valid(bad[i]))
			CHECK_STR(bad[i], "not valid");
}

static void transports_are_registered_up_to_four(void)
{
	static const struct m0_net_xprt_ops ops;
	static const struct m0_net_xprt others[] = { { "one", &ops }, { "two", &ops }, { "three", &ops } };
	struct m0_net_xprt *xprt = m0_net_xprt_default_get();

	CHECK(xprt != NULL && xprt->nx_ops == m0_net_lnet_xprt.nx_ops);
	CHECK_STR(xprt->nx_name, "lnet");
	CHECK(m0_lnet_xprt.nx_ops == m0_net_lnet_xprt.nx_ops);
	CHECK(m0_net_check_xprt(&m0_net_lnet_xprt));
	CHECK_EQ(m0_net_xprt_nr(), 1);
	CHECK(m0_net_all_xprt_get()[0] == xprt);
	for (int i = 0; i < 3; i++) {
		CHECK(!m0_net_check_xprt(&others[i]));
		m0_net_xprt_register(&others[i]);
		CHECK(m0_net_check_xprt(&others[i]));
	}
	CHECK_EQ(m0_net_xprt_nr(), 4);
	m0_net_print_xprt();
	m0_net_xprt_default_set(&others[1]);
	CHECK_STR(m0_net_xprt_default_get()->nx_name, "two");
	for (int i = 0; i < 3; i++)
		m0_net_xprt_deregister(&others[i]);
	CHECK_EQ(m0_net_xprt_nr(), 1);
	CHECK(!m0_net_check_xprt(&others[1]));
	m0_net_xprt_default_set(xprt);
	CHECK(m0_net_xprt_default_get() == xprt);
}

int main(void)
{
	begin();
	domains_come_and_go_and_live_beside_each_other();
	interfaces_are_listed();
	addresses_are_compared_by_their_nids();
	valid_end_points_are_told_from_others();
	transports_are_registered_up_to_four();
	return end();
}
