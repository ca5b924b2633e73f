/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Measures PUTs between two nodes, in the units of perftest.
 *   speed              the other node: serves until it is killed
 *   speed lat NID N    N round trips of 8 bytes; prints the microseconds of one way, as ib_send_lat does
 *   speed bw NID N     N PUTs of 1 MiB, each acknowledged, 8 at a time; prints MiB in a second, as ib_write_bw does
 *   speed fresh NID N LENGTH   N PUTs one after the other, each acknowledged, from an MD of its own; prints the microseconds of each */
#include <lnet/api.h>
#include <lnet/lnet.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BULK = 10, PING = 11, PONG = 12, MATCH_BITS = 42, SMALL = 8, LARGE = 1 << 20, IN_FLIGHT = 8 };

static struct lnet_handle_eq eq;
static char small_in[SMALL], small_out[SMALL], large[LARGE];
static const struct lnet_process_id anyone = { LNET_NID_ANY, LNET_PID_ANY };

static void must(int result, const char *what)
{
	if (result < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(-result));
		exit(1);
	}
}

static struct lnet_md md_of(void *memory, unsigned int length, int threshold, unsigned int options)
{
	struct lnet_md md;

	memset(&md, 0, sizeof(md));
	md.start = memory;
	md.length = length;
	md.threshold = threshold;
	md.options = options;
	md.eq_handle = eq;
	return md;
}

static void take_puts(unsigned int portal, void *memory, unsigned int length)
{
	struct lnet_handle_me me;
	struct lnet_handle_md md;

	must(LNetMEAttach(portal, anyone, MATCH_BITS, 0, LNET_RETAIN, LNET_INS_AFTER, &me), "LNetMEAttach");
	must(LNetMDAttach(me, md_of(memory, length, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE),
			  LNET_RETAIN, &md), "LNetMDAttach");
}

/* An MD for any number of PUTs: what a program that sends often keeps. */
static struct lnet_handle_md to_put(void *memory, unsigned int length)
{
	struct lnet_handle_md md;

	must(LNetMDBind(md_of(memory, length, LNET_MD_THRESH_INF, 0), LNET_RETAIN, &md), "LNetMDBind");
	return md;
}

static void put(struct lnet_handle_md md, lnet_ack_req_t ack, struct lnet_process_id target, unsigned int portal)
{
	must(LNetPut(LNET_NID_ANY, md, ack, target, portal, MATCH_BITS, 0, 0), "LNetPut");
}

/* Waits for an event of a kind, at one of this node's portals or of one of its messages. */
static struct lnet_event wait_for(enum lnet_event_kind kind)
{
	struct lnet_event event;

	do {
		must(LNetEQWait(eq, &event), "LNetEQWait");
		must(event.status, "an operation");
	} while (event.type != kind);
	return event;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void serve(void)
{
	struct lnet_handle_md answer = to_put(small_out, SMALL);

	take_puts(BULK, large, LARGE);
	take_puts(PING, small_in, SMALL);
	puts("serving");
	fflush(stdout);
	for (;;) {
		struct lnet_event event = wait_for(LNET_EVENT_PUT);

		if (event.pt_index == PING)
			put(answer, LNET_NOACK_REQ, event.initiator, PONG);
	}
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* The median. */
static double latency(struct lnet_process_id target, int count)
{
	struct lnet_handle_md ping = to_put(small_out, SMALL);
	double *times = calloc((size_t)count, sizeof(*times));
	int i;

	if (times == NULL)
		must(-ENOMEM, "calloc");
	take_puts(PONG, small_in, SMALL);
	/* The first ones connect and discover. */
	for (i = -10; i < count; i++) {
		double begin = seconds();

		put(ping, LNET_NOACK_REQ, target, PING);
		wait_for(LNET_EVENT_PUT);
		if (i >= 0)
			times[i] = seconds() - begin;
	}
	qsort(times, (size_t)count, sizeof(*times), compare);
	return times[count / 2] / 2 * 1e6;
}

static double bandwidth(struct lnet_process_id target, int count)
{
	struct lnet_handle_md md = to_put(large, LARGE);
	double begin;
	int i;

	put(md, LNET_ACK_REQ, target, BULK);
	wait_for(LNET_EVENT_ACK);
	begin = seconds();
	for (i = 0; i < count + IN_FLIGHT; i++) {
		if (i >= IN_FLIGHT)
			wait_for(LNET_EVENT_ACK);
		if (i < count)
			put(md, LNET_ACK_REQ, target, BULK);
	}
	return count / (seconds() - begin);
}

static double fresh(struct lnet_process_id target, int count, unsigned int length)
{
	double begin = 0;
	int i;

	for (i = -5; i < count; i++) {
		struct lnet_handle_md md;

		if (i == 0)
			begin = seconds();
		must(LNetMDBind(md_of(large, length, 2, 0), LNET_UNLINK, &md), "LNetMDBind");
		put(md, LNET_ACK_REQ, target, BULK);
		wait_for(LNET_EVENT_ACK);
	}
	return (seconds() - begin) / count * 1e6;
}

int main(int argc, char **argv)
{
	struct lnet_process_id target;

	must(LNetNIInit(LNET_PID_LUSTRE), "LNetNIInit");
	must(LNetEQAlloc(1024, LNET_EQ_HANDLER_NONE, &eq), "LNetEQAlloc");
	if (argc < 4)
		serve();
	target.nid = libcfs_str2nid(argv[2]);
	target.pid = LNET_PID_LUSTRE;
	if (strcmp(argv[1], "lat") == 0)
		printf("%.1f\n", latency(target, atoi(argv[3])));
	else if (strcmp(argv[1], "fresh") == 0 && argc > 4)
		printf("%.1f\n", fresh(target, atoi(argv[3]), (unsigned int)atoi(argv[4])));
	else
		printf("%.1f\n", bandwidth(target, atoi(argv[3])));
	LNetNIFini();
	return 0;
}
