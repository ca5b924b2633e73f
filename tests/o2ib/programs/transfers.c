/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* PUTs bytes into the memory of another node, GETs them back, and compares every byte.
 *   transfers                  the other node: serves until it is killed
 *   transfers NID [ROUNDS]     all lengths, ROUNDS times (1); each line that it prints is a round. Ends with 1 if anything is wrong */
#include <lnet/api.h>
#include <lnet/lnet.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORTAL = 10, MATCH_BITS = 42, LARGEST = 1 << 20 };

/* Around the borders between messages with their payload, bounce buffers and registered memory. */
static const unsigned int lengths[] = {
	1, 8, 3975, 3976, 3977, 4096, 16383, 16384, 65536, 100001, LARGEST - 1, LARGEST,
};

static struct lnet_handle_eq eq;
static unsigned char there[LARGEST], back[LARGEST];

static void must(int result, const char *what)
{
	if (result < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(-result));
		exit(1);
	}
}

static struct lnet_md md_of(void *memory, unsigned int length, int threshold, unsigned int options)
{
	struct lnet_md md;

	memset(&md, 0, sizeof(md));
	md.start = memory;
	md.length = length;
	md.threshold = threshold;
	md.options = options;
	md.eq_handle = eq;
	return md;
}

/* Waits for the end of an operation; returns the length that the response has. */
static int end_of(enum lnet_event_kind response)
{
	struct lnet_event event;
	int length = -ETIMEDOUT;

	do {
		must(LNetEQWait(eq, &event), "LNetEQWait");
		if (event.status < 0)
			return event.status;
		if (event.type == response)
			length = (int)event.mlength;
	} while (!event.unlinked);
	return length;
}

static void serve(void)
{
	struct lnet_process_id anyone = { LNET_NID_ANY, LNET_PID_ANY };
	struct lnet_handle_md handle;
	struct lnet_handle_me me;
	struct lnet_event event;

	must(LNetMEAttach(PORTAL, anyone, MATCH_BITS, 0, LNET_RETAIN, LNET_INS_AFTER, &me), "LNetMEAttach");
	must(LNetMDAttach(me, md_of(there, LARGEST, LNET_MD_THRESH_INF,
				    LNET_MD_OP_PUT | LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE | LNET_MD_TRUNCATE),
			  LNET_RETAIN, &handle), "LNetMDAttach");
	puts("serving");
	for (;;)
		must(LNetEQWait(eq, &event), "LNetEQWait");
}

static int transfer(struct lnet_process_id target, unsigned int length, unsigned int seed)
{
	struct lnet_handle_md handle;
	unsigned int i;
	int result;

	for (i = 0; i < length; i++)
		there[i] = (unsigned char)(i * 31 + i / 251 + seed);
	memset(back, 0, length);
	must(LNetMDBind(md_of(there, length, 2, 0), LNET_UNLINK, &handle), "LNetMDBind");
	must(LNetPut(LNET_NID_ANY, handle, LNET_ACK_REQ, target, PORTAL, MATCH_BITS, 0, 0), "LNetPut");
	result = end_of(LNET_EVENT_ACK);
	if (result != (int)length) {
		printf("PUT of %u bytes: %d\n", length, result);
		return 1;
	}
	must(LNetMDBind(md_of(back, length, 2, 0), LNET_UNLINK, &handle), "LNetMDBind");
	must(LNetGet(LNET_NID_ANY, handle, target, PORTAL, MATCH_BITS, 0), "LNetGet");
	result = end_of(LNET_EVENT_REPLY);
	if (result != (int)length || memcmp(there, back, length) != 0) {
		printf("GET of %u bytes: %d, %s\n", length, result, memcmp(there, back, length) ? "wrong bytes" : "right bytes");
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 2 ? (unsigned int)atoi(argv[2]) : 1, round, i, failed = 0;
	struct lnet_process_id target;

	setvbuf(stdout, NULL, _IOLBF, 0);
	must(LNetNIInit(LNET_PID_LUSTRE), "LNetNIInit");
	must(LNetEQAlloc(1024, LNET_EQ_HANDLER_NONE, &eq), "LNetEQAlloc");
	if (argc < 2)
		serve();
	target.nid = libcfs_str2nid(argv[1]);
	target.pid = LNET_PID_LUSTRE;
	for (round = 1; round <= rounds; round++) {
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			failed += (unsigned int)transfer(target, lengths[i], round);
		printf("round %u: %u failed so far\n", round, failed);
		}
	LNetNIFini();
	return failed != 0;
}
