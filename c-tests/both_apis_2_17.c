/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A side of both_apis.c. */
#define LNET_API 0x21100
#define SIDE side_2_17
#include "both_apis_side.h"

struct side side_2_17 = { .release = "2.17", .attach = attach, .put = put, .bind = bind_it, .unlink = unlink_it };
