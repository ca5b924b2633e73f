/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The calls and the memory of the tests of api_later.h, for the API of 2.15 or 2.17. */
#ifndef API_LATER_CALLS_H
#define API_LATER_CALLS_H

#include "check.h"
#include <libcfs/linux_compat.h>

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

#endif
