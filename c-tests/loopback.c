/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests the behaviour that consumers rely on, on the loopback: c-abi 3 and its TRAP rules. */
#include "check.h"
#include <semaphore.h>
#include <sys/uio.h>

#define PORTAL 10
#define LAZY 11
#define UNIQUE 12
#define MAX_SIZES 13

static char src[8192], dst[8192];
static struct record from, to;
static struct lnet_handle_eq eq;
static const struct lnet_handle_eq no_eq = { ~0ULL };

static void start(void)
{
	record_init(&from);
	record_init(&to);
	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (char)(i * 7 + 3);
	memset(dst, 0, sizeof(dst));
}

/* Attaches an ME and an MD for PUTs and GETs at the end of PORTAL. */
static struct lnet_handle_md target(__u64 bits, void *mem, unsigned int len, int threshold, unsigned int options,
				    enum lnet_unlink unlink)
{
	struct lnet_handle_me me = attach_me(PORTAL, bits, unlink);
	struct lnet_handle_md md = { 0 };

	CHECK_EQ(LNetMDAttach(me, make_md(mem, len, threshold, options, &to, eq), unlink, &md), 0);
	return md;
}

static struct lnet_handle_md source(void *mem, unsigned int len, int threshold, enum lnet_unlink unlink)
{
	struct lnet_handle_md md = { 0 };

	CHECK_EQ(LNetMDBind(make_md(mem, len, threshold, 0, &from, eq), unlink, &md), 0);
	return md;
}

static void put(struct lnet_handle_md md, enum lnet_ack_req ack, __u64 bits, unsigned int offset)
{
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, ack, loopback(), PORTAL, bits, offset, 0xfeed), 0);
}

static void get(struct lnet_handle_md md, __u64 bits, unsigned int offset)
{
	CHECK_EQ(LNetGet(LNET_NID_ANY, md, loopback(), PORTAL, bits, offset), 0);
}

/* Tests the columns PUT, ACK and SEND of c-abi 2.7, the order of events (c-abi 3.9), TRAP-16, TRAP-17 and TRAP-26. */
static void a_put_with_its_ack(void)
{
	struct lnet_handle_md put_md, at;
	struct lnet_event *e;
	struct record all;

	start();
	record_init(&all);
	at = target(1, dst, 100, 1, LNET_MD_OP_PUT, LNET_UNLINK);
	put_md = source(src, 40, 2, LNET_UNLINK);
	put(put_md, LNET_ACK_REQ, 1, 9);

	CHECK_STR(record_kinds(&to), "P.");
	CHECK_STR(record_kinds(&from), "AS.");
	CHECK_EQ(memcmp(src, dst, 40), 0);
	CHECK_EQ(dst[40], 0);

	e = &to.events[0];
	CHECK_EQ(e->target.nid, loopback().nid);
	CHECK_EQ(e->target.pid, LNET_PID_LUSTRE);
	CHECK_EQ(e->initiator.nid, loopback().nid);
	CHECK_EQ(e->initiator.pid, LNET_PID_LUSTRE);
	CHECK_EQ(e->source.nid, loopback().nid);
	CHECK_EQ(e->source.pid, LNET_PID_LUSTRE);
	CHECK_EQ(e->sender, loopback().nid);
	CHECK_EQ(e->pt_index, PORTAL);
	CHECK_EQ(e->match_bits, 1);
	CHECK_EQ(e->rlength, 40);
	CHECK_EQ(e->mlength, 40);
	CHECK_EQ(e->offset, 0);
	CHECK_EQ(e->hdr_data, 0xfeed);
	CHECK_EQ(e->md_handle.cookie, at.cookie);
	CHECK_EQ(e->status, 0);
	CHECK_EQ(e->sequence, 0);
	/*
	 * TRAP-10: md.start is the caller's pointer. The threshold in the event does not count this operation any
	 * more.
	 */
	CHECK(e->md.start == dst);
	CHECK_EQ(e->md.length, 100);
	CHECK_EQ(e->md.threshold, 0);
	CHECK_EQ(e->md.options, LNET_MD_OP_PUT);
	CHECK(e->md.user_ptr == &to);
	CHECK_EQ(e->md.eq_handle.cookie, eq.cookie);
	CHECK_EQ(e->md.bulk_handle.cookie, 0);

	e = &from.events[0];
	CHECK_EQ(e->target.nid, loopback().nid);
	CHECK_EQ(e->initiator.nid, loopback().nid);
	CHECK_EQ(e->source.nid, loopback().nid);
	CHECK_EQ(e->pt_index, 0);
	CHECK_EQ(e->match_bits, 1);
	CHECK_EQ(e->rlength, 0);
	CHECK_EQ(e->mlength, 40);
	CHECK_EQ(e->offset, 0);
	CHECK_EQ(e->hdr_data, 0);
	CHECK_EQ(e->md_handle.cookie, put_md.cookie);
	CHECK_EQ(e->md.threshold, 0);
	CHECK_EQ(e->unlinked, 0);

	e = &from.events[1];
	CHECK_EQ(e->target.pid, LNET_PID_LUSTRE);
	CHECK_EQ(e->initiator.nid, LNET_NID_ANY);
	CHECK_EQ(e->initiator.pid, LNET_PID_LUSTRE);
	CHECK_EQ(e->source.nid, LNET_NID_ANY);
	CHECK_EQ(e->sender, LNET_NID_ANY);
	CHECK_EQ(e->pt_index, PORTAL);
	CHECK_EQ(e->match_bits, 1);
	CHECK_EQ(e->rlength, 40);
	CHECK_EQ(e->mlength, 40);
	CHECK_EQ(e->offset, 9);
	CHECK_EQ(e->hdr_data, 0xfeed);
	CHECK_EQ(e->md.threshold, 1);

	/* Both MDs are unlinked. */
	CHECK_EQ(LNetMDUnlink(put_md), -ENOENT);
	CHECK_EQ(LNetMDUnlink(at), -ENOENT);
}

static struct record order;

/* Records the owner of an event: each MD's user_ptr is a record, but all events go into one record. */
static void record_order(struct lnet_event *event)
{
	void *user_ptr = event->md.user_ptr;

	event->md.user_ptr = &order;
	record_event(event);
	order.events[order.count - 1].md.user_ptr = user_ptr;
}

/* Tests c-abi 3.9: the order of the events on both sides. */
static void the_order_over_the_loopback(void)
{
	struct lnet_handle_eq queue;
	struct lnet_handle_me me;
	struct lnet_handle_md md;

	start();
	record_init(&order);
	CHECK_EQ(LNetEQAlloc(0, record_order, &queue), 0);
	me = attach_me(PORTAL, 2, LNET_UNLINK);
	CHECK_EQ(LNetMDAttach(me, make_md(dst, 8, 2, LNET_MD_OP_PUT | LNET_MD_OP_GET, &to, queue), LNET_UNLINK, &md), 0);
	CHECK_EQ(LNetMDBind(make_md(src, 4, 2, 0, &from, queue), LNET_UNLINK, &md), 0);
	put(md, LNET_ACK_REQ, 2, 0);
	CHECK_STR(record_kinds(&order), "PAS.");
	CHECK_EQ(LNetMDBind(make_md(src, 4, 2, 0, &from, queue), LNET_UNLINK, &md), 0);
	get(md, 2, 0);
	CHECK_STR(record_kinds(&order), "PAS.SR.G.");
	CHECK_EQ(LNetEQFree(queue), 0);
}

/*
 * Tests the columns REPLY and GET of c-abi 2.7, and c-abi 3.5: the second message is written after the end of the
 * first.
 */
static void a_get_and_its_reply(void)
{
	struct lnet_handle_md at, md;
	struct lnet_event *e;

	start();
	at = target(3, src, 100, LNET_MD_THRESH_INF, LNET_MD_OP_GET, LNET_UNLINK);
	md = source(dst, 30, 2, LNET_UNLINK);
	get(md, 3, 50);
	CHECK_STR(record_kinds(&from), "SR.");
	CHECK_STR(record_kinds(&to), "G");
	CHECK_EQ(memcmp(src, dst, 30), 0);

	e = &from.events[1];
	CHECK_EQ(e->rlength, 30);
	CHECK_EQ(e->mlength, 30);
	CHECK_EQ(e->offset, 0);
	CHECK_EQ(e->match_bits, 0);
	CHECK_EQ(e->pt_index, 0);
	CHECK_EQ(e->hdr_data, 0);
	CHECK_EQ(e->initiator.nid, loopback().nid);
	CHECK(e->md.start == dst);
	e = &from.events[0];
	CHECK_EQ(e->rlength, 30);
	CHECK_EQ(e->mlength, 30);
	CHECK_EQ(e->offset, 50);
	CHECK_EQ(e->hdr_data, 0);
	e = &to.events[0];
	CHECK_EQ(e->mlength, 30);
	CHECK_EQ(e->offset, 0);
	CHECK_EQ(e->match_bits, 3);
	CHECK_EQ(e->pt_index, PORTAL);
	CHECK_EQ(e->hdr_data, 0);
	CHECK_EQ(e->md.threshold, LNET_MD_THRESH_INF);

	md = source(dst, 30, 2, LNET_UNLINK);
	get(md, 3, 50);
	CHECK_EQ(to.events[1].offset, 30);
	CHECK_EQ(memcmp(src + 30, dst, 30), 0);
	CHECK_EQ(LNetMDUnlink(at), 0);
	CHECK_STR(record_kinds(&to), "GGU.");
}

/*
 * Tests TRAP-2, that an idle MD's UNLINK event occurs before the call returns, and TRAP-9, the contents of that
 * event.
 */
static void unlinking_what_is_idle(void)
{
	struct lnet_handle_me me;
	struct lnet_handle_md md;
	struct lnet_event *e;

	start();
	me = attach_me(PORTAL, 4, LNET_UNLINK);
	CHECK_EQ(LNetMDAttach(me, make_md(dst, 100, 5, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE, &to, eq), LNET_RETAIN, &md), 0);
	CHECK_EQ(LNetMEUnlink(me), 0);
	CHECK_STR(record_kinds(&to), "U.");
	e = &to.events[0];
	CHECK_EQ(e->status, 0);
	CHECK_EQ(e->target.nid, 0);
	CHECK_EQ(e->initiator.nid, 0);
	CHECK_EQ(e->source.nid, 0);
	CHECK_EQ(e->sender, 0);
	CHECK_EQ(e->target.pid, 0);
	CHECK_EQ(e->pt_index, 0);
	CHECK_EQ(e->match_bits, 0);
	CHECK_EQ(e->rlength, 0);
	CHECK_EQ(e->mlength, 0);
	CHECK_EQ(e->offset, 0);
	CHECK_EQ(e->hdr_data, 0);
	CHECK_EQ(e->md_handle.cookie, md.cookie);
	CHECK(e->md.start == dst);
	CHECK(e->md.user_ptr == &to);
	CHECK_EQ(e->md.options, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE);
	CHECK_EQ(LNetMDUnlink(md), -ENOENT);

	/* With LNET_UNLINK the ME is removed together with its MD; with LNET_RETAIN it can get another MD. */
	me = attach_me(PORTAL, 4, LNET_UNLINK);
	CHECK_EQ(LNetMDAttach(me, make_md(dst, 100, 5, LNET_MD_OP_PUT, &to, eq), LNET_RETAIN, &md), 0);
	CHECK_EQ(LNetMDUnlink(md), 0);
	CHECK_EQ(LNetMEUnlink(me), -ENOENT);
	me = attach_me(PORTAL, 4, LNET_RETAIN);
	CHECK_EQ(LNetMDAttach(me, make_md(dst, 100, 5, LNET_MD_OP_PUT, &to, eq), LNET_RETAIN, &md), 0);
	CHECK_EQ(LNetMDUnlink(md), 0);
	CHECK_EQ(LNetMDAttach(me, make_md(dst, 100, 5, LNET_MD_OP_PUT, &to, eq), LNET_RETAIN, &md), 0);
	CHECK_EQ(LNetMEUnlink(me), 0);
	CHECK_STR(record_kinds(&to), "U.U.U.U.");
}

/* Tests c-abi 3.6 and TRAP-22: the ACK of a PUT with threshold 1 is discarded without an event. */
static void thresholds(void)
{
	struct lnet_handle_md md, at;

	start();
	at = target(5, dst, 100, 2, LNET_MD_OP_PUT, LNET_RETAIN);
	md = source(src, 10, 1, LNET_UNLINK);
	put(md, LNET_ACK_REQ, 5, 0);
	CHECK_STR(record_kinds(&from), "S.");
	CHECK_EQ(LNetMDUnlink(md), -ENOENT);

	/*
	 * An MD with an exhausted threshold that stays attached matches nothing: the PUT is dropped, and the SEND
	 * event does not show that.
	 */
	md = source(src, 10, LNET_MD_THRESH_INF, LNET_RETAIN);
	put(md, LNET_ACK_REQ, 5, 0);
	put(md, LNET_ACK_REQ, 5, 0);
	CHECK_STR(record_kinds(&to), "PP");
	CHECK_STR(record_kinds(&from), "S.ASS");
	CHECK_EQ(to.events[0].md.threshold, 1);
	CHECK_EQ(to.events[1].md.threshold, 0);
	CHECK_EQ(LNetMDUnlink(at), 0);
	CHECK_EQ(LNetMDUnlink(md), 0);
	CHECK_STR(record_kinds(&to), "PPU.");
	CHECK_STR(record_kinds(&from), "S.ASSU.");
}

/* Tests TRAP-14: the first matching ME is used, even if its MD has no room. */
static void what_is_too_long(void)
{
	struct lnet_handle_md md = source(src, 20, LNET_MD_THRESH_INF, LNET_RETAIN), small, large;

	start();
	small = target(6, dst, 10, LNET_MD_THRESH_INF, LNET_MD_OP_PUT, LNET_RETAIN);
	large = target(6, dst + 100, 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT, LNET_RETAIN);
	put(md, LNET_NOACK_REQ, 6, 0);
	CHECK_STR(record_kinds(&to), "");
	CHECK_EQ(dst[100], 0);
	CHECK_EQ(LNetMDUnlink(small), 0);
	CHECK_EQ(LNetMDUnlink(large), 0);

	start();
	small = target(7, dst, 10, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_TRUNCATE, LNET_RETAIN);
	put(md, LNET_ACK_REQ, 7, 0);
	CHECK_STR(record_kinds(&to), "P");
	CHECK_EQ(to.events[0].rlength, 20);
	CHECK_EQ(to.events[0].mlength, 10);
	CHECK_EQ(memcmp(src, dst, 10), 0);
	CHECK_EQ(dst[10], 0);
	/* The ACK contains the accepted length and offset. */
	CHECK_EQ(from.events[0].type, LNET_EVENT_ACK);
	CHECK_EQ(from.events[0].mlength, 10);
	CHECK_EQ(LNetMDUnlink(small), 0);

	/* A GET for more bytes than the target has is dropped, or truncated if the target has LNET_MD_TRUNCATE. */
	start();
	small = target(8, dst, 10, LNET_MD_THRESH_INF, LNET_MD_OP_GET, LNET_RETAIN);
	get(md, 8, 0);
	CHECK_STR(record_kinds(&from), "S");
	CHECK_EQ(LNetMDUnlink(small), 0);
	small = target(8, dst, 10, LNET_MD_THRESH_INF, LNET_MD_OP_GET | LNET_MD_TRUNCATE, LNET_RETAIN);
	get(md, 8, 0);
	CHECK_STR(record_kinds(&from), "SSR");
	CHECK_EQ(from.events[2].rlength, 10);
	CHECK_EQ(from.events[2].mlength, 10);
	CHECK_EQ(LNetMDUnlink(small), 0);
	CHECK_EQ(LNetMDUnlink(md), 0);
}

/* Tests c-abi 3.5, and the recommendation in 3.3: a message with an offset beyond the end is dropped. */
static void offsets_of_the_initiator(void)
{
	struct lnet_handle_md md = source(src, 20, LNET_MD_THRESH_INF, LNET_RETAIN), at;

	start();
	at = target(9, dst, 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE, LNET_RETAIN);
	put(md, LNET_NOACK_REQ, 9, 80);
	put(md, LNET_NOACK_REQ, 9, 10);
	CHECK_STR(record_kinds(&to), "PP");
	CHECK_EQ(to.events[0].offset, 80);
	CHECK_EQ(to.events[1].offset, 10);
	CHECK_EQ(memcmp(dst + 80, src, 20), 0);
	CHECK_EQ(memcmp(dst + 10, src, 20), 0);
	put(md, LNET_NOACK_REQ, 9, 81);
	put(md, LNET_NOACK_REQ, 9, 101);
	put(md, LNET_NOACK_REQ, 9, ~0U);
	CHECK_STR(record_kinds(&to), "PP");
	CHECK_EQ(dst[100], 0);
	CHECK_EQ(LNetMDUnlink(at), 0);
	CHECK_EQ(LNetMDUnlink(md), 0);
}

/* Tests TRAP-23: an MD with max_size stays attached while that much room is left, and accepts no longer message. */
static void max_size(void)
{
	struct lnet_handle_md small = source(src, 20, LNET_MD_THRESH_INF, LNET_RETAIN);
	struct lnet_handle_md large = source(src, 50, LNET_MD_THRESH_INF, LNET_RETAIN);
	struct lnet_handle_me me = attach_me(MAX_SIZES, 0, LNET_UNLINK);
	struct lnet_md desc;
	struct lnet_handle_md at;

	start();
	desc = make_md(dst, 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_MAX_SIZE, &to, eq);
	desc.max_size = 40;
	CHECK_EQ(LNetMDAttach(me, desc, LNET_UNLINK, &at), 0);
	/* A message of 50 bytes exceeds the max_size of 40, although there is room for it. */
	CHECK_EQ(LNetPut(LNET_NID_ANY, large, LNET_NOACK_REQ, loopback(), MAX_SIZES, 0, 0, 0), 0);
	CHECK_STR(record_kinds(&to), "");
	for (int i = 0; i < 5; i++)
		CHECK_EQ(LNetPut(LNET_NID_ANY, small, LNET_NOACK_REQ, loopback(), MAX_SIZES, 0, 0, 0), 0);
	/* With 60 used bytes there is room for 40 more; with 80 there is not, and the MD is unlinked. */
	CHECK_STR(record_kinds(&to), "PPPP.");
	CHECK_EQ(to.events[3].offset, 60);
	CHECK_EQ(LNetMDUnlink(at), -ENOENT);
	CHECK_EQ(LNetMDUnlink(small), 0);
	CHECK_EQ(LNetMDUnlink(large), 0);
}

/* Tests c-abi 3.4: PUTs wait on a lazy portal, and the sender's MD stays busy until then; TRAP-15 and TRAP-18. */
static struct lnet_handle_md delayed_handle;
static __u64 handle_in_handler;

static void look_at_handle(struct lnet_event *event)
{
	if (event->type == LNET_EVENT_PUT)
		handle_in_handler = delayed_handle.cookie;
	record_event(event);
}

static void lazy_portals(void)
{
	struct lnet_handle_md first, second, third;
	struct lnet_handle_eq queue;
	struct lnet_handle_me me;

	start();
	CHECK_EQ(LNetSetLazyPortal(LAZY), 0);
	CHECK_EQ(LNetEQAlloc(0, look_at_handle, &queue), 0);
	/* A portal that never had an ME. */
	first = source(src, 10, 1, LNET_UNLINK);
	second = source(src + 10, 10, 1, LNET_UNLINK);
	CHECK_EQ(LNetPut(LNET_NID_ANY, first, LNET_NOACK_REQ, loopback(), LAZY, 1, 0, 0), 0);
	CHECK_EQ(LNetPut(LNET_NID_ANY, second, LNET_NOACK_REQ, loopback(), LAZY, 1, 0, 0), 0);
	CHECK_STR(record_kinds(&from), "");
	/* GETs are never delayed. */
	third = source(src, 10, 2, LNET_UNLINK);
	CHECK_EQ(LNetGet(LNET_NID_ANY, third, loopback(), LAZY, 1, 0), 0);
	CHECK_STR(record_kinds(&from), "S");
	CHECK_EQ(LNetMDUnlink(third), 0);
	CHECK_STR(record_kinds(&from), "SU.");

	/* The MD accepts the first PUT, which exhausts its threshold. */
	CHECK_EQ(LNetMEAttach(LAZY, anybody(), 1, 0, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
	CHECK_EQ(LNetMDAttach(me, make_md(dst, 100, 1, LNET_MD_OP_PUT, &to, queue), LNET_UNLINK, &delayed_handle), 0);
	CHECK_STR(record_kinds(&to), "P.");
	CHECK_EQ(handle_in_handler, to.events[0].md_handle.cookie);
	CHECK_EQ(memcmp(dst, src, 10), 0);
	CHECK_STR(record_kinds(&from), "SU.S.");
	CHECK_EQ(from.events[2].md_handle.cookie, first.cookie);

	/* LNetClearLazyPortal drops the second PUT before it returns. */
	CHECK_EQ(LNetClearLazyPortal(LAZY), 0);
	CHECK_STR(record_kinds(&from), "SU.S.S.");
	CHECK_EQ(LNetEQFree(queue), 0);
}

/* Tests c-abi 3.3, rule 3: the first matching ME in order is used; and the positions of new MEs. */
static void the_first_in_order_matches(void)
{
	struct lnet_handle_me last, first, middle;
	struct lnet_handle_md a, b, c, md = source(src, 4, LNET_MD_THRESH_INF, LNET_RETAIN);

	start();
	CHECK_EQ(LNetMEAttach(PORTAL, anybody(), 20, 0, LNET_UNLINK, LNET_INS_AFTER, &last), 0);
	CHECK_EQ(LNetMEAttach(PORTAL, anybody(), 20, 0, LNET_UNLINK, LNET_INS_BEFORE, &first), 0);
	CHECK_EQ(LNetMEInsert(last, anybody(), 20, 0, LNET_UNLINK, LNET_INS_BEFORE, &middle), 0);
	CHECK_EQ(LNetMDAttach(last, make_md(dst + 200, 4, 1, LNET_MD_OP_PUT, &to, eq), LNET_UNLINK, &c), 0);
	CHECK_EQ(LNetMDAttach(first, make_md(dst, 4, 1, LNET_MD_OP_PUT, &to, eq), LNET_UNLINK, &a), 0);
	CHECK_EQ(LNetMDAttach(middle, make_md(dst + 100, 4, 1, LNET_MD_OP_PUT, &to, eq), LNET_UNLINK, &b), 0);
	for (int i = 0; i < 3; i++)
		put(md, LNET_NOACK_REQ, 20, 0);
	CHECK_STR(record_kinds(&to), "P.P.P.");
	CHECK_EQ(to.events[0].md_handle.cookie, a.cookie);
	CHECK_EQ(to.events[1].md_handle.cookie, b.cookie);
	CHECK_EQ(to.events[2].md_handle.cookie, c.cookie);
	CHECK_EQ(LNetMDUnlink(md), 0);
}

static void match_bits_and_ignore_bits(void)
{
	struct lnet_process_id other = { libcfs_str2nid("1.2.3.4@tcp"), LNET_PID_LUSTRE };
	struct lnet_handle_me me, foreign;
	struct lnet_handle_md md = source(src, 4, LNET_MD_THRESH_INF, LNET_RETAIN), at;

	start();
	CHECK_EQ(LNetMEAttach(PORTAL, other, 0x3000, 0x0fff, LNET_UNLINK, LNET_INS_AFTER, &foreign), 0);
	CHECK_EQ(LNetMDAttach(foreign, make_md(dst, 4, 1, LNET_MD_OP_PUT, &to, eq), LNET_UNLINK, &at), 0);
	CHECK_EQ(LNetMEAttach(PORTAL, loopback(), 0x3000, 0x0fff, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
	CHECK_EQ(LNetMDAttach(me, make_md(dst, 64, LNET_MD_THRESH_INF, LNET_MD_OP_PUT, &to, eq), LNET_RETAIN, &at), 0);
	put(md, LNET_NOACK_REQ, 0x3abc, 0);
	put(md, LNET_NOACK_REQ, 0x4abc, 0);
	CHECK_STR(record_kinds(&to), "P");
	CHECK_EQ(to.events[0].match_bits, 0x3abc);
	CHECK_EQ(to.events[0].md_handle.cookie, at.cookie);
	CHECK_EQ(LNetMEUnlink(me), 0);
	CHECK_EQ(LNetMEUnlink(foreign), 0);
	CHECK_EQ(LNetMDUnlink(md), 0);

	/* A portal without wildcards. */
	start();
	md = source(src, 4, 1, LNET_UNLINK);
	CHECK_EQ(LNetMEAttach(UNIQUE, loopback(), 5, 0, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
	CHECK_EQ(LNetMDAttach(me, make_md(dst, 4, 1, LNET_MD_OP_PUT, &to, eq), LNET_UNLINK, &at), 0);
	CHECK_EQ(LNetPut(loopback().nid, md, LNET_NOACK_REQ, loopback(), UNIQUE, 5, 0, 0), 0);
	CHECK_STR(record_kinds(&to), "P.");
}

/* Tests c-abi 3.7: PUTs that get no ACK although they ask for one. */
static void acks_that_do_not_come(void)
{
	struct lnet_handle_md md = source(src, 4, LNET_MD_THRESH_INF, LNET_RETAIN), at;

	start();
	at = target(21, dst, 64, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_ACK_DISABLE, LNET_RETAIN);
	put(md, LNET_ACK_REQ, 21, 0);
	CHECK_STR(record_kinds(&from), "S");
	put(md, LNET_ACK_REQ, 22, 0);
	CHECK_STR(record_kinds(&from), "SS");
	CHECK_EQ(from.events[1].status, 0);
	CHECK_STR(record_kinds(&to), "P");
	CHECK_EQ(LNetMDUnlink(at), 0);
	CHECK_EQ(LNetMDUnlink(md), 0);
}

/* Tests TRAP-25: operations without data. */
static void nothing_at_all_is_moved_too(void)
{
	struct lnet_handle_md at, md;

	start();
	at = target(23, NULL, 0, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_OP_GET, LNET_RETAIN);
	md = source(NULL, 0, 2, LNET_UNLINK);
	put(md, LNET_ACK_REQ, 23, 0);
	md = source(NULL, 0, 2, LNET_UNLINK);
	get(md, 23, 0);
	CHECK_STR(record_kinds(&from), "AS.SR.");
	CHECK_STR(record_kinds(&to), "PG");
	for (int i = 0; i < 4; i++)
		CHECK_EQ(from.events[i].mlength, 0);
	CHECK_EQ(LNetMDUnlink(at), 0);
}

/* Tests TRAP-1: both kinds of fragment lists may be changed as soon as the call has returned. */
static void fragments_are_copied(void)
{
	static char pages[3][4096] __attribute__((aligned(4096)));
	struct iovec vec[3] = { { dst, 10 }, { dst + 100, 1 }, { dst + 200, 29 } };
	lnet_kiov_t kiov[3];
	struct lnet_handle_me me = attach_me(PORTAL, 24, LNET_UNLINK);
	struct lnet_handle_md at, md;

	start();
	for (int i = 0; i < 3; i++) {
		kiov[i].kiov_page = (struct page *)pages[i];
		kiov[i].kiov_len = i == 1 ? 0 : 20;
		kiov[i].kiov_offset = i == 0 ? 4076 : 0;
		memcpy(pages[i] + kiov[i].kiov_offset, src + 100 * i, 20);
	}
	CHECK_EQ(LNetMDAttach(me, make_md(vec, 3, 1, LNET_MD_OP_PUT | LNET_MD_IOVEC, &to, eq), LNET_UNLINK, &at), 0);
	CHECK_EQ(LNetMDBind(make_md(kiov, 3, 1, LNET_MD_KIOV, &from, eq), LNET_UNLINK, &md), 0);
	memset(vec, 0x5a, sizeof(vec));
	memset(kiov, 0x5a, sizeof(kiov));
	put(md, LNET_NOACK_REQ, 24, 0);

	CHECK_EQ(to.events[0].mlength, 40);
	CHECK_EQ(memcmp(dst, src, 10), 0);
	CHECK_EQ(dst[10], 0);
	CHECK_EQ(dst[100], src[10]);
	CHECK_EQ(memcmp(dst + 200, src + 11, 9), 0);
	CHECK_EQ(memcmp(dst + 209, src + 200, 20), 0);
	/* TRAP-10: the event has the caller's pointer and count; SEND counts bytes. */
	CHECK(to.events[0].md.start == vec);
	CHECK_EQ(to.events[0].md.length, 3);
	CHECK(from.events[0].md.start == kiov);
	CHECK_EQ(from.events[0].mlength, 40);
}

/* Tests c-abi 3.11: rings of events. */
static void rings(void)
{
	struct lnet_handle_eq ring, other, both[2];
	struct lnet_handle_me me = attach_me(PORTAL, 25, LNET_UNLINK);
	struct lnet_handle_md at, md;
	struct lnet_event event;
	int which = -1;

	start();
	CHECK_EQ(LNetEQAlloc(3, LNET_EQ_HANDLER_NONE, &ring), 0);
	CHECK_EQ(LNetEQAlloc(1, record_event, &other), 0);
	CHECK_EQ(LNetMDAttach(me, make_md(dst, 4096, LNET_MD_THRESH_INF, LNET_MD_OP_PUT, NULL, ring), LNET_RETAIN, &at), 0);
	CHECK_EQ(LNetMDBind(make_md(src, 1, LNET_MD_THRESH_INF, 0, &from, other), LNET_RETAIN, &md), 0);

	put(md, LNET_NOACK_REQ, 25, 0);
	CHECK_EQ(LNetEQGet(ring, &event), 1);
	CHECK_EQ(event.sequence, 1);
	CHECK_EQ(event.offset, 0);
	CHECK_EQ(LNetEQGet(ring, &event), 0);

	/* The ring has room for four events; of six the first two are lost. */
	for (int i = 0; i < 6; i++)
		put(md, LNET_NOACK_REQ, 25, 0);
	CHECK_EQ(LNetEQWait(ring, &event), -EOVERFLOW);
	CHECK_EQ(event.sequence, 4);
	both[0] = ring;
	both[1] = other;
	CHECK_EQ(LNetEQPoll(both, 2, 1000, &event, &which), 1);
	CHECK_EQ(which, 0);
	CHECK_EQ(event.sequence, 5);
	CHECK_EQ(LNetEQGet(ring, &event), 1);
	CHECK_EQ(LNetEQGet(ring, &event), 1);
	CHECK_EQ(event.sequence, 7);
	/* The handler received all seven events; the ring keeps the last ones. */
	CHECK_EQ(from.count, 7);
	CHECK_EQ(LNetEQPoll(both, 2, -1, &event, &which), -EOVERFLOW);
	CHECK_EQ(which, 1);
	CHECK_EQ(event.sequence, 7);
	CHECK_EQ(LNetEQPoll(both, 2, 0, &event, &which), 0);

	CHECK_EQ(LNetEQFree(ring), -EBUSY);
	CHECK_EQ(LNetMDUnlink(at), 0);
	CHECK_EQ(LNetEQGet(ring, &event), 1);
	CHECK_EQ(event.type, LNET_EVENT_UNLINK);
	CHECK_EQ(LNetEQFree(ring), 0);
	CHECK_EQ(LNetMDUnlink(md), 0);
	CHECK_EQ(LNetEQFree(other), 0);
}

static sem_t final_event_began, queue_is_being_freed;
static int freed;

static void slow_handler(struct lnet_event *event)
{
	if (event->unlinked) {
		sem_post(&final_event_began);
		/* The other thread is about to free the queue, or already waits for that. */
		sem_wait(&queue_is_being_freed);
	}
	record_event(event);
}

static void *free_queue(void *arg)
{
	sem_wait(&final_event_began);
	sem_post(&queue_is_being_freed);
	freed = LNetEQFree(*(struct lnet_handle_eq *)arg);
	return NULL;
}

/* Tests TRAP-3: while the handler has the final event, another thread's LNetEQFree succeeds. */
static void the_queue_is_free_after_the_final_event(void)
{
	struct lnet_handle_eq queue;
	struct lnet_handle_md md;
	pthread_t thread;

	for (int round = 0; round < 50; round++) {
		start();
		sem_init(&final_event_began, 0, 0);
		sem_init(&queue_is_being_freed, 0, 0);
		freed = 1;
		CHECK_EQ(LNetEQAlloc(0, slow_handler, &queue), 0);
		CHECK_EQ(LNetMDBind(make_md(src, 4, 1, 0, &from, queue), LNET_UNLINK, &md), 0);
		CHECK_EQ(pthread_create(&thread, NULL, free_queue, &queue), 0);
		put(md, LNET_NOACK_REQ, 999, 0);
		pthread_join(thread, NULL);
		CHECK_EQ(freed, 0);
		CHECK_STR(record_kinds(&from), "S.");
	}
}

/* Tests a handler that calls LNet: c-abi 1.0 forbids that, but it must not break anything. */
static int in_handler_rc[3];

static void forbidden_handler(struct lnet_event *event)
{
	if (event->type != LNET_EVENT_PUT)
		return;
	in_handler_rc[0] = LNetMDUnlink(event->md_handle);
	in_handler_rc[1] = LNetEQFree(event->md.eq_handle);
	in_handler_rc[2] = LNetMDUnlink(event->md_handle);
}

static void a_handler_that_breaks_the_rules(void)
{
	struct lnet_handle_eq queue;
	struct lnet_handle_me me = attach_me(PORTAL, 26, LNET_UNLINK);
	struct lnet_handle_md at, md;

	start();
	CHECK_EQ(LNetEQAlloc(0, forbidden_handler, &queue), 0);
	CHECK_EQ(LNetMDAttach(me, make_md(dst, 64, 3, LNET_MD_OP_PUT, NULL, queue), LNET_RETAIN, &at), 0);
	md = source(src, 4, 1, LNET_UNLINK);
	put(md, LNET_NOACK_REQ, 26, 0);
	CHECK_EQ(in_handler_rc[0], 0);
	CHECK_EQ(in_handler_rc[1], -EBUSY);
	CHECK_EQ(in_handler_rc[2], -ENOENT);
	CHECK_EQ(LNetEQFree(queue), 0);
}

/* Tests MDs without a queue, which work without events. */
static void without_a_queue(void)
{
	struct lnet_handle_me me = attach_me(PORTAL, 27, LNET_UNLINK);
	struct lnet_handle_md at, md;

	start();
	CHECK_EQ(LNetMDAttach(me, make_md(dst, 64, 1, LNET_MD_OP_PUT, &to, no_eq), LNET_UNLINK, &at), 0);
	CHECK_EQ(LNetMDBind(make_md(src, 64, 1, 0, &from, no_eq), LNET_UNLINK, &md), 0);
	put(md, LNET_NOACK_REQ, 27, 0);
	CHECK_EQ(memcmp(src, dst, 64), 0);
	CHECK_EQ(LNetMDUnlink(md), -ENOENT);
	CHECK_EQ(LNetMEUnlink(me), -ENOENT);
	CHECK_EQ(from.count + to.count, 0);
}

/* Tests TRAP-24: cookies are never reused. */
static void cookies_do_not_come_back(void)
{
	struct lnet_handle_md old = source(src, 4, 1, LNET_RETAIN), md;

	CHECK_EQ(LNetMDUnlink(old), 0);
	for (int i = 0; i < 1000; i++) {
		CHECK_EQ(LNetMDBind(make_md(src, 4, 1, 0, NULL, no_eq), LNET_RETAIN, &md), 0);
		CHECK(md.cookie != old.cookie);
		CHECK(md.cookie != 0 && !LNetMDHandleIsInvalid(md));
		CHECK_EQ(LNetMDUnlink(md), 0);
	}
	LNetInvalidateMDHandle(&md);
	CHECK(LNetMDHandleIsInvalid(md));
}

/* Tests c-abi 3.14: LNet's ping target, to which any program may send a GET. */
static void the_ping_target(void)
{
	struct {
		struct lnet_ping_info info;
		struct lnet_ni_status ni[15];
	} answer;
	struct lnet_handle_md md;

	start();
	memset(&answer, 0, sizeof(answer));
	md = source(&answer, sizeof(answer), 2, LNET_UNLINK);
	CHECK_EQ(LNetGet(LNET_NID_ANY, md, loopback(), LNET_RESERVED_PORTAL, LNET_PROTO_PING_MATCHBITS, 0), 0);
	CHECK_STR(record_kinds(&from), "SR.");
	CHECK_EQ(answer.info.pi_magic, LNET_PROTO_PING_MAGIC);
	CHECK_EQ(answer.info.pi_pid, LNET_PID_LUSTRE);
	CHECK(answer.info.pi_nnis >= 1);
	CHECK_EQ(answer.ni[0].ns_nid, loopback().nid);
}

static void counters(void)
{
	struct lnet_counters before, after;
	struct lnet_handle_md md, at;

	start();
	lnet_counters_get(&before);
	at = target(28, dst, 64, LNET_MD_THRESH_INF, LNET_MD_OP_PUT, LNET_RETAIN);
	md = source(src, 64, 1, LNET_UNLINK);
	put(md, LNET_NOACK_REQ, 28, 0);
	lnet_counters_get(&after);
	CHECK_EQ(after.send_count - before.send_count, 1);
	CHECK_EQ(after.recv_count - before.recv_count, 1);
	CHECK_EQ(after.send_length - before.send_length, 64);
	CHECK_EQ(LNetMDUnlink(at), 0);
	CHECK_EQ(lnet_cpt_of_nid(loopback().nid, NULL), 0);
}

/* Tests c-abi 1.1: LNetNIFini removes the remaining objects without events. */
static void the_end_reports_no_event(void)
{
	struct lnet_handle_md at;

	start();
	at = target(29, dst, 64, LNET_MD_THRESH_INF, LNET_MD_OP_PUT, LNET_RETAIN);
	CHECK_EQ(LNetNIFini(), 0);
	CHECK_STR(record_kinds(&to), "");
	CHECK_EQ(LNetMDUnlink(at), -ENETDOWN);
	/* Handles from before LNetNIFini are unknown after the next LNetNIInit. */
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetMDUnlink(at), -ENOENT);
	CHECK_EQ(LNetEQFree(eq), -ENOENT);
	CHECK_EQ(LNetNIFini(), 0);
}

int main(void)
{
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, record_event, &eq), 0);
	a_put_with_its_ack();
	the_order_over_the_loopback();
	a_get_and_its_reply();
	unlinking_what_is_idle();
	thresholds();
	what_is_too_long();
	offsets_of_the_initiator();
	max_size();
	lazy_portals();
	the_first_in_order_matches();
	match_bits_and_ignore_bits();
	acks_that_do_not_come();
	nothing_at_all_is_moved_too();
	fragments_are_copied();
	rings();
	the_queue_is_free_after_the_final_event();
	a_handler_that_breaks_the_rules();
	without_a_queue();
	cookies_do_not_come_back();
	the_ping_target();
	counters();
	the_end_reports_no_event();
	return failures != 0;
}
