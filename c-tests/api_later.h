/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests each function that the API of 2.15 or 2.17 has in another form than that of 2.10, on the loopback. */
#include "check.h"
#include <libcfs/linux_compat.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PORTAL 10
#define LAZY 11
#define UNIQUE 12

#if LNET_API >= 0x21100
/* The calls whose form is another one in 2.17, with the arguments of 2.15. */
static int put_to(struct lnet_handle_md md, enum lnet_ack_req ack, struct lnet_processid id, unsigned int portal,
		  __u64 bits, unsigned int offset, __u64 hdr_data)
{
	return LNetPut(NULL, md, ack, &id, portal, bits, offset, hdr_data);
}

static int get_from(struct lnet_handle_md md, struct lnet_processid id, unsigned int portal, __u64 bits)
{
	return LNetGet(NULL, md, &id, portal, bits, 0, false);
}

static int id_of(unsigned int index, struct lnet_processid *id)
{
	return LNetGetId(index, id, true);
}
#else
static int put_to(struct lnet_handle_md md, enum lnet_ack_req ack, struct lnet_processid id, unsigned int portal,
		  __u64 bits, unsigned int offset, __u64 hdr_data)
{
	return LNetPut(LNET_NID_ANY, md, ack, lnet_pid_to_pid4(&id), portal, bits, offset, hdr_data);
}

static int get_from(struct lnet_handle_md md, struct lnet_processid id, unsigned int portal, __u64 bits)
{
	return LNetGet(LNET_NID_ANY, md, lnet_pid_to_pid4(&id), portal, bits, 0, false);
}

static int id_of(unsigned int index, struct lnet_processid *id)
{
	return LNetGetId(index, id);
}
#endif

static char src[8192], dst[8192];
static struct record from, to;

static void start(void)
{
	record_init(&from);
	record_init(&to);
	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (char)(i * 7 + 3);
	memset(dst, 0, sizeof(dst));
}

/* Attaches an ME and an MD for PUTs and GETs at the end of a portal. */
static struct lnet_handle_md target_at(unsigned int portal, __u64 bits, void *mem, unsigned int len, int threshold,
				       unsigned int options, lnet_handler_t handler)
{
	struct lnet_me *me = attach_me(portal, bits, LNET_UNLINK);
	struct lnet_md md = make_md(mem, len, threshold, options, &to, handler);
	struct lnet_handle_md at = { 0 };

	CHECK_EQ(LNetMDAttach(me, &md, LNET_UNLINK, &at), 0);
	return at;
}

static struct lnet_handle_md source(void *mem, unsigned int len, int threshold, lnet_handler_t handler)
{
	struct lnet_md md = make_md(mem, len, threshold, 0, &from, handler);
	struct lnet_handle_md at = { 0 };

	CHECK_EQ(LNetMDBind(&md, LNET_UNLINK, &at), 0);
	return at;
}

static bool is_loopback(struct lnet_nid nid)
{
	struct lnet_processid lo = loopback();

	return nid_same(&nid, &lo.nid);
}

static bool is_zero(const void *mem, size_t len)
{
	const char *bytes = mem;

	for (size_t i = 0; i < len; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

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
	struct lnet_md md;

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

/* ---- handlers ---- */

static sem_t entered, leave;
static volatile int running, most, left;

/* Stays in the first call until the test lets it go. */
static void slow_event(struct lnet_event *event)
{
	int now = __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);

	if (now > most)
		most = now;
	if (left == 0) {
		sem_post(&entered);
		sem_wait(&leave);
	}
	record_event(event);
	__atomic_add_fetch(&left, 1, __ATOMIC_SEQ_CST);
	__atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST);
}

/* The thread that unlinks, and how far it is. */
static volatile int unlinking_thread;
static volatile bool has_returned;

static bool sleeps(int thread)
{
	char path[64], text[256] = "";
	const char *after;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	file = fopen(path, "r");
	if (file != NULL) {
		CHECK(fgets(text, sizeof(text), file) != NULL);
		fclose(file);
	}
	after = strrchr(text, ')');
	return after != NULL && after[1] == ' ' && after[2] == 'S';
}

/* Lets the handler go when the unlink waits, or has returned, which is wrong. */
static void *let_go(void *unused)
{
	(void)unused;
	while (unlinking_thread == 0 || (!has_returned && !sleeps(unlinking_thread)))
		sched_yield();
	sem_post(&leave);
	return NULL;
}

static void unlink_while_a_handler_runs(struct lnet_handle_md md)
{
	pthread_t letting;

	unlinking_thread = 0;
	has_returned = false;
	CHECK_EQ(pthread_create(&letting, NULL, let_go, NULL), 0);
	unlinking_thread = (int)syscall(SYS_gettid);
	CHECK_EQ(LNetMDUnlink(md), 0);
	has_returned = true;
	CHECK_EQ(running, 0);
	CHECK(left >= 1);
	CHECK_EQ(LNetMDUnlink(md), -ENOENT);
	pthread_join(letting, NULL);
	CHECK_EQ(most, 1);
}

static void start_slow(void)
{
	start();
	running = most = left = 0;
	sem_init(&entered, 0, 0);
	sem_init(&leave, 0, 0);
}

static void *put_to_slow(void *unused)
{
	(void)unused;
	CHECK_EQ(put_to(source(src, 8, 1, NULL), LNET_NOACK_REQ, loopback(), PORTAL, 20, 0, 0), 0);
	return NULL;
}

/* c-abi 4.3: LNetMDUnlink waits for a handler of the descriptor that runs. Nothing else is in progress. */
static void unlinking_waits_for_the_handler(void)
{
	struct lnet_handle_md md;
	pthread_t putting;

	start_slow();
	md = target_at(PORTAL, 20, dst, 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT, slow_event);
	CHECK_EQ(pthread_create(&putting, NULL, put_to_slow, NULL), 0);
	sem_wait(&entered);
	unlink_while_a_handler_runs(md);
	pthread_join(putting, NULL);
	CHECK_STR(record_kinds(&to), "PU.");
}

static void *put_from_slow(void *md)
{
	CHECK_EQ(put_to(*(struct lnet_handle_md *)md, LNET_NOACK_REQ, loopback(), PORTAL, 22, 0, 0), 0);
	return NULL;
}

/* The same while another operation is in progress, whose event comes later: a PUT waits at a lazy portal. */
static void unlinking_a_busy_descriptor_waits_for_the_handler_alone(void)
{
	struct lnet_handle_md md;
	pthread_t putting;

	start_slow();
	md = source(src, 8, LNET_MD_THRESH_INF, slow_event);
	CHECK_EQ(LNetSetLazyPortal(LAZY), 0);
	CHECK_EQ(put_to(md, LNET_NOACK_REQ, loopback(), LAZY, 23, 0, 0), 0);
	target_at(PORTAL, 22, dst, 8, 1, LNET_MD_OP_PUT, record_event);
	CHECK_EQ(pthread_create(&putting, NULL, put_from_slow, &md), 0);
	sem_wait(&entered);
	unlink_while_a_handler_runs(md);
	pthread_join(putting, NULL);
	CHECK_EQ(from.events[0].unlinked, 0);
	CHECK_EQ(LNetClearLazyPortal(LAZY), 0);
	record_wait(&from, 2);
	CHECK_EQ(from.events[1].unlinked, 1);
	CHECK_EQ(left, 2);
	lnet_assert_handler_unused(slow_event);
}

static struct lnet_handle_md own;
static int in_handler;

static void unlink_own(struct lnet_event *event)
{
	if (event->type == LNET_EVENT_PUT)
		in_handler = LNetMDUnlink(own);
	record_event(event);
}

/* An unlink in the handler of the descriptor itself does not wait for it. */
static void a_handler_unlinks_its_own_descriptor(void)
{
	start();
	in_handler = 1;
	own = target_at(PORTAL, 21, dst, 100, LNET_MD_THRESH_INF, LNET_MD_OP_PUT, unlink_own);
	CHECK_EQ(put_to(source(src, 8, 1, NULL), LNET_NOACK_REQ, loopback(), PORTAL, 21, 0, 0), 0);
	record_wait(&to, 2);
	CHECK_EQ(in_handler, 0);
	CHECK_STR(record_kinds(&to), "PU.");
}

static void other_event(struct lnet_event *event)
{
	record_event(event);
}

/* Each handler has its own descriptors, and is unused when they have ended. */
static void handlers_are_held_to_be_unused(void)
{
	struct lnet_handle_md md;

	start();
	lnet_assert_handler_unused(NULL);
	lnet_assert_handler_unused(other_event);
	for (int i = 0; i < 3; i++) {
		md = source(src, 8, 1, other_event);
		/* Writes a line to the log, and does nothing else. */
		if (i == 0)
			lnet_assert_handler_unused(other_event);
		CHECK_EQ(LNetMDUnlink(md), 0);
		lnet_assert_handler_unused(other_event);
	}
	CHECK_STR(record_kinds(&from), "U.U.U.");
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

/* ---- addresses ---- */

static void own_addresses(void)
{
	struct lnet_processid id, lo = loopback(), first;
	struct lnet_nid nid;
	unsigned int count;

	for (count = 0; id_of(count, &id) == 0; count++) {
		CHECK_EQ(id.pid, LNET_PID_LUSTRE);
		if (count == 0)
			CHECK(is_loopback(id.nid));
		if (count == 1)
			first = id;
	}
	CHECK_EQ(count, 2);
	nid = id.nid;
	CHECK_EQ(id_of(count, &id), -ENOENT);
	CHECK(nid_same(&nid, &id.nid));
	CHECK_EQ(id_of(0, NULL), -EFAULT);
	CHECK_STR(libcfs_nidstr(&first.nid), "127.0.3.1@tcp");
#if LNET_API >= 0x21100
	{
		struct lnet_nid far, primary, nids[4];
		__u32 order = 77;

		CHECK_EQ(LNetGetId(1, &id, false), 0);
		CHECK(nid_same(&first.nid, &id.nid));
		CHECK_EQ(LNetDist(&lo.nid, &nid, &order), 0);
		CHECK(is_loopback(nid));
		CHECK_EQ(order, 0);
		CHECK_EQ(LNetDist(&first.nid, NULL, NULL), 0);
		CHECK_EQ(libcfs_strnid(&far, "127.0.3.9@tcp"), 0);
		CHECK_EQ(LNetDist(&far, &nid, NULL), 1);
		CHECK(nid_same(&nid, &first.nid));
		CHECK_EQ(libcfs_strnid(&far, "127.0.3.9@tcp7"), 0);
		CHECK_EQ(LNetDist(&far, &nid, NULL), -EHOSTUNREACH);
		CHECK_EQ(LNetDist(NULL, &nid, NULL), -EFAULT);
		CHECK(LNetIsPeerLocal(&lo.nid) && LNetIsPeerLocal(&first.nid));
		CHECK(!LNetIsPeerLocal(&far) && !LNetIsPeerLocal(NULL));

		CHECK_EQ(LNetLocalPrimaryNID(&primary), 0);
		CHECK(nid_same(&primary, &first.nid));
		CHECK_EQ(LNetLocalPrimaryNID(NULL), -EFAULT);
		CHECK_EQ(LNetFetchNIDs(NULL, nids, 4), 1);
		CHECK(nid_same(&nids[0], &first.nid));
		memset(nids, 0, sizeof(nids));
		CHECK_EQ(LNetFetchNIDs(&first.nid, nids, 4), 1);
		CHECK(nid_same(&nids[0], &first.nid));
		CHECK_EQ(LNetFetchNIDs(&lo.nid, nids, 4), 1);
		CHECK_EQ(LNetFetchNIDs(NULL, NULL, 0), 1);
		CHECK_EQ(LNetFetchNIDs(NULL, NULL, 1), -EFAULT);
		CHECK_EQ(LNetFetchNIDs(NULL, nids, -1), -EINVAL);
	}
#else
	{
		__u32 order = 77;
		lnet_nid_t nid4 = lnet_nid_to_nid4(&first.nid);

		CHECK_EQ(LNetDist(nid4, NULL, &order), 0);
		CHECK_EQ(order, 1);
		CHECK(LNetIsPeerLocal(nid4) && LNetIsPeerLocal(lnet_nid_to_nid4(&lo.nid)));
		CHECK(!LNetIsPeerLocal(libcfs_str2nid("127.0.3.9@tcp")) && !LNetIsPeerLocal(LNET_NID_ANY));
	}
#endif
	LNetDebugPeer(&lo);
	LNetDebugPeer(NULL);
}

/* Peers that are declared, but not there. */
static void peers(void)
{
#if LNET_API >= 0x21100
	struct lnet_nid declared[2], nid, nids[4], wrong;
	struct lnet_nid large[2];

	CHECK_EQ(libcfs_strnid(&declared[0], "127.0.3.20@tcp"), 0);
	CHECK_EQ(libcfs_strnid(&declared[1], "127.0.3.21@tcp"), 0);
	CHECK_EQ(LNetFetchNIDs(&declared[1], nids, 4), -ENOENT);
	CHECK_EQ(LNetPeerDiscovered(&declared[1]), -EHOSTUNREACH);
	LNetAddPeer(declared, 2);
	nid = declared[1];
	LNetPrimaryNID(&nid);
	CHECK(nid_same(&nid, &declared[0]));
	CHECK_EQ(LNetFetchNIDs(&declared[1], nids, 4), 2);
	CHECK(nid_same(&nids[0], &declared[0]));
	CHECK(nid_same(&nids[1], &declared[1]));
	memset(nids, 0, sizeof(nids));
	CHECK_EQ(LNetFetchNIDs(&declared[1], nids, 1), 2);
	CHECK(is_zero(&nids[1], sizeof(nids[1])));
	CHECK(LNetPeerDiscovered(&declared[0]) < 0);
	CHECK_EQ(libcfs_strnid(&large[0], "2001:db8::20@tcp"), 0);
	CHECK_EQ(libcfs_strnid(&large[1], "127.0.3.22@tcp"), 0);
	LNetAddPeer(large, 2);
	nid = large[1];
	LNetPrimaryNID(&nid);
	CHECK(nid_same(&nid, &large[0]));
	CHECK_EQ(LNetFetchNIDs(&large[1], nids, 4), 2);
	CHECK(nid_same(&nids[0], &large[0]));
	wrong = loopback().nid;
	LNetPrimaryNID(&wrong);
	CHECK(is_loopback(wrong));
	wrong = anybody().nid;
	LNetPrimaryNID(&wrong);
	CHECK(LNET_NID_IS_ANY(&wrong));
	CHECK_EQ(LNetPeerDiscovered(&wrong), -EINVAL);
	CHECK_EQ(LNetPeerDiscovered(NULL), -EFAULT);
	CHECK_EQ(LNetFetchNIDs(&wrong, nids, 4), -EINVAL);
	LNetPrimaryNID(NULL);
	LNetAddPeer(NULL, 1);
	LNetAddPeer(declared, -1);
	LNetAddPeer(declared, 129);
#else
	lnet_nid_t declared[2] = { libcfs_str2nid("127.0.3.20@tcp"), libcfs_str2nid("127.0.3.21@tcp") };

	CHECK_EQ(LNetAddPeer(declared, 2), 0);
	CHECK_EQ(LNetPrimaryNID(declared[1]), declared[0]);
#endif
	CHECK_EQ(LNetGetPeerDiscoveryStatus(), 1);
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

/* ---- strings ---- */

static void strings_of_both_sizes(void)
{
	static const struct {
		const char *text, *shown;
		unsigned char size;
	} nids[] = {
		{ "10.0.0.1", "10.0.0.1@tcp", 0 },
		{ "10.0.0.1@o2ib3", "10.0.0.1@o2ib3", 0 },
		{ "0@lo", "0@lo", 0 },
		{ "2001:db8::1@tcp", "2001:db8::1@tcp", 12 },
		{ "2001:db8:1111:2222:3333:4444:5555:6666@tcp65535", "2001:db8:1111:2222:3333:4444:5555:6666@tcp65535", 12 },
	};
	struct lnet_processid id = { .pid = LNET_PID_LUSTRE };
	struct lnet_nid nid;
	char text[LNET_NIDSTR_SIZE];

	for (size_t i = 0; i < LENGTH(nids); i++) {
		char want[80];

		CHECK_EQ(libcfs_strnid(&nid, nids[i].text), 0);
		CHECK_EQ(nid.nid_size, nids[i].size);
		CHECK_STR(libcfs_nidstr(&nid), nids[i].shown);
		CHECK(libcfs_nidstr_r(&nid, text, sizeof(text)) == text);
		CHECK_STR(text, nids[i].shown);
		CHECK_EQ(libcfs_stranynid(&nid, nids[i].text), 1);
		CHECK_STR(libcfs_nidstr(&nid), nids[i].shown);
		id.nid = nid;
		snprintf(want, sizeof(want), "12345-%s", nids[i].shown);
		CHECK_STR(libcfs_idstr(&id), want);
		if (nid_is_nid4(&nid)) {
			struct lnet_nid again;

			CHECK_EQ(lnet_nid_to_nid4(&nid), libcfs_str2nid(nids[i].text));
			lnet_nid4_to_nid(lnet_nid_to_nid4(&nid), &again);
			CHECK(nid_same(&nid, &again));
		} else {
			CHECK_EQ(lnet_nid_to_nid4(&nid), LNET_NID_ANY);
		}
	}
	CHECK_EQ(libcfs_strnid(&nid, "nonsense@nowhere"), -EINVAL);
	CHECK(LNET_NID_IS_ANY(&nid));
	CHECK_EQ(libcfs_strnid(&nid, "*"), -EINVAL);
	CHECK_EQ(libcfs_stranynid(&nid, "*"), 1);
	CHECK(LNET_NID_IS_ANY(&nid));
	CHECK_STR(libcfs_nidstr(&nid), "<?>");
	CHECK_STR(libcfs_nidstr(NULL), "<?>");
	CHECK_EQ(libcfs_stranynid(&nid, "1@x"), 0);
	CHECK_EQ(libcfs_strnid(NULL, "10.0.0.1@tcp"), 0);
	CHECK_EQ(libcfs_strnid(&nid, NULL), -EINVAL);
	/* What the library makes of LNET_NID_ANY is what the header makes of it. */
	{
		struct lnet_nid any;

		CHECK_EQ(libcfs_stranynid(&nid, "*"), 1);
		lnet_nid4_to_nid(LNET_NID_ANY, &any);
		CHECK(nid_same(&any, &nid));
		CHECK_EQ(lnet_nid_to_nid4(&any), LNET_NID_ANY);
	}
	/* A buffer that is too small. */
	CHECK_EQ(libcfs_strnid(&nid, "10.0.0.1@tcp"), 0);
	libcfs_nidstr_r(&nid, text, 5);
	CHECK_STR(text, "10.0");
	nid.nid_size = 7;
	CHECK_STR(libcfs_nidstr(&nid), "<?>");
}

int main(void)
{
	struct lnet_processid any = anybody(), id;

	CHECK_EQ(PTR_ERR(LNetMEAttach(PORTAL, &any, 1, 0, LNET_UNLINK, LNET_INS_AFTER)), -ENETDOWN);
	CHECK_EQ(id_of(0, &id), -ENETDOWN);
	setenv("LNET_NETWORKS", "tcp(127.0.3.1)", 1);
	setenv("LNET_ACCEPT", "none", 1);
	for (int round = 0; round < 2; round++) {
		/* The second node has queues of its own for the same handlers. */
		CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
		if (failures != 0)
			return 1;
		a_put_with_its_ack();
		a_get_and_its_reply();
		descriptors_without_a_handler();
		fragments_are_pages();
		match_entries_are_pointers_or_errors();
		a_failed_attach_removes_the_match_entry();
		the_errors_of_bound_memory();
		unlinking_waits_for_the_handler();
		unlinking_a_busy_descriptor_waits_for_the_handler_alone();
		a_handler_unlinks_its_own_descriptor();
		handlers_are_held_to_be_unused();
		delayed_puts_arrive_when_memory_is_attached();
		own_addresses();
		peers();
		failures_of_sends();
		an_entry_for_one_process();
		strings_of_both_sizes();
		CHECK_EQ(LNetNIFini(), 0);
	}
	return failures != 0;
}
