/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A node whose handler gets the messages of a peer, while no thread of the program reads events. */
#ifndef SENDING_PEER_H
#define SENDING_PEER_H

#include "peers.h"

#define PORTAL 20
#define ME 1
#define PEER 2

static char memory[64];
static struct lnet_handle_eq eq;
static struct record record;

/* The peer: sends `messages` PUTs to the node, of which those before the last `in_flight` have left. Message i has the match bits i * `step`. */
static inline void send_puts(int go, int said, int messages, int in_flight, int step)
{
	record_init(&record);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, record_event, &eq), 0);
	say(said);
	hear(go);
	for (int i = 0; i < messages; i++) {
		struct lnet_handle_md md;

		CHECK_EQ(LNetMDBind(make_md(memory, sizeof(memory), 1, 0, &record, eq), LNET_UNLINK, &md), 0);
		CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, node_at(ME), PORTAL, i * step, 0, 0), 0);
		if (i >= in_flight)
			record_wait(&record, i - in_flight);
	}
	record_wait(&record, messages);
	hear(go);
	CHECK_EQ(LNetNIFini(), 0);
}

/* Starts the peer, which runs `sender`, and the node with an event queue that has `handler`. */
static inline struct peer start_nodes(void (*sender)(int go, int said), void (*handler)(struct lnet_event *event))
{
	struct peer peer;

	alarm(120);
	find_own_address(ME);
	peer = start_peer(PEER, sender);
	record_init(&record);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, handler, &eq), 0);
	return peer;
}

/* Offers memory to `messages` PUTs with these match bits. */
static inline void offer(int messages, __u64 bits)
{
	struct lnet_handle_md md;

	CHECK_EQ(LNetMDAttach(attach_me(PORTAL, bits, LNET_UNLINK),
			      make_md(memory, sizeof(memory), messages, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE, &record, eq), LNET_UNLINK,
			      &md), 0);
}

/* Lets the peer send. */
static inline void begin_sending(struct peer peer)
{
	hear(peer.said);
	say(peer.go);
}

/* Ends both nodes; returns the status of the program. */
static inline int end_nodes(struct peer peer)
{
	say(peer.go);
	end_peer(peer);
	CHECK_EQ(LNetNIFini(), 0);
	return failures != 0;
}

#endif
