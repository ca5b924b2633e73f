/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A counting semaphore. A semaphore of zeros is initialised, with the count 0. */
#ifndef M0_LIB_SEMAPHORE_H
#define M0_LIB_SEMAPHORE_H

#include <lib/time.h>
#include <lib/types.h>

struct m0_semaphore {
	/* Private to the library. */
	uint32_t s_count;
	uint32_t s_waiters;
};

/** Initialises a semaphore with the count `value`. Returns 0. */
int m0_semaphore_init(struct m0_semaphore *semaphore, unsigned int value);
/** Ends a semaphore. No thread may be waiting, or be about to return from m0_semaphore_up. */
void m0_semaphore_fini(struct m0_semaphore *semaphore);
/** Waits until the count is above 0, and decrements it. */
void m0_semaphore_down(struct m0_semaphore *semaphore);
/** Increments the count, which ends the wait of a thread. */
void m0_semaphore_up(struct m0_semaphore *semaphore);
/** Decrements the count if it is above 0; does not wait. */
bool m0_semaphore_trydown(struct m0_semaphore *semaphore);
/** Waits like m0_semaphore_down, until abs_timeout at the latest. False: the count stayed 0. */
bool m0_semaphore_timeddown(struct m0_semaphore *semaphore, m0_time_t abs_timeout);
/** The count at this moment. */
unsigned int m0_semaphore_value(const struct m0_semaphore *semaphore);

#endif
