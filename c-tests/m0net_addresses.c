/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Starts and stops transfer machines as its standard input says, for tests/motr_addresses.rs, which runs several of these processes on the node
 * of one daemon. One line of output follows each of these lines:
 *
 *   start NUMBER PORTAL TMID   the address, or FAILED and the status
 *   again NUMBER PORTAL TMID   the result of starting that machine once more
 *   stop NUMBER                stopped
 *
 * A machine has a receive buffer. The program ends with its input. */
#include "m0net_rig.h"

#define MACHINES 4

static struct side sides[MACHINES];

static void start(struct side *side, int portal, const char *tmid)
{
	struct m0_net_buffer *nb;

	side_init(side);
	CHECK_EQ(m0_net_tm_start(&side->tm, own_addr(side, portal, tmid)), 0);
	await_states(side, 1);
	if (side->states[0].state != M0_NET_TM_STARTED) {
		CHECK_EQ(side->states[0].state, M0_NET_TM_FAILED);
		printf("FAILED %d\n", side->states[0].status);
		side_fini(side);
		return;
	}
	nb = side_buffer(side, 0, 1);
	nb->nb_qtype = M0_NET_QT_MSG_RECV;
	nb->nb_min_receive_size = SEGMENT;
	nb->nb_max_receive_msgs = 1;
	CHECK_EQ(m0_net_buffer_add(nb, &side->tm), 0);
	printf("%s\n", side->tm.ntm_ep->nep_addr);
}

int main(void)
{
	struct m0_net_domain keeper;
	char line[128], word[16], tmid[16];
	int number, portal;

	CHECK_EQ(m0_init(NULL), 0);
	/* LNet is up as long as a domain is there. */
	CHECK_EQ(m0_net_domain_init(&keeper, &m0_net_lnet_xprt), 0);
	while (failures == 0 && fgets(line, sizeof(line), stdin) != NULL) {
		int words = sscanf(line, "%15s %d %d %15s", word, &number, &portal, tmid);

		if (words < 2 || number < 0 || number >= MACHINES)
			return 2;
		if (words == 4 && strcmp(word, "start") == 0) {
			start(&sides[number], portal, tmid);
		} else if (words == 4 && strcmp(word, "again") == 0) {
			printf("%d\n", m0_net_tm_start(&sides[number].tm, own_addr(&sides[number], portal, tmid)));
		} else {
			side_fini(&sides[number]);
			printf("stopped\n");
		}
		fflush(stdout);
	}
	m0_net_domain_fini(&keeper);
	m0_fini();
	return failures != 0;
}
