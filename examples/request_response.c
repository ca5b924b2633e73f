/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Request and response, with event handlers.
 *
 *   cc request_response.c $(pkg-config --cflags --libs lnet) -pthread -o request_response
 *   export LNET_ACCEPT=all LNET_ACCEPT_PORT=9988
 *   LNET_NETWORKS='tcp(127.0.1.2)' ./request_response serve &
 *   LNET_NETWORKS='tcp(127.0.1.1)' ./request_response ask 127.0.1.2@tcp hello
 *
 * A handler is called with each event of a queue, on a thread of the library. It must not call LNet. So the handlers
 * here only note what has happened, and wake the thread that acts on it. robust_server.c serves the same requests, and
 * survives all that this server does not. */
#include "first.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

enum { SLOTS = 8, RESPONSE_TIMEOUT_S = 20 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct lnet_handle_eq eq;

/* ---- the server ---- */

/* One request at a time: first it is received into the slot, then the response is sent from there. */
struct slot {
	char text[MAX_TEXT];
	unsigned int length;
	struct lnet_process_id client;
	__u64 response_bits;
	bool has_request;
};
static struct slot slots[SLOTS];

/* The slots that the serving thread must look at: those whose MD, one at a time, has had its last event. */
static struct slot *queue[SLOTS];
static unsigned int queued, taken;

static void on_server_event(struct lnet_event *event)
{
	struct slot *slot = event->md.user_ptr;

	pthread_mutex_lock(&mutex);
	slot->has_request = event->type == LNET_EVENT_PUT && event->status == 0;
	if (slot->has_request) {
		slot->length = event->mlength;
		slot->client = event->source; /* The interface that has sent the request. */
		slot->response_bits = event->hdr_data;
	}
	if (event->unlinked)
		queue[queued++ % SLOTS] = slot;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
}

static struct slot *next_slot(void)
{
	struct slot *slot;

	pthread_mutex_lock(&mutex);
	while (queued == taken)
		pthread_cond_wait(&changed, &mutex);
	slot = queue[taken++ % SLOTS];
	pthread_mutex_unlock(&mutex);
	return slot;
}

static void offer(struct slot *slot)
{
	attach(REQUEST_PORTAL, REQUEST_BITS, describe(slot->text, MAX_TEXT, 1, LNET_MD_OP_PUT, eq, slot));
}

static void serve(void)
{
	struct lnet_process_id self;
	unsigned int i;

	start_node(&self);
	must(LNetEQAlloc(0, on_server_event, &eq), "LNetEQAlloc");
	/* Requests that come while all slots are in use wait; otherwise LNet would drop them. */
	must(LNetSetLazyPortal(REQUEST_PORTAL), "LNetSetLazyPortal");
	for (i = 0; i < SLOTS; i++)
		offer(&slots[i]);
	printf("%s is ready\n", libcfs_nid2str(self.nid));
	fflush(stdout);
	for (;;) {
		struct slot *slot = next_slot();

		if (slot->has_request) {
			serve_text(slot->text, slot->length);
			put(describe(slot->text, slot->length, 1, 0, eq, slot), slot->client, RESPONSE_PORTAL, slot->response_bits, 0);
		} else {
			offer(slot); /* The response has left. */
		}
	}
}

/* ---- the client ---- */

static char response[MAX_TEXT];
static bool is_done;
static int result;

/* Ends the wait when the response has come, or when the request could not be sent. */
static void on_client_event(struct lnet_event *event)
{
	pthread_mutex_lock(&mutex);
	if (event->type == LNET_EVENT_PUT || event->status != 0) {
		is_done = true;
		result = event->status != 0 ? event->status : (int)event->mlength;
		pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&mutex);
}

static int ask(struct lnet_process_id server, char *text)
{
	struct lnet_process_id self;
	struct timespec now;
	__u64 bits;
	int waited = 0;

	start_node(&self);
	must(LNetEQAlloc(0, on_client_event, &eq), "LNetEQAlloc");
	/* Different for each request: a late response to another one matches nothing, and is dropped. */
	clock_gettime(CLOCK_REALTIME, &now);
	bits = (__u64)now.tv_sec * 1000000000 + (__u64)now.tv_nsec;
	/* The memory for the response is there before the request leaves. */
	attach(RESPONSE_PORTAL, bits, describe(response, MAX_TEXT, 1, LNET_MD_OP_PUT, eq, NULL));
	put(describe(text, strlen(text), 1, 0, eq, NULL), server, REQUEST_PORTAL, REQUEST_BITS, bits);
	now.tv_sec += RESPONSE_TIMEOUT_S;
	pthread_mutex_lock(&mutex);
	while (!is_done && waited == 0)
		waited = pthread_cond_timedwait(&changed, &mutex, &now);
	pthread_mutex_unlock(&mutex);
	must(is_done ? result : -ETIMEDOUT, "no response");
	printf("%.*s\n", result, response);
	return LNetNIFini();
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "serve") == 0)
		serve();
	if (argc == 4 && strcmp(argv[1], "ask") == 0)
		return ask(address_of(argv[2]), argv[3]);
	fprintf(stderr, "usage: request_response serve | request_response ask NID TEXT\n");
	return 2;
}
