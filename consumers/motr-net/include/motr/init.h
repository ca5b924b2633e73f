/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Initialisation and finalisation of the library in a program. */
#ifndef M0_MOTR_INIT_H
#define M0_MOTR_INIT_H

struct m0;

/** Begins the use of the library; to be called first. `instance` is NULL, or a struct m0 (module/instance.h) that stays
 * valid until the last m0_fini. Registers the LNet transport and makes it the default. Calls are counted. Returns 0 or a
 * negative errno. */
int m0_init(struct m0 *instance);
/** Ends the use of the library; to be called last, once for each m0_init. */
void m0_fini(void);

#endif
