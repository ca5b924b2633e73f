/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A condition variable of a mutex, which is held in every call but init and fini. */
#ifndef M0_LIB_COND_H
#define M0_LIB_COND_H

#include <lib/chan.h>
#include <lib/mutex.h>

struct m0_cond {
	struct m0_chan c_chan;
};

void m0_cond_init(struct m0_cond *cond, struct m0_mutex *mutex);
/** Nobody may wait for it. Takes the mutex. */
void m0_cond_fini(struct m0_cond *cond);
/** Gives the mutex up, waits for a signal, and takes it again. */
void m0_cond_wait(struct m0_cond *cond);
/** Until then at most. True: there was a signal. */
bool m0_cond_timedwait(struct m0_cond *cond, m0_time_t abs_timeout);
void m0_cond_signal(struct m0_cond *cond);
void m0_cond_broadcast(struct m0_cond *cond);

#endif
