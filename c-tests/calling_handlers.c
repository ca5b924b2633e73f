/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests handlers that take so long that another thread of the library replaces theirs, and that call the library all the time: each call returns.
 * They run for messages of another node, and no thread of the program reads events. */
#include "peers.h"

#define PORTAL 20
#define ME 1
#define PEER 2
#define MESSAGES 8
#define CALLS 3000
/* The handler pauses so often, for longer than all other threads need to go on. */
#define PAUSES 10

static char memory[64];
static struct lnet_handle_eq eq;
static struct record record;

static void send_all(int go, int said)
{
	record_init(&record);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, record_event, &eq), 0);
	say(said);
	hear(go);
	for (int i = 0; i < MESSAGES; i++) {
		struct lnet_handle_md md;

		CHECK_EQ(LNetMDBind(make_md(memory, sizeof(memory), 1, 0, &record, eq), LNET_UNLINK, &md), 0);
		CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, node_at(ME), PORTAL, i, 0, 0), 0);
	}
	record_wait(&record, MESSAGES);
	hear(go);
	CHECK_EQ(LNetNIFini(), 0);
}

static void call_often(struct lnet_event *event)
{
	struct lnet_process_id id;

	for (int i = 0; i < CALLS; i++) {
		CHECK_EQ(LNetGetId(0, &id), 0);
		if (i % (CALLS / PAUSES) == 0)
			usleep(3000);
	}
	record_event(event);
}

int main(void)
{
	struct lnet_handle_md md;
	struct peer peer;

	alarm(120);
	find_own_address(ME);
	peer = start_peer(PEER, send_all);
	record_init(&record);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, call_often, &eq), 0);
	/* The events of different MDs may be handled at the same time. */
	for (int i = 0; i < MESSAGES; i++)
		CHECK_EQ(LNetMDAttach(attach_me(PORTAL, i, LNET_UNLINK),
				      make_md(memory, sizeof(memory), 1, LNET_MD_OP_PUT, &record, eq), LNET_UNLINK, &md), 0);
	hear(peer.said);
	say(peer.go);
	record_wait(&record, MESSAGES);
	say(peer.go);
	end_peer(peer);
	CHECK_EQ(LNetNIFini(), 0);
	return failures != 0;
}
