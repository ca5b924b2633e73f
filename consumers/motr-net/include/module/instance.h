/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The instance of Motr that a program passes to m0_init. */
#ifndef M0_MODULE_INSTANCE_H
#define M0_MODULE_INSTANCE_H

#include <lib/types.h>

/** An instance. It consists of zeros; this library stores nothing in it. */
struct m0 {
	uint64_t i_reserved[16];
};

/**
 * The instance of the first m0_init, or an instance of the library if the program passed NULL. NULL before the first
 * m0_init and after the last m0_fini.
 */
struct m0 *m0_get(void);

#endif
