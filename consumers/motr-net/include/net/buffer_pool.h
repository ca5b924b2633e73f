/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pools of registered buffers of one domain, from which transfer machines take receive buffers by themselves.
 *
 * A colour is a number below the number of colours; usually each transfer machine has one. When a buffer of a colour
 * is taken, the pool prefers those that were put back with this colour. All functions but init and fini are called
 * with the pool's lock held. This lock precedes those of domains and transfer machines: never take it while holding
 * one of those. */
#ifndef M0_NET_BUFFER_POOL_H
#define M0_NET_BUFFER_POOL_H

#include <lib/mutex.h>
#include <lib/tlist.h>
#include <lib/types.h>
#include <net/net.h>

enum {
	/** The value for no colour; as a uint32_t, all ones. */
	M0_BUFFER_ANY_COLOUR = ~0,
	/** A usual threshold. */
	M0_NET_BUFFER_POOL_THRESHOLD = 2,
};

struct m0_net_buffer_pool;

/** The functions that a pool calls, with its lock held. Both are required. */
struct m0_net_buffer_pool_ops {
	/** The pool was empty and now has a buffer. m0_net_domain_buffer_pool_not_empty is meant for this. */
	void (*nbpo_not_empty)(struct m0_net_buffer_pool *pool);
	/** A buffer was taken, and fewer buffers than the threshold are left. The function may provision the pool. */
	void (*nbpo_below_threshold)(struct m0_net_buffer_pool *pool);
};

struct m0_net_buffer_pool {
	/** The number of buffers in the pool. */
	uint32_t nbp_free;
	uint32_t nbp_threshold;
	/** The number of pieces of each buffer. */
	uint32_t nbp_seg_nr;
	/** The number of buffers of the pool, including those that were taken. */
	uint32_t nbp_buf_nr;
	/** The number of bytes of each piece. */
	m0_bcount_t nbp_seg_size;
	struct m0_mutex nbp_mutex;
	struct m0_net_domain *nbp_ndom;
	/** The functions, which the program sets before the first m0_net_buffer_pool_provision. */
	const struct m0_net_buffer_pool_ops *nbp_ops;
	uint32_t nbp_colours_nr;
	/** The free buffers of each colour, the last one put back first. */
	struct m0_tl *nbp_colours;
	/** The alignment of pieces: they begin at multiples of 2^nbp_align. */
	unsigned nbp_align;
	/** Stored for programs that read it; has no effect. */
	bool nbp_dont_dump;
	/** All free buffers, the one put back longest ago first. */
	struct m0_tl nbp_lru;
};

/* The free buffers of a pool (nbp_lru). Those of a colour are of the family m0_net_tm. */
M0_TL_FAMILY_DECLARE(m0_net_pool, struct m0_net_buffer);

/**
 * Initialises an empty pool; `seg_nr` is at most the number of pieces that the domain permits in a buffer. Does not
 * change nbp_ops. Called without the lock.
 *
 * Returns 0. Errors: -ENOMEM; -EINVAL (no pieces or bytes, or more than the domain permits).
 */
int m0_net_buffer_pool_init(struct m0_net_buffer_pool *pool, struct m0_net_domain *ndom, uint32_t threshold,
			    uint32_t seg_nr, m0_bcount_t seg_size, uint32_t colours, unsigned shift, bool dont_dump);
/** Frees the pool and its buffers, all of which must be in the pool. Called without the lock. */
void m0_net_buffer_pool_fini(struct m0_net_buffer_pool *pool);
/** Allocates buf_nr more buffers and adds them to the pool. Returns the number of buffers that it could allocate. */
int m0_net_buffer_pool_provision(struct m0_net_buffer_pool *pool, uint32_t buf_nr);

/** Lock and unlock a pool. */
void m0_net_buffer_pool_lock(struct m0_net_buffer_pool *pool);
void m0_net_buffer_pool_unlock(struct m0_net_buffer_pool *pool);
/** Whether the calling thread holds the lock. */
bool m0_net_buffer_pool_is_locked(const struct m0_net_buffer_pool *pool);
bool m0_net_buffer_pool_is_not_locked(const struct m0_net_buffer_pool *pool);

/**
 * Takes a buffer: the one that was last put back with this colour or, if there is none, the one that was put back
 * longest ago. NULL: the pool is empty.
 */
struct m0_net_buffer *m0_net_buffer_pool_get(struct m0_net_buffer_pool *pool, uint32_t colour);
/** Puts a buffer back. The buffer must be in no queue and have no nb_ep. */
void m0_net_buffer_pool_put(struct m0_net_buffer_pool *pool, struct m0_net_buffer *buf, uint32_t colour);
/**
 * Frees the buffer that was put back longest ago. False: the pool has no more buffers than the threshold, and none is
 * freed.
 */
bool m0_net_buffer_pool_prune(struct m0_net_buffer_pool *pool);
/** Whether the pool is consistent and locked by the calling thread. */
bool m0_net_buffer_pool_invariant(const struct m0_net_buffer_pool *pool);

/** Passes buffers of the pool to those transfer machines of its domain that lack some. */
void m0_net_domain_buffer_pool_not_empty(struct m0_net_buffer_pool *pool);

#endif
