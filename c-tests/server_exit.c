/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tests a server that ends while a client has GETs in flight: each of them ends. The server is killed, or shuts its
 * node down.
 */
#include "own_address.h"
#include <signal.h>
#include <sys/wait.h>

#define PORTAL 20
#define BITS 100
#define LENGTH_OF_GET (1 << 20)
#define IN_FLIGHT 8
/* The number of GETs after which the server ends. */
#define BEFORE_THE_END 100

enum end { KILLED, SHUT_DOWN };

static char memory[LENGTH_OF_GET], copies[IN_FLIGHT][LENGTH_OF_GET];

/* ---- the server ---- */

static void ignore_event(struct lnet_event *event)
{
	(void)event;
}

static void serve(int ready, int done)
{
	struct lnet_handle_eq eq;
	struct lnet_handle_md md;
	char byte = 'r';

	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, ignore_event, &eq), 0);
	CHECK_EQ(LNetMDAttach(attach_me(PORTAL, BITS, LNET_RETAIN),
			      make_md(memory, sizeof(memory), LNET_MD_THRESH_INF,
				      LNET_MD_OP_GET | LNET_MD_MANAGE_REMOTE, NULL, eq), LNET_RETAIN, &md), 0);
	CHECK_EQ(write(ready, &byte, 1), 1);
	CHECK_EQ(read(done, &byte, 1), 1);
	CHECK_EQ(LNetNIFini(), 0);
}

/* ---- the client ---- */

/* The state of one of the GETs, under `lock`. */
struct operation {
	int ended, failed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct operation operations[IN_FLIGHT];

static void note_event(struct lnet_event *event)
{
	struct operation *operation = event->md.user_ptr;

	pthread_mutex_lock(&lock);
	operation->failed |= event->status != 0;
	operation->ended |= event->unlinked;
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&lock);
}

static void begin_get(struct lnet_process_id server, int at, struct lnet_handle_eq eq)
{
	struct lnet_handle_md md;
	struct lnet_md get = make_md(copies[at], sizeof(copies[at]), 2, 0, NULL, eq);

	get.user_ptr = &operations[at];
	operations[at] = (struct operation){ 0, 0 };
	CHECK_EQ(LNetMDBind(get, LNET_UNLINK, &md), 0);
	CHECK_EQ(LNetGet(LNET_NID_ANY, md, server, PORTAL, BITS, 0), 0);
}

static int wait_for_end(int at)
{
	int failed;

	pthread_mutex_lock(&lock);
	while (!operations[at].ended)
		pthread_cond_wait(&more, &lock);
	failed = operations[at].failed;
	pthread_mutex_unlock(&lock);
	return failed;
}

/* Runs GETs, IN_FLIGHT at the same time, until one fails, and waits for the end of all. */
static void get_until_one_fails(struct lnet_process_id server, enum end end, pid_t child, int done)
{
	struct lnet_handle_eq eq;
	int failed = 0, at;

	CHECK_EQ(LNetEQAlloc(0, note_event, &eq), 0);
	for (at = 0; at < IN_FLIGHT; at++)
		begin_get(server, at, eq);
	for (int count = 0; !failed; count++) {
		at = count % IN_FLIGHT;
		failed = wait_for_end(at);
		begin_get(server, at, eq);
		if (count == BEFORE_THE_END && end == KILLED)
			CHECK_EQ(kill(child, SIGKILL), 0);
		if (count == BEFORE_THE_END && end == SHUT_DOWN)
			CHECK_EQ(write(done, "d", 1), 1);
	}
	for (at = 0; at < IN_FLIGHT; at++)
		wait_for_end(at);
	CHECK_EQ(LNetEQFree(eq), 0);
}

static void run(enum end end)
{
	struct lnet_process_id server = { 0, LNET_PID_LUSTRE };
	char text[64], byte;
	int ready[2], done[2], status;
	pid_t child;

	find_own_address(2 + 2 * end);
	CHECK(pipe(ready) == 0 && pipe(done) == 0);
	child = fork();
	if (child == 0) {
		close(ready[0]);
		close(done[1]);
		serve(ready[1], done[0]);
		exit(failures != 0);
	}
	close(ready[1]);
	close(done[0]);
	snprintf(text, sizeof(text), "%s@tcp", own_address);
	server.nid = libcfs_str2nid(text);
	*strrchr(own_address, '.') = '\0';
	snprintf(text, sizeof(text), "tcp(%s.%d)", own_address, 1 + 2 * end);
	setenv("LNET_NETWORKS", text, 1);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	get_until_one_fails(server, end, child, done[1]);
	CHECK_EQ(LNetNIFini(), 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(end == KILLED ? WIFSIGNALED(status) : status == 0);
	close(ready[0]);
	close(done[1]);
}

int main(void)
{
	/* The client waits for the rest of a REPLY twice as long as for other operations on the network, because the
	 * server may send it again. */
	setenv("SOCKLND_SOCK_TIMEOUT", "1", 1);
	alarm(60);
	/* A node that has taken a GET tells so before its program gives the data, and goes on without the program: the client
	 * finds out by the time. */
	if (attached())
		setenv("LNET_TRANSACTION_TIMEOUT", "3", 1);
	run(KILLED);
	run(SHUT_DOWN);
	return failures != 0;
}
