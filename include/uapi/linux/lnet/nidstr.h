/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* This header is the same as lnet/nidstr.h. */
#ifndef UAPI_LINUX_LNET_NIDSTR_H
#define UAPI_LINUX_LNET_NIDSTR_H

#include <lnet/nidstr.h>

#endif
