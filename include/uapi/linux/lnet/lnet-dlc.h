/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* This header is the same as lnet/lib-dlc.h. */
#ifndef UAPI_LINUX_LNET_LNET_DLC_H
#define UAPI_LINUX_LNET_LNET_DLC_H

#include <lnet/lib-dlc.h>

#endif
