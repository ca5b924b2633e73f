/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory in several pieces, and cursors that move over it. The functions do not lock. */
#ifndef M0_LIB_VEC_H
#define M0_LIB_VEC_H

#include <lib/types.h>

enum {
	/** The usual size of pieces, a page: as a power of two and in bytes. */
	M0_SEG_SHIFT = 12,
	M0_SEG_SIZE = 1 << M0_SEG_SHIFT,
};

/** The lengths of pieces. */
struct m0_vec {
	uint32_t v_nr;
	m0_bcount_t *v_count;
};

/** Pieces of memory: ov_buf[i] has ov_vec.v_count[i] bytes. */
struct m0_bufvec {
	struct m0_vec ov_vec;
	void **ov_buf;
};

/** A position in a vector. At the end vc_seg is v_nr; otherwise vc_offset is less than the length of the piece. */
struct m0_vec_cursor {
	const struct m0_vec *vc_vec;
	uint32_t vc_seg;
	m0_bcount_t vc_offset;
};

struct m0_bufvec_cursor {
	struct m0_vec_cursor bc_vc;
};

/** A vector of one piece: pointers to its address and to its length. */
#define M0_BUFVEC_INIT_BUF(addr_ptr, count_ptr) \
	((struct m0_bufvec){ .ov_vec = { .v_nr = 1, .v_count = (count_ptr) }, .ov_buf = (addr_ptr) })

/** The number of bytes of all pieces. */
m0_bcount_t m0_vec_count(const struct m0_vec *vec);

/** Allocates `num_segs` pieces of `seg_size` bytes of zeros, each separately. Returns 0; -ENOMEM (then nothing is
 * allocated); -EINVAL (0 pieces or bytes). */
int m0_bufvec_alloc(struct m0_bufvec *bufvec, uint32_t num_segs, m0_bcount_t seg_size);
/** Frees the pieces and the arrays, and sets the vector to zeros. A vector of zeros stays unchanged. */
void m0_bufvec_free(struct m0_bufvec *bufvec);
/** Allocates pieces like m0_bufvec_alloc, each at a multiple of 2^shift. */
int m0_bufvec_alloc_aligned(struct m0_bufvec *bufvec, uint32_t num_segs, m0_bcount_t seg_size, unsigned int shift);
void m0_bufvec_free_aligned(struct m0_bufvec *bufvec, unsigned int shift);
/** Allocates pieces like m0_bufvec_alloc_aligned, all in one block of memory, one after another. */
int m0_bufvec_alloc_aligned_packed(struct m0_bufvec *bufvec, uint32_t num_segs, m0_bcount_t seg_size,
				   unsigned int shift);
void m0_bufvec_free_aligned_packed(struct m0_bufvec *bufvec, unsigned int shift);

/** Puts a cursor at the beginning. */
void m0_bufvec_cursor_init(struct m0_bufvec_cursor *cur, const struct m0_bufvec *bvec);
/** Moves the cursor forward by count bytes. True: the cursor is now at the end. */
bool m0_bufvec_cursor_move(struct m0_bufvec_cursor *cur, m0_bcount_t count);
/** The number of bytes left in the current piece. The cursor must not be at the end. */
m0_bcount_t m0_bufvec_cursor_step(const struct m0_bufvec_cursor *cur);
/** The address of the cursor. The cursor must not be at the end. */
void *m0_bufvec_cursor_addr(struct m0_bufvec_cursor *cur);
/**
 * Copies num_bytes bytes, or fewer if a cursor reaches its end, and moves both cursors. Returns the number of bytes
 * copied.
 */
m0_bcount_t m0_bufvec_cursor_copy(struct m0_bufvec_cursor *dcur, struct m0_bufvec_cursor *scur, m0_bcount_t num_bytes);
/** Copies like m0_bufvec_cursor_copy, from or to plain memory. */
m0_bcount_t m0_bufvec_cursor_copyto(struct m0_bufvec_cursor *dcur, void *sdata, m0_bcount_t num_bytes);
m0_bcount_t m0_bufvec_cursor_copyfrom(struct m0_bufvec_cursor *scur, void *ddata, m0_bcount_t num_bytes);

#endif
