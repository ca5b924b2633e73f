/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Definitions that the test programs share: checks, and a record of events. */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <lnet/api.h>
#include <lnet/lib-lnet.h>
#include <lnet/nidstr.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

/* Whether lnetd has the nodes, and the processes are attached to it: see attached.c. */
static inline bool attached(void)
{
#ifdef ATTACHED
	return true;
#else
	return false;
#endif
}

/* Prints the position of a failed check, and continues. */
#define CHECK(cond)                                                               \
	do {                                                                      \
		if (!(cond)) {                                                    \
			fprintf(stderr, "%s:%d: %s: %s does not hold\n", __FILE__, \
				__LINE__, __func__, #cond);                       \
			failures++;                                               \
		}                                                                 \
	} while (0)

/* Like CHECK, for two numbers, which it prints. */
#define CHECK_EQ(got, want)                                                          \
	do {                                                                         \
		long long got_ = (long long)(got), want_ = (long long)(want);        \
		if (got_ != want_) {                                                 \
			fprintf(stderr, "%s:%d: %s: %s is %lld, not %lld\n", __FILE__, \
				__LINE__, __func__, #got, got_, want_);              \
			failures++;                                                  \
		}                                                                    \
	} while (0)

/* Like CHECK, for two strings, which it prints. */
#define CHECK_STR(got, want)                                                          \
	do {                                                                          \
		const char *got_ = (got), *want_ = (want);                            \
		if (strcmp(got_, want_) != 0) {                                       \
			fprintf(stderr, "%s:%d: %s: %s is \"%s\", not \"%s\"\n", __FILE__, \
				__LINE__, __func__, #got, got_, want_);               \
			failures++;                                                   \
		}                                                                     \
	} while (0)

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* The events of all MDs that have this record as user_ptr, in order. */
struct record {
	pthread_mutex_t lock;
	pthread_cond_t more;
	int count;
	struct lnet_event events[64];
};

static inline void record_init(struct record *r)
{
	memset(r, 0, sizeof(*r));
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->more, NULL);
}

/* The event handler: appends the event to the record. */
static inline void record_event(struct lnet_event *event)
{
#if LNET_API < 0x20f00
	struct record *r = event->md.user_ptr;
#else
	struct record *r = event->md_user_ptr;
#endif

	pthread_mutex_lock(&r->lock);
	if (r->count < (int)LENGTH(r->events))
		r->events[r->count] = *event;
	r->count++;
	pthread_cond_broadcast(&r->more);
	pthread_mutex_unlock(&r->lock);
}

/* Waits until count events are recorded. */
static inline void record_wait(struct record *r, int count)
{
	pthread_mutex_lock(&r->lock);
	while (r->count < count)
		pthread_cond_wait(&r->more, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

/* The types of the recorded events as letters: P put, G get, R reply, A ack, S send, U unlink. A letter is followed
 * by ! if the event reports a failure and by a dot if the event is the last of its MD. */
static inline const char *record_kinds(struct record *r)
{
	static char text[256];
	char *to = text;

	pthread_mutex_lock(&r->lock);
	for (int i = 0; i < r->count && i < (int)LENGTH(r->events); i++) {
		*to++ = "?GPRASU"[r->events[i].type];
		if (r->events[i].status != 0)
			*to++ = '!';
		if (r->events[i].unlinked)
			*to++ = '.';
	}
	pthread_mutex_unlock(&r->lock);
	*to = '\0';
	return text;
}

#if LNET_API < 0x20f00
static inline struct lnet_process_id anybody(void)
{
	struct lnet_process_id id = { LNET_NID_ANY, LNET_PID_ANY };

	return id;
}

static inline struct lnet_process_id loopback(void)
{
	struct lnet_process_id id = { LNET_MKNID(LNET_MKNET(LOLND, 0), 0), LNET_PID_LUSTRE };

	return id;
}

/* Makes an MD like consumers do: fields that its options do not need contain garbage. */
static inline struct lnet_md make_md(void *start, unsigned int length, int threshold, unsigned int options,
				     struct record *r, struct lnet_handle_eq eq)
{
	struct lnet_md md;

	memset(&md, 0xa5, sizeof(md));
	md.start = start;
	md.length = length;
	md.threshold = threshold;
	md.options = options;
	md.user_ptr = r;
	md.eq_handle = eq;
	return md;
}

/* Attaches an ME for all peers with exact match bits, at the end of its portal. */
static inline struct lnet_handle_me attach_me(unsigned int portal, __u64 bits, enum lnet_unlink unlink)
{
	struct lnet_handle_me me = { 0 };

	CHECK_EQ(LNetMEAttach(portal, anybody(), bits, 0, unlink, LNET_INS_AFTER, &me), 0);
	return me;
}

#else

/* The members of struct lnet_md have other names in 2.17. */
#if LNET_API >= 0x21100
#define MD(member) umd_##member
#else
#define MD(member) member
#endif

static inline struct lnet_processid anybody(void)
{
	struct lnet_process_id any = { LNET_NID_ANY, LNET_PID_ANY };
	struct lnet_processid id;

	lnet_pid4_to_pid(any, &id);
	return id;
}

static inline struct lnet_processid loopback(void)
{
	struct lnet_process_id lo = { LNET_MKNID(LNET_MKNET(LOLND, 0), 0), LNET_PID_LUSTRE };
	struct lnet_processid id;

	lnet_pid4_to_pid(lo, &id);
	return id;
}

/* Makes an MD like consumers do: fields that its options do not need contain garbage. */
static inline struct lnet_md make_md(void *start, unsigned int length, int threshold, unsigned int options,
				     struct record *r, lnet_handler_t handler)
{
	struct lnet_md md;

	memset(&md, 0xa5, sizeof(md));
	md.MD(start) = start;
	md.MD(length) = length;
	md.MD(threshold) = threshold;
	md.MD(options) = options;
	md.MD(user_ptr) = r;
	md.MD(handler) = handler;
	return md;
}

/* Attaches an ME for all peers with exact match bits, at the end of its portal. */
static inline struct lnet_me *attach_me(unsigned int portal, __u64 bits, enum lnet_unlink unlink)
{
	struct lnet_processid any = anybody();
	struct lnet_me *me = LNetMEAttach(portal, &any, bits, 0, unlink, LNET_INS_AFTER);

	CHECK((unsigned long)me < (unsigned long)-4095 && me != NULL);
	return me;
}
#endif

#endif
