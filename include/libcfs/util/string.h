/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* This header is the same as libcfs/libcfs_string.h. */
#ifndef LIBCFS_UTIL_STRING_H
#define LIBCFS_UTIL_STRING_H

#include <libcfs/libcfs_string.h>

#endif
