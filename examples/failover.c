/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages that go on while rails come and go: nothing is lost, nothing comes twice, nobody waits long.
 *
 *   failover serve               node B: checks what arrives, ends with SIGTERM
 *   failover send SECONDS NID    node A: sends to the node with this NID, and says every half second how it goes
 *
 * Neither of them knows how many rails there are: that is LNet's business. scripts/demo-failover starts both and
 * breaks the rails. */
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

/* So many messages are under way at once, each from memory of its own to memory of its own: a slot. */
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

/* The node comes up; events go to handler, or are fetched where there is none. */
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

/* Called by LNet before the acknowledgement leaves: until then nothing else is put into the same memory. Slots may be
 * told of at the same time, each by another thread. */
static void on_arrival(struct lnet_event *event)
{
	unsigned int slot;

	/* What was broken off on its way comes again. */
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

/* The interface of the peer that a message was acknowledged from says which rail it was. */
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

/* Says how the time since the last report went, and begins anew; rails stay where they are in the line. */
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

	/* The message leaves and the acknowledgement comes: then the MD is used up and goes by itself. */
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
