/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* This header is the same as lnet/types.h. */
#ifndef LINUX_LNET_LNET_TYPES_H
#define LINUX_LNET_LNET_TYPES_H

#include <lnet/types.h>

#endif
