/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A set of numbers below a limit. The functions do not lock. */
#ifndef M0_LIB_BITMAP_H
#define M0_LIB_BITMAP_H

#include <lib/types.h>

struct m0_bitmap {
	/** The number of bits. */
	size_t b_nr;
	/** The words: bit `i` is bit `i % 64` of word `i / 64`. Bits beyond b_nr are 0. */
	uint64_t *b_words;
};

/** Initialises a bitmap of `nr` zeros. Returns 0 or -ENOMEM. */
int m0_bitmap_init(struct m0_bitmap *map, size_t nr);
/** Frees the memory of a bitmap. */
void m0_bitmap_fini(struct m0_bitmap *map);
/** Whether the bit `idx` is set. */
bool m0_bitmap_get(const struct m0_bitmap *map, size_t idx);
/** Sets the bit `idx`, or clears it. */
void m0_bitmap_set(struct m0_bitmap *map, size_t idx, bool val);
/** The first bit that is set; -1 if none is. */
int m0_bitmap_ffs(const struct m0_bitmap *map);
/** The first bit that is not set; -1 if all are set. */
int m0_bitmap_ffz(const struct m0_bitmap *map);
/** The number of bits that are set. */
size_t m0_bitmap_set_nr(const struct m0_bitmap *map);
/** Copies all bits. `dst` must have at least as many bits; those beyond are set to 0. */
void m0_bitmap_copy(struct m0_bitmap *dst, const struct m0_bitmap *src);
/** Clears all bits. */
void m0_bitmap_reset(struct m0_bitmap *map);

#endif
