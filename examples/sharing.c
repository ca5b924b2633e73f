/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two programs that share one node: neither has an address of its own, and no message between them touches a socket.
 *
 *   cc sharing.c $(pkg-config --cflags --libs lnet) -o sharing
 *   LNET_NETWORKS='tcp(127.0.1.9)' lnetd --node host --from-environment &
 *   LNET_ATTACH=host ./sharing serve &
 *   LNET_ATTACH=host ./sharing send 127.0.1.9@tcp hello
 *
 *   serve            prints the texts that it gets, until it is ended
 *   send NID TEXT    sends a text; prints whether a program took it; fails if none did
 *
 * Nothing here says that the node is another process's: LNET_ATTACH does. The memory is from LNetMemAlloc, so that this process and the
 * node's access the same bytes; other memory would be copied once more. */
#include "first.h"

enum { PORTAL = 20, MATCH_BITS = 7, LONGEST = 4096, TIMEOUT_MS = 2000 };

static char *memory;
static struct lnet_handle_eq events;

static void serve(void)
{
	const unsigned int options = LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE | LNET_MD_TRUNCATE;
	struct lnet_event event;

	attach(PORTAL, MATCH_BITS, describe(memory, LONGEST, LNET_MD_THRESH_INF, options, events, NULL));
	puts("serving");
	fflush(stdout);
	for (;;) {
		must(LNetEQWait(events, &event), "LNetEQWait");
		if (event.type == LNET_EVENT_PUT && event.status == 0) {
			printf("got \"%.*s\" from the program with PID %u\n", (int)event.mlength, memory, event.initiator.pid);
			fflush(stdout);
		}
	}
}

static int send_text(const char *nid, const char *text)
{
	struct lnet_process_id target = address_of(nid);
	struct lnet_handle_md handle;
	struct lnet_event event;
	int which;

	must(strlen(text) > LONGEST ? -E2BIG : 0, "the text");
	strcpy(memory, text);
	must(LNetMDBind(describe(memory, strlen(text), 2, 0, events, NULL), LNET_UNLINK, &handle), "LNetMDBind");
	must(LNetPut(LNET_NID_ANY, handle, LNET_ACK_REQ, target, PORTAL, MATCH_BITS, 0, 0), "LNetPut");
	while (LNetEQPoll(&events, 1, TIMEOUT_MS, &event, &which) == 1) {
		if (event.status != 0) {
			printf("not sent: %s\n", strerror(-event.status));
			return 1;
		}
		if (event.type == LNET_EVENT_ACK) {
			printf("a program took \"%s\"\n", text);
			return 0;
		}
	}
	puts("no program took it");
	return 1;
}

int main(int argc, char **argv)
{
	int result = 0;

	if (!(argc == 2 && !strcmp(argv[1], "serve")) && !(argc == 4 && !strcmp(argv[1], "send"))) {
		fprintf(stderr, "usage: sharing serve | sharing send NID TEXT\n");
		return 2;
	}
	must(LNetNIInit(LNET_PID_LUSTRE), "LNetNIInit");
	memory = LNetMemAlloc(LONGEST + 1);
	must(memory ? 0 : -ENOMEM, "LNetMemAlloc");
	must(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &events), "LNetEQAlloc");
	if (argc == 2)
		serve();
	else
		result = send_text(argv[2], argv[3]);
	LNetNIFini();
	LNetMemFree(memory);
	return result;
}
