/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Times and durations in nanoseconds. The clock is the machine's monotonic one plus a fixed number, so that it
 * resembles the time of day; changes of the time of day do not affect it. Deadlines are times of this clock. */
#ifndef M0_LIB_TIME_H
#define M0_LIB_TIME_H

#include <lib/types.h>

typedef uint64_t m0_time_t;

enum { M0_TIME_ONE_SECOND = 1000000000, M0_TIME_ONE_MSEC = 1000000 };

/** Later than every time: all ones. */
extern const m0_time_t M0_TIME_NEVER;
/** Earlier than every time: 0. */
extern const m0_time_t M0_TIME_IMMEDIATELY;

/** A time of secs seconds and ns nanoseconds; M0_TIME_NEVER if it does not fit. */
m0_time_t m0_time(uint64_t secs, long ns);
/** The present time. */
m0_time_t m0_time_now(void);
/** The time that is secs seconds and ns nanoseconds from now. */
m0_time_t m0_time_from_now(uint64_t secs, long ns);
/** The sum; M0_TIME_NEVER if it does not fit or one of the two is M0_TIME_NEVER. */
m0_time_t m0_time_add(m0_time_t t1, m0_time_t t2);
/** The difference; `t1` must not be the earlier one. M0_TIME_NEVER minus anything is M0_TIME_NEVER. */
m0_time_t m0_time_sub(m0_time_t t1, m0_time_t t2);
/** The whole seconds of a time, and the remaining nanoseconds. */
uint64_t m0_time_seconds(m0_time_t time);
uint64_t m0_time_nanoseconds(m0_time_t time);
/** Whether the time is earlier than the present one. */
bool m0_time_is_in_past(m0_time_t time);
/** Sleeps for the duration req. Returns 0, or -EINTR and the remaining duration in *rem (unless NULL). */
int m0_nanosleep(m0_time_t req, m0_time_t *rem);

#endif
