/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Channels, at which threads wait for events.
 *
 * A clink (channel link) represents a waiter at a channel. It counts every signal that reaches it after it was added:
 * N signals end N waits. Signals from before it is added are lost, and so are those that it still counts when it is
 * removed. A channel has a guard: a mutex that is held when the channel is signalled and when clinks are added or
 * removed; the functions whose names end in _lock lock it themselves. The guard is not held during a wait. Any thread
 * may wait. */
#ifndef M0_LIB_CHAN_H
#define M0_LIB_CHAN_H

#include <lib/list.h>
#include <lib/mutex.h>
#include <lib/semaphore.h>
#include <lib/time.h>
#include <lib/types.h>

struct m0_clink;

/**
 * Runs with the guard held, on the thread that signals. True: the callback has consumed the signal, which then ends
 * no wait.
 */
typedef bool (*m0_chan_cb_t)(struct m0_clink *link);

struct m0_chan {
	/** The clinks; the first one gets the next signal. */
	struct m0_list ch_links;
	struct m0_mutex *ch_guard;
	/** The number of clinks. */
	uint32_t ch_waiters;
};

struct m0_clink {
	m0_chan_cb_t cl_cb;
	/** The channel to which the clink was added; NULL: none. */
	struct m0_chan *cl_chan;
	/** The clink that counts the signals: this one, or the head of its group. */
	struct m0_clink *cl_group;
	struct m0_list_link cl_linkage;
	struct m0_semaphore cl_wait;
	/** If it is set before the clink is added, the first signal removes the clink. */
	bool cl_is_oneshot;
};

/** Initialises a channel without clinks, whose guard is `guard`. */
void m0_chan_init(struct m0_chan *chan, struct m0_mutex *guard);
/** Ends a channel, which must have no clinks. The guard is held. */
void m0_chan_fini(struct m0_chan *chan);
void m0_chan_fini_lock(struct m0_chan *chan);
/** Signals the first clink, which becomes the last. */
void m0_chan_signal(struct m0_chan *chan);
void m0_chan_signal_lock(struct m0_chan *chan);
/** Signals every clink once. */
void m0_chan_broadcast(struct m0_chan *chan);
void m0_chan_broadcast_lock(struct m0_chan *chan);
/** Whether the channel has clinks. */
bool m0_chan_has_waiters(const struct m0_chan *chan);

/** Initialises a clink with its callback, which may be NULL. The memory need not be initialised. */
void m0_clink_init(struct m0_clink *link, m0_chan_cb_t cb);
/** Ends a clink, which must be at no channel. */
void m0_clink_fini(struct m0_clink *link);
/** Makes `link` a member of the group of `group`: its signals also end waits for `group`. The head is added before the
 * members, and removed after them. */
void m0_clink_attach(struct m0_clink *link, struct m0_clink *group, m0_chan_cb_t cb);
/** Adds a clink to a channel. */
void m0_clink_add(struct m0_chan *chan, struct m0_clink *link);
void m0_clink_add_lock(struct m0_chan *chan, struct m0_clink *link);
/** Removes a clink from its channel. */
void m0_clink_del(struct m0_clink *link);
void m0_clink_del_lock(struct m0_clink *link);
/** Whether the clink is at a channel. */
bool m0_clink_is_armed(const struct m0_clink *link);

/** Waits for a signal and consumes it. */
void m0_chan_wait(struct m0_clink *link);
/** Consumes a signal if there is one; does not wait. */
bool m0_chan_trywait(struct m0_clink *link);
/** Waits for a signal until abs_timeout at the latest. False: the time is over. */
bool m0_chan_timedwait(struct m0_clink *link, m0_time_t abs_timeout);

#endif
