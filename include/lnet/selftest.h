/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LNet selftest on the LNet node of a program: the node takes part in tests that consoles (lst) start, those of this
 * project and those of the kernel. Link with -llnet_selftest -llnet.
 *
 * Any console that reaches the node may use it, so this is for trusted networks.
 */
#ifndef LNET_SELFTEST_H
#define LNET_SELFTEST_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Starts LNet and a test node on it. If LNet is already up, takes a reference on it; if the test node is already up,
 * takes a reference on the test node.
 *
 * The environment configures the test node, with the names of the kernel module's parameters:
 * LNET_SELFTEST_SESSION_TIMEOUT and LNET_SELFTEST_RPC_TIMEOUT in seconds (0: never), LNET_SELFTEST_BRW_SRV_WORKITEMS
 * and LNET_SELFTEST_PING_SRV_WORKITEMS. The test node has its own threads. It uses the portals 50, 51 and 52, which
 * the program must not use then.
 *
 * Returns 0 or a negative errno: -EINVAL for an environment that cannot be read (the log names the error), -ENOMEM,
 * or the result of LNetNIInit. May be called from any thread, but not in an event handler.
 */
int lnet_selftest_start(void);

/**
 * Drops a reference. Without references the test node ends: its session, the tests that run in it, and the reference
 * on LNet. This function waits for that.
 *
 * Returns 0, or -ENETDOWN if there is no reference. May be called from any thread, but not in an event handler.
 */
int lnet_selftest_stop(void);

#ifdef __cplusplus
}
#endif

#endif
