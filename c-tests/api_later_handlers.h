/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of handlers that memory descriptors name. */
#ifndef API_LATER_HANDLERS_H
#define API_LATER_HANDLERS_H

#include "api_later_calls.h"
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

static sem_t entered, leave;
static volatile int running, most, left;

/* Stays in the first call until the test lets it go. */
static void slow_event(struct lnet_event *event)
{
	int now = __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);

	if (now > most)
		most = now;
	if (left == 0) {
		sem_post(&entered);
		sem_wait(&leave);
	}
	record_event(event);
	__atomic_add_fetch(&left, 1, __ATOMIC_SEQ_CST);
	__atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST);
}

/* The thread that unlinks, and how far it is. */
static volatile int unlinking_thread;
static volatile bool has_returned;

static bool sleeps(int thread)
{
	char path[64], text[256] = "";
	const char *after;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	file = fopen(path, "r");
	if (file != NULL) {
		CHECK(fgets(text, sizeof(text), file) != NULL);
		fclose(file);
	}
	after = strrchr(text, ')');
	return after != NULL && after[1] == ' ' && after[2] == 'S';
}

/* Lets the handler go when the unlink waits, or has returned, which is wrong. */
static void *let_go(void *unused)
{
	(void)unused;
	while (unlinking_thread == 0 || (!has_returned && !sleeps(unlinking_thread)))
		sched_yield();
	sem_post(&leave);
	return NULL;
}

static void unlink_while_a_handler_runs(struct lnet_handle_md md)
{
	pthread_t letting;

	unlinking_thread = 0;
	has_returned = false;
	CHECK_EQ(pthread_create(&letting, NULL, let_go, NULL), 0);
	unlinking_thread = (int)syscall(SYS_gettid);
	CHECK_EQ(LNetMDUnlink(md), 0);
	has_returned = true;
	CHECK_EQ(running, 0);
	CHECK(left >= 1);
	CHECK_EQ(LNetMDUnlink(md), -ENOENT);
	pthread_join(letting, NULL);
	CHECK_EQ(most, 1);
}

static void start_slow(void)
{
	start();
	running = most = left = 0;
	sem_init(&entered, 0, 0);
	sem_init(&leave, 0, 0);
}

static void *put_to_slow(void *unused)
{
	(void)unused;
	CHECK_EQ(put_to(source(src, 8, 1, NULL), LNET_NOACK_REQ, loopback(), PORTAL, 20, 0, 0), 0);
	return NULL;
}

/* c-abi 4.3: LNetMDUnlink waits for a handler of the descriptor that runs. Nothing else is in progress. */
static void unlinking_waits_for_the_handler(void)
{
	struct lnet_handle_md md;
	pthread_t putting;

	start_slow();
	md = target_at(PORTAL, 20, dst, 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT, slow_event);
	CHECK_EQ(pthread_create(&putting, NULL, put_to_slow, NULL), 0);
	sem_wait(&entered);
	unlink_while_a_handler_runs(md);
	pthread_join(putting, NULL);
	CHECK_STR(record_kinds(&to), "PU.");
}

static void *put_from_slow(void *md)
{
	CHECK_EQ(put_to(*(struct lnet_handle_md *)md, LNET_NOACK_REQ, loopback(), PORTAL, 22, 0, 0), 0);
	return NULL;
}

/* The same while another operation is in progress, whose event comes later: a PUT waits at a lazy portal. */
static void unlinking_a_busy_descriptor_waits_for_the_handler_alone(void)
{
	struct lnet_handle_md md;
	pthread_t putting;

	start_slow();
	md = source(src, 8, LNET_MD_THRESH_INF, slow_event);
	CHECK_EQ(LNetSetLazyPortal(LAZY), 0);
	CHECK_EQ(put_to(md, LNET_NOACK_REQ, loopback(), LAZY, 23, 0, 0), 0);
	target_at(PORTAL, 22, dst, 8, 1, LNET_MD_OP_PUT, record_event);
	CHECK_EQ(pthread_create(&putting, NULL, put_from_slow, &md), 0);
	sem_wait(&entered);
	unlink_while_a_handler_runs(md);
	pthread_join(putting, NULL);
	CHECK_EQ(from.events[0].unlinked, 0);
	CHECK_EQ(LNetClearLazyPortal(LAZY), 0);
	record_wait(&from, 2);
	CHECK_EQ(from.events[1].unlinked, 1);
	CHECK_EQ(left, 2);
	lnet_assert_handler_unused(slow_event);
}

static struct lnet_handle_md own;
static int in_handler;

static void unlink_own(struct lnet_event *event)
{
	if (event->type == LNET_EVENT_PUT)
		in_handler = LNetMDUnlink(own);
	record_event(event);
}

/* An unlink in the handler of the descriptor itself does not wait for it. */
static void a_handler_unlinks_its_own_descriptor(void)
{
	start();
	in_handler = 1;
	own = target_at(PORTAL, 21, dst, 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT, unlink_own);
	CHECK_EQ(put_to(source(src, 8, 1, NULL), LNET_NOACK_REQ, loopback(), PORTAL, 21, 0, 0), 0);
	record_wait(&to, 2);
	CHECK_EQ(in_handler, 0);
	CHECK_STR(record_kinds(&to), "PU.");
}

static void other_event(struct lnet_event *event)
{
	record_event(event);
}

/* Each handler has its own descriptors, and is unused when they have ended. */
static void handlers_are_held_to_be_unused(void)
{
	struct lnet_handle_md md;

	start();
	lnet_assert_handler_unused(NULL);
	lnet_assert_handler_unused(other_event);
	for (int i = 0; i < 3; i++) {
		md = source(src, 8, 1, other_event);
		/* Writes a line to the log, and does nothing else. */
		if (i == 0)
			lnet_assert_handler_unused(other_event);
		CHECK_EQ(LNetMDUnlink(md), 0);
		lnet_assert_handler_unused(other_event);
	}
	CHECK_STR(record_kinds(&from), "U.U.U.");
}

#endif
