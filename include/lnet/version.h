/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The release of liblnet to which the headers belong. LUSTRE_VERSION_CODE in lustre_ver.h is the release of Lustre
 * whose API it provides. */
#ifndef LNET_VERSION_H
#define LNET_VERSION_H

/** A release as a number, for comparisons: #if LIBLNET_VERSION >= LIBLNET_VERSION_CODE(0, 2, 0). */
#define LIBLNET_VERSION_CODE(major, minor, patch) (((major) << 16) + ((minor) << 8) + (patch))

#define LIBLNET_VERSION_MAJOR 0
#define LIBLNET_VERSION_MINOR 1
#define LIBLNET_VERSION_PATCH 0
#define LIBLNET_VERSION \
	LIBLNET_VERSION_CODE(LIBLNET_VERSION_MAJOR, LIBLNET_VERSION_MINOR, LIBLNET_VERSION_PATCH)
#define LIBLNET_VERSION_STRING "0.1.0"

#endif
