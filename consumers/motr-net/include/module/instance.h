/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The instance of Motr that a program gives to m0_init. */
#ifndef M0_MODULE_INSTANCE_H
#define M0_MODULE_INSTANCE_H

#include <lib/types.h>

/** An instance. Zeros; this library keeps nothing in it. */
struct m0 {
	uint64_t i_reserved[16];
};

/** The instance of the first m0_init, one of the library's own if that had none; NULL before it and after the last m0_fini. */
struct m0 *m0_get(void);

#endif
