/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The LNet transport under the name that its design document has. */
#ifndef M0_NET_LNET_H
#define M0_NET_LNET_H

#include <net/lnet/lnet.h>

#endif
