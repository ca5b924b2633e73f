/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* This header is the same as lnet/lib-dlc.h. */
#ifndef LINUX_LNET_DLC_H
#define LINUX_LNET_DLC_H

#include <lnet/lib-dlc.h>

#endif
