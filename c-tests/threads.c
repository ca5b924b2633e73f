/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests many threads at once: every MD has exactly one last event and no event after it (TRAP-19), and its queue can
 * then be freed (TRAP-3). */
#include "check.h"
#include <stdatomic.h>

#define PORTAL 30

#ifdef UNDER_VALGRIND
#define ROUNDS 50
#else
#define ROUNDS 500
#endif

/* An MD of a round, which is freed as soon as its last event has been handled. */
struct operation {
	struct lnet_handle_md md;
	char *memory;
	atomic_int events, inside, over;
	pthread_mutex_t lock;
	pthread_cond_t ended;
};

static atomic_int broken;

static void handler(struct lnet_event *event)
{
	struct operation *op = event->md.user_ptr;

	if (atomic_fetch_add(&op->inside, 1) != 0)
		atomic_fetch_add(&broken, 1);
	if (atomic_load(&op->over))
		atomic_fetch_add(&broken, 1);
	atomic_fetch_add(&op->events, 1);
	atomic_fetch_sub(&op->inside, 1);
	if (event->unlinked) {
		pthread_mutex_lock(&op->lock);
		atomic_store(&op->over, 1);
		pthread_cond_signal(&op->ended);
		pthread_mutex_unlock(&op->lock);
	}
}

static void wait_for_end(struct operation *op)
{
	pthread_mutex_lock(&op->lock);
	while (!atomic_load(&op->over))
		pthread_cond_wait(&op->ended, &op->lock);
	pthread_mutex_unlock(&op->lock);
}

static struct operation *new_operation(unsigned int size)
{
	struct operation *op = calloc(1, sizeof(*op));

	op->memory = malloc(size);
	pthread_mutex_init(&op->lock, NULL);
	pthread_cond_init(&op->ended, NULL);
	return op;
}

static void free_operation(struct operation *op)
{
	/* The handler may still be releasing its lock. */
	pthread_mutex_lock(&op->lock);
	pthread_mutex_unlock(&op->lock);
	pthread_mutex_destroy(&op->lock);
	pthread_cond_destroy(&op->ended);
	free(op->memory);
	free(op);
}

static struct lnet_md describe(struct operation *op, unsigned int options, struct lnet_handle_eq eq)
{
	struct lnet_md md = make_md(op->memory, 64, LNET_MD_THRESH_INF, options, NULL, eq);

	md.user_ptr = op;
	return md;
}

/* Sends from an MD until another thread has unlinked it. */
static void *send_until_gone(void *arg)
{
	struct operation *op = arg;
	int sent = 0;

	while (LNetPut(LNET_NID_ANY, op->md, LNET_ACK_REQ, loopback(), PORTAL, 1, 0, 0) == 0)
		sent++;
	return (void *)(intptr_t)sent;
}

static void *unlink_md(void *arg)
{
	struct operation *op = arg;

	CHECK_EQ(LNetMDUnlink(op->md), 0);
	return NULL;
}

/* Tests an MD from which two threads send while a third one unlinks it. */
static void unlink_while_sending(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct operation *op = new_operation(64), *at = new_operation(64);
		struct lnet_handle_me me = attach_me(PORTAL, 1, LNET_UNLINK);
		struct lnet_handle_eq eq;
		pthread_t threads[3];
		void *sent[2];

		CHECK_EQ(LNetEQAlloc(0, handler, &eq), 0);
		CHECK_EQ(LNetMDAttach(me, describe(at, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE, eq), LNET_RETAIN, &at->md), 0);
		CHECK_EQ(LNetMDBind(describe(op, 0, eq), LNET_RETAIN, &op->md), 0);
		pthread_create(&threads[0], NULL, send_until_gone, op);
		pthread_create(&threads[1], NULL, send_until_gone, op);
		pthread_create(&threads[2], NULL, unlink_md, op);
		wait_for_end(op);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], i < 2 ? &sent[i] : NULL);
		/* There is a SEND event for each PUT, an ACK for some, and at most one UNLINK. */
		CHECK(atomic_load(&op->events) >= (intptr_t)sent[0] + (intptr_t)sent[1]);
		CHECK_EQ(LNetMDUnlink(at->md), 0);
		wait_for_end(at);
		CHECK_EQ(atomic_load(&at->events), (intptr_t)sent[0] + (intptr_t)sent[1] + 1);
		CHECK_EQ(LNetEQFree(eq), 0);
		free_operation(op);
		free_operation(at);
	}
}

static void *use_the_network(void *arg)
{
	struct lnet_process_id id;

	(void)arg;
	for (int i = 0; i < ROUNDS / 10; i++) {
		CHECK(LNetNIInit(LNET_PID_LUSTRE) >= 0);
		CHECK_EQ(LNetGetId(0, &id), 0);
		CHECK_EQ(id.nid, loopback().nid);
		CHECK_EQ(LNetNIFini(), 0);
	}
	return NULL;
}

/* Tests several users that start and stop the network: it is up for each as long as it holds a reference. */
static void references_from_many_threads(void)
{
	pthread_t threads[4];
	struct lnet_process_id id;

	for (size_t i = 0; i < LENGTH(threads); i++)
		pthread_create(&threads[i], NULL, use_the_network, NULL);
	for (size_t i = 0; i < LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(LNetGetId(0, &id), -ENETDOWN);
}

static void *wait_for_event(void *arg)
{
	struct lnet_handle_eq eq = *(struct lnet_handle_eq *)arg;
	struct lnet_event event;

	CHECK_EQ(LNetEQWait(eq, &event), 1);
	CHECK_EQ(event.type, LNET_EVENT_PUT);
	return NULL;
}

/* Tests that a thread that waits for an event is woken by another thread's call. */
static void waiting_threads_are_woken(void)
{
	char from[8] = { 0 }, to[8];
	struct lnet_handle_eq eq, none = { ~0ULL };

	for (int round = 0; round < ROUNDS / 10; round++) {
		struct lnet_handle_me me = attach_me(PORTAL, 2, LNET_UNLINK);
		struct lnet_handle_md at, md;
		pthread_t threads[2];

		CHECK_EQ(LNetEQAlloc(8, LNET_EQ_HANDLER_NONE, &eq), 0);
		CHECK_EQ(LNetMDAttach(me, make_md(to, 8, 2, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE, NULL, eq), LNET_UNLINK, &at), 0);
		CHECK_EQ(LNetMDBind(make_md(from, 8, 2, 0, NULL, none), LNET_UNLINK, &md), 0);
		pthread_create(&threads[0], NULL, wait_for_event, &eq);
		pthread_create(&threads[1], NULL, wait_for_event, &eq);
		CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, loopback(), PORTAL, 2, 0, 0), 0);
		CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, loopback(), PORTAL, 2, 0, 0), 0);
		pthread_join(threads[0], NULL);
		pthread_join(threads[1], NULL);
		CHECK_EQ(LNetEQFree(eq), 0);
	}
}

static void *take_strings(void *arg)
{
	(void)arg;
	for (int i = 0; i < LNET_NIDSTR_COUNT / 4; i++)
		CHECK_STR(libcfs_nid2str(0x000200000a000001), "10.0.0.1@tcp");
	return NULL;
}

/* Tests that no string is returned twice while the ring is used once. */
static void strings_from_many_threads(void)
{
	pthread_t threads[4];

	for (size_t i = 0; i < LENGTH(threads); i++)
		pthread_create(&threads[i], NULL, take_strings, NULL);
	for (size_t i = 0; i < LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	references_from_many_threads();
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	unlink_while_sending();
	waiting_threads_are_woken();
	strings_from_many_threads();
	CHECK_EQ(atomic_load(&broken), 0);
	CHECK_EQ(LNetNIFini(), 0);
	return failures != 0;
}
