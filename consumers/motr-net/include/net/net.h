/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Motr's network layer: domains, transfer machines, end points, buffers. Link with -lm0net -llnet.
 *
 * A domain represents a program's use of a transport. A transfer machine (TM) has an address, and sends and receives
 * in its domain. An end point stands for the address of another TM (or of the TM itself), from the point of view of
 * one TM. A buffer is memory that is registered with a domain. An operation is a buffer that has been added to one of
 * the six queues of a TM; it ends with a call of the buffer's callback for that queue.
 *
 * Structures belong to the program: it sets them to zeros, and only reads the fields that the functions here fill in.
 * Results are 0 or a negative errno; errno is never set. Preconditions are checked where that is cheap: if one does
 * not hold, the result is -EINVAL if the function has one, otherwise the process ends with a message.
 *
 * Threads: any thread may call any function. Callbacks run with no lock held, on the TM's own thread, or on the
 * thread that calls m0_net_buffer_event_deliver_all. They may call every function but m0_net_tm_fini of their TM,
 * m0_net_domain_fini and m0_net_buffer_deregister. The order of the locks is: pool, domain, TM. */
#ifndef M0_NET_NET_H
#define M0_NET_NET_H

#include <lib/atomic.h>
#include <lib/bitmap.h>
#include <lib/chan.h>
#include <lib/cond.h>
#include <lib/errno.h>
#include <lib/list.h>
#include <lib/mutex.h>
#include <lib/refs.h>
#include <lib/thread.h>
#include <lib/time.h>
#include <lib/tlist.h>
#include <lib/types.h>
#include <lib/vec.h>
#include <sm/sm.h>

struct m0_net_xprt;
struct m0_net_xprt_ops;
struct m0_net_domain;
struct m0_net_transfer_mc;
struct m0_net_tm_event;
struct m0_net_tm_callbacks;
struct m0_net_end_point;
struct m0_net_buffer;
struct m0_net_buffer_event;
struct m0_net_buffer_callbacks;
struct m0_net_buffer_pool;
struct m0_net_qstats;

enum {
	/** The number of receive buffers that a TM with a pool keeps queued unless the program asks for more. */
	M0_NET_TM_RECV_QUEUE_DEF_LEN = 2,
};

/* ---- transports ---- */

struct m0_net_xprt {
	const char *nx_name;
	/** The functions of the transport, which also identify it. */
	const struct m0_net_xprt_ops *nx_ops;
};

/** The functions of a transport. The mutex in the comment before a group is held in each call. */
struct m0_net_xprt_ops {
	/* m0_net_mutex */
	int (*xo_dom_init)(const struct m0_net_xprt *xprt, struct m0_net_domain *dom);
	void (*xo_dom_fini)(struct m0_net_domain *dom);
	/* nd_mutex */
	int (*xo_tm_init)(struct m0_net_transfer_mc *tm);
	/** May be NULL. ntm_mutex is held, as for the two functions that follow. */
	int (*xo_tm_confine)(struct m0_net_transfer_mc *tm, const struct m0_bitmap *processors);
	/** Begins to start the TM; the event comes later, from another thread. */
	int (*xo_tm_start)(struct m0_net_transfer_mc *tm, const char *addr);
	int (*xo_tm_stop)(struct m0_net_transfer_mc *tm, bool cancel);
	/* nd_mutex */
	void (*xo_tm_fini)(struct m0_net_transfer_mc *tm);
	/* ntm_mutex */
	int (*xo_end_point_create)(struct m0_net_end_point **epp, struct m0_net_transfer_mc *tm, const char *addr);
	/* nd_mutex */
	int (*xo_buf_register)(struct m0_net_buffer *nb);
	void (*xo_buf_deregister)(struct m0_net_buffer *nb);
	/* ntm_mutex */
	int (*xo_buf_add)(struct m0_net_buffer *nb);
	void (*xo_buf_del)(struct m0_net_buffer *nb);
	/** May be NULL. */
	int (*xo_bev_deliver_sync)(struct m0_net_transfer_mc *tm);
	void (*xo_bev_deliver_all)(struct m0_net_transfer_mc *tm);
	bool (*xo_bev_pending)(struct m0_net_transfer_mc *tm);
	void (*xo_bev_notify)(struct m0_net_transfer_mc *tm, struct m0_chan *chan);
	/* Limits: powers of two, but for the size of descriptors. */
	m0_bcount_t (*xo_get_max_buffer_size)(const struct m0_net_domain *dom);
	m0_bcount_t (*xo_get_max_buffer_segment_size)(const struct m0_net_domain *dom);
	int32_t (*xo_get_max_buffer_segments)(const struct m0_net_domain *dom);
	m0_bcount_t (*xo_get_max_buffer_desc_size)(const struct m0_net_domain *dom);
	/* Limits for an RPC layer that uses this one. */
	m0_bcount_t (*xo_rpc_max_seg_size)(struct m0_net_domain *dom);
	uint32_t (*xo_rpc_max_segs_nr)(struct m0_net_domain *dom);
	m0_bcount_t (*xo_rpc_max_msg_size)(struct m0_net_domain *dom, m0_bcount_t rpc_size);
	uint32_t (*xo_rpc_max_recv_msgs)(struct m0_net_domain *dom, m0_bcount_t rpc_size);
};

/**
 * Functions for the registered transports, of which there can be four. m0_init registers the LNet transport and makes
 * it the default.
 */
void m0_net_xprt_register(const struct m0_net_xprt *xprt);
void m0_net_xprt_deregister(const struct m0_net_xprt *xprt);
void m0_net_xprt_default_set(const struct m0_net_xprt *xprt);
/** The default transport; NULL if there is none. */
struct m0_net_xprt *m0_net_xprt_default_get(void);
/** The registered transports, m0_net_xprt_nr() of them. The array belongs to the library. */
struct m0_net_xprt **m0_net_all_xprt_get(void);
int m0_net_xprt_nr(void);
/** Whether the transport is registered. */
bool m0_net_check_xprt(const struct m0_net_xprt *xprt);
/** Writes the names of the registered transports to standard error. */
void m0_net_print_xprt(void);

/* ---- domains ---- */

struct m0_net_domain {
	/** Guards the lists. */
	struct m0_mutex nd_mutex;
	struct m0_list nd_registered_bufs;
	struct m0_list nd_tms;
	/** For the transport. */
	void *nd_xprt_private;
	/** The transport; NULL: the domain is not initialised. */
	const struct m0_net_xprt *nd_xprt;
	/** For the program. */
	struct m0_tlink nd_app_linkage;
	uint32_t nd_get_max_buffer_segments;
	m0_bcount_t nd_get_max_buffer_segment_size;
	m0_bcount_t nd_get_max_buffer_size;
	m0_bcount_t nd_get_max_buffer_desc_size;
	uint64_t nd_magix;
};

/**
 * Begins to use a transport. A process may have several domains.
 *
 * Returns 0. Errors, after which `dom` may be used again: -ENOMEM, and those of the transport. The LNet transport
 * starts this process's LNet node (configured by LNET_NETWORKS and similar variables) and returns the errors of
 * LNetNIInit.
 */
int m0_net_domain_init(struct m0_net_domain *dom, const struct m0_net_xprt *xprt);
/** Ends the use of a transport. There must be no TM and no registered buffer. */
void m0_net_domain_fini(struct m0_net_domain *dom);
/** The limits of a domain: the largest number of bytes of a buffer and of one of its pieces, the largest number of
 * pieces, and the size of a descriptor in bytes. LNet: 1 MiB, 4096, 256, 48. */
m0_bcount_t m0_net_domain_get_max_buffer_size(struct m0_net_domain *dom);
m0_bcount_t m0_net_domain_get_max_buffer_segment_size(struct m0_net_domain *dom);
int32_t m0_net_domain_get_max_buffer_segments(struct m0_net_domain *dom);
m0_bcount_t m0_net_domain_get_max_buffer_desc_size(struct m0_net_domain *dom);

/* ---- end points ---- */

struct m0_net_end_point {
	uint64_t nep_magix;
	struct m0_ref nep_ref;
	struct m0_net_transfer_mc *nep_tm;
	struct m0_tlink nep_tm_linkage;
	/** The address in the form that the transport gives it. */
	const char *nep_addr;
	void *nep_xprt_pvt;
};

/* The end points of a TM. */
M0_TL_FAMILY_DECLARE(m0_nep, struct m0_net_end_point);

/**
 * Creates the end point of an address, or finds the existing one, and takes a reference for the caller. The TM must
 * be started; the address need not be in use.
 *
 * Returns 0. Errors: -EINVAL (no address, `*` for the TMID, or the TM is not started), -ENOMEM.
 */
int m0_net_end_point_create(struct m0_net_end_point **epp, struct m0_net_transfer_mc *tm, const char *addr);
/** Takes a reference. */
void m0_net_end_point_get(struct m0_net_end_point *ep);
/** Drops a reference; dropping the last one frees the end point. Takes the TM's lock. */
void m0_net_end_point_put(struct m0_net_end_point *ep);
/** Whether the text is an address in its strictest form, with the PID 12345 and a TMID. */
bool m0_net_endpoint_is_valid(const char *endpoint);

/* ---- queues ---- */

enum m0_net_queue_type {
	/** Buffers for received messages. */
	M0_NET_QT_MSG_RECV = 0,
	/** Buffers with messages to send. */
	M0_NET_QT_MSG_SEND,
	/** Bulk data: the passive side describes its buffer (nb_desc), the active side transfers. A passive receive is served by an
	 * active send, a passive send by an active receive. */
	M0_NET_QT_PASSIVE_BULK_RECV,
	M0_NET_QT_PASSIVE_BULK_SEND,
	M0_NET_QT_ACTIVE_BULK_RECV,
	M0_NET_QT_ACTIVE_BULK_SEND,
	M0_NET_QT_NR
};

struct m0_net_qstats {
	/** The number of buffers added. */
	uint64_t nqs_num_adds;
	/**
	 * The number of calls of m0_net_buffer_del that found the buffer queued, and of buffers that an abort
	 * deleted.
	 */
	uint64_t nqs_num_dels;
	/**
	 * The numbers of events of success and of failure. Receive buffers that were lacking because the pool was
	 * empty count as failures.
	 */
	uint64_t nqs_num_s_events;
	uint64_t nqs_num_f_events;
	/** The total time that buffers have been queued. */
	m0_time_t nqs_time_in_queue;
	/** The bytes transferred in all, and the largest number of bytes of one event. */
	uint64_t nqs_total_bytes;
	uint64_t nqs_max_bytes;
};

/* ---- transfer machines ---- */

enum m0_net_tm_state {
	M0_NET_TM_UNDEFINED = 0,
	M0_NET_TM_INITIALIZED,
	M0_NET_TM_STARTING,
	M0_NET_TM_STARTED,
	M0_NET_TM_STOPPING,
	M0_NET_TM_STOPPED,
	M0_NET_TM_FAILED
};

enum m0_net_tm_ev_type {
	M0_NET_TEV_ERROR = 0,
	M0_NET_TEV_STATE_CHANGE,
	M0_NET_TEV_DIAGNOSTIC,
	M0_NET_TEV_NR
};

struct m0_net_tm_event {
	enum m0_net_tm_ev_type nte_type;
	struct m0_net_transfer_mc *nte_tm;
	m0_time_t nte_time;
	/** 0 or a negative errno. */
	int32_t nte_status;
	/** The new state, for M0_NET_TEV_STATE_CHANGE. */
	enum m0_net_tm_state nte_next_state;
	/** The TM's own end point, for M0_NET_TM_STARTED. */
	struct m0_net_end_point *nte_ep;
	void *nte_payload;
};

struct m0_net_tm_callbacks {
	void (*ntc_event_cb)(const struct m0_net_tm_event *ev);
};

struct m0_net_transfer_mc {
	/** The callbacks, which the program sets before m0_net_tm_init. */
	const struct m0_net_tm_callbacks *ntm_callbacks;
	enum m0_net_tm_state ntm_state;
	struct m0_sm_group ntm_group;
	/** The number of running callbacks. */
	uint32_t ntm_callback_counter;
	struct m0_net_domain *ntm_dom;
	struct m0_tl ntm_end_points;
	/** The end point of the TM's own address, from STARTED on. */
	struct m0_net_end_point *ntm_ep;
	/** Broadcast after callbacks: once for each event of the TM, once for each batch of buffer events. */
	struct m0_chan ntm_chan;
	/** The buffers of each queue. */
	struct m0_tl ntm_q[M0_NET_QT_NR];
	struct m0_net_qstats ntm_qstats[M0_NET_QT_NR];
	struct m0_list_link ntm_dom_linkage;
	void *ntm_xprt_private;
	/** Whether the TM's thread delivers buffer events. */
	bool ntm_bev_auto_deliver;
	struct m0_net_buffer_pool *ntm_recv_pool;
	const struct m0_net_buffer_callbacks *ntm_recv_pool_callbacks;
	uint32_t ntm_recv_queue_min_length;
	/** The number of receive buffers that the TM lacks because the pool was empty. */
	struct m0_atomic64 ntm_recv_queue_deficit;
	uint32_t ntm_pool_colour;
	m0_bcount_t ntm_recv_queue_min_recv_size;
	uint32_t ntm_recv_queue_max_recv_msgs;
};

/** The lock of a TM. */
#define ntm_mutex ntm_group.s_lock

/* The buffers of a queue. */
M0_TL_FAMILY_DECLARE(m0_net_tm, struct m0_net_buffer);

/** Initialises a TM that is UNDEFINED and has ntm_callbacks. Returns 0 or a negative errno. */
int m0_net_tm_init(struct m0_net_transfer_mc *tm, struct m0_net_domain *dom);
/** Ends a TM that is INITIALIZED, STOPPED or FAILED, with no buffer queued and no end point but its own in use. Waits
 * for running callbacks, so it must not be called from one of them. */
void m0_net_tm_fini(struct m0_net_transfer_mc *tm);

/** Restricts the TM's thread, and with it the callbacks, to these processors. To be called before the start; the last
 * call counts. Returns 0. Errors: -ENOSYS (the transport does not support it), -EINVAL, -ENOMEM. */
int m0_net_tm_confine(struct m0_net_transfer_mc *tm, const struct m0_bitmap *processors);

/**
 * Starts an INITIALIZED TM at an address. Does not wait: if it returns 0 exactly one event follows, STARTED or FAILED, from another
 * thread. Otherwise the TM is FAILED, and no event follows.
 *
 * Returns 0. Errors: -EINVAL (no address), -ENOMEM, -EAGAIN (no thread). Events of failure: -EINVAL (a portal that is not in 1..63),
 * -ENOENT (an address that is not of this node), -EADDRINUSE, -EADDRNOTAVAIL (no TMID is free).
 */
int m0_net_tm_start(struct m0_net_transfer_mc *tm, const char *addr);

/** Stops a TM that is INITIALIZED, STARTING or STARTED. STOPPED follows from another thread when no buffer is queued any more; with
 * `abort` all are cancelled. Returns 0 or a negative errno. */
int m0_net_tm_stop(struct m0_net_transfer_mc *tm, bool abort);

/** Stores the statistics of a queue, or of all six (M0_NET_QT_NR) in an array, and sets them to zeros if `reset`. With `reset` `qs`
 * may be NULL. Returns 0. */
int m0_net_tm_stats_get(struct m0_net_transfer_mc *tm, enum m0_net_queue_type qtype, struct m0_net_qstats *qs,
			bool reset);

/** Makes the TM take its receive buffers from a pool of its domain. The TM must be INITIALIZED. The TM keeps at least
 * `min_recv_queue_len` buffers queued; 2 or less means 2. Returns 0. Errors: -EINVAL. */
int m0_net_tm_pool_attach(struct m0_net_transfer_mc *tm, struct m0_net_buffer_pool *bufpool,
			  const struct m0_net_buffer_callbacks *callbacks, m0_bcount_t min_recv_size,
			  uint32_t max_recv_msgs, uint32_t min_recv_queue_len);
/** Changes the minimum number of queued buffers; 2 or less changes nothing. */
void m0_net_tm_pool_length_set(struct m0_net_transfer_mc *tm, uint32_t len);
/** The colour of buffers that the TM prefers. */
void m0_net_tm_colour_set(struct m0_net_transfer_mc *tm, uint32_t colour);
uint32_t m0_net_tm_colour_get(struct m0_net_transfer_mc *tm);

/** Delivers an event of a TM. For transports; called without the TM's lock. */
void m0_net_tm_event_post(const struct m0_net_tm_event *ev);

/* ---- buffers ---- */

/** The description of a passive buffer for the active side: opaque bytes. */
struct m0_net_buf_desc {
	uint32_t nbd_len;
	uint8_t *nbd_data;
};

struct m0_net_buf_desc_data {
	struct m0_net_buf_desc bdd_desc;
	uint64_t bdd_used;
};

/** Copies a descriptor that is not empty. Returns 0 or -ENOMEM. */
int m0_net_desc_copy(const struct m0_net_buf_desc *from_desc, struct m0_net_buf_desc *to_desc);
/** Frees the memory of a descriptor and makes it empty. */
void m0_net_desc_free(struct m0_net_buf_desc *desc);

enum m0_net_buf_flags {
	M0_NET_BUF_REGISTERED = 1 << 0,
	M0_NET_BUF_QUEUED = 1 << 1,
	/** The transport is using the buffer. */
	M0_NET_BUF_IN_USE = 1 << 2,
	M0_NET_BUF_CANCELLED = 1 << 3,
	M0_NET_BUF_TIMED_OUT = 1 << 4,
	/** Set by the transport for an event after which the buffer stays queued. */
	M0_NET_BUF_RETAIN = 1 << 5,
};

struct m0_net_buffer_event {
	struct m0_net_buffer *nbe_buffer;
	m0_time_t nbe_time;
	/** 0 or a negative errno: -ECANCELED, -ETIMEDOUT, or an error of LNet. */
	int32_t nbe_status;
	/** The number of bytes received, and their offset in the buffer. */
	m0_bcount_t nbe_length;
	m0_bcount_t nbe_offset;
	/** The sender of the message; valid only during the callback, unless the callback takes a reference. */
	struct m0_net_end_point *nbe_ep;
};

typedef void (*m0_net_buffer_cb_proc_t)(const struct m0_net_buffer_event *ev);

struct m0_net_buffer_callbacks {
	m0_net_buffer_cb_proc_t nbc_cb[M0_NET_QT_NR];
};

struct m0_net_buffer {
	/** The memory of the buffer, which belongs to the program. */
	struct m0_bufvec nb_buffer;
	/** The number of bytes to send; receiving does not change it. */
	m0_bcount_t nb_length;
	/** The offset of these bytes: 0 with LNet. */
	m0_bcount_t nb_offset;
	struct m0_net_domain *nb_dom;
	struct m0_net_transfer_mc *nb_tm;
	enum m0_net_queue_type nb_qtype;
	const struct m0_net_buffer_callbacks *nb_callbacks;
	/**
	 * The time at which the operation fails with -ETIMEDOUT. M0_TIME_NEVER after registering and after each
	 * operation.
	 */
	m0_time_t nb_timeout;
	m0_time_t nb_add_time;
	/**
	 * Passive side: m0_net_buffer_add sets the descriptor, without freeing the previous one. Active side: the
	 * descriptor from the passive side.
	 */
	struct m0_net_buf_desc nb_desc;
	/** The receiver of a message; NULL for buffers that receive messages. */
	struct m0_net_end_point *nb_ep;
	struct m0_tlink nb_tm_linkage;
	struct m0_tlink nb_lru;
	/** For the program. */
	struct m0_tlink nb_extern_linkage;
	uint64_t nb_magic;
	struct m0_list_link nb_dom_linkage;
	void *nb_xprt_private;
	void *nb_app_private;
	/** Bits of enum m0_net_buf_flags. */
	uint64_t nb_flags;
	/**
	 * The buffer receives messages as long as this much room is left in it, and it accepts no message longer than
	 * this; above 0.
	 */
	m0_bcount_t nb_min_receive_size;
	/** The largest number of messages that the buffer receives; above 0. */
	uint32_t nb_max_receive_msgs;
	/** The pool to which the buffer belongs. */
	struct m0_net_buffer_pool *nb_pool;
	/** The number of messages received since the buffer was added. */
	uint32_t nb_msgs_received;
};

/**
 * Registers a buffer, whose nb_buffer is filled in while everything else is zeros.
 *
 * Returns 0. Errors: -EINVAL (pieces that are empty or NULL); -EFBIG (too many bytes, pieces, bytes in a piece, or
 * pages); -EBADR (pieces that leave gaps in pages); -ENOMEM.
 */
int m0_net_buffer_register(struct m0_net_buffer *buf, struct m0_net_domain *dom);
/** Deregisters a buffer, which must not be queued. Must not be called in a callback. */
void m0_net_buffer_deregister(struct m0_net_buffer *buf, struct m0_net_domain *dom);

/**
 * Begins the operation nb_qtype. The callback may run before this function returns.
 *
 * Returns 0. Errors, after which nothing is queued and no callback follows: -ETIME (nb_timeout is over); -EINVAL (a
 * bad descriptor); -EPERM (a descriptor of the other direction); -EFBIG (the data do not fit); -ENOMEM; errors of
 * LNet.
 */
int m0_net_buffer_add(struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm);
/**
 * Cancels an operation. Its callback gets -ECANCELED, or the result of the operation if it has ended before. False:
 * the buffer was not queued.
 */
bool m0_net_buffer_del(struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm);

/** Delivers an event of a buffer. For transports; called without the TM's lock. */
void m0_net_buffer_event_post(const struct m0_net_buffer_event *ev);

/* ---- delivery by the program ---- */

/** Makes buffer events wait until m0_net_buffer_event_deliver_all. The TM must be INITIALIZED; this cannot be undone.
 * Returns 0. Errors: -ENOSYS (the transport does not support it). The other three functions are for such a TM that is
 * started. */
int m0_net_buffer_event_deliver_synchronously(struct m0_net_transfer_mc *tm);
/** Whether there are undelivered events. Does not wait. */
bool m0_net_buffer_event_pending(struct m0_net_transfer_mc *tm);
/** Delivers all waiting events, on this thread. */
void m0_net_buffer_event_deliver_all(struct m0_net_transfer_mc *tm);
/** Signals `chan` once, on another thread, when there are events, perhaps at once. A later call replaces an earlier
 * one that has not signalled yet. */
void m0_net_buffer_event_notify(struct m0_net_transfer_mc *tm, struct m0_chan *chan);

#endif
