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
/** A place in something. */
typedef uint64_t m0_bindex_t;

/** A number or an identifier of 128 bits. */
struct m0_uint128 {
	/** The upper and the lower half. */
	uint64_t u_hi;
	uint64_t u_lo;
};

/** The number of these halves. */
#define M0_UINT128(hi, lo) ((struct m0_uint128){ .u_hi = (hi), .u_lo = (lo) })

/* A number of 128 bits for printf: printf(U128X_F, U128_P(&number)). */
#define U128X_F "%llx:%llx"
#define U128D_F "%llu:%llu"
#define U128_P(number) (unsigned long long)(number)->u_hi, (unsigned long long)(number)->u_lo

/* Marks in Motr's own sources. They change nothing here: every function is what C makes of it. */
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
