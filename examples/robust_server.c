/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A server that survives its clients, and ends cleanly. request_response is its client:
 *
 *   cc robust_server.c $(pkg-config --cflags --libs lnet) -o robust_server
 *   export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
 *   LNET_NETWORKS='tcp(127.0.1.2)' ./robust_server &
 *   LNET_NETWORKS='tcp(127.0.1.1)' ./request_response ask 127.0.1.2@tcp hello
 *
 * what happens                         what the server does
 * a request is empty or too long       responds with an error: LNET_MD_TRUNCATE delivers also what is too long
 * a request names no response          counts it
 * more requests than slots             the lazy portal keeps them until a slot is free
 * a client is gone before its response counts it by the status of SEND; asks for no ACK, which would keep the slot
 * a client starts again                nothing: a response has the match bits of its request, which nobody else awaits
 * a message breaks off                 its event has a status; the slot is free again
 * the event queue                      cannot be full: it has room for all events that the slots can have
 * a call of LNet fails                 ends with a message: without memory or network whoever starts it has to know
 * SIGTERM, SIGINT                      finishes the requests that it has, and takes back all memory */
#include "first.h"

#include <signal.h>
#include <stdbool.h>

enum { SLOTS = 4, POLL_MS = 100, EVENTS_OF_A_SLOT = 2 };

struct slot {
	char text[MAX_TEXT];
	struct lnet_handle_md md;
	/* LNet may use the slot's memory. */
	bool is_in_use;
	/* It does so for a request, and not for a response. */
	bool is_offered;
};

static struct slot slots[SLOTS];
static struct lnet_handle_eq eq;
static unsigned int in_use, served, bad, not_delivered;
static volatile sig_atomic_t is_ended;

static void on_signal(int signal)
{
	(void)signal;
	is_ended = 1;
}

static void offer(struct slot *slot)
{
	const unsigned int options = LNET_MD_OP_PUT | LNET_MD_TRUNCATE;

	slot->is_in_use = slot->is_offered = true;
	in_use++;
	slot->md = attach(REQUEST_PORTAL, REQUEST_BITS, describe(slot->text, MAX_TEXT, 1, options, eq, slot));
}

static void respond(struct slot *slot, const struct lnet_event *request)
{
	unsigned int length = request->mlength;
	const char *error = length == 0 ? "error: empty request" : request->rlength > length ? "error: too long" : NULL;

	if (error) {
		bad++;
		length = strlen(error);
		memcpy(slot->text, error, length);
	} else {
		served++;
		serve_text(slot->text, length);
	}
	slot->is_in_use = true;
	slot->is_offered = false;
	in_use++;
	put(describe(slot->text, length, 1, 0, eq, slot), request->source, RESPONSE_PORTAL, request->hdr_data, 0);
}

static void on_event(const struct lnet_event *event)
{
	struct slot *slot = event->md.user_ptr;

	if (event->type == LNET_EVENT_SEND && event->status != 0)
		not_delivered++;
	if (!event->unlinked)
		return;
	slot->is_in_use = false;
	in_use--;
	if (event->type == LNET_EVENT_PUT && event->status == 0) {
		if (event->hdr_data != 0)
			return respond(slot, event);
		bad++;
	}
	if (!is_ended)
		offer(slot);
}

/* Handles the next event, if one comes soon. */
static void poll_once(void)
{
	struct lnet_event event;
	int which, got = LNetEQPoll(&eq, 1, POLL_MS, &event, &which);

	must(got, "LNetEQPoll");
	if (got == 1)
		on_event(&event);
}

int main(void)
{
	struct sigaction action;
	struct lnet_process_id self;
	unsigned int i;

	start_node(&self);
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	must(LNetEQAlloc(SLOTS * EVENTS_OF_A_SLOT, LNET_EQ_HANDLER_NONE, &eq), "LNetEQAlloc");
	must(LNetSetLazyPortal(REQUEST_PORTAL), "LNetSetLazyPortal");
	for (i = 0; i < SLOTS; i++)
		offer(&slots[i]);
	printf("%s is ready\n", libcfs_nid2str(self.nid));
	fflush(stdout);
	while (!is_ended)
		poll_once();

	/* The requests that wait are dropped, and further ones match nothing. */
	must(LNetClearLazyPortal(REQUEST_PORTAL), "LNetClearLazyPortal");
	/* -ENOENT: a request has just come, whose event takes the slot back. */
	for (i = 0; i < SLOTS; i++)
		if (slots[i].is_in_use && slots[i].is_offered)
			LNetMDUnlink(slots[i].md);
	/* A response to a client that is gone ends with an error in the end, and so does this loop. */
	while (in_use > 0)
		poll_once();
	/* Not -EBUSY: no MD is left that uses the queue. */
	must(LNetEQFree(eq), "LNetEQFree");
	must(LNetNIFini(), "LNetNIFini");
	printf("served %u, bad %u, not delivered %u; all memory is back\n", served, bad, not_delivered);
	return 0;
}
