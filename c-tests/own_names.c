/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests the headers together with a program's own PAGE_SIZE, struct kvec and rings: before LNet's headers (-DBEFORE),
 * or between those and the headers of libcfs that need rings. With -DWITHOUT_MACROS the rings have no macros, and are
 * announced. */
#ifdef WITHOUT_MACROS
#define LIBCFS_OWN_LIST
#endif
#ifdef BEFORE
#include "own_names.h"
#endif

#include <libcfs/libcfs_ioctl.h>
#include <libcfs/util/ioctl.h>
#include <libcfs/util/parser.h>
#include <lnet/lib-lnet.h>
#include <lnet/lib-types.h>
#include <lnet/lnet.h>
#include <lnet/lnetctl.h>
#include <lnet/socklnd.h>
#include <lustre_ver.h>

#ifndef BEFORE
#include "own_names.h"
#endif

#include <libcfs/libcfs.h>
#include <lnet/lnetconfig/liblnetconfig.h>

int main(void)
{
	struct kvec fragment = { NULL, PAGE_SIZE };
	struct page page = { 1 };
	struct list_head list;
	struct hlist_head chain = { NULL };

	/* A program uses its own ring macros on a ring that LNet fills. */
	if (cfs_parse_nidlist((char *)"10.0.0.1@tcp", 12, &list) != 1 || list_empty(&list))
		return 1;
	cfs_free_nidlist(&list);
	return !list_empty(&list) || fragment.iov_len != 65536 || page_address(&page) != virt_to_page(&page) ||
	       chain.first != NULL;
}
