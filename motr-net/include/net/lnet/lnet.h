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

/** Makes a domain or a transfer machine say more in the log; 0: no more than others. */
void m0_net_lnet_dom_set_debug(struct m0_net_domain *dom, unsigned dbg);
void m0_net_lnet_tm_set_debug(struct m0_net_transfer_mc *tm, unsigned dbg);

#endif
