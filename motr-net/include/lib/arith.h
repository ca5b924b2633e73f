/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Smaller and larger, and counters that neither overflow nor fall below 0. */
#ifndef M0_LIB_ARITH_H
#define M0_LIB_ARITH_H

#include <lib/assert.h>
#include <lib/types.h>

static inline uint32_t min32u(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t max32u(uint32_t a, uint32_t b)
{
	return a < b ? b : a;
}

static inline uint64_t min64u(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max64u(uint64_t a, uint64_t b)
{
	return a < b ? b : a;
}

static inline int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t max64(int64_t a, int64_t b)
{
	return a < b ? b : a;
}

/** The smaller of two of one type; of two types it does not compile. */
#define min_check(a, b)                        \
	({                                     \
		__typeof__(a) m0_a_ = (a);     \
		__typeof__(b) m0_b_ = (b);     \
		(void)(&m0_a_ == &m0_b_);      \
		m0_a_ < m0_b_ ? m0_a_ : m0_b_; \
	})
#define max_check(a, b)                        \
	({                                     \
		__typeof__(a) m0_a_ = (a);     \
		__typeof__(b) m0_b_ = (b);     \
		(void)(&m0_a_ == &m0_b_);      \
		m0_a_ < m0_b_ ? m0_b_ : m0_a_; \
	})

static inline bool m0_is_po2(uint64_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

#define M0_CNT_INC(counter)                                                        \
	({                                                                         \
		M0_ASSERT((counter) < (__typeof__(counter))~(__typeof__(counter))0); \
		++(counter);                                                       \
	})
#define M0_CNT_DEC(counter)              \
	({                               \
		M0_ASSERT((counter) > 0); \
		--(counter);             \
	})

#endif
