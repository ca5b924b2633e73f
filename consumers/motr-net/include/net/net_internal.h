/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Declarations for transports and their tests. */
#ifndef M0_NET_NET_INTERNAL_H
#define M0_NET_NET_INTERNAL_H

#include <net/net.h>

/** Held while domains are initialised and finalised. */
extern struct m0_mutex m0_net_mutex;

#endif
