/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests the generic layer with a transport of the program: every call reaches its operation, with the right lock
 * held. Acceptance case 26. */
#define _GNU_SOURCE
#include "check.h"
#include <lib/memory.h>
#include <lib/misc.h>
#include <lib/thread.h>
#include <motr/init.h>
#include <net/buffer_pool.h>
#include <net/net.h>
#include <net/net_internal.h>
#include <unistd.h>

enum operation {
	DOM_INIT, DOM_FINI, TM_INIT, TM_CONFINE, TM_START, TM_STOP, TM_FINI, EP_CREATE, BUF_REGISTER, BUF_DEREGISTER, BUF_ADD,
	BUF_DEL, DELIVER_SYNC, DELIVER_ALL, PENDING, NOTIFY, MAX_SIZE, MAX_SEGMENT, MAX_SEGMENTS, MAX_DESC, OPERATIONS
};

static int calls[OPERATIONS];
/* The result of the next call of an operation. */
static int result;

static struct m0_net_domain dom;
static struct m0_net_transfer_mc tm;
static struct m0_bitmap *bitmap_given;
static struct m0_chan *chan_given;
static bool abort_given;
/* Whether the transport posts the event after a stop. */
static bool stop_posts = true;

/* ---- the transport ---- */

struct fake_end_point {
	struct m0_net_end_point ep;
	char addr[32];
};

static int take_result(enum operation operation)
{
	int rc = result;

	calls[operation]++;
	result = 0;
	return rc;
}

static bool has(const struct m0_mutex *mutex)
{
	return m0_mutex_is_locked(mutex);
}

static int fake_dom_init(const struct m0_net_xprt *xprt, struct m0_net_domain *domain)
{
	CHECK(has(&m0_net_mutex) && !has(&domain->nd_mutex));
	CHECK(domain == &dom);
	CHECK_STR(xprt->nx_name, "fake");
	domain->nd_xprt_private = calls;
	return take_result(DOM_INIT);
}

static void fake_dom_fini(struct m0_net_domain *domain)
{
	CHECK(has(&m0_net_mutex) && !has(&domain->nd_mutex));
	CHECK(domain->nd_xprt_private == calls);
	take_result(DOM_FINI);
}

static int fake_tm_init(struct m0_net_transfer_mc *it)
{
	CHECK(has(&it->ntm_dom->nd_mutex) && !has(&m0_net_mutex));
	CHECK(it->ntm_dom == &dom);
	return take_result(TM_INIT);
}

static void fake_tm_fini(struct m0_net_transfer_mc *it)
{
	CHECK(has(&it->ntm_dom->nd_mutex));
	take_result(TM_FINI);
}

static int fake_tm_confine(struct m0_net_transfer_mc *it, const struct m0_bitmap *processors)
{
	CHECK(has(&it->ntm_mutex));
	CHECK(processors == bitmap_given);
	return take_result(TM_CONFINE);
}

static void release_end_point(struct m0_ref *ref)
{
	struct m0_net_end_point *ep = container_of(ref, struct m0_net_end_point, nep_ref);

	CHECK(has(&ep->nep_tm->ntm_mutex));
	m0_nep_tlist_del(ep);
	m0_free(container_of(ep, struct fake_end_point, ep));
}

static int fake_end_point_create(struct m0_net_end_point **epp, struct m0_net_transfer_mc *it, const char *addr)
{
	struct fake_end_point *fake;
	struct m0_net_end_point *ep;
	int rc = take_result(EP_CREATE);

	CHECK(has(&it->ntm_mutex));
	if (rc != 0)
		return rc;
	if (addr == NULL)
		return -ENOSYS;
	m0_tl_for(m0_nep, &it->ntm_end_points, ep) {
		if (strcmp(ep->nep_addr, addr) == 0) {
			m0_ref_get(&ep->nep_ref);
			*epp = ep;
			return 0;
		}
	} m0_tl_endfor;
	if (M0_ALLOC_PTR(fake) == NULL)
		return -ENOMEM;
	snprintf(fake->addr, sizeof(fake->addr), "%s", addr);
	fake->ep.nep_addr = fake->addr;
	fake->ep.nep_tm = it;
	m0_ref_init(&fake->ep.nep_ref, 1, release_end_point);
	m0_nep_tlink_init_at_tail(&fake->ep, &it->ntm_end_points);
	*epp = &fake->ep;
	return 0;
}

/* The thread that posts the events of an operation. */
static struct m0_thread poster;

static void post_state(enum m0_net_tm_state *state)
{
	struct m0_net_tm_event ev = {
		.nte_type = M0_NET_TEV_STATE_CHANGE,
		.nte_tm = &tm,
		.nte_time = m0_time_now(),
		.nte_next_state = *state,
	};

	if (*state == M0_NET_TM_STARTED) {
		m0_mutex_lock(&tm.ntm_mutex);
		CHECK_EQ(fake_end_point_create(&ev.nte_ep, &tm, "own"), 0);
		m0_mutex_unlock(&tm.ntm_mutex);
	}
	m0_net_tm_event_post(&ev);
}

static int fake_tm_start(struct m0_net_transfer_mc *it, const char *addr)
{
	static enum m0_net_tm_state started = M0_NET_TM_STARTED;

	CHECK(has(&it->ntm_mutex));
	CHECK_EQ(it->ntm_state, M0_NET_TM_STARTING);
	CHECK_STR(addr, "own");
	if (result == 0) {
		M0_SET0(&poster);
		CHECK_EQ(M0_THREAD_INIT(&poster, enum m0_net_tm_state *, NULL, post_state, &started, "poster"), 0);
	}
	return take_result(TM_START);
}

static int fake_tm_stop(struct m0_net_transfer_mc *it, bool cancel)
{
	static enum m0_net_tm_state stopped = M0_NET_TM_STOPPED;

	CHECK(has(&it->ntm_mutex));
	CHECK_EQ(it->ntm_state, M0_NET_TM_STOPPING);
	abort_given = cancel;
	if (result == 0 && stop_posts) {
		M0_SET0(&poster);
		CHECK_EQ(M0_THREAD_INIT(&poster, enum m0_net_tm_state *, NULL, post_state, &stopped, "poster"), 0);
	}
	return take_result(TM_STOP);
}

static int fake_buf_register(struct m0_net_buffer *nb)
{
	CHECK(has(&nb->nb_dom->nd_mutex));
	return take_result(BUF_REGISTER);
}

static void fake_buf_deregister(struct m0_net_buffer *nb)
{
	CHECK(has(&nb->nb_dom->nd_mutex));
	take_result(BUF_DEREGISTER);
}

static int fake_buf_add(struct m0_net_buffer *nb)
{
	int rc = take_result(BUF_ADD);

	CHECK(has(&nb->nb_tm->ntm_mutex));
	CHECK((nb->nb_flags & M0_NET_BUF_QUEUED) != 0);
	CHECK(m0_net_tm_tlist_contains(&nb->nb_tm->ntm_q[nb->nb_qtype], nb));
	if (rc == 0 && M0_IN(nb->nb_qtype, (M0_NET_QT_PASSIVE_BULK_RECV, M0_NET_QT_PASSIVE_BULK_SEND))) {
		CHECK(nb->nb_desc.nbd_len == 0 && nb->nb_desc.nbd_data == NULL);
		nb->nb_desc.nbd_data = m0_alloc(8);
		nb->nb_desc.nbd_len = 8;
		memcpy(nb->nb_desc.nbd_data, "passive", 8);
	}
	return rc;
}

static void fake_buf_del(struct m0_net_buffer *nb)
{
	CHECK(has(&nb->nb_tm->ntm_mutex));
	nb->nb_flags |= M0_NET_BUF_CANCELLED;
	take_result(BUF_DEL);
}

static int fake_deliver_sync(struct m0_net_transfer_mc *it)
{
	CHECK(has(&it->ntm_mutex));
	return take_result(DELIVER_SYNC);
}

static void fake_deliver_all(struct m0_net_transfer_mc *it)
{
	CHECK(has(&it->ntm_mutex));
	take_result(DELIVER_ALL);
}

static bool fake_pending(struct m0_net_transfer_mc *it)
{
	CHECK(has(&it->ntm_mutex));
	take_result(PENDING);
	return true;
}

static void fake_notify(struct m0_net_transfer_mc *it, struct m0_chan *chan)
{
	CHECK(has(&it->ntm_mutex));
	CHECK(chan == chan_given);
	take_result(NOTIFY);
}

static m0_bcount_t fake_max_size(const struct m0_net_domain *domain)
{
	CHECK(domain == &dom);
	take_result(MAX_SIZE);
	return 1 << 16;
}

static m0_bcount_t fake_max_segment(const struct m0_net_domain *domain)
{
	CHECK(domain == &dom);
	take_result(MAX_SEGMENT);
	return 1 << 12;
}

static int32_t fake_max_segments(const struct m0_net_domain *domain)
{
	CHECK(domain == &dom);
	take_result(MAX_SEGMENTS);
	return 16;
}

static m0_bcount_t fake_max_desc(const struct m0_net_domain *domain)
{
	CHECK(domain == &dom);
	take_result(MAX_DESC);
	return 8;
}

/* Not constant, because a test adds a hook. */
static struct m0_net_xprt_ops ops = {
	.xo_dom_init = fake_dom_init,
	.xo_dom_fini = fake_dom_fini,
	.xo_tm_init = fake_tm_init,
	.xo_tm_start = fake_tm_start,
	.xo_tm_stop = fake_tm_stop,
	.xo_tm_fini = fake_tm_fini,
	.xo_end_point_create = fake_end_point_create,
	.xo_buf_register = fake_buf_register,
	.xo_buf_deregister = fake_buf_deregister,
	.xo_buf_add = fake_buf_add,
	.xo_buf_del = fake_buf_del,
	.xo_bev_deliver_all = fake_deliver_all,
	.xo_bev_pending = fake_pending,
	.xo_bev_notify = fake_notify,
	.xo_get_max_buffer_size = fake_max_size,
	.xo_get_max_buffer_segment_size = fake_max_segment,
	.xo_get_max_buffer_segments = fake_max_segments,
	.xo_get_max_buffer_desc_size = fake_max_desc,
};
static const struct m0_net_xprt fake = { .nx_name = "fake", .nx_ops = &ops };

/* ---- the program ---- */

static int states[M0_NET_TM_FAILED + 1];
static int events[M0_NET_QT_NR];
static struct m0_net_buffer_event last;
static uint64_t last_flags;

static void on_tm_event(const struct m0_net_tm_event *ev)
{
	CHECK(!has(&ev->nte_tm->ntm_mutex));
	CHECK_EQ(ev->nte_tm->ntm_callback_counter, 1);
	CHECK_EQ(ev->nte_tm->ntm_state, ev->nte_next_state);
	CHECK_EQ(ev->nte_tm->ntm_ep != NULL, ev->nte_next_state != M0_NET_TM_FAILED);
	states[ev->nte_next_state]++;
}

static void on_buffer_event(const struct m0_net_buffer_event *ev)
{
	CHECK(!has(&tm.ntm_mutex));
	CHECK_EQ(tm.ntm_callback_counter, 1);
	events[ev->nbe_buffer->nb_qtype]++;
	last = *ev;
	last_flags = ev->nbe_buffer->nb_flags;
}

static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb = on_tm_event };
static const struct m0_net_buffer_callbacks buffer_callbacks = {
	.nbc_cb = { on_buffer_event, on_buffer_event, on_buffer_event, on_buffer_event, on_buffer_event, on_buffer_event },
};
static struct m0_net_buffer buffers[M0_NET_QT_NR];

static void domains_and_their_limits(void)
{
	result = -ENOENT;
	CHECK_EQ(m0_net_domain_init(&dom, &fake), -ENOENT);
	CHECK(dom.nd_xprt == NULL);
	CHECK_EQ(m0_net_domain_init(&dom, &fake), 0);
	CHECK_EQ(calls[DOM_INIT], 2);
	CHECK(dom.nd_xprt == &fake && !has(&m0_net_mutex));
	CHECK_EQ(m0_net_domain_get_max_buffer_size(&dom), 1 << 16);
	CHECK_EQ(m0_net_domain_get_max_buffer_segment_size(&dom), 1 << 12);
	CHECK_EQ(m0_net_domain_get_max_buffer_segments(&dom), 16);
	CHECK_EQ(m0_net_domain_get_max_buffer_desc_size(&dom), 8);
	CHECK(dom.nd_get_max_buffer_size == 1 << 16 && dom.nd_get_max_buffer_segment_size == 1 << 12);
	CHECK(dom.nd_get_max_buffer_segments == 16 && dom.nd_get_max_buffer_desc_size == 8);
	/* The limits were asked for when the domain was initialised, and now. */
	CHECK(calls[MAX_SIZE] == 2 && calls[MAX_SEGMENT] == 2 && calls[MAX_SEGMENTS] == 2 && calls[MAX_DESC] == 2);
}

static void buffers_are_registered(void)
{
	struct m0_net_buffer *nb = &buffers[0];

	CHECK_EQ(m0_bufvec_alloc(&nb->nb_buffer, 4, 1024), 0);
	result = -EFBIG;
	CHECK_EQ(m0_net_buffer_register(nb, &dom), -EFBIG);
	CHECK(nb->nb_dom == NULL && nb->nb_flags == 0);
	for (int i = 0; i < M0_NET_QT_NR; i++) {
		nb = &buffers[i];
		if (i > 0)
			CHECK_EQ(m0_bufvec_alloc(&nb->nb_buffer, 4, 1024), 0);
		nb->nb_timeout = 0;
		CHECK_EQ(m0_net_buffer_register(nb, &dom), 0);
		CHECK(nb->nb_timeout == M0_TIME_NEVER && nb->nb_dom == &dom);
		CHECK_EQ(nb->nb_flags, M0_NET_BUF_REGISTERED);
		nb->nb_callbacks = &buffer_callbacks;
	}
	CHECK_EQ(m0_list_length(&dom.nd_registered_bufs), M0_NET_QT_NR);
	CHECK_EQ(calls[BUF_REGISTER], M0_NET_QT_NR + 1);
}

static void a_transfer_machine_starts(void)
{
	struct m0_net_end_point *ep = NULL;
	struct m0_clink clink;

	tm.ntm_callbacks = &tm_callbacks;
	result = -ENOMEM;
	CHECK_EQ(m0_net_tm_init(&tm, &dom), -ENOMEM);
	CHECK_EQ(tm.ntm_state, M0_NET_TM_UNDEFINED);
	CHECK_EQ(m0_net_tm_init(&tm, &dom), 0);
	CHECK_EQ(calls[TM_INIT], 2);

	/* First without the hooks, then with them. Only the transport reads the bitmap. */
	bitmap_given = (struct m0_bitmap *)-1L;
	CHECK_EQ(m0_net_tm_confine(&tm, bitmap_given), -ENOSYS);
	CHECK_EQ(m0_net_buffer_event_deliver_synchronously(&tm), -ENOSYS);
	CHECK(tm.ntm_bev_auto_deliver);
	ops.xo_tm_confine = fake_tm_confine;
	ops.xo_bev_deliver_sync = fake_deliver_sync;
	CHECK_EQ(m0_net_tm_confine(&tm, bitmap_given), 0);
	CHECK_EQ(m0_net_buffer_event_deliver_synchronously(&tm), 0);
	CHECK(!tm.ntm_bev_auto_deliver && calls[DELIVER_SYNC] == 1 && calls[TM_CONFINE] == 1);

	/* Tests a start that fails at once: no event, and no broadcast. */
	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&tm.ntm_chan, &clink);
	result = -EINVAL;
	CHECK_EQ(m0_net_tm_start(&tm, "own"), -EINVAL);
	CHECK_EQ(tm.ntm_state, M0_NET_TM_FAILED);
	CHECK(states[M0_NET_TM_FAILED] == 0 && !m0_chan_trywait(&clink));
	m0_clink_del_lock(&clink);
	m0_net_tm_fini(&tm);
	CHECK_EQ(calls[TM_FINI], 1);
	CHECK_EQ(m0_net_tm_init(&tm, &dom), 0);
	CHECK_EQ(m0_net_buffer_event_deliver_synchronously(&tm), 0);

	m0_clink_add_lock(&tm.ntm_chan, &clink);
	CHECK_EQ(m0_net_tm_start(&tm, "own"), 0);
	m0_chan_wait(&clink);
	CHECK(!m0_chan_trywait(&clink));
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
	m0_thread_join(&poster);
	m0_thread_fini(&poster);
	CHECK_EQ(tm.ntm_state, M0_NET_TM_STARTED);
	CHECK_EQ(states[M0_NET_TM_STARTED], 1);
	CHECK_STR(tm.ntm_ep->nep_addr, "own");

	CHECK_EQ(m0_net_end_point_create(&ep, &tm, NULL), -ENOSYS);
	result = -EBADMSG;
	CHECK_EQ(m0_net_end_point_create(&ep, &tm, "it"), -EBADMSG);
	CHECK_EQ(m0_net_end_point_create(&ep, &tm, "own"), 0);
	CHECK(ep == tm.ntm_ep);
	CHECK_EQ(m0_ref_read(&ep->nep_ref), 2);
	m0_net_end_point_put(ep);
	CHECK_EQ(m0_nep_tlist_length(&tm.ntm_end_points), 1);
}

static void post(struct m0_net_buffer *nb, int32_t status, struct m0_net_end_point *ep)
{
	struct m0_net_buffer_event ev = {
		.nbe_buffer = nb,
		.nbe_time = m0_time_now(),
		.nbe_status = status,
		.nbe_length = status == 0 ? 100 : 0,
		.nbe_ep = ep,
	};

	m0_net_buffer_event_post(&ev);
}

static void prepare(struct m0_net_buffer *nb, enum m0_net_queue_type queue, struct m0_net_end_point *ep)
{
	nb->nb_qtype = queue;
	nb->nb_length = 1000;
	nb->nb_min_receive_size = 1000;
	nb->nb_max_receive_msgs = 2;
	nb->nb_ep = queue == M0_NET_QT_MSG_SEND ? ep : NULL;
	if (M0_IN(queue, (M0_NET_QT_ACTIVE_BULK_RECV, M0_NET_QT_ACTIVE_BULK_SEND)) && nb->nb_desc.nbd_len == 0) {
		struct m0_net_buf_desc desc = { 8, (uint8_t *)"passive" };

		CHECK_EQ(m0_net_desc_copy(&desc, &nb->nb_desc), 0);
		CHECK(nb->nb_desc.nbd_data != desc.nbd_data && memcmp(nb->nb_desc.nbd_data, "passive", 8) == 0);
	}
}

static void every_queue_adds_and_completes_once(void)
{
	struct m0_net_end_point *ep;
	struct m0_clink clink;

	CHECK_EQ(m0_net_end_point_create(&ep, &tm, "remote"), 0);
	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&tm.ntm_chan, &clink);
	for (int queue = 0; queue < M0_NET_QT_NR; queue++) {
		struct m0_net_buffer *nb = &buffers[queue];
		bool sends = queue == M0_NET_QT_MSG_SEND, passive = M0_IN(queue, (M0_NET_QT_PASSIVE_BULK_RECV, M0_NET_QT_PASSIVE_BULK_SEND));
		struct m0_net_qstats stats;

		prepare(nb, queue, ep);
		/* A buffer that the transport refuses is neither queued nor counted. */
		result = -ENOSPC;
		CHECK_EQ(m0_net_buffer_add(nb, &tm), -ENOSPC);
		CHECK_EQ(nb->nb_flags, M0_NET_BUF_REGISTERED);
		CHECK_EQ(m0_ref_read(&ep->nep_ref), 1);
		CHECK(!passive || nb->nb_desc.nbd_len == 0);
		CHECK(m0_net_tm_tlist_is_empty(&tm.ntm_q[queue]));

		CHECK_EQ(m0_net_buffer_add(nb, &tm), 0);
		CHECK_EQ(nb->nb_flags, M0_NET_BUF_REGISTERED | M0_NET_BUF_QUEUED);
		CHECK_EQ(m0_ref_read(&ep->nep_ref), sends ? 2 : 1);
		CHECK(!passive || nb->nb_desc.nbd_len == 8);
		CHECK(nb->nb_tm == &tm && nb->nb_add_time <= m0_time_now());
		CHECK_EQ(m0_net_tm_tlist_length(&tm.ntm_q[queue]), 1);
		if (queue == M0_NET_QT_MSG_RECV)
			m0_net_end_point_get(ep);
		post(nb, 0, queue == M0_NET_QT_MSG_RECV ? ep : NULL);
		CHECK_EQ(events[queue], 1);
		CHECK(last.nbe_buffer == nb && last.nbe_status == 0);
		CHECK_EQ(nb->nb_flags, M0_NET_BUF_REGISTERED);
		CHECK_EQ(m0_ref_read(&ep->nep_ref), 1);
		CHECK(m0_net_tm_tlist_is_empty(&tm.ntm_q[queue]));
		CHECK(m0_chan_trywait(&clink) && !m0_chan_trywait(&clink));

		/* When a buffer is deleted, the transport marks it and reports an event. */
		if (passive)
			m0_net_desc_free(&nb->nb_desc);
		prepare(nb, queue, ep);
		CHECK(!m0_net_buffer_del(nb, &tm));
		CHECK_EQ(m0_net_buffer_add(nb, &tm), 0);
		CHECK(m0_net_buffer_del(nb, &tm));
		post(nb, -ECANCELED, NULL);
		CHECK_EQ(events[queue], 2);
		CHECK_EQ(last.nbe_status, -ECANCELED);
		CHECK_EQ(m0_ref_read(&ep->nep_ref), 1);
		m0_chan_wait(&clink);
		m0_net_tm_stats_get(&tm, queue, &stats, true);
		CHECK_EQ(stats.nqs_num_adds, 2);
		CHECK_EQ(stats.nqs_num_dels, 1);
		CHECK_EQ(stats.nqs_num_s_events, 1);
		CHECK_EQ(stats.nqs_num_f_events, 1);
		CHECK_EQ(stats.nqs_total_bytes, queue % 2 == 0 ? 100 : 1000);
		CHECK_EQ(stats.nqs_max_bytes, stats.nqs_total_bytes);
		m0_net_desc_free(&nb->nb_desc);
	}
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
	m0_net_end_point_put(ep);
	CHECK_EQ(calls[BUF_ADD], 3 * M0_NET_QT_NR);
	CHECK_EQ(calls[BUF_DEL], M0_NET_QT_NR);
}

/* Tests RETAIN, which marks an event after which the buffer stays queued. */
static void a_buffer_that_is_retained_stays_queued_until_the_last_event(void)
{
	struct m0_net_buffer *nb = &buffers[0];
	struct m0_net_end_point *ep;

	CHECK_EQ(m0_net_end_point_create(&ep, &tm, "remote"), 0);
	prepare(nb, M0_NET_QT_MSG_RECV, NULL);
	nb->nb_timeout = m0_time_from_now(3600, 0);
	CHECK_EQ(m0_net_buffer_add(nb, &tm), 0);
	for (int i = 1; i <= 2; i++) {
		m0_mutex_lock(&tm.ntm_mutex);
		if (i == 1)
			nb->nb_flags |= M0_NET_BUF_RETAIN;
		m0_mutex_unlock(&tm.ntm_mutex);
		m0_net_end_point_get(ep);
		post(nb, 0, ep);
		CHECK_EQ(nb->nb_msgs_received, i);
		CHECK_EQ(last_flags, M0_NET_BUF_REGISTERED | (i == 1 ? M0_NET_BUF_QUEUED : 0));
		CHECK_EQ(nb->nb_timeout == M0_TIME_NEVER, i == 2);
		CHECK_EQ(m0_ref_read(&ep->nep_ref), 1);
	}
	m0_net_end_point_put(ep);
}

static void delivery_by_the_program(void)
{
	struct m0_mutex guard = { .m_owner = 0 };
	struct m0_chan chan;

	m0_mutex_init(&guard);
	m0_chan_init(&chan, &guard);
	chan_given = &chan;
	CHECK(m0_net_buffer_event_pending(&tm));
	m0_net_buffer_event_deliver_all(&tm);
	m0_net_buffer_event_notify(&tm, &chan);
	CHECK(calls[PENDING] == 1 && calls[DELIVER_ALL] == 1 && calls[NOTIFY] == 1);
	m0_chan_fini_lock(&chan);
	m0_mutex_fini(&guard);
}

/* ---- buffers of a pool, at the end of a transfer machine ---- */

static struct m0_net_buffer_pool pool;
static bool pool_was_full;

static void nothing(struct m0_net_buffer_pool *it)
{
	(void)it;
}

static const struct m0_net_buffer_pool_ops pool_ops = { nothing, nothing };

static void look_at_the_pool(const struct m0_net_tm_event *ev)
{
	if (M0_IN(ev->nte_next_state, (M0_NET_TM_STOPPED, M0_NET_TM_FAILED))) {
		m0_net_buffer_pool_lock(&pool);
		pool_was_full = pool.nbp_free == pool.nbp_buf_nr && m0_net_buffer_pool_invariant(&pool);
		m0_net_buffer_pool_unlock(&pool);
	}
}

static void end_quietly(const struct m0_net_buffer_event *ev)
{
	(void)ev;
}

static const struct m0_net_tm_callbacks looking_callbacks = { .ntc_event_cb = look_at_the_pool };
static const struct m0_net_buffer_callbacks quiet_callbacks = { .nbc_cb = { [M0_NET_QT_MSG_RECV] = end_quietly } };

/* Tests that stopping a machine cancels the buffers of its pool, with and without `abort`, and that those which the
 * transport leaves queued are back in the pool before the event. The same holds when the machine fails. A buffer of
 * the program is not touched. */
static void buffers_of_a_pool_are_back_before_a_machine_is_stopped_or_failed(void)
{
	static enum m0_net_tm_state ends[] = { M0_NET_TM_STOPPED, M0_NET_TM_FAILED };
	static struct m0_net_transfer_mc other;
	struct m0_net_buffer *own = &buffers[0];

	CHECK_EQ(m0_net_buffer_pool_init(&pool, &dom, 1, 4, 1024, 2, 12, false), 0);
	pool.nbp_ops = &pool_ops;
	m0_net_buffer_pool_lock(&pool);
	CHECK_EQ(m0_net_buffer_pool_provision(&pool, 3), 3);
	m0_net_buffer_pool_unlock(&pool);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		int deleted = calls[BUF_DEL];
		struct m0_net_tm_event ev = { .nte_type = M0_NET_TEV_STATE_CHANGE, .nte_tm = &other, .nte_time = m0_time_now() };

		other.ntm_callbacks = &looking_callbacks;
		CHECK_EQ(m0_net_tm_init(&other, &dom), 0);
		CHECK_EQ(m0_net_tm_pool_attach(&other, &pool, &quiet_callbacks, 100, 1, 3), 0);
		m0_net_tm_colour_set(&other, 1);
		other.ntm_state = M0_NET_TM_STARTING;
		ev.nte_next_state = M0_NET_TM_STARTED;
		m0_mutex_lock(&other.ntm_mutex);
		CHECK_EQ(fake_end_point_create(&ev.nte_ep, &other, "own"), 0);
		m0_mutex_unlock(&other.ntm_mutex);
		m0_net_tm_event_post(&ev);
		CHECK_EQ(m0_net_tm_tlist_length(&other.ntm_q[M0_NET_QT_MSG_RECV]), 3);
		CHECK_EQ(pool.nbp_free, 0);
		prepare(own, M0_NET_QT_MSG_RECV, NULL);
		own->nb_callbacks = &quiet_callbacks;
		CHECK_EQ(m0_net_buffer_add(own, &other), 0);

		stop_posts = false;
		if (ends[i] == M0_NET_TM_STOPPED) {
			CHECK_EQ(m0_net_tm_stop(&other, false), 0);
			CHECK_EQ(calls[BUF_DEL], deleted + 3);
			CHECK((own->nb_flags & M0_NET_BUF_CANCELLED) == 0);
		}
		stop_posts = true;
		pool_was_full = false;
		ev.nte_next_state = ends[i];
		m0_net_tm_event_post(&ev);
		CHECK(pool_was_full);
		CHECK_EQ(m0_net_tm_tlist_length(&pool.nbp_colours[1]), 3);
		CHECK_EQ(m0_net_tm_tlist_length(&other.ntm_q[M0_NET_QT_MSG_RECV]), 1);
		CHECK_EQ(other.ntm_state, ends[i]);
		CHECK_EQ(m0_atomic64_get(&other.ntm_recv_queue_deficit), 0);
		post(own, -ECANCELED, NULL);
		m0_net_tm_fini(&other);
	}
	m0_net_buffer_pool_fini(&pool);
}

static void the_end(void)
{
	int finalised = calls[TM_FINI], deregistered = calls[BUF_DEREGISTER];
	struct m0_clink clink;

	result = -EBUSY;
	CHECK_EQ(m0_net_tm_stop(&tm, false), -EBUSY);
	CHECK_EQ(tm.ntm_state, M0_NET_TM_STARTED);
	CHECK(!abort_given);
	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&tm.ntm_chan, &clink);
	CHECK_EQ(m0_net_tm_stop(&tm, true), 0);
	m0_chan_wait(&clink);
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
	CHECK(abort_given);
	m0_thread_join(&poster);
	m0_thread_fini(&poster);
	CHECK_EQ(tm.ntm_state, M0_NET_TM_STOPPED);
	CHECK_EQ(states[M0_NET_TM_STOPPED], 1);
	CHECK_EQ(m0_ref_read(&tm.ntm_ep->nep_ref), 1);
	m0_net_tm_fini(&tm);
	CHECK_EQ(calls[TM_FINI], finalised + 1);
	for (int i = 0; i < M0_NET_QT_NR; i++) {
		m0_net_buffer_deregister(&buffers[i], &dom);
		CHECK(buffers[i].nb_dom == NULL && buffers[i].nb_flags == 0);
		m0_bufvec_free(&buffers[i].nb_buffer);
	}
	CHECK_EQ(calls[BUF_DEREGISTER], deregistered + M0_NET_QT_NR);
	m0_net_domain_fini(&dom);
	CHECK_EQ(calls[DOM_FINI], 1);
}

int main(void)
{
	alarm(300);
	CHECK_EQ(m0_init(NULL), 0);
	domains_and_their_limits();
	buffers_are_registered();
	a_transfer_machine_starts();
	every_queue_adds_and_completes_once();
	a_buffer_that_is_retained_stays_queued_until_the_last_event();
	delivery_by_the_program();
	buffers_of_a_pool_are_back_before_a_machine_is_stopped_or_failed();
	the_end();
	m0_fini();
	return failures != 0;
}
