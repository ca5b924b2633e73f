/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small helpers. Those that evaluate several values are statement expressions, which gcc and clang support. */
#ifndef M0_LIB_MISC_H
#define M0_LIB_MISC_H

#include <lib/assert.h>
#include <lib/types.h>
#include <string.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif

/** The structure of which `ptr` is a field. */
#ifndef container_of
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#endif

#define M0_CAT_EXPANDED(a, b) a##b
/** Concatenates two tokens after expanding macros in them. */
#define M0_CAT(a, b) M0_CAT_EXPANDED(a, b)

/** Sets the object to which `ptr` points to zeros. */
#define M0_SET0(ptr) ((void)memset((ptr), 0, sizeof(*(ptr))))
/** Sets an array to zeros. */
#define M0_SET_ARR0(array) ((void)memset((array), 0, sizeof(array)))

/** Whether `a` implies `b`. */
#define ergo(a, b) (!(a) || (b))
/** Whether both conditions hold or neither does. */
#define equi(a, b) (!(a) == !(b))

#define M0_WITHOUT_PARENTHESES(...) __VA_ARGS__
/** Whether `x` is one of the values in parentheses: M0_IN(state, (A, B, C)). */
#define M0_IN(x, set)                                                                         \
	({                                                                                    \
		__typeof__((x) + 0) m0_x_ = (x);                                              \
		__typeof__((x) + 0) m0_set_[] = { M0_WITHOUT_PARENTHESES set };               \
		bool m0_in_ = false;                                                          \
		for (size_t m0_i_ = 0; m0_i_ < sizeof(m0_set_) / sizeof(m0_set_[0]); m0_i_++) \
			m0_in_ = m0_in_ || m0_set_[m0_i_] == m0_x_;                           \
		m0_in_;                                                                       \
	})

/** Whether `expr` holds for every `var` below `nr`. */
#define m0_forall(var, nr, ...)                                    \
	({                                                         \
		const size_t m0_nr_ = (nr);                        \
		size_t var = 0;                                    \
		while (var < m0_nr_ && (__VA_ARGS__))              \
			var++;                                     \
		var == m0_nr_;                                     \
	})
/** Whether `expr` holds for at least one `var` below `nr`. */
#define m0_exists(var, nr, ...) (!m0_forall(var, nr, !(__VA_ARGS__)))

#endif
