/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests two nodes in two processes, over TCP between two addresses of the loopback range: every size of PUT and GET,
 * with and without fragments. Needs no privilege. */
#include "check.h"
#include <arpa/inet.h>
#include <libcfs/util/ioctl.h>
#include <lnet/lib-dlc.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORTAL 20
#define PUT_BITS 100
#define GET_BITS 200
#define LARGEST (1 << 20)
#define PAGES (LARGEST / 4096)

static const unsigned int sizes[] = { 0, 1, 4096, 4097, 65536, LARGEST };
#define SIZES ((int)LENGTH(sizes))

static char ours[LARGEST], theirs[LARGEST + 64];
static char pages[PAGES][4096] __attribute__((aligned(4096)));
static struct lnet_handle_eq eq;

static void fill(char *mem, unsigned int len, int seed)
{
	for (unsigned int i = 0; i < len; i++)
		mem[i] = (char)(i * 31 + i / 251 + seed);
}

/* len bytes of mem as a few fragments of odd lengths. */
static unsigned int fragments(struct iovec *vec, char *mem, unsigned int len)
{
	unsigned int used = 0, at = 0, step = 1;

	while (at < len) {
		unsigned int part = len - at < step ? len - at : step;

		vec[used].iov_base = mem + at;
		vec[used++].iov_len = part;
		at += part;
		step = step * 3 + 1;
	}
	return used;
}

/* len bytes as whole pages, the last cut short. */
static unsigned int page_fragments(lnet_kiov_t *kiov, unsigned int len)
{
	unsigned int used = 0;

	for (unsigned int at = 0; at < len; at += 4096, used++) {
		kiov[used].kiov_page = (struct page *)pages[used];
		kiov[used].kiov_offset = 0;
		kiov[used].kiov_len = len - at < 4096 ? len - at : 4096;
	}
	return used;
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

/* ---- the server ---- */

static char *taken[LENGTH(sizes)], *given[LENGTH(sizes)];

static void serve(const char *address, const char *port, struct lnet_process_id client, int ready, int done)
{
	struct record puts, gets;
	char byte = 'r';

	start_node(address, port);
	record_init(&puts);
	record_init(&gets);
	for (int i = 0; i < SIZES; i++) {
		struct iovec vec[32];
		struct lnet_handle_me me;
		struct lnet_handle_md md;
		unsigned int n;

		taken[i] = calloc(1, sizes[i] + 1);
		given[i] = malloc(sizes[i] + 1);
		fill(given[i], sizes[i], 50 + i);
		n = fragments(vec, taken[i], sizes[i]);
		me = attach_me(PORTAL, PUT_BITS + i, LNET_UNLINK);
		CHECK_EQ(LNetMDAttach(me, make_md(vec, n, 1, LNET_MD_OP_PUT | LNET_MD_IOVEC, &puts, eq), LNET_UNLINK, &md), 0);
		me = attach_me(PORTAL, GET_BITS + i, LNET_UNLINK);
		CHECK_EQ(LNetMDAttach(me, make_md(given[i], sizes[i], 1, LNET_MD_OP_GET, &gets, eq), LNET_UNLINK, &md), 0);
	}
	CHECK_EQ(write(ready, &byte, 1), 1);
	record_wait(&puts, SIZES);
	record_wait(&gets, SIZES);
	for (int i = 0; i < SIZES; i++) {
		struct lnet_event *e = &puts.events[i];

		fill(ours, sizes[i], i);
		CHECK_EQ(memcmp(taken[i], ours, sizes[i]), 0);
		CHECK_EQ(taken[i][sizes[i]], 0);
		CHECK_EQ(e->type, LNET_EVENT_PUT);
		CHECK_EQ(e->mlength, sizes[i]);
		CHECK_EQ(e->hdr_data, i + 7);
		CHECK_EQ(e->unlinked, 1);
		CHECK_EQ(e->initiator.nid, client.nid);
		CHECK_EQ(e->source.nid, client.nid);
		CHECK_EQ(e->sender, client.nid);
		CHECK_EQ(e->target.nid, node(address).nid);
		CHECK_EQ(gets.events[i].type, LNET_EVENT_GET);
		CHECK_EQ(gets.events[i].mlength, sizes[i]);
	}
	/* The node stays up until the other side has all replies. */
	CHECK_EQ(read(done, &byte, 1), 1);
	CHECK_EQ(LNetEQFree(eq), 0);
	CHECK_EQ(LNetNIFini(), 0);
	for (int i = 0; i < SIZES; i++) {
		free(taken[i]);
		free(given[i]);
	}
}

/* ---- the client ---- */

static void distances(struct lnet_process_id self, struct lnet_process_id server)
{
	struct lnet_process_id id;
	lnet_nid_t source;
	__u32 order;

	CHECK_EQ(LNetGetId(1, &id), 0);
	CHECK_EQ(id.nid, self.nid);
	CHECK_EQ(LNetGetId(2, &id), -ENOENT);
	CHECK_EQ(LNetDist(self.nid, &source, &order), 0);
	CHECK_EQ(source, self.nid);
	CHECK_EQ(order, 1);
	CHECK_EQ(LNetDist(server.nid, &source, &order), 1);
	CHECK_EQ(source, self.nid);
	CHECK(order >= 2);
	CHECK_EQ(LNetPrimaryNID(server.nid), server.nid);
}

static void ping(struct lnet_process_id server)
{
	struct libcfs_ioctl_data data;
	struct lnet_ioctl_ping_data peer;
	struct lnet_process_id ids[4];

	LIBCFS_IOC_INIT(data);
	data.ioc_nid = server.nid;
	data.ioc_u32[0] = LNET_PID_LUSTRE;
	data.ioc_u32[1] = 10000;
	data.ioc_plen1 = sizeof(ids);
	data.ioc_pbuf1 = ids;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_PING, &data), 0);
	CHECK_EQ(data.ioc_count, 2);
	CHECK_EQ(ids[0].nid, loopback().nid);
	CHECK_EQ(ids[1].nid, server.nid);
	CHECK_EQ(ids[1].pid, LNET_PID_LUSTRE);

	LIBCFS_IOC_INIT_V2(peer, ping_hdr);
	peer.op_param = 10000;
	peer.ping_count = LENGTH(ids);
	peer.ping_id = server;
	peer.ping_buf = ids;
	memset(ids, 0, sizeof(ids));
	CHECK_EQ(LNetCtl(IOC_LIBCFS_PING_PEER, &peer), 0);
	CHECK_EQ(peer.ping_count, 2);
	CHECK_EQ(ids[1].nid, server.nid);
}

/* The server is found by its known NID; no node has the other NID. */
static void discover(struct lnet_process_id server)
{
	lnet_nid_t nobody[] = { loopback().nid, node("127.0.9.9").nid };
	struct lnet_process_id ids[4];
	struct lnet_ioctl_ping_data peer;
	int result;

	LIBCFS_IOC_INIT_V2(peer, ping_hdr);
	peer.op_param = 1;
	peer.ping_count = LENGTH(ids);
	peer.ping_id = server;
	peer.ping_buf = ids;
	memset(ids, 0, sizeof(ids));
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DISCOVER, &peer), 0);
	CHECK_EQ(peer.ping_count, 1);
	CHECK_EQ(peer.mr_info, 1);
	CHECK_EQ(peer.ping_id.nid, server.nid);
	CHECK_EQ(ids[0].nid, server.nid);
	CHECK_EQ(ids[0].pid, LNET_PID_LUSTRE);
	CHECK_EQ(LNetGetPeerDiscoveryStatus(), 1);
	/* The server also sends its own description. While discovery processes it, the result is -EALREADY. */
	do
		result = LNetPeerDiscovered(server.nid);
	while (result == -EALREADY);
	CHECK_EQ(result, 1);
	LNetDebugPeer(server);

	CHECK_EQ(LNetPeerDiscovered(nobody[1]), -EHOSTUNREACH);
	CHECK_EQ(LNetAddPeer(nobody, LENGTH(nobody)), 0);
	CHECK_EQ(LNetPrimaryNID(nobody[1]), nobody[1]);
	peer.ping_count = LENGTH(ids);
	peer.ping_id.nid = nobody[1];
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DISCOVER, &peer), -ECONNREFUSED);
	CHECK_EQ(LNetPeerDiscovered(nobody[1]), -EHOSTUNREACH);
	/* After this result discovery is tried again. */
	while ((result = LNetPeerDiscovered(nobody[1])) != -EHOSTUNREACH)
		CHECK(result == -EAGAIN || result == -EALREADY);
	peer.ping_count = 0;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DISCOVER, &peer), -EINVAL);
	peer.ping_count = 1;
	peer.ping_buf = NULL;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DISCOVER, &peer), -EFAULT);
}

static void put_with_ack(struct lnet_process_id server, int i)
{
	struct iovec vec[32];
	struct lnet_handle_md md;
	struct record r;
	int ack;

	record_init(&r);
	fill(ours, sizes[i], i);
	CHECK_EQ(LNetMDBind(make_md(vec, fragments(vec, ours, sizes[i]), 2, LNET_MD_IOVEC, &r, eq), LNET_UNLINK, &md), 0);
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_ACK_REQ, server, PORTAL, PUT_BITS + i, 0, i + 7), 0);
	record_wait(&r, 2);
	ack = r.events[0].type == LNET_EVENT_ACK ? 0 : 1;
	CHECK_EQ(r.events[ack].type, LNET_EVENT_ACK);
	CHECK_EQ(r.events[ack].mlength, sizes[i]);
	CHECK_EQ(r.events[ack].initiator.nid, server.nid);
	CHECK_EQ(r.events[1 - ack].type, LNET_EVENT_SEND);
	for (int n = 0; n < 2; n++) {
		CHECK_EQ(r.events[n].status, 0);
		CHECK_EQ(r.events[n].unlinked, n);
	}
	CHECK_EQ(LNetMDUnlink(md), -ENOENT);
}

static void get_with_reply(struct lnet_process_id self, struct lnet_process_id server, int i)
{
	lnet_kiov_t kiov[PAGES];
	struct lnet_handle_md md;
	struct record r;
	int reply;

	record_init(&r);
	memset(pages, 0, sizeof(pages));
	CHECK_EQ(LNetMDBind(make_md(kiov, page_fragments(kiov, sizes[i]), 2, LNET_MD_KIOV, &r, eq), LNET_UNLINK, &md), 0);
	/* The GET names the local interface, like the replies of servers. */
	CHECK_EQ(LNetGet(self.nid, md, server, PORTAL, GET_BITS + i, 0), 0);
	record_wait(&r, 2);
	reply = r.events[0].type == LNET_EVENT_REPLY ? 0 : 1;
	CHECK_EQ(r.events[reply].type, LNET_EVENT_REPLY);
	CHECK_EQ(r.events[reply].mlength, sizes[i]);
	CHECK_EQ(r.events[1].unlinked, 1);
	fill(theirs, sizes[i], 50 + i);
	CHECK_EQ(memcmp(pages, theirs, sizes[i]), 0);
	if (sizes[i] < sizeof(pages))
		CHECK_EQ(((char *)pages)[sizes[i]], 0);
}

/* Tests operations to the node's own NID, by TCP or not: the events contain the real NID. Motr depends on that. */
static void to_myself(struct lnet_process_id self)
{
	struct lnet_handle_me me = attach_me(PORTAL, 1, LNET_UNLINK);
	struct lnet_handle_md at, md;
	struct record from, to;

	record_init(&from);
	record_init(&to);
	fill(ours, 100, 3);
	CHECK_EQ(LNetMDAttach(me, make_md(theirs, 100, 1, LNET_MD_OP_PUT, &to, eq), LNET_UNLINK, &at), 0);
	CHECK_EQ(LNetMDBind(make_md(ours, 100, 1, 0, &from, eq), LNET_UNLINK, &md), 0);
	CHECK_EQ(LNetPut(self.nid, md, LNET_NOACK_REQ, self, PORTAL, 1, 0, 0), 0);
	record_wait(&to, 1);
	record_wait(&from, 1);
	CHECK_STR(record_kinds(&to), "P.");
	CHECK_STR(record_kinds(&from), "S.");
	CHECK_EQ(to.events[0].source.nid, self.nid);
	CHECK_EQ(to.events[0].target.nid, self.nid);
	CHECK_EQ(memcmp(ours, theirs, 100), 0);
}

/* Tests that the SEND event reports an address at which no node listens. */
static void to_nobody(struct lnet_process_id nobody)
{
	struct lnet_handle_md md;
	struct record r;

	record_init(&r);
	CHECK_EQ(LNetMDBind(make_md(ours, 100, 1, 0, &r, eq), LNET_UNLINK, &md), 0);
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, nobody, PORTAL, 1, 0, 0), 0);
	record_wait(&r, 1);
	CHECK_STR(record_kinds(&r), "S!.");
	CHECK_EQ(r.events[0].status, -EHOSTUNREACH);
}

/* A port that is free on both addresses. */
static int free_port(const char *a, const char *b)
{
	for (int tries = 0; tries < 50; tries++) {
		struct sockaddr_in at = { .sin_family = AF_INET };
		socklen_t len = sizeof(at);
		int one = socket(AF_INET, SOCK_STREAM, 0), two = socket(AF_INET, SOCK_STREAM, 0), ok, port;

		inet_pton(AF_INET, a, &at.sin_addr);
		ok = bind(one, (struct sockaddr *)&at, sizeof(at)) == 0 &&
		     getsockname(one, (struct sockaddr *)&at, &len) == 0;
		port = ntohs(at.sin_port);
		inet_pton(AF_INET, b, &at.sin_addr);
		ok = ok && bind(two, (struct sockaddr *)&at, sizeof(at)) == 0;
		close(one);
		close(two);
		if (ok)
			return port;
	}
	return 0;
}

int main(void)
{
	char client[32], server[32], nobody[32], port[8], byte = 'd';
	int ready[2], done[2], status = -1;
	pid_t child;

	/* Simultaneous runs of this program use different addresses. */
	snprintf(client, sizeof(client), "127.%d.%d.1", 1 + getpid() / 250 % 250, 1 + getpid() % 250);
	snprintf(server, sizeof(server), "127.%d.%d.2", 1 + getpid() / 250 % 250, 1 + getpid() % 250);
	snprintf(nobody, sizeof(nobody), "127.%d.%d.3", 1 + getpid() / 250 % 250, 1 + getpid() % 250);
	snprintf(port, sizeof(port), "%d", free_port(client, server));
	if (pipe(ready) != 0 || pipe(done) != 0)
		return 1;

	/* A test that hangs fails. */
	child = fork();
	alarm(300);
	if (child == 0) {
		close(ready[0]);
		close(done[1]);
		serve(server, port, node(client), ready[1], done[0]);
		return failures != 0;
	}
	close(ready[1]);
	close(done[0]);
	start_node(client, port);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	distances(node(client), node(server));
	if (failures)
		return 1;
	ping(node(server));
	discover(node(server));
	for (int i = 0; i < SIZES; i++) {
		put_with_ack(node(server), i);
		get_with_reply(node(client), node(server), i);
	}
	to_myself(node(client));
	to_nobody(node(nobody));
	CHECK_EQ(write(done[1], &byte, 1), 1);
	CHECK_EQ(LNetEQFree(eq), 0);
	CHECK_EQ(LNetNIFini(), 0);
	waitpid(child, &status, 0);
	CHECK_EQ(status, 0);
	return failures != 0;
}
