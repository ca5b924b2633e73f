/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All headers of the API: types, functions, configuration structures, strings. */
#ifndef LNET_LNET_H
#define LNET_LNET_H

#include <lnet/api.h>
#include <lnet/types.h>
#include <lnet/lib-dlc.h>
#include <lnet/nidstr.h>

#endif
