/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests transfer machines on several interfaces of one node. */
#include "m0net_rig.h"

static char second_address[32];

/* Starts a node with two interfaces. */
static void begin_with_two_interfaces(void)
{
	char networks[96];

	alarm(300);
	find_own_address(1);
	snprintf(second_address, sizeof(second_address), "%.*s2", (int)strlen(own_address) - 1, own_address);
	snprintf(networks, sizeof(networks), "tcp(%s,%s)", own_address, second_address);
	setenv("LNET_NETWORKS", networks, 1);
	CHECK_EQ(m0_init(NULL), 0);
}

static const char *address(const char *ip, const char *tmid)
{
	static char text[M0_NET_LNET_XEP_ADDR_LEN];

	snprintf(text, sizeof(text), "%s@tcp:%d:%d:%s", ip, M0_NET_LNET_PID, PORTAL, tmid);
	return text;
}

static void all_interfaces_are_listed(void)
{
	static struct side side;
	char **nids;
	int first = 0, second = 0;

	side_init(&side);
	CHECK_EQ(m0_net_lnet_ifaces_get(&side.dom, &nids), 0);
	for (int i = 0; nids[i] != NULL; i++) {
		first += strncmp(nids[i], own_address, strlen(own_address)) == 0;
		second += strncmp(nids[i], second_address, strlen(second_address)) == 0;
	}
	CHECK(first == 1 && second == 1);
	m0_net_lnet_ifaces_put(&side.dom, &nids);
	side_fini(&side);
}

/* LNet ignores the NID to which a message was sent: two such machines would get each other's messages. */
static void machines_on_different_interfaces_do_not_share_a_portal_and_a_tmid(void)
{
	static struct side one, two, three, four;

	side_init(&one);
	side_init(&two);
	side_init(&three);
	side_init(&four);
	side_start(&one, address(own_address, "7"));
	CHECK_EQ(m0_net_tm_start(&two.tm, address(second_address, "7")), 0);
	await_states(&two, 1);
	CHECK_EQ(two.states[0].status, -EADDRINUSE);
	side_start(&three, address(own_address, "*"));
	side_start(&four, address(second_address, "*"));
	CHECK_STR(three.tm.ntm_ep->nep_addr, address(own_address, "4095"));
	CHECK_STR(four.tm.ntm_ep->nep_addr, address(second_address, "4094"));
	side_fini(&one);
	side_fini(&two);
	side_fini(&three);
	side_fini(&four);
}

/* Also tests messages to and from the machine that is not on the node's primary NID. */
static void messages_name_the_interface_of_their_sender(void)
{
	static struct side sides[2];
	const char *ips[] = { own_address, second_address };

	for (int i = 0; i < 2; i++) {
		side_init(&sides[i]);
		side_buffer(&sides[i], 0, 1);
		side_buffer(&sides[i], 1, 1);
		side_start(&sides[i], address(ips[i], "*"));
		receive_messages(&sides[i], &sides[i].buffers[0], 100, 2);
	}
	for (int from = 0; from < 2; from++) {
		for (int to = 0; to < 2; to++) {
			struct m0_net_end_point *ep = end_point(&sides[from], sides[to].tm.ntm_ep->nep_addr);
			int before = sides[from].count, arrived = sides[to].count;

			CHECK_EQ(send_message(&sides[from], &sides[from].buffers[1], ep, 10), 0);
			await_events(&sides[from], before + (from == to ? 2 : 1));
			await_events(&sides[to], arrived + 1);
			for (int i = arrived; i < sides[to].count; i++)
				if (sides[to].events[i].queue == M0_NET_QT_MSG_RECV)
					CHECK_STR(sides[to].events[i].from, sides[from].tm.ntm_ep->nep_addr);
			m0_net_end_point_put(ep);
		}
	}
	for (int i = 0; i < 2; i++)
		side_fini(&sides[i]);
}

int main(void)
{
	begin_with_two_interfaces();
	all_interfaces_are_listed();
	machines_on_different_interfaces_do_not_share_a_portal_and_a_tmid();
	messages_name_the_interface_of_their_sender();
	return end();
}
