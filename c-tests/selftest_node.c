/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tests the behaviour that <lnet/selftest.h> documents, with a test node in a C program. The program asks it for its
 * session over 0@lo, with LNet alone.
 */
#include "check.h"
#include <lnet/selftest.h>

#define MESSAGE 160
#define REPLY_BITS 0x1234567890ULL

static struct record events;

static void put_u32(unsigned char *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (unsigned char)(value >> 8 * i);
}

/* Asks for the session. Returns the status of the reply. */
static uint32_t ask_for_session(lnet_handle_eq_t eq)
{
	static unsigned char request[MESSAGE], reply[MESSAGE];
	lnet_process_id_t any = { LNET_NID_ANY, LNET_PID_ANY }, self;
	lnet_handle_me_t me;
	lnet_handle_md_t in, out;
	lnet_md_t md = { .length = MESSAGE, .threshold = 1, .user_ptr = &events, .eq_handle = eq };
	int before = events.count;

	CHECK_EQ(LNetGetId(0, &self), 0);
	CHECK_EQ(LNetMEAttach(52, any, REPLY_BITS, 0, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
	md.start = reply;
	md.options = LNET_MD_OP_PUT;
	CHECK_EQ(LNetMDAttach(me, md, LNET_UNLINK, &in), 0);

	put_u32(request, 0xeeb0f00d);
	put_u32(request + 4, 1);
	put_u32(request + 8, 10);
	put_u32(request + 20, 1);
	for (int i = 0; i < 8; i++)
		request[24 + i] = (unsigned char)(REPLY_BITS >> 8 * i);
	md.start = request;
	md.options = 0;
	CHECK_EQ(LNetMDBind(md, LNET_UNLINK, &out), 0);
	CHECK_EQ(LNetPut(LNET_NID_ANY, out, LNET_NOACK_REQ, self, 51, 0, 0, 0), 0);
	record_wait(&events, before + 2);
	CHECK_EQ(reply[0], 0x0d);
	CHECK_EQ(reply[8], 11);
	return reply[24];
}

int main(void)
{
	lnet_handle_eq_t eq;

	record_init(&events);
	CHECK_EQ(lnet_selftest_stop(), -ENETDOWN);

	setenv("LNET_SELFTEST_SESSION_TIMEOUT", "for ever", 1);
	CHECK_EQ(lnet_selftest_start(), -EINVAL);
	setenv("LNET_SELFTEST_SESSION_TIMEOUT", "30", 1);

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(lnet_selftest_start(), 0);
		CHECK_EQ(lnet_selftest_start(), 0);
		/* The test node has its own reference. */
		CHECK_EQ(LNetNIInit(LNET_PID_ANY), 1);
		CHECK_EQ(LNetEQAlloc(0, record_event, &eq), 0);
		CHECK_EQ(ask_for_session(eq), ESRCH);
		CHECK_EQ(lnet_selftest_stop(), 0);
		CHECK_EQ(ask_for_session(eq), ESRCH);
		CHECK_EQ(LNetEQFree(eq), 0);
		CHECK_EQ(LNetNIFini(), 0);
		CHECK_EQ(lnet_selftest_stop(), 0);
		CHECK_EQ(lnet_selftest_stop(), -ENETDOWN);
		CHECK_EQ(LNetNIInit(LNET_PID_ANY), -ENETDOWN);
	}
	return failures != 0;
}
