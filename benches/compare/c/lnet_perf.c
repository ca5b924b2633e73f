/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Measures LNet through its C API: one process is the server, another the client. Both wait in LNetEQWait.
 *
 *   lnet_perf serve                               replies to the other commands; ends when it is killed
 *   lnet_perf serve-handler                       the same, but PUTs and GETs are reported to an event handler
 *                                                 (it does not reply to round-trip)
 *   lnet_perf round-trip NID SIZE SECONDS         a PUT in each direction; prints microseconds for both, and how many
 *                                                 took how many nanoseconds: "delay NANOSECONDS COUNT"
 *   lnet_perf ask-node NID SIZE SECONDS           a GET of what the node itself offers to pings, and its REPLY; prints
 *                                                 microseconds for both
 *   lnet_perf put NID SIZE IN_FLIGHT SECONDS      acknowledged PUTs; prints bytes per second
 *   lnet_perf get NID SIZE IN_FLIGHT SECONDS      GETs; prints bytes per second
 *   lnet_perf put-many NID,NID,... SIZE IN_FLIGHT THREADS SECONDS
 *                                                 acknowledged PUTs to all servers in turn, IN_FLIGHT in all, from
 *                                                 THREADS threads; prints messages per second
 *   lnet_perf put-self SIZE THREADS SECONDS       the same to this node, by the loopback: one at a time from each of THREADS
 *                                                 threads, to a portal of its own
 *   lnet_perf hold NID                            connects, then waits for the end of its input
 *   lnet_perf idle                                a node that only waits for the end of its input, such as a router;
 *                                                 replies to each byte of it with its number of allocations
 *
 * SECONDS may be a number of operations instead, such as 20000x, of each thread; the warm-up before it has the same length.
 * The environment (LNET_NETWORKS, LNET_ACCEPT, LNET_ACCEPT_PORT) configures the node of each process.
 * The measuring commands also print the number of messages that they sent from start to end, warm-up included; the
 * CPU time of both processes is divided by it. put-many prints the CPU time of its own process per message, without
 * the warm-up.
 * With the library count_allocations preloaded, the measuring commands also print the number of allocations per
 * message on either side. */
#include <lnet/api.h>
#include <lnet/lib-types.h>
#include <lnet/lnet.h>
#include <libcfs/libcfs_ioctl.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum portal { ECHO_PORTAL = 10, SINK_PORTAL, SOURCE_PORTAL, COUNT_PORTAL, ANSWER_PORTAL, FIRST_OWN_PORTAL };

enum { EVENTS = 4096, PING_TIMEOUT_MS = 10000, MOST_PEERS = 1024, MOST_THREADS = 16, ASKING_PID = 1 };
#define WARM_UP_SECONDS 0.1
/* The number of operations after which the clock is read, where as many or more are in flight. */
#define CLOCK_INTERVAL 16

/* Defined only if the counting library is preloaded. */
extern unsigned long allocation_count(void) __attribute__((weak));

static char *buffer;
/* The event queue of this thread: each measuring thread waits for its own events. */
static __thread struct lnet_handle_eq events;
/* The number of operations to measure, if it was given in place of a time. */
static unsigned long operations_wanted;
/* A server that is slower than its clients loses events, which does no harm: it answers one message at a time. */
static int may_lose_events;
/* A program that asks its node has another PID than that: otherwise it would send to itself. */
static lnet_pid_t own_pid = LNET_PID_LUSTRE;
/* Whether the other side is a node without a program, which counts nothing. */
static int asks_node;

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

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
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

/* Lets every node put to or get from `md` on a portal, any number of times. */
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

	if (result != -EOVERFLOW || !may_lose_events)
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
	must(LNetNIInit(own_pid), "LNetNIInit");
	/* A node of another process uses such memory in place. */
	buffer = LNetMemAlloc(LNET_MTU);
	if (buffer == NULL)
		die("no memory");
	memset(buffer, 0x5a, LNET_MTU);
	must(LNetEQAlloc(EVENTS, LNET_EQ_HANDLER_NONE, &events), "LNetEQAlloc");
}

/* With the NID of the interface behind the loopback, if there is one. */
static void say_ready(void)
{
	struct lnet_process_id id;

	if (LNetGetId(1, &id) != 0 && LNetGetId(0, &id) != 0)
		die("no interface");
	printf("ready %s\n", libcfs_nid2str(id.nid));
	fflush(stdout);
}

static void say_ready_and_wait(void)
{
	char byte;

	say_ready();
	while (read(STDIN_FILENO, &byte, 1) > 0) {
		printf("allocations %lu\n", allocations_here());
		fflush(stdout);
	}
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

static void handle(struct lnet_event *event)
{
	static __u64 handled;

	must(event->status, "an operation");
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void serve(lnet_eq_handler_t handler)
{
	static __u64 count;
	struct lnet_md counter;

	may_lose_events = 1;
	start();
	if (handler != LNET_EQ_HANDLER_NONE)
		must(LNetEQAlloc(0, handler, &events), "LNetEQAlloc");
	offer(ECHO_PORTAL, md_of(buffer, LNET_MTU, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE));
	offer(SINK_PORTAL, md_of(buffer, LNET_MTU, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE));
	offer(SOURCE_PORTAL, md_of(buffer, LNET_MTU, LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE));
	counter = md_of(&count, sizeof(count), LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE);
	LNetInvalidateEQHandle(&counter.eq_handle);
	offer(COUNT_PORTAL, counter);
	say_ready();
	while (handler != LNET_EQ_HANDLER_NONE)
		pause();
	for (;;) {
		struct lnet_event event = next_event();

		if (event.type == LNET_EVENT_PUT && event.pt_index == ECHO_PORTAL)
			echo(&event);
		__atomic_store_n(&count, allocations_here(), __ATOMIC_RELAXED);
	}
}

/* ---- the measuring side ---- */

/* The operation that a measurement repeats, and its server. */
struct work {
	struct lnet_process_id server;
	struct lnet_handle_md md;
	unsigned long in_flight;
	/* If there are several servers, the index of the one that gets the first message, and its portal. */
	unsigned int first_server, portal;
	void (*once)(const struct work *work);
	/* The type of the event that completes an operation. */
	enum lnet_event_kind completion;
};

struct result {
	double seconds;
	unsigned long operations;
	/* The number of operations including those of the warm-up. */
	unsigned long operations_in_all;
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

static void get_from_node(const struct work *work)
{
	must(LNetGet(LNET_NID_ANY, work->md, work->server, LNET_RESERVED_PORTAL, LNET_PROTO_PING_MATCHBITS, 0), "LNetGet");
}

static long allocations_of(struct lnet_process_id server)
{
	static __u64 count;
	struct lnet_handle_md md;

	if (asks_node)
		return 0;
	md = bound(md_of(&count, sizeof(count), 0));
	must(LNetGet(LNET_NID_ANY, md, server, COUNT_PORTAL, 0, 0), "LNetGet");
	wait_for(LNET_EVENT_REPLY);
	return (long)count;
}

static int goes_on(unsigned long started, double time, double end)
{
	return operations_wanted ? started < operations_wanted : time < end;
}

/* ---- how long single operations take ---- */

/* The numbers below 1024, and from there on those with ten significant bits: STEPS of them for each power of two. */
enum { SIGNIFICANT_BITS = 10, STEPS = 1 << SIGNIFICANT_BITS, POWERS = 64 - SIGNIFICANT_BITS + 1 };
static unsigned int delays[POWERS][STEPS];

static void count_delay(double seconds)
{
	unsigned long nanoseconds = (unsigned long)(seconds * 1e9);
	int bits = nanoseconds == 0 ? 0 : 64 - __builtin_clzl(nanoseconds);
	int power = bits > SIGNIFICANT_BITS ? bits - SIGNIFICANT_BITS : 0;

	delays[power][nanoseconds >> power]++;
}

static void print_delays(void)
{
	unsigned long step;
	int power;

	for (power = 0; power < POWERS; power++)
		for (step = 0; step < STEPS; step++)
			if (delays[power][step] != 0)
				printf("delay %lu %u\n", step << power, delays[power][step]);
}

/*
 * Keeps in_flight operations in progress for a time, or until the wanted number has been started, and then waits for
 * their end.
 */
static unsigned long repeat(const struct work *work, double seconds)
{
	double begin = now(), end = begin + seconds, time = begin;
	unsigned long started, completed = 0;

	for (started = 0; started < work->in_flight; started++)
		work->once(work);
	while (completed < started) {
		wait_for(work->completion);
		completed++;
		/* The contestants on raw TCP read no clock while they send: beside many operations it would count. */
		if (work->in_flight < CLOCK_INTERVAL || completed % CLOCK_INTERVAL == 0)
			time = now();
		if (work->in_flight == 1)
			count_delay(time - begin);
		begin = time;
		if (goes_on(started, time, end)) {
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

	result.operations_in_all = repeat(work, WARM_UP_SECONDS);
	memset(delays, 0, sizeof(delays));
	result.allocations_there = allocations_of(work->server);
	result.allocations = (long)allocations_here();
	begin = now();
	result.operations = repeat(work, seconds);
	result.seconds = now() - begin;
	result.operations_in_all += result.operations;
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

	if (!asks_node)
		offer(ANSWER_PORTAL, md_of(buffer, LNET_MTU, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE));
	work->md = bound(md_of(buffer, size, 0));
	work->in_flight = 1;
	work->once = asks_node ? get_from_node : put_for_echo;
	work->completion = asks_node ? LNET_EVENT_REPLY : LNET_EVENT_PUT;
	result = measure(work, seconds);
	printf("microseconds %.4f messages %lu\n", result.seconds * 1e6 / (double)result.operations,
	       2 * result.operations_in_all);
	print_delays();
	print_allocations(&result);
}

static void measure_rate(struct work *work, unsigned int size, double seconds)
{
	struct result result;

	work->md = bound(md_of(buffer, size, 0));
	result = measure(work, seconds);
	printf("bytes_per_second %.0f messages %lu\n", (double)size * (double)result.operations / result.seconds,
	       result.operations_in_all);
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

/* ---- many servers, several threads ---- */

static struct lnet_process_id servers[MOST_PEERS];
static unsigned int number_of_servers;
static pthread_barrier_t all_threads;

/* The task of one thread, and its results. */
struct sender {
	pthread_t thread;
	unsigned int size, first, portal;
	unsigned long in_flight, completed, completed_in_all;
	double seconds, took;
};

static void put_to_next(const struct work *work)
{
	static __thread unsigned int turn;
	struct lnet_process_id server = servers[(work->first_server + turn++) % number_of_servers];

	must(LNetPut(LNET_NID_ANY, work->md, LNET_ACK_REQ, server, work->portal, 0, 0, 0), "LNetPut");
}

static void *send_for_some_time(void *argument)
{
	struct sender *sender = argument;
	struct work work = { .in_flight = sender->in_flight, .once = put_to_next, .completion = LNET_EVENT_ACK };
	double begin;

	must(LNetEQAlloc(EVENTS, LNET_EQ_HANDLER_NONE, &events), "LNetEQAlloc");
	work.first_server = sender->first;
	work.portal = sender->portal;
	work.md = bound(md_of(buffer, sender->size, 0));
	sender->completed_in_all = repeat(&work, WARM_UP_SECONDS);
	pthread_barrier_wait(&all_threads);
	begin = now();
	sender->completed = repeat(&work, sender->seconds);
	sender->took = now() - begin;
	sender->completed_in_all += sender->completed;
	pthread_barrier_wait(&all_threads);
	return NULL;
}

static void parse_servers(char *nids)
{
	char *nid;

	for (nid = strtok(nids, ","); nid != NULL; nid = strtok(NULL, ",")) {
		if (number_of_servers == MOST_PEERS)
			die("more than %d servers", MOST_PEERS);
		servers[number_of_servers].pid = LNET_PID_LUSTRE;
		servers[number_of_servers].nid = libcfs_str2nid(nid);
		if (servers[number_of_servers++].nid == LNET_NID_ANY)
			die("%s is not a NID", nid);
	}
}

/* Each thread sends to `portal`, or, if that is FIRST_OWN_PORTAL, to a portal of its own from there on. */
static void measure_many(unsigned int size, unsigned long in_flight, unsigned int threads, double seconds,
			 unsigned int portal)
{
	struct sender senders[MOST_THREADS];
	unsigned long completed = 0, completed_in_all = 0;
	struct lnet_handle_md greeting = bound(md_of(buffer, size, 0));
	double rate = 0, cpu;
	unsigned int i;

	if (threads < 1 || threads > MOST_THREADS || in_flight < threads)
		die("1 to %d threads, and at least one message in flight for each", MOST_THREADS);
	/* Makes all connections before the measurement. */
	for (i = 0; i < number_of_servers; i++) {
		must(LNetPut(LNET_NID_ANY, greeting, LNET_ACK_REQ, servers[i], portal, 0, 0, 0), "LNetPut");
		wait_for(LNET_EVENT_ACK);
	}
	pthread_barrier_init(&all_threads, NULL, threads + 1);
	for (i = 0; i < threads; i++) {
		senders[i] = (struct sender){ .size = size, .first = i * number_of_servers / threads,
					      .portal = portal + (portal == FIRST_OWN_PORTAL ? i : 0),
					      .in_flight = in_flight / threads, .seconds = seconds };
		if (pthread_create(&senders[i].thread, NULL, send_for_some_time, &senders[i]) != 0)
			die("no thread");
	}
	pthread_barrier_wait(&all_threads);
	cpu = cpu_seconds();
	pthread_barrier_wait(&all_threads);
	cpu = cpu_seconds() - cpu;
	for (i = 0; i < threads; i++) {
		pthread_join(senders[i].thread, NULL);
		completed += senders[i].completed;
		completed_in_all += senders[i].completed_in_all;
		rate += (double)senders[i].completed / senders[i].took;
	}
	printf("messages_per_second %.0f cpu_microseconds %.4f messages %lu\n", rate, cpu * 1e6 / (double)completed,
	       completed_in_all);
}

static void measure_to_self(unsigned int size, unsigned int threads, double seconds)
{
	struct lnet_md md = md_of(calloc(1, LNET_MTU), LNET_MTU, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
	unsigned int i;

	if (md.start == NULL)
		die("no memory");
	LNetInvalidateEQHandle(&md.eq_handle);
	for (i = 0; i < MOST_THREADS; i++)
		offer((enum portal)(FIRST_OWN_PORTAL + i), md);
	servers[number_of_servers++] = (struct lnet_process_id){ libcfs_str2nid("0@lo"), LNET_PID_LUSTRE };
	measure_many(size, threads, threads, seconds, FIRST_OWN_PORTAL);
}

/* ---- the command line ---- */

/* The time to measure, unless it is a number of operations. */
static double seconds_or_operations(const char *text)
{
	if (strchr(text, 'x') == NULL)
		return strtod(text, NULL);
	operations_wanted = strtoul(text, NULL, 10);
	return 0;
}

static void usage(void)
{
	die("usage: serve | serve-handler | idle | hold NID | round-trip|ask-node NID SIZE SECONDS | "
	    "put|get NID SIZE IN_FLIGHT SECONDS | put-many NID,NID,... SIZE IN_FLIGHT THREADS SECONDS | "
	    "put-self SIZE THREADS SECONDS");
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	struct work work = { .server = { LNET_NID_ANY, LNET_PID_LUSTRE } };
	unsigned int size;

	/* This process ends when its parent ends, since no other process would end it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (strcmp(command, "serve") == 0) {
		serve(LNET_EQ_HANDLER_NONE);
	} else if (strcmp(command, "serve-handler") == 0) {
		serve(handle);
	} else if (strcmp(command, "idle") == 0) {
		must(LNetNIInit(LNET_PID_LUSTRE), "LNetNIInit");
		say_ready_and_wait();
		return 0;
	}
	if (argc == 7 && strcmp(command, "put-many") == 0) {
		parse_servers(argv[2]);
		start();
		measure_many((unsigned int)strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10),
			     (unsigned int)strtoul(argv[5], NULL, 10), seconds_or_operations(argv[6]), SINK_PORTAL);
		LNetNIFini();
		return 0;
	}
	if (argc == 5 && strcmp(command, "put-self") == 0) {
		start();
		measure_to_self((unsigned int)strtoul(argv[2], NULL, 10), (unsigned int)strtoul(argv[3], NULL, 10),
				seconds_or_operations(argv[4]));
		LNetNIFini();
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
	asks_node = strcmp(command, "ask-node") == 0;
	if (asks_node)
		own_pid = ASKING_PID;
	start();
	if (asks_node || strcmp(command, "round-trip") == 0) {
		measure_round_trip(&work, size, seconds_or_operations(argv[4]));
	} else if (argc == 6) {
		int is_get = strcmp(command, "get") == 0;

		work.in_flight = strtoul(argv[4], NULL, 10);
		work.once = is_get ? get : put_for_ack;
		work.completion = is_get ? LNET_EVENT_REPLY : LNET_EVENT_ACK;
		measure_rate(&work, size, seconds_or_operations(argv[5]));
	} else {
		usage();
	}
	LNetNIFini();
	return 0;
}
