/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The clients of m0_ping: threads, each with a domain and a transfer machine that has a dynamic address. A loop
 * consists of a text that comes back, a passive receive and a passive send. Operations without a reply in time are
 * repeated until LIMIT_SECONDS are over. */
#include "m0_ping.h"
#include <lib/arith.h>

/* The time for a loop, and a shorter one after the program was told to end. */
enum { LIMIT_SECONDS = 120, LIMIT_AT_THE_END = 20 };
enum { SEND, RECV, BULK, BUFFERS };

struct client;

struct client_buffer {
	struct m0_net_buffer nb;
	struct client *client;
	void *data;
	/* Whether the operation has ended, and its result. */
	bool done;
	int32_t status;
	m0_bcount_t length;
};

struct client {
	const struct settings *settings;
	const volatile sig_atomic_t *ended;
	struct m0_thread thread;
	struct m0_net_domain dom;
	struct m0_net_transfer_mc tm;
	struct m0_net_end_point *server;
	struct client_buffer buffers[BUFFERS];
	/* Guards the following fields, and `done` of the buffers. */
	struct m0_mutex lock;
	struct m0_cond changed;
	bool stopping;
	/* The number of the last text sent, and that of the last text that came back. */
	uint32_t asked, answered;
	unsigned long long done, again, failed, wrong, in_second;
	m0_time_t longest, begun;
	struct m0_net_qstats stats[M0_NET_QT_NR];
};

/* ---- events ---- */

static int receive_answers(struct client *client)
{
	struct m0_net_buffer *nb = &client->buffers[RECV].nb;

	nb->nb_qtype = M0_NET_QT_MSG_RECV;
	nb->nb_min_receive_size = client->settings->message + 8;
	nb->nb_max_receive_msgs = 16;
	return m0_net_buffer_add(nb, &client->tm);
}

/* Handles a received text, which may belong to a request that was given up. */
static void on_message(const struct m0_net_buffer_event *ev)
{
	struct client_buffer *buffer = container_of(ev->nbe_buffer, struct client_buffer, nb);
	struct client *client = buffer->client;
	bool queued = (ev->nbe_buffer->nb_flags & M0_NET_BUF_QUEUED) != 0;
	const char *sent = client->buffers[SEND].data, *text = (char *)buffer->data + ev->nbe_offset;
	uint32_t length = client->settings->message;

	m0_mutex_lock(&client->lock);
	if (ev->nbe_status == 0 && client->asked != client->answered && ev->nbe_length >= 9 &&
	    memcmp(text, sent, 9) == 0) {
		client->answered = client->asked;
		if (ev->nbe_length != length + 5 || memcmp(text, sent, length) != 0 ||
		    memcmp(text + length, " pong", 5) != 0) {
			fprintf(stderr, "m0_ping: client: the answer is wrong\n");
			client->wrong++;
		}
	}
	m0_mutex_unlock(&client->lock);
	if (!queued && !client->stopping && receive_answers(client) == 0)
		queued = true;
	m0_mutex_lock(&client->lock);
	buffer->done = !queued;
	m0_cond_broadcast(&client->changed);
	m0_mutex_unlock(&client->lock);
}

static void on_done(const struct m0_net_buffer_event *ev)
{
	struct client_buffer *buffer = container_of(ev->nbe_buffer, struct client_buffer, nb);

	m0_mutex_lock(&buffer->client->lock);
	buffer->status = ev->nbe_status;
	buffer->length = ev->nbe_length;
	buffer->done = true;
	m0_cond_broadcast(&buffer->client->changed);
	m0_mutex_unlock(&buffer->client->lock);
}

static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = on_message,
		    [M0_NET_QT_MSG_SEND] = on_done,
		    [M0_NET_QT_PASSIVE_BULK_RECV] = on_done,
		    [M0_NET_QT_PASSIVE_BULK_SEND] = on_done },
};

/* ---- operations ---- */

static int begin(struct client_buffer *buffer, enum m0_net_queue_type queue, m0_bcount_t length, int seconds)
{
	struct m0_net_buffer *nb = &buffer->nb;

	buffer->done = false;
	nb->nb_qtype = queue;
	nb->nb_length = length;
	nb->nb_timeout = m0_time_from_now((uint64_t)seconds, 0);
	return m0_net_buffer_add(nb, &buffer->client->tm);
}

/* Waits for the end of an operation. Every operation has a timeout, so it ends. */
static int await(struct client_buffer *buffer)
{
	struct client *client = buffer->client;

	m0_mutex_lock(&client->lock);
	while (!buffer->done)
		m0_cond_wait(&client->changed);
	m0_mutex_unlock(&client->lock);
	return buffer->status;
}

static int send_message(struct client *client, m0_bcount_t length)
{
	struct client_buffer *buffer = &client->buffers[SEND];
	int rc;

	buffer->nb.nb_ep = client->server;
	rc = begin(buffer, M0_NET_QT_MSG_SEND, length, MESSAGE_SECONDS);
	return rc != 0 ? rc : await(buffer);
}

static int text(struct client *client)
{
	char *message = client->buffers[SEND].data;
	m0_time_t deadline;
	int rc;

	m0_mutex_lock(&client->lock);
	snprintf(message, DIGITS + 1, "m%08u", ++client->asked % 100000000);
	memset(message + DIGITS, 'a' + client->asked % 26, client->settings->message - DIGITS);
	m0_mutex_unlock(&client->lock);
	rc = send_message(client, client->settings->message);
	if (rc != 0)
		return rc;
	deadline = m0_time_from_now(MESSAGE_SECONDS, 0);
	m0_mutex_lock(&client->lock);
	while (client->answered != client->asked && rc == 0)
		if (!m0_cond_timedwait(&client->changed, deadline))
			rc = -ETIMEDOUT;
	m0_mutex_unlock(&client->lock);
	return rc;
}

/* Offers the bulk buffer, and waits until the server has used it. */
static int bulk(struct client *client, char kind)
{
	struct client_buffer *buffer = &client->buffers[BULK];
	unsigned char *message = client->buffers[SEND].data;
	m0_bcount_t length = client->settings->bulk;
	struct m0_net_buf_desc *desc = &buffer->nb.nb_desc;
	int rc, sent;

	if (kind == 's')
		make_data(buffer->data, length, (uint64_t)m0_time_now());
	else
		memset(buffer->data, 0, length);
	rc = begin(buffer, kind == 's' ? M0_NET_QT_PASSIVE_BULK_SEND : M0_NET_QT_PASSIVE_BULK_RECV, length, BULK_SECONDS);
	if (rc != 0)
		return rc;
	message[0] = (unsigned char)kind;
	snprintf((char *)message + 1, DIGITS, "%08u", desc->nbd_len);
	snprintf((char *)message + 1 + DIGITS, DIGITS, "%08u", (unsigned int)length);
	memcpy(message + OFFER_HEADER, desc->nbd_data, desc->nbd_len);
	sent = send_message(client, OFFER_HEADER + desc->nbd_len);
	if (sent != 0)
		m0_net_buffer_del(&buffer->nb, &client->tm);
	rc = await(buffer);
	m0_net_desc_free(desc);
	if (rc == 0 && kind == 'r' && (buffer->length != length || !is_right(buffer->data, length))) {
		fprintf(stderr, "m0_ping: client: data of %llu bytes is wrong\n", (unsigned long long)buffer->length);
		client->wrong++;
	}
	return rc;
}

static int passive_receive(struct client *client)
{
	return bulk(client, 'r');
}

static int passive_send(struct client *client)
{
	return bulk(client, 's');
}

/* Repeats an operation until it succeeds. */
static void surely(struct client *client, int (*what)(struct client *), const char *name)
{
	m0_time_t limit = m0_time_from_now(LIMIT_SECONDS, 0), begun = m0_time_now(), took;
	int rc, pause = 0;

	client->begun = begun;
	while ((rc = what(client)) != 0 && m0_time_now() < limit) {
		client->again++;
		pause = pause < 3 ? pause + 1 : 3;
		if (*client->ended)
			limit = min64u(limit, m0_time_add(begun, m0_time(LIMIT_AT_THE_END, 0)));
		else
			m0_nanosleep(m0_time(0, pause * 300 * M0_TIME_ONE_MSEC), NULL);
	}
	took = m0_time_sub(m0_time_now(), begun);
	m0_mutex_lock(&client->lock);
	if (rc == 0) {
		client->done++;
		client->in_second++;
	} else {
		fprintf(stderr, "m0_ping: client: %s: %s\n", name, strerror(-rc));
		client->failed++;
	}
	if (took > client->longest)
		client->longest = took;
	m0_mutex_unlock(&client->lock);
}

/* ---- a client ---- */

static void client_start(struct client *client)
{
	const struct settings *settings = client->settings;
	size_t rooms[] = { [SEND] = settings->message, [RECV] = 16 * (size_t)settings->message, [BULK] = settings->bulk };
	char nid[M0_NET_LNET_XEP_ADDR_LEN], addr[M0_NET_LNET_XEP_ADDR_LEN];

	rooms[SEND] = rooms[SEND] < SEGMENT ? SEGMENT : rooms[SEND];
	rooms[RECV] = rooms[RECV] < SEGMENT ? SEGMENT : rooms[RECV] > 1 << 20 ? 1 << 20 : rooms[RECV];
	m0_mutex_init(&client->lock);
	m0_cond_init(&client->changed, &client->lock);
	must(m0_net_domain_init(&client->dom, &m0_net_lnet_xprt), "m0_net_domain_init");
	client->tm.ntm_callbacks = &tm_callbacks;
	must(m0_net_tm_init(&client->tm, &client->dom), "m0_net_tm_init");
	find_nid(&client->dom, nid, sizeof(nid));
	snprintf(addr, sizeof(addr), "%s:%d:%u:*", settings->nid != NULL ? settings->nid : nid, M0_NET_LNET_PID, settings->portal);
	start_and_wait(&client->tm, addr);
	snprintf(addr, sizeof(addr), "%s:%d:%u:%u", settings->server, M0_NET_LNET_PID, settings->portal, settings->tmid);
	must(m0_net_end_point_create(&client->server, &client->tm, addr), addr);
	for (int i = 0; i < BUFFERS; i++) {
		client->buffers[i].client = client;
		client->buffers[i].data = new_buffer(&client->buffers[i].nb, &client->dom, rooms[i], &callbacks);
	}
	must(receive_answers(client), "receiving answers");
}

static void client_stop(struct client *client)
{
	m0_mutex_lock(&client->lock);
	client->stopping = true;
	m0_mutex_unlock(&client->lock);
	m0_net_buffer_del(&client->buffers[RECV].nb, &client->tm);
	m0_net_end_point_put(client->server);
	stop_and_wait(&client->tm);
	m0_net_tm_stats_get(&client->tm, M0_NET_QT_NR, client->stats, false);
	m0_net_tm_fini(&client->tm);
	for (int i = 0; i < BUFFERS; i++)
		free_buffer(&client->buffers[i].nb, &client->dom);
	m0_net_domain_fini(&client->dom);
}

static void client_thread(struct client *client)
{
	const struct settings *settings = client->settings;
	m0_time_t end = settings->seconds > 0 ? m0_time_from_now((uint64_t)settings->seconds, 0) : M0_TIME_NEVER;

	client_start(client);
	for (unsigned int i = 0; !*client->ended && m0_time_now() < end && (settings->seconds > 0 || i < settings->loops); i++) {
		surely(client, text, "text");
		surely(client, passive_receive, "passive receive");
		surely(client, passive_send, "passive send");
	}
	client_stop(client);
}

/* ---- all of them ---- */

static void report(struct client *clients, unsigned int count, m0_time_t since_start)
{
	unsigned long long done = 0, failed = 0, wrong = 0;
	m0_time_t longest = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct client *client = &clients[i];

		m0_mutex_lock(&client->lock);
		done += client->in_second;
		failed += client->failed;
		wrong += client->wrong;
		longest = client->longest > longest ? client->longest : longest;
		client->in_second = 0;
		client->longest = 0;
		m0_mutex_unlock(&client->lock);
	}
	printf("%4llu s  %6llu done  %llu failed  %llu wrong  longest wait %llu ms\n", (unsigned long long)m0_time_seconds(since_start),
	       done, failed, wrong, (unsigned long long)(longest / M0_TIME_ONE_MSEC));
	fflush(stdout);
}

static const char *const queue_names[] = { "message receive", "message send",  "passive receive",
					   "passive send",    "active receive", "active send" };

/*
 * Prints the statistics of the queues. Every added operation has ended; buffers for messages have more events,
 * because each receives several messages.
 */
static bool print_queues(const struct client *clients, unsigned int count)
{
	bool all_ended = true;

	for (int queue = 0; queue < M0_NET_QT_NR; queue++) {
		struct m0_net_qstats sum = { 0 };

		for (unsigned int i = 0; i < count; i++) {
			sum.nqs_num_adds += clients[i].stats[queue].nqs_num_adds;
			sum.nqs_num_s_events += clients[i].stats[queue].nqs_num_s_events;
			sum.nqs_num_f_events += clients[i].stats[queue].nqs_num_f_events;
			sum.nqs_total_bytes += clients[i].stats[queue].nqs_total_bytes;
		}
		if (sum.nqs_num_adds > 0)
			printf("%-15s  %8llu added  %8llu succeeded  %4llu failed or cancelled  %12llu bytes\n", queue_names[queue],
			       (unsigned long long)sum.nqs_num_adds, (unsigned long long)sum.nqs_num_s_events,
			       (unsigned long long)sum.nqs_num_f_events, (unsigned long long)sum.nqs_total_bytes);
		if (queue != M0_NET_QT_MSG_RECV && sum.nqs_num_adds != sum.nqs_num_s_events + sum.nqs_num_f_events)
			all_ended = false;
	}
	return all_ended;
}

int clients_run(const struct settings *settings, const volatile sig_atomic_t *ended)
{
	unsigned long long done = 0, again = 0, failed = 0, wrong = 0;
	m0_time_t start = m0_time_now();
	struct client *clients;
	bool all_ended;

	must(M0_ALLOC_ARR(clients, settings->threads) == NULL ? -ENOMEM : 0, "clients");
	for (unsigned int i = 0; i < settings->threads; i++) {
		clients[i].settings = settings;
		clients[i].ended = ended;
		must(M0_THREAD_INIT(&clients[i].thread, struct client *, NULL, client_thread, &clients[i], "client_%u", i), "a thread");
	}
	for (int second = 1; settings->seconds > 0 && !*ended && second <= (int)settings->seconds; second++) {
		m0_time_t next = m0_time_add(start, m0_time((uint64_t)second, 0));

		while (!*ended && m0_time_now() < next)
			m0_nanosleep(m0_time(0, 100 * M0_TIME_ONE_MSEC), NULL);
		if (!*ended)
			report(clients, settings->threads, m0_time_sub(next, start));
	}
	for (unsigned int i = 0; i < settings->threads; i++) {
		m0_thread_join(&clients[i].thread);
		m0_thread_fini(&clients[i].thread);
		done += clients[i].done;
		again += clients[i].again;
		failed += clients[i].failed;
		wrong += clients[i].wrong;
		m0_cond_fini(&clients[i].changed);
		m0_mutex_fini(&clients[i].lock);
	}
	all_ended = print_queues(clients, settings->threads);
	m0_free(clients);
	if (!all_ended)
		printf("not every operation has ended\n");
	printf("%llu done, %llu done again, %llu failed, %llu wrong\n", done, again, failed, wrong);
	fflush(stdout);
	return done > 0 && failed + wrong == 0 && all_ended ? 0 : 1;
}
