/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LNet selftest on the LNet node of a program: it takes part in tests as consoles (lst) ask for, of ours and of the kernel's.
 * Link with -llnet_selftest -llnet.
 *
 * Any console that reaches the node may use it, so this is for trusted networks.
 */
#ifndef LNET_SELFTEST_H
#define LNET_SELFTEST_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Starts LNet, or takes a reference if it is up, and a test node on it; or takes another reference on the test node.
 *
 * The environment says how it works, by the names of the kernel module's parameters: LNET_SELFTEST_SESSION_TIMEOUT and
 * LNET_SELFTEST_RPC_TIMEOUT in seconds (0: never), LNET_SELFTEST_BRW_SRV_WORKITEMS and LNET_SELFTEST_PING_SRV_WORKITEMS. It has
 * threads of its own. It uses the portals 50, 51 and 52, which are then not the program's.
 *
 * Returns 0, or a negative errno: -EINVAL for an environment that cannot be read (the log says what is wrong), -ENOMEM, or what
 * LNetNIInit returns. Any thread, but not in an event handler.
 */
int lnet_selftest_start(void);

/**
 * Gives a reference back. The last one ends the test node: its session, the tests that run in it, and the reference on LNet. Waits
 * until all that is done.
 *
 * Returns 0, or -ENETDOWN if there is no reference. Any thread, but not in an event handler.
 */
int lnet_selftest_stop(void);

#ifdef __cplusplus
}
#endif

#endif
