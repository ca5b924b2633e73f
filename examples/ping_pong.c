/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The smallest complete LNet program: one node waits for a message, another sends one.
 *
 *   cc ping_pong.c $(pkg-config --cflags --libs lnet) -o ping_pong
 *   export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
 *   LNET_NETWORKS='tcp(127.0.1.2)' ./ping_pong &
 *   LNET_NETWORKS='tcp(127.0.1.1)' ./ping_pong 127.0.1.2@tcp       (when the first has printed that it is waiting)
 *
 * Terms: a NID (127.0.1.2@tcp) is the address of a node's interface. A portal is a numbered list of
 * match entries. A match entry (ME) selects the messages that may arrive; a memory descriptor (MD) describes
 * the memory that they are written to or read from; an event queue (EQ) contains the events of MDs. */
#include <lnet/api.h>
#include <lnet/lnet.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORTAL = 10, MATCH_BITS = 42 };

/* Ends the program if result is an error. Every function of LNet reports errors as a negative errno. */
static void must(int result, const char *what)
{
	if (result < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(-result));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	char memory[64] = "";
	struct lnet_handle_eq eq;
	struct lnet_handle_me me;
	struct lnet_handle_md handle;
	struct lnet_event event;
	struct lnet_process_id self;
	struct lnet_md md;
	int taken = -ETIMEDOUT;

	/* Starts the node with the networks that the environment names. */
	must(LNetNIInit(LNET_PID_LUSTRE), "LNetNIInit");
	/* Interface 0 is the loopback, so the first one that other nodes can reach is interface 1. */
	must(LNetGetId(1, &self), "no network (is LNET_NETWORKS set?)");

	/* Allocates a queue that keeps up to 16 events until they are fetched. */
	must(LNetEQAlloc(16, LNET_EQ_HANDLER_NONE, &eq), "LNetEQAlloc");

	/* Describes the memory for one message, received or sent, whose events go to that queue. */
	memset(&md, 0, sizeof(md));
	md.start = memory;
	md.length = sizeof(memory);
	md.eq_handle = eq;

	if (argc < 2) {
		/* Any node may put one message to the portal; after that the ME and the MD are unlinked. */
		struct lnet_process_id anyone = { LNET_NID_ANY, LNET_PID_ANY };

		must(LNetMEAttach(PORTAL, anyone, MATCH_BITS, 0, LNET_UNLINK, LNET_INS_AFTER, &me), "LNetMEAttach");
		md.threshold = 1;
		md.options = LNET_MD_OP_PUT;
		must(LNetMDAttach(me, md, LNET_UNLINK, &handle), "LNetMDAttach");
		/* Messages that arrive before this point match no ME and are dropped. */
		printf("%s is waiting\n", libcfs_nid2str(self.nid));
		fflush(stdout);
		must(LNetEQWait(eq, &event), "LNetEQWait");
		must(event.status, "receiving");
		printf("%u bytes from %s: %s\n", event.mlength, libcfs_nid2str(event.source.nid), memory);
	} else {
		struct lnet_process_id target = { libcfs_str2nid(argv[1]), LNET_PID_LUSTRE };

		if (target.nid == LNET_NID_ANY)
			must(-EINVAL, argv[1]);
		/* The threshold is 2: the message is sent, and the acknowledgement arrives. */
		strcpy(memory, "hello from user space");
		md.threshold = 2;
		must(LNetMDBind(md, LNET_UNLINK, &handle), "LNetMDBind");
		must(LNetPut(LNET_NID_ANY, handle, LNET_ACK_REQ, target, PORTAL, MATCH_BITS, 0, 0), "LNetPut");
		do {
			must(LNetEQWait(eq, &event), "LNetEQWait");
			must(event.status, "the PUT");
			if (event.type == LNET_EVENT_ACK)
				taken = (int)event.mlength;
		} while (!event.unlinked);
		/* A peer at which no ME matches the message drops it silently. The MD is then unlinked, without an
		 * ACK, after the transaction timeout. */
		must(taken, "waiting for the ACK");
		printf("%s has taken %d bytes\n", argv[1], taken);
	}

	/* Stops the node when the last reference is dropped. */
	LNetNIFini();
	return 0;
}
