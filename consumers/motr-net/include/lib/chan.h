/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Channels: where threads wait for events.
 *
 * A clink is a waiter's place at a channel. Every signal that reaches it since it was added is counted: N signals end N waits.
 * What comes before it is added, or is left over when it is taken off, is lost. A channel has a guard, a mutex that is held
 * when it is signalled and when clinks come and go; the functions whose names end in _lock take it themselves. Nothing is held
 * while waiting. Any thread may wait. */
#ifndef M0_LIB_CHAN_H
#define M0_LIB_CHAN_H

#include <lib/list.h>
#include <lib/mutex.h>
#include <lib/semaphore.h>
#include <lib/time.h>
#include <lib/types.h>

struct m0_clink;

/** Runs with the guard held, on the thread that signals. True: the signal is used up, and ends no wait. */
typedef bool (*m0_chan_cb_t)(struct m0_clink *link);

struct m0_chan {
	/** The clinks; the first one gets the next signal. */
	struct m0_list ch_links;
	struct m0_mutex *ch_guard;
	/** How many there are. */
	uint32_t ch_waiters;
};

struct m0_clink {
	m0_chan_cb_t cl_cb;
	/** The channel that it was added to; NULL: none. */
	struct m0_chan *cl_chan;
	/** Whose count its signals go to: its own, or that of the head of its group. */
	struct m0_clink *cl_group;
	struct m0_list_link cl_linkage;
	struct m0_semaphore cl_wait;
	/** Set it before adding: the first signal takes the clink off. */
	bool cl_is_oneshot;
};

void m0_chan_init(struct m0_chan *chan, struct m0_mutex *guard);
/** No clink may be left. The guard is held. */
void m0_chan_fini(struct m0_chan *chan);
void m0_chan_fini_lock(struct m0_chan *chan);
/** Signals the first clink, which becomes the last. */
void m0_chan_signal(struct m0_chan *chan);
void m0_chan_signal_lock(struct m0_chan *chan);
/** Signals every clink once. */
void m0_chan_broadcast(struct m0_chan *chan);
void m0_chan_broadcast_lock(struct m0_chan *chan);
bool m0_chan_has_waiters(const struct m0_chan *chan);

/** `cb`: NULL if nothing is to be called. The memory need not be initialised. */
void m0_clink_init(struct m0_clink *link, m0_chan_cb_t cb);
void m0_clink_fini(struct m0_clink *link);
/** Makes `link` a member of the group of `group`: waits for `group` end with its signals too. The head is added before the
 * members, and taken off after them. */
void m0_clink_attach(struct m0_clink *link, struct m0_clink *group, m0_chan_cb_t cb);
void m0_clink_add(struct m0_chan *chan, struct m0_clink *link);
void m0_clink_add_lock(struct m0_chan *chan, struct m0_clink *link);
void m0_clink_del(struct m0_clink *link);
void m0_clink_del_lock(struct m0_clink *link);
/** Whether it is at a channel. */
bool m0_clink_is_armed(const struct m0_clink *link);

/** Waits for a signal, and uses it up. */
void m0_chan_wait(struct m0_clink *link);
/** Uses a signal up if there is one; does not wait. */
bool m0_chan_trywait(struct m0_clink *link);
/** Waits until then at most. True: there was a signal; false: the time is over. */
bool m0_chan_timedwait(struct m0_clink *link, m0_time_t abs_timeout);

#endif
