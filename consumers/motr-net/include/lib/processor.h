/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The processors of this machine, as bitmaps. */
#ifndef M0_LIB_PROCESSOR_H
#define M0_LIB_PROCESSOR_H

#include <lib/bitmap.h>

/** A number greater than that of every online processor. */
size_t m0_processor_nr_max(void);
/** Sets the bits of the processors that this process may use, and clears the others. `map` should have at least
 * m0_processor_nr_max() bits; processors beyond its end are ignored. */
void m0_processors_online(struct m0_bitmap *map);

#endif
