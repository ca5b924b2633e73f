/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A lock that records the thread that holds it. A mutex of zeros is initialised. It is not recursive: if a thread
 * locks it twice, or unlocks a mutex that it does not hold, the process ends with a message. */
#ifndef M0_LIB_MUTEX_H
#define M0_LIB_MUTEX_H

#include <lib/types.h>
#include <pthread.h>

struct m0_mutex {
	/* Private to the library. */
	pthread_mutex_t m_lock;
	uint64_t m_owner;
};

/** Initialises a mutex. */
void m0_mutex_init(struct m0_mutex *mutex);
/** Ends a mutex, which must not be locked. */
void m0_mutex_fini(struct m0_mutex *mutex);
/** Waits until no thread holds the mutex, and locks it. */
void m0_mutex_lock(struct m0_mutex *mutex);
/** Unlocks a mutex that the calling thread holds. */
void m0_mutex_unlock(struct m0_mutex *mutex);
/** Locks a mutex if no thread holds it; does not wait. Returns 0, or -EBUSY if a thread, perhaps the caller, holds
 * it. */
int m0_mutex_trylock(struct m0_mutex *mutex);
/** Whether the calling thread holds the mutex. */
bool m0_mutex_is_locked(const struct m0_mutex *mutex);
/** Whether the calling thread does not hold the mutex. */
bool m0_mutex_is_not_locked(const struct m0_mutex *mutex);

#endif
