/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tests messages: several in one buffer, messages without a receive buffer, cancelling, the number of broadcasts.
 * Acceptance cases 13 to 17.
 */
#include "m0net_rig.h"

static void a_receive_buffer_that_is_deleted_is_cancelled(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one;
	struct seen *seen;

	CHECK(!m0_net_buffer_del(&one->buffers[0], &one->tm));
	receive_messages(one, &one->buffers[0], 4 * SEGMENT, 1);
	CHECK((one->buffers[0].nb_flags & M0_NET_BUF_QUEUED) != 0);
	CHECK(m0_net_tm_tlist_contains(&one->tm.ntm_q[M0_NET_QT_MSG_RECV], &one->buffers[0]));
	CHECK(m0_net_buffer_del(&one->buffers[0], &one->tm));
	seen = event_of(one, 0);
	CHECK_EQ(seen->status, -ECANCELED);
	CHECK(!seen->queued && seen->timeout_is_never && seen->ep == NULL);
	CHECK_EQ(one->buffers[0].nb_flags, M0_NET_BUF_REGISTERED);
	CHECK_STATS(one, M0_NET_QT_MSG_RECV, 1, 1, 0, 1);
	CHECK(!m0_net_buffer_del(&one->buffers[0], &one->tm));
	CHECK_STATS(one, M0_NET_QT_MSG_RECV, 1, 1, 0, 1);
	pair_end(pair);
}

static void a_buffer_receives_as_many_messages_as_it_says(void)
{
	static const m0_bcount_t lengths[] = { 682, 2048, 2048, 2048 };
	struct pair *pair = pair_started();
	struct side *one = &pair->one, *two = &pair->two;
	struct m0_net_buffer *in = &one->buffers[0], *out = &two->buffers[0];
	m0_bcount_t offset = 0;
	struct m0_net_end_point *from = NULL;

	one->keeps_end_points = true;
	receive_messages(one, in, 2048, 4);
	for (int i = 0; i < 4; i++) {
		struct seen *got, *sent;

		fill(out, lengths[i], 10 + i);
		CHECK_EQ(send_message(two, out, pair->to_one, lengths[i]), 0);
		sent = event_of(two, i);
		CHECK_EQ(sent->status, 0);
		CHECK_EQ(sent->queue, M0_NET_QT_MSG_SEND);
		CHECK(!sent->queued);
		got = event_of(one, i);
		CHECK_EQ(got->status, 0);
		CHECK_EQ(got->offset, offset);
		CHECK_EQ(got->length, lengths[i]);
		CHECK_EQ(got->received, i + 1);
		CHECK_EQ(got->queued, i < 3);
		CHECK_STR(got->from, two->tm.ntm_ep->nep_addr);
		CHECK(is_filled(in, offset, lengths[i], 10 + i));
		from = got->ep;
		CHECK(from == one->events[0].ep);
		offset += lengths[i];
	}
	CHECK_EQ(in->nb_msgs_received, 4);
	/* The references are those that the callbacks took, and one of the pair. */
	CHECK(from == pair->to_two);
	await_idle(one);
	CHECK_EQ(m0_ref_read(&from->nep_ref), 5);
	for (int i = 0; i < 4; i++)
		m0_net_end_point_put(from);
	CHECK_STATS(one, M0_NET_QT_MSG_RECV, 1, 0, 4, 0);
	CHECK_STATS(two, M0_NET_QT_MSG_SEND, 4, 0, 4, 0);
	CHECK_EQ(stats_of(one, M0_NET_QT_MSG_RECV).nqs_total_bytes, offset);
	CHECK_EQ(stats_of(one, M0_NET_QT_MSG_RECV).nqs_max_bytes, 2048);
	CHECK_EQ(stats_of(two, M0_NET_QT_MSG_SEND).nqs_total_bytes, offset);
	pair_end(pair);
}

static void a_buffer_receives_until_its_room_is_used_up(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one, *two = &pair->two;

	receive_messages(one, &one->buffers[0], 2048, 100);
	for (int i = 0; i < 8; i++) {
		CHECK_EQ(send_message(two, &two->buffers[0], pair->to_one, 2048), 0);
		await_events(two, i + 1);
		CHECK_EQ(event_of(one, i)->offset, i * 2048);
		CHECK_EQ(event_of(one, i)->queued, i < 7);
	}
	pair_end(pair);
}

/* Tests a buffer that still has room when it is deleted: there is one more event, without data. */
static void a_buffer_that_has_received_something_is_cancelled_with_one_more_event(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one, *two = &pair->two;

	receive_messages(one, &one->buffers[0], 2048, 4);
	CHECK_EQ(send_message(two, &two->buffers[0], pair->to_one, 2048), 0);
	CHECK(event_of(one, 0)->queued);
	CHECK(m0_net_buffer_del(&one->buffers[0], &one->tm));
	CHECK_EQ(event_of(one, 1)->status, -ECANCELED);
	CHECK(!one->events[1].queued && one->events[1].ep == NULL);
	CHECK_EQ(one->events[1].received, 1);
	CHECK_STATS(one, M0_NET_QT_MSG_RECV, 1, 1, 1, 1);
	pair_end(pair);
}

/* Tests that nb_min_receive_size is also the largest length of a message. */
static void a_message_longer_than_the_least_room_is_dropped(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one, *two = &pair->two;

	receive_messages(one, &one->buffers[0], 1000, 4);
	CHECK_EQ(send_message(two, &two->buffers[0], pair->to_one, 1001), 0);
	CHECK_EQ(event_of(two, 0)->status, 0);
	CHECK_EQ(send_message(two, &two->buffers[0], pair->to_one, 1000), 0);
	CHECK_EQ(event_of(one, 0)->length, 1000);
	CHECK_EQ(one->events[0].offset, 0);
	pair_end(pair);
}

static void a_message_that_nobody_receives_is_sent_all_the_same(void)
{
	struct pair *pair = pair_started();
	struct side *two = &pair->two;
	struct m0_net_buffer *out = &two->buffers[0];
	struct m0_net_end_point *nobody;
	char addr[M0_NET_LNET_XEP_ADDR_LEN];

	/* The receiver has no receive buffer. */
	CHECK_EQ(send_message(two, out, pair->to_one, 100), 0);
	CHECK_EQ(event_of(two, 0)->status, 0);
	CHECK((out->nb_flags & M0_NET_BUF_QUEUED) == 0);
	CHECK_STATS(two, M0_NET_QT_MSG_SEND, 1, 0, 1, 0);

	/* There is no transfer machine at the address. */
	snprintf(addr, sizeof(addr), "%s", own_addr(two, 31, "1024"));
	nobody = end_point(two, addr);
	CHECK_EQ(send_message(two, out, nobody, 100), 0);
	CHECK_EQ(event_of(two, 1)->status, 0);
	await_idle(two);
	CHECK_EQ(m0_ref_read(&nobody->nep_ref), 1);
	m0_net_end_point_put(nobody);
	pair_end(pair);
}

static void readd_buffer(struct side *side, const struct m0_net_buffer_event *ev)
{
	if (ev->nbe_status == 0 && ev->nbe_buffer->nb_qtype == M0_NET_QT_MSG_RECV)
		receive_messages(side, ev->nbe_buffer, SEGMENT, 1);
}

static void a_callback_may_add_its_buffer_again(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one, *two = &pair->two;

	one->on_buffer = readd_buffer;
	receive_messages(one, &one->buffers[0], SEGMENT, 1);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(send_message(two, &two->buffers[0], pair->to_one, i + 1), 0);
		await_events(two, i + 1);
		CHECK_EQ(event_of(one, i)->length, i + 1);
		CHECK_EQ(one->events[i].offset, 0);
	}
	pair_end(pair);
}

/* Tests that each operation causes one broadcast: as many waits end as there were operations. */
static void each_operation_ends_one_wait(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one;
	struct m0_clink clink;

	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&one->tm.ntm_chan, &clink);
	for (int i = 0; i < 10; i++) {
		receive_messages(one, &one->buffers[0], SEGMENT, 1);
		CHECK(m0_net_buffer_del(&one->buffers[0], &one->tm));
		m0_chan_wait(&clink);
		CHECK_EQ(one->count, i + 1);
		CHECK(!m0_chan_trywait(&clink));
	}
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
	pair_end(pair);
}

/* Tests a transfer machine that sends to itself, also by the loopback's NID. */
static void a_transfer_machine_sends_to_itself(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one;
	struct m0_net_end_point *self = end_point(one, one->tm.ntm_ep->nep_addr);
	struct m0_net_end_point *by_loopback;
	char addr[M0_NET_LNET_XEP_ADDR_LEN];

	snprintf(addr, sizeof(addr), "0@lo%s", strchr(self->nep_addr, ':'));
	by_loopback = end_point(one, addr);
	receive_messages(one, &one->buffers[0], 2048, 2);
	CHECK_EQ(send_message(one, &one->buffers[1], self, 100), 0);
	await_events(one, 2);
	CHECK_EQ(send_message(one, &one->buffers[1], by_loopback, 200), 0);
	await_events(one, 4);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(one->events[i].status, 0);
	CHECK_EQ(one->buffers[0].nb_msgs_received, 2);
	m0_net_end_point_put(by_loopback);
	m0_net_end_point_put(self);
	pair_end(pair);
}

int main(void)
{
	begin();
	a_receive_buffer_that_is_deleted_is_cancelled();
	a_buffer_receives_as_many_messages_as_it_says();
	a_buffer_receives_until_its_room_is_used_up();
	a_buffer_that_has_received_something_is_cancelled_with_one_more_event();
	a_message_longer_than_the_least_room_is_dropped();
	a_message_that_nobody_receives_is_sent_all_the_same();
	a_callback_may_add_its_buffer_again();
	each_operation_ends_one_wait();
	a_transfer_machine_sends_to_itself();
	return end();
}
