/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A group of state machines: here only its lock. */
#ifndef M0_SM_SM_H
#define M0_SM_SM_H

#include <lib/mutex.h>

struct m0_sm_group {
	struct m0_mutex s_lock;
};

#endif
