/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions for tunables in trees, for programs that show or read trees themselves. */
#ifndef LNETCONFIG_LIBLND_H
#define LNETCONFIG_LIBLND_H

#include <lnet/lib-dlc.h>
#include <lnet/lnetconfig/cyaml.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Adds the tunables that every driver has to an object, such as the one under the key tunables. Returns 0;
 * LUSTRE_CFG_RC_BAD_PARAM for NULL, LUSTRE_CFG_RC_OUT_OF_MEM.
 */
int lustre_net_show_tunables(struct cYAML *tunables,
		struct lnet_ioctl_config_lnd_cmn_tunables *cmn);

/**
 * Adds the tunables of the driver of net_type (a net or its type) to an object, such as the one under the
 * key lnd tunables; none for a driver that has none. Returns as lustre_net_show_tunables.
 */
int lustre_ni_show_tunables(struct cYAML *lnd_tunables, __u32 net_type,
		struct lnet_lnd_tunables *lnd);

/**
 * Reads the tunables of the driver of net_type (a net or its type) from the object under the key
 * lnd tunables in a tree into *lnd. Without that key, *lnd is not changed; tunables that the object lacks become
 * 0, and conns_per_peer 1.
 */
void lustre_yaml_extract_lnd_tunables(struct cYAML *tree, __u32 net_type,
		struct lnet_lnd_tunables *lnd);

#ifdef __cplusplus
}
#endif

#endif
