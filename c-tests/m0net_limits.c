/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tests the limits that a program sets for a domain, and the log lines of a domain for which the program has switched
 * debugging on.
 */
#include "m0net_rig.h"
#include <fcntl.h>

static struct m0_net_lnet_limits used_by(struct side *side)
{
	struct m0_net_lnet_limits used = { 77, 77, 77 };

	CHECK_EQ(m0_net_lnet_dom_get_limits(&side->dom, NULL, &used), 0);
	return used;
}

static void limit(struct side *side, uint32_t tms, uint32_t buffers, uint32_t events)
{
	struct m0_net_lnet_limits limits = { tms, buffers, events }, got = { 77, 77, 77 };

	CHECK_EQ(m0_net_lnet_dom_set_limits(&side->dom, &limits), 0);
	CHECK_EQ(m0_net_lnet_dom_get_limits(&side->dom, &got, NULL), 0);
	CHECK(got.ll_tms == tms && got.ll_buffers == buffers && got.ll_events == events);
}

static void a_new_domain_uses_nothing_and_has_no_limits(void)
{
	static struct side side;
	struct m0_net_lnet_limits limits = { 77, 77, 77 }, used;

	side_init(&side);
	CHECK_EQ(m0_net_lnet_dom_get_limits(&side.dom, &limits, &used), 0);
	CHECK(limits.ll_tms == 0 && limits.ll_buffers == 0 && limits.ll_events == 0);
	CHECK(used.ll_tms == 0 && used.ll_buffers == 0 && used.ll_events == 0);
	CHECK_EQ(m0_net_lnet_dom_set_limits(&side.dom, NULL), -EINVAL);
	CHECK_EQ(m0_net_lnet_dom_set_limits(NULL, &limits), -EINVAL);
	side_fini(&side);
	CHECK_EQ(m0_net_lnet_dom_get_limits(&side.dom, &limits, NULL), -EINVAL);
}

static void buffers_beyond_the_limit_are_not_registered(void)
{
	static struct side side;
	struct m0_net_buffer *one, *two = &side.buffers[1];

	side_init(&side);
	limit(&side, 0, 1, 0);
	one = side_buffer(&side, 0, 1);
	CHECK_EQ(used_by(&side).ll_buffers, 1);
	CHECK_EQ(m0_bufvec_alloc_aligned(&two->nb_buffer, 1, SEGMENT, 12), 0);
	CHECK_EQ(m0_net_buffer_register(two, &side.dom), -ENOSPC);
	CHECK_EQ(two->nb_flags, 0);
	CHECK_EQ(used_by(&side).ll_buffers, 1);
	m0_net_buffer_deregister(one, &side.dom);
	CHECK_EQ(used_by(&side).ll_buffers, 0);
	CHECK_EQ(m0_net_buffer_register(two, &side.dom), 0);
	m0_bufvec_free_aligned(&one->nb_buffer, 12);
	side_fini(&side);
}

/* Also tests that a transfer machine that stops or cannot start makes room for another one. */
static void transfer_machines_beyond_the_limit_do_not_start(void)
{
	static struct side side;
	struct m0_net_transfer_mc second = { .ntm_callbacks = &tm_callbacks };

	side_init(&side);
	limit(&side, 1, 0, 0);
	CHECK_EQ(m0_net_tm_start(&side.tm, "10.255.0.1@tcp9:12345:30:1"), 0);
	await_states(&side, 1);
	CHECK_EQ(side.states[0].status, -ENOENT);
	CHECK_EQ(used_by(&side).ll_tms, 0);
	m0_net_tm_fini(&side.tm);
	CHECK_EQ(m0_net_tm_init(&side.tm, &side.dom), 0);
	side_start(&side, own_addr(&side, PORTAL, "*"));
	CHECK_EQ(used_by(&side).ll_tms, 1);
	CHECK_EQ(m0_net_tm_init(&second, &side.dom), 0);
	CHECK_EQ(m0_net_tm_start(&second, own_addr(&side, PORTAL, "*")), -ENOSPC);
	CHECK_EQ(second.ntm_state, M0_NET_TM_FAILED);
	m0_net_tm_fini(&second);
	side_stop(&side, false);
	CHECK_EQ(used_by(&side).ll_tms, 0);
	side_fini(&side);
}

/* Tests that a buffer for messages reserves as many events as it may have. */
static void operations_beyond_the_limit_of_events_do_not_begin(void)
{
	struct pair *pair = pair_started();
	struct side *side = &pair->one;

	limit(side, 0, 0, 10);
	receive_messages(side, &side->buffers[0], 100, 10);
	CHECK_EQ(used_by(side).ll_events, 10);
	CHECK_EQ(send_message(side, &side->buffers[1], pair->to_two, 10), -ENOSPC);
	CHECK_EQ(used_by(side).ll_events, 10);
	m0_net_buffer_del(&side->buffers[0], &side->tm);
	await_events(side, 1);
	await_idle(side);
	CHECK_EQ(used_by(side).ll_events, 0);
	receive_messages(&pair->two, &pair->two.buffers[0], 100, 1);
	CHECK_EQ(send_message(side, &side->buffers[1], pair->to_two, 10), 0);
	await_events(side, 2);
	await_events(&pair->two, 1);
	await_idle(side);
	CHECK_EQ(used_by(side).ll_events, 0);
	pair_end(pair);
}

/* The text that is written to standard error while `body` runs. */
static const char *said_by(void body(void))
{
	static char said[8192];
	char path[] = "/tmp/m0net-limits-XXXXXX";
	int file = mkstemp(path), before = dup(STDERR_FILENO);
	ssize_t length;

	unlink(path);
	dup2(file, STDERR_FILENO);
	body();
	dup2(before, STDERR_FILENO);
	length = pread(file, said, sizeof(said) - 1, 0);
	said[length < 0 ? 0 : length] = 0;
	close(file);
	close(before);
	return said;
}

static bool debug_of_one_machine, debug_of_the_domain;

static void a_message_between_two_machines(void)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	pair_init(pair);
	m0_net_lnet_tm_set_debug(&pair->one.tm, debug_of_one_machine);
	m0_net_lnet_dom_set_debug(&pair->one.dom, debug_of_the_domain);
	pair_start(pair);
	receive_messages(&pair->two, &pair->two.buffers[0], 100, 1);
	CHECK_EQ(send_message(&pair->one, &pair->one.buffers[1], pair->to_two, 10), 0);
	await_events(&pair->one, 1);
	await_events(&pair->two, 1);
	pair_end(pair);
}

static int count(const char *text, const char *word)
{
	int times = 0;

	while ((text = strstr(text, word)) != NULL) {
		times++;
		text += strlen(word);
	}
	return times;
}

static void a_program_can_have_the_states_and_operations_in_the_log(void)
{
	for (int i = 0; i < 3; i++) {
		const char *said;
		int machines = i == 0 ? 0 : 1;

		debug_of_one_machine = i == 1;
		debug_of_the_domain = i == 2;
		said = said_by(a_message_between_two_machines);
		CHECK_EQ(count(said, ": STARTED (success)"), machines);
		CHECK_EQ(count(said, ": MsgSend of buffer "), machines);
		CHECK_EQ(count(said, ": MsgRecv of buffer "), 0);
		CHECK_EQ(count(said, ": STOPPED (success)"), machines);
		CHECK_EQ(count(said, "@tcp:12345:30:"), 3 * machines);
	}
}

int main(void)
{
	begin();
	unsetenv("LNET_DEBUG");
	a_new_domain_uses_nothing_and_has_no_limits();
	buffers_beyond_the_limit_are_not_registered();
	transfer_machines_beyond_the_limit_do_not_start();
	operations_beyond_the_limit_of_events_do_not_begin();
	a_program_can_have_the_states_and_operations_in_the_log();
	return end();
}
