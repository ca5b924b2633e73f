/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* This header is the same as libcfs/libcfs_ioctl.h. */
#ifndef UAPI_LINUX_LNET_LIBCFS_IOCTL_H
#define UAPI_LINUX_LNET_LIBCFS_IOCTL_H

#include <libcfs/libcfs_ioctl.h>

#endif
