/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests every error of every function: the rows of c-abi 1, and the arguments of c-abi 5. */
#include "check.h"
#include <time.h>
#include <lnet/lib-dlc.h>
#include <libcfs/util/ioctl.h>
#include <lnet/lnetctl.h>
#include <sys/uio.h>

#define BITS 0x1234

static char buffer[8192];
static struct record record;
static struct lnet_handle_eq eq;
static const struct lnet_handle_eq no_eq = { ~0ULL };
static const struct lnet_handle_me no_me = { ~0ULL };
static const struct lnet_handle_md no_md = { ~0ULL };

static void before_the_network_is_up(void)
{
	struct lnet_process_id id;
	struct lnet_handle_me me;
	struct lnet_handle_md md;
	struct lnet_handle_eq queue;
	struct lnet_event event;
	struct libcfs_ioctl_data data;
	int which;

	CHECK_EQ(LNetNIFini(), -ENETDOWN);
	CHECK_EQ(LNetNIInit(LNET_PID_ANY), -ENETDOWN);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE | LNET_PID_USERFLAG), -EINVAL);
	CHECK_EQ(LNetGetId(0, &id), -ENETDOWN);
	CHECK_EQ(LNetDist(loopback().nid, NULL, NULL), -ENETDOWN);
	CHECK_EQ(LNetPrimaryNID(5), 5);
	CHECK_EQ(LNetAddPeer(&(lnet_nid_t){ 5 }, 1), -ENETDOWN);
	CHECK_EQ(LNetPeerDiscovered(5), -ENETDOWN);
	CHECK_EQ(LNetGetPeerDiscoveryStatus(), -ENETDOWN);
	LNetDebugPeer(loopback());
	CHECK_EQ(LNetMEAttach(1, anybody(), 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me), -ENETDOWN);
	CHECK_EQ(LNetMEInsert(no_me, anybody(), 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me), -ENETDOWN);
	CHECK_EQ(LNetMEUnlink(no_me), -ENETDOWN);
	CHECK_EQ(LNetMDAttach(no_me, make_md(buffer, 8, 1, LNET_MD_OP_PUT, NULL, no_eq), LNET_RETAIN, &md), -ENETDOWN);
	CHECK_EQ(LNetMDBind(make_md(buffer, 8, 1, 0, NULL, no_eq), LNET_RETAIN, &md), -ENETDOWN);
	CHECK_EQ(LNetMDUnlink(no_md), -ENETDOWN);
	CHECK_EQ(LNetEQAlloc(1, LNET_EQ_HANDLER_NONE, &queue), -ENETDOWN);
	CHECK_EQ(LNetEQFree(no_eq), -ENETDOWN);
	CHECK_EQ(LNetEQGet(no_eq, &event), -ENETDOWN);
	CHECK_EQ(LNetEQWait(no_eq, &event), -ENETDOWN);
	queue = no_eq;
	CHECK_EQ(LNetEQPoll(&queue, 1, 0, &event, &which), -ENETDOWN);
	CHECK_EQ(LNetPut(LNET_NID_ANY, no_md, LNET_NOACK_REQ, loopback(), 1, 0, 0, 0), -ENETDOWN);
	CHECK_EQ(LNetGet(LNET_NID_ANY, no_md, loopback(), 1, 0, 0), -ENETDOWN);
	CHECK_EQ(LNetSetLazyPortal(1), -ENETDOWN);
	CHECK_EQ(LNetClearLazyPortal(1), -ENETDOWN);
	CHECK_EQ(LNetClaimBits(1, 0, 0), -ENETDOWN);
	CHECK_EQ(LNetReleaseBits(1, 0, 0), -ENETDOWN);
	CHECK(LNetMemAlloc(1) == NULL);
	CHECK_EQ(LNetMemFree(NULL), 0);
	LIBCFS_IOC_INIT(data);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_NI, &data), -ENETDOWN);
}

static void a_wrong_configuration(void)
{
	static const char *const wrong[] = { "bogus", "tcp(", "o2ib(eth0)", "tcp(no-such-interface)", "tcp(192.0.2.1)" };
	struct lnet_process_id id;

	for (size_t i = 0; i < LENGTH(wrong); i++) {
		setenv("LNET_NETWORKS", wrong[i], 1);
		CHECK(LNetNIInit(LNET_PID_LUSTRE) < 0);
		CHECK_EQ(LNetGetId(0, &id), -ENETDOWN);
	}
	unsetenv("LNET_NETWORKS");
	CHECK_EQ(LNetNIFini(), -ENETDOWN);
}

static void references_are_counted(void)
{
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 1);
	CHECK_EQ(LNetNIInit(LNET_PID_ANY), 2);
	CHECK_EQ(LNetNIFini(), 0);
	CHECK_EQ(LNetNIFini(), 0);
}

static void addresses(void)
{
	struct lnet_process_id id = { 77, 88 };
	lnet_nid_t source = 5;
	__u32 order = 5;

	CHECK_EQ(LNetGetId(0, &id), 0);
	CHECK_EQ(id.nid, loopback().nid);
	CHECK_EQ(id.pid, LNET_PID_LUSTRE);
	id.nid = 77;
	/* TRAP-11: exactly -ENOENT ends a consumer's loop; nothing is stored. */
	CHECK_EQ(LNetGetId(1000, &id), -ENOENT);
	CHECK_EQ(LNetGetId(~0U, &id), -ENOENT);
	CHECK_EQ(id.nid, 77);
	CHECK_EQ(LNetGetId(0, NULL), -EFAULT);

	CHECK_EQ(LNetDist(loopback().nid, &source, &order), 0);
	CHECK_EQ(source, loopback().nid);
	CHECK_EQ(order, 0);
	CHECK_EQ(LNetDist(loopback().nid, NULL, NULL), 0);
	CHECK_EQ(LNetDist(libcfs_str2nid("10.0.0.1@tcp77"), NULL, NULL), -EHOSTUNREACH);
	CHECK_EQ(LNetDist(LNET_NID_ANY, NULL, NULL), -EHOSTUNREACH);

	CHECK_EQ(LNetPrimaryNID(libcfs_str2nid("10.0.0.1@tcp77")), libcfs_str2nid("10.0.0.1@tcp77"));
	CHECK_EQ(LNetPrimaryNID(loopback().nid), loopback().nid);
	CHECK_EQ(LNetPrimaryNID(LNET_NID_ANY), LNET_NID_ANY);

	source = loopback().nid;
	CHECK_EQ(LNetAddPeer(NULL, 1), -EFAULT);
	CHECK_EQ(LNetAddPeer(&source, 0), -EINVAL);
	CHECK_EQ(LNetAddPeer(&source, 1), -EINVAL);
	CHECK_EQ(LNetAddPeer(&source, 129), -EINVAL);
	source = LNET_NID_ANY;
	CHECK_EQ(LNetAddPeer(&source, 1), -EINVAL);
	CHECK_EQ(LNetPeerDiscovered(LNET_NID_ANY), -EINVAL);
	CHECK_EQ(LNetPeerDiscovered(libcfs_str2nid("10.0.0.1@tcp78")), -EHOSTUNREACH);
}

static void match_entries(void)
{
	struct lnet_handle_me wild, me;

	CHECK_EQ(LNetMEAttach(64, anybody(), 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me), -EINVAL);
	CHECK_EQ(LNetMEAttach(0x80000000U, anybody(), 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me), -EINVAL);
	CHECK_EQ(LNetMEAttach(~0U, anybody(), 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me), -EINVAL);
	CHECK_EQ(LNetMEAttach(1, anybody(), 0, 0, LNET_RETAIN, LNET_INS_AFTER, NULL), -EFAULT);
	CHECK_EQ(LNetMEAttach(1, anybody(), 0, 0, (enum lnet_unlink)7, LNET_INS_AFTER, &me), -EINVAL);
	CHECK_EQ(LNetMEAttach(1, anybody(), 0, 0, LNET_RETAIN, (lnet_ins_pos)7, &me), -EPERM);

	/* Portal 1 is now permanently for wildcards, portal 2 for unique entries (TRAP-20). */
	CHECK_EQ(LNetMEAttach(1, anybody(), 0, 0, LNET_RETAIN, LNET_INS_AFTER, &wild), 0);
	CHECK_EQ(LNetMEAttach(1, loopback(), 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me), -EPERM);
	CHECK_EQ(LNetMEAttach(1, loopback(), 0, 1, LNET_RETAIN, LNET_INS_AFTER, &me), 0);
	CHECK_EQ(LNetMEUnlink(me), 0);
	CHECK_EQ(LNetMEAttach(2, loopback(), 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me), 0);
	CHECK_EQ(LNetMEAttach(2, anybody(), 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me), -EPERM);
	CHECK_EQ(LNetMEInsert(me, loopback(), 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me), -EPERM);
	CHECK_EQ(LNetMEUnlink(me), 0);
	CHECK_EQ(LNetMEAttach(2, anybody(), 0, 0, LNET_RETAIN, LNET_INS_AFTER, &me), -EPERM);
	/* TRAP-21: LNET_INS_LOCAL is valid for both kinds of portal. */
	CHECK_EQ(LNetMEAttach(1, anybody(), 0, 0, LNET_RETAIN, LNET_INS_LOCAL, &me), 0);
	CHECK_EQ(LNetMEUnlink(me), 0);
	CHECK_EQ(LNetMEAttach(2, loopback(), 0, 0, LNET_RETAIN, LNET_INS_LOCAL, &me), 0);
	CHECK_EQ(LNetMEUnlink(me), 0);

	CHECK_EQ(LNetMEInsert(wild, anybody(), 0, 0, LNET_RETAIN, LNET_INS_LOCAL, &me), -EPERM);
	CHECK_EQ(LNetMEInsert(wild, anybody(), 0, 0, LNET_RETAIN, LNET_INS_BEFORE, NULL), -EFAULT);
	CHECK_EQ(LNetMEInsert(wild, anybody(), 0, 0, LNET_RETAIN, LNET_INS_BEFORE, &me), 0);
	CHECK_EQ(LNetMEUnlink(me), 0);
	CHECK_EQ(LNetMEUnlink(me), -ENOENT);
	CHECK_EQ(LNetMEInsert(me, anybody(), 0, 0, LNET_RETAIN, LNET_INS_BEFORE, &me), -ENOENT);
	CHECK_EQ(LNetMEUnlink(wild), 0);
	CHECK_EQ(LNetMEUnlink(no_me), -ENOENT);
}

/* Tests the rules of c-abi 1.4, for attached and for bound MDs. */
static void invalid_memory(void)
{
	static struct iovec two[2] = { { buffer, 10 }, { buffer + 100, 10 } };
	static struct iovec empty[2] = { { buffer, 10 }, { buffer + 100, 0 } };
	static struct iovec many[257];
	lnet_kiov_t pages[2] = { { (struct page *)buffer, 4000, 96 }, { (struct page *)buffer, 0, 0 } };
	lnet_kiov_t beyond[1] = { { (struct page *)buffer, 4000, 97 } };
	const struct {
		void *start;
		unsigned int length, options;
		int max_size;
		int rc;
	} rows[] = {
		{ buffer, 64, 0, -1, 0 },
		{ NULL, 0, 0, 0, 0 },
		{ NULL, 1, 0, 0, -EINVAL },
		{ two, 2, LNET_MD_IOVEC, 0, 0 },
		{ empty, 2, LNET_MD_IOVEC, 0, -EINVAL },
		{ many, 257, LNET_MD_IOVEC, 0, -EINVAL },
		{ pages, 2, LNET_MD_KIOV, 0, 0 },
		{ beyond, 1, LNET_MD_KIOV, 0, -EINVAL },
		{ pages, 257, LNET_MD_KIOV, 0, -EINVAL },
		{ pages, 2, LNET_MD_KIOV | LNET_MD_IOVEC, 0, -EINVAL },
		{ NULL, 1, LNET_MD_KIOV, 0, -EINVAL },
		{ buffer, 64, LNET_MD_MAX_SIZE, -1, -EINVAL },
		{ buffer, 64, LNET_MD_MAX_SIZE, 65, -EINVAL },
		{ buffer, 64, LNET_MD_MAX_SIZE, 64, 0 },
		{ two, 2, LNET_MD_IOVEC | LNET_MD_MAX_SIZE, 20, 0 },
		{ two, 2, LNET_MD_IOVEC | LNET_MD_MAX_SIZE, 21, -EINVAL },
		/* TRAP-8: garbage in max_size without its option, and unknown option bits. */
		{ buffer, 64, 0, 1 << 30, 0 },
		{ buffer, 64, 0x40000000, 0, 0 },
	};
	struct lnet_handle_md handle;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct lnet_md md = make_md(rows[i].start, rows[i].length, 1, rows[i].options, &record, no_eq);
		struct lnet_handle_me me = attach_me(1, BITS, LNET_RETAIN);

		md.max_size = rows[i].max_size;
		CHECK_EQ(LNetMDBind(md, LNET_RETAIN, &handle), rows[i].rc);
		if (rows[i].rc == 0)
			CHECK_EQ(LNetMDUnlink(handle), 0);
		md.options |= LNET_MD_OP_PUT;
		CHECK_EQ(LNetMDAttach(me, md, LNET_RETAIN, &handle), rows[i].rc);
		CHECK_EQ(LNetMEUnlink(me), 0);
	}
}

static void memory_descriptors(void)
{
	struct lnet_handle_eq dead_eq = { eq.cookie + (1ULL << 40) };
	struct lnet_handle_me me = attach_me(1, BITS, LNET_RETAIN);
	struct lnet_md md = make_md(buffer, 64, 1, LNET_MD_OP_PUT, &record, eq);
	struct lnet_handle_md handle, other;

	CHECK_EQ(LNetMDAttach(me, make_md(buffer, 64, 1, 0, &record, eq), LNET_RETAIN, &handle), -EINVAL);
	CHECK_EQ(LNetMDAttach(no_me, md, LNET_RETAIN, &handle), -ENOENT);
	CHECK_EQ(LNetMDAttach(me, make_md(buffer, 64, 1, LNET_MD_OP_PUT, &record, dead_eq), LNET_RETAIN, &handle),
		 -ENOENT);
	CHECK_EQ(LNetMDAttach(me, md, LNET_RETAIN, NULL), -EFAULT);
	CHECK_EQ(LNetMDAttach(me, md, (enum lnet_unlink)2, &handle), -EINVAL);
	/* The failures did not change the ME. */
	CHECK_EQ(LNetMDAttach(me, md, LNET_RETAIN, &handle), 0);
	CHECK_EQ(LNetMDAttach(me, md, LNET_RETAIN, &other), -EBUSY);
	CHECK_EQ(LNetEQFree(eq), -EBUSY);

	CHECK_EQ(LNetMDBind(md, LNET_RETAIN, &other), -EINVAL);
	CHECK_EQ(LNetMDBind(make_md(buffer, 64, 1, LNET_MD_OP_GET, &record, eq), LNET_RETAIN, &other), -EINVAL);
	CHECK_EQ(LNetMDBind(make_md(buffer, 64, 1, 0, &record, dead_eq), LNET_RETAIN, &other), -ENOENT);
	CHECK_EQ(LNetMDBind(make_md(buffer, 64, 1, 0, &record, eq), LNET_RETAIN, NULL), -EFAULT);

	/* Handles of the wrong kind never resolve. */
	other.cookie = eq.cookie;
	CHECK_EQ(LNetMDUnlink(other), -ENOENT);
	other.cookie = me.cookie;
	CHECK_EQ(LNetMDUnlink(other), -ENOENT);
	other.cookie = 0;
	CHECK_EQ(LNetMDUnlink(other), -ENOENT);

	/* TRAP-7: an attached MD cannot send, and the failed call does not change it. */
	CHECK_EQ(LNetPut(LNET_NID_ANY, handle, LNET_NOACK_REQ, loopback(), 1, 0, 0, 0), -ENOENT);
	CHECK_EQ(LNetGet(LNET_NID_ANY, handle, loopback(), 1, 0, 0), -ENOENT);
	CHECK_STR(record_kinds(&record), "");
	CHECK_EQ(LNetMDUnlink(handle), 0);
	CHECK_STR(record_kinds(&record), "U.");
	CHECK_EQ(LNetMDUnlink(handle), -ENOENT);
	CHECK_EQ(LNetMEUnlink(me), 0);
}

static void event_queues(void)
{
	struct lnet_handle_eq ring, callback, both[2];
	struct lnet_event event;
	int which = 5;

	CHECK_EQ(LNetEQAlloc(0, LNET_EQ_HANDLER_NONE, &ring), -EINVAL);
	CHECK_EQ(LNetEQAlloc(1, LNET_EQ_HANDLER_NONE, NULL), -EFAULT);
	CHECK_EQ(LNetEQAlloc(3, LNET_EQ_HANDLER_NONE, &ring), 0);
	CHECK_EQ(LNetEQAlloc(0, record_event, &callback), 0);

	CHECK_EQ(LNetEQGet(ring, &event), 0);
	CHECK_EQ(LNetEQGet(ring, NULL), -EFAULT);
	CHECK_EQ(LNetEQGet(no_eq, &event), -ENOENT);
	CHECK_EQ(LNetEQGet(callback, &event), 0);
	CHECK_EQ(LNetEQWait(no_eq, &event), -ENOENT);
	CHECK_EQ(LNetEQWait(ring, NULL), -EFAULT);

	both[0] = callback;
	both[1] = ring;
	CHECK_EQ(LNetEQPoll(both, 2, 0, &event, &which), 0);
	CHECK_EQ(LNetEQPoll(both, 2, 1, &event, &which), 0);
	CHECK_EQ(which, 5);
	CHECK_EQ(LNetEQPoll(both, 0, 0, &event, &which), -ENOENT);
	CHECK_EQ(LNetEQPoll(both, -1, 0, &event, &which), -ENOENT);
	CHECK_EQ(LNetEQPoll(NULL, 1, 0, &event, &which), -EFAULT);
	CHECK_EQ(LNetEQPoll(both, 1, 0, NULL, &which), -EFAULT);
	CHECK_EQ(LNetEQPoll(both, 1, 0, &event, NULL), -EFAULT);
	both[1] = no_eq;
	CHECK_EQ(LNetEQPoll(both, 2, 0, &event, &which), -ENOENT);

	CHECK_EQ(LNetEQFree(ring), 0);
	CHECK_EQ(LNetEQFree(ring), -ENOENT);
	CHECK_EQ(LNetEQGet(ring, &event), -ENOENT);
	CHECK_EQ(LNetEQFree(callback), 0);
	CHECK_EQ(LNetEQFree(no_eq), -ENOENT);
}

static void moving_data(void)
{
	struct lnet_process_id nobody = { LNET_NID_ANY, LNET_PID_LUSTRE };
	struct lnet_handle_md md;

	CHECK_EQ(LNetPut(LNET_NID_ANY, no_md, LNET_NOACK_REQ, loopback(), 1, 0, 0, 0), -ENOENT);
	CHECK_EQ(LNetGet(LNET_NID_ANY, no_md, loopback(), 1, 0, 0), -ENOENT);

	record_init(&record);
	CHECK_EQ(LNetMDBind(make_md(buffer, 64, 2, 0, &record, eq), LNET_RETAIN, &md), 0);
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, (enum lnet_ack_req)2, loopback(), 1, 0, 0, 0), -EINVAL);
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, loopback(), 64, 0, 0, 0), -EINVAL);
	CHECK_EQ(LNetGet(LNET_NID_ANY, md, loopback(), 9999, 0, 0), -EINVAL);
	/* TRAP-6: these calls succeed, and the failure is reported by an event. */
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, nobody, 1, 0, 0, 0), 0);
	CHECK_STR(record_kinds(&record), "S!");
	CHECK_EQ(record.events[0].status, -EINVAL);
	CHECK_EQ(LNetPut(libcfs_str2nid("9.9.9.9@tcp9"), md, LNET_NOACK_REQ, loopback(), 1, 0, 0, 0), 0);
	CHECK_EQ(record.count, 2);
	/* The threshold is exhausted, but the MD still exists. */
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, loopback(), 1, 0, 0, 0), -ENOENT);
	CHECK_EQ(LNetGet(LNET_NID_ANY, md, loopback(), 1, 0, 0), -ENOENT);
	CHECK_EQ(record.count, 2);
	CHECK_EQ(LNetMDUnlink(md), 0);
	CHECK_EQ(record.count, 3);
	CHECK_EQ(record.events[2].type, LNET_EVENT_UNLINK);

	record_init(&record);
	CHECK_EQ(LNetMDBind(make_md(buffer, 64, 1, 0, &record, eq), LNET_UNLINK, &md), 0);
	nobody.nid = libcfs_str2nid("10.0.0.1@tcp77");
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, nobody, 1, 0, 0, 0), 0);
	/* TRAP-30: the MD is unlinked although the operation failed. */
	CHECK_STR(record_kinds(&record), "S!.");
	CHECK_EQ(record.events[0].status, -EHOSTUNREACH);
	CHECK_EQ(LNetMDUnlink(md), -ENOENT);
}

static void portals(void)
{
	static const int bad[] = { -1, 64, 1 << 30 };

	for (size_t i = 0; i < LENGTH(bad); i++) {
		CHECK_EQ(LNetSetLazyPortal(bad[i]), -EINVAL);
		CHECK_EQ(LNetClearLazyPortal(bad[i]), -EINVAL);
	}
	CHECK_EQ(LNetClearLazyPortal(5), 0);
	CHECK_EQ(LNetSetLazyPortal(5), 0);
	CHECK_EQ(LNetClearLazyPortal(5), 0);
}

static void claims(void)
{
	CHECK_EQ(LNetClaimBits(0, 0, 0), -EINVAL);
	CHECK_EQ(LNetClaimBits(64, 0, 0), -EINVAL);
	CHECK_EQ(LNetReleaseBits(5, 0x70, 0xf), -ENOENT);
	CHECK_EQ(LNetClaimBits(5, 0x70, 0xf), 0);
	CHECK_EQ(LNetClaimBits(5, 0x75, 0), -EADDRINUSE);
	CHECK_EQ(LNetClaimBits(5, 0x80, 0), 0);
	CHECK_EQ(LNetClaimBits(5, 0, -1), -EADDRINUSE);
	CHECK_EQ(LNetReleaseBits(5, 0x70, 0), -ENOENT);
	CHECK_EQ(LNetReleaseBits(5, 0x70, 0xf), 0);
	CHECK_EQ(LNetClaimBits(5, 0x75, 0), 0);
	CHECK_EQ(LNetReleaseBits(5, 0x75, 0), 0);
	CHECK_EQ(LNetReleaseBits(5, 0x80, 0), 0);
}

static void commands(void)
{
	struct libcfs_ioctl_data data;
	struct lnet_ioctl_numa_range range;
	struct lnet_ioctl_lnet_stats stats;
	struct lnet_process_id ids[2];

	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_NI, NULL), -EFAULT);
	LIBCFS_IOC_INIT(data);
	CHECK_EQ(LNetCtl(0, &data), -EINVAL);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SET_PEER + 1, &data), -EINVAL);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_CLOSE_CONNECTION, &data), -EOPNOTSUPP);
	/* A NID that belongs to no peer, and a time in the future. */
	data.ioc_nid = LNET_NID_ANY;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_NOTIFY_ROUTER, &data), -EINVAL);
	data.ioc_nid = libcfs_str2nid("10.0.0.1@tcp78");
	CHECK_EQ(LNetCtl(IOC_LIBCFS_NOTIFY_ROUTER, &data), 0);
	data.ioc_u64[0] = (__u64)time(NULL) + 3600;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_NOTIFY_ROUTER, &data), -EINVAL);
	data.ioc_u64[0] = 0;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_NI, &data), 0);
	CHECK_EQ(data.ioc_nid, loopback().nid);
	data.ioc_count = 1000;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_NI, &data), -ENOENT);
	data.ioc_hdr.ioc_version = 7;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_NI, &data), -EINVAL);
	data.ioc_hdr.ioc_version = LIBCFS_IOCTL_VERSION;
	data.ioc_hdr.ioc_len = 127;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_NI, &data), -EINVAL);
	data.ioc_hdr.ioc_len = 7;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_NI, &data), -EINVAL);
	data.ioc_hdr.ioc_len = LIBCFS_IOC_DATA_MAX + 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_NI, &data), -EINVAL);

	LIBCFS_IOC_INIT(data);
	data.ioc_nid = loopback().nid;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_LNET_DIST, &data), 0);
	CHECK_EQ(data.ioc_u32[0], 0);
	CHECK_EQ(data.ioc_u32[1], 0);
	data.ioc_nid = libcfs_str2nid("10.0.0.1@tcp77");
	CHECK_EQ(LNetCtl(IOC_LIBCFS_LNET_DIST, &data), 0);
	CHECK_EQ((int)data.ioc_u32[0], -EHOSTUNREACH);

	LIBCFS_IOC_INIT(data);
	data.ioc_nid = loopback().nid;
	data.ioc_u32[0] = LNET_PID_LUSTRE;
	data.ioc_u32[1] = 120001;
	data.ioc_plen1 = sizeof(ids);
	data.ioc_pbuf1 = ids;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_PING, &data), -EINVAL);
	data.ioc_u32[1] = 1000;
	data.ioc_plen1 = 0;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_PING, &data), -EINVAL);
	data.ioc_plen1 = 21 * sizeof(ids[0]);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_PING, &data), -EINVAL);
	data.ioc_pbuf1 = NULL;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_PING, &data), -EFAULT);

	LIBCFS_IOC_INIT_V2(range, nr_hdr);
	range.nr_range = 30;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SET_NUMA_RANGE, &range), 0);
	range.nr_range = 0;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_NUMA_RANGE, &range), 0);
	CHECK_EQ(range.nr_range, 30);
	range.nr_hdr.ioc_len = 11;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_NUMA_RANGE, &range), -EINVAL);

	LIBCFS_IOC_INIT_V2(stats, st_hdr);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_LNET_STATS, &stats), 0);
	stats.st_hdr.ioc_len = 67;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_LNET_STATS, &stats), -EINVAL);

	LIBCFS_IOC_INIT(data);
	CHECK_EQ(register_ioc_dev(LNET_DEV_ID, "/dev/lnet", 10, 240), 0);
	CHECK_EQ(l_ioctl(LNET_DEV_ID, IOC_LIBCFS_GET_NI, &data), 0);
	data.ioc_count = 1000;
	errno = 0;
	CHECK_EQ(l_ioctl(LNET_DEV_ID, IOC_LIBCFS_GET_NI, &data), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(l_ioctl(LNET_DEV_ID + 1, IOC_LIBCFS_GET_NI, &data), -1);
	CHECK_EQ(errno, ENODEV);
	unregister_ioc_dev(LNET_DEV_ID);
}

/* Tests IOC_LIBCFS_FAIL_NID: the requested number of calls fail, without events. */
static void failures_that_were_asked_for(void)
{
	struct libcfs_ioctl_data data;
	struct lnet_handle_md md;

	record_init(&record);
	CHECK_EQ(LNetMDBind(make_md(buffer, 64, 1, 0, &record, eq), LNET_UNLINK, &md), 0);
	LIBCFS_IOC_INIT(data);
	data.ioc_nid = loopback().nid;
	data.ioc_count = 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_FAIL_NID, &data), 0);
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, loopback(), 1, 0, 0, 0), -EIO);
	CHECK_STR(record_kinds(&record), "");
	/* TRAP-7: after a failed LNetPut the MD can be unlinked. */
	CHECK_EQ(LNetMDUnlink(md), 0);
	CHECK_STR(record_kinds(&record), "U.");
}

static void no_network_again(void)
{
	struct lnet_process_id id;

	CHECK_EQ(LNetNIFini(), 0);
	CHECK_EQ(LNetGetId(0, &id), -ENETDOWN);
	CHECK_EQ(LNetNIFini(), -ENETDOWN);
	CHECK_EQ(LNetNIInit(777), 0);
	CHECK_EQ(LNetGetId(0, &id), 0);
	CHECK_EQ(id.pid, 777);
	CHECK_EQ(LNetNIFini(), 0);
}

/* More pieces than a node takes of one program. */
static void memory_of_the_library(void)
{
	enum { PIECES = 2000, LENGTH = 4096 };
	static unsigned char *pieces[PIECES];
	unsigned char *all;
	int i;

	CHECK(LNetMemAlloc(0) == NULL);
	CHECK_EQ(LNetMemFree(NULL), 0);
	CHECK_EQ(LNetMemFree(buffer), -EINVAL);
	for (i = 0; i < PIECES; i++) {
		pieces[i] = LNetMemAlloc(LENGTH);
		CHECK(pieces[i] != NULL);
		if (!pieces[i])
			return;
		CHECK_EQ(pieces[i][0] | pieces[i][LENGTH - 1], 0);
		memset(pieces[i], 0xff, LENGTH);
	}
	for (i = 0; i < PIECES; i++)
		CHECK_EQ(LNetMemFree(pieces[i]), 0);
	CHECK_EQ(LNetMemFree(pieces[0]), -EINVAL);
	all = LNetMemAlloc(LENGTH * PIECES);
	CHECK(all != NULL);
	CHECK_EQ(LNetMemFree(all), 0);
}

int main(void)
{
	record_init(&record);
	before_the_network_is_up();
	a_wrong_configuration();
	references_are_counted();
	CHECK_EQ(LNetEQAlloc(0, record_event, &eq), 0);
	addresses();
	match_entries();
	invalid_memory();
	memory_descriptors();
	event_queues();
	moving_data();
	portals();
	claims();
	memory_of_the_library();
	commands();
	failures_that_were_asked_for();
	CHECK_EQ(LNetEQFree(eq), 0);
	no_network_again();
	return failures != 0;
}
