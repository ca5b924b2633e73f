/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests transfer machines: their states and events, addresses, end points, processors. Acceptance cases 5 to 12. */
#include "m0net_rig.h"
#include <lib/processor.h>

static void a_transfer_machine_is_initialised_again_after_it_was_finalised(void)
{
	static struct side side;

	side_init(&side);
	CHECK(m0_list_contains(&side.dom.nd_tms, &side.tm.ntm_dom_linkage));
	CHECK(side.tm.ntm_bev_auto_deliver && side.tm.ntm_recv_queue_min_length == M0_NET_TM_RECV_QUEUE_DEF_LEN);
	CHECK(side.tm.ntm_pool_colour == (uint32_t)M0_BUFFER_ANY_COLOUR && side.tm.ntm_ep == NULL);
	m0_net_tm_fini(&side.tm);
	CHECK_EQ(side.tm.ntm_state, M0_NET_TM_UNDEFINED);
	CHECK(m0_list_is_empty(&side.dom.nd_tms));
	CHECK_EQ(m0_net_tm_init(&side.tm, &side.dom), 0);
	CHECK_EQ(side.tm.ntm_state, M0_NET_TM_INITIALIZED);
	CHECK(m0_list_contains(&side.dom.nd_tms, &side.tm.ntm_dom_linkage));
	side_fini(&side);
}

static void an_address_that_cannot_be_read_fails_at_once_and_without_an_event(void)
{
	static struct side side;

	side_init(&side);
	CHECK_EQ(m0_net_tm_start(&side.tm, "invalid"), -EINVAL);
	CHECK_EQ(side.tm.ntm_state, M0_NET_TM_FAILED);
	m0_net_tm_fini(&side.tm);
	CHECK_EQ(side.state_count, 0);
	side_fini(&side);
}

static void an_address_that_cannot_be_had_fails_with_one_event(void)
{
	static struct side side;
	static const struct {
		const char *addr;
		int portal, status;
	} table[] = {
		{ NULL, 99, -EINVAL },
		{ NULL, 64, -EINVAL },
		{ NULL, 0, -EINVAL },
		{ "9.9.9.9@tcp:12345:30:1", 0, -ENOENT },
		{ "0@lo:12346:30:1", 0, -ENOENT },
	};

	for (size_t i = 0; i < LENGTH(table); i++) {
		side_init(&side);
		CHECK_EQ(m0_net_tm_start(&side.tm, table[i].addr ? table[i].addr : own_addr(&side, table[i].portal, "1")), 0);
		await_states(&side, 1);
		/* fini waits for the callback. */
		m0_net_tm_fini(&side.tm);
		CHECK_EQ(side.state_count, 1);
		CHECK_EQ(side.states[0].state, M0_NET_TM_FAILED);
		CHECK_EQ(side.states[0].status, table[i].status);
		CHECK(!side.states[0].has_ep && !pthread_equal(side.states[0].thread, pthread_self()));
		side_fini(&side);
	}
}

static void a_fixed_address_is_the_one_of_the_end_point(void)
{
	static const char *const tmids[] = { "101", "0", "4095" };
	static struct side side;

	for (size_t i = 0; i < LENGTH(tmids); i++) {
		side_init(&side);
		side_start(&side, own_addr(&side, PORTAL, tmids[i]));
		CHECK_EQ(side.state_count, 1);
		CHECK_EQ(side.states[0].state, M0_NET_TM_STARTED);
		CHECK_EQ(side.states[0].status, 0);
		CHECK(side.states[0].has_ep);
		CHECK_STR(side.tm.ntm_ep->nep_addr, own_addr(&side, PORTAL, tmids[i]));
		side_stop(&side, true);
		await_states(&side, 2);
		CHECK_EQ(side.states[1].state, M0_NET_TM_STOPPED);
		side_fini(&side);
		CHECK_EQ(side.state_count, 2);
	}
}

/* Also tests the loopback's NID, and tcp0 instead of tcp. */
static void other_forms_of_an_own_address_are_accepted(void)
{
	static struct side side;
	char addr[M0_NET_LNET_XEP_ADDR_LEN];

	side_init(&side);
	snprintf(addr, sizeof(addr), "%s@tcp0:12345:%d:5", own_address, PORTAL);
	side_start(&side, addr);
	CHECK_STR(side.tm.ntm_ep->nep_addr, own_addr(&side, PORTAL, "5"));
	side_fini(&side);
}

/* Tests that each dynamic address is lower than the previous one, and that gaps are filled. */
static void dynamic_addresses_descend_and_gaps_are_filled(void)
{
	static struct side sides[3];
	struct m0_bitmap cpus;
	char middle[M0_NET_LNET_XEP_ADDR_LEN];

	CHECK_EQ(m0_bitmap_init(&cpus, 1), 0);
	m0_bitmap_set(&cpus, 0, true);
	for (int i = 0; i < 3; i++) {
		side_init(&sides[i]);
		CHECK_EQ(m0_net_tm_confine(&sides[i].tm, &cpus), 0);
		CHECK_EQ(m0_net_tm_confine(&sides[i].tm, &cpus), 0);
		side_start(&sides[i], own_addr(&sides[i], PORTAL, "*"));
		CHECK(strchr(sides[i].tm.ntm_ep->nep_addr, '*') == NULL);
		CHECK(i == 0 || strcmp(sides[i].tm.ntm_ep->nep_addr, sides[i - 1].tm.ntm_ep->nep_addr) < 0);
	}
	m0_bitmap_fini(&cpus);
	CHECK_STR(sides[0].tm.ntm_ep->nep_addr, own_addr(&sides[0], PORTAL, "4095"));
	snprintf(middle, sizeof(middle), "%s", sides[1].tm.ntm_ep->nep_addr);
	side_fini(&sides[1]);
	side_init(&sides[1]);
	side_start(&sides[1], own_addr(&sides[1], PORTAL, "*"));
	CHECK_STR(sides[1].tm.ntm_ep->nep_addr, middle);
	for (int i = 0; i < 3; i++)
		side_fini(&sides[i]);
}

static void an_address_has_one_transfer_machine_at_a_time(void)
{
	static struct side first, second;
	struct m0_net_transfer_mc *tm = &second.tm;

	side_init(&first);
	side_init(&second);
	side_start(&first, own_addr(&first, PORTAL, "7"));
	CHECK_EQ(m0_net_tm_start(tm, own_addr(&second, PORTAL, "7")), 0);
	await_states(&second, 1);
	CHECK_EQ(second.states[0].state, M0_NET_TM_FAILED);
	CHECK_EQ(second.states[0].status, -EADDRINUSE);
	m0_net_tm_fini(tm);
	side_fini(&first);
	CHECK_EQ(m0_net_tm_init(tm, &second.dom), 0);
	side_start(&second, own_addr(&second, PORTAL, "7"));
	side_fini(&second);
}

static void addresses_that_are_none_make_no_end_point(void)
{
	static const char *const bad[] = {
		"notip@tcp:12345:30:10", "notnid:12345:30:10", ":notpid:30:10", ":12345:notportal:10",
		":12345:30:nottm",	 ":12345:30:-10",      ":12345:30:4096", ":12345:30:*",
		":12345:30:",		 ":12345:30",	       "",		 ":99999999999:30:1",
		":12345:30:1x",		 ":12345::1",
	};
	static struct side side;

	side_init(&side);
	side_start(&side, own_addr(&side, PORTAL, "*"));
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct m0_net_end_point *ep = NULL;
		char addr[M0_NET_LNET_XEP_ADDR_LEN];
		int rc;

		snprintf(addr, sizeof(addr), "%s%s", bad[i][0] == ':' ? own_nid(&side.dom) : "", bad[i]);
		rc = m0_net_end_point_create(&ep, &side.tm, addr);
		if (rc != -EINVAL)
			CHECK_STR(addr, "no address");
	}
	CHECK_EQ(m0_net_end_point_create(&(struct m0_net_end_point *){ NULL }, &side.tm, NULL), -EINVAL);
	CHECK_EQ(m0_nep_tlist_length(&side.tm.ntm_end_points), 1);
	side_fini(&side);
}

static void end_points_of_one_address_are_one(void)
{
	static struct side side;
	struct m0_net_end_point *ep, *again, *own;

	side_init(&side);
	side_start(&side, own_addr(&side, PORTAL, "9"));
	ep = end_point(&side, "4.4.4.4@tcp:42:29:28");
	CHECK_STR(ep->nep_addr, "4.4.4.4@tcp:42:29:28");
	CHECK(ep->nep_tm == &side.tm && m0_nep_tlist_tail(&side.tm.ntm_end_points) == ep);
	again = end_point(&side, "4.4.4.4@tcp0:42:29:28");
	CHECK(again == ep);
	CHECK_EQ(m0_ref_read(&ep->nep_ref), 2);
	m0_net_end_point_get(ep);
	m0_net_end_point_put(ep);
	m0_net_end_point_put(again);
	CHECK_EQ(m0_ref_read(&ep->nep_ref), 1);
	CHECK_EQ(m0_nep_tlist_length(&side.tm.ntm_end_points), 2);
	m0_net_end_point_put(ep);
	CHECK_EQ(m0_nep_tlist_length(&side.tm.ntm_end_points), 1);
	own = end_point(&side, own_addr(&side, PORTAL, "9"));
	CHECK(own == side.tm.ntm_ep);
	CHECK_EQ(m0_ref_read(&own->nep_ref), 2);
	m0_net_end_point_put(own);
	side_fini(&side);
}

/* ---- stopping, in every state ---- */

static void expect_states(struct side *side, const char *where, enum m0_net_tm_state last, int most)
{
	m0_net_tm_fini(&side->tm);
	if (side->state_count < 1 || side->state_count > most || side->states[side->state_count - 1].state != last)
		CHECK_STR(where, "stops with the events wanted");
	CHECK(!pthread_equal(side->states[side->state_count - 1].thread, pthread_self()));
	side_fini(side);
}

static void await_stopped(struct side *side)
{
	for (int count = 1; side->tm.ntm_state != M0_NET_TM_STOPPED; count++)
		await_states(side, count);
}

static void a_stop_ends_in_every_state(void)
{
	static struct side side;

	for (int abort = 0; abort < 2; abort++) {
		side_init(&side);
		CHECK_EQ(m0_net_tm_stop(&side.tm, abort), 0);
		await_stopped(&side);
		expect_states(&side, "initialised", M0_NET_TM_STOPPED, 1);

		for (int i = 0; i < 20; i++) {
			side_init(&side);
			CHECK_EQ(m0_net_tm_start(&side.tm, own_addr(&side, PORTAL, "*")), 0);
			CHECK_EQ(m0_net_tm_stop(&side.tm, abort), 0);
			await_stopped(&side);
			expect_states(&side, "starting", M0_NET_TM_STOPPED, 2);
		}

		side_init(&side);
		side_start(&side, own_addr(&side, PORTAL, "*"));
		CHECK_EQ(m0_net_tm_stop(&side.tm, abort), 0);
		await_stopped(&side);
		expect_states(&side, "started", M0_NET_TM_STOPPED, 2);
	}
}

/* Tests that a stop during a start ends if the start fails. */
static void a_stop_of_a_start_that_fails_ends(void)
{
	static struct side side;

	side_init(&side);
	CHECK_EQ(m0_net_tm_start(&side.tm, own_addr(&side, 99, "1")), 0);
	if (side.tm.ntm_state == M0_NET_TM_STARTING)
		m0_net_tm_stop(&side.tm, true);
	await_states(&side, 1);
	m0_net_tm_fini(&side.tm);
	CHECK(M0_IN(side.states[side.state_count - 1].state, (M0_NET_TM_STOPPED, M0_NET_TM_FAILED)));
	side_fini(&side);
}

static void an_abort_cancels_what_is_queued_and_stopped_comes_last(void)
{
	struct pair *pair = pair_started();
	struct side *one = &pair->one;

	for (int i = 0; i < 2; i++)
		receive_messages(one, &one->buffers[i], SEGMENT, 1);
	m0_net_end_point_put(pair->to_two);
	m0_net_end_point_put(pair->to_one);
	side_stop(one, true);
	await_states(one, 2);
	CHECK_EQ(one->count, 2);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(one->events[i].status, -ECANCELED);
		CHECK(!one->events[i].queued && one->events[i].ep == NULL);
	}
	CHECK_STATS(one, M0_NET_QT_MSG_RECV, 2, 2, 0, 2);
	side_fini(one);
	side_fini(&pair->two);
	free(pair);
}

static void stop_in_the_callback(struct side *side, const struct m0_net_tm_event *ev)
{
	if (ev->nte_next_state == M0_NET_TM_STARTED)
		CHECK_EQ(m0_net_tm_stop(&side->tm, false), 0);
}

static void a_callback_may_stop_its_transfer_machine(void)
{
	static struct side side;

	side_init(&side);
	side.on_state = stop_in_the_callback;
	CHECK_EQ(m0_net_tm_start(&side.tm, own_addr(&side, PORTAL, "*")), 0);
	await_states(&side, 2);
	expect_states(&side, "in the callback", M0_NET_TM_STOPPED, 2);
}

static void statistics_can_be_read_in_every_state_and_set_to_zeros(void)
{
	struct m0_net_qstats all[M0_NET_QT_NR];
	struct pair *pair = pair_started();
	struct side *one = &pair->one;

	receive_messages(one, &one->buffers[0], SEGMENT, 1);
	CHECK(m0_net_buffer_del(&one->buffers[0], &one->tm));
	await_events(one, 1);
	CHECK_EQ(m0_net_tm_stats_get(&one->tm, M0_NET_QT_NR, all, false), 0);
	CHECK_EQ(all[M0_NET_QT_MSG_RECV].nqs_num_adds, 1);
	CHECK_EQ(all[M0_NET_QT_MSG_SEND].nqs_num_adds, 0);
	CHECK_EQ(m0_net_tm_stats_get(&one->tm, M0_NET_QT_MSG_RECV, NULL, true), 0);
	CHECK_STATS(one, M0_NET_QT_MSG_RECV, 0, 0, 0, 0);
	m0_net_end_point_put(pair->to_two);
	m0_net_end_point_put(pair->to_one);
	side_stop(one, false);
	CHECK_STATS(one, M0_NET_QT_MSG_RECV, 0, 0, 0, 0);
	side_fini(one);
	side_fini(&pair->two);
	free(pair);
}

/* ---- processors ---- */

static void callbacks_run_on_the_processors_that_the_machine_is_confined_to(void)
{
	struct m0_bitmap online, one;
	size_t limit = m0_processor_nr_max();

	m0_bitmap_init(&online, limit);
	m0_bitmap_init(&one, limit);
	m0_processors_online(&online);
	for (size_t cpu = 0; cpu < limit && cpu < 4; cpu++) {
		struct pair *pair;

		if (!m0_bitmap_get(&online, cpu))
			continue;
		m0_bitmap_reset(&one);
		m0_bitmap_set(&one, cpu, true);
		pair = calloc(1, sizeof(*pair));
		pair_init(pair);
		CHECK_EQ(m0_net_tm_confine(&pair->one.tm, &one), 0);
		/* The machine has its own copy of the bitmap. */
		m0_bitmap_reset(&one);
		pair_start(pair);
		for (int i = 0; i < 8; i++) {
			receive_messages(&pair->one, &pair->one.buffers[i % 2], SEGMENT, 1);
			CHECK_EQ(send_message(&pair->two, &pair->two.buffers[0], pair->to_one, 100), 0);
			await_events(&pair->one, i + 1);
			await_events(&pair->two, i + 1);
		}
		for (int i = 0; i < 8; i++) {
			CHECK_EQ(pair->one.events[i].cpu, cpu);
			CHECK(pthread_equal(pair->one.events[i].thread, pair->one.states[0].thread));
		}
		CHECK_EQ(pair->one.states[0].cpu, cpu);
		pair_end(pair);
	}
	m0_bitmap_fini(&online);
	m0_bitmap_fini(&one);
}

static void processors_that_there_are_not_fail_the_start(void)
{
	static struct side side;
	struct m0_bitmap cpus;

	m0_bitmap_init(&cpus, 64);
	side_init(&side);
	CHECK_EQ(m0_net_tm_confine(&side.tm, &cpus), 0);
	CHECK_EQ(m0_net_tm_start(&side.tm, own_addr(&side, PORTAL, "*")), 0);
	await_states(&side, 1);
	CHECK_EQ(side.states[0].state, M0_NET_TM_FAILED);
	CHECK_EQ(side.states[0].status, -EINVAL);
	side_fini(&side);
	m0_bitmap_fini(&cpus);
}

int main(void)
{
	begin();
	a_transfer_machine_is_initialised_again_after_it_was_finalised();
	an_address_that_cannot_be_read_fails_at_once_and_without_an_event();
	an_address_that_cannot_be_had_fails_with_one_event();
	a_fixed_address_is_the_one_of_the_end_point();
	other_forms_of_an_own_address_are_accepted();
	dynamic_addresses_descend_and_gaps_are_filled();
	an_address_has_one_transfer_machine_at_a_time();
	addresses_that_are_none_make_no_end_point();
	end_points_of_one_address_are_one();
	a_stop_ends_in_every_state();
	a_stop_of_a_start_that_fails_ends();
	an_abort_cancels_what_is_queued_and_stopped_comes_last();
	a_callback_may_stop_its_transfer_machine();
	statistics_can_be_read_in_every_state_and_set_to_zeros();
	callbacks_run_on_the_processors_that_the_machine_is_confined_to();
	processors_that_there_are_not_fail_the_start();
	return end();
}
