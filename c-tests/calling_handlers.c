/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests handlers that take so long that another thread of the library replaces theirs, and that call the library all the time: each call returns.
 * They run for messages of another node, and no thread of the program reads events. */
#include "sending_peer.h"

#define MESSAGES 8
#define CALLS 3000
/* The handler pauses so often, for longer than all other threads need to go on. */
#define PAUSES 10

static void send_all(int go, int said)
{
	send_puts(go, said, MESSAGES, MESSAGES, 1);
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
	struct peer peer = start_nodes(send_all, call_often);

	/* The events of different MDs may be handled at the same time. */
	for (int i = 0; i < MESSAGES; i++)
		offer(1, i);
	begin_sending(peer);
	record_wait(&record, MESSAGES);
	return end_nodes(peer);
}
