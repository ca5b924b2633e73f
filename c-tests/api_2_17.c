/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests the API of 2.17. */
#define _GNU_SOURCE
#define LNET_API 0x21100
#include "api_later.h"
