/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What consumers use of LNet's internal functions. */
#ifndef LNET_LIB_LNET_H
#define LNET_LIB_LNET_H

#include <lnet/api.h>
#include <lnet/lib-types.h>
#include <lnet/lnet.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Portals are numbered from 0 to MAX_PORTALS - 1. */
#define MAX_PORTALS 64

/** Stores in *counters what the node has moved; zeros while the network is down. */
void lnet_counters_get(struct lnet_counters *counters);

/** The CPU partition that serves a peer: for C programs there is only one, number 0. */
int lnet_cpt_of_nid(lnet_nid_t nid, struct lnet_ni *ni);

/** CPU partitions; opaque. */
struct cfs_cpt_table;

/**
 * The CPU partitions, for the caller's calls that take a table: for C programs there is only one. Never NULL, and
 * not to be dereferenced.
 */
struct cfs_cpt_table *lnet_cpt_table(void);

#ifdef __cplusplus
}
#endif

#endif
