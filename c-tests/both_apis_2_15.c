/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A side of both_apis.c. */
#define LNET_API 0x20f08
#define SIDE side_2_15
#include "both_apis_side.h"

struct side side_2_15 = { .release = "2.15", .attach = attach, .put = put, .bind = bind_it, .unlink = unlink_it };
