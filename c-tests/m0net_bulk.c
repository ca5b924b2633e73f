/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests bulk data, between a passive buffer, which has a descriptor, and an active one: acceptance cases 18 to 21. */
#include "m0net_rig.h"

enum { BULK = 2 * SEGMENT };

static int add(struct side *side, struct m0_net_buffer *nb, enum m0_net_queue_type queue, m0_bcount_t length)
{
	nb->nb_qtype = queue;
	nb->nb_length = length;
	nb->nb_ep = NULL;
	return m0_net_buffer_add(nb, &side->tm);
}

/* Copies the descriptor of a passive buffer to an active one. */
static void hand_over(struct m0_net_buffer *passive, struct m0_net_buffer *active)
{
	m0_net_desc_free(&active->nb_desc);
	CHECK_EQ(m0_net_desc_copy(&passive->nb_desc, &active->nb_desc), 0);
}

static void a_passive_buffer_has_a_descriptor_until_the_program_frees_it(void)
{
	static const enum m0_net_queue_type queues[] = { M0_NET_QT_PASSIVE_BULK_RECV, M0_NET_QT_PASSIVE_BULK_SEND };
	struct pair *pair = pair_started();
	struct side *one = &pair->one;
	struct m0_net_buffer *nb = &one->buffers[0];

	for (int i = 0; i < 2; i++) {
		CHECK_EQ(add(one, nb, queues[i], BULK), 0);
		CHECK((nb->nb_flags & M0_NET_BUF_QUEUED) != 0);
		CHECK_EQ(nb->nb_desc.nbd_len, 48);
		CHECK(m0_net_buffer_del(nb, &one->tm));
		CHECK_EQ(event_of(one, i)->status, -ECANCELED);
		CHECK_EQ(nb->nb_desc.nbd_len, 48);
		m0_net_desc_free(&nb->nb_desc);
		CHECK(nb->nb_desc.nbd_len == 0 && nb->nb_desc.nbd_data == NULL);
		m0_net_desc_free(&nb->nb_desc);
		CHECK_STATS(one, queues[i], 1, 1, 0, 1);
	}
	pair_end(pair);
}

/* Tests the form of the descriptor on the wire: 48 bytes, little-endian. */
static void a_descriptor_says_where_the_buffer_is(void)
{
	static struct side side;
	struct m0_net_buffer *nb;
	uint64_t words[6], sum = 0;
	uint32_t numbers[4];

	side_init(&side);
	nb = side_buffer(&side, 0, 3);
	side_start(&side, own_addr(&side, 33, "77"));
	CHECK_EQ(add(&side, nb, M0_NET_QT_PASSIVE_BULK_SEND, 5000), 0);
	CHECK_EQ(nb->nb_desc.nbd_len, sizeof(words));
	memcpy(words, nb->nb_desc.nbd_data, sizeof(words));
	memcpy(numbers, nb->nb_desc.nbd_data + 16, sizeof(numbers));
	CHECK_EQ(words[0] >> 52, 77);
	CHECK_EQ(words[0] & ((1ULL << 52) - 1), 1);
	CHECK_EQ(words[1], libcfs_str2nid(own_nid(&side.dom)));
	CHECK_EQ(numbers[0], 12345);
	CHECK_EQ(numbers[1], 33);
	CHECK_EQ(numbers[2], 77);
	CHECK_EQ(numbers[3], M0_NET_QT_PASSIVE_BULK_SEND);
	CHECK_EQ(words[4], 5000);
	for (int i = 0; i < 5; i++)
		sum ^= words[i];
	CHECK_EQ(words[5], sum);
	CHECK(m0_net_buffer_del(nb, &side.tm));
	await_events(&side, 1);
	m0_net_desc_free(&nb->nb_desc);
	/* The next descriptor has the next id, and a receiver offers all of its memory. */
	CHECK_EQ(add(&side, nb, M0_NET_QT_PASSIVE_BULK_RECV, 0), 0);
	memcpy(words, nb->nb_desc.nbd_data, sizeof(words));
	CHECK_EQ(words[0] & ((1ULL << 52) - 1), 2);
	CHECK_EQ(words[4], 3 * SEGMENT);
	CHECK(m0_net_buffer_del(nb, &side.tm));
	await_events(&side, 2);
	m0_net_desc_free(&nb->nb_desc);
	side_fini(&side);
}

static void data_of_a_passive_send_is_received_actively(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one, *two = &pair->two;
	struct m0_net_buffer *passive = &one->buffers[0], *active = &two->buffers[0], *small = side_buffer(two, 1, 1);

	fill(passive, BULK, 3);
	CHECK_EQ(add(one, passive, M0_NET_QT_PASSIVE_BULK_SEND, BULK), 0);
	hand_over(passive, active);
	hand_over(passive, small);
	CHECK_EQ(add(two, active, M0_NET_QT_ACTIVE_BULK_SEND, BULK), -EPERM);
	CHECK_EQ(add(two, small, M0_NET_QT_ACTIVE_BULK_RECV, 0), -EFBIG);
	CHECK((active->nb_flags & M0_NET_BUF_QUEUED) == 0 && (small->nb_flags & M0_NET_BUF_QUEUED) == 0);
	CHECK_EQ(add(two, active, M0_NET_QT_ACTIVE_BULK_RECV, 0), 0);
	CHECK_EQ(event_of(two, 0)->status, 0);
	CHECK_EQ(two->events[0].length, BULK);
	CHECK(is_filled(active, 0, BULK, 3));
	CHECK_EQ(event_of(one, 0)->status, 0);
	CHECK_EQ(one->events[0].queue, M0_NET_QT_PASSIVE_BULK_SEND);
	CHECK_STATS(one, M0_NET_QT_PASSIVE_BULK_SEND, 1, 0, 1, 0);
	CHECK_STATS(two, M0_NET_QT_ACTIVE_BULK_RECV, 1, 0, 1, 0);
	CHECK_STATS(two, M0_NET_QT_ACTIVE_BULK_SEND, 0, 0, 0, 0);
	CHECK_EQ(stats_of(one, M0_NET_QT_PASSIVE_BULK_SEND).nqs_total_bytes, BULK);
	m0_net_desc_free(&passive->nb_desc);
	m0_net_desc_free(&active->nb_desc);
	m0_net_desc_free(&small->nb_desc);
	pair_end(pair);
}

static void data_of_an_active_send_is_received_passively(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one, *two = &pair->two;
	struct m0_net_buffer *passive = &one->buffers[0], *active = &two->buffers[0], *large = side_buffer(two, 1, 5);

	CHECK_EQ(add(one, passive, M0_NET_QT_PASSIVE_BULK_RECV, 0), 0);
	hand_over(passive, active);
	hand_over(passive, large);
	CHECK_EQ(add(two, active, M0_NET_QT_ACTIVE_BULK_RECV, 0), -EPERM);
	CHECK_EQ(add(two, large, M0_NET_QT_ACTIVE_BULK_SEND, 5 * SEGMENT), -EFBIG);
	fill(active, BULK, 4);
	CHECK_EQ(add(two, active, M0_NET_QT_ACTIVE_BULK_SEND, BULK), 0);
	CHECK_EQ(event_of(two, 0)->status, 0);
	CHECK_EQ(event_of(one, 0)->status, 0);
	CHECK_EQ(one->events[0].length, BULK);
	CHECK_EQ(one->events[0].offset, 0);
	CHECK(is_filled(passive, 0, BULK, 4));
	CHECK_STATS(one, M0_NET_QT_PASSIVE_BULK_RECV, 1, 0, 1, 0);
	CHECK_STATS(two, M0_NET_QT_ACTIVE_BULK_SEND, 1, 0, 1, 0);
	m0_net_desc_free(&passive->nb_desc);
	m0_net_desc_free(&active->nb_desc);
	m0_net_desc_free(&large->nb_desc);
	pair_end(pair);
}

static void a_descriptor_of_another_length_or_with_a_changed_word_is_refused(void)
{
	static const uint32_t lengths[] = { 1, 47, 49, 1000 };
	struct pair *pair = pair_started();
	struct side *one = &pair->one, *two = &pair->two;
	struct m0_net_buffer *passive = &one->buffers[0], *active = &two->buffers[0];
	uint8_t *good, bytes[1000] = { 0 };

	CHECK_EQ(add(one, passive, M0_NET_QT_PASSIVE_BULK_SEND, BULK), 0);
	hand_over(passive, active);
	good = active->nb_desc.nbd_data;
	memcpy(bytes, good, 48);
	active->nb_desc.nbd_data = bytes;
	for (size_t i = 0; i < LENGTH(lengths); i++) {
		active->nb_desc.nbd_len = lengths[i];
		CHECK_EQ(add(two, active, M0_NET_QT_ACTIVE_BULK_RECV, 0), -EINVAL);
	}
	active->nb_desc.nbd_len = 48;
	for (int bit = 0; bit < 48 * 8; bit += 7) {
		bytes[bit / 8] ^= 1 << bit % 8;
		CHECK_EQ(add(two, active, M0_NET_QT_ACTIVE_BULK_RECV, 0), -EINVAL);
		bytes[bit / 8] ^= 1 << bit % 8;
	}
	CHECK(m0_net_tm_tlist_is_empty(&two->tm.ntm_q[M0_NET_QT_ACTIVE_BULK_RECV]));
	CHECK_STATS(two, M0_NET_QT_ACTIVE_BULK_RECV, 0, 0, 0, 0);
	CHECK_EQ(add(two, active, M0_NET_QT_ACTIVE_BULK_RECV, 0), 0);
	CHECK_EQ(event_of(two, 0)->status, 0);
	await_events(one, 1);
	active->nb_desc.nbd_data = good;
	m0_net_desc_free(&active->nb_desc);
	m0_net_desc_free(&passive->nb_desc);
	pair_end(pair);
}

/*
 * Tests that the active side may be another transfer machine than the one for which the passive side meant the
 * descriptor.
 */
static void a_descriptor_may_be_forwarded(void)
{
	static struct side third;
	struct pair *pair = pair_started();
	struct m0_net_buffer *passive = &pair->one.buffers[0], *active;

	side_init(&third);
	active = side_buffer(&third, 0, 4);
	side_start(&third, own_addr(&third, PORTAL + 1, "*"));
	fill(passive, 3 * SEGMENT + 1, 5);
	passive->nb_ep = pair->to_two;
	passive->nb_qtype = M0_NET_QT_PASSIVE_BULK_SEND;
	passive->nb_length = 3 * SEGMENT + 1;
	CHECK_EQ(m0_net_buffer_add(passive, &pair->one.tm), 0);
	hand_over(passive, active);
	CHECK_EQ(add(&third, active, M0_NET_QT_ACTIVE_BULK_RECV, 0), 0);
	CHECK_EQ(event_of(&third, 0)->length, 3 * SEGMENT + 1);
	CHECK(is_filled(active, 0, 3 * SEGMENT + 1, 5));
	await_events(&pair->one, 1);
	passive->nb_ep = NULL;
	m0_net_desc_free(&active->nb_desc);
	m0_net_desc_free(&passive->nb_desc);
	side_fini(&third);
	pair_end(pair);
}

/*
 * Tests an active receive whose passive buffer does not exist: no reply arrives, and the buffer is free again when it
 * is deleted.
 */
static void an_active_receive_from_nobody_ends_when_it_is_deleted(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one, *two = &pair->two;
	struct m0_net_buffer *passive = &one->buffers[0], *active = &two->buffers[0];

	CHECK_EQ(add(one, passive, M0_NET_QT_PASSIVE_BULK_SEND, BULK), 0);
	hand_over(passive, active);
	CHECK(m0_net_buffer_del(passive, &one->tm));
	await_events(one, 1);
	CHECK_EQ(add(two, active, M0_NET_QT_ACTIVE_BULK_RECV, 0), 0);
	CHECK(m0_net_buffer_del(active, &two->tm));
	CHECK(event_of(two, 0)->status < 0);
	CHECK_STATS(two, M0_NET_QT_ACTIVE_BULK_RECV, 1, 1, 0, 1);
	m0_net_desc_free(&active->nb_desc);
	m0_net_desc_free(&passive->nb_desc);
	pair_end(pair);
}

/* Tests which buffers can be registered and which cannot. */
static void buffers_that_are_too_large_or_have_gaps_are_refused(void)
{
	static struct side side;
	static const struct {
		uint32_t segments;
		m0_bcount_t size, odd;
		size_t shift;
		int rc;
	} table[] = {
		{ 256, 4096, 4096, 0, 0 },
		{ 255, 4096, 100, 0, 0 },
		{ 1, 4096, 1, 0, 0 },
		{ 257, 4096, 4096, 0, -EFBIG },
		{ 256, 4096, 4096, 8, -EFBIG },
		{ 1, 8192, 8192, 0, -EFBIG },
		{ 3, 100, 100, 0, -EBADR },
		{ 1, 4096, 0, 0, -EINVAL },
	};
	char *memory = aligned_alloc(4096, 300 * 4096 + 4096);

	side_init(&side);
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct m0_net_buffer *nb = calloc(1, sizeof(*nb));
		m0_bcount_t counts[257];
		void *addresses[257];

		for (uint32_t j = 0; j < table[i].segments; j++) {
			counts[j] = j + 1 < table[i].segments ? table[i].size : table[i].odd;
			addresses[j] = memory + j * 4096 + table[i].shift;
		}
		nb->nb_buffer = (struct m0_bufvec){ { table[i].segments, counts }, addresses };
		CHECK_EQ(m0_net_buffer_register(nb, &side.dom), table[i].rc);
		if (nb->nb_flags != 0)
			m0_net_buffer_deregister(nb, &side.dom);
		CHECK(nb->nb_dom == NULL && nb->nb_flags == 0);
		free(nb);
	}
	CHECK(m0_list_is_empty(&side.dom.nd_registered_bufs));
	side_fini(&side);
	free(memory);
}

int main(void)
{
	begin();
	a_passive_buffer_has_a_descriptor_until_the_program_frees_it();
	a_descriptor_says_where_the_buffer_is();
	data_of_a_passive_send_is_received_actively();
	data_of_an_active_send_is_received_passively();
	a_descriptor_of_another_length_or_with_a_changed_word_is_refused();
	a_descriptor_may_be_forwarded();
	an_active_receive_from_nobody_ends_when_it_is_deleted();
	buffers_that_are_too_large_or_have_gaps_are_refused();
	return end();
}
