/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests NIDs, networks, lists and expressions as strings, with the recorded conversions of c-abi 2.8. Needs no
 * network: LNetNIInit is never called. */
#include "check.h"
#include <libcfs/libcfs_string.h>

static void nids(void)
{
	static const struct {
		const char *text;
		lnet_nid_t nid;
		const char *printed;
	} rows[] = {
		{ "10.0.0.1@tcp", 0x000200000a000001, "10.0.0.1@tcp" },
		{ "10.0.0.1@tcp0", 0x000200000a000001, "10.0.0.1@tcp" },
		{ "10.0.0.1", 0x000200000a000001, "10.0.0.1@tcp" },
		{ "10.0.0.1@tcp1", 0x000200010a000001, "10.0.0.1@tcp1" },
		{ "10.0.0.2@o2ib3", 0x000500030a000002, "10.0.0.2@o2ib3" },
		{ "0@lo", 0x0009000000000000, "0@lo" },
		{ "junk@lo", 0x0009000000000000, "0@lo" },
		{ "0x10@gni2", 0x000d000200000010, "16@gni2" },
		{ "010@gni", 0x000d00000000000a, "10@gni" },
		{ " 10.0.0.1@tcp", 0x000200000a000001, "10.0.0.1@tcp" },
		{ "255.255.255.255@tcp", 0x00020000ffffffff, "255.255.255.255@tcp" },
	};
	static const char *const bad[] = {
		"300.1.1.1@tcp", "10.0.1@tcp", "10.0.0.1 @tcp", "10.0.0.1@tcp ", "10.0.0.1@tcp1x", "@tcp", "",
		"*@tcp", "0@lo0", "7@ptl", "1@gnix", "a@b@tcp", "10.0.0.1@tcp65536", "\xff@tcp",
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		lnet_nid_t nid = libcfs_str2nid(rows[i].text);

		CHECK_EQ(nid, rows[i].nid);
		CHECK_STR(libcfs_nid2str(nid), rows[i].printed);
	}
	for (size_t i = 0; i < LENGTH(bad); i++) {
		lnet_nid_t nid = 5;

		CHECK_EQ(libcfs_str2nid(bad[i]), LNET_NID_ANY);
		CHECK_EQ(libcfs_str2anynid(&nid, bad[i]), 0);
		CHECK_EQ(nid, LNET_NID_ANY);
	}
	CHECK_EQ(libcfs_str2nid(NULL), LNET_NID_ANY);
	/* A host name is accepted, as by the kernel's user-space library. */
	CHECK_EQ(libcfs_str2nid("localhost@tcp3"), libcfs_str2nid("127.0.0.1@tcp3"));
	CHECK_EQ(libcfs_str2nid("localhost@gni"), LNET_NID_ANY);
	CHECK_STR(libcfs_nid2str(LNET_NID_ANY), "<?>");
	CHECK_STR(libcfs_nid2str(LNET_MKNID(LNET_MKNET(77, 3), 0x0a000001)), "a000001@<77:3>");
}

static void any_nid(void)
{
	lnet_nid_t nid = 5;

	CHECK_EQ(libcfs_str2anynid(&nid, "*"), 1);
	CHECK_EQ(nid, LNET_NID_ANY);
	CHECK_EQ(libcfs_str2anynid(&nid, "10.0.0.1@tcp"), 1);
	CHECK_EQ(nid, 0x000200000a000001);
}

static void nets_and_drivers(void)
{
	static const struct {
		const char *text;
		__u32 net;
	} rows[] = {
		{ "tcp", 0x00020000 }, { "tcp5", 0x00020005 }, { "o2ib", 0x00050000 }, { "lo", 0x00090000 },
		{ "gni", 0x000d0000 }, { "lo0", 0xffffffff },  { "bogus", 0xffffffff }, { "TCP", 0xffffffff },
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		CHECK_EQ(libcfs_str2net(rows[i].text), rows[i].net);
	CHECK_STR(libcfs_net2str(0x00020005), "tcp5");
	CHECK_STR(libcfs_net2str(0x00020000), "tcp");
	CHECK_STR(libcfs_net2str(LNET_MKNET(77, 3)), "<77:3>");
	CHECK_STR(libcfs_net2str(0xffffffff), "<65535:65535>");

	CHECK_STR(libcfs_lnd2str(SOCKLND), "tcp");
	CHECK_STR(libcfs_lnd2str(PTL4LND), "ptlf");
	CHECK_STR(libcfs_lnd2str(99), "?99?");
	CHECK_STR(libcfs_lnd2str(0x10002), "?65538?");
	CHECK_EQ(libcfs_str2lnd("o2ib"), O2IBLND);
	CHECK_EQ(libcfs_str2lnd("gip"), GNIIPLND);
	CHECK_EQ(libcfs_str2lnd("ptl4"), -1);
	CHECK_EQ(libcfs_isknown_lnd(LOLND), 1);
	CHECK_EQ(libcfs_isknown_lnd(3), 0);
	CHECK_STR(libcfs_lnd2modname(O2IBLND), "ko2iblnd");
	CHECK_STR(libcfs_lnd2modname(GNIIPLND), "kgnilnd");
	CHECK(libcfs_lnd2modname(99) == NULL);
}

static void process_ids(void)
{
	struct lnet_process_id id = { 0x000200000a000001, 12345 };

	CHECK_STR(libcfs_id2str(id), "12345-10.0.0.1@tcp");
	id.pid = LNET_PID_USERFLAG | 7;
	CHECK_STR(libcfs_id2str(id), "U7-10.0.0.1@tcp");
	CHECK_STR(libcfs_id2str(anybody()), "LNET_PID_ANY-<?>");
	/* The longest text is truncated, because programs copy it into LNET_NIDSTR_SIZE bytes. */
	id.pid = LNET_PID_USERFLAG | 0x7ffffffe;
	id.nid = 0x0002fffffffffffe;
	CHECK_STR(libcfs_id2str(id), "U2147483646-255.255.255.254@tcp");
	id.pid = LNET_PID_ANY;
	CHECK_EQ(strlen(libcfs_id2str(id)), LNET_NIDSTR_SIZE - 1);
	CHECK_STR(libcfs_id2str(id), "LNET_PID_ANY-255.255.255.254@tc");
}

static void short_buffers(void)
{
	char buf[8] = "xxxxxxx";

	CHECK(libcfs_nid2str_r(0x000200000a000001, buf, 5) == buf);
	CHECK_STR(buf, "10.0");
	CHECK_EQ(buf[5], 'x');
	libcfs_net2str_r(0x00020005, buf, 1);
	CHECK_STR(buf, "");
	buf[0] = 'y';
	libcfs_lnd2str_r(SOCKLND, buf, 0);
	CHECK_EQ(buf[0], 'y');
}

static void the_ring(void)
{
	char *first = libcfs_nid2str(0x000200000a000001);

	for (int i = 1; i < LNET_NIDSTR_COUNT; i++)
		CHECK(libcfs_next_nidstring() != first);
	CHECK_STR(first, "10.0.0.1@tcp");
	CHECK(libcfs_next_nidstring() == first);
}

static int parse(const char *text, struct list_head *list)
{
	return cfs_parse_nidlist((char *)text, (int)strlen(text), list);
}

static void nid_lists(void)
{
	static const struct {
		const char *text, *printed;
	} rows[] = {
		{ "10.0.0.[1-5]@tcp", "10.0.0.[1-5]@tcp" },
		{ "10.0.[0-1].[1-255/2]@o2ib 192.168.*.1@tcp", "10.0.[0-1].[1-255/2]@o2ib 192.168.[0-255].1@tcp" },
		{ "*@tcp", "*@tcp" },
		{ "[1-10]@gni", "[1-10]@gni" },
		{ "10.0.0.1@tcp 10.0.0.1@o2ib 10.0.0.2@tcp", "10.0.0.1@tcp 10.0.0.2@tcp 10.0.0.1@o2ib" },
	};
	static const char *const bad[] = { "10.0.0.1", "1@elan", "10.0.0.300@tcp", "", "10.0.0.1@tcp " };
	struct list_head list;
	char buf[128];

	for (size_t i = 0; i < LENGTH(rows); i++) {
		CHECK_EQ(parse(rows[i].text, &list), 1);
		CHECK(!list_empty(&list));
		CHECK_EQ(cfs_print_nidlist(buf, sizeof(buf), &list), strlen(rows[i].printed));
		CHECK_STR(buf, rows[i].printed);
		CHECK_EQ(cfs_print_nidlist(buf, 6, &list), 5);
		CHECK_EQ(strlen(buf), 5);
		CHECK_EQ(cfs_print_nidlist(buf, 0, &list), 0);
		CHECK_EQ(cfs_print_nidlist(buf, -1, &list), 0);
		cfs_free_nidlist(&list);
		CHECK(list_empty(&list));
	}
	for (size_t i = 0; i < LENGTH(bad); i++) {
		CHECK_EQ(parse(bad[i], &list), 0);
		CHECK(list_empty(&list));
		cfs_free_nidlist(&list);
	}
	/* Only the given number of characters is read. */
	CHECK_EQ(cfs_parse_nidlist((char *)"10.0.0.1@tcp12", 12, &list), 1);
	cfs_print_nidlist(buf, sizeof(buf), &list);
	CHECK_STR(buf, "10.0.0.1@tcp");
	cfs_free_nidlist(&list);
}

static void nid_matching(void)
{
	struct list_head list;

	CHECK_EQ(parse("10.0.0.[1-5]@tcp *@o2ib", &list), 1);
	CHECK_EQ(cfs_match_nid(libcfs_str2nid("10.0.0.5@tcp"), &list), 1);
	CHECK_EQ(cfs_match_nid(libcfs_str2nid("10.0.0.6@tcp"), &list), 0);
	CHECK_EQ(cfs_match_nid(libcfs_str2nid("10.0.0.5@tcp1"), &list), 0);
	CHECK_EQ(cfs_match_nid(libcfs_str2nid("1.2.3.4@o2ib"), &list), 1);
	CHECK_EQ(cfs_match_nid(LNET_NID_ANY, &list), 0);
	cfs_free_nidlist(&list);
}

static void nid_intervals(void)
{
	struct list_head list;
	char min[LNET_NIDSTR_SIZE], max[LNET_NIDSTR_SIZE];

	CHECK_EQ(parse("10.0.0.[1-5,6-9]@tcp", &list), 1);
	CHECK(cfs_nidrange_is_contiguous(&list));
	cfs_nidrange_find_min_max(&list, min, max, sizeof(min));
	CHECK_STR(min, "10.0.0.1@tcp");
	CHECK_STR(max, "10.0.0.9@tcp");
	cfs_free_nidlist(&list);

	CHECK_EQ(parse("10.0.0.[1-5]@tcp 10.0.0.6@tcp1", &list), 1);
	CHECK(!cfs_nidrange_is_contiguous(&list));
	cfs_nidrange_find_min_max(&list, min, max, sizeof(min));
	CHECK_STR(min, "");
	cfs_free_nidlist(&list);
}

static void expressions(void)
{
	static const struct {
		const char *text, *printed;
		int count;
	} rows[] = {
		{ "7", "7", 1 },
		{ "[1-5,8,10-20/5]", "[1-5,8,10-20/5]", 9 },
		{ "*", "[0-255]", 256 },
	};
	static const char *const bad[] = { "", "1-3", "[1", "256", "[3-300]", "x" };
	struct cfs_expr_list *list;
	char buf[64];

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct cfs_range_expr *range;
		__u32 *vals = NULL;
		__u32 count = 0;

		CHECK_EQ(cfs_expr_list_parse((char *)rows[i].text, (int)strlen(rows[i].text), 0, 255, &list), 0);
		CHECK_EQ(cfs_expr_list_print(buf, sizeof(buf), list), strlen(rows[i].printed));
		CHECK_STR(buf, rows[i].printed);
		CHECK_EQ(cfs_expr_list_values(list, rows[i].count, &vals), rows[i].count);
		CHECK_EQ(cfs_expr_list_match(vals[rows[i].count - 1], list), 1);
		CHECK_EQ(cfs_expr_list_match(300, list), 0);
		cfs_expr_list_values_free(vals, rows[i].count);
		CHECK_EQ(cfs_expr_list_values(list, rows[i].count - 1, &vals), -EINVAL);
		list_for_each_entry(range, &list->el_exprs, re_link)
			count += (range->re_hi - range->re_lo) / range->re_stride + 1;
		CHECK_EQ(count, rows[i].count);
		cfs_expr_list_free(list);
	}
	for (size_t i = 0; i < LENGTH(bad); i++)
		CHECK_EQ(cfs_expr_list_parse((char *)bad[i], (int)strlen(bad[i]), 0, 255, &list), -EINVAL);
}

static void ip_addresses(void)
{
	struct list_head list;

	INIT_LIST_HEAD(&list);
	CHECK_EQ(cfs_ip_addr_parse((char *)"10.0.[0-1].*", 12, &list), 0);
	CHECK_EQ(cfs_ip_addr_match(0x0a0001ff, &list), 1);
	CHECK_EQ(cfs_ip_addr_match(0x0a000201, &list), 0);
	cfs_expr_list_free_list(&list);
	CHECK(list_empty(&list));
	CHECK_EQ(cfs_ip_addr_match(0x0a0001ff, &list), 0);
	CHECK_EQ(cfs_ip_addr_parse((char *)"10.0.0", 6, &list), -EINVAL);
	CHECK_EQ(cfs_ip_addr_parse((char *)"10.0.0.256", 10, &list), -EINVAL);
}

static void strings(void)
{
	char text[] = " one, two ,three ";
	struct cfs_lstr next = { text, (int)strlen(text) }, token;
	static const char *const tokens[] = { "one", "two", "three" };
	char blanks[] = "  a b  ", words[] = "  first second";
	unsigned int num = 0;

	for (size_t i = 0; i < LENGTH(tokens); i++) {
		CHECK_EQ(cfs_gettok(&next, ',', &token), 1);
		CHECK_EQ(token.ls_len, strlen(tokens[i]));
		CHECK_EQ(memcmp(token.ls_str, tokens[i], strlen(tokens[i])), 0);
	}
	CHECK(next.ls_str == NULL);
	CHECK_EQ(cfs_gettok(&next, ',', &token), 0);

	CHECK_EQ(cfs_str2num_check((char *)"0x10 ", 5, &num, 0, 16), 1);
	CHECK_EQ(num, 16);
	CHECK_EQ(cfs_str2num_check((char *)"010", 3, &num, 0, 16), 1);
	CHECK_EQ(num, 8);
	CHECK_EQ(cfs_str2num_check((char *)"17", 2, &num, 0, 16), 0);
	CHECK_EQ(cfs_str2num_check((char *)"1x", 2, &num, 0, 16), 0);

	CHECK_STR(cfs_trimwhite(blanks), "a b");
	CHECK_STR(cfs_firststr(words, sizeof(words)), "first");
	CHECK_STR(cfs_strrstr("abcabc", "bc"), "bc");
	CHECK(cfs_strrstr("abc", "x") == NULL);
}

int main(void)
{
	nids();
	any_nid();
	nets_and_drivers();
	process_ids();
	short_buffers();
	the_ring();
	nid_lists();
	nid_matching();
	nid_intervals();
	expressions();
	ip_addresses();
	strings();
	return failures != 0;
}
