/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Options of a command line:
 *
 *	M0_GETOPTS("program", argc, argv, M0_FLAGARG('q', "say less", &quiet), M0_FORMATARG('n', "how many", "%u", &count),
 *		   M0_STRINGARG('i', "where", LAMBDA(void, (const char *text) { where = text; })))
 *
 * -? and -h tell what there is. */
#ifndef M0_LIB_GETOPTS_H
#define M0_LIB_GETOPTS_H

#include <lib/types.h>

enum m0_getopts_type { M0_GETOPTS_VOID = 1, M0_GETOPTS_NUMBER, M0_GETOPTS_FORMAT, M0_GETOPTS_STRING, M0_GETOPTS_FLAG };

struct m0_getopts_opt {
	enum m0_getopts_type go_type;
	char go_opt;
	const char *go_desc;
	void (*go_void)(void);
	void (*go_number)(int64_t number);
	void (*go_string)(const char *text);
	/** A format for scanf with one conversion. */
	const char *go_format;
	void *go_data;
	bool *go_flag;
};

/** Reads the options. Returns 0. Errors: -EINVAL (an unknown option, or an argument that cannot be read; a message
 * goes to standard error); -EAGAIN (-? or -h was given). */
int m0_getopts(const char *program, int argc, char *const *argv, const struct m0_getopts_opt *opts, uint32_t nr);

#define M0_GETOPTS(program, argc, argv, ...)                                              \
	({                                                                                \
		const struct m0_getopts_opt m0_opts_[] = { __VA_ARGS__ };                 \
		m0_getopts((program), (argc), (argv), m0_opts_,                           \
			   sizeof(m0_opts_) / sizeof(m0_opts_[0]));                       \
	})

/** Calls a function. */
#define M0_VOIDARG(ch, desc, func) { .go_type = M0_GETOPTS_VOID, .go_opt = (ch), .go_desc = (desc), .go_void = (func) }
/** Passes a number, decimal or as C writes it, to a function. */
#define M0_NUMBERARG(ch, desc, func) \
	{ .go_type = M0_GETOPTS_NUMBER, .go_opt = (ch), .go_desc = (desc), .go_number = (func) }
/** Reads the argument as scanf does. */
#define M0_FORMATARG(ch, desc, fmt, ptr) \
	{ .go_type = M0_GETOPTS_FORMAT, .go_opt = (ch), .go_desc = (desc), .go_format = (fmt), .go_data = (ptr) }
/** Passes the argument to a function. */
#define M0_STRINGARG(ch, desc, func) \
	{ .go_type = M0_GETOPTS_STRING, .go_opt = (ch), .go_desc = (desc), .go_string = (func) }
/** Sets a bool. */
#define M0_FLAGARG(ch, desc, ptr) { .go_type = M0_GETOPTS_FLAG, .go_opt = (ch), .go_desc = (desc), .go_flag = (ptr) }

/** An anonymous function: LAMBDA(type, (parameters) { body }). Works with gcc only. A body that uses variables of the
 * enclosing function makes the stack executable. */
#define LAMBDA(T, ...)                 \
	({                             \
		T m0_lambda_ __VA_ARGS__; \
		&m0_lambda_;           \
	})

#endif
