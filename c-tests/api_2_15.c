/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests the API of 2.15. */
#define _GNU_SOURCE
#define LNET_API 0x20f08
#include "api_later.h"
