/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checks the types and constants of the API of 2.17. */
#define LNET_API 0x21100
#include "layout_later.h"
