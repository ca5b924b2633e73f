/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of match entries and memory descriptors that are refused. */
#ifndef API_LATER_MEMORY_H
#define API_LATER_MEMORY_H

#include "api_later_calls.h"

/* The errors of match entries are pointers. */
static void match_entries_are_pointers_or_errors(void)
{
	struct lnet_processid any = anybody(), bad = anybody(), lo = loopback();

	CHECK_EQ(PTR_ERR(LNetMEAttach(MAX_PORTALS, &any, 1, 0, LNET_UNLINK, LNET_INS_AFTER)), -EINVAL);
	CHECK_EQ(PTR_ERR(LNetMEAttach(PORTAL, NULL, 1, 0, LNET_UNLINK, LNET_INS_AFTER)), -EFAULT);
	CHECK_EQ(PTR_ERR(LNetMEAttach(PORTAL, &any, 1, 0, LNET_UNLINK, (enum lnet_ins_pos)7)), -EPERM);
	/* The portal has wildcards. */
	CHECK_EQ(PTR_ERR(LNetMEAttach(PORTAL, &lo, 1, 0, LNET_UNLINK, LNET_INS_AFTER)), -EPERM);
	/* Not a NID, and not taken for one that stands for any. */
	bad.nid.nid_type = SOCKLND;
	bad.nid.nid_size = 3;
	CHECK_EQ(PTR_ERR(LNetMEAttach(PORTAL, &bad, 1, 0, LNET_UNLINK, LNET_INS_AFTER)), -EINVAL);
	CHECK(IS_ERR(ERR_PTR(-EINVAL)) && IS_ERR(ERR_PTR(-4095)) && !IS_ERR(NULL) && !IS_ERR(&any));
}

/* c-abi 4.1: an entry whose descriptor is not attached is gone. */
static void a_failed_attach_removes_the_match_entry(void)
{
	struct lnet_me *me = attach_me(PORTAL, 5, LNET_UNLINK), *kept = attach_me(PORTAL, 6, LNET_RETAIN);
	struct lnet_handle_md at, other;
	struct lnet_md md, bad;

	start();
	md = make_md(dst, 10, 1, 0, &to, record_event);
	CHECK_EQ(LNetMDAttach(me, &md, LNET_UNLINK, &at), -EINVAL);
	md = make_md(dst, 10, 1, LNET_MD_OP_PUT, &to, record_event);
	CHECK_EQ(LNetMDAttach(me, &md, LNET_UNLINK, &at), -ENOENT);
	me = attach_me(PORTAL, 5, LNET_UNLINK);
	CHECK_EQ(LNetMDAttach(me, NULL, LNET_UNLINK, &at), -EFAULT);
	CHECK_EQ(LNetMDAttach(me, &md, LNET_UNLINK, &at), -ENOENT);
	me = attach_me(PORTAL, 5, LNET_UNLINK);
	CHECK_EQ(LNetMDAttach(me, &md, LNET_UNLINK, NULL), -EFAULT);
	CHECK_EQ(LNetMDAttach(me, &md, LNET_UNLINK, &at), -ENOENT);
	/* The fragments of 2.10 are no more. */
	me = attach_me(PORTAL, 5, LNET_UNLINK);
	md = make_md(dst, 1, 1, LNET_MD_OP_PUT | 0x40, &to, record_event);
	CHECK_EQ(LNetMDAttach(me, &md, LNET_UNLINK, &at), -EINVAL);
	CHECK_EQ(LNetMDAttach(NULL, &md, LNET_UNLINK, &at), -EINVAL);
	CHECK_EQ(LNetMDAttach(ERR_PTR(-EPERM), &md, LNET_UNLINK, &at), -EINVAL);

	/* An entry that has a descriptor keeps it, and stays when that has ended. */
	md = make_md(dst, 10, 1, LNET_MD_OP_PUT, &to, record_event);
	CHECK_EQ(LNetMDAttach(kept, &md, LNET_RETAIN, &at), 0);
	CHECK_EQ(LNetMDAttach(kept, &md, LNET_RETAIN, &other), -EBUSY);
	CHECK_EQ(LNetMDAttach(kept, NULL, LNET_RETAIN, &other), -EFAULT);
	CHECK_EQ(LNetMDAttach(kept, &md, LNET_RETAIN, NULL), -EFAULT);
	bad = make_md(dst, 10, 1, 0, &to, record_event);
	CHECK_EQ(LNetMDAttach(kept, &bad, LNET_RETAIN, &other), -EINVAL);
	CHECK_EQ(LNetMDUnlink(at), 0);
	CHECK_STR(record_kinds(&to), "U.");
	CHECK_EQ(LNetMDAttach(kept, &md, LNET_RETAIN, &other), 0);
	CHECK_EQ(LNetMDUnlink(other), 0);
}

static void the_errors_of_bound_memory(void)
{
	static char large[LNET_MTU + 1];
	struct lnet_handle_md at;
	struct lnet_md md;

	start();
	md = make_md(large, LNET_MTU + 1, 1, 0, &from, record_event);
	CHECK_EQ(LNetMDBind(&md, LNET_UNLINK, &at), -EINVAL);
	md = make_md(large, LNET_MTU, 1, 0, &from, record_event);
	CHECK_EQ(LNetMDBind(&md, LNET_UNLINK, &at), 0);
	CHECK_EQ(LNetMDUnlink(at), 0);
	CHECK_STR(record_kinds(&from), "U.");
	CHECK(is_zero(&from.events[0].initiator, sizeof(from.events[0].initiator)));
	CHECK(is_zero(&from.events[0].sender, sizeof(from.events[0].sender)));
	md = make_md(src, 1, 1, LNET_MD_OP_PUT, &from, record_event);
	CHECK_EQ(LNetMDBind(&md, LNET_UNLINK, &at), -EINVAL);
	CHECK_EQ(LNetMDBind(NULL, LNET_UNLINK, &at), -EFAULT);
	md = make_md(src, 1, 1, 0, &from, record_event);
	CHECK_EQ(LNetMDBind(&md, LNET_UNLINK, NULL), -EFAULT);
	CHECK_EQ(LNetMDBind(&md, (enum lnet_unlink)2, &at), -EINVAL);
}

#endif
