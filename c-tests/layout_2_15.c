/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checks the types and constants of the API of 2.15. */
#define LNET_API 0x20f08
#include "layout_later.h"
