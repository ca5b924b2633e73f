/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Minimum and maximum, counters that neither overflow nor fall below 0, and numbers of 128 bits. */
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

/** The smaller of two values, which must have the same type. */
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

/** Adds 1 to a counter of any integer type; the value is the sum, which must fit the type. */
#define M0_CNT_INC(counter)                                                        \
	({                                                                         \
		__typeof__(counter) m0_next_;                                      \
		M0_ASSERT(!__builtin_add_overflow((counter), 1, &m0_next_));       \
		(counter) = m0_next_;                                              \
	})
/** Subtracts 1 from a counter, which must be above 0; the value is the difference. */
#define M0_CNT_DEC(counter)              \
	({                               \
		M0_ASSERT((counter) > 0); \
		--(counter);             \
	})

static inline void m0_uint128_init(struct m0_uint128 *number, uint64_t hi, uint64_t lo)
{
	number->u_hi = hi;
	number->u_lo = lo;
}

static inline bool m0_uint128_eq(const struct m0_uint128 *a, const struct m0_uint128 *b)
{
	return a->u_hi == b->u_hi && a->u_lo == b->u_lo;
}

/** Compares two numbers: the result is below 0, 0 or above 0 if `a` is smaller than, equal to or larger than `b`. */
static inline int m0_uint128_cmp(const struct m0_uint128 *a, const struct m0_uint128 *b)
{
	if (a->u_hi != b->u_hi)
		return a->u_hi < b->u_hi ? -1 : 1;
	return a->u_lo == b->u_lo ? 0 : a->u_lo < b->u_lo ? -1 : 1;
}

/** Stores the sum modulo 2^128. `res` may be the same as an operand, also in the next two functions. */
static inline void m0_uint128_add(struct m0_uint128 *res, const struct m0_uint128 *a, const struct m0_uint128 *b)
{
	uint64_t lo;
	uint64_t carry = __builtin_add_overflow(a->u_lo, b->u_lo, &lo);

	m0_uint128_init(res, a->u_hi + b->u_hi + carry, lo);
}

/** Stores the difference modulo 2^128. */
static inline void m0_uint128_sub(struct m0_uint128 *res, const struct m0_uint128 *a, const struct m0_uint128 *b)
{
	uint64_t lo;
	uint64_t borrow = __builtin_sub_overflow(a->u_lo, b->u_lo, &lo);

	m0_uint128_init(res, a->u_hi - b->u_hi - borrow, lo);
}

/** Stores the product. */
static inline void m0_uint128_mul64(struct m0_uint128 *res, uint64_t a, uint64_t b)
{
	uint64_t low = (uint32_t)a * (uint64_t)(uint32_t)b;
	uint64_t cross = (a >> 32) * (uint32_t)b + (low >> 32);
	uint64_t other = (uint32_t)a * (b >> 32) + (uint32_t)cross;

	m0_uint128_init(res, (a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32), other << 32 | (uint32_t)low);
}

#endif
