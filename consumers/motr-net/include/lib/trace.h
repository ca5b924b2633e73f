/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trace points. Those with the levels up to M0_WARN are written to standard error, one line each. The others are
 * compiled, so that their arguments are checked, but write nothing. A source may define M0_TRACE_SUBSYSTEM, the part
 * of Motr to which it belongs, before it includes this header. */
#ifndef M0_LIB_TRACE_H
#define M0_LIB_TRACE_H

#include <lib/types.h>
#include <stdarg.h>
#include <stdio.h>

enum m0_trace_level {
	M0_NONE = 0,
	M0_ALWAYS = 1 << 0,
	M0_FATAL = 1 << 1,
	M0_ERROR = 1 << 2,
	M0_WARN = 1 << 3,
	M0_NOTICE = 1 << 4,
	M0_INFO = 1 << 5,
	M0_DEBUG = 1 << 6,
	M0_CALL = 1 << 7,
};

/** The parts of Motr that a program of the network layer uses; the values have no meaning. */
enum m0_trace_subsystem {
	M0_TRACE_SUBSYS_OTHER = 0,
	M0_TRACE_SUBSYS_LIB,
	M0_TRACE_SUBSYS_UT,
	M0_TRACE_SUBSYS_NET,
	M0_TRACE_SUBSYS_LNET,
	M0_TRACE_SUBSYS_NETTEST,
	M0_TRACE_SUBSYS_RPC,
};

#ifndef M0_TRACE_SUBSYSTEM
#define M0_TRACE_SUBSYSTEM M0_TRACE_SUBSYS_OTHER
#endif

/** The function behind M0_LOG. */
__attribute__((format(printf, 4, 5))) static inline void
m0_trace_print(enum m0_trace_subsystem subsystem, enum m0_trace_level level, const char *function,
	       const char *format, ...)
{
	char text[512];
	va_list arguments;

	(void)subsystem;
	if (level > M0_WARN)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	fprintf(stderr, "m0: %s: %s\n", function, text);
}

/** A trace point: a level, and arguments of printf. */
#define M0_LOG(level, ...) m0_trace_print(M0_TRACE_SUBSYSTEM, (level), __func__, __VA_ARGS__)

/** The trace point at the start of a function; may have arguments of printf. */
#define M0_ENTRY(...) M0_LOG(M0_CALL, "> " __VA_ARGS__)
/** The trace point at the end of a function; may have arguments of printf. */
#define M0_LEAVE(...) M0_LOG(M0_CALL, "< " __VA_ARGS__)
/** Returns from the function with this result. */
#define M0_RETURN(rc)                                              \
	do {                                                       \
		__typeof__(rc) m0_rc_ = (rc);                      \
		M0_LOG(M0_CALL, "< rc=%lld", (long long)m0_rc_);   \
		return m0_rc_;                                     \
	} while (0)
/** The trace point for a result. The value is the result. M0_RC_INFO also has arguments of printf. */
#define M0_RC(rc)                                                \
	({                                                       \
		__typeof__(rc) m0_rc_ = (rc);                    \
		M0_LOG(M0_CALL, "< rc=%lld", (long long)m0_rc_); \
		m0_rc_;                                          \
	})
#define M0_RC_INFO(rc, fmt, ...)                                                        \
	({                                                                              \
		__typeof__(rc) m0_rc_ = (rc);                                           \
		M0_LOG(M0_CALL, "< rc=%lld " fmt, (long long)m0_rc_, ##__VA_ARGS__);    \
		m0_rc_;                                                                 \
	})
/** The trace point for an error, which is written. The value is the error. M0_ERR_INFO also has arguments of printf. */
#define M0_ERR(rc)                                              \
	({                                                      \
		__typeof__(rc) m0_rc_ = (rc);                   \
		M0_LOG(M0_ERROR, "rc=%lld", (long long)m0_rc_); \
		m0_rc_;                                         \
	})
#define M0_ERR_INFO(rc, fmt, ...)                                                    \
	({                                                                           \
		__typeof__(rc) m0_rc_ = (rc);                                        \
		M0_LOG(M0_ERROR, "rc=%lld " fmt, (long long)m0_rc_, ##__VA_ARGS__);  \
		m0_rc_;                                                              \
	})

#endif
