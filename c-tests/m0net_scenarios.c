/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tests the scenarios of the transport's design document as programs perform them, and other users of LNet on the
 * same node.
 */
#include "m0net_rig.h"
#include <lib/thread.h>

enum { MESSAGE = 256, MESSAGES = 40 };

/* ---- several messages in a buffer ---- */

/* Queues a used-up buffer again, or puts it back into its pool, like the component of the scenario. */
static void requeue(struct side *side, const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;

	if (nb->nb_qtype == M0_NET_QT_MSG_RECV && ev->nbe_status == 0 && (nb->nb_flags & M0_NET_BUF_QUEUED) == 0)
		receive_messages(side, nb, MESSAGE, 4);
}

static void send_and_count(struct side *from, struct m0_net_buffer *out, struct side *to, const char *addr)
{
	struct m0_net_end_point *ep = end_point(from, addr);
	int before = from->count, queued = 0, arrived = to->count;

	for (int i = 0; i < MESSAGES; i++) {
		fill(out, MESSAGE, i);
		CHECK_EQ(send_message(from, out, ep, MESSAGE), 0);
		await_events(from, before + i + 1);
		await_events(to, arrived + i + 1);
		CHECK_EQ(to->events[arrived + i].length, MESSAGE);
		CHECK(is_filled(to->events[arrived + i].buffer, to->events[arrived + i].offset, MESSAGE, i));
		queued += to->events[arrived + i].queued;
	}
	/* Three of four messages leave their buffer queued. */
	CHECK_EQ(queued, MESSAGES / 4 * 3);
	m0_net_end_point_put(ep);
}

static void several_messages_in_buffers_of_the_components_own(void)
{
	struct pair *pair = pair_started();

	pair->one.on_buffer = requeue;
	for (int i = 0; i < 2; i++)
		receive_messages(&pair->one, &pair->one.buffers[i], MESSAGE, 4);
	send_and_count(&pair->two, &pair->two.buffers[0], &pair->one, pair->one.tm.ntm_ep->nep_addr);
	pair_end(pair);
}

static struct m0_net_buffer_pool pool;

static void below_threshold(struct m0_net_buffer_pool *it)
{
	(void)it;
}

static const struct m0_net_buffer_pool_ops pool_ops = { m0_net_domain_buffer_pool_not_empty, below_threshold };

static void on_pool_message(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	struct m0_net_transfer_mc *tm = nb->nb_tm;
	struct m0_net_buffer_pool *from = nb->nb_pool;
	bool queued = (nb->nb_flags & M0_NET_BUF_QUEUED) != 0;

	on_buffer_event(ev);
	if (!queued) {
		m0_net_buffer_pool_lock(from);
		m0_net_buffer_pool_put(from, nb, m0_net_tm_colour_get(tm));
		m0_net_buffer_pool_unlock(from);
	}
}

static const struct m0_net_buffer_callbacks pool_callbacks = { .nbc_cb = { on_pool_message } };

static void pool_new(struct m0_net_domain *dom, uint32_t buffers, uint32_t segments, uint32_t colours)
{
	CHECK_EQ(m0_net_buffer_pool_init(&pool, dom, 1, segments, SEGMENT, colours, 12, false), 0);
	pool.nbp_ops = &pool_ops;
	m0_net_buffer_pool_lock(&pool);
	CHECK_EQ(m0_net_buffer_pool_provision(&pool, buffers), (int)buffers);
	m0_net_buffer_pool_unlock(&pool);
}

static void several_messages_in_buffers_of_a_pool(void)
{
	static struct side server, client;

	side_init(&server);
	side_init(&client);
	pool_new(&server.dom, 4, 1, 1);
	CHECK_EQ(m0_net_tm_pool_attach(&server.tm, &pool, &pool_callbacks, MESSAGE, 4, 2), 0);
	m0_net_tm_colour_set(&server.tm, 0);
	side_buffer(&client, 0, 1);
	side_start(&server, own_addr(&server, PORTAL, "1"));
	side_start(&client, own_addr(&client, PORTAL, "*"));
	send_and_count(&client, &client.buffers[0], &server, server.tm.ntm_ep->nep_addr);
	side_fini(&client);
	side_stop(&server, false);
	m0_net_tm_fini(&server.tm);
	CHECK_EQ(pool.nbp_free, 4);
	m0_net_buffer_pool_fini(&pool);
	side_fini(&server);
}

/* ---- sending ---- */

/*
 * Tests sending from buffers that are allocated once, and from a buffer that consists of existing memory and is
 * deregistered after use.
 */
static void messages_are_sent_from_standing_and_from_transient_buffers(void)
{
	static struct side client;
	struct pair *pair = pair_started();
	struct m0_net_buffer transient;
	char header[SEGMENT] __attribute__((aligned(SEGMENT))), referenced[SEGMENT] __attribute__((aligned(SEGMENT)));
	m0_bcount_t counts[] = { SEGMENT, 300 };
	void *addresses[] = { header, referenced };
	struct m0_net_end_point *ep;

	memset(header, 'h', sizeof(header));
	memset(referenced, 'r', sizeof(referenced));
	receive_messages(&pair->one, &pair->one.buffers[0], 2 * SEGMENT, 2);
	side_init(&client);
	side_start(&client, own_addr(&client, PORTAL, "*"));
	ep = end_point(&client, pair->one.tm.ntm_ep->nep_addr);
	for (int i = 0; i < 2; i++) {
		if (i == 0) {
			side_buffer(&client, 0, 1);
			CHECK_EQ(send_message(&client, &client.buffers[0], ep, 10), 0);
		} else {
			M0_SET0(&transient);
			transient.nb_buffer = (struct m0_bufvec){ { 2, counts }, addresses };
			CHECK_EQ(m0_net_buffer_register(&transient, &client.dom), 0);
			transient.nb_callbacks = &buffer_callbacks;
			CHECK_EQ(send_message(&client, &transient, ep, SEGMENT + 300), 0);
		}
		CHECK_EQ(event_of(&client, i)->status, 0);
		await_events(&pair->one, i + 1);
	}
	m0_net_buffer_deregister(&transient, &client.dom);
	CHECK_EQ(pair->one.events[1].length, SEGMENT + 300);
	CHECK_EQ(pair->one.events[1].offset, 10);
	{
		struct m0_bufvec_cursor cur;

		m0_bufvec_cursor_init(&cur, &pair->one.buffers[0].nb_buffer);
		m0_bufvec_cursor_move(&cur, 10);
		CHECK(*(char *)m0_bufvec_cursor_addr(&cur) == 'h');
		m0_bufvec_cursor_move(&cur, SEGMENT);
		CHECK(*(char *)m0_bufvec_cursor_addr(&cur) == 'r');
	}
	m0_net_end_point_put(ep);
	side_fini(&client);
	pair_end(pair);
}

/* ---- bulk data ---- */

/* A message with a descriptor, like those of higher layers. */
struct offer {
	uint32_t write;
	uint32_t length;
	uint8_t desc[48];
};

/* The client's memory is given to the transport for one transfer only; the server takes buffers from a pool and is active. */
static void bulk(struct side *client, struct side *server, const char *server_addr, bool write, m0_bcount_t length)
{
	struct m0_net_buffer *passive, *active, *message = &client->buffers[0];
	struct m0_net_end_point *ep = end_point(client, server_addr);
	int arrived = server->count, done = client->count;
	struct m0_bufvec_cursor cur;
	struct offer offer = { write, length, { 0 } };

	passive = side_buffer(client, 1, (length + SEGMENT - 1) / SEGMENT);
	passive->nb_qtype = write ? M0_NET_QT_PASSIVE_BULK_SEND : M0_NET_QT_PASSIVE_BULK_RECV;
	passive->nb_length = write ? length : 0;
	fill(passive, length, write ? 1 : 0);
	CHECK_EQ(m0_net_buffer_add(passive, &client->tm), 0);
	memcpy(offer.desc, passive->nb_desc.nbd_data, sizeof(offer.desc));
	m0_bufvec_cursor_init(&cur, &message->nb_buffer);
	m0_bufvec_cursor_copyto(&cur, &offer, sizeof(offer));
	CHECK_EQ(send_message(client, message, ep, sizeof(offer)), 0);

	/* The server: the message, then the transfer. */
	await_events(server, arrived + 1);
	m0_bufvec_cursor_init(&cur, &server->events[arrived].buffer->nb_buffer);
	m0_bufvec_cursor_move(&cur, server->events[arrived].offset);
	CHECK_EQ(m0_bufvec_cursor_copyfrom(&cur, &offer, sizeof(offer)), sizeof(offer));
	m0_net_buffer_pool_lock(&pool);
	active = m0_net_buffer_pool_get(&pool, M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_unlock(&pool);
	CHECK(active != NULL);
	active->nb_callbacks = &buffer_callbacks;
	active->nb_qtype = offer.write ? M0_NET_QT_ACTIVE_BULK_RECV : M0_NET_QT_ACTIVE_BULK_SEND;
	active->nb_length = offer.length;
	active->nb_desc = (struct m0_net_buf_desc){ sizeof(offer.desc), offer.desc };
	if (!offer.write)
		fill(active, offer.length, 2);
	CHECK_EQ(m0_net_buffer_add(active, &server->tm), 0);
	CHECK_EQ(event_of(server, arrived + 1)->status, 0);
	if (offer.write)
		CHECK(is_filled(active, 0, length, 1));
	active->nb_desc = (struct m0_net_buf_desc){ 0, NULL };
	m0_net_buffer_pool_lock(&pool);
	m0_net_buffer_pool_put(&pool, active, M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_unlock(&pool);

	/* The client: the message was sent, the transfer is done, and the memory is its own again. */
	await_events(client, done + 2);
	CHECK_EQ(passive->nb_flags, M0_NET_BUF_REGISTERED);
	if (!write)
		CHECK(is_filled(passive, 0, length, 2));
	m0_net_desc_free(&passive->nb_desc);
	m0_net_buffer_deregister(passive, &client->dom);
	m0_bufvec_free_aligned(&passive->nb_buffer, 12);
	m0_net_end_point_put(ep);
}

static void clients_and_tools_are_passive_and_servers_active(void)
{
	static const m0_bcount_t lengths[] = { 1, 1024, 4096, 4097, 30 * 1024, 1 << 20 };
	static struct side client, server;

	side_init(&client);
	side_init(&server);
	pool_new(&server.dom, 2, 256, 1);
	side_buffer(&client, 0, 1);
	side_buffer(&server, 0, 1);
	/* A tool has a dynamic address, and a server a low one. */
	side_start(&server, own_addr(&server, PORTAL, "2"));
	side_start(&client, own_addr(&client, PORTAL, "*"));
	for (size_t i = 0; i < LENGTH(lengths); i++) {
		for (int write = 0; write < 2; write++) {
			receive_messages(&server, &server.buffers[0], SEGMENT, 1);
			bulk(&client, &server, server.tm.ntm_ep->nep_addr, write, lengths[i]);
		}
	}
	side_stop(&server, false);
	m0_net_tm_fini(&server.tm);
	m0_net_buffer_pool_fini(&pool);
	side_fini(&server);
	side_fini(&client);
}

/*
 * Tests several tools at the same time, all with one NID, PID and portal: each has its own address, at which it
 * receives its replies.
 */
static void tools_have_addresses_of_their_own(void)
{
	enum { TOOLS = 3 };
	static struct side server, tools[TOOLS];

	side_init(&server);
	side_buffer(&server, 0, 4);
	side_buffer(&server, 1, 1);
	side_start(&server, own_addr(&server, PORTAL, "3"));
	server.keeps_end_points = true;
	receive_messages(&server, &server.buffers[0], SEGMENT, TOOLS);
	for (int i = 0; i < TOOLS; i++) {
		struct m0_net_end_point *ep;

		side_init(&tools[i]);
		side_buffer(&tools[i], 0, 1);
		side_buffer(&tools[i], 1, 1);
		side_start(&tools[i], own_addr(&tools[i], PORTAL, "*"));
		receive_messages(&tools[i], &tools[i].buffers[1], SEGMENT, 1);
		ep = end_point(&tools[i], server.tm.ntm_ep->nep_addr);
		CHECK_EQ(send_message(&tools[i], &tools[i].buffers[0], ep, 10 + i), 0);
		await_events(&tools[i], 1);
		await_events(&server, i + 1);
		CHECK_STR(server.events[i].from, tools[i].tm.ntm_ep->nep_addr);
		m0_net_end_point_put(ep);
	}
	for (int i = TOOLS - 1; i >= 0; i--) {
		int before = server.count;

		CHECK_EQ(send_message(&server, &server.buffers[1], server.events[i].ep, 20 + i), 0);
		await_events(&server, before + 1);
		CHECK_EQ(event_of(&tools[i], 1)->length, 20 + i);
		CHECK_STR(tools[i].events[1].from, server.tm.ntm_ep->nep_addr);
		m0_net_end_point_put(server.events[i].ep);
	}
	for (int i = 0; i < TOOLS; i++)
		side_fini(&tools[i]);
	side_fini(&server);
}

/* ---- a request handler ---- */

/* A handler with a single thread. It delivers events when there are some, and otherwise waits on one channel for
 * events and for other work. */
struct handler {
	struct side side;
	struct m0_mutex lock;
	struct m0_chan work;
	int work_given, work_done, requests;
	bool end;
};

static void on_request(struct side *side, const struct m0_net_buffer_event *ev)
{
	struct handler *handler = container_of(side, struct handler, side);

	if (ev->nbe_buffer->nb_qtype == M0_NET_QT_MSG_RECV && ev->nbe_status == 0)
		handler->requests++;
}

static void handle_requests(struct handler *handler)
{
	struct m0_clink clink;
	bool end = false;

	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&handler->work, &clink);
	while (!end) {
		if (m0_net_buffer_event_pending(&handler->side.tm)) {
			m0_net_buffer_event_deliver_all(&handler->side.tm);
			continue;
		}
		m0_mutex_lock(&handler->lock);
		handler->work_done += handler->work_given;
		handler->work_given = 0;
		end = handler->end;
		m0_mutex_unlock(&handler->lock);
		if (!end) {
			/*
			 * Either an event or other work ends the wait. After it there may be nothing to do, which is
			 * no error.
			 */
			m0_net_buffer_event_notify(&handler->side.tm, &handler->work);
			m0_chan_wait(&clink);
		}
	}
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
}

static void a_request_handler_delivers_on_its_own_thread(void)
{
	static struct handler handler;
	static struct side client;
	struct m0_thread thread;
	struct m0_net_end_point *ep;
	int i;

	M0_SET0(&thread);
	side_init(&handler.side);
	side_init(&client);
	m0_mutex_init(&handler.lock);
	m0_chan_init(&handler.work, &handler.lock);
	CHECK_EQ(m0_net_buffer_event_deliver_synchronously(&handler.side.tm), 0);
	handler.side.on_buffer = on_request;
	side_buffer(&handler.side, 0, 4);
	side_buffer(&client, 0, 1);
	side_start(&handler.side, own_addr(&client, PORTAL, "4"));
	side_start(&client, own_addr(&client, PORTAL, "*"));
	receive_messages(&handler.side, &handler.side.buffers[0], 100, MESSAGES);
	CHECK_EQ(M0_THREAD_INIT(&thread, struct handler *, NULL, handle_requests, &handler, "handler"), 0);
	ep = end_point(&client, handler.side.tm.ntm_ep->nep_addr);
	for (i = 0; i < MESSAGES; i++) {
		CHECK_EQ(send_message(&client, &client.buffers[0], ep, 50), 0);
		await_events(&client, i + 1);
		m0_mutex_lock(&handler.lock);
		handler.work_given++;
		m0_chan_signal(&handler.work);
		m0_mutex_unlock(&handler.lock);
		await_events(&handler.side, i + 1);
	}
	m0_mutex_lock(&handler.lock);
	handler.end = true;
	m0_chan_signal(&handler.work);
	m0_mutex_unlock(&handler.lock);
	m0_thread_join(&thread);
	m0_thread_fini(&thread);
	CHECK_EQ(handler.requests, MESSAGES);
	CHECK_EQ(handler.work_done, MESSAGES);
	for (i = 1; i < MESSAGES; i++)
		CHECK(pthread_equal(handler.side.events[i].thread, handler.side.events[0].thread));
	CHECK(!pthread_equal(handler.side.events[0].thread, handler.side.states[0].thread));
	m0_net_end_point_put(ep);
	side_fini(&client);
	side_stop(&handler.side, false);
	side_fini(&handler.side);
	m0_mutex_lock(&handler.lock);
	m0_chan_fini(&handler.work);
	m0_mutex_unlock(&handler.lock);
	m0_mutex_fini(&handler.lock);
}

/* ---- beside other users of LNet ---- */

/* A raw LNet user on one of Lustre's portals of the same node, and on the portal of the transfer machine with other match bits. */
static void other_users_of_lnet_are_not_disturbed(void)
{
	static const struct {
		unsigned int portal;
		__u64 bits;
	} table[] = { { 28, 0x1234 }, { PORTAL, 1ULL << 40 } };
	struct pair *pair = pair_started();
	struct lnet_process_id self = loopback();
	struct lnet_handle_eq eq;
	char sent[64] = "lustre's", got[64];
	struct record r;

	CHECK_EQ(LNetEQAlloc(0, record_event, &eq), 0);
	receive_messages(&pair->one, &pair->one.buffers[0], SEGMENT, 10);
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct lnet_handle_md md, out;
		struct lnet_handle_me me = attach_me(table[i].portal, table[i].bits, LNET_UNLINK);

		memset(got, 0, sizeof(got));
		record_init(&r);
		CHECK_EQ(LNetMDAttach(me, make_md(got, sizeof(got), 1, LNET_MD_OP_PUT, &r, eq), LNET_UNLINK, &md), 0);
		CHECK_EQ(LNetMDBind(make_md(sent, sizeof(sent), 1, 0, &r, eq), LNET_UNLINK, &out), 0);
		CHECK_EQ(LNetPut(LNET_NID_ANY, out, LNET_NOACK_REQ, self, table[i].portal, table[i].bits, 0, 0), 0);
		CHECK_EQ(send_message(&pair->two, &pair->two.buffers[0], pair->to_one, 100), 0);
		record_wait(&r, 2);
		CHECK_STR(got, sent);
		await_events(&pair->two, i + 1);
		CHECK_EQ(event_of(&pair->one, i)->length, 100);
	}
	CHECK_EQ(LNetEQFree(eq), 0);
	pair_end(pair);
}

int main(void)
{
	begin();
	several_messages_in_buffers_of_the_components_own();
	several_messages_in_buffers_of_a_pool();
	messages_are_sent_from_standing_and_from_transient_buffers();
	clients_and_tools_are_passive_and_servers_active();
	tools_have_addresses_of_their_own();
	a_request_handler_delivers_on_its_own_thread();
	other_users_of_lnet_are_not_disturbed();
	return end();
}
