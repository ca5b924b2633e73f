/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Macros for tests that were written for Motr: a condition that does not hold ends the process. */
#ifndef M0_UT_UT_H
#define M0_UT_UT_H

#include <lib/assert.h>
#include <lib/misc.h>

#define M0_UT_ASSERT(cond) M0_ASSERT(cond)

struct m0_ut {
	const char *t_name;
	void (*t_proc)(void);
	const char *t_owner;
};

struct m0_ut_suite {
	const char *ts_name;
	/** The functions that run before the tests and after them, or NULL. They return 0 for success. */
	int (*ts_init)(void);
	int (*ts_fini)(void);
	/** The tests; an entry without a name ends them. */
	struct m0_ut ts_tests[];
};

/** Runs the tests of a suite. */
static inline void m0_ut_suite_run(const struct m0_ut_suite *suite)
{
	M0_ASSERT(suite->ts_init == NULL || suite->ts_init() == 0);
	for (const struct m0_ut *test = suite->ts_tests; test->t_name != NULL; test++)
		test->t_proc();
	M0_ASSERT(suite->ts_fini == NULL || suite->ts_fini() == 0);
}

#endif
