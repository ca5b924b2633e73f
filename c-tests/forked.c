/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests a program that forked and was killed: its child, which has its sockets, is not treated as a node. */
#include "check.h"
#include <lnet/lnetconfig/liblnetconfig.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts a node named "a" and ends its process without stopping the node, while a child of that process continues
 * until the other end of the pipe is closed. */
static void die_with_a_child(int wait_on, int leave)
{
	char byte;

	if (LNetNIInit(LNET_PID_LUSTRE) != 0)
		_exit(1);
	if (fork() == 0) {
		close(leave);
		if (read(wait_on, &byte, 1) != 0)
			_exit(1);
	}
	_exit(0);
}

/* Asks the node named "a" for a reply, and returns the result. */
static int ask(void)
{
	struct cYAML *shown = NULL, *errors = NULL;
	int rc = lustre_lnet_show_numa_range(-1, &shown, &errors);

	cYAML_free_tree(shown);
	cYAML_free_tree(errors);
	return rc;
}

static struct lnet_handle_eq eq;
static struct lnet_handle_md md;

#define CALLS 22

static int call_number(int call)
{
	struct libcfs_ioctl_hdr counters = { .ioc_len = sizeof(counters) };
	struct lnet_process_id id;
	struct lnet_handle_eq other;
	struct lnet_handle_me me = { 1 };
	struct lnet_event event;
	lnet_nid_t source = loopback().nid;
	__u32 order;
	int which;

	switch (call) {
	case 0:
		return LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, loopback(), 20, 1, 0, 0);
	case 1:
		return LNetGet(LNET_NID_ANY, md, loopback(), 20, 1, 0);
	case 2:
		return LNetEQPoll(&eq, 1, -1, &event, &which);
	case 3:
		return LNetEQWait(eq, &event);
	case 4:
		return LNetMDUnlink(md);
	case 5:
		return LNetGetId(0, &id);
	case 6:
		return LNetEQAlloc(1, LNET_EQ_HANDLER_NONE, &other);
	case 7:
		return LNetNIFini();
	case 8:
		return LNetNIInit(LNET_PID_ANY);
	case 9:
		return LNetMEAttach(20, anybody(), 1, 0, LNET_UNLINK, LNET_INS_AFTER, &me);
	case 10:
		return LNetMEInsert(me, anybody(), 1, 0, LNET_UNLINK, LNET_INS_AFTER, &me);
	case 11:
		return LNetMEUnlink(me);
	case 12:
		return LNetMDAttach(me, make_md(&which, 1, 1, LNET_MD_OP_PUT, NULL, eq), LNET_UNLINK, &md);
	case 13:
		return LNetMDBind(make_md(&which, 1, 1, 0, NULL, eq), LNET_UNLINK, &md);
	case 14:
		return LNetEQGet(eq, &event);
	case 15:
		return LNetEQFree(eq);
	case 16:
		return LNetSetLazyPortal(20);
	case 17:
		return LNetClearLazyPortal(20);
	case 18:
		return LNetDist(loopback().nid, &source, &order);
	case 19:
		return LNetAddPeer(&source, 1);
	case 20:
		return LNetCtl(IOC_LIBCFS_GET_LNET_STATS, &counters);
	default:
		/* The handler of `exit` calls LNetNIFini, as a program may do. */
		return -ENETDOWN;
	}
}

static void take_down(void)
{
	if (LNetNIFini() != -ENETDOWN)
		_exit(1);
}

/* Tests a child process that inherits the node of this process, for example in a handler of atexit. */
static void inherit(void)
{
	int status, which;
	pid_t child;
	char byte = 0;
	struct lnet_event event;

	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(8, LNET_EQ_HANDLER_NONE, &eq), 0);
	CHECK_EQ(LNetMDBind(make_md(&byte, 1, 1, 0, NULL, eq), LNET_UNLINK, &md), 0);
	/* Tests each call as the first one of the child. */
	for (int call = 0; call < CALLS; call++) {
		child = fork();
		if (child == 0) {
			alarm(60);
			CHECK_EQ(call_number(call), -ENETDOWN);
			if (call == CALLS - 1) {
				atexit(take_down);
				exit(0);
			}
			_exit(failures != 0);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
	/* The child may start its own node. The child of that child has no node either. */
	child = fork();
	if (child == 0) {
		setenv("LNET_NODE", "b", 1);
		CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
		CHECK_EQ(LNetEQPoll(&eq, 1, 0, &event, &which), -ENOENT);
		child = fork();
		if (child == 0) {
			CHECK_EQ(call_number(0), -ENETDOWN);
			_exit(failures != 0);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
		CHECK_EQ(LNetNIFini(), 0);
		_exit(failures != 0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(LNetMDUnlink(md), 0);
	CHECK_EQ(ask(), 0);
	CHECK_EQ(LNetNIFini(), 0);
}

int main(int argc, char **argv)
{
	int ends[2], status;
	pid_t node;

	setenv("LNET_NODE", "a", 1);
	if (argc > 1)
		return ask() != 0;
	if (pipe(ends) != 0)
		return 1;
	node = fork();
	if (node == 0)
		die_with_a_child(ends[0], ends[1]);
	CHECK_EQ(waitpid(node, &status, 0), node);
	CHECK_EQ(status, 0);

	/* The daemon ends soon after its program. */
	while (attached() && ask() != -ENETDOWN)
		;
	/* There is no node, and no call waits for its answer. */
	CHECK_EQ(ask(), -ENETDOWN);
	/* The name of the node is free. */
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	node = fork();
	if (node == 0) {
		execl(argv[0], argv[0], "ask", NULL);
		_exit(1);
	}
	CHECK_EQ(waitpid(node, &status, 0), node);
	CHECK_EQ(status, 0);
	CHECK_EQ(LNetNIFini(), 0);
	close(ends[1]);
	inherit();
	return failures != 0;
}
