/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The type that the LNet API of 2.17 has in another form than that of 2.15: lnet/types.h includes this header if LNET_API
 * asks for it. */
#ifndef LNET_V2_17_TYPES_H
#define LNET_V2_17_TYPES_H

#include <lnet/types.h>

#if LNET_API >= 0x21100
#include <stdbool.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Describes memory and the operations that may use it. The structure, and the fragment array it may point to,
 * are copied by LNetMDAttach and LNetMDBind; the memory itself is borrowed until the last event of the
 * MD, which has `unlinked` set.
 */
struct lnet_md {
	/** The memory; or an array of struct bio_vec with LNET_MD_KIOV. */
	void *umd_start;
	/** The number of bytes; or of fragments with LNET_MD_KIOV, at most LNET_MAX_IOV. */
	unsigned int umd_length;
	/**
	 * The number of operations after which the MD is exhausted; LNET_MD_THRESH_INF for no limit. A PUT with an
	 * acknowledgement and a GET take two, every other operation one.
	 */
	int umd_threshold;
	/** Valid with LNET_MD_MAX_SIZE: the length of the longest message, and the free space below which the MD is exhausted. */
	int umd_max_size;
	/** A combination of LNET_MD_* bits. */
	unsigned int umd_options;
	/** Data of the caller, which is part of every event. */
	void *umd_user_ptr;
	/** The handler of the MD's events; NULL for none. */
	lnet_handler_t umd_handler;
	/** Valid with LNET_MD_BULK_HANDLE: an MD whose best interface is preferred. */
	struct lnet_handle_md umd_bulk_handle;
};

#ifdef __cplusplus
}
#endif
#endif

#endif
