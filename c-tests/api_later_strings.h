/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of NIDs of both sizes as strings. */
#ifndef API_LATER_STRINGS_H
#define API_LATER_STRINGS_H

#include "api_later_calls.h"

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

#endif
