/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The names of errors. Functions return them as negative numbers; errno is never set. */
#ifndef M0_LIB_ERRNO_H
#define M0_LIB_ERRNO_H

#include <errno.h>

#endif
