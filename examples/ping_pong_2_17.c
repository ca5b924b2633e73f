/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ping_pong.c with the API of Lustre 2.17: NIDs with 4-byte and 16-byte addresses, handlers in place of event queues.
 *
 *   cc ping_pong_2_17.c $(pkg-config --cflags --libs lnet) -o ping_pong_2_17
 *   export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
 *   LNET_NETWORKS='tcp(127.0.1.2)' ./ping_pong_2_17 &
 *   LNET_NETWORKS='tcp(127.0.1.1)' ./ping_pong_2_17 127.0.1.2@tcp       (when the first has printed that it is waiting)
 *
 * Either program exchanges messages with ping_pong.c, too. */
#define LNET_API 0x21100 /* as the compiler's option -DLNET_API=0x21100 does */
#include <libcfs/linux_compat.h>
#include <lnet/api.h>
#include <lnet/lnet.h>

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORTAL = 10, MATCH_BITS = 42 };

/* The memory of one message, and what its events have said. */
struct message {
	char text[64];
	int status, taken;
	struct lnet_processid sender;
	sem_t over;
};

/* Ends the program if result is an error. Every function of LNet reports errors as a negative errno. */
static void must(long result, const char *what)
{
	if (result < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror((int)-result));
		exit(1);
	}
}

/* Is called for each event of the message's memory descriptor, on a thread of the library: it keeps what there is to keep,
 * and leaves the rest to the program. */
static void on_event(struct lnet_event *event)
{
	struct message *message = event->md_user_ptr;

	if (event->status < 0)
		message->status = event->status;
	if (event->type == LNET_EVENT_PUT || event->type == LNET_EVENT_ACK)
		message->taken = (int)event->mlength;
	if (event->type == LNET_EVENT_PUT)
		message->sender = event->source;
	/* The last event: the memory is the program's again. */
	if (event->unlinked)
		sem_post(&message->over);
}

int main(int argc, char **argv)
{
	struct message message = { .taken = -ETIMEDOUT };
	struct lnet_md md = {
		.umd_start = message.text,
		.umd_length = sizeof(message.text),
		.umd_user_ptr = &message,
		.umd_handler = on_event,
	};
	struct lnet_processid self;
	struct lnet_handle_md handle;

	sem_init(&message.over, 0, 0);
	/* Starts the node with the networks that the environment names. */
	must(LNetNIInit(LNET_PID_LUSTRE), "LNetNIInit");
	/* Interface 0 is the loopback. true: interfaces with 16-byte addresses count. */
	must(LNetGetId(1, &self, true), "no network (is LNET_NETWORKS set?)");

	if (argc < 2) {
		/* Any node may put one message to the portal; after that the ME and the MD are unlinked. */
		struct lnet_processid anyone = { .pid = LNET_PID_ANY };
		struct lnet_me *me;

		lnet_nid4_to_nid(LNET_NID_ANY, &anyone.nid);
		me = LNetMEAttach(PORTAL, &anyone, MATCH_BITS, 0, LNET_UNLINK, LNET_INS_AFTER);
		must(IS_ERR(me) ? PTR_ERR(me) : 0, "LNetMEAttach");
		md.umd_threshold = 1;
		md.umd_options = LNET_MD_OP_PUT;
		must(LNetMDAttach(me, &md, LNET_UNLINK, &handle), "LNetMDAttach");
		/* Messages that arrive before this point match no ME and are dropped. */
		printf("%s is waiting\n", libcfs_nidstr(&self.nid));
		fflush(stdout);
		sem_wait(&message.over);
		must(message.status, "receiving");
		printf("%d bytes from %s: %s\n", message.taken, libcfs_nidstr(&message.sender.nid), message.text);
	} else {
		struct lnet_processid target = { .pid = LNET_PID_LUSTRE };

		must(libcfs_strnid(&target.nid, argv[1]), argv[1]);
		/* The threshold is 2: the message is sent, and the acknowledgement arrives. */
		strcpy(message.text, "hello from user space");
		md.umd_threshold = 2;
		must(LNetMDBind(&md, LNET_UNLINK, &handle), "LNetMDBind");
		/* NULL: LNet chooses the interface. */
		must(LNetPut(NULL, handle, LNET_ACK_REQ, &target, PORTAL, MATCH_BITS, 0, 0), "LNetPut");
		sem_wait(&message.over);
		must(message.status, "the PUT");
		/* A peer at which no ME matches the message drops it silently. The MD is then unlinked, without an
		 * ACK, after the transaction timeout. */
		must(message.taken, "waiting for the ACK");
		printf("%s has taken %d bytes\n", argv[1], message.taken);
	}

	/* Stops the node when the last reference is dropped. */
	LNetNIFini();
	return 0;
}
