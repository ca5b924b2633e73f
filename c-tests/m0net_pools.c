/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests buffer pools, and transfer machines that take their receive buffers from them: acceptance cases 27 to 29. */
#include "m0net_rig.h"

static int not_empty_calls, below_threshold_calls;

static void count_not_empty(struct m0_net_buffer_pool *pool)
{
	CHECK(m0_net_buffer_pool_is_locked(pool));
	not_empty_calls++;
}

static void count_below_threshold(struct m0_net_buffer_pool *pool)
{
	CHECK(m0_net_buffer_pool_is_locked(pool) && pool->nbp_free < pool->nbp_threshold);
	below_threshold_calls++;
}

static const struct m0_net_buffer_pool_ops counting_ops = { count_not_empty, count_below_threshold };

/* ---- the pool alone ---- */

static void a_pool_gives_takes_grows_and_shrinks(void)
{
	static struct m0_net_domain dom;
	static struct m0_net_buffer_pool pool;
	struct m0_net_buffer *nb, *first, *other;

	CHECK_EQ(m0_net_domain_init(&dom, &m0_net_lnet_xprt), 0);
	CHECK_EQ(m0_net_buffer_pool_init(&pool, &dom, M0_NET_BUFFER_POOL_THRESHOLD, 64, SEGMENT, 10, 12, false), 0);
	pool.nbp_ops = &counting_ops;
	CHECK(m0_net_buffer_pool_is_not_locked(&pool));
	m0_net_buffer_pool_lock(&pool);
	CHECK(m0_net_buffer_pool_is_locked(&pool) && m0_net_buffer_pool_get(&pool, M0_BUFFER_ANY_COLOUR) == NULL);
	CHECK_EQ(m0_net_buffer_pool_provision(&pool, 10), 10);
	CHECK_EQ(not_empty_calls, 1);
	CHECK(pool.nbp_free == 10 && pool.nbp_buf_nr == 10 && m0_net_buffer_pool_invariant(&pool));
	CHECK_EQ(m0_list_length(&dom.nd_registered_bufs), 10);

	/* A buffer without a colour. */
	nb = m0_net_buffer_pool_get(&pool, M0_BUFFER_ANY_COLOUR);
	CHECK(nb != NULL && nb->nb_pool == &pool && pool.nbp_free == 9 && m0_net_buffer_pool_invariant(&pool));
	CHECK_EQ(m0_vec_count(&nb->nb_buffer.ov_vec), 64 * SEGMENT);
	CHECK((uintptr_t)nb->nb_buffer.ov_buf[63] % SEGMENT == 0);
	m0_net_buffer_pool_put(&pool, nb, M0_BUFFER_ANY_COLOUR);
	CHECK_EQ(pool.nbp_free, 10);

	/*
	 * With a colour: the buffer that was last put back with this colour comes first, although it was put back
	 * most recently.
	 */
	nb = m0_net_buffer_pool_get(&pool, 3);
	first = m0_net_buffer_pool_get(&pool, 3);
	m0_net_buffer_pool_put(&pool, first, 3);
	m0_net_buffer_pool_put(&pool, nb, 3);
	CHECK(m0_net_tm_tlist_head(&pool.nbp_colours[3]) == nb);
	CHECK_EQ(m0_net_tm_tlist_length(&pool.nbp_colours[3]), 2);
	CHECK(m0_net_buffer_pool_invariant(&pool));
	CHECK(m0_net_buffer_pool_get(&pool, 3) == nb);
	CHECK(m0_net_buffer_pool_get(&pool, 3) == first);
	/* With another colour: the pool returns a buffer without a colour. */
	m0_net_buffer_pool_put(&pool, nb, 3);
	other = m0_net_buffer_pool_get(&pool, 4);
	CHECK(other != NULL && other != nb);
	CHECK_EQ(pool.nbp_free, 8);
	CHECK(m0_net_buffer_pool_get(&pool, 3) == nb);
	CHECK_EQ(below_threshold_calls, 0);

	/* Takes the remaining buffers, and puts them back. */
	{
		struct m0_net_buffer *taken[7];

		for (int i = 0; i < 7; i++)
			taken[i] = m0_net_buffer_pool_get(&pool, i);
		CHECK_EQ(pool.nbp_free, 0);
		CHECK_EQ(below_threshold_calls, 2);
		CHECK(m0_net_buffer_pool_get(&pool, 0) == NULL);
		for (int i = 0; i < 7; i++)
			m0_net_buffer_pool_put(&pool, taken[i], i);
	}
	CHECK_EQ(not_empty_calls, 2);
	CHECK_EQ(pool.nbp_free, 7);

	/* The pool grows by one buffer, and one is freed. */
	CHECK_EQ(m0_net_buffer_pool_provision(&pool, 1), 1);
	CHECK(pool.nbp_buf_nr == 11 && pool.nbp_free == 8);
	CHECK(m0_net_buffer_pool_prune(&pool));
	CHECK(pool.nbp_buf_nr == 10 && pool.nbp_free == 7 && m0_net_buffer_pool_invariant(&pool));
	m0_net_buffer_pool_put(&pool, nb, M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_put(&pool, first, 9);
	m0_net_buffer_pool_put(&pool, other, 4);
	m0_net_buffer_pool_unlock(&pool);
	CHECK_EQ(pool.nbp_free, 10);
	m0_net_buffer_pool_fini(&pool);
	m0_net_domain_fini(&dom);
}

static void a_pool_is_not_pruned_below_its_threshold(void)
{
	static struct m0_net_domain dom;
	static struct m0_net_buffer_pool pool;

	CHECK_EQ(m0_net_domain_init(&dom, &m0_net_lnet_xprt), 0);
	CHECK_EQ(m0_net_buffer_pool_init(&pool, &dom, 2, 1, SEGMENT, 1, 12, true), 0);
	pool.nbp_ops = &counting_ops;
	m0_net_buffer_pool_lock(&pool);
	CHECK_EQ(m0_net_buffer_pool_provision(&pool, 3), 3);
	CHECK(m0_net_buffer_pool_prune(&pool) && !m0_net_buffer_pool_prune(&pool));
	CHECK(pool.nbp_free == 2 && pool.nbp_buf_nr == 2);
	m0_net_buffer_pool_unlock(&pool);
	m0_net_buffer_pool_fini(&pool);
	CHECK(m0_list_is_empty(&dom.nd_registered_bufs));
	m0_net_domain_fini(&dom);
}

static void a_pool_of_buffers_that_the_domain_does_not_permit_is_refused(void)
{
	static struct m0_net_domain dom;
	static struct m0_net_buffer_pool pool;

	CHECK_EQ(m0_net_domain_init(&dom, &m0_net_lnet_xprt), 0);
	CHECK_EQ(m0_net_buffer_pool_init(&pool, &dom, 2, 257, SEGMENT, 1, 12, true), -EINVAL);
	CHECK_EQ(m0_net_buffer_pool_init(&pool, &dom, 2, 0, SEGMENT, 1, 12, true), -EINVAL);
	CHECK_EQ(m0_net_buffer_pool_init(&pool, &dom, 2, 1, 2 * SEGMENT, 1, 12, true), -EINVAL);
	m0_net_domain_fini(&dom);
}

/* ---- transfer machines that take from a pool ---- */

enum { COLOURS = 5, MESSAGE = 100 };

static struct m0_net_buffer_pool pool;

static void give_up(struct m0_net_buffer_pool *it)
{
	(void)it;
}

static const struct m0_net_buffer_pool_ops provisioning_ops = { m0_net_domain_buffer_pool_not_empty, give_up };

/* Puts the buffer back into the pool when it is no longer queued. */
static void on_message(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	struct m0_net_transfer_mc *tm = nb->nb_tm;
	bool queued = (nb->nb_flags & M0_NET_BUF_QUEUED) != 0;

	on_buffer_event(ev);
	if (!queued) {
		CHECK(nb->nb_pool == &pool);
		m0_net_buffer_pool_lock(&pool);
		m0_net_buffer_pool_put(&pool, nb, tm->ntm_pool_colour);
		m0_net_buffer_pool_unlock(&pool);
	}
}

static const struct m0_net_buffer_callbacks pool_callbacks = { .nbc_cb = { on_message } };

static uint32_t queued_when_started;

static void look_at_the_queue(struct side *side, const struct m0_net_tm_event *ev)
{
	if (ev->nte_next_state == M0_NET_TM_STARTED)
		queued_when_started = m0_net_tm_tlist_length(&side->tm.ntm_q[M0_NET_QT_MSG_RECV]);
	/* All buffers are back in the pool before the event. */
	if (ev->nte_next_state == M0_NET_TM_STOPPED)
		CHECK(m0_net_tm_tlist_is_empty(&side->tm.ntm_q[M0_NET_QT_MSG_RECV]));
}

static void side_with_pool(struct side *side, struct m0_net_domain *dom, uint32_t colour, uint32_t length)
{
	memset(side, 0, sizeof(*side));
	pthread_mutex_init(&side->lock, NULL);
	pthread_cond_init(&side->more, NULL);
	side->on_state = look_at_the_queue;
	side->tm.ntm_callbacks = &tm_callbacks;
	CHECK_EQ(m0_net_tm_init(&side->tm, dom), 0);
	CHECK_EQ(m0_net_tm_pool_attach(&side->tm, &pool, &pool_callbacks, MESSAGE, 4, length), 0);
	CHECK(m0_net_tm_colour_get(&side->tm) == (uint32_t)M0_BUFFER_ANY_COLOUR);
	m0_net_tm_colour_set(&side->tm, colour);
	CHECK_EQ(m0_net_tm_colour_get(&side->tm), colour);
	CHECK_EQ(m0_atomic64_get(&side->tm.ntm_recv_queue_deficit), 0);
}

static int64_t deficit(struct side *side)
{
	return m0_atomic64_get(&side->tm.ntm_recv_queue_deficit);
}

static uint32_t queue_length(struct side *side)
{
	uint32_t length;

	m0_mutex_lock(&side->tm.ntm_mutex);
	length = m0_net_tm_tlist_length(&side->tm.ntm_q[M0_NET_QT_MSG_RECV]);
	m0_mutex_unlock(&side->tm.ntm_mutex);
	return length;
}

static uint32_t free_buffers(void)
{
	uint32_t count;

	m0_net_buffer_pool_lock(&pool);
	count = pool.nbp_free;
	CHECK(m0_net_buffer_pool_invariant(&pool));
	m0_net_buffer_pool_unlock(&pool);
	return count;
}

static int provision(uint32_t count)
{
	int made;

	m0_net_buffer_pool_lock(&pool);
	made = m0_net_buffer_pool_provision(&pool, count);
	m0_net_buffer_pool_unlock(&pool);
	return made;
}

static void receive_queues_are_kept_at_their_length_from_a_pool(void)
{
	static struct side rig, one, two;
	char addr[M0_NET_LNET_XEP_ADDR_LEN];
	struct m0_net_domain *dom = &rig.dom, other = { .nd_xprt = NULL };
	struct m0_net_end_point *ep;

	side_init(&rig);
	CHECK_EQ(m0_net_buffer_pool_init(&pool, dom, 2, 4, SEGMENT, COLOURS, 12, false), 0);
	pool.nbp_ops = &provisioning_ops;
	CHECK_EQ(provision(8), 8);

	/* A pool of another domain is refused. */
	CHECK_EQ(m0_net_domain_init(&other, &m0_net_lnet_xprt), 0);
	CHECK_EQ(m0_net_tm_init(&two.tm, (two.tm.ntm_callbacks = &tm_callbacks, &other)), 0);
	CHECK_EQ(m0_net_tm_pool_attach(&two.tm, &pool, &pool_callbacks, MESSAGE, 4, 2), -EINVAL);
	m0_net_tm_fini(&two.tm);
	m0_net_domain_fini(&other);

	side_with_pool(&one, dom, 1, 2);
	CHECK_EQ(one.tm.ntm_recv_queue_min_length, M0_NET_TM_RECV_QUEUE_DEF_LEN);
	m0_net_tm_pool_length_set(&one.tm, 1);
	CHECK_EQ(one.tm.ntm_recv_queue_min_length, 2);
	queued_when_started = ~0U;
	snprintf(addr, sizeof(addr), "%s", own_addr(&rig, PORTAL, "*"));
	side_start(&one, addr);
	CHECK_EQ(queued_when_started, 0);
	CHECK_EQ(queue_length(&one), 2);
	CHECK_EQ(free_buffers(), 6);

	m0_net_tm_pool_length_set(&one.tm, 4);
	CHECK_EQ(queue_length(&one), 4);
	CHECK(free_buffers() == 4 && deficit(&one) == 0);
	m0_net_tm_pool_length_set(&one.tm, 10);
	CHECK(free_buffers() == 0 && deficit(&one) == 2);
	CHECK_EQ(stats_of(&one, M0_NET_QT_MSG_RECV).nqs_num_f_events, 2);
	CHECK_EQ(provision(2), 2);
	CHECK(free_buffers() == 0 && deficit(&one) == 0 && queue_length(&one) == 10);

	/* A second transfer machine uses the pool, which is empty. */
	side_with_pool(&two, dom, 2, 2);
	side_start(&two, addr);
	CHECK(queue_length(&two) == 0 && deficit(&two) == 2);
	m0_net_tm_pool_length_set(&one.tm, 13);
	CHECK_EQ(deficit(&one), 3);
	CHECK_EQ(provision(6), 6);
	CHECK(deficit(&one) == 0 && deficit(&two) == 0 && free_buffers() == 1);
	CHECK(queue_length(&one) == 13 && queue_length(&two) == 2);

	/* A smaller length returns no buffers to the pool. */
	m0_net_tm_pool_length_set(&one.tm, 4);
	CHECK(queue_length(&one) == 13 && deficit(&one) == 0 && one.tm.ntm_recv_queue_min_length == 4);

	/*
	 * Four messages fill a buffer. It is replaced before the last callback, and returns to the pool with its
	 * colour.
	 */
	side_buffer(&rig, 0, 1);
	side_start(&rig, addr);
	ep = end_point(&rig, two.tm.ntm_ep->nep_addr);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(send_message(&rig, &rig.buffers[0], ep, MESSAGE), 0);
		await_events(&rig, i + 1);
		CHECK_EQ(event_of(&two, i)->status, 0);
		CHECK_EQ(two.events[i].queued, i < 3);
		CHECK(strcmp(two.events[i].from, rig.tm.ntm_ep->nep_addr) == 0);
	}
	await_idle(&two);
	CHECK(queue_length(&two) == 2 && free_buffers() == 1);
	CHECK_EQ(m0_net_tm_tlist_length(&pool.nbp_colours[2]), 1);
	m0_net_end_point_put(ep);

	/* A stop without an abort also returns the buffers to the pool before its event. */
	side_stop(&two, false);
	CHECK(free_buffers() == 3 && deficit(&two) == 0);
	side_stop(&one, true);
	CHECK(free_buffers() == 16 && deficit(&one) == 0);
	m0_net_tm_fini(&one.tm);
	m0_net_tm_fini(&two.tm);
	side_stop(&rig, false);
	m0_net_tm_fini(&rig.tm);
	m0_net_buffer_pool_fini(&pool);
	side_fini(&rig);
}

/* ---- the pool is exhausted by messages, and filled by those who have finished with them ---- */

static struct m0_net_buffer *kept[MOST_EVENTS];
static int kept_count;

/* The program keeps the buffers that it received. */
static void keep(const struct m0_net_buffer_event *ev)
{
	struct side *side = container_of(ev->nbe_buffer->nb_tm, struct side, tm);

	pthread_mutex_lock(&side->lock);
	kept[kept_count++] = ev->nbe_buffer;
	pthread_mutex_unlock(&side->lock);
	on_buffer_event(ev);
}

static const struct m0_net_buffer_callbacks keeping_callbacks = { .nbc_cb = { keep } };

static void put_kept(void)
{
	for (int i = 0; i < kept_count; i++) {
		m0_net_buffer_pool_lock(&pool);
		m0_net_buffer_pool_put(&pool, kept[i], M0_BUFFER_ANY_COLOUR);
		m0_net_buffer_pool_unlock(&pool);
	}
	kept_count = 0;
}

static void a_machine_without_buffers_gets_some_when_the_pool_has_some_again(void)
{
	static struct side rig;
	struct m0_net_end_point *self;

	side_init(&rig);
	CHECK_EQ(m0_net_buffer_pool_init(&pool, &rig.dom, 1, 1, SEGMENT, 1, 12, false), 0);
	pool.nbp_ops = &provisioning_ops;
	CHECK_EQ(provision(3), 3);
	CHECK_EQ(m0_net_tm_pool_attach(&rig.tm, &pool, &keeping_callbacks, SEGMENT, 1, 2), 0);
	side_buffer(&rig, 0, 1);
	side_start(&rig, own_addr(&rig, PORTAL, "*"));
	self = end_point(&rig, rig.tm.ntm_ep->nep_addr);
	for (int round = 0; round < 3; round++) {
		int before = rig.count;

		/* Three buffers, three messages, each with its SEND event. */
		for (int i = 1; i <= 3; i++) {
			CHECK_EQ(send_message(&rig, &rig.buffers[0], self, 10), 0);
			await_events(&rig, before + 2 * i);
		}
		await_idle(&rig);
		CHECK_EQ(deficit(&rig), 2);
		CHECK_EQ(kept_count, 3);
		put_kept();
		CHECK(deficit(&rig) == 0 && queue_length(&rig) == 2 && free_buffers() == 1);
	}
	m0_net_end_point_put(self);
	side_stop(&rig, false);
	put_kept();
	CHECK_EQ(free_buffers(), 3);
	m0_net_tm_fini(&rig.tm);
	m0_net_buffer_pool_fini(&pool);
	side_fini(&rig);
}

/* ---- pools whose callbacks do more ---- */

static bool grows;

static void grow(struct m0_net_buffer_pool *it)
{
	/* The buffers that this callback adds are taken at once, one by one. */
	if (grows)
		return;
	grows = true;
	CHECK_EQ(m0_net_buffer_pool_provision(it, 3), 3);
	grows = false;
}

static const struct m0_net_buffer_pool_ops growing_ops = { m0_net_domain_buffer_pool_not_empty, grow };

/* Tests both cases: a machine takes buffers, and a buffer is put back while a machine lacks some. */
static void a_pool_grows_in_the_callback_for_its_threshold(void)
{
	static struct side rig, one;

	side_init(&rig);
	CHECK_EQ(m0_net_buffer_pool_init(&pool, &rig.dom, 2, 1, SEGMENT, COLOURS, 12, false), 0);
	pool.nbp_ops = &growing_ops;
	CHECK_EQ(provision(2), 2);
	side_with_pool(&one, &rig.dom, 1, 2);
	side_start(&one, own_addr(&rig, PORTAL, "*"));
	CHECK(queue_length(&one) == 2 && free_buffers() == 3 && pool.nbp_buf_nr == 5);
	/* More buffers than the pool has: those that the callback adds go to the machine too. */
	m0_net_tm_pool_length_set(&one.tm, 20);
	CHECK(queue_length(&one) == 8 && free_buffers() == 0 && pool.nbp_buf_nr == 8);
	CHECK_EQ(deficit(&one), 12);
	side_stop(&one, true);
	m0_net_tm_fini(&one.tm);
	m0_net_tm_fini(&rig.tm);
	m0_net_buffer_pool_fini(&pool);
	side_fini(&rig);
}

static struct m0_net_buffer_pool second_pool;
static struct m0_net_buffer *for_second_pool;

static void fill_the_second_pool_too(struct m0_net_buffer_pool *it)
{
	m0_net_domain_buffer_pool_not_empty(it);
	if (for_second_pool == NULL)
		return;
	m0_net_buffer_pool_lock(&second_pool);
	m0_net_buffer_pool_put(&second_pool, for_second_pool, M0_BUFFER_ANY_COLOUR);
	for_second_pool = NULL;
	m0_net_buffer_pool_unlock(&second_pool);
}

static const struct m0_net_buffer_pool_ops outer_ops = { fill_the_second_pool_too, give_up };

static void a_buffer_put_in_the_callback_of_another_pool_is_provisioned_too(void)
{
	static struct side rig, one, two;
	struct m0_net_buffer *of_first;
	char addr[M0_NET_LNET_XEP_ADDR_LEN];

	side_init(&rig);
	CHECK_EQ(m0_net_buffer_pool_init(&pool, &rig.dom, 0, 1, SEGMENT, COLOURS, 12, false), 0);
	CHECK_EQ(m0_net_buffer_pool_init(&second_pool, &rig.dom, 0, 1, SEGMENT, COLOURS, 12, false), 0);
	pool.nbp_ops = &outer_ops;
	second_pool.nbp_ops = &provisioning_ops;
	for_second_pool = NULL;
	CHECK_EQ(provision(1), 1);
	m0_net_buffer_pool_lock(&pool);
	of_first = m0_net_buffer_pool_get(&pool, M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_unlock(&pool);
	m0_net_buffer_pool_lock(&second_pool);
	CHECK_EQ(m0_net_buffer_pool_provision(&second_pool, 1), 1);
	for_second_pool = m0_net_buffer_pool_get(&second_pool, M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_unlock(&second_pool);
	side_with_pool(&one, &rig.dom, 1, 2);
	side_with_pool(&two, &rig.dom, 2, 2);
	CHECK_EQ(m0_net_tm_pool_attach(&two.tm, &second_pool, &keeping_callbacks, MESSAGE, 4, 2), 0);
	snprintf(addr, sizeof(addr), "%s", own_addr(&rig, PORTAL, "*"));
	side_start(&one, addr);
	side_start(&two, addr);
	CHECK(deficit(&one) == 2 && deficit(&two) == 2);
	m0_net_buffer_pool_lock(&pool);
	m0_net_buffer_pool_put(&pool, of_first, M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_unlock(&pool);
	CHECK(deficit(&one) == 1 && deficit(&two) == 1 && queue_length(&one) == 1 && queue_length(&two) == 1);
	kept_count = 0;
	side_stop(&one, true);
	side_stop(&two, true);
	m0_net_tm_fini(&one.tm);
	m0_net_tm_fini(&two.tm);
	m0_net_buffer_pool_lock(&second_pool);
	m0_net_buffer_pool_put(&second_pool, kept[0], M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_unlock(&second_pool);
	CHECK_EQ(kept_count, 1);
	m0_net_tm_fini(&rig.tm);
	m0_net_buffer_pool_fini(&pool);
	m0_net_buffer_pool_fini(&second_pool);
	side_fini(&rig);
}

int main(void)
{
	begin();
	a_pool_is_not_pruned_below_its_threshold();
	a_pool_of_buffers_that_the_domain_does_not_permit_is_refused();
	not_empty_calls = below_threshold_calls = 0;
	a_pool_gives_takes_grows_and_shrinks();
	receive_queues_are_kept_at_their_length_from_a_pool();
	a_machine_without_buffers_gets_some_when_the_pool_has_some_again();
	a_pool_grows_in_the_callback_for_its_threshold();
	a_buffer_put_in_the_callback_of_another_pool_is_provisioned_too();
	return end();
}
