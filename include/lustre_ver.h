/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The release of Lustre to which the headers correspond, for consumers that check it. */
#ifndef LUSTRE_VER_H
#define LUSTRE_VER_H

#define LUSTRE_MAJOR 2
#define LUSTRE_MINOR 10
#define LUSTRE_PATCH 0
#define LUSTRE_FIX 0

#define OBD_OCD_VERSION(major, minor, patch, fix) \
	(((major) << 24) + ((minor) << 16) + ((patch) << 8) + (fix))
#define LUSTRE_VERSION_CODE OBD_OCD_VERSION(LUSTRE_MAJOR, LUSTRE_MINOR, LUSTRE_PATCH, LUSTRE_FIX)

#endif
