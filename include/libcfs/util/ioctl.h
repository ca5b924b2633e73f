/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Functions that send commands, as programs do to the kernel's device; here the commands go to the node of this
 * process.
 */
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

/** Initialises an argument of version 1. */
#define LIBCFS_IOC_INIT(data)                                      \
	do {                                                       \
		memset(&(data), 0, sizeof(data));                  \
		(data).ioc_hdr.ioc_version = LIBCFS_IOCTL_VERSION; \
		(data).ioc_hdr.ioc_len = sizeof(data);             \
	} while (0)

/** Initialises an argument of version 2, whose header is the member hdr. */
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

/** Declares the file of a device of l_ioctl. There are no such files here: returns 0 and does nothing. */
int register_ioc_dev(int dev_id, const char *dev_name, int major, int minor);

/** Ends register_ioc_dev. Does nothing. */
void unregister_ioc_dev(int dev_id);

#ifdef __cplusplus
}
#endif

#endif
