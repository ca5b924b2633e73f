/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the NIDs of this node and of peers. */
#ifndef API_LATER_ADDRESSES_H
#define API_LATER_ADDRESSES_H

#include "api_later_calls.h"

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

#endif
