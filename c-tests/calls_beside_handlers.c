/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests calls of the program's threads while handlers call the library, too: each call returns. The handlers run for messages of another
 * node, one after the other, and no thread of the program reads events. */
#include "sending_peer.h"
#include <pthread.h>

#define MESSAGES 20000
#define IN_FLIGHT 4
#define THREADS 1

static int done;

static void send_all(int go, int said)
{
	send_puts(go, said, MESSAGES, IN_FLIGHT, 0);
}

/* Makes an MD and ends it, which takes several reports of a node that is another process. */
static void call(void)
{
	static char byte;
	struct lnet_handle_eq none;
	struct lnet_handle_md md;

	LNetInvalidateEQHandle(&none);
	CHECK_EQ(LNetMDBind(make_md(&byte, sizeof(byte), 1, 0, NULL, none), LNET_UNLINK, &md), 0);
	CHECK_EQ(LNetMDUnlink(md), 0);
}

static void call_once(struct lnet_event *event)
{
	call();
	record_event(event);
}

static void *call_often(void *unused)
{
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
		call();
	return unused;
}

int main(void)
{
	struct peer peer = start_nodes(send_all, call_once);
	pthread_t threads[THREADS];

	offer(MESSAGES, 0);
	begin_sending(peer);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, call_often, NULL), 0);
	record_wait(&record, MESSAGES);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	return end_nodes(peer);
}
