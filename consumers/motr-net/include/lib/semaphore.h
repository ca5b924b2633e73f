/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A counting semaphore. Zeros are an initialised one with the count 0. */
#ifndef M0_LIB_SEMAPHORE_H
#define M0_LIB_SEMAPHORE_H

#include <lib/time.h>
#include <lib/types.h>

struct m0_semaphore {
	/* The library's. */
	uint32_t s_count;
	uint32_t s_waiters;
};

/** Returns 0. */
int m0_semaphore_init(struct m0_semaphore *semaphore, unsigned int value);
/** Nobody may wait for it, nor be on the way out of m0_semaphore_up. */
void m0_semaphore_fini(struct m0_semaphore *semaphore);
/** Waits until the count is above 0, and takes one of it. */
void m0_semaphore_down(struct m0_semaphore *semaphore);
void m0_semaphore_up(struct m0_semaphore *semaphore);
/** Takes one if there is one; does not wait. */
bool m0_semaphore_trydown(struct m0_semaphore *semaphore);
/** Waits until then at most; false: nothing was to be taken. */
bool m0_semaphore_timeddown(struct m0_semaphore *semaphore, m0_time_t abs_timeout);
unsigned int m0_semaphore_value(const struct m0_semaphore *semaphore);

#endif
