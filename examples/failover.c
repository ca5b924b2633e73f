/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages continue while rails fail and return: none is lost, none arrives twice, and none takes long.
 *
 *   failover serve               node B: checks the messages that arrive, ends with SIGTERM
 *   failover send SECONDS NID    node A: sends to the node with this NID, and prints a report every half second
 *
 * Neither program knows the number of rails: LNet chooses them. scripts/demo-failover starts both and interrupts the
 * rails. */
#include <lnet/api.h>
#include <lnet/lnet.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PORTAL = 10 };

/*
 * SLOTS messages are in flight at the same time. Each goes from its own memory to its own memory; the pair is called
 * a slot.
 */
enum { SLOTS = 8, SIZE = 16 * 1024, PAUSE_MS = 5, REPORT_MS = 500, DRAIN_TIMEOUT_MS = 90000, RAILS = 8 };

static unsigned char memory[SLOTS][SIZE];

static void must(int result, const char *what)
{
	if (result < 0) {
		fflush(stdout);
		fprintf(stderr, "  FAILED: %s: %s\n", what, strerror(-result));
		exit(1);
	}
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- data that both nodes can make and check ---- */

static unsigned int word(unsigned int slot, __u64 number, unsigned int i)
{
	return ((unsigned int)number * 8 + slot + i) * 2654435761U;
}

static void fill(unsigned int slot, __u64 number)
{
	unsigned int i, value;

	for (i = 0; i < SIZE / sizeof(value); i++) {
		value = word(slot, number, i);
		memcpy(&memory[slot][i * sizeof(value)], &value, sizeof(value));
	}
}

static bool is_right(unsigned int slot, __u64 number)
{
	unsigned int i, value;

	for (i = 0; i < SIZE / sizeof(value); i++) {
		memcpy(&value, &memory[slot][i * sizeof(value)], sizeof(value));
		if (value != word(slot, number, i))
			return false;
	}
	return true;
}

static struct lnet_md md_of(unsigned int slot, int threshold, unsigned int options, struct lnet_handle_eq eq)
{
	struct lnet_md md;

	memset(&md, 0, sizeof(md));
	md.start = memory[slot];
	md.length = SIZE;
	md.threshold = threshold;
	md.options = options;
	md.eq_handle = eq;
	md.user_ptr = memory[slot];
	return md;
}

static unsigned int slot_of(const struct lnet_event *event)
{
	return (unsigned int)((unsigned char(*)[SIZE])event->md.user_ptr - memory);
}

/* Starts the node. Events go to handler; if there is none, the program fetches them. */
static struct lnet_handle_eq start(lnet_eq_handler_t handler)
{
	struct lnet_handle_eq eq;

	must(LNetNIInit(LNET_PID_LUSTRE), "starting the node (LNetNIInit)");
	must(LNetEQAlloc(handler == LNET_EQ_HANDLER_NONE ? 1024 : 0, handler, &eq), "LNetEQAlloc");
	return eq;
}

/* ---- node B ---- */

static __u64 seen[SLOTS], arrived, missing, twice, wrong;
static volatile sig_atomic_t ended;

static void on_end(int signal)
{
	(void)signal;
	ended = 1;
}

/* LNet calls this function before it sends the acknowledgement; until then no other message is written to the same
 * memory. Several threads may call it at the same time for different slots. */
static void on_arrival(struct lnet_event *event)
{
	unsigned int slot;

	/* A message that was interrupted is sent again. */
	if (event->type != LNET_EVENT_PUT || event->status != 0)
		return;
	slot = slot_of(event);
	if (event->hdr_data <= seen[slot]) {
		__atomic_add_fetch(&twice, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_add_fetch(&missing, event->hdr_data - seen[slot] - 1, __ATOMIC_RELAXED);
	seen[slot] = event->hdr_data;
	if (!is_right(slot, event->hdr_data))
		__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&arrived, 1, __ATOMIC_RELAXED);
}

static void offer(unsigned int slot, struct lnet_md md)
{
	struct lnet_process_id anyone = { LNET_NID_ANY, LNET_PID_ANY };
	struct lnet_handle_me me;
	struct lnet_handle_md handle;

	must(LNetMEAttach(PORTAL, anyone, slot, 0, LNET_RETAIN, LNET_INS_AFTER, &me), "LNetMEAttach");
	must(LNetMDAttach(me, md, LNET_RETAIN, &handle), "LNetMDAttach");
}

static int serve(void)
{
	const unsigned int options = LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE;
	struct lnet_handle_eq arrivals = start(on_arrival);
	unsigned int slot;

	signal(SIGTERM, on_end);
	for (slot = 0; slot < SLOTS; slot++)
		offer(slot, md_of(slot, LNET_MD_THRESH_INF, options, arrivals));
	printf("  node B: is ready\n");
	fflush(stdout);
	while (!ended)
		sleep(1);
	must(LNetNIFini(), "LNetNIFini");
	printf("  node B: %llu messages arrived; missing: %llu; twice: %llu; with wrong data: %llu\n",
	       (unsigned long long)arrived, (unsigned long long)missing, (unsigned long long)twice,
	       (unsigned long long)wrong);
	return missing + twice + wrong == 0 ? 0 : 1;
}

/* ---- node A ---- */

struct slot {
	__u64 number;
	double begun, due;
	bool busy, acknowledged;
};

struct counts {
	unsigned int messages;
	double longest;
	struct {
		lnet_nid_t nid;
		unsigned int messages;
	} rails[RAILS];
};

/* Counts an acknowledged message for its rail, which is identified by the peer's NID in the acknowledgement. */
static void count(struct counts *counts, lnet_nid_t nid, double took)
{
	unsigned int i;

	counts->messages++;
	if (took > counts->longest)
		counts->longest = took;
	for (i = 0; i < RAILS; i++) {
		if (counts->rails[i].nid == 0 || counts->rails[i].nid == nid) {
			counts->rails[i].nid = nid;
			counts->rails[i].messages++;
			break;
		}
	}
}

/* Prints the counts since the last report, and resets them. Each rail keeps its position in the line. */
static void report(struct counts *counts, const struct slot *slots, double since_start)
{
	double now = now_ms();
	unsigned int i;

	for (i = 0; i < SLOTS; i++)
		if (slots[i].busy && now - slots[i].begun > counts->longest)
			counts->longest = now - slots[i].begun;
	printf("  node A: %4.1f s  %4u messages", since_start / 1e3, counts->messages);
	for (i = 0; i < RAILS && counts->rails[i].nid != 0; i++) {
		printf("  %s %4u", libcfs_nid2str(counts->rails[i].nid), counts->rails[i].messages);
		counts->rails[i].messages = 0;
	}
	printf("  longest wait %.0f ms\n", counts->longest);
	fflush(stdout);
	counts->messages = 0;
	counts->longest = 0;
}

static void put(unsigned int slot, __u64 number, struct lnet_process_id to, struct lnet_handle_eq eq)
{
	struct lnet_handle_md md;

	/*
	 * The two events are that the message is sent and that the acknowledgement arrives. Then the threshold is
	 * exhausted and the MD is unlinked.
	 */
	must(LNetMDBind(md_of(slot, 2, 0, eq), LNET_UNLINK, &md), "LNetMDBind");
	must(LNetPut(LNET_NID_ANY, md, LNET_ACK_REQ, to, PORTAL, slot, 0, number), "LNetPut");
}

static int send(double seconds, struct lnet_process_id to)
{
	struct lnet_handle_eq eq = start(LNET_EQ_HANDLER_NONE);
	static struct slot slots[SLOTS];
	struct counts counts = { 0, 0, { { 0, 0 } } };
	double begin = now_ms(), next_report = begin + REPORT_MS, end = begin + seconds * 1e3, longest = 0;
	unsigned int i, busy, sent = 0, failed = 0;
	struct lnet_event event;
	int found, which;

	do {
		double now = now_ms();

		for (i = busy = 0; i < SLOTS; i++) {
			if (!slots[i].busy && now < end && now >= slots[i].due) {
				fill(i, ++slots[i].number);
				slots[i].busy = true;
				slots[i].acknowledged = false;
				slots[i].begun = now_ms();
				sent++;
				put(i, slots[i].number, to, eq);
			}
			busy += slots[i].busy;
		}
		if (now >= next_report && now < end + REPORT_MS) {
			if (counts.longest > longest)
				longest = counts.longest;
			report(&counts, slots, now - begin);
			next_report += REPORT_MS;
		}
		if (now > end + DRAIN_TIMEOUT_MS)
			must(-ETIMEDOUT, "waiting for the last messages");
		found = LNetEQPoll(&eq, 1, PAUSE_MS, &event, &which);
		must(found, "LNetEQPoll");
		if (found == 0)
			continue;
		i = slot_of(&event);
		if (event.type == LNET_EVENT_ACK && event.status == 0) {
			slots[i].acknowledged = true;
			count(&counts, event.source.nid, now_ms() - slots[i].begun);
		}
		if (event.unlinked) {
			slots[i].busy = false;
			slots[i].due = now_ms() + PAUSE_MS;
			if (!slots[i].acknowledged) {
				failed++;
				printf("  node A: a message FAILED: %s\n", strerror(-event.status));
			}
		}
	} while (now_ms() < end || busy > 0);
	if (counts.longest > longest)
		longest = counts.longest;
	printf("  node A: %u messages sent; failed: %u; the longest wait was %.0f ms\n", sent, failed, longest);
	must(LNetNIFini(), "LNetNIFini");
	return failed == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "serve") == 0)
		return serve();
	if (argc == 4 && strcmp(argv[1], "send") == 0) {
		struct lnet_process_id to = { libcfs_str2nid(argv[3]), LNET_PID_LUSTRE };

		must(to.nid == LNET_NID_ANY ? -EINVAL : 0, argv[3]);
		return send(atof(argv[2]), to);
	}
	fprintf(stderr, "usage: failover serve | failover send SECONDS NID\n");
	return 2;
}
