/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Those of LNet's internal types that consumers use: their names, and two constants. The types stay opaque. */
#ifndef LNET_LIB_TYPES_H
#define LNET_LIB_TYPES_H

#include <lnet/lib-dlc.h>
#include <lnet/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The largest payload of one message. */
#define LNET_MAX_PAYLOAD LNET_MTU
/** The match bits of LNet's own pings, on LNET_RESERVED_PORTAL. */
#define LNET_PROTO_PING_MATCHBITS 0x8000000000000000ULL

struct lnet_msg;
typedef struct lnet_msg lnet_msg_t;
struct lnet_libhandle;
typedef struct lnet_libhandle lnet_libhandle_t;
struct lnet_eq;
typedef struct lnet_eq lnet_eq_t;
struct lnet_me;
typedef struct lnet_me lnet_me_t;
struct lnet_libmd;
typedef struct lnet_libmd lnet_libmd_t;
struct lnet_ni;
typedef struct lnet_ni lnet_ni_t;
struct lnet_lnd;
typedef struct lnet_lnd lnd_t;

#ifdef __cplusplus
}
#endif

#endif
