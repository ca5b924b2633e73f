/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Measures Motr's network layer, as lnet_perf measures LNet: one process is the server, another the client.
 * All work is done in callbacks, on the thread of the transfer machine.
 *
 *   m0net_perf serve                               replies to the other commands; ends when it is killed
 *   m0net_perf round-trip NID SIZE SECONDS         a message in each direction; prints microseconds for both
 *   m0net_perf send NID SIZE IN_FLIGHT SECONDS     messages; prints bytes per second
 *   m0net_perf put NID SIZE IN_FLIGHT SECONDS      active sends into passive buffers of the server; prints bytes per second
 *   m0net_perf get NID SIZE IN_FLIGHT SECONDS      active receives from passive buffers; prints bytes per second
 *
 * A passive buffer is used once: after each transfer the server queues it again, and sends its new descriptor in a message.
 * The environment (LNET_NETWORKS, LNET_ACCEPT, LNET_ACCEPT_PORT) configures the node of each process. */
#include <errno.h>
#include <lib/atomic.h>
#include <lib/chan.h>
#include <lib/memory.h>
#include <lib/misc.h>
#include <motr/init.h>
#include <net/lnet/lnet.h>
#include <net/net.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

enum { PORTAL = 39, TMID = 12, MOST = 64, LONGEST = 1 << 20, SEGMENT = 4096, RECEIVERS = 8, MESSAGE_ROOM = 64 * 1024 };
/*
 * The first byte of a message: a message to reply to; a message to drop; a descriptor; a request for passive buffers;
 * the end of that request.
 */
enum { ECHO = 'e', DROP = 'd', DESCRIPTOR = 'D', WANT_GET = 'g', WANT_PUT = 'p', ENOUGH = 'x' };

struct buffer {
	struct m0_net_buffer nb;
	unsigned char *data;
	struct buffer *next;
};

static struct m0_net_domain dom;
static struct m0_net_transfer_mc tm;
static struct buffer receivers[RECEIVERS], senders[2 * MOST], bulk[MOST];
static struct buffer *free_senders, *free_bulk;
static struct m0_net_end_point *server_ep;

/* On the server: the client to which the passive buffers belong. */
static struct m0_net_end_point *client_ep;
static enum m0_net_queue_type passive_queue;
static uint64_t passive_length;

/* On the client. Only callbacks write these variables, all on one thread. */
static enum { NOTHING, ROUND_TRIPS, SENDS, TRANSFERS } what;
static enum m0_net_queue_type active_queue;
static uint64_t size;
static struct m0_atomic64 done;
static volatile bool over;

static void must(int result, const char *doing)
{
	if (result < 0) {
		fprintf(stderr, "m0net_perf: %s: %s\n", doing, strerror(-result));
		exit(1);
	}
}

static void give(struct buffer **list, struct buffer *buffer)
{
	buffer->next = *list;
	*list = buffer;
}

static struct buffer *take(struct buffer **list)
{
	struct buffer *buffer = *list;

	must(buffer == NULL ? -ENOBUFS : 0, "a buffer");
	*list = buffer->next;
	return buffer;
}

static void send_message(struct m0_net_end_point *to, unsigned char kind, const void *data, size_t length, size_t whole)
{
	struct buffer *buffer = take(&free_senders);

	buffer->data[0] = kind;
	if (length > 0)
		memcpy(buffer->data + 1, data, length);
	buffer->nb.nb_qtype = M0_NET_QT_MSG_SEND;
	buffer->nb.nb_ep = to;
	buffer->nb.nb_length = whole;
	must(m0_net_buffer_add(&buffer->nb, &tm), "sending");
}

static void receive(struct buffer *buffer)
{
	buffer->nb.nb_qtype = M0_NET_QT_MSG_RECV;
	buffer->nb.nb_min_receive_size = SEGMENT;
	buffer->nb.nb_max_receive_msgs = 1024;
	must(m0_net_buffer_add(&buffer->nb, &tm), "receiving");
}

/* ---- the server ---- */

static void offer(struct buffer *buffer)
{
	buffer->nb.nb_qtype = passive_queue;
	buffer->nb.nb_length = passive_length;
	must(m0_net_buffer_add(&buffer->nb, &tm), "a passive buffer");
	send_message(client_ep, DESCRIPTOR, buffer->nb.nb_desc.nbd_data, buffer->nb.nb_desc.nbd_len, 1 + buffer->nb.nb_desc.nbd_len);
}

static void serve_message(const unsigned char *message, size_t length, struct m0_net_end_point *from)
{
	switch (message[0]) {
	case ECHO:
		send_message(from, DROP, NULL, 0, length);
		break;
	case WANT_GET:
	case WANT_PUT:
		m0_net_end_point_get(from);
		client_ep = from;
		passive_queue = message[0] == WANT_GET ? M0_NET_QT_PASSIVE_BULK_SEND : M0_NET_QT_PASSIVE_BULK_RECV;
		memcpy(&passive_length, message + 2, sizeof(passive_length));
		for (int i = 0; i < message[1]; i++)
			offer(&bulk[i]);
		break;
	case ENOUGH:
		if (client_ep == NULL)
			break;
		m0_net_end_point_put(client_ep);
		client_ep = NULL;
		for (int i = 0; i < MOST; i++)
			m0_net_buffer_del(&bulk[i].nb, &tm);
		break;
	}
}

/* ---- the client ---- */

static void client_message(const unsigned char *message)
{
	if (message[0] == DESCRIPTOR && what == TRANSFERS && !over) {
		struct buffer *buffer = take(&free_bulk);
		struct m0_net_buf_desc desc = { 48, (uint8_t *)message + 1 };

		must(m0_net_desc_copy(&desc, &buffer->nb.nb_desc), "a descriptor");
		buffer->nb.nb_qtype = active_queue;
		buffer->nb.nb_length = size;
		must(m0_net_buffer_add(&buffer->nb, &tm), "a transfer");
	} else if (message[0] == DROP && what == ROUND_TRIPS) {
		m0_atomic64_inc(&done);
		if (!over)
			send_message(server_ep, ECHO, NULL, 0, size);
	}
}

/* ---- events ---- */

static void on_message(const struct m0_net_buffer_event *ev)
{
	struct buffer *buffer = container_of(ev->nbe_buffer, struct buffer, nb);

	if (ev->nbe_status == -ECANCELED)
		return;
	must(ev->nbe_status, "a message");
	if (server_ep != NULL)
		client_message(buffer->data + ev->nbe_offset);
	else
		serve_message(buffer->data + ev->nbe_offset, ev->nbe_length, ev->nbe_ep);
	if ((ev->nbe_buffer->nb_flags & M0_NET_BUF_QUEUED) == 0)
		receive(buffer);
}

static void on_sent(const struct m0_net_buffer_event *ev)
{
	give(&free_senders, container_of(ev->nbe_buffer, struct buffer, nb));
	if (what == SENDS) {
		must(ev->nbe_status, "sending");
		m0_atomic64_inc(&done);
		if (!over)
			send_message(server_ep, DROP, NULL, 0, size);
	}
}

static void on_passive(const struct m0_net_buffer_event *ev)
{
	m0_net_desc_free(&ev->nbe_buffer->nb_desc);
	if (ev->nbe_status == 0 && client_ep != NULL)
		offer(container_of(ev->nbe_buffer, struct buffer, nb));
}

static void on_active(const struct m0_net_buffer_event *ev)
{
	must(ev->nbe_status, "a transfer");
	m0_net_desc_free(&ev->nbe_buffer->nb_desc);
	give(&free_bulk, container_of(ev->nbe_buffer, struct buffer, nb));
	m0_atomic64_inc(&done);
}

static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = on_message,
		    [M0_NET_QT_MSG_SEND] = on_sent,
		    [M0_NET_QT_PASSIVE_BULK_RECV] = on_passive,
		    [M0_NET_QT_PASSIVE_BULK_SEND] = on_passive,
		    [M0_NET_QT_ACTIVE_BULK_RECV] = on_active,
		    [M0_NET_QT_ACTIVE_BULK_SEND] = on_active },
};

static void on_tm_event(const struct m0_net_tm_event *ev)
{
	must(ev->nte_status, "the transfer machine");
}

static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb = on_tm_event };

/* ---- both ---- */

/*
 * The buffers for bulk data share their memory, like all operations of lnet_perf, so that the processor's cache does
 * not influence the comparison.
 */
static void new_buffers(struct buffer *buffers, int count, uint32_t room, struct buffer **list)
{
	for (int i = 0; i < count; i++) {
		struct m0_net_buffer *nb = &buffers[i].nb;

		if (buffers == bulk && i > 0)
			nb->nb_buffer = bulk[0].nb.nb_buffer;
		else
			must(m0_bufvec_alloc_aligned_packed(&nb->nb_buffer, room / SEGMENT, SEGMENT, 12), "memory");
		must(m0_net_buffer_register(nb, &dom), "m0_net_buffer_register");
		nb->nb_callbacks = &callbacks;
		buffers[i].data = nb->nb_buffer.ov_buf[0];
		if (list != NULL)
			give(list, &buffers[i]);
	}
}

static void start(const char *tmid)
{
	char addr[M0_NET_LNET_XEP_ADDR_LEN], **nids;
	struct m0_clink clink;
	int first = 0;

	must(m0_init(NULL), "m0_init");
	must(m0_net_domain_init(&dom, &m0_net_lnet_xprt), "m0_net_domain_init");
	must(m0_net_lnet_ifaces_get(&dom, &nids), "the interfaces");
	while (nids[first] != NULL && strstr(nids[first], "@lo") != NULL)
		first++;
	must(nids[first] == NULL ? -ENODEV : 0, "an interface");
	snprintf(addr, sizeof(addr), "%s:%d:%d:%s", nids[first], M0_NET_LNET_PID, PORTAL, tmid);
	m0_net_lnet_ifaces_put(&dom, &nids);
	tm.ntm_callbacks = &tm_callbacks;
	must(m0_net_tm_init(&tm, &dom), "m0_net_tm_init");
	new_buffers(receivers, RECEIVERS, MESSAGE_ROOM, NULL);
	new_buffers(senders, 2 * MOST, SEGMENT, &free_senders);
	new_buffers(bulk, MOST, LONGEST, &free_bulk);
	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&tm.ntm_chan, &clink);
	must(m0_net_tm_start(&tm, addr), addr);
	m0_chan_wait(&clink);
	m0_clink_del_lock(&clink);
}

static void free_buffers(struct buffer *buffers, int count)
{
	for (int i = 0; i < count; i++)
		m0_net_buffer_deregister(&buffers[i].nb, &dom);
}

/* Finalises the domain, which stops the node, so that the server notices the end. */
static void stop(void)
{
	struct m0_clink clink;

	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&tm.ntm_chan, &clink);
	m0_net_end_point_put(server_ep);
	must(m0_net_tm_stop(&tm, true), "m0_net_tm_stop");
	while (tm.ntm_state != M0_NET_TM_STOPPED)
		m0_chan_wait(&clink);
	m0_clink_del_lock(&clink);
	m0_net_tm_fini(&tm);
	free_buffers(receivers, RECEIVERS);
	free_buffers(senders, 2 * MOST);
	free_buffers(bulk, MOST);
	m0_net_domain_fini(&dom);
	m0_fini();
}

static void pass(double seconds)
{
	m0_nanosleep((m0_time_t)(seconds * 1e9), NULL);
}

/* Measures operations per second from `begin` on; the first tenth of a second is not counted. */
static double measure(double seconds)
{
	m0_time_t begun;
	int64_t before;

	pass(0.1);
	before = m0_atomic64_get(&done);
	begun = m0_time_now();
	pass(seconds);
	return (double)(m0_atomic64_get(&done) - before) * 1e9 / (double)m0_time_sub(m0_time_now(), begun);
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	bool transfers = strcmp(command, "put") == 0 || strcmp(command, "get") == 0;
	unsigned int in_flight = 1;
	char addr[M0_NET_LNET_XEP_ADDR_LEN];
	double seconds, rate;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc == 2 && strcmp(command, "serve") == 0) {
		start("12");
		for (int i = 0; i < RECEIVERS; i++)
			receive(&receivers[i]);
		printf("ready\n");
		fflush(stdout);
		for (;;)
			pause();
	}
	if (argc == 6 && (transfers || strcmp(command, "send") == 0)) {
		in_flight = (unsigned int)atoi(argv[4]);
	} else if (argc != 5 || strcmp(command, "round-trip") != 0) {
		fprintf(stderr, "usage: m0net_perf serve | round-trip NID SIZE SECONDS | send|put|get NID SIZE IN_FLIGHT SECONDS\n");
		return 2;
	}
	size = (uint64_t)atoll(argv[3]);
	seconds = atof(argv[argc - 1]);
	if (in_flight < 1 || in_flight > MOST || size < 1 || size > (transfers ? LONGEST : SEGMENT))
		must(-EINVAL, "the size, or how many are in flight");
	start("*");
	snprintf(addr, sizeof(addr), "%s:%d:%d:%d", argv[2], M0_NET_LNET_PID, PORTAL, TMID);
	must(m0_net_end_point_create(&server_ep, &tm, addr), addr);
	what = transfers ? TRANSFERS : strcmp(command, "send") == 0 ? SENDS : ROUND_TRIPS;
	active_queue = strcmp(command, "put") == 0 ? M0_NET_QT_ACTIVE_BULK_SEND : M0_NET_QT_ACTIVE_BULK_RECV;
	for (int i = 0; i < RECEIVERS; i++)
		receive(&receivers[i]);
	if (transfers) {
		unsigned char wish[1 + sizeof(size)] = { (unsigned char)in_flight };

		memcpy(wish + 1, &size, sizeof(size));
		send_message(server_ep, strcmp(command, "put") == 0 ? WANT_PUT : WANT_GET, wish, sizeof(wish), 1 + sizeof(wish));
	} else {
		/* Callbacks start when the first buffer is in flight, and take buffers from the same list. */
		struct buffer *first[MOST];

		for (unsigned int i = 0; i < in_flight; i++)
			first[i] = take(&free_senders);
		for (unsigned int i = 0; i < in_flight; i++) {
			first[i]->data[0] = what == SENDS ? DROP : ECHO;
			first[i]->nb.nb_qtype = M0_NET_QT_MSG_SEND;
			first[i]->nb.nb_ep = server_ep;
			first[i]->nb.nb_length = size;
			must(m0_net_buffer_add(&first[i]->nb, &tm), "sending");
		}
	}
	rate = measure(seconds);
	if (what == ROUND_TRIPS)
		printf("%.3f\n", 1e6 / rate);
	else
		printf("%.0f\n", rate * (double)size);
	fflush(stdout);
	over = true;
	/* Operations in flight end first, so that the server's buffers are not in use. */
	pass(0.1);
	if (transfers) {
		send_message(server_ep, ENOUGH, NULL, 0, 1);
		pass(0.1);
	}
	stop();
	return 0;
}
