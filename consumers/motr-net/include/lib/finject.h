/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fault points: places in a program's functions that fail when somebody has asked them to. A point is known by the name of
 * its function and by its tag, and is off until it is enabled. This library has no points of its own. Any thread may call
 * everything. */
#ifndef M0_LIB_FINJECT_H
#define M0_LIB_FINJECT_H

#include <lib/types.h>

/** Decides whether a point fails this time; runs with no lock held. */
typedef bool (*m0_fi_fpoint_state_func_t)(void *data);

/** Whether this point of this function is to fail now. */
#define M0_FI_ENABLED(tag) m0_fi_enabled(__func__, (tag))
/** What M0_FI_ENABLED calls. */
bool m0_fi_enabled(const char *fp_func, const char *fp_tag);

/** Nothing is enabled before it. Returns 0. */
int m0_fi_init(void);
/** Nothing is enabled after it. */
void m0_fi_fini(void);

/* Each takes the place of what was said of the point before. The names are copied. */

/** Fails always. */
void m0_fi_enable(const char *fp_func, const char *fp_tag);
/** Fails the next time, and is off then. */
void m0_fi_enable_once(const char *fp_func, const char *fp_tag);
/** Fails with a probability of `p` in 100. */
void m0_fi_enable_random(const char *fp_func, const char *fp_tag, uint32_t p);
/** Fails every `n`th time; 0: never. */
void m0_fi_enable_each_nth_time(const char *fp_func, const char *fp_tag, uint32_t n);
/** Does not fail `n` times, then fails `m` times, and so on. */
void m0_fi_enable_off_n_on_m(const char *fp_func, const char *fp_tag, uint32_t n, uint32_t m);
/** Fails when `trigger_func` says so. */
void m0_fi_enable_func(const char *fp_func, const char *fp_tag, m0_fi_fpoint_state_func_t trigger_func, void *data);
/** Switches a point off. */
void m0_fi_disable(const char *fp_func, const char *fp_tag);

#endif
