/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests threads that wait for events, and the ends of their waits without an event. The node has TCP, so that a
 * waiting thread reads the node's sockets itself. */
#include "own_address.h"
#include <signal.h>
#include <sys/wait.h>

#ifdef UNDER_VALGRIND
#define CYCLES 5
#else
#define CYCLES 40
#endif

#define THREADS 3
#define PORTAL 20
#define BITS 7
/* A value for a timeout that stands for LNetEQWait. */
#define EQ_WAIT (-2)

/* A thread that waits again whenever its timeout is over, until the wait returns an error. */
struct waiter {
	pthread_t thread;
	struct lnet_handle_eq eqs[2];
	int count;
	long timeout;
	int waits;
	int told;
};

static void *wait_until_told(void *argument)
{
	struct waiter *w = argument;
	struct lnet_event event;
	int which;

	do {
		__atomic_store_n(&w->waits, 1, __ATOMIC_SEQ_CST);
		w->told = w->timeout == EQ_WAIT ? LNetEQWait(w->eqs[0], &event) :
						  LNetEQPoll(w->eqs, w->count, w->timeout, &event, &which);
	} while (w->told == 0);
	return NULL;
}

static void start_waiter(struct waiter *w, struct lnet_handle_eq first, struct lnet_handle_eq second, int count,
			 long timeout)
{
	memset(w, 0, sizeof(*w));
	w->eqs[0] = first;
	w->eqs[1] = second;
	w->count = count;
	w->timeout = timeout;
	CHECK_EQ(pthread_create(&w->thread, NULL, wait_until_told, w), 0);
	while (!__atomic_load_n(&w->waits, __ATOMIC_SEQ_CST))
		sched_yield();
}

static void told(struct waiter *w, int expected)
{
	CHECK_EQ(pthread_join(w->thread, NULL), 0);
	CHECK_EQ(w->told, expected);
}

static const long timeouts[] = { 1, 5, 20, 1000, -1, EQ_WAIT };

/* Tests that the node ends while threads wait, in every state of their waits. */
static void the_node_ends(void)
{
	struct waiter waiters[THREADS];
	struct lnet_handle_eq ring, callback;

	for (int cycle = 0; cycle < CYCLES; cycle++) {
		for (size_t i = 0; i < LENGTH(timeouts); i++) {
			CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
			CHECK_EQ(LNetEQAlloc(8, LNET_EQ_HANDLER_NONE, &ring), 0);
			CHECK_EQ(LNetEQAlloc(0, record_event, &callback), 0);
			for (int thread = 0; thread < THREADS; thread++)
				start_waiter(&waiters[thread], thread == 2 ? callback : ring, ring,
					     thread == 1 ? 2 : 1, timeouts[i]);
			/* In every other cycle the first thread has gone to sleep before the node ends. */
			if (cycle % 2)
				usleep(3000);
			CHECK_EQ(LNetNIFini(), 0);
			for (int thread = 0; thread < THREADS; thread++)
				told(&waiters[thread], -ENETDOWN);
		}
	}
}

/* Tests that a queue is freed while threads wait for it, alone or together with other queues. */
static void a_queue_is_freed(void)
{
	struct waiter waiters[THREADS];
	struct lnet_handle_eq ring, callback, other;

	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(8, LNET_EQ_HANDLER_NONE, &other), 0);
	for (size_t i = 0; i < LENGTH(timeouts); i++) {
		CHECK_EQ(LNetEQAlloc(8, LNET_EQ_HANDLER_NONE, &ring), 0);
		CHECK_EQ(LNetEQAlloc(0, record_event, &callback), 0);
		start_waiter(&waiters[0], ring, ring, 1, timeouts[i]);
		start_waiter(&waiters[1], timeouts[i] == EQ_WAIT ? ring : other, ring, 2, timeouts[i]);
		start_waiter(&waiters[2], callback, ring, 1, timeouts[i]);
		CHECK_EQ(LNetEQFree(ring), 0);
		told(&waiters[0], -ENOENT);
		told(&waiters[1], -ENOENT);
		CHECK_EQ(LNetEQFree(callback), 0);
		told(&waiters[2], -ENOENT);
	}
	CHECK_EQ(LNetEQFree(other), 0);
	CHECK_EQ(LNetNIFini(), 0);
}

/* In an event handler the waiting functions do not wait; they only check for events. */
static struct lnet_handle_eq looked_at;
static int handled;

static void handler(struct lnet_event *event)
{
	struct lnet_event other;
	int which;

	(void)event;
	CHECK_EQ(LNetEQWait(looked_at, &other), -EBUSY);
	CHECK_EQ(LNetEQPoll(&looked_at, 1, 1, &other, &which), -EBUSY);
	CHECK_EQ(LNetEQPoll(&looked_at, 1, -1, &other, &which), -EBUSY);
	CHECK_EQ(LNetEQPoll(&looked_at, 1, 0, &other, &which), 0);
	CHECK_EQ(LNetEQGet(looked_at, &other), 0);
	handled++;
}

static void in_an_event_handler(void)
{
	struct lnet_handle_eq eq;
	struct lnet_handle_md md;
	char byte = 0;

	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(8, LNET_EQ_HANDLER_NONE, &looked_at), 0);
	CHECK_EQ(LNetEQAlloc(0, handler, &eq), 0);
	CHECK_EQ(LNetMDBind(make_md(&byte, 1, 1, 0, NULL, eq), LNET_UNLINK, &md), 0);
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, loopback(), PORTAL, BITS, 0, 0), 0);
	CHECK_EQ(handled, 1);
	CHECK_EQ(LNetNIFini(), 0);
}

int main(void)
{
	/* A test that hangs fails. */
	alarm(300);
	find_own_address(21);
	in_an_event_handler();
	a_queue_is_freed();
	the_node_ends();
	return failures != 0;
}
