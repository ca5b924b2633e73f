/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Makes one mistake that beginners make, the one that the argument names, and prints what it is told about it: what
 * tests/ten_mistakes.rs compares with its table. The node's log goes to standard error. */
#include <lnet/api.h>
#include <lnet/lnet.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORTAL = 10, BITS = 42 };

/* What is sent, and where messages arrive. */
static char memory[64], received[16 * sizeof(memory)];

/* Prints the meaning of a result of call, or of the status of an event. */
static void say(const char *call, int result)
{
	printf("%s: %s\n", call != NULL ? call : "event", LNetErrorText(call, result));
	fflush(stdout);
}

/* Ends the program if something fails that is not the mistake. */
static void must(int result, const char *call)
{
	if (result < 0) {
		say(call, result);
		exit(1);
	}
}

static struct lnet_handle_eq start(unsigned int events)
{
	struct lnet_handle_eq eq;

	must(LNetNIInit(LNET_PID_LUSTRE), "LNetNIInit");
	must(LNetEQAlloc(events, LNET_EQ_HANDLER_NONE, &eq), "LNetEQAlloc");
	return eq;
}

static struct lnet_handle_md bind(struct lnet_handle_eq eq, int threshold)
{
	struct lnet_md md = { .start = memory, .length = sizeof(memory), .threshold = threshold, .eq_handle = eq };
	struct lnet_handle_md handle;

	must(LNetMDBind(md, LNET_UNLINK, &handle), "LNetMDBind");
	return handle;
}

/* Attaches memory for PUTs of length bytes at most. */
static struct lnet_handle_md receive(struct lnet_handle_eq eq, unsigned int length)
{
	struct lnet_process_id anyone = { LNET_NID_ANY, LNET_PID_ANY };
	struct lnet_md md = { .start = received, .length = length, .threshold = LNET_MD_THRESH_INF,
			      .options = LNET_MD_OP_PUT, .eq_handle = eq };
	struct lnet_handle_md handle;
	struct lnet_handle_me me;

	must(LNetMEAttach(PORTAL, anyone, BITS, 0, LNET_RETAIN, LNET_INS_AFTER, &me), "LNetMEAttach");
	must(LNetMDAttach(me, md, LNET_UNLINK, &handle), "LNetMDAttach");
	return handle;
}

/* Sends a PUT with an ACK to the node, and prints the statuses of its events that are errors. */
static void put(const char *node, unsigned int portal, struct lnet_handle_eq eq)
{
	struct lnet_process_id target = { libcfs_str2nid(node), LNET_PID_LUSTRE };
	struct lnet_event event;
	int result = LNetPut(LNET_NID_ANY, bind(eq, 2), LNET_ACK_REQ, target, portal, BITS, 0, 0);

	if (result < 0) {
		say("LNetPut", result);
		return;
	}
	do {
		must(LNetEQWait(eq, &event), "LNetEQWait");
		if (event.status != 0)
			say(NULL, event.status);
	} while (!event.unlinked);
}

static void a_nid_with_a_typo(void)
{
	put("10.0.0.1@tpc", PORTAL, start(16));
}

static void a_nid_of_another_net(void)
{
	put("10.0.0.1@tcp7", PORTAL, start(16));
}

static void an_absent_peer(void)
{
	put("127.0.1.9@tcp", PORTAL, start(16));
}

static void no_network(void)
{
	struct lnet_process_id own;

	start(16);
	say("LNetGetId", LNetGetId(1, &own));
}

static void a_portal_out_of_range(void)
{
	put("0@lo", 64, start(16));
}

static void a_portal_where_nobody_listens(void)
{
	put("0@lo", PORTAL + 1, start(16));
}

/* Sends more messages than the queue has places. */
static void send_many(struct lnet_handle_eq eq)
{
	struct lnet_process_id self = { libcfs_str2nid("0@lo"), LNET_PID_LUSTRE };

	for (int i = 0; i < 8; i++)
		must(LNetPut(LNET_NID_ANY, bind(eq, 1), LNET_NOACK_REQ, self, PORTAL, BITS, 0, 0), "LNetPut");
}

static void a_forgotten_poll(void)
{
	struct lnet_handle_eq eq = start(4);

	receive(eq, sizeof(received));
	send_many(eq);
	say("LNetEQFree", LNetEQFree(eq));
}

static void a_small_queue(void)
{
	struct lnet_handle_eq eq = start(4);
	struct lnet_event event;

	receive(eq, sizeof(received));
	send_many(eq);
	say("LNetEQGet", LNetEQGet(eq, &event));
}

static void a_small_descriptor(void)
{
	struct lnet_handle_eq eq = start(16);

	receive(eq, 8);
	put("0@lo", PORTAL, eq);
}

static void a_double_unlink(void)
{
	struct lnet_handle_md md = receive(start(16), 8);

	must(LNetMDUnlink(md), "LNetMDUnlink");
	say("LNetMDUnlink", LNetMDUnlink(md));
}

static void a_call_before_init(void)
{
	struct lnet_process_id anyone = { LNET_NID_ANY, LNET_PID_ANY };
	struct lnet_handle_me me;

	say("LNetMEAttach", LNetMEAttach(PORTAL, anyone, BITS, 0, LNET_RETAIN, LNET_INS_AFTER, &me));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(void);
	} mistakes[] = {
		{ "a NID with a typo", a_nid_with_a_typo },
		{ "a NID of another net", a_nid_of_another_net },
		{ "an absent peer", an_absent_peer },
		{ "no network", no_network },
		{ "a portal out of range", a_portal_out_of_range },
		{ "a portal where nobody listens", a_portal_where_nobody_listens },
		{ "a forgotten poll", a_forgotten_poll },
		{ "a small queue", a_small_queue },
		{ "a small descriptor", a_small_descriptor },
		{ "a double unlink", a_double_unlink },
		{ "a call before LNetNIInit", a_call_before_init },
	};

	for (size_t i = 0; argc == 2 && i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		if (strcmp(argv[1], mistakes[i].name) == 0) {
			mistakes[i].make();
			LNetNIFini();
			return 0;
		}
	}
	fprintf(stderr, "usage: ten_mistakes MISTAKE\n");
	return 2;
}
