/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory in several pieces, and cursors that move over it. Nothing is locked. */
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

/** A place in a vector. At the end vc_seg is v_nr; elsewhere its piece has bytes left. */
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

/** All bytes. */
m0_bcount_t m0_vec_count(const struct m0_vec *vec);

/** `num_segs` pieces of `seg_size` bytes of zeros, each allocated by itself. Returns 0; -ENOMEM, and nothing is allocated;
 * -EINVAL (0 pieces or bytes). */
int m0_bufvec_alloc(struct m0_bufvec *bufvec, uint32_t num_segs, m0_bcount_t seg_size);
/** Frees the pieces and the arrays, and sets it to zeros; one of zeros stays so. */
void m0_bufvec_free(struct m0_bufvec *bufvec);
/** The same, each piece at a multiple of 2^shift. */
int m0_bufvec_alloc_aligned(struct m0_bufvec *bufvec, uint32_t num_segs, m0_bcount_t seg_size, unsigned int shift);
void m0_bufvec_free_aligned(struct m0_bufvec *bufvec, unsigned int shift);
/** The same, all pieces in one block of memory, one behind the other. */
int m0_bufvec_alloc_aligned_packed(struct m0_bufvec *bufvec, uint32_t num_segs, m0_bcount_t seg_size,
				   unsigned int shift);
void m0_bufvec_free_aligned_packed(struct m0_bufvec *bufvec, unsigned int shift);

/** Puts a cursor at the beginning. */
void m0_bufvec_cursor_init(struct m0_bufvec_cursor *cur, const struct m0_bufvec *bvec);
/** Moves it so many bytes on. True: it is at the end now. */
bool m0_bufvec_cursor_move(struct m0_bufvec_cursor *cur, m0_bcount_t count);
/** The bytes left in the piece it is in. Not at the end. */
m0_bcount_t m0_bufvec_cursor_step(const struct m0_bufvec_cursor *cur);
/** The memory it is at. Not at the end. */
void *m0_bufvec_cursor_addr(struct m0_bufvec_cursor *cur);
/** Copies so many bytes, fewer if one of them comes to its end, and moves both. Returns the number copied. */
m0_bcount_t m0_bufvec_cursor_copy(struct m0_bufvec_cursor *dcur, struct m0_bufvec_cursor *scur, m0_bcount_t num_bytes);
/** The same from, or to, plain memory. */
m0_bcount_t m0_bufvec_cursor_copyto(struct m0_bufvec_cursor *dcur, void *sdata, m0_bcount_t num_bytes);
m0_bcount_t m0_bufvec_cursor_copyfrom(struct m0_bufvec_cursor *scur, void *ddata, m0_bcount_t num_bytes);

#endif
