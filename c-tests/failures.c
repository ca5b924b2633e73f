/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests how operations end that fail: with which errno, and with which last event of their MD. */
#include "own_address.h"

#define PORTAL 20
#define BITS 7
#define LARGEST (1 << 20)

static char memory[LARGEST + 1];
static struct lnet_handle_eq eq;
static struct record record;

static struct lnet_handle_md bind_md(unsigned int length, int threshold, enum lnet_unlink unlink)
{
	struct lnet_handle_md md;

	record_init(&record);
	CHECK_EQ(LNetMDBind(make_md(memory, length, threshold, 0, &record, eq), unlink, &md), 0);
	return md;
}

/* Starts a PUT with ACK, or a GET. */
static void ask(int get, lnet_nid_t self, struct lnet_handle_md md, struct lnet_process_id to)
{
	CHECK_EQ(get ? LNetGet(self, md, to, PORTAL, BITS, 0) : LNetPut(self, md, LNET_ACK_REQ, to, PORTAL, BITS, 0, 0), 0);
}

static struct lnet_process_id process(const char *nid)
{
	struct lnet_process_id id = { libcfs_str2nid(nid), LNET_PID_LUSTRE };

	return id;
}

/* Tests that the UNLINK event reports a reply that does not arrive. */
static void the_answer_does_not_come(void)
{
	struct lnet_handle_md md;

	for (int get = 0; get < 2; get++) {
		md = bind_md(8, 2, LNET_UNLINK);
		ask(get, LNET_NID_ANY, md, loopback());
		record_wait(&record, 2);
		CHECK_STR(record_kinds(&record), "SU!.");
		CHECK_EQ(record.events[1].status, -ETIMEDOUT);
		CHECK_EQ(LNetMDUnlink(md), -ENOENT);
		/* If the program unlinks the MD before the timeout, the UNLINK event has no error. */
		md = bind_md(8, 2, LNET_UNLINK);
		ask(get, LNET_NID_ANY, md, loopback());
		CHECK_EQ(LNetMDUnlink(md), 0);
		CHECK_STR(record_kinds(&record), "SU.");
		CHECK_EQ(record.events[1].status, 0);
	}
}

/* Tests that a request that was not sent also consumes the part of the threshold that its reply would have consumed. */
static void the_request_does_not_leave(void)
{
	struct lnet_process_id unreachable = process("10.0.0.1@tcp77");
	struct lnet_handle_md md;

	for (int get = 0; get < 2; get++) {
		md = bind_md(8, 2, LNET_UNLINK);
		ask(get, LNET_NID_ANY, md, unreachable);
		CHECK_STR(record_kinds(&record), "S!.");
		CHECK_EQ(record.events[0].status, -EHOSTUNREACH);
		CHECK_EQ(record.events[0].md.threshold, 1);
		CHECK_EQ(LNetMDUnlink(md), -ENOENT);
		CHECK_EQ(record.count, 1);

		md = bind_md(8, 2, LNET_RETAIN);
		ask(get, LNET_NID_ANY, md, unreachable);
		CHECK_STR(record_kinds(&record), "S!");
		CHECK_EQ(LNetGet(LNET_NID_ANY, md, unreachable, PORTAL, BITS, 0), -ENOENT);
		CHECK_EQ(LNetMDUnlink(md), 0);
		CHECK_STR(record_kinds(&record), "S!U.");
		CHECK_EQ(record.events[1].status, 0);
		CHECK_EQ(record.events[1].md.threshold, 0);

		/* The rest of the threshold stays usable. */
		md = bind_md(8, 3, LNET_UNLINK);
		ask(get, LNET_NID_ANY, md, unreachable);
		CHECK_STR(record_kinds(&record), "S!");
		CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, unreachable, PORTAL, BITS, 0, 0), 0);
		CHECK_STR(record_kinds(&record), "S!S!.");

		md = bind_md(8, 1, LNET_UNLINK);
		ask(get, LNET_NID_ANY, md, unreachable);
		CHECK_STR(record_kinds(&record), "S!.");

		md = bind_md(8, LNET_MD_THRESH_INF, LNET_UNLINK);
		ask(get, LNET_NID_ANY, md, unreachable);
		CHECK_STR(record_kinds(&record), "S!");
		CHECK_EQ(LNetMDUnlink(md), 0);
		CHECK_STR(record_kinds(&record), "S!U.");
	}
}

/* Tests messages and replies that are longer than 1 MiB. */
static void too_long(void)
{
	struct lnet_handle_md md;

	for (int get = 0; get < 2; get++) {
		md = bind_md(LARGEST + 1, 2, LNET_UNLINK);
		ask(get, LNET_NID_ANY, md, loopback());
		CHECK_STR(record_kinds(&record), "S!.");
		CHECK_EQ(record.events[0].status, -EMSGSIZE);
		md = bind_md(LARGEST, 2, LNET_UNLINK);
		ask(get, LNET_NID_ANY, md, loopback());
		CHECK_STR(record_kinds(&record), "S");
		CHECK_EQ(LNetMDUnlink(md), 0);
	}
}

/*
 * Tests operations to a peer that refuses connections, known or unknown, and operations from a NID that this node
 * does not have.
 */
static void refused(void)
{
	struct lnet_process_id nobody;
	struct lnet_handle_md md;
	char text[64];

	snprintf(text, sizeof(text), "%.*s.99@tcp", (int)(strrchr(own_address, '.') - own_address), own_address);
	nobody = process(text);
	for (int round = 0; round < 2; round++) {
		for (int get = 0; get < 2; get++) {
			md = bind_md(8, 2, LNET_UNLINK);
			ask(get, libcfs_str2nid("9.9.9.9@tcp"), md, nobody);
			CHECK_STR(record_kinds(&record), "S!.");
			CHECK_EQ(record.events[0].status, -EINVAL);
			CHECK_EQ(LNetMDUnlink(md), -ENOENT);
			/* 0@lo means 0@lo with every source. */
			md = bind_md(8, 2, LNET_UNLINK);
			ask(get, libcfs_str2nid("9.9.9.9@tcp"), md, loopback());
			CHECK_STR(record_kinds(&record), "S");
			CHECK_EQ(LNetMDUnlink(md), 0);

			md = bind_md(8, 2, LNET_UNLINK);
			ask(get, LNET_NID_ANY, md, nobody);
			record_wait(&record, 1);
			CHECK_STR(record_kinds(&record), "S!.");
			CHECK_EQ(record.events[0].status, -EHOSTUNREACH);
		}
	}
}

int main(void)
{
	/* A test that hangs fails. */
	alarm(300);
	find_own_address(31);
	setenv("LNET_RETRY_COUNT", "0", 1);
	setenv("LNET_TRANSACTION_TIMEOUT", "2", 1);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, record_event, &eq), 0);
	the_request_does_not_leave();
	too_long();
	refused();
	the_answer_does_not_come();
	CHECK_EQ(LNetEQFree(eq), 0);
	CHECK_EQ(LNetNIFini(), 0);
	return failures != 0;
}
