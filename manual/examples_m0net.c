/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The examples of the manual pages about Motr's network layer, in the form of examples.c. */
#include <lib/bitmap.h>
#include <lib/chan.h>
#include <lib/cond.h>
#include <lib/finject.h>
#include <lib/getopts.h>
#include <lib/memory.h>
#include <lib/mutex.h>
#include <lib/processor.h>
#include <lib/refs.h>
#include <lib/semaphore.h>
#include <lib/thread.h>
#include <lib/time.h>
#include <lib/vec.h>
#include <module/instance.h>
#include <motr/init.h>
#include <net/buffer_pool.h>
#include <net/lnet.h>
#include <net/lnet/lnet.h>
#include <net/net.h>

/* Example: Begins to use the node that LNET_NETWORKS describes, works, and ends the use. */
int with_domain(int (*work)(struct m0_net_domain *))
{
	static struct m0_net_domain domain;
	int rc = m0_init(NULL);

	if (rc != 0)
		return rc;
	rc = m0_net_domain_init(&domain, m0_net_xprt_default_get());
	if (rc == 0) {
		rc = work(&domain);
		m0_net_domain_fini(&domain);
	}
	m0_fini();
	return rc;
}

/* Example: Starts a transfer machine at an address, and waits until it is started or has failed. */
int start_machine(struct m0_net_transfer_mc *tm, struct m0_net_domain *dom,
		const char *addr)
{
	struct m0_clink clink;
	int rc = m0_net_tm_init(tm, dom);

	if (rc != 0)
		return rc;
	m0_clink_init(&clink, NULL);
	/* Before the start: signals from before are lost. */
	m0_clink_add_lock(&tm->ntm_chan, &clink);
	rc = m0_net_tm_start(tm, addr);
	while (rc == 0 && tm->ntm_state == M0_NET_TM_STARTING)
		m0_chan_wait(&clink);
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
	return rc != 0 || tm->ntm_state == M0_NET_TM_STARTED ? rc : -ECONNABORTED;
}

/* Example: Cancels what a transfer machine has under way, and ends the machine. */
void stop_machine(struct m0_net_transfer_mc *tm)
{
	struct m0_clink clink;

	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&tm->ntm_chan, &clink);
	if (m0_net_tm_stop(tm, true) == 0)
		while (tm->ntm_state != M0_NET_TM_STOPPED)
			m0_chan_wait(&clink);
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
	m0_net_tm_fini(tm);
}

/* Example: Sends a message. The callback for M0_NET_QT_MSG_SEND follows if the result is 0. */
int send_message(struct m0_net_transfer_mc *tm, struct m0_net_buffer *message,
		m0_bcount_t length, const char *addr)
{
	struct m0_net_end_point *receiver;
	int rc = m0_net_end_point_create(&receiver, tm, addr);

	if (rc != 0)
		return rc;
	message->nb_qtype = M0_NET_QT_MSG_SEND;
	message->nb_length = length;
	message->nb_ep = receiver;
	message->nb_timeout = m0_time_from_now(10, 0);
	rc = m0_net_buffer_add(message, tm);
	/* The operation has a reference of its own. */
	m0_net_end_point_put(receiver);
	return rc;
}

/* Example: Registers a buffer of four pages for messages, and queues it. */
int receive_messages(struct m0_net_transfer_mc *tm, struct m0_net_buffer *buffer,
		const struct m0_net_buffer_callbacks *callbacks)
{
	int rc = m0_bufvec_alloc_aligned(&buffer->nb_buffer, 4, M0_SEG_SIZE, M0_SEG_SHIFT);

	if (rc != 0)
		return rc;
	rc = m0_net_buffer_register(buffer, tm->ntm_dom);
	if (rc != 0) {
		m0_bufvec_free_aligned(&buffer->nb_buffer, M0_SEG_SHIFT);
		return rc;
	}
	buffer->nb_qtype = M0_NET_QT_MSG_RECV;
	buffer->nb_callbacks = callbacks;
	buffer->nb_min_receive_size = M0_SEG_SIZE;
	buffer->nb_max_receive_msgs = 4;
	return m0_net_buffer_add(buffer, tm);
}

/* Example: Fetches bulk data into a buffer, by the descriptor that the other side has sent in a message. */
int fetch_bulk(struct m0_net_transfer_mc *tm, struct m0_net_buffer *buffer,
		const struct m0_net_buf_desc *desc, m0_bcount_t length)
{
	int rc = m0_net_desc_copy(desc, &buffer->nb_desc);

	if (rc != 0)
		return rc;
	buffer->nb_qtype = M0_NET_QT_ACTIVE_BULK_RECV;
	buffer->nb_length = length;
	rc = m0_net_buffer_add(buffer, tm);
	/* Otherwise the callback frees it. */
	if (rc != 0)
		m0_net_desc_free(&buffer->nb_desc);
	return rc;
}

/* Example: Delivers the events of a transfer machine on this thread, until `is_done` says so. */
void deliver(struct m0_net_transfer_mc *tm, bool (*is_done)(void))
{
	struct m0_clink clink;

	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&tm->ntm_chan, &clink);
	while (!is_done()) {
		m0_net_buffer_event_notify(tm, &tm->ntm_chan);
		m0_chan_wait(&clink);
		if (m0_net_buffer_event_pending(tm))
			m0_net_buffer_event_deliver_all(tm);
	}
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
}

/* Example: Prints how many messages a transfer machine has received, and starts counting again. */
void print_received(struct m0_net_transfer_mc *tm)
{
	struct m0_net_qstats stats;

	m0_net_tm_stats_get(tm, M0_NET_QT_MSG_RECV, &stats, true);
	printf("%llu received, %llu failed\n", (unsigned long long)stats.nqs_num_s_events,
	       (unsigned long long)stats.nqs_num_f_events);
}

/* Example: Makes a pool of 32 buffers of 64 KiB, from which transfer machines take their receive buffers. */
int make_pool(struct m0_net_buffer_pool *pool, struct m0_net_domain *dom,
		const struct m0_net_buffer_pool_ops *ops)
{
	int rc = m0_net_buffer_pool_init(pool, dom, M0_NET_BUFFER_POOL_THRESHOLD, 16,
					 M0_SEG_SIZE, 1, M0_SEG_SHIFT, false);

	if (rc != 0)
		return rc;
	pool->nbp_ops = ops;
	m0_net_buffer_pool_lock(pool);
	rc = m0_net_buffer_pool_provision(pool, 32) == 32 ? 0 : -ENOMEM;
	m0_net_buffer_pool_unlock(pool);
	if (rc != 0)
		m0_net_buffer_pool_fini(pool);
	return rc;
}

/* Example: Prints the NIDs of this node. */
int print_nids(struct m0_net_domain *dom)
{
	char **nids;
	int rc = m0_net_lnet_ifaces_get(dom, &nids);

	if (rc != 0)
		return rc;
	for (int i = 0; nids[i] != NULL; i++)
		printf("%s\n", nids[i]);
	m0_net_lnet_ifaces_put(dom, &nids);
	return 0;
}

/* Example: Queues a buffer, by the names in the design of the LNet transport. */
int register_and_add(struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm)
{
	int rc = m0_net_buf_register(buf, tm->ntm_dom);

	return rc != 0 ? rc : m0_net_buf_add(buf, tm);
}

/* Example: Copies text into memory of several pieces. Returns the number of bytes that had room. */
m0_bcount_t copy_text(struct m0_bufvec *to, char *text, m0_bcount_t length)
{
	struct m0_bufvec_cursor cursor;

	m0_bufvec_cursor_init(&cursor, to);
	return m0_bufvec_cursor_copyto(&cursor, text, length);
}

/* Example: Prints how long work has taken. */
void print_duration(void (*work)(void))
{
	m0_time_t begin = m0_time_now(), took;

	work();
	took = m0_time_sub(m0_time_now(), begin);
	printf("%llu.%09llu s\n", (unsigned long long)m0_time_seconds(took),
	       (unsigned long long)m0_time_nanoseconds(took));
}

/* Example: Waits until a flag is set, at most five seconds. The thread that sets it calls m0_cond_signal with the mutex locked. */
bool wait_for_flag(struct m0_mutex *mutex, struct m0_cond *cond, const bool *flag)
{
	m0_time_t deadline = m0_time_from_now(5, 0);
	bool is_set;

	m0_mutex_lock(mutex);
	while (!*flag && m0_cond_timedwait(cond, deadline))
		;
	is_set = *flag;
	m0_mutex_unlock(mutex);
	return is_set;
}

/* Example: Lets at most as many threads work at a time as the semaphore counted at its beginning. */
void work_in_turn(struct m0_semaphore *places, void (*work)(void))
{
	m0_semaphore_down(places);
	work();
	m0_semaphore_up(places);
}

/* Example: Starts a thread with a number in its name, and waits for its end. */
int run_in_thread(void (*work)(void *), void *arg, int number)
{
	struct m0_thread thread = { 0 };
	int rc = m0_thread_init(&thread, NULL, work, arg, "worker%d", number);

	if (rc != 0)
		return rc;
	rc = m0_thread_join(&thread);
	m0_thread_fini(&thread);
	return rc;
}

/* Example: Keeps a transfer machine that is not started yet to the first processor of this process. */
int confine_to_first(struct m0_net_transfer_mc *tm)
{
	struct m0_bitmap online, first;
	int rc = m0_bitmap_init(&online, m0_processor_nr_max());

	if (rc != 0)
		return rc;
	m0_processors_online(&online);
	rc = m0_bitmap_init(&first, m0_processor_nr_max());
	if (rc == 0) {
		m0_bitmap_set(&first, (size_t)m0_bitmap_ffs(&online), true);
		rc = m0_net_tm_confine(tm, &first);
		m0_bitmap_fini(&first);
	}
	m0_bitmap_fini(&online);
	return rc;
}

/* Example: Gives an object to two users; the last one that drops its reference frees the object. */
void share(struct m0_ref *ref, void (*release)(struct m0_ref *), void (*use)(struct m0_ref *))
{
	m0_ref_init(ref, 1, release);
	m0_ref_get(ref);
	use(ref);
	m0_ref_put(ref);
}

/* Example: Allocates a page, all zeros, at the beginning of a page. */
void *allocate_page(void)
{
	return m0_alloc_aligned(M0_SEG_SIZE, M0_SEG_SHIFT);
}

/* Example: Has a fault point. A test lets it fail once by m0_fi_enable_once("read_block", "io_error"). */
int read_block(void)
{
	return M0_FI_ENABLED("io_error") ? -EIO : 0;
}

/* Example: Lets half of the calls of read_block fail. */
void fail_often(void)
{
	m0_fi_enable_random("read_block", "io_error", 50);
}

/* Example: Reads an address and a number from the command line: -a ADDRESS -n NUMBER. */
int read_options(int argc, char **argv, void (*take_address)(const char *), unsigned int *number)
{
	const struct m0_getopts_opt options[] = {
		M0_STRINGARG('a', "address", take_address),
		M0_FORMATARG('n', "number of messages", "%u", number),
	};

	return m0_getopts(argv[0], argc, argv, options, 2);
}

/* Example: Tells whether m0_init has been called. */
bool is_initialised(void)
{
	return m0_get() != NULL;
}
