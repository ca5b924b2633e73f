/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Helpers for tests of the network layer: domains with one transfer machine each, in this process, and records of the
 * events that their callbacks received.
 */
#ifndef M0NET_RIG_H
#define M0NET_RIG_H

#define _GNU_SOURCE
#include "check.h"
#include "own_address.h"
#include <lib/arith.h>
#include <lib/cond.h>
#include <lib/memory.h>
#include <lib/misc.h>
#include <motr/init.h>
#include <net/buffer_pool.h>
#include <net/lnet/lnet.h>
#include <net/net.h>
#include <sched.h>

enum { PORTAL = 30, SEGMENT = 4096, MOST_EVENTS = 256, MOST_BUFFERS = 8 };

/* A recorded event of a buffer, with the state of the buffer during the callback. */
struct seen {
	struct m0_net_buffer *buffer;
	enum m0_net_queue_type queue;
	int32_t status;
	m0_bcount_t length, offset;
	uint32_t received;
	bool queued, timeout_is_never;
	m0_time_t time;
	char from[M0_NET_LNET_XEP_ADDR_LEN];
	struct m0_net_end_point *ep;
	pthread_t thread;
	int cpu;
};

/* A recorded event of a transfer machine. */
struct seen_state {
	enum m0_net_tm_state state;
	int32_t status;
	bool has_ep;
	pthread_t thread;
	int cpu;
};

/* A domain and its transfer machine. */
struct side {
	struct m0_net_domain dom;
	struct m0_net_transfer_mc tm;
	struct m0_net_buffer buffers[MOST_BUFFERS];
	/* Whether every message event keeps a reference to its end point. */
	bool keeps_end_points;
	/* A function that callbacks call, or NULL. */
	void (*on_buffer)(struct side *side, const struct m0_net_buffer_event *ev);
	void (*on_state)(struct side *side, const struct m0_net_tm_event *ev);

	pthread_mutex_t lock;
	pthread_cond_t more;
	int count, state_count;
	struct seen events[MOST_EVENTS];
	struct seen_state states[8];
};

static void on_buffer_event(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	struct side *side = container_of(nb->nb_tm, struct side, tm);
	struct seen seen = {
		.buffer = nb,
		.queue = nb->nb_qtype,
		.status = ev->nbe_status,
		.length = ev->nbe_length,
		.offset = ev->nbe_offset,
		.received = nb->nb_msgs_received,
		.queued = (nb->nb_flags & M0_NET_BUF_QUEUED) != 0,
		.timeout_is_never = nb->nb_timeout == M0_TIME_NEVER,
		.time = ev->nbe_time,
		.ep = ev->nbe_ep,
		.thread = pthread_self(),
		.cpu = sched_getcpu(),
	};

	CHECK(m0_mutex_is_not_locked(&side->tm.ntm_mutex));
	CHECK(ev->nbe_time >= nb->nb_add_time);
	CHECK((nb->nb_flags & (M0_NET_BUF_CANCELLED | M0_NET_BUF_RETAIN)) == 0);
	if (ev->nbe_ep != NULL) {
		CHECK(ev->nbe_status == 0 && nb->nb_qtype == M0_NET_QT_MSG_RECV);
		snprintf(seen.from, sizeof(seen.from), "%s", ev->nbe_ep->nep_addr);
		if (side->keeps_end_points)
			m0_net_end_point_get(ev->nbe_ep);
	}
	if (side->on_buffer != NULL)
		side->on_buffer(side, ev);
	pthread_mutex_lock(&side->lock);
	if (side->count < MOST_EVENTS)
		side->events[side->count] = seen;
	side->count++;
	pthread_cond_broadcast(&side->more);
	pthread_mutex_unlock(&side->lock);
}

static const struct m0_net_buffer_callbacks buffer_callbacks = {
	.nbc_cb = { on_buffer_event, on_buffer_event, on_buffer_event, on_buffer_event, on_buffer_event, on_buffer_event },
};

static void on_tm_event(const struct m0_net_tm_event *ev)
{
	struct side *side = container_of(ev->nte_tm, struct side, tm);
	struct seen_state seen = {
		.state = ev->nte_next_state,
		.status = ev->nte_status,
		.has_ep = ev->nte_ep != NULL,
		.thread = pthread_self(),
		.cpu = sched_getcpu(),
	};

	CHECK_EQ(ev->nte_type, M0_NET_TEV_STATE_CHANGE);
	/* A transfer machine that is stopped while it starts reports STARTED and continues to stop. */
	CHECK(ev->nte_tm->ntm_state == ev->nte_next_state ||
	      (ev->nte_next_state == M0_NET_TM_STARTED && ev->nte_tm->ntm_state == M0_NET_TM_STOPPING));
	CHECK(m0_mutex_is_not_locked(&side->tm.ntm_mutex));
	if (side->on_state != NULL)
		side->on_state(side, ev);
	pthread_mutex_lock(&side->lock);
	if (side->state_count < (int)LENGTH(side->states))
		side->states[side->state_count] = seen;
	side->state_count++;
	pthread_cond_broadcast(&side->more);
	pthread_mutex_unlock(&side->lock);
}

static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb = on_tm_event };

/* ---- waiting ---- */

/* Waits until count events of buffers are recorded. */
static inline void await_events(struct side *side, int count)
{
	pthread_mutex_lock(&side->lock);
	while (side->count < count)
		pthread_cond_wait(&side->more, &side->lock);
	pthread_mutex_unlock(&side->lock);
}

/* Waits until count events of the transfer machine are recorded. */
static inline void await_states(struct side *side, int count)
{
	pthread_mutex_lock(&side->lock);
	while (side->state_count < count)
		pthread_cond_wait(&side->more, &side->lock);
	pthread_mutex_unlock(&side->lock);
}

/* Waits for the event number `index`, counted from 0, and returns it. */
static inline struct seen *event_of(struct side *side, int index)
{
	await_events(side, index + 1);
	return &side->events[index];
}

/* Waits until no callback is running. The library's work after the last callback is then done too. */
static inline void await_idle(struct side *side)
{
	struct m0_clink clink;
	bool idle;

	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&side->tm.ntm_chan, &clink);
	do {
		m0_mutex_lock(&side->tm.ntm_mutex);
		idle = side->tm.ntm_callback_counter == 0;
		m0_mutex_unlock(&side->tm.ntm_mutex);
		if (!idle)
			m0_chan_wait(&clink);
	} while (!idle);
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
}

/* ---- domains ---- */

/* The first NID of the node other than the loopback NID. */
static inline const char *own_nid(struct m0_net_domain *dom)
{
	static char nid[LNET_NIDSTR_SIZE];
	char **nids = NULL;

	CHECK_EQ(m0_net_lnet_ifaces_get(dom, &nids), 0);
	for (int i = 0; nids != NULL && nids[i] != NULL; i++) {
		if (strstr(nids[i], "@lo") == NULL) {
			snprintf(nid, sizeof(nid), "%s", nids[i]);
			break;
		}
	}
	m0_net_lnet_ifaces_put(dom, &nids);
	CHECK(nids == NULL);
	return nid;
}

/* An address of this node, such as 127.0.0.1@tcp:12345:30:TMID. */
static inline const char *own_addr(struct side *side, int portal, const char *tmid)
{
	static char addr[M0_NET_LNET_XEP_ADDR_LEN];

	snprintf(addr, sizeof(addr), "%s:%d:%d:%s", own_nid(&side->dom), M0_NET_LNET_PID, portal, tmid);
	return addr;
}

/* To be called before the first domain is initialised; all domains are on one node with TCP. */
static inline void begin(void)
{
	/* A test that hangs fails. */
	alarm(300);
	find_own_address(1);
	CHECK_EQ(m0_init(NULL), 0);
}

static inline int end(void)
{
	m0_fini();
	return failures != 0;
}

static inline void side_init(struct side *side)
{
	memset(side, 0, sizeof(*side));
	pthread_mutex_init(&side->lock, NULL);
	pthread_cond_init(&side->more, NULL);
	side->tm.ntm_callbacks = &tm_callbacks;
	CHECK_EQ(m0_net_domain_init(&side->dom, &m0_net_lnet_xprt), 0);
	CHECK_EQ(m0_net_tm_init(&side->tm, &side->dom), 0);
	CHECK_EQ(side->tm.ntm_state, M0_NET_TM_INITIALIZED);
}

/* Allocates and registers a buffer with the given number of segments. */
static inline struct m0_net_buffer *side_buffer(struct side *side, int index, uint32_t segments)
{
	struct m0_net_buffer *nb = &side->buffers[index];

	memset(nb, 0, sizeof(*nb));
	CHECK_EQ(m0_bufvec_alloc_aligned(&nb->nb_buffer, segments, SEGMENT, 12), 0);
	CHECK_EQ(m0_net_buffer_register(nb, &side->dom), 0);
	CHECK_EQ(nb->nb_flags, M0_NET_BUF_REGISTERED);
	CHECK(nb->nb_timeout == M0_TIME_NEVER);
	nb->nb_callbacks = &buffer_callbacks;
	return nb;
}

static inline void side_start(struct side *side, const char *addr)
{
	struct m0_clink clink;

	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&side->tm.ntm_chan, &clink);
	CHECK_EQ(m0_net_tm_start(&side->tm, addr), 0);
	m0_chan_wait(&clink);
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
	CHECK_EQ(side->tm.ntm_state, M0_NET_TM_STARTED);
	CHECK(side->tm.ntm_ep != NULL);
}

/* Stops a transfer machine like programs do: stop(false) when the queues are empty. */
static inline void side_stop(struct side *side, bool abort)
{
	struct m0_clink clink;

	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&side->tm.ntm_chan, &clink);
	CHECK_EQ(m0_net_tm_stop(&side->tm, abort), 0);
	while (side->tm.ntm_state != M0_NET_TM_STOPPED)
		m0_chan_wait(&clink);
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
}

/* Ends a side and its buffers, in every state. */
static inline void side_fini(struct side *side)
{
	if (M0_IN(side->tm.ntm_state, (M0_NET_TM_STARTING, M0_NET_TM_STARTED)))
		side_stop(side, true);
	if (side->tm.ntm_state != M0_NET_TM_UNDEFINED)
		m0_net_tm_fini(&side->tm);
	CHECK_EQ(side->tm.ntm_state, M0_NET_TM_UNDEFINED);
	for (int i = 0; i < MOST_BUFFERS; i++) {
		if (side->buffers[i].nb_flags != 0) {
			m0_net_buffer_deregister(&side->buffers[i], &side->dom);
			m0_bufvec_free_aligned(&side->buffers[i].nb_buffer, 12);
		}
	}
	m0_net_domain_fini(&side->dom);
	CHECK(side->dom.nd_xprt == NULL);
}

/* ---- two sides ---- */

struct pair {
	struct side one, two;
	/* The end point of the first side for the second side. */
	struct m0_net_end_point *to_one;
	/* The end point of the second side for the first side. */
	struct m0_net_end_point *to_two;
};

static inline struct m0_net_end_point *end_point(struct side *from, const char *addr)
{
	struct m0_net_end_point *ep = NULL;

	CHECK_EQ(m0_net_end_point_create(&ep, &from->tm, addr), 0);
	return ep;
}

static inline void pair_init(struct pair *pair)
{
	side_init(&pair->one);
	side_init(&pair->two);
	for (int i = 0; i < 2; i++)
		side_buffer(&pair->one, i, 4);
	side_buffer(&pair->two, 0, 2);
}

static inline void pair_start(struct pair *pair)
{
	side_start(&pair->one, own_addr(&pair->one, PORTAL, "*"));
	side_start(&pair->two, own_addr(&pair->two, PORTAL, "*"));
	pair->to_one = end_point(&pair->two, pair->one.tm.ntm_ep->nep_addr);
	pair->to_two = end_point(&pair->one, pair->two.tm.ntm_ep->nep_addr);
}

/* Starts a pair: the first side has two buffers of 16 KiB, the second one of 8 KiB. */
static inline struct pair *pair_started(void)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	pair_init(pair);
	pair_start(pair);
	return pair;
}

static inline void pair_end(struct pair *pair)
{
	for (int i = 0; i < MOST_BUFFERS; i++) {
		if (pair->one.buffers[i].nb_flags != 0)
			m0_net_buffer_del(&pair->one.buffers[i], &pair->one.tm);
		if (pair->two.buffers[i].nb_flags != 0)
			m0_net_buffer_del(&pair->two.buffers[i], &pair->two.tm);
	}
	m0_net_end_point_put(pair->to_one);
	m0_net_end_point_put(pair->to_two);
	side_stop(&pair->one, false);
	side_stop(&pair->two, false);
	side_fini(&pair->one);
	side_fini(&pair->two);
	free(pair);
}

/* ---- memory and operations ---- */

/* Writes length bytes from `offset` on, or checks whether they have their values, which depend on the offset and on
 * `seed`. */
static inline bool go_over(struct m0_net_buffer *nb, m0_bcount_t offset, m0_bcount_t length, unsigned int seed, bool write)
{
	struct m0_bufvec_cursor cur;
	m0_bcount_t i = 0;

	m0_bufvec_cursor_init(&cur, &nb->nb_buffer);
	m0_bufvec_cursor_move(&cur, offset);
	while (i < length) {
		unsigned char *bytes = m0_bufvec_cursor_addr(&cur);
		m0_bcount_t count = min64u(length - i, m0_bufvec_cursor_step(&cur));

		for (m0_bcount_t j = 0; j < count; j++, i++) {
			unsigned char byte = (unsigned char)(i * 31 + i / 251 + seed);

			if (write)
				bytes[j] = byte;
			else if (bytes[j] != byte)
				return false;
		}
		m0_bufvec_cursor_move(&cur, count);
	}
	return true;
}

static inline void fill(struct m0_net_buffer *nb, m0_bcount_t length, unsigned int seed)
{
	go_over(nb, 0, length, seed, true);
}

static inline bool is_filled(struct m0_net_buffer *nb, m0_bcount_t offset, m0_bcount_t length, unsigned int seed)
{
	return go_over(nb, offset, length, seed, false);
}

/* Queues a buffer for messages. */
static inline void receive_messages(struct side *side, struct m0_net_buffer *nb, m0_bcount_t min, uint32_t most)
{
	nb->nb_qtype = M0_NET_QT_MSG_RECV;
	nb->nb_ep = NULL;
	nb->nb_min_receive_size = min;
	nb->nb_max_receive_msgs = most;
	CHECK_EQ(m0_net_buffer_add(nb, &side->tm), 0);
}

/* Sends a number of bytes of a buffer. Returns the result of adding the buffer. */
static inline int send_message(struct side *side, struct m0_net_buffer *nb, struct m0_net_end_point *ep, m0_bcount_t length)
{
	nb->nb_qtype = M0_NET_QT_MSG_SEND;
	nb->nb_ep = ep;
	nb->nb_length = length;
	return m0_net_buffer_add(nb, &side->tm);
}

static inline struct m0_net_qstats stats_of(struct side *side, enum m0_net_queue_type queue)
{
	struct m0_net_qstats stats;

	memset(&stats, 0xa5, sizeof(stats));
	CHECK_EQ(m0_net_tm_stats_get(&side->tm, queue, &stats, false), 0);
	return stats;
}

/* Checks the counts of added and deleted buffers, and of events of success and failure. */
#define CHECK_STATS(side, queue, adds, dels, successes, failed)           \
	do {                                                              \
		struct m0_net_qstats stats_ = stats_of((side), (queue));  \
		CHECK_EQ(stats_.nqs_num_adds, adds);                      \
		CHECK_EQ(stats_.nqs_num_dels, dels);                      \
		CHECK_EQ(stats_.nqs_num_s_events, successes);             \
		CHECK_EQ(stats_.nqs_num_f_events, failed);                \
	} while (0)

#endif
