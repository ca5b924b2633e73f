/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tests that a child of fork, which has none of the threads of liblnet_selftest, gets an error from a stop instead of
 * waiting, and may start its own test node.
 */
#include "check.h"
#include <lnet/selftest.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int status;
	pid_t child;

	setenv("LNET_NODE", "a", 1);
	CHECK_EQ(lnet_selftest_start(), 0);
	child = fork();
	if (child == 0) {
		alarm(60);
		CHECK_EQ(lnet_selftest_stop(), -ENETDOWN);
		setenv("LNET_NODE", "b", 1);
		CHECK_EQ(lnet_selftest_start(), 0);
		CHECK_EQ(lnet_selftest_stop(), 0);
		_exit(failures != 0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(lnet_selftest_stop(), 0);
	return failures != 0;
}
