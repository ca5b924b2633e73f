/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The release of Lustre to which the headers correspond, for consumers that check it. */
#ifndef LUSTRE_VER_H
#define LUSTRE_VER_H

#include <lnet/version.h>

#define LUSTRE_MAJOR 2
#if LNET_API >= 0x21100
#define LUSTRE_MINOR 17
#define LUSTRE_PATCH 0
#elif LNET_API >= 0x20f00
#define LUSTRE_MINOR 15
#define LUSTRE_PATCH 8
#else
#define LUSTRE_MINOR 10
#define LUSTRE_PATCH 0
#endif
#define LUSTRE_FIX 0

#define OBD_OCD_VERSION(major, minor, patch, fix) \
	(((major) << 24) + ((minor) << 16) + ((patch) << 8) + (fix))
#define LUSTRE_VERSION_CODE OBD_OCD_VERSION(LUSTRE_MAJOR, LUSTRE_MINOR, LUSTRE_PATCH, LUSTRE_FIX)

#endif
