/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Commands as programs send them to the kernel's device; here they reach the node of this process. */
#ifndef LIBCFS_UTIL_IOCTL_H
#define LIBCFS_UTIL_IOCTL_H

#include <libcfs/libcfs_ioctl.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef __user
#define __user
#endif

/** Starts an argument of version 1. */
#define LIBCFS_IOC_INIT(data)                                      \
	do {                                                       \
		memset(&(data), 0, sizeof(data));                  \
		(data).ioc_hdr.ioc_version = LIBCFS_IOCTL_VERSION; \
		(data).ioc_hdr.ioc_len = sizeof(data);             \
	} while (0)

/** Starts an argument of version 2, whose header is the member hdr. */
#define LIBCFS_IOC_INIT_V2(data, hdr)                           \
	do {                                                    \
		memset(&(data), 0, sizeof(data));               \
		(data).hdr.ioc_version = LIBCFS_IOCTL_VERSION2; \
		(data).hdr.ioc_len = sizeof(data);              \
	} while (0)

/**
 * Does the same as ioctl on the device /dev/lnet (dev_id LNET_DEV_ID), but for the node of this process: LNetCtl.
 * Returns 0; -1 with errno set.
 */
int l_ioctl(int dev_id, unsigned int opc, void *buf);

/** Says which file a device of l_ioctl is. There are no files here: returns 0 and does nothing. */
int register_ioc_dev(int dev_id, const char *dev_name, int major, int minor);

/** Forgets register_ioc_dev. */
void unregister_ioc_dev(int dev_id);

#ifdef __cplusplus
}
#endif

#endif
