/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tests that a child of fork, which has none of the threads of libptlrpc, gets an error from every call instead of
 * waiting, and may start its own client.
 */
#include "check.h"
#include <ptlrpc/ptlrpc.h>
#include <sys/wait.h>
#include <unistd.h>

static void at_exit(void)
{
	if (ptlrpc_fini() != -ENETDOWN)
		_exit(1);
}

int main(void)
{
	int status;
	pid_t child;

	setenv("LNET_NODE", "a", 1);
	CHECK_EQ(ptlrpc_init(NULL), 0);
	for (int by_exit = 0; by_exit < 2; by_exit++) {
		child = fork();
		if (child == 0) {
			alarm(60);
			if (by_exit) {
				atexit(at_exit);
				exit(0);
			}
			CHECK_EQ(class_add_uuid("server", loopback().nid), -ENETDOWN);
			CHECK_EQ(ptlrpc_fini(), -ENETDOWN);
			setenv("LNET_NODE", "b", 1);
			CHECK_EQ(ptlrpc_init(NULL), 0);
			CHECK_EQ(class_add_uuid("server", loopback().nid), 0);
			CHECK_EQ(ptlrpc_fini(), 0);
			_exit(failures != 0);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
	CHECK_EQ(class_add_uuid("server", loopback().nid), 0);
	CHECK_EQ(ptlrpc_fini(), 0);
	return failures != 0;
}
