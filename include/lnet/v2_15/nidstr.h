/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* NIDs with addresses of 4 and 16 bytes as strings: lnet/nidstr.h includes this header if LNET_API asks for it. */
#ifndef LNET_V2_15_NIDSTR_H
#define LNET_V2_15_NIDSTR_H

#include <lnet/nidstr.h>

#if LNET_API >= 0x20f00
#include <stdbool.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Writes a NID, such as 10.0.0.1@tcp1 or 2001:db8::1@tcp, into the n bytes of buf; returns buf. Writes <?> for a NID that stands for
 * any, for what is not a NID, and for NULL. The result is always terminated, and cut short where buf is too small. The signature is
 * liblnet's: c-abi does not have it.
 */
char *libcfs_nidstr_r(const struct lnet_nid *nid, char *buf, size_t n)
		LNET_SYMBOL(libcfs_nidstr_r_2_15);

/** Like libcfs_nidstr_r, but writes into a string of libcfs_next_nidstring. The signature is liblnet's: c-abi does not have it. */
static inline char *libcfs_nidstr(const struct lnet_nid *nid)
{
	return libcfs_nidstr_r(nid, libcfs_next_nidstring(), LNET_NIDSTR_SIZE);
}

/**
 * Stores in *nid the NID that a string such as 10.0.0.1@tcp or 2001:db8::1@tcp names (tcp if there is no @). A host name may replace an
 * IP address; it is looked up by the system's resolver, for at most 5 s.
 *
 * Returns 0; -EINVAL if it names none, with a NID that stands for any in *nid. The signature is liblnet's: c-abi does not have it.
 */
int libcfs_strnid(struct lnet_nid *nid, const char *str)
		LNET_SYMBOL(libcfs_strnid_2_15);

/**
 * Does the same as libcfs_strnid, but accepts * for a NID that stands for any.
 *
 * Returns 1; 0 if the string names none. The signature is liblnet's: c-abi does not have it.
 */
int libcfs_stranynid(struct lnet_nid *nid, const char *str)
		LNET_SYMBOL(libcfs_stranynid_2_15);

/**
 * A process on a node, such as 12345-10.0.0.1@tcp, in a string of libcfs_next_nidstring: at most LNET_NIDSTR_SIZE
 * bytes with the terminator. The signature is liblnet's: c-abi does not have it.
 */
char *libcfs_idstr(struct lnet_processid *id)
		LNET_SYMBOL(libcfs_idstr_2_15);

#ifdef __cplusplus
}
#endif
#endif

#endif
