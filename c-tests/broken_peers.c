/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests that peers which disconnect at every point of a connection, and clients of the control socket which do so, do
 * not end a program that leaves SIGPIPE at its default. The node is stopped (SIGSTOP) while they come and go, so that
 * its next operation uses a socket whose other end is closed. */
#include "wire.h"
#include <lnet/lnetconfig/liblnetconfig.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/un.h>
#include <sys/wait.h>

#define PORTAL 20

static char node_ip[32], network[32];
static int port;
static pid_t node;
/*
 * The driver writes the addresses to which the node sends to the first pipe, and closes it to end the node. The node
 * writes to the second pipe.
 */
static int orders[2], done[2];

/* ---- the node ---- */

static void serve(void)
{
	struct lnet_handle_eq eq;
	struct lnet_event event;
	char ip[64], byte = 'x';

	signal(SIGPIPE, SIG_DFL);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &eq), 0);
	CHECK_EQ(write(done[1], &byte, 1), 1);
	/* Sends a PUT to each address, without waiting for its completion. */
	while (read(orders[0], ip, sizeof(ip)) == sizeof(ip)) {
		struct lnet_process_id peer = { nid_of(ip), LNET_PID_LUSTRE };
		struct lnet_handle_md md;

		while (LNetEQGet(eq, &event) == 1)
			;
		CHECK_EQ(LNetMDBind(make_md(&byte, 1, 1, 0, NULL, eq), LNET_UNLINK, &md), 0);
		CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, peer, PORTAL, 1, 0, 0), 0);
		CHECK_EQ(write(done[1], &byte, 1), 1);
	}
	CHECK_EQ(LNetNIFini(), 0);
	exit(failures != 0);
}

static void start_node(void)
{
	char byte;

	CHECK(pipe(orders) == 0 && pipe(done) == 0);
	node = fork();
	if (node == 0) {
		close(orders[1]);
		close(done[0]);
		serve();
	}
	close(orders[0]);
	close(done[1]);
	CHECK_EQ(read(done[0], &byte, 1), 1);
}

static void expect_alive(const char *what, int at)
{
	int status;

	if (waitpid(node, &status, WNOHANG) != 0) {
		fprintf(stderr, "%s, case %d: the node ended with status %#x\n", what, at, status);
		exit(1);
	}
}

static void stop(void)
{
	int status = -1;

	CHECK_EQ(kill(node, SIGSTOP), 0);
	CHECK_EQ(waitpid(node, &status, WUNTRACED), node);
	if (!WIFSTOPPED(status)) {
		fprintf(stderr, "the node ended with status %#x\n", status);
		exit(1);
	}
}

static void go_on(void)
{
	int status;

	CHECK_EQ(kill(node, SIGCONT), 0);
	CHECK_EQ(waitpid(node, &status, WCONTINUED), node);
}

/* ---- peers that connect ---- */

/* The number of bytes that a peer sends before it disconnects. */
static const size_t parts[] = {
	0, 3, sizeof(((struct opening *)0)->request), offsetof(struct opening, hello) + 8,
	sizeof(struct opening) - 1, sizeof(struct opening),
};

static int connect_from(const char *ip)
{
	struct sockaddr_in here = address_of(ip, 0), there = address_of(node_ip, port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK_EQ(bind(fd, (struct sockaddr *)&here, sizeof(here)), 0);
	CHECK_EQ(connect(fd, (struct sockaddr *)&there, sizeof(there)), 0);
	return fd;
}

/* The opening that the peer sends: a HELLO, a HELLO of an unknown version, or a request for another NID. */
static struct opening opening_of_kind(int kind, const char *ip)
{
	struct opening opening = opening_to(node_ip, ip);

	if (kind == 1)
		opening.hello.version = 99;
	if (kind == 2)
		opening.request.nid++;
	return opening;
}

static void peers_that_connect(void)
{
	char ip[64];
	int at = 0;

	for (int kind = 0; kind < 3; kind++)
		for (size_t part = 0; part < LENGTH(parts); part++)
			for (int end = 0; end < 3; end++, at++) {
				struct opening opening;
				int fd;

				snprintf(ip, sizeof(ip), "%s.%d", network, 10 + at);
				opening = opening_of_kind(kind, ip);
				stop();
				fd = connect_from(ip);
				CHECK_EQ(send(fd, &opening, parts[part], 0), parts[part]);
				/*
				 * The connection is closed, reset, or reset after the peer has shut down its sending
				 * half.
				 */
				if (end == 2)
					shutdown(fd, SHUT_WR);
				end_connection(fd, end != 0);
				go_on();
			}
	/* When the node replies to this connection it has handled all others. */
	snprintf(ip, sizeof(ip), "%s.%d", network, 10 + at);
	for (int answered = 0; !answered;) {
		struct opening opening = opening_to(node_ip, ip);
		int fd = connect_from(ip);
		char byte;

		CHECK_EQ(send(fd, &opening, sizeof(opening), 0), sizeof(opening));
		answered = recv(fd, &byte, 1, 0) == 1;
		close(fd);
	}
	expect_alive("peers that connect", at);
}

/* ---- peers that are connected to ---- */

static int listen_on(const char *ip)
{
	struct sockaddr_in here = address_of(ip, port);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	CHECK_EQ(bind(fd, (struct sockaddr *)&here, sizeof(here)), 0);
	CHECK_EQ(listen(fd, 16), 0);
	return fd;
}

static void order_put(const char *ip)
{
	char order[64] = "", byte;

	strcpy(order, ip);
	CHECK_EQ(write(orders[1], order, sizeof(order)), sizeof(order));
	CHECK_EQ(read(done[0], &byte, 1), 1);
}

static void receive(int fd, void *to, size_t len)
{
	CHECK_EQ(recv(fd, to, len, MSG_WAITALL), len);
}

/*
 * Tests peers to which the node connects: each sends `part` bytes of its reply and disconnects, while the node is
 * stopped.
 */
static void peers_that_are_connected_to(void)
{
	static const size_t answers[] = { 0, 3, 8, sizeof(struct hello) - 1, sizeof(struct hello) };
	char ip[64];
	int at = 0;

	for (size_t part = 0; part < LENGTH(answers); part++)
		for (int reset = 0; reset < 2; reset++, at++) {
			struct opening opening;
			struct hello answer;
			int listener, fd;

			snprintf(ip, sizeof(ip), "%s.%d", network, 100 + at);
			listener = listen_on(ip);
			order_put(ip);
			fd = accept(listener, NULL, NULL);
			CHECK(fd >= 0);
			receive(fd, &opening, sizeof(opening));
			answer = hello_to(node_ip, ip, opening.hello.type == 2 ? 3 : opening.hello.type == 3 ? 2 : 1);
			stop();
			CHECK_EQ(send(fd, &answer, answers[part], 0), answers[part]);
			end_connection(fd, reset);
			close(listener);
			go_on();
			/* No peer listens for what the node sends next. */
			order_put(ip);
			expect_alive("peers that are connected to", at);
		}
	/* Connections that are reset at once, and an address at which no peer listens. */
	for (int end = 0; end < 2; end++, at++) {
		int listener;

		snprintf(ip, sizeof(ip), "%s.%d", network, 100 + at);
		listener = end == 0 ? listen_on(ip) : -1;
		order_put(ip);
		if (listener >= 0)
			end_connection(accept(listener, NULL, NULL), 1);
		close(listener);
		order_put(ip);
		expect_alive("peers that reset", at);
	}
	/* A peer that stops and reads nothing. First it stops before its reply, until the node gives it up after
	 * SOCKLND_SOCK_TIMEOUT; then after its reply, until it is killed with unread messages. */
	for (int answers_first = 0; answers_first < 2; answers_first++, at++) {
		struct opening opening;
		int listener, fd;

		snprintf(ip, sizeof(ip), "%s.%d", network, 100 + at);
		listener = listen_on(ip);
		order_put(ip);
		fd = accept(listener, NULL, NULL);
		receive(fd, &opening, sizeof(opening));
		if (answers_first) {
			struct hello answer = hello_to(node_ip, ip, 1);

			CHECK_EQ(send(fd, &answer, sizeof(answer), 0), sizeof(answer));
			order_put(ip);
			receive(fd, &opening, 1);
			stop();
			end_connection(fd, 1);
			go_on();
		} else {
			CHECK_EQ(recv(fd, &opening, 1, 0), 0);
			close(fd);
		}
		close(listener);
		order_put(ip);
		expect_alive("a peer that stands still", at);
	}
}

/* ---- the control socket, in both directions ---- */

static struct sockaddr_un socket_named(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s.sock", getenv("LNET_RUNTIME_DIR"), name);
	return at;
}

static void clients_of_the_control_socket(void)
{
	static const char request[] = "{\"version\":1,\"request\":\"GetNode\"}";
	static const size_t lengths[] = { 0, 2, 4, 10, 4 + sizeof(request) - 1 };
	struct sockaddr_un at = socket_named("broken");
	__u32 length = sizeof(request) - 1;
	char bytes[sizeof(request) + 4];

	memcpy(bytes, &length, 4);
	memcpy(bytes + 4, request, sizeof(request) - 1);
	for (size_t i = 0; i < LENGTH(lengths); i++)
		for (int garbage = 0; garbage < 2; garbage++) {
			int fd = socket(AF_UNIX, SOCK_STREAM, 0);

			stop();
			bytes[4] = garbage ? '!' : '{';
			CHECK_EQ(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
			CHECK_EQ(send(fd, bytes, lengths[i], 0), lengths[i]);
			close(fd);
			go_on();
			expect_alive("clients of the control socket", (int)(2 * i) + garbage);
		}
}

/* Tests this program as the client of a node that closes the connection instead of replying. */
static void a_node_that_closes(void)
{
	struct sockaddr_un at = socket_named("closes");
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	pid_t child;
	int status;

	CHECK_EQ(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	CHECK_EQ(listen(listener, 16), 0);
	child = fork();
	if (child == 0) {
		struct cYAML *shown = NULL, *errors = NULL;

		signal(SIGPIPE, SIG_DFL);
		setenv("LNET_NODE", "closes", 1);
		CHECK(lustre_lnet_show_numa_range(-1, &shown, &errors) != 0);
		_exit(failures != 0);
	}
	for (;;) {
		struct pollfd waited[1] = { { .fd = listener, .events = POLLIN } };

		if (poll(waited, 1, 20) == 1)
			close(accept(listener, NULL, NULL));
		if (waitpid(child, &status, WNOHANG) == child)
			break;
	}
	CHECK_EQ(status, 0);
	close(listener);
}

int main(void)
{
	int status;

	signal(SIGPIPE, SIG_DFL);
	alarm(120);
	find_own_address(1);
	strcpy(node_ip, own_address);
	strcpy(network, own_address);
	*strrchr(network, '.') = '\0';
	port = atoi(getenv("LNET_ACCEPT_PORT"));
	setenv("LNET_NODE", "broken", 1);
	setenv("LNET_DISCOVERY", "0", 1);
	setenv("LNET_FIRST_PING", "0", 1);
	setenv("SOCKLND_SOCK_TIMEOUT", "2", 1);
	start_node();
	peers_that_connect();
	peers_that_are_connected_to();
	clients_of_the_control_socket();
	close(orders[1]);
	CHECK_EQ(waitpid(node, &status, 0), node);
	CHECK_EQ(status, 0);
	a_node_that_closes();
	return failures != 0;
}
