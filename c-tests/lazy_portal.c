/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests PUTs of another node that wait in full on a lazy portal: LNetMDAttach has delivered their events when it
 * returns, in whichever thread it is called. Also tests that the PUTs of a program that ends at once arrive. */
#include "peers.h"

#define LAZY 20
#define ME 1
#define PEER 2
#define THREADS 4
#define EACH 10
#define PUTS (THREADS * EACH)
#define LENGTH_OF_PUT 3000
/* The number of PUTs of a program that ends without waiting. */
#define AT_THE_END 10
#define LAST_BITS 7

static char memory[PUTS + 1][LENGTH_OF_PUT];
static struct lnet_handle_eq eq;

/* ---- the peer ---- */

static void send_all(int go, int said)
{
	struct lnet_handle_md md;
	struct record ends;

	record_init(&ends);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, record_event, &eq), 0);
	hear(go);
	for (int i = 0; i < PUTS; i++) {
		memset(memory[i], i, LENGTH_OF_PUT);
		CHECK_EQ(LNetMDBind(make_md(memory[i], LENGTH_OF_PUT, 1, 0, &ends, eq), LNET_UNLINK, &md), 0);
		CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, node_at(ME), LAZY, 1, 0, i), 0);
	}
	/* The delivery ACKs show that the PUTs have reached the other node. */
	record_wait(&ends, PUTS);
	say(said);
	hear(go);
	for (int i = 0; i < AT_THE_END; i++) {
		CHECK_EQ(LNetMDBind(make_md(memory[i], LENGTH_OF_PUT, 1, 0, NULL, (struct lnet_handle_eq){ -1 }),
				    LNET_UNLINK, &md), 0);
		CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, node_at(ME), LAZY, LAST_BITS, 0, i), 0);
	}
	CHECK_EQ(LNetNIFini(), 0);
}

/* A program that sends before it has a connection, and ends. */
static void send_and_end(int go, int said)
{
	struct lnet_handle_md md;

	hear(go);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	for (int i = 0; i < AT_THE_END; i++) {
		CHECK_EQ(LNetMDBind(make_md(memory[i], LENGTH_OF_PUT, 1, 0, NULL, (struct lnet_handle_eq){ -1 }),
				    LNET_UNLINK, &md), 0);
		CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, node_at(ME), LAZY, LAST_BITS, 0, i), 0);
	}
	CHECK_EQ(LNetNIFini(), 0);
	say(said);
}

/* ---- the node under test ---- */

/*
 * Attaches some MEs and MDs in the thread with this `number`, which checks each event right after the call has
 * returned.
 */
static void *attach_some(void *number)
{
	struct record one;
	struct lnet_handle_md md;

	for (int i = 0; i < EACH; i++) {
		char *to = memory[(long)number * EACH + i];

		record_init(&one);
		CHECK_EQ(LNetMDAttach(attach_me(LAZY, 1, LNET_UNLINK),
				      make_md(to, LENGTH_OF_PUT, 1, LNET_MD_OP_PUT, &one, eq), LNET_UNLINK, &md), 0);
		CHECK_STR(record_kinds(&one), "P.");
		CHECK_EQ(one.events[0].md_handle.cookie, md.cookie);
		CHECK_EQ(to[0], (char)one.events[0].hdr_data);
		CHECK_EQ(to[LENGTH_OF_PUT - 1], (char)one.events[0].hdr_data);
	}
	return NULL;
}

int main(void)
{
	struct peer peer, another;
	pthread_t threads[THREADS];
	struct record last;
	struct lnet_handle_md md;

	alarm(120);
	find_own_address(ME);
	peer = start_peer(PEER, send_all);
	another = start_peer(PEER + 1, send_and_end);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetSetLazyPortal(LAZY), 0);
	CHECK_EQ(LNetEQAlloc(0, record_event, &eq), 0);
	say(peer.go);
	hear(peer.said);
	for (long i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, attach_some, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);

	record_init(&last);
	CHECK_EQ(LNetMDAttach(attach_me(LAZY, LAST_BITS, LNET_RETAIN),
			      make_md(memory[PUTS], LENGTH_OF_PUT, LNET_MD_THRESH_INF,
				      LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE, &last, eq), LNET_RETAIN, &md), 0);
	say(peer.go);
	end_peer(peer);
	say(another.go);
	hear(another.said);
	end_peer(another);
	/* Both peers have exited, and the messages that they sent have arrived. */
	record_wait(&last, 2 * AT_THE_END);
	CHECK_EQ(LNetNIFini(), 0);
	return failures != 0;
}
