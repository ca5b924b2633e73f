/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Those of LNet's internal functions that consumers use. */
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

/** Stores the counters of the node in *counters; zeros while the network is down. */
void lnet_counters_get(struct lnet_counters *counters);

/** The CPU partition that serves a peer: for C programs there is only one, number 0. */
int lnet_cpt_of_nid(lnet_nid_t nid, struct lnet_ni *ni);

/** The CPU partitions of a node; opaque. */
struct cfs_cpt_table;

/** The CPU partitions, for the caller's calls that take a table. Never NULL, and not to be dereferenced. */
struct cfs_cpt_table *lnet_cpt_table(void);

/** A value that stands for no CPU partition, or for any one. */
#ifndef CFS_CPT_ANY
#define CFS_CPT_ANY (-1)
#endif

/**
 * The distance between two CPU partitions of this process's node: the largest between their NUMA nodes; the largest
 * of the machine if there is no such partition, as CFS_CPT_ANY. Use it only for comparison with other distances. cptab is
 * ignored. 0 while the network is down.
 */
unsigned int cfs_cpt_distance(struct cfs_cpt_table *cptab, int cpt1, int cpt2);

/**
 * The CPU partition of this process's node that a NUMA node belongs to, always the same one; CFS_CPT_ANY if there is
 * no such NUMA node, and while the network is down. cptab is ignored.
 */
int cfs_cpt_of_node(struct cfs_cpt_table *cptab, int node);

#ifdef __cplusplus
}
#endif

#endif
