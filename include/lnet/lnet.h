/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The umbrella: types, configuration structures, strings. The functions are in lnet/api.h. */
#ifndef LNET_LNET_H
#define LNET_LNET_H

#include <lnet/types.h>
#include <lnet/lib-dlc.h>
#include <lnet/nidstr.h>

#endif
