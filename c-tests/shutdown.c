/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MDs are unlinked and the node is ended while messages are under way, in the states that a program can bring about:
 * every operation ends once, every unlinked MD has one last event, and the node leaves no thread and no descriptor.
 * docs/shutdown-and-unlink.md has all states. */
#define _GNU_SOURCE
#include "node_process.h"
#include <arpa/inet.h>
#include <sys/wait.h>

#define PORTAL 20
#define LAZY 21
#define BITS 7
#define NOWHERE 8
#define LARGE (1 << 20)
#define MANY 8

static char memory[LARGE];
static struct lnet_handle_eq eq;

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void start_node(const char *address, const char *port)
{
	char networks[64];

	snprintf(networks, sizeof(networks), "tcp(%s)", address);
	setenv("LNET_NETWORKS", networks, 1);
	setenv("LNET_ACCEPT", "all", 1);
	setenv("LNET_ACCEPT_PORT", port, 1);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, record_event, &eq), 0);
}

static struct lnet_process_id node(const char *address)
{
	char text[64];
	struct lnet_process_id id = { 0, LNET_PID_LUSTRE };

	snprintf(text, sizeof(text), "%s@tcp", address);
	id.nid = libcfs_str2nid(text);
	return id;
}

static struct lnet_handle_md bind_md(struct record *r, unsigned int length)
{
	struct lnet_handle_md md;

	record_init(r);
	CHECK_EQ(LNetMDBind(make_md(memory, length, LNET_MD_THRESH_INF, 0, r, eq), LNET_RETAIN, &md), 0);
	return md;
}

static void put(struct lnet_handle_md md, struct lnet_process_id to, unsigned int portal, enum lnet_ack_req ack)
{
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, ack, to, portal, BITS, 0, 0), 0);
}

/*
 * Stops the node, and checks that its threads and descriptors have ended. A thread that has been joined may be
 * visible for a moment longer.
 */
static void stop_node(int descriptors)
{
	CHECK_EQ(LNetNIFini(), 0);
	while (entries("/proc/self/task") > 3)
		usleep(1000);
	CHECK_EQ(entries("/proc/self/fd"), descriptors);
}

/* Checks the events of a message that had not left when its node ended. */
static void check_ended(struct record *r, const char *kinds)
{
	/* LNetNIFini does not report what becomes of these messages yet if the node goes on. */
	if (attached())
		return;
	CHECK_STR(record_kinds(r), kinds);
	if (strchr(kinds, '!'))
		CHECK_EQ(r->events[0].status, -ESHUTDOWN);
}

/* ---- waiting until it is known who the peer is ---- */

static void at_the_gate(const char *client, const char *deaf, const char *port)
{
	int descriptors = entries("/proc/self/fd");
	struct record unlinked, left;
	struct lnet_handle_md md;

	start_node(client, port);
	md = bind_md(&unlinked, 8);
	put(md, node(deaf), PORTAL, LNET_NOACK_REQ);
	put(bind_md(&left, 8), node(deaf), PORTAL, LNET_NOACK_REQ);
	CHECK_EQ(LNetMDUnlink(md), 0);
	CHECK_STR(record_kinds(&unlinked), "S!.");
	CHECK_EQ(unlinked.events[0].status, -ECANCELED);
	CHECK_EQ(LNetMDUnlink(md), -ENOENT);
	CHECK_STR(record_kinds(&left), "");
	stop_node(descriptors);
	check_ended(&left, "S!");
	CHECK_EQ(unlinked.count, 1);
}

/* ---- held at a lazy portal of this node ---- */

static void held_over_the_loopback(const char *client, const char *port)
{
	int descriptors = entries("/proc/self/fd");
	struct record unlinked, cleared, left;
	struct lnet_handle_md md;

	start_node(client, port);
	CHECK_EQ(LNetSetLazyPortal(LAZY), 0);
	md = bind_md(&unlinked, 8);
	put(md, loopback(), LAZY, LNET_NOACK_REQ);
	put(bind_md(&cleared, 8), loopback(), LAZY, LNET_ACK_REQ);
	CHECK_EQ(LNetMDUnlink(md), 0);
	CHECK_EQ(unlinked.count, 0);
	CHECK_EQ(LNetClearLazyPortal(LAZY), 0);
	CHECK_STR(record_kinds(&unlinked), "S.");
	CHECK_STR(record_kinds(&cleared), "S");
	CHECK_EQ(LNetSetLazyPortal(LAZY), 0);
	put(bind_md(&left, 8), loopback(), LAZY, LNET_NOACK_REQ);
	CHECK_EQ(left.count, 0);
	stop_node(descriptors);
	check_ended(&left, "S");
	CHECK_EQ(cleared.count, 1);
}

/* ---- under way to another node, and from it ---- */

static void serve(const char *address, const char *port, int ready, int done)
{
	int descriptors = entries("/proc/self/fd");
	struct lnet_handle_me me;
	struct lnet_handle_md md;
	struct record puts;
	char byte = 'r';

	start_node(address, port);
	record_init(&puts);
	me = attach_me(PORTAL, BITS, LNET_RETAIN);
	CHECK_EQ(LNetMDAttach(me, make_md(memory, LARGE, LNET_MD_THRESH_INF, LNET_MD_OP_PUT | LNET_MD_MANAGE_REMOTE,
					  &puts, eq), LNET_RETAIN, &md), 0);
	CHECK_EQ(LNetSetLazyPortal(LAZY), 0);
	CHECK_EQ(write(ready, &byte, 1), 1);
	/*
	 * Waits until the client has ended, because the node may still wait for the rest of a message that the client
	 * has sent in part.
	 */
	CHECK_EQ(read(done, &byte, 1), 1);
	stop_node(descriptors);
	CHECK(puts.count >= 1 && puts.count <= 1 + MANY);
}

static void to_a_stopped_node(const char *client, const char *server, const char *port, pid_t child)
{
	int descriptors = entries("/proc/self/fd");
	static struct record first, acked, got, sent[MANY];
	struct lnet_handle_md md, mds[MANY];
	pid_t server_node;

	start_node(client, port);
	/* A PUT and its ACK connect the nodes in both directions. */
	put(bind_md(&first, 8), node(server), PORTAL, LNET_ACK_REQ);
	record_wait(&first, 2);

	/* These operations get no reply: the PUT waits at a lazy portal of the server, and no ME matches the GET. */
	md = bind_md(&acked, 8);
	put(md, node(server), LAZY, LNET_ACK_REQ);
	record_wait(&acked, 1);
	CHECK_EQ(LNetMDUnlink(md), 0);
	CHECK_STR(record_kinds(&acked), "SU.");
	md = bind_md(&got, 8);
	CHECK_EQ(LNetGet(LNET_NID_ANY, md, node(server), PORTAL, NOWHERE, 0), 0);
	record_wait(&got, 1);
	CHECK_EQ(LNetMDUnlink(md), 0);
	CHECK_STR(record_kinds(&got), "SU.");

	server_node = node_process(child);
	stop_node_process(server_node);
	for (int i = 0; i < MANY; i++) {
		mds[i] = bind_md(&sent[i], LARGE);
		put(mds[i], node(server), PORTAL, LNET_NOACK_REQ);
	}
	for (int i = 0; i < MANY; i += 2)
		CHECK_EQ(LNetMDUnlink(mds[i]), 0);
	stop_node(descriptors);
	for (int i = 0; i < MANY; i++)
		check_ended(&sent[i], i % 2 ? "S!" : "S!.");
	kill(server_node, SIGCONT);
}

/*
 * Returns a port that is free on all addresses. On the last address `deaf` becomes a socket that accepts connections
 * but never sends anything.
 */
static int free_port(char addresses[][32], int count, int *deaf)
{
	for (int tries = 0; tries < 50; tries++) {
		struct sockaddr_in at = { .sin_family = AF_INET };
		socklen_t len = sizeof(at);
		int sockets[8], ok = 1;

		for (int i = 0; i < count; i++) {
			sockets[i] = socket(AF_INET, SOCK_STREAM, 0);
			inet_pton(AF_INET, addresses[i], &at.sin_addr);
			ok = ok && bind(sockets[i], (struct sockaddr *)&at, sizeof(at)) == 0 &&
			     getsockname(sockets[i], (struct sockaddr *)&at, &len) == 0;
		}
		for (int i = 0; i < count - 1; i++)
			close(sockets[i]);
		*deaf = sockets[count - 1];
		if (ok && listen(*deaf, 8) == 0)
			return ntohs(at.sin_port);
		close(*deaf);
	}
	return 0;
}

int main(void)
{
	char addresses[3][32], port[8], byte = 'd';
	char *client = addresses[0], *server = addresses[1], *deaf = addresses[2];
	int ready[2], done[2], listener, status = -1;
	pid_t child;

	/* Simultaneous runs of this program use different addresses. */
	for (int i = 0; i < 3; i++)
		snprintf(addresses[i], sizeof(addresses[i]), "127.%d.%d.%d", 1 + getpid() / 250 % 250,
			 1 + getpid() % 250, 11 + i);
	snprintf(port, sizeof(port), "%d", free_port(addresses, 3, &listener));
	if (pipe(ready) != 0 || pipe(done) != 0)
		return 1;

	/* A test that hangs fails. */
	child = fork();
	alarm(300);
	if (child == 0) {
		close(ready[0]);
		close(done[1]);
		serve(server, port, ready[1], done[0]);
		return failures != 0;
	}
	close(ready[1]);
	close(done[0]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	/* Resources that are kept once for the whole process exist after the first round. */
	held_over_the_loopback(client, port);
	for (int round = 0; round < 2; round++) {
		at_the_gate(client, deaf, port);
		held_over_the_loopback(client, port);
	}
	to_a_stopped_node(client, server, port, child);
	CHECK_EQ(write(done[1], &byte, 1), 1);
	waitpid(child, &status, 0);
	CHECK_EQ(status, 0);
	return failures != 0;
}
