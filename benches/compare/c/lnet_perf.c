/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Measures LNet through its C API: one process serves, another asks. Both wait in LNetEQWait.
 *
 *   lnet_perf serve                               answers the others; ends when it is killed
 *   lnet_perf round-trip NID SIZE SECONDS         PUT there, PUT back; prints microseconds for both
 *   lnet_perf put NID SIZE IN_FLIGHT SECONDS      acknowledged PUTs; prints bytes per second
 *   lnet_perf get NID SIZE IN_FLIGHT SECONDS      GETs; prints bytes per second
 *   lnet_perf hold NID                            connects, then waits for the end of its input
 *   lnet_perf idle                                a node that does nothing until the end of its input
 *
 * The environment (LNET_NETWORKS, LNET_ACCEPT, LNET_ACCEPT_PORT) says which node each process is.
 * With the library count_allocations preloaded, the measuring commands also print how many allocations
 * a message took on either side. */
#include <lnet/api.h>
#include <lnet/lnet.h>
#include <libcfs/libcfs_ioctl.h>

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum portal { ECHO_PORTAL = 10, SINK_PORTAL, SOURCE_PORTAL, COUNT_PORTAL, ANSWER_PORTAL };

enum { EVENTS = 4096, PING_TIMEOUT_MS = 10000 };
#define WARM_UP_SECONDS 0.1

/* Defined only if the counting library is preloaded. */
extern unsigned long allocation_count(void) __attribute__((weak));

static char *buffer;
static struct lnet_handle_eq events;

static void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("lnet_perf: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

static void must(int result, const char *what)
{
	if (result < 0)
		die("%s: %s", what, strerror(-result));
}

static unsigned long allocations_here(void)
{
	return allocation_count ? allocation_count() : 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the node ---- */

static struct lnet_md md_of(void *start, unsigned int length, unsigned int options)
{
	struct lnet_md md;

	memset(&md, 0, sizeof(md));
	md.start = start;
	md.length = length;
	md.threshold = LNET_MD_THRESH_INF;
	md.options = options;
	md.eq_handle = events;
	return md;
}

/* Lets every node put into or get from `md` on a portal, as often as it likes. */
static void offer(enum portal portal, struct lnet_md md)
{
	struct lnet_process_id anyone = { LNET_NID_ANY, LNET_PID_ANY };
	struct lnet_handle_me me;
	struct lnet_handle_md handle;

	must(LNetMEAttach(portal, anyone, 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me), "LNetMEAttach");
	must(LNetMDAttach(me, md, LNET_RETAIN, &handle), "LNetMDAttach");
}

static struct lnet_handle_md bound(struct lnet_md md)
{
	struct lnet_handle_md handle;

	must(LNetMDBind(md, LNET_RETAIN, &handle), "LNetMDBind");
	return handle;
}

static struct lnet_event next_event(void)
{
	struct lnet_event event;
	int result = LNetEQWait(events, &event);

	must(result, "LNetEQWait");
	must(event.status, "an operation");
	return event;
}

static void wait_for(enum lnet_event_kind kind)
{
	while (next_event().type != kind)
		;
}

static void start(void)
{
	if (posix_memalign((void **)&buffer, 4096, LNET_MTU) != 0)
		die("no memory");
	memset(buffer, 0x5a, LNET_MTU);
	must(LNetNIInit(LNET_PID_LUSTRE), "LNetNIInit");
	must(LNetEQAlloc(EVENTS, LNET_EQ_HANDLER_NONE, &events), "LNetEQAlloc");
}

static void say_ready_and_wait(void)
{
	char byte;

	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

/* ---- the serving side ---- */

static void echo(const struct lnet_event *put)
{
	static struct lnet_handle_md answer = { (__u64)LNET_WIRE_HANDLE_COOKIE_NONE };
	static unsigned int answer_length;

	if (LNetMDHandleIsInvalid(answer) || answer_length != put->mlength) {
		answer_length = put->mlength;
		answer = bound(md_of(buffer, answer_length, 0));
	}
	must(LNetPut(put->target.nid, answer, LNET_NOACK_REQ, put->source, ANSWER_PORTAL, 0, 0, 0), "LNetPut");
}

static void serve(void)
{
	static __u64 count;
	struct lnet_md counter;

	start();
	offer(ECHO_PORTAL, md_of(buffer, LNET_MTU, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE));
	offer(SINK_PORTAL, md_of(buffer, LNET_MTU, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE));
	offer(SOURCE_PORTAL, md_of(buffer, LNET_MTU, LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE));
	counter = md_of(&count, sizeof(count), LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE);
	LNetInvalidateEQHandle(&counter.eq_handle);
	offer(COUNT_PORTAL, counter);
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct lnet_event event = next_event();

		if (event.type == LNET_EVENT_PUT && event.pt_index == ECHO_PORTAL)
			echo(&event);
		__atomic_store_n(&count, allocations_here(), __ATOMIC_RELAXED);
	}
}

/* ---- the measuring side ---- */

/* What a measurement repeats, and whom it talks to. */
struct work {
	struct lnet_process_id server;
	struct lnet_handle_md md;
	unsigned long in_flight;
	void (*once)(const struct work *work);
	/* Events that say an operation is complete. */
	enum lnet_event_kind completion;
};

struct result {
	double seconds;
	unsigned long operations;
	long allocations, allocations_there;
};

static void put_for_echo(const struct work *work)
{
	must(LNetPut(LNET_NID_ANY, work->md, LNET_NOACK_REQ, work->server, ECHO_PORTAL, 0, 0, 0), "LNetPut");
}

static void put_for_ack(const struct work *work)
{
	must(LNetPut(LNET_NID_ANY, work->md, LNET_ACK_REQ, work->server, SINK_PORTAL, 0, 0, 0), "LNetPut");
}

static void get(const struct work *work)
{
	must(LNetGet(LNET_NID_ANY, work->md, work->server, SOURCE_PORTAL, 0, 0), "LNetGet");
}

static long allocations_of(struct lnet_process_id server)
{
	static __u64 count;
	struct lnet_handle_md md = bound(md_of(&count, sizeof(count), 0));

	must(LNetGet(LNET_NID_ANY, md, server, COUNT_PORTAL, 0, 0), "LNetGet");
	wait_for(LNET_EVENT_REPLY);
	return (long)count;
}

/* Keeps in_flight operations going for some time, then lets them all end. */
static unsigned long repeat(const struct work *work, double seconds)
{
	double end = now() + seconds;
	unsigned long started, completed = 0;

	for (started = 0; started < work->in_flight; started++)
		work->once(work);
	while (completed < started) {
		wait_for(work->completion);
		completed++;
		if (now() < end) {
			work->once(work);
			started++;
		}
	}
	return completed;
}

static struct result measure(const struct work *work, double seconds)
{
	struct result result;
	double begin;

	repeat(work, WARM_UP_SECONDS);
	result.allocations_there = allocations_of(work->server);
	result.allocations = (long)allocations_here();
	begin = now();
	result.operations = repeat(work, seconds);
	result.seconds = now() - begin;
	result.allocations = (long)allocations_here() - result.allocations;
	result.allocations_there = allocations_of(work->server) - result.allocations_there;
	return result;
}

static void print_allocations(const struct result *result)
{
	if (allocation_count)
		printf("allocations %.4f there %.4f\n", (double)result->allocations / (double)result->operations,
		       (double)result->allocations_there / (double)result->operations);
}

/* The measurement is in both directions: each side sends and receives one message. */
static void measure_round_trip(struct work *work, unsigned int size, double seconds)
{
	struct result result;

	offer(ANSWER_PORTAL, md_of(buffer, LNET_MTU, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE));
	work->md = bound(md_of(buffer, size, 0));
	work->in_flight = 1;
	work->once = put_for_echo;
	work->completion = LNET_EVENT_PUT;
	result = measure(work, seconds);
	printf("microseconds %.4f\n", result.seconds * 1e6 / (double)result.operations);
	print_allocations(&result);
}

static void measure_rate(struct work *work, unsigned int size, double seconds)
{
	struct result result;

	work->md = bound(md_of(buffer, size, 0));
	result = measure(work, seconds);
	printf("bytes_per_second %.0f\n", (double)size * (double)result.operations / result.seconds);
	print_allocations(&result);
}

static void ping(struct lnet_process_id server)
{
	struct lnet_process_id found[16];
	struct libcfs_ioctl_data argument;

	memset(&argument, 0, sizeof(argument));
	argument.ioc_hdr.ioc_len = sizeof(argument);
	argument.ioc_hdr.ioc_version = LIBCFS_IOCTL_VERSION;
	argument.ioc_nid = server.nid;
	argument.ioc_u32[0] = server.pid;
	argument.ioc_u32[1] = PING_TIMEOUT_MS;
	argument.ioc_plen1 = sizeof(found);
	argument.ioc_pbuf1 = found;
	must(LNetCtl(IOC_LIBCFS_PING, &argument), "ping");
}

static void usage(void)
{
	die("usage: serve | idle | hold NID | round-trip NID SIZE SECONDS | put|get NID SIZE IN_FLIGHT SECONDS");
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	struct work work = { .server = { LNET_NID_ANY, LNET_PID_LUSTRE } };
	unsigned int size;

	/* Whoever started this may die: then nobody else would end it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (strcmp(command, "serve") == 0) {
		serve();
	} else if (strcmp(command, "idle") == 0) {
		must(LNetNIInit(LNET_PID_LUSTRE), "LNetNIInit");
		say_ready_and_wait();
		return 0;
	}
	if (argc < 3)
		usage();
	work.server.nid = libcfs_str2nid(argv[2]);
	if (work.server.nid == LNET_NID_ANY)
		die("%s is not a NID", argv[2]);
	if (strcmp(command, "hold") == 0) {
		must(LNetNIInit(LNET_PID_LUSTRE), "LNetNIInit");
		ping(work.server);
		say_ready_and_wait();
		return 0;
	}
	if (argc < 5)
		usage();
	size = (unsigned int)strtoul(argv[3], NULL, 10);
	start();
	if (strcmp(command, "round-trip") == 0) {
		measure_round_trip(&work, size, strtod(argv[4], NULL));
	} else if (argc == 6) {
		int is_get = strcmp(command, "get") == 0;

		work.in_flight = strtoul(argv[4], NULL, 10);
		work.once = is_get ? get : put_for_ack;
		work.completion = is_get ? LNET_EVENT_REPLY : LNET_EVENT_ACK;
		measure_rate(&work, size, strtod(argv[5], NULL));
	} else {
		usage();
	}
	LNetNIFini();
	return 0;
}
