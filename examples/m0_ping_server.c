/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The server of m0_ping. Callbacks only queue the requests; one thread executes them when buffers are free. Unless
 * the server is asynchronous, that thread also delivers the events, and waits for events and buffers on one channel. */
#include "m0_ping.h"
#include <lib/list.h>

/* A message that needs a reply. */
struct request {
	struct m0_list_link link;
	char kind;
	/* The end point for the reply, with a reference; only for texts. */
	struct m0_net_end_point *from;
	/* The text or the descriptor, in data. */
	uint32_t length, bulk;
	unsigned char data[];
};

struct buffer {
	struct m0_net_buffer nb;
	struct m0_list_link link;
	void *data;
	struct request *request;
};

struct server {
	struct m0_net_domain dom;
	struct m0_net_transfer_mc tm;
	struct settings settings;
	/* Guards the following fields. */
	struct m0_mutex lock;
	struct m0_cond changed;
	struct m0_list requests, free;
	bool ended, stopping;
	struct served served;

	unsigned int receiving, idle;
	struct buffer *buffers;
};

static struct server *server_of(const struct m0_net_buffer_event *ev)
{
	return container_of(ev->nbe_buffer->nb_tm, struct server, tm);
}

/* ---- messages ---- */

/* The number in a NUL-terminated text of eight digits; -EPROTO if it is none. */
static long number_of(const unsigned char *text)
{
	long number = 0;

	for (int i = 0; i < DIGITS - 1; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EPROTO;
		number = number * 10 + text[i] - '0';
	}
	return text[DIGITS - 1] == '\0' ? number : -EPROTO;
}

/* Reads a message. NULL: the message has another format. */
static struct request *parse(const unsigned char *message, size_t length, struct m0_net_end_point *from)
{
	struct request *request;
	long payload = (long)length - 1, bulk = 0;
	const unsigned char *data = message + 1;

	if (length < 1)
		return NULL;
	if (message[0] == 's' || message[0] == 'r') {
		if (length < OFFER_HEADER)
			return NULL;
		payload = number_of(message + 1);
		bulk = number_of(message + 1 + DIGITS);
		data = message + OFFER_HEADER;
		if (payload < 1 || bulk < 0 || payload != (long)length - OFFER_HEADER)
			return NULL;
	} else if (message[0] != 'm') {
		return NULL;
	}
	request = m0_alloc(sizeof(*request) + (size_t)payload);
	if (request == NULL)
		return NULL;
	request->kind = (char)message[0];
	request->length = (uint32_t)payload;
	request->bulk = (uint32_t)bulk;
	memcpy(request->data, data, (size_t)payload);
	if (message[0] == 'm') {
		m0_net_end_point_get(from);
		request->from = from;
	}
	return request;
}

static void free_request(struct request *request)
{
	if (request->from != NULL)
		m0_net_end_point_put(request->from);
	m0_free(request);
}

static int receive_messages(struct server *server, struct buffer *buffer)
{
	struct m0_net_buffer *nb = &buffer->nb;

	nb->nb_qtype = M0_NET_QT_MSG_RECV;
	nb->nb_min_receive_size = server->settings.message;
	nb->nb_max_receive_msgs = (uint32_t)(m0_vec_count(&nb->nb_buffer.ov_vec) / 100);
	return m0_net_buffer_add(nb, &server->tm);
}

static void on_message(const struct m0_net_buffer_event *ev)
{
	struct server *server = server_of(ev);
	struct buffer *buffer = container_of(ev->nbe_buffer, struct buffer, nb);
	bool queued = (ev->nbe_buffer->nb_flags & M0_NET_BUF_QUEUED) != 0;
	struct request *request = NULL;

	if (ev->nbe_status == 0)
		request = parse((unsigned char *)buffer->data + ev->nbe_offset, ev->nbe_length, ev->nbe_ep);
	m0_mutex_lock(&server->lock);
	if (request != NULL)
		m0_list_add_tail(&server->requests, &request->link);
	else if (ev->nbe_status == 0)
		server->served.wrong++;
	m0_mutex_unlock(&server->lock);
	if (!queued && (server->stopping || receive_messages(server, buffer) != 0))
		queued = false;
	else
		queued = true;
	m0_mutex_lock(&server->lock);
	server->idle += !queued;
	m0_cond_signal(&server->changed);
	m0_mutex_unlock(&server->lock);
}

/* ---- answers ---- */

/* Handles the end of a sent message or of a transfer. */
static void on_answer(const struct m0_net_buffer_event *ev)
{
	struct server *server = server_of(ev);
	struct buffer *buffer = container_of(ev->nbe_buffer, struct buffer, nb);
	bool wrong = false;

	if (ev->nbe_status == 0 && buffer->request->kind == 's')
		wrong = ev->nbe_length != buffer->request->bulk || !is_right(buffer->data, ev->nbe_length);
	if (wrong)
		fprintf(stderr, "m0_ping: server: data of %llu bytes is wrong\n", (unsigned long long)ev->nbe_length);
	m0_mutex_lock(&server->lock);
	server->served.wrong += wrong;
	if (ev->nbe_status != 0)
		server->served.failed++;
	else if (buffer->request->kind == 'm')
		server->served.texts++;
	else if (buffer->request->kind == 's')
		server->served.received++;
	else
		server->served.sent++;
	m0_mutex_unlock(&server->lock);

	buffer->nb.nb_ep = NULL;
	m0_net_desc_free(&buffer->nb.nb_desc);
	free_request(buffer->request);
	buffer->request = NULL;
	m0_mutex_lock(&server->lock);
	m0_list_add_tail(&server->free, &buffer->link);
	m0_cond_signal(&server->changed);
	m0_mutex_unlock(&server->lock);
}

static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = on_message,
		    [M0_NET_QT_MSG_SEND] = on_answer,
		    [M0_NET_QT_ACTIVE_BULK_RECV] = on_answer,
		    [M0_NET_QT_ACTIVE_BULK_SEND] = on_answer },
};

static int answer(struct server *server, struct buffer *buffer, struct request *request)
{
	struct m0_net_buf_desc desc = { request->length, request->data };
	struct m0_net_buffer *nb = &buffer->nb;
	size_t room = m0_vec_count(&nb->nb_buffer.ov_vec);
	static uint64_t seed;
	int rc = 0;

	buffer->request = request;
	nb->nb_timeout = m0_time_from_now(request->kind == 'm' ? MESSAGE_SECONDS : BULK_SECONDS, 0);
	if (request->kind == 'm') {
		static const char pong[] = " pong";

		if (request->length + 1 + sizeof(pong) > room)
			return -EFBIG;
		*(char *)buffer->data = 'm';
		memcpy((char *)buffer->data + 1, request->data, request->length);
		memcpy((char *)buffer->data + 1 + request->length, pong, sizeof(pong) - 1);
		nb->nb_qtype = M0_NET_QT_MSG_SEND;
		nb->nb_ep = request->from;
		nb->nb_length = 1 + request->length + sizeof(pong) - 1;
	} else {
		if (request->bulk > room || request->bulk == 0)
			return -EFBIG;
		nb->nb_qtype = request->kind == 's' ? M0_NET_QT_ACTIVE_BULK_RECV : M0_NET_QT_ACTIVE_BULK_SEND;
		nb->nb_length = request->bulk;
		if (request->kind == 'r')
			make_data(buffer->data, request->bulk, ++seed);
		rc = m0_net_desc_copy(&desc, &nb->nb_desc);
	}
	return rc != 0 ? rc : m0_net_buffer_add(nb, &server->tm);
}

/* Takes a request and a free buffer, with the lock held. False: there is no request, or no free buffer. */
static bool take(struct server *server, struct request **request, struct buffer **buffer)
{
	if (m0_list_is_empty(&server->requests) || m0_list_is_empty(&server->free))
		return false;
	*request = m0_list_entry(m0_list_first(&server->requests), struct request, link);
	*buffer = m0_list_entry(m0_list_first(&server->free), struct buffer, link);
	m0_list_del(&(*request)->link);
	m0_list_del(&(*buffer)->link);
	return true;
}

static void carry_out(struct server *server)
{
	struct request *request;
	struct buffer *buffer;
	int rc;

	m0_mutex_lock(&server->lock);
	while (take(server, &request, &buffer)) {
		m0_mutex_unlock(&server->lock);
		rc = answer(server, buffer, request);
		m0_mutex_lock(&server->lock);
		if (rc == 0)
			continue;
		server->served.failed++;
		m0_list_add_tail(&server->free, &buffer->link);
		m0_mutex_unlock(&server->lock);
		buffer->nb.nb_ep = NULL;
		buffer->nb.nb_timeout = M0_TIME_NEVER;
		m0_net_desc_free(&buffer->nb.nb_desc);
		free_request(request);
		m0_mutex_lock(&server->lock);
	}
	m0_mutex_unlock(&server->lock);
}

static bool events_to_deliver(struct server *server)
{
	return !server->settings.asynchronous && m0_net_buffer_event_pending(&server->tm);
}

/* Waits until there are events, or until `done` returns true with the lock held. */
static void wait_for_something(struct server *server, bool (*done)(struct server *server))
{
	m0_mutex_lock(&server->lock);
	while (!done(server) && !events_to_deliver(server)) {
		if (!server->settings.asynchronous)
			m0_net_buffer_event_notify(&server->tm, &server->changed.c_chan);
		m0_cond_wait(&server->changed);
	}
	m0_mutex_unlock(&server->lock);
	if (events_to_deliver(server))
		m0_net_buffer_event_deliver_all(&server->tm);
}

static bool something_to_do(struct server *server)
{
	return server->ended || (!m0_list_is_empty(&server->requests) && !m0_list_is_empty(&server->free));
}

void server_run(struct server *server)
{
	while (!server->ended) {
		wait_for_something(server, something_to_do);
		carry_out(server);
	}
}

void server_end(struct server *server)
{
	m0_mutex_lock(&server->lock);
	server->ended = true;
	m0_cond_signal(&server->changed);
	m0_mutex_unlock(&server->lock);
}

/* ---- start and stop ---- */

const char *server_address(const struct server *server)
{
	return server->tm.ntm_ep->nep_addr;
}

struct server *server_start(const struct settings *settings)
{
	char nid[M0_NET_LNET_XEP_ADDR_LEN], addr[M0_NET_LNET_XEP_ADDR_LEN];
	struct server *server;
	size_t room = settings->message + 8 > settings->bulk ? settings->message + 8 : settings->bulk;

	must(M0_ALLOC_PTR(server) == NULL ? -ENOMEM : 0, "server");
	server->settings = *settings;
	m0_mutex_init(&server->lock);
	m0_cond_init(&server->changed, &server->lock);
	m0_list_init(&server->requests);
	m0_list_init(&server->free);
	must(m0_net_domain_init(&server->dom, &m0_net_lnet_xprt), "m0_net_domain_init");
	server->tm.ntm_callbacks = &tm_callbacks;
	must(m0_net_tm_init(&server->tm, &server->dom), "m0_net_tm_init");
	if (!settings->asynchronous)
		must(m0_net_buffer_event_deliver_synchronously(&server->tm), "synchronous delivery");
	find_nid(&server->dom, nid, sizeof(nid));
	snprintf(addr, sizeof(addr), "%s:%d:%u:%u", settings->nid != NULL ? settings->nid : nid, M0_NET_LNET_PID,
		 settings->portal, settings->tmid);
	start_and_wait(&server->tm, addr);

	server->receiving = settings->buffers / 8 > 2 ? settings->buffers / 8 : 2;
	must(M0_ALLOC_ARR(server->buffers, settings->buffers) == NULL ? -ENOMEM : 0, "buffers");
	for (unsigned int i = 0; i < settings->buffers; i++) {
		struct buffer *buffer = &server->buffers[i];

		buffer->data = new_buffer(&buffer->nb, &server->dom, room, &callbacks);
		if (i < server->receiving)
			must(receive_messages(server, buffer), "receiving messages");
		else
			m0_list_add_tail(&server->free, &buffer->link);
	}
	return server;
}

/* Whether no buffer is queued any more. Called with the lock held. */
static bool is_idle(struct server *server)
{
	return server->idle == server->receiving &&
	       m0_list_length(&server->free) == server->settings.buffers - server->receiving;
}

struct served server_stop(struct server *server)
{
	struct request *request;
	struct served served;
	bool idle;

	m0_mutex_lock(&server->lock);
	server->stopping = true;
	m0_mutex_unlock(&server->lock);
	for (unsigned int i = 0; i < server->settings.buffers; i++)
		m0_net_buffer_del(&server->buffers[i].nb, &server->tm);
	do {
		wait_for_something(server, is_idle);
		m0_mutex_lock(&server->lock);
		idle = is_idle(server);
		m0_mutex_unlock(&server->lock);
	} while (!idle);
	m0_list_for_each_entry(&server->requests, request, struct request, link) {
		m0_list_del(&request->link);
		free_request(request);
	}
	stop_and_wait(&server->tm);
	m0_net_tm_fini(&server->tm);
	for (unsigned int i = 0; i < server->settings.buffers; i++)
		free_buffer(&server->buffers[i].nb, &server->dom);
	m0_net_domain_fini(&server->dom);
	m0_cond_fini(&server->changed);
	m0_mutex_fini(&server->lock);
	served = server->served;
	m0_free(server->buffers);
	m0_free(server);
	return served;
}
