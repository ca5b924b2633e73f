/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests a program that is written like Motr's own programs of the network layer, with their headers, macros and
 * habits: trace points, fault points, its own lists, numbers of 128 bits, an instance. Two commands travel to a node
 * in this process, which replies to each. */
#define M0_TRACE_SUBSYSTEM M0_TRACE_SUBSYS_NETTEST
#include "lib/trace.h"

#include "check.h"
#include "lib/arith.h"
#include "lib/assert.h"
#include "lib/byteorder.h"
#include "lib/errno.h"
#include "lib/finject.h"
#include "lib/magic.h"
#include "lib/memory.h"
#include "lib/misc.h"
#include "lib/time.h"
#include "lib/tlist.h"
#include "module/instance.h"
#include "motr/init.h"
#include "motr/magic.h"
#include "net/buffer_pool.h"
#include "net/lnet/lnet.h"
#include "net/net.h"
#include "own_address.h"

enum { COMMANDS = 2, PORTAL = 41, BUFFERS = 4 };

/* A command on the wire. */
struct command_wire {
	uint32_t cw_type;
	uint64_t cw_size;
};

/* A received command. */
struct command {
	uint64_t c_magic;
	struct m0_tlink c_linkage;
	uint32_t c_type;
	uint64_t c_size;
};

M0_TL_DESCR_DEFINE(commands, "commands that have come", static, struct command, c_linkage, c_magic, M0_NET_TEST_BS_LINK_MAGIC,
		   M0_NET_TEST_BS_HEAD_MAGIC);
M0_TL_DEFINE(commands, static, struct command);

struct M0_CAT(node_, ctx) {
	struct m0_net_domain nc_dom;
	struct m0_net_transfer_mc nc_tm;
	struct m0_net_buffer_pool nc_pool;
	struct m0_tl nc_commands;
	struct m0_mutex nc_lock;
	/* net/net.h includes the headers of these two types. */
	struct m0_cond nc_cond;
	struct m0_thread nc_thread;
	int nc_nr;
	struct m0_uint128 nc_sum;
};

static struct node_ctx node;

static int command_decode(struct command *command, const struct command_wire *wire)
{
	M0_ENTRY("wire=%p", (const void *)wire);
	if (M0_FI_ENABLED("garbled"))
		M0_RETURN(-EBADMSG);
	M0_PRE(command != NULL);
	command->c_type = m0_byteorder_le32_to_cpu(wire->cw_type);
	command->c_size = m0_byteorder_be64_to_cpu(wire->cw_size);
	M0_LEAVE();
	return M0_RC(0);
}

static void on_message(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	struct node_ctx *ctx = container_of(nb->nb_tm, struct node_ctx, nc_tm);
	bool queued = (nb->nb_flags & M0_NET_BUF_QUEUED) != 0;

	if (ev->nbe_status == 0) {
		struct command_wire wire;
		struct m0_bufvec_cursor cur;
		struct command *command;
		struct m0_uint128 square;

		m0_bufvec_cursor_init(&cur, &nb->nb_buffer);
		m0_bufvec_cursor_move(&cur, ev->nbe_offset);
		CHECK_EQ(m0_bufvec_cursor_copyfrom(&cur, &wire, sizeof(wire)), sizeof(wire));
		CHECK(M0_ALLOC_PTR(command) != NULL);
		CHECK_EQ(command_decode(command, &wire), 0);
		m0_mutex_lock(&ctx->nc_lock);
		commands_tlink_init_at_tail(command, &ctx->nc_commands);
		m0_uint128_mul64(&square, command->c_size, command->c_size);
		m0_uint128_add(&ctx->nc_sum, &ctx->nc_sum, &square);
		M0_CNT_INC(ctx->nc_nr);
		m0_cond_signal(&ctx->nc_cond);
		m0_mutex_unlock(&ctx->nc_lock);
	}
	if (!queued && nb->nb_pool != NULL) {
		m0_net_buffer_pool_lock(nb->nb_pool);
		m0_net_buffer_pool_put(nb->nb_pool, nb, nb->nb_tm->ntm_pool_colour);
		m0_net_buffer_pool_unlock(nb->nb_pool);
	}
}

static void on_sent(const struct m0_net_buffer_event *ev)
{
	CHECK_EQ(ev->nbe_status, 0);
}

static void on_state(const struct m0_net_tm_event *ev)
{
	/*
	 * The buffers that the machine has taken from the pool are back before the callback reports that the machine
	 * has stopped.
	 */
	if (ev->nte_next_state == M0_NET_TM_STOPPED)
		CHECK_EQ(node.nc_pool.nbp_free, node.nc_pool.nbp_buf_nr);
}

static void on_threshold(struct m0_net_buffer_pool *pool)
{
	(void)pool;
}

static const struct m0_net_buffer_pool_ops pool_ops = {
	.nbpo_not_empty = m0_net_domain_buffer_pool_not_empty,
	.nbpo_below_threshold = on_threshold,
};
static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb = on_state };
static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = on_message, [M0_NET_QT_MSG_SEND] = on_sent },
};

/* Waits for the commands, and takes them out of the list. */
static void consume(struct node_ctx *ctx)
{
	struct command *command;
	uint64_t expected = 1;

	m0_mutex_lock(&ctx->nc_lock);
	while (ctx->nc_nr < COMMANDS)
		m0_cond_wait(&ctx->nc_cond);
	CHECK_EQ(commands_tlist_length(&ctx->nc_commands), COMMANDS);
	m0_tl_for(commands, &ctx->nc_commands, command) {
		CHECK(command->c_type == 7 && command->c_size == expected << 40);
		expected++;
	} m0_tl_endfor;
	CHECK(commands_tlist_next(&ctx->nc_commands, commands_tlist_head(&ctx->nc_commands)) ==
	      commands_tlist_tail(&ctx->nc_commands));
	m0_tl_teardown(commands, &ctx->nc_commands, command) {
		commands_tlink_fini(command);
		m0_free(command);
	}
	CHECK(commands_tlist_is_empty(&ctx->nc_commands) && commands_tlist_pop(&ctx->nc_commands) == NULL);
	m0_mutex_unlock(&ctx->nc_lock);
}

static void await_state(struct m0_net_transfer_mc *tm, enum m0_net_tm_state state)
{
	struct m0_clink clink;

	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&tm->ntm_chan, &clink);
	while (tm->ntm_state != state)
		m0_chan_timedwait(&clink, m0_time_from_now(0, 50 * M0_TIME_ONE_MSEC));
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
}

static void commands_travel_and_pool_buffers_come_back(void)
{
	char **addrs, addr[M0_NET_LNET_XEP_ADDR_LEN];
	struct m0_net_end_point *ep;
	struct m0_net_buffer nb;

	CHECK_EQ(m0_net_domain_init(&node.nc_dom, m0_net_xprt_default_get()), 0);
	CHECK_EQ(m0_net_lnet_ifaces_get(&node.nc_dom, &addrs), 0);
	snprintf(addr, sizeof(addr), "%s:%d:%d:*", addrs[0], M0_NET_LNET_PID, PORTAL);
	m0_net_lnet_ifaces_put(&node.nc_dom, &addrs);
	CHECK_EQ(m0_net_buffer_pool_init(&node.nc_pool, &node.nc_dom, M0_NET_BUFFER_POOL_THRESHOLD, 1, M0_SEG_SIZE, 1, M0_SEG_SHIFT,
					 false),
		 0);
	node.nc_pool.nbp_ops = &pool_ops;
	m0_net_buffer_pool_lock(&node.nc_pool);
	CHECK_EQ(m0_net_buffer_pool_provision(&node.nc_pool, BUFFERS), BUFFERS);
	m0_net_buffer_pool_unlock(&node.nc_pool);

	node.nc_tm.ntm_callbacks = &tm_callbacks;
	CHECK_EQ(m0_net_tm_init(&node.nc_tm, &node.nc_dom), 0);
	CHECK_EQ(m0_net_tm_pool_attach(&node.nc_tm, &node.nc_pool, &callbacks, sizeof(struct command_wire), 1, 3), 0);
	CHECK_EQ(m0_net_tm_start(&node.nc_tm, addr), 0);
	await_state(&node.nc_tm, M0_NET_TM_STARTED);
	m0_mutex_init(&node.nc_lock);
	m0_cond_init(&node.nc_cond, &node.nc_lock);
	commands_tlist_init(&node.nc_commands);
	CHECK_EQ(M0_THREAD_INIT(&node.nc_thread, struct node_ctx *, NULL, consume, &node, "consumer"), 0);

	M0_SET0(&nb);
	CHECK_EQ(m0_bufvec_alloc_aligned(&nb.nb_buffer, 1, M0_SEG_SIZE, M0_SEG_SHIFT), 0);
	CHECK_EQ(m0_net_buffer_register(&nb, &node.nc_dom), 0);
	nb.nb_callbacks = &callbacks;
	CHECK_EQ(m0_net_end_point_create(&ep, &node.nc_tm, node.nc_tm.ntm_ep->nep_addr), 0);
	for (uint64_t i = 1; i <= COMMANDS; i++) {
		struct command_wire *wire = nb.nb_buffer.ov_buf[0];

		wire->cw_type = m0_byteorder_cpu_to_le32(7);
		wire->cw_size = m0_byteorder_cpu_to_be64(i << 40);
		nb.nb_qtype = M0_NET_QT_MSG_SEND;
		nb.nb_length = sizeof(*wire);
		nb.nb_ep = ep;
		CHECK_EQ(m0_net_buffer_add(&nb, &node.nc_tm), 0);
		while (__atomic_load_n(&nb.nb_flags, __ATOMIC_SEQ_CST) & M0_NET_BUF_QUEUED)
			m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
	}
	m0_thread_join(&node.nc_thread);
	m0_thread_fini(&node.nc_thread);
	/* (2^40)^2 + (2^41)^2 */
	CHECK(m0_uint128_eq(&node.nc_sum, &M0_UINT128(5ULL << 16, 0)));
	m0_net_end_point_put(ep);

	/* The machine is stopped without an abort. The send buffer's callback may still run. */
	CHECK_EQ(m0_net_tm_stop(&node.nc_tm, false), 0);
	await_state(&node.nc_tm, M0_NET_TM_STOPPED);
	m0_net_tm_fini(&node.nc_tm);
	m0_net_buffer_deregister(&nb, &node.nc_dom);
	m0_bufvec_free_aligned(&nb.nb_buffer, M0_SEG_SHIFT);
	m0_net_buffer_pool_fini(&node.nc_pool);
	m0_cond_fini(&node.nc_cond);
	m0_mutex_fini(&node.nc_lock);
	/* Fields of a finalised pool and a finalised machine that programs read. */
	CHECK(node.nc_pool.nbp_ndom == &node.nc_dom && node.nc_pool.nbp_seg_size == M0_SEG_SIZE && node.nc_pool.nbp_free == 0);
	CHECK(node.nc_tm.ntm_dom == &node.nc_dom);
	m0_net_domain_fini(node.nc_pool.nbp_ndom);
}

/* ---- fault points ---- */

static bool two_calls(void *data)
{
	return (*(int *)data)++ < 2;
}

/* The results of the next six calls of the fault point, one bit each; the last call is the lowest bit. */
static unsigned calls_of_the_point(void)
{
	struct command_wire wire = { 0, 0 };
	struct command command;
	unsigned failed = 0;

	for (int i = 0; i < 6; i++) {
		int rc = command_decode(&command, &wire);

		CHECK(M0_IN(rc, (0, -EBADMSG)));
		failed = failed << 1 | (rc != 0);
	}
	return failed;
}

static void fault_points_fail_when_they_were_told_to(void)
{
	int count = 0;

	CHECK_EQ(m0_fi_init(), 0);
	CHECK_EQ(calls_of_the_point(), 0);
	m0_fi_enable("command_decode", "another");
	m0_fi_enable("another", "garbled");
	CHECK_EQ(calls_of_the_point(), 0);
	m0_fi_enable("command_decode", "garbled");
	CHECK_EQ(calls_of_the_point(), 077);
	m0_fi_enable_once("command_decode", "garbled");
	CHECK_EQ(calls_of_the_point(), 040);
	m0_fi_enable_each_nth_time("command_decode", "garbled", 3);
	CHECK_EQ(calls_of_the_point(), 011);
	m0_fi_enable_off_n_on_m("command_decode", "garbled", 1, 2);
	CHECK_EQ(calls_of_the_point(), 033);
	m0_fi_enable_random("command_decode", "garbled", 100);
	CHECK_EQ(calls_of_the_point(), 077);
	m0_fi_enable_func("command_decode", "garbled", two_calls, &count);
	CHECK_EQ(calls_of_the_point(), 060);
	m0_fi_disable("command_decode", "garbled");
	CHECK_EQ(calls_of_the_point(), 0);
	m0_fi_enable("command_decode", "garbled");
	m0_fi_fini();
	CHECK_EQ(calls_of_the_point(), 0);
}

/* ---- trace points, instances ---- */

static int returns(int rc)
{
	M0_ENTRY();
	M0_RETURN(rc);
}

static void trace_points_give_their_results(void)
{
	M0_LOG(M0_DEBUG, "written nowhere: %d", 1);
	CHECK_EQ(returns(-ENOENT), -ENOENT);
	CHECK_EQ(M0_RC_INFO(-EINVAL, "of %s", "it"), -EINVAL);
	CHECK_EQ(M0_ERR(-EIO), -EIO);
	CHECK_EQ(M0_ERR_INFO(-EPERM, "of %d", 2), -EPERM);
}

int main(void)
{
	static struct m0 instance;

	alarm(300);
	find_own_address(1);
	CHECK(m0_get() == NULL);
	CHECK_EQ(m0_init(&instance), 0);
	CHECK(m0_get() == &instance);
	CHECK_EQ(m0_init(NULL), 0);
	CHECK(m0_get() == &instance);
	m0_fini();
	commands_travel_and_pool_buffers_come_back();
	fault_points_fail_when_they_were_told_to();
	trace_points_give_their_results();
	m0_fini();
	CHECK(m0_get() == NULL);
	CHECK_EQ(m0_init(NULL), 0);
	CHECK(m0_get() != NULL);
	m0_fini();
	return failures != 0;
}
