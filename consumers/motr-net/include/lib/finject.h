/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fault points: places in a program's functions that fail on request. A fault point is identified by the name of its
 * function and by its tag, and is off until it is enabled. This library contains no fault points itself. Every
 * function may be called from any thread. */
#ifndef M0_LIB_FINJECT_H
#define M0_LIB_FINJECT_H

#include <lib/types.h>

/** Decides whether a point fails this time; runs with no lock held. */
typedef bool (*m0_fi_fpoint_state_func_t)(void *data);

/** Whether this point of this function is to fail now. */
#define M0_FI_ENABLED(tag) m0_fi_enabled(__func__, (tag))
/** The function behind M0_FI_ENABLED. */
bool m0_fi_enabled(const char *fp_func, const char *fp_tag);

/** Begins the use of fault points; to be called before any is enabled. Returns 0. */
int m0_fi_init(void);
/** Switches all points off. */
void m0_fi_fini(void);

/* Each of these functions replaces the previous setting of the point. The names are copied. */

/** Makes a point fail always. */
void m0_fi_enable(const char *fp_func, const char *fp_tag);
/** Makes a point fail the next time, after which it is off. */
void m0_fi_enable_once(const char *fp_func, const char *fp_tag);
/** Makes a point fail with a probability of `p` percent. */
void m0_fi_enable_random(const char *fp_func, const char *fp_tag, uint32_t p);
/** Makes a point fail every `n`th time; 0: never. */
void m0_fi_enable_each_nth_time(const char *fp_func, const char *fp_tag, uint32_t n);
/** Makes a point succeed `n` times, then fail `m` times, and so on. */
void m0_fi_enable_off_n_on_m(const char *fp_func, const char *fp_tag, uint32_t n, uint32_t m);
/** Makes a point fail whenever `trigger_func` returns true. */
void m0_fi_enable_func(const char *fp_func, const char *fp_tag, m0_fi_fpoint_state_func_t trigger_func, void *data);
/** Switches a point off. */
void m0_fi_disable(const char *fp_func, const char *fp_tag);

#endif
