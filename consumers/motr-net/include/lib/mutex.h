/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A lock that knows which thread has it. Zeros are an initialised one. It is not recursive: a thread that locks it twice, or
 * unlocks what it does not have, ends the process with a message. */
#ifndef M0_LIB_MUTEX_H
#define M0_LIB_MUTEX_H

#include <lib/types.h>
#include <pthread.h>

struct m0_mutex {
	/* The library's. */
	pthread_mutex_t m_lock;
	uint64_t m_owner;
};

void m0_mutex_init(struct m0_mutex *mutex);
/** Nobody may have it. */
void m0_mutex_fini(struct m0_mutex *mutex);
void m0_mutex_lock(struct m0_mutex *mutex);
void m0_mutex_unlock(struct m0_mutex *mutex);
/** Returns 0, or -EBUSY: somebody has it, perhaps the caller. */
int m0_mutex_trylock(struct m0_mutex *mutex);
/** Whether the calling thread has it. */
bool m0_mutex_is_locked(const struct m0_mutex *mutex);
/** Whether the calling thread does not have it. */
bool m0_mutex_is_not_locked(const struct m0_mutex *mutex);

#endif
