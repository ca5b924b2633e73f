/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A number that several threads change. Every operation is sequentially consistent. */
#ifndef M0_LIB_ATOMIC_H
#define M0_LIB_ATOMIC_H

#include <lib/types.h>

struct m0_atomic64 {
	volatile long a_value;
};

static inline void m0_atomic64_set(struct m0_atomic64 *a, int64_t value)
{
	__atomic_store_n(&a->a_value, (long)value, __ATOMIC_SEQ_CST);
}

static inline int64_t m0_atomic64_get(const struct m0_atomic64 *a)
{
	return __atomic_load_n(&a->a_value, __ATOMIC_SEQ_CST);
}

static inline void m0_atomic64_add(struct m0_atomic64 *a, int64_t number)
{
	__atomic_fetch_add(&a->a_value, (long)number, __ATOMIC_SEQ_CST);
}

static inline void m0_atomic64_sub(struct m0_atomic64 *a, int64_t number)
{
	__atomic_fetch_sub(&a->a_value, (long)number, __ATOMIC_SEQ_CST);
}

static inline void m0_atomic64_inc(struct m0_atomic64 *a)
{
	m0_atomic64_add(a, 1);
}

static inline void m0_atomic64_dec(struct m0_atomic64 *a)
{
	m0_atomic64_sub(a, 1);
}

/** Adds to the number. Returns the new value. */
static inline int64_t m0_atomic64_add_return(struct m0_atomic64 *a, int64_t number)
{
	return __atomic_add_fetch(&a->a_value, (long)number, __ATOMIC_SEQ_CST);
}

static inline int64_t m0_atomic64_sub_return(struct m0_atomic64 *a, int64_t number)
{
	return __atomic_sub_fetch(&a->a_value, (long)number, __ATOMIC_SEQ_CST);
}

/** Increments the number. Returns whether it is then 0. */
static inline bool m0_atomic64_inc_and_test(struct m0_atomic64 *a)
{
	return m0_atomic64_add_return(a, 1) == 0;
}

static inline bool m0_atomic64_dec_and_test(struct m0_atomic64 *a)
{
	return m0_atomic64_sub_return(a, 1) == 0;
}

/** Stores `value` if the number is `expected`. Returns whether it has stored it. */
static inline bool m0_atomic64_cas(struct m0_atomic64 *a, int64_t expected, int64_t value)
{
	long was = (long)expected;

	return __atomic_compare_exchange_n(&a->a_value, &was, (long)value, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

#endif
