/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Conditions that hold in a correct program. If one does not hold, the process ends with a message that contains it. */
#ifndef M0_LIB_ASSERT_H
#define M0_LIB_ASSERT_H

#include <lib/types.h>
#include <stdio.h>
#include <stdlib.h>

/* Writes the failed condition and its position, and aborts. */
__attribute__((noreturn)) static inline void m0_condition_failed(const char *condition, const char *function,
								 const char *file, int line)
{
	fprintf(stderr, "m0net: %s:%d: %s: %s\n", file, line, function, condition);
	abort();
}

#define M0_ASSERT(cond) ((cond) ? (void)0 : m0_condition_failed(#cond " does not hold", __func__, __FILE__, __LINE__))
/** Like M0_ASSERT, with an explanation in the form of printf's arguments. */
#define M0_ASSERT_INFO(cond, ...)                                         \
	do {                                                              \
		if (!(cond)) {                                            \
			fprintf(stderr, __VA_ARGS__);                     \
			fputc('\n', stderr);                              \
			m0_condition_failed(#cond " does not hold", __func__, __FILE__, __LINE__); \
		}                                                         \
	} while (0)
/** A condition that the caller of a function must fulfil. */
#define M0_PRE(cond) M0_ASSERT(cond)
/** A condition that a function has established. */
#define M0_POST(cond) M0_ASSERT(cond)
#define M0_INVARIANT_EX(cond) M0_ASSERT(cond)
/** A point that the program never reaches. Takes the arguments of printf. */
#define M0_IMPOSSIBLE(...)                                                              \
	do {                                                                            \
		fprintf(stderr, __VA_ARGS__);                                           \
		fputc('\n', stderr);                                                    \
		m0_condition_failed("impossible", __func__, __FILE__, __LINE__);        \
	} while (0)

/** A condition of constants that the compiler checks, for places that allow statements or declarations. */
#define M0_BASSERT(cond) _Static_assert(cond, #cond)
/** The same, for places that allow only a statement. */
#define M0_CASSERT(cond)                           \
	do {                                       \
		_Static_assert(cond, #cond);       \
	} while (0)

#endif
