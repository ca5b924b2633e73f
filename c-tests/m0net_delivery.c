/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests events that the program delivers itself, and timeouts: acceptance cases 23 to 25. */
#include "m0net_rig.h"

/* Makes a pair whose first side delivers its events itself. */
static struct pair *pair_synchronous(void)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	pair_init(pair);
	CHECK_EQ(m0_net_buffer_event_deliver_synchronously(&pair->one.tm), 0);
	CHECK(!pair->one.tm.ntm_bev_auto_deliver);
	pair_start(pair);
	return pair;
}

/* Waits on a channel until there are events. */
static void await_pending(struct side *side, struct m0_chan *chan)
{
	struct m0_clink clink;

	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(chan, &clink);
	m0_net_buffer_event_notify(&side->tm, chan);
	m0_chan_wait(&clink);
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
}

/* Delivers events until count events are recorded. */
static void deliver(struct side *side, int count)
{
	while (side->count < count) {
		await_pending(side, &side->tm.ntm_chan);
		CHECK(m0_net_buffer_event_pending(&side->tm));
		m0_net_buffer_event_deliver_all(&side->tm);
	}
}

static void pair_synchronous_end(struct pair *pair)
{
	int expected = pair->one.count;

	for (int i = 0; i < 2; i++)
		expected += m0_net_buffer_del(&pair->one.buffers[i], &pair->one.tm);
	deliver(&pair->one, expected);
	pair_end(pair);
}

static void events_wait_until_the_program_delivers_them(void)
{
	static const m0_bcount_t lengths[] = { 256, 512, 768, 1024 };
	struct pair *pair = pair_synchronous();
	struct side *one = &pair->one, *two = &pair->two;
	struct m0_clink clink;
	m0_bcount_t offset = 0;

	CHECK(!m0_net_buffer_event_pending(&one->tm));
	m0_net_buffer_event_deliver_all(&one->tm);
	CHECK_EQ(one->count, 0);

	receive_messages(one, &one->buffers[0], 1024, 4);
	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&one->tm.ntm_chan, &clink);
	m0_net_buffer_event_notify(&one->tm, &one->tm.ntm_chan);
	for (int i = 0; i < 4; i++) {
		fill(&two->buffers[0], lengths[i], i);
		CHECK_EQ(send_message(two, &two->buffers[0], pair->to_one, lengths[i]), 0);
		CHECK_EQ(event_of(two, i)->status, 0);
	}
	m0_chan_wait(&clink);
	CHECK(!m0_chan_trywait(&clink));
	CHECK_EQ(one->count, 0);
	CHECK(m0_net_buffer_event_pending(&one->tm) && m0_net_buffer_event_pending(&one->tm));
	/* The SEND event occurs when the message has arrived. */
	while (one->count < 4)
		m0_net_buffer_event_deliver_all(&one->tm);
	CHECK(!m0_net_buffer_event_pending(&one->tm));
	for (int i = 0; i < 4; i++) {
		CHECK(pthread_equal(one->events[i].thread, pthread_self()));
		CHECK(!pthread_equal(two->events[i].thread, pthread_self()));
		CHECK_EQ(one->events[i].offset, offset);
		CHECK_EQ(one->events[i].length, lengths[i]);
		CHECK_EQ(one->events[i].queued, i < 3);
		CHECK(is_filled(&one->buffers[0], offset, lengths[i], i));
		offset += lengths[i];
	}
	/* There is one broadcast for the batch. */
	m0_chan_wait(&clink);
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
	pair_synchronous_end(pair);
}

static void a_notification_comes_once_for_each_call_also_for_what_is_pending_already(void)
{
	struct pair *pair = pair_synchronous();
	struct side *one = &pair->one;
	struct m0_mutex guard;
	struct m0_chan chan;
	struct m0_clink clink;

	m0_mutex_init(&guard);
	m0_chan_init(&chan, &guard);
	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&chan, &clink);
	receive_messages(one, &one->buffers[0], SEGMENT, 1);
	CHECK(m0_net_buffer_del(&one->buffers[0], &one->tm));
	for (int i = 0; i < 3; i++) {
		m0_net_buffer_event_notify(&one->tm, &chan);
		m0_chan_wait(&clink);
		CHECK(!m0_chan_trywait(&clink));
		CHECK(m0_net_buffer_event_pending(&one->tm));
	}
	m0_net_buffer_event_deliver_all(&one->tm);
	CHECK_EQ(one->count, 1);
	CHECK_EQ(one->events[0].status, -ECANCELED);

	/* Calls without pending events are allowed, and the second call replaces the first. */
	m0_net_buffer_event_notify(&one->tm, &one->tm.ntm_chan);
	m0_net_buffer_event_notify(&one->tm, &chan);
	CHECK(!m0_chan_trywait(&clink));
	receive_messages(one, &one->buffers[0], SEGMENT, 1);
	CHECK(m0_net_buffer_del(&one->buffers[0], &one->tm));
	m0_chan_wait(&clink);
	m0_net_buffer_event_deliver_all(&one->tm);
	CHECK_EQ(one->count, 2);
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
	m0_chan_fini_lock(&chan);
	pair_synchronous_end(pair);
	m0_mutex_fini(&guard);
}

/* Tests calls while the caller holds the guard of the channel, as programs do that check a condition and then wait. */
static void notify_may_be_called_with_the_channels_guard(void)
{
	struct pair *pair = pair_synchronous();
	struct side *one = &pair->one, *two = &pair->two;
	struct m0_mutex guard;
	struct m0_cond cond;

	m0_mutex_init(&guard);
	m0_cond_init(&cond, &guard);
	receive_messages(one, &one->buffers[0], 100, 30);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(send_message(two, &two->buffers[0], pair->to_one, 50), 0);
		while (one->count <= i) {
			m0_mutex_lock(&guard);
			while (!m0_net_buffer_event_pending(&one->tm)) {
				m0_net_buffer_event_notify(&one->tm, &cond.c_chan);
				m0_cond_wait(&cond);
			}
			m0_mutex_unlock(&guard);
			m0_net_buffer_event_deliver_all(&one->tm);
		}
		await_events(two, i + 1);
	}
	pair_synchronous_end(pair);
	m0_cond_fini(&cond);
	m0_mutex_fini(&guard);
}

/* Tests a case in which Motr's own implementation waits forever. */
static void a_stop_ends_though_events_wait_to_be_delivered(void)
{
	struct pair *pair = pair_synchronous();
	struct side *one = &pair->one;

	receive_messages(one, &one->buffers[0], SEGMENT, 1);
	m0_net_end_point_put(pair->to_two);
	m0_net_end_point_put(pair->to_one);
	CHECK_EQ(m0_net_tm_stop(&one->tm, true), 0);
	while (one->tm.ntm_state == M0_NET_TM_STOPPING && one->count == 0)
		m0_net_buffer_event_deliver_all(&one->tm);
	await_states(one, 2);
	CHECK_EQ(one->states[1].state, M0_NET_TM_STOPPED);
	CHECK_EQ(one->count, 1);
	CHECK_EQ(one->events[0].status, -ECANCELED);
	side_fini(one);
	side_fini(&pair->two);
	free(pair);
}

/* ---- time-outs ---- */

/* Adds a buffer with a deadline 30 ms from now, or later if the machine is too slow for that. Returns the deadline. */
static m0_time_t add_with_deadline(struct side *side, struct m0_net_buffer *nb)
{
	m0_time_t deadline;
	int rc;

	do {
		nb->nb_timeout = deadline = m0_time_from_now(0, 30 * M0_TIME_ONE_MSEC);
		rc = m0_net_buffer_add(nb, &side->tm);
	} while (rc == -ETIME);
	CHECK_EQ(rc, 0);
	return deadline;
}

static void an_operation_that_is_not_done_in_time_times_out(void)
{
	static const enum m0_net_queue_type queues[] = { M0_NET_QT_MSG_RECV, M0_NET_QT_PASSIVE_BULK_RECV,
							 M0_NET_QT_PASSIVE_BULK_SEND };
	struct pair *pair = pair_started();
	struct side *one = &pair->one;
	struct m0_net_buffer *nb = &one->buffers[0];

	for (size_t i = 0; i < LENGTH(queues); i++) {
		m0_time_t deadline;
		struct seen *seen;

		nb->nb_qtype = queues[i];
		nb->nb_length = SEGMENT;
		nb->nb_min_receive_size = SEGMENT;
		nb->nb_max_receive_msgs = 1;
		deadline = add_with_deadline(one, nb);
		seen = event_of(one, i);
		CHECK(m0_time_now() >= deadline);
		CHECK_EQ(seen->status, -ETIMEDOUT);
		CHECK(seen->timeout_is_never && !seen->queued && seen->time >= deadline);
		CHECK_EQ(nb->nb_flags, M0_NET_BUF_REGISTERED);
		CHECK_STATS(one, queues[i], 1, 0, 0, 1);
		CHECK_EQ(stats_of(one, queues[i]).nqs_time_in_queue, seen->time - nb->nb_add_time);
		m0_net_desc_free(&nb->nb_desc);
	}
	pair_end(pair);
}

static void an_active_receive_without_an_answer_times_out(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one, *two = &pair->two;
	struct m0_net_buffer *passive = &one->buffers[0], *active = &two->buffers[0];

	passive->nb_qtype = M0_NET_QT_PASSIVE_BULK_SEND;
	passive->nb_length = 100;
	CHECK_EQ(m0_net_buffer_add(passive, &one->tm), 0);
	CHECK_EQ(m0_net_desc_copy(&passive->nb_desc, &active->nb_desc), 0);
	CHECK(m0_net_buffer_del(passive, &one->tm));
	await_events(one, 1);
	active->nb_qtype = M0_NET_QT_ACTIVE_BULK_RECV;
	add_with_deadline(two, active);
	CHECK(event_of(two, 0)->status < 0);
	m0_net_desc_free(&passive->nb_desc);
	m0_net_desc_free(&active->nb_desc);
	pair_end(pair);
}

static void what_is_done_in_time_does_not_time_out(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one, *two = &pair->two;

	one->buffers[0].nb_timeout = m0_time_from_now(3600, 0);
	receive_messages(one, &one->buffers[0], SEGMENT, 1);
	two->buffers[0].nb_timeout = m0_time_from_now(3600, 0);
	CHECK_EQ(send_message(two, &two->buffers[0], pair->to_one, 10), 0);
	CHECK_EQ(event_of(one, 0)->status, 0);
	CHECK_EQ(event_of(two, 0)->status, 0);
	CHECK(one->events[0].timeout_is_never && two->events[0].timeout_is_never);
	pair_end(pair);
}

static void a_deadline_that_is_over_is_refused(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one;
	struct m0_net_buffer *nb = &one->buffers[0];
	const m0_time_t past[] = { M0_TIME_IMMEDIATELY, 1, m0_time_now() };

	for (size_t i = 0; i < LENGTH(past); i++) {
		nb->nb_qtype = M0_NET_QT_MSG_RECV;
		nb->nb_min_receive_size = SEGMENT;
		nb->nb_max_receive_msgs = 1;
		nb->nb_timeout = past[i];
		CHECK_EQ(m0_net_buffer_add(nb, &one->tm), -ETIME);
		CHECK((nb->nb_flags & M0_NET_BUF_QUEUED) == 0);
	}
	CHECK_STATS(one, M0_NET_QT_MSG_RECV, 0, 0, 0, 0);
	nb->nb_timeout = M0_TIME_NEVER;
	pair_end(pair);
}

static bool is_timed_out(struct side *side, struct m0_net_buffer *nb)
{
	bool is_so;

	m0_mutex_lock(&side->tm.ntm_mutex);
	is_so = (nb->nb_flags & M0_NET_BUF_TIMED_OUT) != 0;
	m0_mutex_unlock(&side->tm.ntm_mutex);
	return is_so;
}

/* Tests a message that arrives before the deadline and is delivered after it: the buffer has timed out. */
static void a_buffer_times_out_though_it_has_a_message_that_was_not_delivered_yet(void)
{
	struct pair *pair = pair_synchronous();
	struct side *one = &pair->one, *two = &pair->two;
	struct m0_net_buffer *nb = &one->buffers[0];

	nb->nb_qtype = M0_NET_QT_MSG_RECV;
	nb->nb_min_receive_size = 100;
	nb->nb_max_receive_msgs = 8;
	nb->nb_timeout = m0_time_from_now(1, 0);
	CHECK_EQ(m0_net_buffer_add(nb, &one->tm), 0);
	CHECK_EQ(send_message(two, &two->buffers[0], pair->to_one, 10), 0);
	await_pending(one, &one->tm.ntm_chan);
	while (!is_timed_out(one, nb))
		m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
	deliver(one, 2);
	CHECK(one->events[0].status == 0 && one->events[0].queued);
	CHECK(one->events[1].status == -ETIMEDOUT && !one->events[1].queued);
	CHECK_EQ(nb->nb_flags, M0_NET_BUF_REGISTERED);
	pair_synchronous_end(pair);
}

int main(void)
{
	begin();
	events_wait_until_the_program_delivers_them();
	a_notification_comes_once_for_each_call_also_for_what_is_pending_already();
	notify_may_be_called_with_the_channels_guard();
	a_stop_ends_though_events_wait_to_be_delivered();
	an_operation_that_is_not_done_in_time_times_out();
	an_active_receive_without_an_answer_times_out();
	what_is_done_in_time_does_not_time_out();
	a_deadline_that_is_over_is_refused();
	a_buffer_times_out_though_it_has_a_message_that_was_not_delivered_yet();
	return end();
}
