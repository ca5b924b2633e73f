/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The LNet transport. Addresses have the form NID:PID:PORTAL:TMID, such as 192.168.96.128@tcp1:12345:32:7. The PID is
 * 12345; Lustre uses none of the portals 30 to 61; a TMID is at most 4095, or * for a free one, which is searched
 * from 4095 downwards. */
#ifndef M0_NET_LNET_LNET_H
#define M0_NET_LNET_LNET_H

#include <net/net.h>

enum {
	/** The PID of every address. */
	M0_NET_LNET_PID = 12345,
	/** The size of the longest address in bytes, with the terminating NUL. */
	M0_NET_LNET_XEP_ADDR_LEN = 80,
	/** A constant of Motr; this library makes no periodic reports. */
	M0_NET_LNET_TM_STAT_INTERVAL_SECS = 300,
};

/** The transport, under both of its names. */
extern const struct m0_net_xprt m0_net_lnet_xprt;
extern struct m0_net_xprt m0_lnet_xprt;

/** Register and deregister the transport. m0_init and m0_fini call these functions. Returns 0. */
int m0_net_lnet_init(void);
void m0_net_lnet_fini(void);

/** Compares the NIDs of two addresses: the text before the first ':'. The result is 0 if they are the same, -1 if an
 * address has no ':', and otherwise below or above 0 for their order. */
int m0_net_lnet_ep_addr_net_cmp(const char *addr1, const char *addr2);

/** Stores in *addrs a NULL-terminated array of the NIDs of this node; m0_net_lnet_ifaces_put frees it. Returns 0 or a
 * negative errno. */
int m0_net_lnet_ifaces_get(struct m0_net_domain *dom, char ***addrs);
/** Frees the array, and sets *addrs to NULL. */
void m0_net_lnet_ifaces_put(struct m0_net_domain *dom, char ***addrs);

/** The resources that a domain uses or may use. As a limit 0 means unlimited. */
struct m0_net_lnet_limits {
	/** The number of started transfer machines. */
	uint32_t ll_tms;
	/** The number of registered buffers. */
	uint32_t ll_buffers;
	/**
	 * Events for which room is reserved: 1 for a queued buffer, or nb_max_receive_msgs (at most 4096) if it is
	 * for messages.
	 */
	uint32_t ll_events;
};

/** Limits the resources that a domain may use from now on: beyond them m0_net_tm_start, m0_net_buffer_register and
 * m0_net_buffer_add return -ENOSPC. Resources in use stay in use. Returns 0 or -EINVAL. Not in Motr. */
int m0_net_lnet_dom_set_limits(struct m0_net_domain *dom, const struct m0_net_lnet_limits *limits);
/** Stores the limits and the resources in use; either pointer may be NULL. Returns 0 or -EINVAL. Not in Motr. */
int m0_net_lnet_dom_get_limits(struct m0_net_domain *dom, struct m0_net_lnet_limits *limits, struct m0_net_lnet_limits *used);

/** Makes all transfer machines of a domain, or one, log (to standard error) their state changes and the result of each
 * operation; 0: no longer. If LNET_DEBUG is set, it must include info. */
void m0_net_lnet_dom_set_debug(struct m0_net_domain *dom, unsigned dbg);
void m0_net_lnet_tm_set_debug(struct m0_net_transfer_mc *tm, unsigned dbg);

#endif
