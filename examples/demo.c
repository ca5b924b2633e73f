/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two nodes with two rails each: pings, small and large PUTs and GETs over each rail, all of them checked.
 *
 *   demo serve                       node B: offers memory, prints what arrives, ends when node A tells it to
 *   demo visit RAIL RAIL [...]       node A: each RAIL is FROM,TO: two NIDs
 *
 * scripts/demo starts both and shows their output. */
#include <lnet/api.h>
#include <lnet/lnet.h>
#include <libcfs/libcfs_ioctl.h>

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum portal { INBOX = 10, LIBRARY, GOODBYE };

enum { SMALL = 64, LARGE = LNET_MTU, INBOX_SIZE = 8 * LARGE, PING_TIMEOUT_MS = 5000, WAIT_MS = 20000 };

static const unsigned int SIZES[] = { SMALL, LARGE };

static const char *name;
static bool all_well = true;

static void say(const char *format, ...)
{
	va_list arguments;

	printf("  %s: ", name);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
}

static void must(int result, const char *what)
{
	if (result < 0) {
		fflush(stdout);
		fprintf(stderr, "  %s: FAILED: %s: %s\n", name, what, strerror(-result));
		exit(1);
	}
}

static void expect(bool condition, const char *what)
{
	if (!condition) {
		say("FAILED: %s", what);
		all_well = false;
	}
}

/* ---- data that both nodes can make and check ---- */

static void fill(unsigned char *data, unsigned int length, unsigned int seed)
{
	unsigned int i, x = seed * 2654435761U + 1;

	for (i = 0; i < length; i++) {
		x = x * 1664525U + 1013904223U;
		data[i] = (unsigned char)(x >> 24);
	}
}

/* Computes the FNV-1a hash of data. */
static __u64 checksum(const unsigned char *data, unsigned int length)
{
	__u64 sum = 0xcbf29ce484222325ULL;
	unsigned int i;

	for (i = 0; i < length; i++)
		sum = (sum ^ data[i]) * 0x100000001b3ULL;
	return sum;
}

static const char *size_name(unsigned int size)
{
	return size == LARGE ? "1 MiB" : "64 bytes";
}

static double milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- what both nodes do ---- */

static struct lnet_md md_of(void *start, unsigned int length, unsigned int options, struct lnet_handle_eq eq)
{
	struct lnet_md md;

	memset(&md, 0, sizeof(md));
	md.start = start;
	md.length = length;
	md.threshold = LNET_MD_THRESH_INF;
	md.options = options;
	md.eq_handle = eq;
	return md;
}

static struct lnet_event next_event(struct lnet_handle_eq eq)
{
	struct lnet_event event;
	int which, result = LNetEQPoll(&eq, 1, WAIT_MS, &event, &which);

	must(result == 0 ? -ETIMEDOUT : result, "waiting for the other node");
	return event;
}

static void start(struct lnet_handle_eq *eq)
{
	struct lnet_process_id id;
	unsigned int index;

	must(LNetNIInit(LNET_PID_LUSTRE), "starting the node (LNetNIInit)");
	must(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, eq), "LNetEQAlloc");
	/* Interface 0 is the node's own loopback, 0@lo. */
	for (index = 1; LNetGetId(index, &id) == 0; index++)
		say("is up, rail %u is %s", index, libcfs_nid2str(id.nid));
}

/* ---- node B ---- */

static void offer(enum portal portal, struct lnet_md md)
{
	struct lnet_process_id anyone = { LNET_NID_ANY, LNET_PID_ANY };
	struct lnet_handle_me me;
	struct lnet_handle_md handle;

	must(LNetMEAttach(portal, anyone, 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me), "LNetMEAttach");
	must(LNetMDAttach(me, md, LNET_RETAIN, &handle), "LNetMDAttach");
}

static void serve(void)
{
	static unsigned char inbox[INBOX_SIZE], library[LARGE];
	static __u64 other_nodes_result;
	struct lnet_handle_eq eq;
	bool visiting = true;

	start(&eq);
	fill(library, LARGE, 0);
	/* Each message is written behind the previous one; the event contains the offset. */
	offer(INBOX, md_of(inbox, INBOX_SIZE, LNET_MD_OP_PUT, eq));
	offer(LIBRARY, md_of(library, LARGE, LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE | LNET_MD_TRUNCATE, eq));
	offer(GOODBYE, md_of(&other_nodes_result, 8, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE, eq));
	say("is ready");
	while (visiting) {
		struct lnet_event event = next_event(eq);
		const char *from = libcfs_nid2str(event.source.nid), *at = libcfs_nid2str(event.target.nid);

		must(event.status, "an operation");
		if (event.pt_index == GOODBYE) {
			say("was told goodbye by %s", from);
			visiting = false;
		} else if (event.type == LNET_EVENT_PUT) {
			bool same = checksum(inbox + event.offset, event.mlength) == event.hdr_data;

			say("received %s from %s on %s, checksum %016llx %s", size_name(event.mlength), from, at,
			    (unsigned long long)event.hdr_data, same ? "is right" : "IS WRONG");
			expect(same, "the data of a PUT");
		} else if (event.type == LNET_EVENT_GET) {
			say("gave %s to %s on %s", size_name(event.mlength), from, at);
		}
	}
	expect(other_nodes_result == 1, "the other node is content");
}

/* ---- node A ---- */

struct rail {
	unsigned int number;
	lnet_nid_t from;
	struct lnet_process_id to;
};

static struct rail parse_rail(unsigned int number, const char *text)
{
	const char *comma = strchr(text, ',');
	struct rail rail = { number, LNET_NID_ANY, { LNET_NID_ANY, LNET_PID_LUSTRE } };
	char from[LNET_NIDSTR_SIZE];

	if (comma != NULL && (size_t)(comma - text) < sizeof(from)) {
		memcpy(from, text, (size_t)(comma - text));
		from[comma - text] = '\0';
		rail.from = libcfs_str2nid(from);
		rail.to.nid = libcfs_str2nid(comma + 1);
	}
	must(rail.from == LNET_NID_ANY || rail.to.nid == LNET_NID_ANY ? -EINVAL : 0, text);
	return rail;
}

/* Pings a node, like lnetctl ping. Every node replies with a list of its interfaces. */
static void ping(const struct rail *rail)
{
	struct lnet_process_id found[16];
	struct libcfs_ioctl_data argument;
	char interfaces[256] = "";
	double begin = milliseconds();
	unsigned int i;

	memset(&argument, 0, sizeof(argument));
	argument.ioc_hdr.ioc_len = sizeof(argument);
	argument.ioc_hdr.ioc_version = LIBCFS_IOCTL_VERSION;
	argument.ioc_nid = rail->to.nid;
	argument.ioc_u32[0] = rail->to.pid;
	argument.ioc_u32[1] = PING_TIMEOUT_MS;
	argument.ioc_plen1 = sizeof(found);
	argument.ioc_pbuf1 = found;
	must(LNetCtl(IOC_LIBCFS_PING, &argument), "ping");
	for (i = 0; i < argument.ioc_count && i < 16; i++) {
		strncat(interfaces, " ", sizeof(interfaces) - strlen(interfaces) - 1);
		strncat(interfaces, libcfs_nid2str(found[i].nid), sizeof(interfaces) - strlen(interfaces) - 1);
	}
	say("pinged %s: it answered in %.1f ms; its interfaces:%s", libcfs_nid2str(rail->to.nid),
	    milliseconds() - begin, interfaces);
	expect(argument.ioc_count == 3, "a node with two rails has three interfaces, with 0@lo");
}

/* Waits until an operation of an MD has ended, and returns the last event. */
static struct lnet_event result_of(struct lnet_handle_eq eq, enum lnet_event_kind kind)
{
	struct lnet_event event, result;

	memset(&result, 0, sizeof(result));
	do {
		event = next_event(eq);
		must(event.status, "an operation");
		if (event.type == kind)
			result = event;
	} while (!event.unlinked);
	return result;
}

static struct lnet_handle_md bind_for_two(struct lnet_md md)
{
	struct lnet_handle_md handle;

	/*
	 * The two events are that the request is sent and that the reply arrives. Then the threshold is exhausted and
	 * the MD is unlinked.
	 */
	md.threshold = 2;
	must(LNetMDBind(md, LNET_UNLINK, &handle), "LNetMDBind");
	return handle;
}

static void put(const struct rail *rail, struct lnet_handle_eq eq, unsigned char *data, unsigned int size)
{
	struct lnet_handle_md md = bind_for_two(md_of(data, size, 0, eq));
	struct lnet_event ack;
	double begin, took;
	__u64 sum;

	fill(data, size, rail->number);
	sum = checksum(data, size);
	begin = milliseconds();
	must(LNetPut(rail->from, md, LNET_ACK_REQ, rail->to, INBOX, 0, 0, sum), "LNetPut");
	ack = result_of(eq, LNET_EVENT_ACK);
	took = milliseconds() - begin;
	say("put %s over rail %u: acknowledged after %.2f ms", size_name(ack.mlength), rail->number, took);
	expect(ack.mlength == size, "all of a PUT is acknowledged");
	expect(ack.source.nid == rail->to.nid, "the acknowledgement comes over the same rail");
}

static void get(const struct rail *rail, struct lnet_handle_eq eq, unsigned char *data, unsigned int size)
{
	struct lnet_handle_md md = bind_for_two(md_of(data, size, 0, eq));
	struct lnet_event reply;
	double begin, took;
	__u64 wanted, found;

	fill(data, size, 0);
	wanted = checksum(data, size);
	memset(data, 0, size);
	begin = milliseconds();
	must(LNetGet(rail->from, md, rail->to, LIBRARY, 0, 0), "LNetGet");
	reply = result_of(eq, LNET_EVENT_REPLY);
	took = milliseconds() - begin;
	found = checksum(data, size);
	say("got %s over rail %u after %.2f ms, checksum %016llx %s", size_name(reply.mlength), rail->number, took,
	    (unsigned long long)found, found == wanted ? "is right" : "IS WRONG");
	expect(reply.mlength == size && found == wanted, "the data of a GET");
	expect(reply.source.nid == rail->to.nid, "the data comes over the same rail");
}

static void visit(char **rails, unsigned int count)
{
	static unsigned char data[LARGE];
	static __u64 result;
	struct lnet_handle_eq eq;
	struct rail rail = { 0, LNET_NID_ANY, { LNET_NID_ANY, LNET_PID_LUSTRE } };
	unsigned int i, j;

	start(&eq);
	for (i = 0; i < count; i++) {
		rail = parse_rail(i + 1, rails[i]);
		ping(&rail);
		for (j = 0; j < sizeof(SIZES) / sizeof(SIZES[0]); j++) {
			put(&rail, eq, data, SIZES[j]);
			get(&rail, eq, data, SIZES[j]);
		}
	}
	result = all_well ? 1 : 0;
	must(LNetPut(rail.from, bind_for_two(md_of(&result, sizeof(result), 0, eq)), LNET_ACK_REQ, rail.to, GOODBYE,
		     0, 0, 0),
	     "LNetPut");
	result_of(eq, LNET_EVENT_ACK);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "serve") == 0) {
		name = "node B";
		serve();
	} else if (argc > 2 && strcmp(argv[1], "visit") == 0) {
		name = "node A";
		visit(argv + 2, (unsigned int)argc - 2);
	} else {
		fprintf(stderr, "usage: demo serve | demo visit FROM,TO [FROM,TO ...]\n");
		return 2;
	}
	must(LNetNIFini(), "LNetNIFini");
	say("is down%s", all_well ? "" : "; something FAILED");
	return all_well ? 0 : 1;
}
