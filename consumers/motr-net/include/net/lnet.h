/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The LNet transport under the name in its design document, and three functions under the names of that document. */
#ifndef M0_NET_LNET_H
#define M0_NET_LNET_H

#include <net/buffer_pool.h>
#include <net/lnet/lnet.h>

/** The same as m0_net_domain_buffer_pool_not_empty. */
static inline void m0_net_domain_recv_pool_not_empty(struct m0_net_buffer_pool *pool)
{
	m0_net_domain_buffer_pool_not_empty(pool);
}

/** The same as m0_net_buffer_register. */
static inline int m0_net_buf_register(struct m0_net_buffer *buf, struct m0_net_domain *dom)
{
	return m0_net_buffer_register(buf, dom);
}

/** The same as m0_net_buffer_add. */
static inline int m0_net_buf_add(struct m0_net_buffer *buf, struct m0_net_transfer_mc *tm)
{
	return m0_net_buffer_add(buf, tm);
}

#endif
