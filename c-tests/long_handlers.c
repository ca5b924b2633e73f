/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests a handler that sends messages and waits for their events, and a handler that waits for a message of another
 * peer. Both run for messages from another node, with timeouts that are much longer than the test. */
#include "peers.h"

#define ASKED 20
#define SINK 21
#define ME 1
#define FIRST 2
#define SECOND 3
#define LENGTH_OF_PUT 5000

static char memory[LENGTH_OF_PUT];
static struct lnet_handle_eq record_eq;
static struct record of_handler, of_second;

static void put(struct lnet_process_id to, int portal, struct record *r)
{
	struct lnet_handle_md md;

	CHECK_EQ(LNetMDBind(make_md(memory, sizeof(memory), 2, 0, r, record_eq), LNET_UNLINK, &md), 0);
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_ACK_REQ, to, portal, 1, 0, 0), 0);
}

static void offer(int portal, struct record *r, struct lnet_handle_eq eq)
{
	struct lnet_handle_md md;

	CHECK_EQ(LNetMDAttach(attach_me(portal, 1, LNET_RETAIN),
			      make_md(memory, sizeof(memory), LNET_MD_THRESH_INF,
				      LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE, r, eq), LNET_RETAIN, &md), 0);
}

/* ---- the peers ---- */

static void send_when_told(int go, int said)
{
	struct record ends, sunk;

	record_init(&ends);
	record_init(&sunk);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, record_event, &record_eq), 0);
	offer(SINK, &sunk, record_eq);
	say(said);
	hear(go);
	put(node_at(ME), ASKED, &ends);
	record_wait(&ends, 2);
	say(said);
	hear(go);
	CHECK_EQ(LNetNIFini(), 0);
}

/* ---- the node under test ---- */

static void wait_inside(struct lnet_event *event)
{
	if (event->initiator.nid != node_at(FIRST).nid)
		return record_event(event);
	for (int i = 0; i < 3; i++) {
		put(node_at(SECOND), SINK, &of_handler);
		record_wait(&of_handler, 2 * i + 2);
	}
	/* Another peer sends a message while this handler runs. */
	record_wait(&of_second, 1);
}

int main(void)
{
	struct peer first, second;
	struct lnet_handle_eq eq;
	struct lnet_handle_md md;

	setenv("LNET_TRANSACTION_TIMEOUT", "600", 1);
	setenv("SOCKLND_SOCK_TIMEOUT", "600", 1);
	alarm(120);
	find_own_address(ME);
	first = start_peer(FIRST, send_when_told);
	second = start_peer(SECOND, send_when_told);
	record_init(&of_handler);
	record_init(&of_second);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, record_event, &record_eq), 0);
	CHECK_EQ(LNetEQAlloc(0, wait_inside, &eq), 0);
	/* Each peer's PUT has its own memory descriptor, because the events of one MD are handled one after another. */
	for (int i = 0; i < 2; i++)
		CHECK_EQ(LNetMDAttach(attach_me(ASKED, 1, LNET_UNLINK),
				      make_md(memory, sizeof(memory), 1, LNET_MD_OP_PUT, &of_second, eq),
				      LNET_UNLINK, &md), 0);
	hear(first.said);
	hear(second.said);
	say(first.go);
	record_wait(&of_handler, 6);
	say(second.go);
	hear(second.said);
	hear(first.said);
	/* A node of another process sends the ACK when it has told the program of the PUT, and does not wait for the handler. */
	if (attached())
		record_wait(&of_second, 1);
	CHECK_STR(record_kinds(&of_second), "P.");
	say(first.go);
	say(second.go);
	end_peer(first);
	end_peer(second);
	CHECK_EQ(LNetNIFini(), 0);
	return failures != 0;
}
