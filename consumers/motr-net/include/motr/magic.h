/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The same as lib/magic.h, under the name of later releases of Motr. */
#ifndef M0_MOTR_MAGIC_H
#define M0_MOTR_MAGIC_H

#include <lib/magic.h>

#endif
