/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The LNet transport. Addresses are NID:PID:PORTAL:TMID, such as 192.168.96.128@tcp1:12345:32:7. The PID is 12345; portals 30
 * to 61 are free of what Lustre uses; a TMID is at most 4095, or * for one that is free, from 4095 downwards. */
#ifndef M0_NET_LNET_LNET_H
#define M0_NET_LNET_LNET_H

#include <net/net.h>

enum {
	/** The PID of every address. */
	M0_NET_LNET_PID = 12345,
	/** Room for an address, with the NUL that ends it. */
	M0_NET_LNET_XEP_ADDR_LEN = 80,
	/** Motr's; here nothing is reported by itself. */
	M0_NET_LNET_TM_STAT_INTERVAL_SECS = 300,
};

/** The transport, under both of its names. */
extern const struct m0_net_xprt m0_net_lnet_xprt;
extern struct m0_net_xprt m0_lnet_xprt;

/** Registers the transport and takes it off: m0_init and m0_fini do that. Returns 0. */
int m0_net_lnet_init(void);
void m0_net_lnet_fini(void);

/** Compares the NIDs of two addresses, that is the text before the first ':'. 0: the same; below or above 0: the order; -1: an
 * address without ':'. */
int m0_net_lnet_ep_addr_net_cmp(const char *addr1, const char *addr2);

/** Stores in *addrs an array of the NIDs of this node, which NULL ends; give it back with m0_net_lnet_ifaces_put. Returns 0 or
 * a negative errno. */
int m0_net_lnet_ifaces_get(struct m0_net_domain *dom, char ***addrs);
/** Frees the array, and sets *addrs to NULL. */
void m0_net_lnet_ifaces_put(struct m0_net_domain *dom, char ***addrs);

/** How much a domain uses, or may use; as a limit 0 is as much as there is. */
struct m0_net_lnet_limits {
	/** Transfer machines that are started. */
	uint32_t ll_tms;
	/** Registered buffers. */
	uint32_t ll_buffers;
	/** Events for which room is kept: of a queued buffer one, of one for messages nb_max_receive_msgs, at most 4096. */
	uint32_t ll_events;
};

/** Limits what a domain may use from now on: m0_net_tm_start, m0_net_buffer_register and m0_net_buffer_add return -ENOSPC for
 * more. Nothing in use is taken away. Returns 0 or -EINVAL. Not in Motr. */
int m0_net_lnet_dom_set_limits(struct m0_net_domain *dom, const struct m0_net_lnet_limits *limits);
/** Stores the limits, and what is used now; either may be NULL. Returns 0 or -EINVAL. Not in Motr. */
int m0_net_lnet_dom_get_limits(struct m0_net_domain *dom, struct m0_net_lnet_limits *limits, struct m0_net_lnet_limits *used);

/** Makes all transfer machines of a domain, or one, say in the log (standard error) which state they have and how each operation
 * ends; 0: no more. With LNET_DEBUG set only if that includes info. */
void m0_net_lnet_dom_set_debug(struct m0_net_domain *dom, unsigned dbg);
void m0_net_lnet_tm_set_debug(struct m0_net_transfer_mc *tm, unsigned dbg);

#endif
