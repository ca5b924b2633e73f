/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests that files written for the API of 2.10, 2.15 and 2.17 work in one program, on one node: messages and handles of each are
 * those of the others. This file is the side of 2.10, and is linked with those of the others. */
#include "both_apis.h"
#include "check.h"

static struct lnet_handle_eq eq;

static void count(struct lnet_event *event)
{
	side_2_10.errors += event->status != 0;
	switch (event->type) {
	case LNET_EVENT_PUT:
		side_2_10.puts++;
		side_2_10.moved = event->mlength;
		break;
	case LNET_EVENT_ACK:
		side_2_10.acks++;
		side_2_10.moved = event->mlength;
		break;
	case LNET_EVENT_SEND:
		side_2_10.sends++;
		break;
	case LNET_EVENT_UNLINK:
		side_2_10.unlinks++;
		break;
	default:
		side_2_10.errors++;
	}
}

static void attach(unsigned long bits, void *memory, unsigned int length)
{
	struct lnet_handle_me me = attach_me(SHARED_PORTAL, bits, LNET_UNLINK);
	struct lnet_handle_md md;

	CHECK_EQ(LNetMDAttach(me, make_md(memory, length, 1, LNET_MD_OP_PUT, NULL, eq), LNET_UNLINK, &md), 0);
}

static struct lnet_handle_md bound(void *memory, unsigned int length, int threshold)
{
	struct lnet_handle_md md = { 0 };

	CHECK_EQ(LNetMDBind(make_md(memory, length, threshold, 0, NULL, eq), LNET_UNLINK, &md), 0);
	return md;
}

static int put(unsigned long bits, void *memory, unsigned int length)
{
	return LNetPut(LNET_NID_ANY, bound(memory, length, 2), LNET_ACK_REQ, loopback(), SHARED_PORTAL, bits, 0, 0);
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

struct side side_2_10 = { .release = "2.10", .attach = attach, .put = put, .bind = bind_it, .unlink = unlink_it };

static struct side *const sides[] = { &side_2_10, &side_2_15, &side_2_17 };

/* Each side sends to each, itself among them. On the loopback all events come before the call returns. */
static void each_side_sends_to_each(void)
{
	char out[100], in[100];

	for (size_t i = 0; i < LENGTH(sides); i++) {
		for (size_t j = 0; j < LENGTH(sides); j++) {
			struct side *from = sides[i], *to = sides[j];
			unsigned long bits = 10 * i + j + 1;
			unsigned int length = 50 + (unsigned int)bits;
			int puts = to->puts, acks = from->acks, sends = from->sends;

			memset(out, (int)bits, sizeof(out));
			memset(in, 0, sizeof(in));
			to->moved = from->moved = 0;
			to->attach(bits, in, sizeof(in));
			CHECK_EQ(from->put(bits, out, length), 0);
			CHECK_EQ(to->puts, puts + 1);
			CHECK_EQ(from->acks, acks + 1);
			CHECK_EQ(from->sends, sends + 1);
			CHECK_EQ(to->moved, length);
			CHECK_EQ(from->moved, length);
			CHECK_EQ(memcmp(in, out, length), 0);
			CHECK_EQ(in[length], 0);
			if (failures != 0)
				fprintf(stderr, "from %s to %s\n", from->release, to->release);
		}
	}
}

/* A handle is one of the node, whoever made it; its UNLINK event goes to the handler of its maker. */
static void each_side_unlinks_what_another_bound(void)
{
	char memory[8];

	for (size_t i = 0; i < LENGTH(sides); i++) {
		for (size_t j = 0; j < LENGTH(sides); j++) {
			int unlinks = sides[i]->unlinks;
			unsigned long cookie = sides[i]->bind(memory, sizeof(memory));

			CHECK_EQ(sides[j]->unlink(cookie), 0);
			CHECK_EQ(sides[i]->unlinks, unlinks + 1);
			CHECK_EQ(sides[j]->unlink(cookie), -ENOENT);
		}
	}
}

int main(void)
{
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, count, &eq), 0);
	each_side_sends_to_each();
	each_side_unlinks_what_another_bound();
	for (size_t i = 0; i < LENGTH(sides); i++)
		CHECK_EQ(sides[i]->errors, 0);
	CHECK_EQ(LNetEQFree(eq), 0);
	CHECK_EQ(LNetNIFini(), 0);
	return failures != 0;
}
