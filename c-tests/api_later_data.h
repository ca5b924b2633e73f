/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of PUTs, GETs and their events. */
#ifndef API_LATER_DATA_H
#define API_LATER_DATA_H

#include "api_later_calls.h"

/* Tests the columns PUT, ACK and SEND of c-abi 2.7 in the event of c-abi 4.2, and the order of c-abi 3.9. */
static void a_put_with_its_ack(void)
{
	struct lnet_handle_md put_md, at;
	struct lnet_event *e;

	start();
	at = target_at(PORTAL, 1, dst, 100, 1, LNET_MD_OP_PUT, record_event);
	put_md = source(src, 40, 2, record_event);
	CHECK_EQ(put_to(put_md, LNET_ACK_REQ, loopback(), PORTAL, 1, 9, 0xfeed), 0);
	record_wait(&to, 1);
	record_wait(&from, 2);
	CHECK_STR(record_kinds(&to), "P.");
	CHECK_STR(record_kinds(&from), "AS.");
	CHECK_EQ(memcmp(src, dst, 40), 0);
	CHECK_EQ(dst[40], 0);

	e = &to.events[0];
	CHECK(is_loopback(e->target.nid));
	CHECK_EQ(e->target.pid, LNET_PID_LUSTRE);
	CHECK(is_loopback(e->initiator.nid));
	CHECK_EQ(e->initiator.pid, LNET_PID_LUSTRE);
	CHECK(is_loopback(e->source.nid));
	CHECK_EQ(e->source.pid, LNET_PID_LUSTRE);
	CHECK(is_loopback(e->sender));
	CHECK_EQ(e->pt_index, PORTAL);
	CHECK_EQ(e->match_bits, 1);
	CHECK_EQ(e->rlength, 40);
	CHECK_EQ(e->mlength, 40);
	CHECK_EQ(e->offset, 0);
	CHECK_EQ(e->hdr_data, 0xfeed);
	CHECK_EQ(e->md_handle.cookie, at.cookie);
	CHECK(e->md_start == dst);
	CHECK(e->md_user_ptr == &to);
	CHECK_EQ(e->md_options, LNET_MD_OP_PUT);
	CHECK_EQ(e->msg_type, LNET_MSG_PUT);
	CHECK_EQ(e->status, 0);
	CHECK_EQ(e->sequence, 0);

	e = &from.events[0];
	CHECK(is_loopback(e->initiator.nid));
	CHECK_EQ(e->match_bits, 1);
	CHECK_EQ(e->mlength, 40);
	CHECK_EQ(e->msg_type, LNET_MSG_ACK);
	CHECK_EQ(e->md_handle.cookie, put_md.cookie);

	e = &from.events[1];
	CHECK(is_loopback(e->target.nid));
	CHECK(LNET_NID_IS_ANY(&e->initiator.nid));
	CHECK(LNET_NID_IS_ANY(&e->source.nid));
	CHECK(LNET_NID_IS_ANY(&e->sender));
	CHECK_EQ(e->initiator.pid, LNET_PID_LUSTRE);
	CHECK_EQ(e->offset, 9);
	CHECK_EQ(e->msg_type, LNET_MSG_PUT);
	CHECK(e->md_start == src);
}

static void a_get_and_its_reply(void)
{
	start();
	target_at(PORTAL, 2, src, 60, 1, LNET_MD_OP_GET, record_event);
	CHECK_EQ(get_from(source(dst, 60, 2, record_event), loopback(), PORTAL, 2), 0);
	record_wait(&to, 1);
	record_wait(&from, 2);
	CHECK_STR(record_kinds(&to), "G.");
	CHECK_EQ(to.events[0].msg_type, LNET_MSG_GET);
	CHECK_STR(record_kinds(&from), "SR.");
	CHECK_EQ(from.events[0].msg_type, LNET_MSG_GET);
	CHECK_EQ(from.events[1].msg_type, LNET_MSG_REPLY);
	CHECK_EQ(memcmp(src, dst, 60), 0);
}

/* A handler may be NULL: the operations have no events. */
static void descriptors_without_a_handler(void)
{
	struct lnet_handle_md md;

	start();
	target_at(PORTAL, 3, dst, 100, 1, LNET_MD_OP_PUT, NULL);
	md = source(src, 8, LNET_MD_THRESH_INF, NULL);
	CHECK_EQ(put_to(md, LNET_NOACK_REQ, loopback(), PORTAL, 3, 0, 0), 0);
	CHECK_EQ(LNetMDUnlink(md), 0);
	CHECK_EQ(LNetMDUnlink(md), -ENOENT);
	CHECK_EQ(memcmp(src, dst, 8), 0);
	CHECK_EQ(to.count + from.count, 0);
}

static void fragments_are_pages(void)
{
	static char pages[2][4096] __attribute__((aligned(4096)));
	struct bio_vec vec[2] = { { (struct page *)pages[0], 96, 4000 }, { (struct page *)pages[1], 4, 0 } };
	struct lnet_me *me = attach_me(PORTAL, 4, LNET_UNLINK);
	struct lnet_md md;
	struct lnet_handle_md at;

	start();
	md = make_md(vec, 2, 1, LNET_MD_OP_PUT | LNET_MD_KIOV, &to, record_event);
	CHECK_EQ(LNetMDAttach(me, &md, LNET_UNLINK, &at), 0);
	memset(vec, 0, sizeof(vec));
	CHECK_EQ(put_to(source(src, 100, 1, record_event), LNET_NOACK_REQ, loopback(), PORTAL, 4, 0, 0), 0);
	record_wait(&to, 1);
	CHECK_EQ(to.events[0].mlength, 100);
	CHECK(to.events[0].md_start == vec);
	CHECK_EQ(memcmp(pages[0] + 4000, src, 96), 0);
	CHECK_EQ(memcmp(pages[1], src + 96, 4), 0);
}

/* A PUT that waits at a lazy portal comes while its memory is attached; what waits when the portal is lazy no more is dropped. */
static void delayed_puts_arrive_when_memory_is_attached(void)
{
	start();
	CHECK_EQ(LNetSetLazyPortal(LAZY), 0);
	CHECK_EQ(put_to(source(src, 8, 1, record_event), LNET_NOACK_REQ, loopback(), LAZY, 30, 0, 0), 0);
	CHECK_EQ(put_to(source(src, 8, 1, record_event), LNET_NOACK_REQ, loopback(), LAZY, 31, 0, 0), 0);
	target_at(LAZY, 30, dst, 8, 1, LNET_MD_OP_PUT, record_event);
	record_wait(&to, 1);
	CHECK_STR(record_kinds(&to), "P.");
	CHECK_EQ(LNetClearLazyPortal(LAZY), 0);
	record_wait(&from, 2);
	CHECK_EQ(to.count, 1);
	CHECK_EQ(LNetClearLazyPortal(MAX_PORTALS), -EINVAL);
}

/* A send that fails, and arguments that are refused. */
static void failures_of_sends(void)
{
	struct lnet_processid id = anybody();
	struct lnet_handle_md md;

	start();
	CHECK_EQ(put_to(source(src, 8, 1, record_event), LNET_NOACK_REQ, id, PORTAL, 1, 0, 0), 0);
	record_wait(&from, 1);
	CHECK_STR(record_kinds(&from), "S!.");
	CHECK_EQ(from.events[0].status, -EINVAL);
	md = source(src, 8, 1, record_event);
	CHECK_EQ(put_to(md, (enum lnet_ack_req)2, loopback(), PORTAL, 1, 0, 0), -EINVAL);
	CHECK_EQ(put_to(md, LNET_NOACK_REQ, loopback(), MAX_PORTALS, 1, 0, 0), -EINVAL);
#if LNET_API >= 0x21100
	id = loopback();
	CHECK_EQ(LNetPut(NULL, md, LNET_NOACK_REQ, NULL, PORTAL, 1, 0, 0), -EFAULT);
	CHECK_EQ(LNetGet(NULL, md, NULL, PORTAL, 1, 0, false), -EFAULT);
	id.nid.nid_size = 1;
	CHECK_EQ(LNetPut(&id.nid, md, LNET_NOACK_REQ, &id, PORTAL, 1, 0, 0), -EINVAL);
	CHECK_EQ(LNetGet(&id.nid, md, &id, PORTAL, 1, 0, true), -EINVAL);
	/* What is no NID is no target either, as an event says. */
	CHECK_EQ(LNetPut(NULL, md, LNET_NOACK_REQ, &id, PORTAL, 1, 0, 0), 0);
	record_wait(&from, 2);
	CHECK_EQ(from.events[1].status, -EINVAL);
	/* An interface that the node does not have. */
	id = loopback();
	CHECK_EQ(libcfs_strnid(&id.nid, "127.0.3.77@tcp"), 0);
	CHECK_EQ(LNetPut(&id.nid, source(src, 8, 1, record_event), LNET_NOACK_REQ, &id, PORTAL, 1, 0, 0), 0);
	record_wait(&from, 3);
	CHECK_EQ(from.events[2].status, -EINVAL);
	/* A NID of 20 bytes stays one. */
	CHECK_EQ(libcfs_strnid(&id.nid, "2001:db8::77@tcp9"), 0);
	CHECK_EQ(LNetPut(NULL, source(src, 8, 1, record_event), LNET_NOACK_REQ, &id, PORTAL, 1, 0, 0), 0);
	record_wait(&from, 4);
	CHECK_EQ(from.events[3].status, -EHOSTUNREACH);
	CHECK(nid_same(&from.events[3].target.nid, &id.nid));
	/* A NID that stands for any is like NULL. */
	{
		struct lnet_processid any = anybody(), lo = loopback();

		target_at(PORTAL, 40, dst, 8, 1, LNET_MD_OP_PUT, record_event);
		CHECK_EQ(LNetPut(&any.nid, source(src, 8, 1, NULL), LNET_NOACK_REQ, &lo, PORTAL, 40, 0, 0), 0);
		record_wait(&to, 1);
	}
#else
	CHECK_EQ(LNetMDUnlink(md), 0);
#endif
}

/* A unique portal: the entry names its only sender. */
static void an_entry_for_one_process(void)
{
	struct lnet_processid lo = loopback();
	struct lnet_me *me = LNetMEAttach(UNIQUE, &lo, 50, 0, LNET_UNLINK, LNET_INS_LOCAL);
	struct lnet_md md;
	struct lnet_handle_md at;

	start();
	md = make_md(dst, 8, 1, LNET_MD_OP_PUT, &to, record_event);
	CHECK(!IS_ERR(me));
	CHECK_EQ(LNetMDAttach(me, &md, LNET_UNLINK, &at), 0);
	CHECK_EQ(put_to(source(src, 8, 1, NULL), LNET_NOACK_REQ, lo, UNIQUE, 50, 0, 0), 0);
	record_wait(&to, 1);
	CHECK_EQ(memcmp(dst, src, 8), 0);
}

#endif
