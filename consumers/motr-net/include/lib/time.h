/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Times and spans of time in nanoseconds. The clock is the machine's monotonic one with a fixed number added, so that it
 * looks like the time of day: a change of the time of day does not move it. Deadlines are times of this clock. */
#ifndef M0_LIB_TIME_H
#define M0_LIB_TIME_H

#include <lib/types.h>

typedef uint64_t m0_time_t;

enum { M0_TIME_ONE_SECOND = 1000000000, M0_TIME_ONE_MSEC = 1000000 };

/** Later than every time: all ones. */
extern const m0_time_t M0_TIME_NEVER;
/** Earlier than every time: 0. */
extern const m0_time_t M0_TIME_IMMEDIATELY;

/** So many seconds and nanoseconds, M0_TIME_NEVER if they do not fit. */
m0_time_t m0_time(uint64_t secs, long ns);
m0_time_t m0_time_now(void);
/** So far from now. */
m0_time_t m0_time_from_now(uint64_t secs, long ns);
/** The sum, M0_TIME_NEVER if it does not fit or one of them is. */
m0_time_t m0_time_add(m0_time_t t1, m0_time_t t2);
/** The difference; `t1` must not be the earlier one. M0_TIME_NEVER minus anything is M0_TIME_NEVER. */
m0_time_t m0_time_sub(m0_time_t t1, m0_time_t t2);
/** Whole seconds, and the nanoseconds beside them. */
uint64_t m0_time_seconds(m0_time_t time);
uint64_t m0_time_nanoseconds(m0_time_t time);
bool m0_time_is_in_past(m0_time_t time);
/** Sleeps so long. Returns 0, or -EINTR and what remains in *rem (unless NULL). */
int m0_nanosleep(m0_time_t req, m0_time_t *rem);

#endif
