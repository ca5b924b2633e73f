/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A condition variable. Its mutex is held in every call but init and fini. */
#ifndef M0_LIB_COND_H
#define M0_LIB_COND_H

#include <lib/chan.h>
#include <lib/mutex.h>

struct m0_cond {
	struct m0_chan c_chan;
};

/** Initialises a condition variable with its mutex. */
void m0_cond_init(struct m0_cond *cond, struct m0_mutex *mutex);
/** Ends a condition variable. No thread may be waiting. Locks the mutex. */
void m0_cond_fini(struct m0_cond *cond);
/** Unlocks the mutex, waits for a signal, and locks the mutex again. */
void m0_cond_wait(struct m0_cond *cond);
/** Waits like m0_cond_wait, until abs_timeout at the latest. True: there was a signal. */
bool m0_cond_timedwait(struct m0_cond *cond, m0_time_t abs_timeout);
/** Ends the wait of one thread. */
void m0_cond_signal(struct m0_cond *cond);
/** Ends the waits of all threads. */
void m0_cond_broadcast(struct m0_cond *cond);

#endif
