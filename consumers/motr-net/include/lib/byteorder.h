/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Conversions of numbers between this machine's byte order and the two that are used on the wire. */
#ifndef M0_LIB_BYTEORDER_H
#define M0_LIB_BYTEORDER_H

#include <lib/types.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define M0_BYTEORDER_le(bits, x) (x)
#define M0_BYTEORDER_be(bits, x) __builtin_bswap##bits(x)
#else
#define M0_BYTEORDER_le(bits, x) __builtin_bswap##bits(x)
#define M0_BYTEORDER_be(bits, x) (x)
#endif

/* Defines m0_byteorder_cpu_to_le32(x), m0_byteorder_le32_to_cpu(x) and so on, for 16, 32 and 64 bits, le and be. */
#define M0_BYTEORDER(order, bits)                                                          \
	static inline uint##bits##_t m0_byteorder_cpu_to_##order##bits(uint##bits##_t x)   \
	{                                                                                  \
		return M0_BYTEORDER_##order(bits, x);                                      \
	}                                                                                  \
	static inline uint##bits##_t m0_byteorder_##order##bits##_to_cpu(uint##bits##_t x) \
	{                                                                                  \
		return M0_BYTEORDER_##order(bits, x);                                      \
	}

M0_BYTEORDER(le, 16)
M0_BYTEORDER(le, 32)
M0_BYTEORDER(le, 64)
M0_BYTEORDER(be, 16)
M0_BYTEORDER(be, 32)
M0_BYTEORDER(be, 64)

#undef M0_BYTEORDER
#undef M0_BYTEORDER_le
#undef M0_BYTEORDER_be

#endif
