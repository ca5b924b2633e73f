/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numbers of bytes and indices, and the words that mark functions. */
#ifndef M0_LIB_TYPES_H
#define M0_LIB_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** A number of bytes. */
typedef uint64_t m0_bcount_t;
/** An offset in bytes. */
typedef uint64_t m0_bindex_t;

/** A number or an identifier of 128 bits. */
struct m0_uint128 {
	/** The upper and the lower 64 bits. */
	uint64_t u_hi;
	uint64_t u_lo;
};

/** The number of 128 bits with these halves. */
#define M0_UINT128(hi, lo) ((struct m0_uint128){ .u_hi = (hi), .u_lo = (lo) })

/* Format and arguments of printf for a number of 128 bits: printf(U128X_F, U128_P(&number)). */
#define U128X_F "%llx:%llx"
#define U128D_F "%llu:%llu"
#define U128_P(number) (unsigned long long)(number)->u_hi, (unsigned long long)(number)->u_lo

/* Attributes that Motr's own sources use for functions. They have no effect here. */
#ifndef M0_INTERNAL
#define M0_INTERNAL
#endif
#ifndef M0_EXTERN
#define M0_EXTERN extern
#endif
#ifndef M0_EXPORTED
#define M0_EXPORTED(name) _Static_assert(1, #name)
#endif

#endif
