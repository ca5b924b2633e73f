/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Another name of lnet/nidstr.h. */
#ifndef LINUX_LNET_NIDSTR_H
#define LINUX_LNET_NIDSTR_H

#include <lnet/nidstr.h>

#endif
