/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A set of numbers below a limit. Nothing is locked. */
#ifndef M0_LIB_BITMAP_H
#define M0_LIB_BITMAP_H

#include <lib/types.h>

struct m0_bitmap {
	/** The number of bits. */
	size_t b_nr;
	/** Bit `i` is bit `i % 64` of word `i / 64`. Those beyond b_nr are 0. */
	uint64_t *b_words;
};

/** A bitmap of `nr` zeros. Returns 0 or -ENOMEM. */
int m0_bitmap_init(struct m0_bitmap *map, size_t nr);
/** Frees its memory. */
void m0_bitmap_fini(struct m0_bitmap *map);
bool m0_bitmap_get(const struct m0_bitmap *map, size_t idx);
void m0_bitmap_set(struct m0_bitmap *map, size_t idx, bool val);
/** The first bit that is set; -1: none is. */
int m0_bitmap_ffs(const struct m0_bitmap *map);
/** The first bit that is not set; -1: all are. */
int m0_bitmap_ffz(const struct m0_bitmap *map);
/** The number of bits that are set. */
size_t m0_bitmap_set_nr(const struct m0_bitmap *map);
/** Copies all bits; `dst` has as many or more, and zeros beyond them. */
void m0_bitmap_copy(struct m0_bitmap *dst, const struct m0_bitmap *src);
void m0_bitmap_reset(struct m0_bitmap *map);

#endif
