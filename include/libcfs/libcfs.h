/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The parts of libcfs that LNet programs use in user space: lists, strings, messages and assertions. Pages and struct
 * kvec are in libcfs/linux_compat.h. */
#ifndef LIBCFS_LIBCFS_H
#define LIBCFS_LIBCFS_H

#include <libcfs/libcfs_ioctl.h>
#include <libcfs/libcfs_string.h>
#include <libcfs/util/list.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** An attribute that follows a structure: the structure has no padding, like its form on the wire. */
#ifndef WIRE_ATTR
#define WIRE_ATTR __attribute__((packed))
#endif

/** The types of debug messages. */
#define D_INFO 0x00000040
#define D_NETERROR 0x00000100
#define D_NET 0x00000200
#define D_WARNING 0x00000400
#define D_ERROR 0x00020000
#define D_CONSOLE 0x02000000

/** The parts of LNet that write messages. */
#define S_LNET 0x00000400
#ifndef DEBUG_SUBSYSTEM
#define DEBUG_SUBSYSTEM S_LNET
#endif

/** The types of messages that are printed; a program may define its own value before it includes this header. */
#ifndef LIBCFS_DEBUG_MASK
#define LIBCFS_DEBUG_MASK (D_WARNING | D_ERROR | D_CONSOLE)
#endif

/** Prints a message to standard error if mask is among the types that are printed. */
#define CDEBUG(mask, ...)                                                         \
	do {                                                                      \
		if ((mask) & LIBCFS_DEBUG_MASK) {                                 \
			fprintf(stderr, "%s:%d:%s() ", __FILE__, __LINE__, __func__); \
			fprintf(stderr, __VA_ARGS__);                             \
		}                                                                 \
	} while (0)
#define CDEBUG_LIMIT(mask, ...) CDEBUG(mask, __VA_ARGS__)
#define CERROR(...) CDEBUG_LIMIT(D_ERROR, __VA_ARGS__)
#define CWARN(...) CDEBUG_LIMIT(D_WARNING, __VA_ARGS__)
#define CNETERR(...) CDEBUG_LIMIT(D_NETERROR, __VA_ARGS__)

/** Ends the program. */
#define LBUG()                                                                      \
	do {                                                                        \
		fprintf(stderr, "%s:%d:%s() LBUG\n", __FILE__, __LINE__, __func__); \
		abort();                                                            \
	} while (0)

/** Ends the program if cond does not hold. */
#define LASSERT(cond)                                                          \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "%s:%d:%s() ASSERTION(%s) failed\n",   \
				__FILE__, __LINE__, __func__, #cond);          \
			abort();                                               \
		}                                                              \
	} while (0)

/** Like LASSERT, with an explanation. */
#define LASSERTF(cond, ...)                                                    \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "%s:%d:%s() ASSERTION(%s) failed: ",   \
				__FILE__, __LINE__, __func__, #cond);          \
			fprintf(stderr, __VA_ARGS__);                          \
			abort();                                               \
		}                                                              \
	} while (0)

/** An assertion at compile time, for use inside functions only. */
#define CLASSERT(cond) ((void)sizeof(char[1 - 2 * !(cond)]))

/** Allocates memory that is filled with zeros; ptr is NULL if there is not enough memory. */
#define LIBCFS_ALLOC(ptr, size)                               \
	do {                                                  \
		(ptr) = (__typeof__(ptr))calloc(1, (size));   \
	} while (0)
#define LIBCFS_FREE(ptr, size)     \
	do {                       \
		(void)(size);      \
		free((void *)(ptr)); \
	} while (0)

#endif
