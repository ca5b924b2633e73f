/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The body of one side of both_apis.c, for the API of 2.15 or 2.17. SIDE is the variable that it defines. */
#include "both_apis.h"
#include "check.h"

static void count(struct lnet_event *event)
{
	SIDE.errors += event->status != 0;
	switch (event->type) {
	case LNET_EVENT_PUT:
		SIDE.puts++;
		SIDE.moved = event->mlength;
		break;
	case LNET_EVENT_ACK:
		SIDE.acks++;
		SIDE.moved = event->mlength;
		break;
	case LNET_EVENT_SEND:
		SIDE.sends++;
		break;
	case LNET_EVENT_UNLINK:
		SIDE.unlinks++;
		break;
	default:
		SIDE.errors++;
	}
}

static void attach(unsigned long bits, void *memory, unsigned int length)
{
	struct lnet_me *me = attach_me(SHARED_PORTAL, bits, LNET_UNLINK);
	struct lnet_md md = make_md(memory, length, 1, LNET_MD_OP_PUT, NULL, count);
	struct lnet_handle_md at;

	CHECK_EQ(LNetMDAttach(me, &md, LNET_UNLINK, &at), 0);
	if (failures != 0)
		abort();
}

static struct lnet_handle_md bound(void *memory, unsigned int length, int threshold)
{
	struct lnet_md md = make_md(memory, length, threshold, 0, NULL, count);
	struct lnet_handle_md at = { 0 };

	CHECK_EQ(LNetMDBind(&md, LNET_UNLINK, &at), 0);
	if (failures != 0)
		abort();
	return at;
}

static int put(unsigned long bits, void *memory, unsigned int length)
{
	struct lnet_processid id = loopback();
	struct lnet_handle_md md = bound(memory, length, 2);

#if LNET_API >= 0x21100
	return LNetPut(NULL, md, LNET_ACK_REQ, &id, SHARED_PORTAL, bits, 0, 0);
#else
	return LNetPut(LNET_NID_ANY, md, LNET_ACK_REQ, lnet_pid_to_pid4(&id), SHARED_PORTAL, bits, 0, 0);
#endif
}

static unsigned long bind_it(void *memory, unsigned int length)
{
	return bound(memory, length, 1).cookie;
}

static int unlink_it(unsigned long cookie)
{
	struct lnet_handle_md md = { cookie };

	return LNetMDUnlink(md);
}
