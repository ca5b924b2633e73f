/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests calls of the program's threads while handlers call the library, too: each call returns. The handlers run for messages of another
 * node, one after the other, and no thread of the program reads events. */
#include "peers.h"
#include <pthread.h>

#define PORTAL 20
#define ME 1
#define PEER 2
#define MESSAGES 20000
#define IN_FLIGHT 4
#define THREADS 1

static char memory[64];
static struct lnet_handle_eq eq;
static struct record record;
static int done;

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
		CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, node_at(ME), PORTAL, 0, 0, 0), 0);
		if (i >= IN_FLIGHT)
			record_wait(&record, i - IN_FLIGHT);
	}
	record_wait(&record, MESSAGES);
	hear(go);
	CHECK_EQ(LNetNIFini(), 0);
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
	pthread_t threads[THREADS];
	struct lnet_handle_md md;
	struct peer peer;

	alarm(120);
	find_own_address(ME);
	peer = start_peer(PEER, send_all);
	record_init(&record);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, call_once, &eq), 0);
	CHECK_EQ(LNetMDAttach(attach_me(PORTAL, 0, LNET_UNLINK),
			      make_md(memory, sizeof(memory), MESSAGES, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE, &record, eq), LNET_UNLINK,
			      &md), 0);
	hear(peer.said);
	say(peer.go);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, call_often, NULL), 0);
	record_wait(&record, MESSAGES);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	say(peer.go);
	end_peer(peer);
	CHECK_EQ(LNetNIFini(), 0);
	return failures != 0;
}
