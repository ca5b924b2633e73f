/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests the small types and macros of Motr, as programs in C use them. */
#define _GNU_SOURCE
#include "check.h"
#include <lib/arith.h>
#include <lib/assert.h>
#include <lib/atomic.h>
#include <lib/bitmap.h>
#include <lib/cond.h>
#include <lib/errno.h>
#include <lib/getopts.h>
#include <lib/list.h>
#include <lib/memory.h>
#include <lib/misc.h>
#include <lib/mutex.h>
#include <lib/processor.h>
#include <lib/refs.h>
#include <lib/thread.h>
#include <lib/time.h>
#include <lib/tlist.h>
#include <lib/types.h>
#include <lib/vec.h>
#include <motr/init.h>
#include <net/buffer_pool.h>
#include <net/net.h>
#include <sched.h>
#include <sm/sm.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ut/ut.h>

M0_INTERNAL int marked(void);
M0_EXTERN int marked_too;
M0_EXPORTED(marked);
M0_BASSERT(sizeof(m0_bcount_t) == 8);

int marked_too = 3;

int marked(void)
{
	return marked_too;
}

enum colour { RED, GREEN, BLUE };

/* Counts up to the largest number of a type and down again. */
#define COUNT(type, largest)                          \
	do {                                          \
		type it = 0;                          \
		CHECK(M0_CNT_INC(it) == 1);           \
		CHECK(M0_CNT_DEC(it) == 0);           \
		it = (type)((largest)-1);             \
		CHECK(M0_CNT_INC(it) == (largest));   \
		CHECK(it == (largest));               \
	} while (0)

static void counters_of_every_type(void)
{
	COUNT(int, INT32_MAX);
	COUNT(unsigned int, UINT32_MAX);
	COUNT(signed char, INT8_MAX);
	COUNT(int16_t, INT16_MAX);
	COUNT(uint16_t, UINT16_MAX);
	COUNT(long, INT64_MAX);
	COUNT(uint64_t, UINT64_MAX);
	COUNT(m0_bcount_t, UINT64_MAX);
	COUNT(volatile int, INT32_MAX);
}

static void numbers_of_128_bits(void)
{
	struct m0_uint128 a = M0_UINT128(1, UINT64_MAX), b = M0_UINT128(0, 1), c;
	char text[64];

	m0_uint128_add(&c, &a, &b);
	CHECK(c.u_hi == 2 && c.u_lo == 0);
	m0_uint128_sub(&c, &c, &b);
	CHECK(m0_uint128_eq(&c, &a));
	CHECK(m0_uint128_cmp(&a, &b) > 0 && m0_uint128_cmp(&b, &a) < 0 && m0_uint128_cmp(&a, &c) == 0);
	m0_uint128_mul64(&c, UINT64_MAX, UINT64_MAX);
	CHECK(c.u_hi == UINT64_MAX - 1 && c.u_lo == 1);
	m0_uint128_mul64(&c, 0x100000001ULL, 0xffffffffULL);
	CHECK(c.u_hi == 0 && c.u_lo == 0xffffffffffffffffULL);
	snprintf(text, sizeof(text), U128X_F, U128_P(&a));
	CHECK_STR(text, "1:ffffffffffffffff");
	CHECK_EQ(M0_CAT(M0_SEG_, SHIFT), 12);
}

static void macros(void)
{
	enum colour colour = GREEN;
	int array[] = { 2, 4, 6 }, *pointer = &array[1];
	uint8_t counter = 254;
	struct {
		int before;
		struct m0_list_link link;
	} object = { 5, { NULL, NULL } }, *found;

	CHECK_EQ(marked(), 3);
	CHECK(M0_IN(colour, (RED, GREEN)) && !M0_IN(colour, (BLUE)));
	CHECK(M0_IN(pointer, (array, array + 1)) && !M0_IN(pointer, (array, NULL)));
	CHECK(m0_forall(i, ARRAY_SIZE(array), array[i] % 2 == 0) && !m0_forall(i, 3, array[i] < 6));
	CHECK(m0_exists(i, ARRAY_SIZE(array), array[i] == 6) && !m0_exists(i, 3, array[i] == 5));
	CHECK(m0_forall(i, 0, false) && !m0_exists(i, 0, true));
	CHECK(ergo(false, false) && ergo(true, true) && !ergo(true, false));
	CHECK_EQ(min_check(3, 4), 3);
	CHECK_EQ(max_check(3, 4), 4);
	CHECK_EQ(min32u(~0U, 1), 1);
	CHECK_EQ(max64u(1ULL << 40, 1), 1LL << 40);
	M0_CNT_INC(counter);
	CHECK_EQ(counter, 255);
	M0_CNT_DEC(counter);
	CHECK_EQ(counter, 254);
	counters_of_every_type();
	numbers_of_128_bits();
	found = (void *)container_of(&object.link, __typeof__(object), link);
	CHECK_EQ(found->before, 5);
	M0_SET0(&object);
	CHECK_EQ(object.before, 0);
	M0_SET_ARR0(array);
	CHECK_EQ(array[2], 0);
	M0_CASSERT(sizeof(array) == 12);
	M0_ASSERT(true);
	M0_PRE(true);
	M0_POST(true);
	M0_ASSERT_INFO(true, "not said: %d", 1);
	M0_UT_ASSERT(true);
}

static void memory(void)
{
	struct m0_net_domain *dom;
	uint64_t *numbers;
	void *aligned;

	CHECK(M0_ALLOC_PTR(dom) != NULL && dom->nd_xprt == NULL);
	m0_free0(&dom);
	CHECK(dom == NULL);
	CHECK(M0_ALLOC_ARR(numbers, 100) != NULL && numbers[99] == 0);
	m0_free(numbers);
	CHECK(M0_ALLOC_ARR(numbers, SIZE_MAX / 4) == NULL);
	aligned = m0_alloc_aligned(10000, 12);
	CHECK(aligned != NULL && (uintptr_t)aligned % 4096 == 0);
	m0_free_aligned(aligned, 10000, 12);
	m0_free(NULL);
}

static void times(void)
{
	m0_time_t now = m0_time_now();

	CHECK(M0_TIME_NEVER == ~0ULL && M0_TIME_IMMEDIATELY == 0);
	CHECK_EQ(m0_time(2, 5), 2000000005);
	CHECK_EQ(m0_time_seconds(m0_time(2, 5)), 2);
	CHECK_EQ(m0_time_nanoseconds(m0_time(2, 5)), 5);
	CHECK(m0_time_add(M0_TIME_NEVER, 1) == M0_TIME_NEVER);
	CHECK_EQ(m0_time_sub(7, 3), 4);
	CHECK(m0_time_from_now(1, 0) >= now + M0_TIME_ONE_SECOND);
	CHECK(m0_time_is_in_past(now - 1) && !m0_time_is_in_past(M0_TIME_NEVER));
	CHECK_EQ(m0_nanosleep(m0_time(0, 1), NULL), 0);
}

static void lists(void)
{
	static struct m0_list list;
	static struct item {
		int number;
		struct m0_list_link link;
	} items[4];
	struct item *item, *next;
	struct m0_list_link *link;
	int sum = 0;

	/* A list of zeros is empty. */
	CHECK(m0_list_is_empty(&list) && m0_list_first(&list) == NULL);
	m0_list_for_each_entry(&list, item, struct item, link)
		sum += item->number;
	CHECK_EQ(sum, 0);
	for (int i = 0; i < 4; i++) {
		items[i].number = i + 1;
		m0_list_link_init(&items[i].link);
		m0_list_add_tail(&list, &items[i].link);
	}
	m0_list_for_each_entry(&list, item, struct item, link)
		sum = sum * 10 + item->number;
	CHECK_EQ(sum, 1234);
	m0_list_for_each(&list, link)
		sum += m0_list_entry(link, struct item, link)->number;
	CHECK_EQ(sum, 1244);
	m0_list_for_each_entry_safe(&list, item, next, struct item, link)
		if (item->number % 2 == 0)
			m0_list_del(&item->link);
	CHECK(m0_list_contains(&list, &items[2].link) && !m0_list_contains(&list, &items[1].link));
	CHECK_EQ(m0_list_length(&list), 2);
	m0_list_for_each_entry(&list, item, struct item, link)
		m0_list_del(&item->link);
	CHECK(m0_list_is_empty(&list));
	m0_list_fini(&list);
}

/* Tests the families of the library, with objects of the program. */
static void families(void)
{
	static struct m0_tl list, other;
	static struct m0_net_end_point eps[3];
	static struct m0_net_buffer buffers[2];
	struct m0_net_end_point *ep;
	struct m0_net_buffer *nb;
	int count = 0;

	m0_nep_tlist_init(&list);
	m0_tl_for(m0_nep, &list, ep) {
		count++;
	} m0_tl_endfor;
	CHECK_EQ(count, 0);
	for (int i = 0; i < 3; i++)
		m0_nep_tlink_init_at_tail(&eps[i], &list);
	CHECK(eps[0].nep_magix != 0);
	m0_tl_for(m0_nep, &list, ep) {
		CHECK(ep == &eps[count]);
		count++;
		if (count == 2)
			m0_nep_tlist_del(ep);
	} m0_tl_endfor;
	CHECK_EQ(count, 3);
	CHECK_EQ(m0_nep_tlist_length(&list), 2);
	CHECK(m0_nep_tlist_head(&list) == &eps[0] && m0_nep_tlist_tail(&list) == &eps[2]);
	CHECK(m0_tlist_next(&m0_nep_tl, &list, &eps[0]) == &eps[2] && m0_tlist_length(&m0_nep_tl, &list) == 2);
	CHECK(m0_tlist_head(&m0_nep_tl, &list) == &eps[0]);
	CHECK(m0_nep_tlist_contains(&list, &eps[2]) && !m0_nep_tlink_is_in(&eps[1]));
	CHECK(m0_tl_forall(m0_nep, each, &list, each->nep_tm == NULL));
	m0_nep_tlist_del(&eps[0]);
	m0_nep_tlist_del(&eps[2]);
	CHECK(m0_nep_tlist_is_empty(&list));
	m0_nep_tlist_fini(&list);

	m0_net_tm_tlist_init(&list);
	m0_net_pool_tlist_init(&other);
	m0_net_tm_tlink_init_at_tail(&buffers[0], &list);
	m0_net_pool_tlink_init_at_tail(&buffers[1], &other);
	CHECK(m0_net_tm_tlist_head(&list) == &buffers[0] && m0_net_pool_tlist_head(&other) == &buffers[1]);
	m0_tl_for(m0_net_tm, &list, nb) {
		m0_net_tm_tlist_del(nb);
	} m0_tl_endfor;
	m0_net_pool_tlist_del(&buffers[1]);
	CHECK(m0_net_tm_tlist_is_empty(&list) && m0_net_pool_tlist_is_empty(&other));
}

static void bitmaps(void)
{
	struct m0_bitmap map, copy;

	CHECK_EQ(m0_bitmap_init(&map, 100), 0);
	CHECK_EQ(m0_bitmap_init(&copy, 130), 0);
	CHECK_EQ(map.b_nr, 100);
	m0_bitmap_set(&map, 70, true);
	m0_bitmap_set(&copy, 129, true);
	CHECK(m0_bitmap_get(&map, 70) && (map.b_words[1] & 1 << 6) != 0);
	CHECK_EQ(m0_bitmap_ffs(&map), 70);
	CHECK_EQ(m0_bitmap_ffz(&map), 0);
	m0_bitmap_copy(&copy, &map);
	CHECK_EQ(m0_bitmap_set_nr(&copy), 1);
	m0_bitmap_set(&map, 70, false);
	CHECK_EQ(m0_bitmap_ffs(&map), -1);
	m0_processors_online(&copy);
	CHECK(m0_bitmap_set_nr(&copy) >= 1 && m0_processor_nr_max() >= 1);
	m0_bitmap_fini(&map);
	m0_bitmap_fini(&copy);
}

static void vectors(void)
{
	char text[] = "abcdefghij", out[16] = "";
	void *address = text;
	m0_bcount_t length = 10;
	struct m0_bufvec plain = M0_BUFVEC_INIT_BUF(&address, &length), vec;
	struct m0_bufvec_cursor from, to;

	CHECK_EQ(m0_bufvec_alloc(&vec, 3, 4), 0);
	CHECK_EQ(m0_vec_count(&vec.ov_vec), 12);
	m0_bufvec_cursor_init(&from, &plain);
	m0_bufvec_cursor_init(&to, &vec);
	CHECK(!m0_bufvec_cursor_move(&from, 1) && !m0_bufvec_cursor_move(&to, 3));
	CHECK_EQ(m0_bufvec_cursor_step(&to), 1);
	CHECK_EQ(m0_bufvec_cursor_copy(&to, &from, 100), 9);
	CHECK(m0_bufvec_cursor_move(&from, 0) && m0_bufvec_cursor_move(&to, 0));
	CHECK(memcmp(vec.ov_buf[0], "\0\0\0b", 4) == 0 && memcmp(vec.ov_buf[2], "ghij", 4) == 0);
	m0_bufvec_cursor_init(&to, &vec);
	CHECK_EQ(m0_bufvec_cursor_copyto(&to, (void *)"12345", 5), 5);
	CHECK(*(char *)m0_bufvec_cursor_addr(&to) == 'd');
	m0_bufvec_cursor_init(&to, &vec);
	CHECK_EQ(m0_bufvec_cursor_copyfrom(&to, out, 7), 7);
	CHECK_STR(out, "12345de");
	m0_bufvec_free(&vec);
	CHECK(vec.ov_buf == NULL && vec.ov_vec.v_nr == 0);
	CHECK_EQ(m0_bufvec_alloc_aligned_packed(&vec, 2, 4096, 12), 0);
	CHECK((char *)vec.ov_buf[1] - (char *)vec.ov_buf[0] == 4096);
	m0_bufvec_free_aligned_packed(&vec, 12);
}

/* ---- threads ---- */

static struct {
	struct m0_mutex mutex;
	struct m0_cond cond;
	struct m0_chan chan;
	struct m0_atomic64 sum;
	int turn;
	int cpu;
} shared;

static void add_number(int *number)
{
	m0_atomic64_add(&shared.sum, *number);
	CHECK(m0_thread_self() != NULL && m0_thread_self()->t_state == TS_RUNNING);
	m0_mutex_lock(&shared.mutex);
	while (shared.turn != *number)
		m0_cond_wait(&shared.cond);
	shared.turn++;
	m0_cond_broadcast(&shared.cond);
	m0_mutex_unlock(&shared.mutex);
}

static int refuse(void *arg)
{
	(void)arg;
	return -EPERM;
}

static void threads(void)
{
	struct m0_thread threads[3], confined;
	int numbers[] = { 1, 2, 3 };
	struct m0_bitmap cpus;
	struct m0_clink clink;

	M0_SET_ARR0(threads);
	m0_mutex_init(&shared.mutex);
	m0_cond_init(&shared.cond, &shared.mutex);
	for (int i = 2; i >= 0; i--)
		CHECK_EQ(M0_THREAD_INIT(&threads[i], int *, NULL, add_number, &numbers[i], "number_%d", i), 0);
	m0_mutex_lock(&shared.mutex);
	shared.turn = 1;
	m0_cond_broadcast(&shared.cond);
	m0_mutex_unlock(&shared.mutex);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(m0_thread_join(&threads[i]), 0);
		CHECK_EQ(threads[i].t_state, TS_PARKED);
		m0_thread_fini(&threads[i]);
	}
	CHECK_EQ(m0_atomic64_get(&shared.sum), 6);
	CHECK_EQ(shared.turn, 4);
	m0_mutex_lock(&shared.mutex);
	CHECK(!m0_cond_timedwait(&shared.cond, m0_time_now()));
	m0_mutex_unlock(&shared.mutex);
	m0_cond_fini(&shared.cond);

	M0_SET0(&confined);
	CHECK_EQ(M0_THREAD_INIT(&confined, void *, refuse, free, NULL, "refused"), -EPERM);

	/* An anonymous function, for which the next channel waits. */
	m0_chan_init(&shared.chan, &shared.mutex);
	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&shared.chan, &clink);
	CHECK_EQ(m0_bitmap_init(&cpus, m0_processor_nr_max()), 0);
	m0_processors_online(&cpus);
	CHECK_EQ(m0_thread_confine(m0_thread_self(), &cpus), 0);
	CHECK_EQ(M0_THREAD_INIT(&confined, struct m0_bitmap *, NULL,
				LAMBDA(void, (struct m0_bitmap * map) {
					int first = m0_bitmap_ffs(map);

					for (int i = first + 1; i < (int)map->b_nr; i++)
						m0_bitmap_set(map, i, false);
					CHECK_EQ(m0_thread_confine(m0_thread_self(), map), 0);
					shared.cpu = sched_getcpu() - first;
					m0_chan_signal_lock(&shared.chan);
				}),
				&cpus, "confined"),
		 0);
	m0_chan_wait(&clink);
	CHECK_EQ(shared.cpu, 0);
	CHECK(!m0_chan_trywait(&clink) && !m0_chan_timedwait(&clink, m0_time_now()));
	m0_thread_join(&confined);
	m0_thread_fini(&confined);
	m0_clink_del_lock(&clink);
	m0_clink_fini(&clink);
	m0_chan_fini_lock(&shared.chan);
	m0_mutex_fini(&shared.mutex);
	m0_bitmap_fini(&cpus);
}

static void atomics_and_references(void)
{
	static int released;
	struct m0_atomic64 number = { 0 };
	struct m0_ref ref;

	m0_atomic64_set(&number, 5);
	m0_atomic64_inc(&number);
	m0_atomic64_sub(&number, 2);
	CHECK_EQ(m0_atomic64_add_return(&number, 3), 7);
	CHECK(m0_atomic64_cas(&number, 7, 1) && !m0_atomic64_cas(&number, 7, 2));
	CHECK(m0_atomic64_dec_and_test(&number));
	m0_ref_init(&ref, 1, LAMBDA(void, (struct m0_ref * it) { released += (it->release != NULL); }));
	m0_ref_get(&ref);
	m0_ref_put(&ref);
	CHECK_EQ(m0_ref_read(&ref), 1);
	CHECK_EQ(released, 0);
	m0_ref_put(&ref);
	CHECK_EQ(released, 1);
}

static void options(void)
{
	static const char *text;
	static int64_t number;
	static int called;
	bool flag = false;
	int count = 0;
	char *good[] = { "program", "-f", "-c", "12", "-nn", "-t", "some text", NULL };
	char *bad[] = { "program", "-c", "many", NULL };
	char *unknown[] = { "program", "-z", NULL };
	char *help[] = { "program", "-h", NULL };

	good[4] = "-n0x10";
#define OPTIONS                                                                                     \
	M0_FLAGARG('f', "a flag", &flag), M0_FORMATARG('c', "a count", "%d", &count),               \
		M0_NUMBERARG('n', "a number", LAMBDA(void, (int64_t it) { number = it; })),         \
		M0_STRINGARG('t', "a text", LAMBDA(void, (const char *it) { text = it; })),         \
		M0_VOIDARG('v', "a call", LAMBDA(void, (void) { called++; }))
	CHECK_EQ(M0_GETOPTS("program", 7, good, OPTIONS), 0);
	CHECK(flag && count == 12 && number == 16 && called == 0);
	CHECK_STR(text, "some text");
	CHECK_EQ(M0_GETOPTS("program", 3, bad, OPTIONS), -EINVAL);
	CHECK_EQ(M0_GETOPTS("program", 2, unknown, OPTIONS), -EINVAL);
	CHECK_EQ(M0_GETOPTS("program", 2, help, OPTIONS), -EAGAIN);
}

/* ---- misuse ends the process ---- */

static struct m0_mutex mutex;
static struct m0_chan channel;

static void locks_twice(void)
{
	m0_mutex_lock(&mutex);
	m0_mutex_lock(&mutex);
}

static void unlocks_what_it_has_not(void)
{
	m0_mutex_unlock(&mutex);
}

static void signals_without_the_guard(void)
{
	m0_chan_init(&channel, &mutex);
	m0_chan_signal(&channel);
}

static void counts_beyond_an_int(void)
{
	int counter = INT32_MAX;

	M0_CNT_INC(counter);
}

static void subtracts_the_later_time(void)
{
	m0_time_sub(1, 2);
}

static void asserts_what_does_not_hold(void)
{
	M0_ASSERT(mutex.m_owner == 1);
}

static void comes_to_the_impossible(void)
{
	M0_IMPOSSIBLE("number %d", 7);
}

static void steps_at_the_end(void)
{
	struct m0_bufvec vec = { { 0, NULL }, NULL };
	struct m0_bufvec_cursor cur;

	m0_bufvec_cursor_init(&cur, &vec);
	m0_bufvec_cursor_step(&cur);
}

static void misuse_ends_the_process_with_a_message(void)
{
	static const struct {
		void (*run)(void);
		const char *says;
	} table[] = {
		{ locks_twice, "m0_mutex_lock" },
		{ unlocks_what_it_has_not, "m0_mutex_unlock" },
		{ signals_without_the_guard, "m0_chan_signal" },
		{ subtracts_the_later_time, "m0_time_sub" },
		{ counts_beyond_an_int, "__builtin_add_overflow" },
		{ asserts_what_does_not_hold, "mutex.m_owner == 1" },
		{ comes_to_the_impossible, "number 7" },
		{ steps_at_the_end, "m0_bufvec_cursor_step" },
	};

	for (size_t i = 0; i < LENGTH(table); i++) {
		char said[4096] = "";
		int fds[2], status = 0;
		size_t length = 0;
		ssize_t got;
		pid_t child;

		CHECK_EQ(pipe(fds), 0);
		child = fork();
		if (child == 0) {
			dup2(fds[1], 2);
			table[i].run();
			_exit(0);
		}
		close(fds[1]);
		while ((got = read(fds[0], said + length, sizeof(said) - 1 - length)) > 0)
			length += got;
		close(fds[0]);
		waitpid(child, &status, 0);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		if (strstr(said, table[i].says) == NULL) {
			fprintf(stderr, "\"%s\" says: %s\n", table[i].says, said);
			failures++;
		}
	}
}

int main(void)
{
	static const struct m0_ut_suite suite = {
		.ts_name = "support",
		.ts_tests = { { "macros", macros, "" },
			      { "memory", memory, "" },
			      { "times", times, "" },
			      { "lists", lists, "" },
			      { "families", families, "" },
			      { "bitmaps", bitmaps, "" },
			      { "vectors", vectors, "" },
			      { "threads", threads, "" },
			      { "atomics", atomics_and_references, "" },
			      { "options", options, "" },
			      { "misuse", misuse_ends_the_process_with_a_message, "" },
			      { NULL, NULL, NULL } },
	};

	m0_ut_suite_run(&suite);
	return failures != 0;
}
