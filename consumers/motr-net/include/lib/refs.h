/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A reference count. When it reaches 0 the object that contains it is released. */
#ifndef M0_LIB_REFS_H
#define M0_LIB_REFS_H

#include <lib/atomic.h>

struct m0_ref {
	struct m0_atomic64 ref_cnt;
	void (*release)(struct m0_ref *ref);
};

/** Initialises a count with `init_num`, and the function that is called when it reaches 0. */
void m0_ref_init(struct m0_ref *ref, int init_num, void (*release)(struct m0_ref *ref));
/** Takes a reference. */
void m0_ref_get(struct m0_ref *ref);
/** Drops a reference, and calls `release` after the last one. */
void m0_ref_put(struct m0_ref *ref);
/** The number of references at this moment. */
int64_t m0_ref_read(const struct m0_ref *ref);

#endif
