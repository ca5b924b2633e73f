/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two event queues, and LNetEQPoll over both: commands are carried out at once, however many readings wait.
 *
 *   cc two_queues.c $(pkg-config --cflags --libs lnet) -o two_queues
 *   export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
 *   LNET_NETWORKS='tcp(127.0.1.2)' ./two_queues collect &
 *   LNET_NETWORKS='tcp(127.0.1.1)' ./two_queues send 127.0.1.2@tcp 1000
 *   LNET_NETWORKS='tcp(127.0.1.1)' ./two_queues stop 127.0.1.2@tcp
 *
 * A queue keeps a fixed number of events; if more come, the oldest are lost. So what must not be lost has a queue of its
 * own, which nothing else can fill. LNetEQPoll returns an event of the first queue in the array that has one: the order
 * in the array is the priority.
 *
 * The messages here have no payload, only the 64 bits of header data that each PUT carries in its event. */
#include "first.h"

#include <stdbool.h>

enum { COMMAND_PORTAL = 13, READING_PORTAL = 14, BITS = 1, STOP = 1, SENDER_EVENTS = 128 };

static struct lnet_handle_eq make_queue(unsigned int events)
{
	struct lnet_handle_eq eq;

	must(LNetEQAlloc(events, LNET_EQ_HANDLER_NONE, &eq), "LNetEQAlloc");
	return eq;
}

/* ---- the collector ---- */

static int collect(void)
{
	enum { COMMANDS, READINGS };
	struct lnet_process_id self;
	struct lnet_handle_eq queues[2];
	struct lnet_event event;
	__u64 readings = 0, sum = 0, gaps = 0;
	bool is_stopped = false;
	int got, which;

	start_node(&self);
	/* Few commands come; readings come as fast as the network carries them. */
	queues[COMMANDS] = make_queue(16);
	queues[READINGS] = make_queue(4096);
	attach(COMMAND_PORTAL, BITS, describe(NULL, 0, LNET_MD_THRESH_INF, LNET_MD_OP_PUT, queues[COMMANDS], NULL));
	attach(READING_PORTAL, BITS, describe(NULL, 0, LNET_MD_THRESH_INF, LNET_MD_OP_PUT, queues[READINGS], NULL));
	printf("%s is ready\n", libcfs_nid2str(self.nid));
	fflush(stdout);
	while (!is_stopped) {
		/* A negative timeout waits without limit; 0 only looks. */
		got = LNetEQPoll(queues, 2, -1, &event, &which);
		if (got == -EOVERFLOW) {
			/* The event is valid, but earlier ones of the same queue were lost. */
			gaps++;
			got = 1;
		}
		must(got, "LNetEQPoll");
		if (event.type != LNET_EVENT_PUT || event.status != 0)
			continue;
		if (which == COMMANDS) {
			is_stopped = event.hdr_data == STOP;
		} else {
			readings++;
			sum += event.hdr_data;
		}
	}
	printf("stopped by %s: %llu readings, sum %llu, gaps %llu\n", libcfs_nid2str(event.initiator.nid),
	       (unsigned long long)readings, (unsigned long long)sum, (unsigned long long)gaps);
	return LNetNIFini();
}

/* ---- the sender ---- */

/* Sends the numbers from 1 to count, and waits for their acknowledgements. */
static int send_numbers(struct lnet_process_id to, unsigned int portal, unsigned int count)
{
	struct lnet_process_id self;
	struct lnet_handle_eq eq;
	struct lnet_handle_md md;
	struct lnet_event event;
	unsigned int sent = 0, events = 0, acknowledged = 0;

	start_node(&self);
	eq = make_queue(SENDER_EVENTS);
	/* One MD for all messages, since they share its memory, which is none. */
	must(LNetMDBind(describe(NULL, 0, LNET_MD_THRESH_INF, 0, eq, NULL), LNET_RETAIN, &md), "LNetMDBind");
	while (events < 2 * count) {
		/* Each PUT has two events, SEND and ACK, in either order. No more are sent than have room in the queue. */
		while (sent < count && 2 * (sent + 1) - events <= SENDER_EVENTS) {
			sent++;
			must(LNetPut(LNET_NID_ANY, md, LNET_ACK_REQ, to, portal, BITS, 0, sent), "LNetPut");
		}
		must(LNetEQWait(eq, &event), "LNetEQWait");
		must(event.status, "a PUT");
		/* If nothing matches the message there, no ACK comes, and the MD is unlinked after the transaction timeout. */
		must(event.unlinked ? -ETIMEDOUT : 0, "waiting for an ACK");
		events++;
		/* The event is in the collector's queue, where it waits until the collector looks at it. */
		acknowledged += event.type == LNET_EVENT_ACK;
	}
	printf("%u acknowledged\n", acknowledged);
	return LNetNIFini();
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "collect") == 0)
		return collect();
	if (argc == 4 && strcmp(argv[1], "send") == 0)
		return send_numbers(address_of(argv[2]), READING_PORTAL, (unsigned int)strtoul(argv[3], NULL, 10));
	if (argc == 3 && strcmp(argv[1], "stop") == 0)
		return send_numbers(address_of(argv[2]), COMMAND_PORTAL, STOP);
	fprintf(stderr, "usage: two_queues collect | two_queues send NID COUNT | two_queues stop NID\n");
	return 2;
}
