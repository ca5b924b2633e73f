/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests that the result of LNetPrimaryNID stays correct. PtlRPC calls it to find the name of a server of which it
 * knows some NID, sends requests to that name, and accepts replies from no other. The test does the same with a
 * server that has two rails and is named by its second NID. */
#include "check.h"
#include <arpa/inet.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUESTS 10
#define REPLIES 11
#define ROUNDS 3

static char client[32], rails[2][32], port[8];
static char memory[64], answer[64];
static struct lnet_handle_eq eq;

static lnet_nid_t nid_of(const char *address)
{
	char text[64];

	snprintf(text, sizeof(text), "%s@tcp", address);
	return libcfs_str2nid(text);
}

static void start_node(const char *addresses)
{
	char networks[128];

	snprintf(networks, sizeof(networks), "tcp(%s)", addresses);
	setenv("LNET_NETWORKS", networks, 1);
	setenv("LNET_ACCEPT", "all", 1);
	setenv("LNET_ACCEPT_PORT", port, 1);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
}

/* ---- the server: replies to each request, from the NID that received it to the NID that sent it ---- */

static void serve(int ready, int done)
{
	struct lnet_process_id anyone = anybody();
	struct lnet_handle_me me;
	struct lnet_handle_md md;
	struct lnet_event event;
	char addresses[80], byte = 'r';
	int which;

	snprintf(addresses, sizeof(addresses), "%s,%s", rails[0], rails[1]);
	start_node(addresses);
	CHECK_EQ(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &eq), 0);
	CHECK_EQ(LNetMEAttach(REQUESTS, anyone, 0, ~0ULL, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
	CHECK_EQ(LNetMDAttach(me, make_md(memory, sizeof(memory), LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE,
					  NULL, eq), LNET_UNLINK, &md), 0);
	CHECK_EQ(write(ready, &byte, 1), 1);
	for (int left = ROUNDS; left > 0;) {
		CHECK_EQ(LNetEQPoll(&eq, 1, -1, &event, &which), 1);
		if (event.type != LNET_EVENT_PUT)
			continue;
		left--;
		CHECK_EQ(LNetMDBind(make_md(answer, sizeof(answer), 1, 0, NULL, eq), LNET_UNLINK, &md), 0);
		CHECK_EQ(LNetPut(event.target.nid, md, LNET_NOACK_REQ, event.source, REPLIES, event.match_bits, 0, 0), 0);
	}
	CHECK_EQ(read(done, &byte, 1), 1);
	CHECK_EQ(LNetNIFini(), 0);
}

/* ---- the client ---- */

static void rpc(struct lnet_process_id server, __u64 xid)
{
	struct lnet_handle_me me;
	struct lnet_handle_md reply, request;
	struct record replies, requests;

	record_init(&replies);
	record_init(&requests);
	CHECK_EQ(LNetMEAttach(REPLIES, server, xid, 0, LNET_UNLINK, LNET_INS_AFTER, &me), 0);
	CHECK_EQ(LNetMDAttach(me, make_md(answer, sizeof(answer), 1, LNET_MD_OP_PUT, &replies, eq), LNET_UNLINK, &reply), 0);
	CHECK_EQ(LNetMDBind(make_md(memory, sizeof(memory), 1, 0, &requests, eq), LNET_UNLINK, &request), 0);
	CHECK_EQ(LNetPut(LNET_NID_ANY, request, LNET_NOACK_REQ, server, REQUESTS, xid, 0, 0), 0);
	/* The alarm ends the wait for a lost reply. */
	record_wait(&replies, 1);
	CHECK_STR(record_kinds(&replies), "P.");
	CHECK_EQ(replies.events[0].initiator.nid, server.nid);
}

static void ask_the_server(const char *lock)
{
	struct lnet_process_id server = { 0, LNET_PID_LUSTRE };

	setenv("LNET_LOCK_PRIM_NID", lock, 1);
	start_node(client);
	CHECK_EQ(LNetEQAlloc(0, record_event, &eq), 0);
	server.nid = LNetPrimaryNID(nid_of(rails[1]));
	CHECK_EQ(server.nid, nid_of(rails[*lock == '1']));
	for (int round = 0; round < ROUNDS; round++) {
		rpc(server, 100 + round);
		CHECK_EQ(LNetPrimaryNID(nid_of(rails[1])), server.nid);
		CHECK_EQ(LNetPrimaryNID(nid_of(rails[0])), server.nid);
	}
	CHECK_EQ(LNetNIFini(), 0);
}

/* Tests one setting with a new server, which does not know the client yet. */
static void with_setting(const char *lock)
{
	int ready[2], done[2], status = -1;
	char byte = 'd';
	pid_t child;

	if (pipe(ready) != 0 || pipe(done) != 0)
		exit(1);
	child = fork();
	if (child == 0) {
		alarm(100);
		close(ready[0]);
		close(done[1]);
		serve(ready[1], done[0]);
		_exit(failures != 0);
	}
	close(ready[1]);
	close(done[0]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	ask_the_server(lock);
	CHECK_EQ(write(done[1], &byte, 1), 1);
	waitpid(child, &status, 0);
	CHECK_EQ(status, 0);
	close(ready[0]);
	close(done[1]);
}

/* Finds addresses and a port, free on all of them, that simultaneous runs of this program do not use. */
static int find_addresses(void)
{
	char *all[3] = { client, rails[0], rails[1] };

	for (int i = 0; i < 3; i++)
		snprintf(all[i], 32, "127.%d.%d.%d", 1 + getpid() / 250 % 250, 1 + getpid() % 250, 41 + i);
	for (int tries = 0; tries < 50; tries++) {
		struct sockaddr_in at = { .sin_family = AF_INET };
		socklen_t len = sizeof(at);
		int sockets[3], ok = 1;

		for (int i = 0; i < 3; i++) {
			sockets[i] = socket(AF_INET, SOCK_STREAM, 0);
			inet_pton(AF_INET, all[i], &at.sin_addr);
			ok = ok && bind(sockets[i], (struct sockaddr *)&at, sizeof(at)) == 0 &&
			     getsockname(sockets[i], (struct sockaddr *)&at, &len) == 0;
		}
		for (int i = 0; i < 3; i++)
			close(sockets[i]);
		snprintf(port, sizeof(port), "%d", ntohs(at.sin_port));
		if (ok)
			return 1;
	}
	return 0;
}

int main(void)
{
	/* A test that hangs fails. */
	alarm(100);
	CHECK(find_addresses());
	with_setting("1");
	with_setting("0");
	return failures != 0;
}
