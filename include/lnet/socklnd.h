/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The TCP driver's protocol on the wire, as of Lustre 2.10: the handshake and the header of each message. Integers
 * are in the byte order of their sender, which the magic number of its handshake shows. */
#ifndef LNET_SOCKLND_H
#define LNET_SOCKLND_H

#include <lnet/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The type of a connection, from the point of view of the node that writes it. */
#define SOCKLND_CONN_NONE (-1)
#define SOCKLND_CONN_ANY 0
#define SOCKLND_CONN_CONTROL 1
#define SOCKLND_CONN_BULK_IN 2
#define SOCKLND_CONN_BULK_OUT 3
#define SOCKLND_CONN_NTYPES 4
/** The type of the connections that carry zero-copy ACKs. */
#define SOCKLND_CONN_ACK SOCKLND_CONN_BULK_IN

/** The handshake of versions 2 and 3. */
struct ksock_hello_msg {
	/** LNET_PROTO_MAGIC */
	__u32 kshm_magic;
	__u32 kshm_version;
	lnet_nid_t kshm_src_nid;
	lnet_nid_t kshm_dst_nid;
	lnet_pid_t kshm_src_pid;
	lnet_pid_t kshm_dst_pid;
	__u64 kshm_src_incarnation;
	__u64 kshm_dst_incarnation;
	/** SOCKLND_CONN_* */
	__u32 kshm_ctype;
	/** The number of IPv4 addresses that follow. */
	__u32 kshm_nips;
	__extension__ __u32 kshm_ips[0];
} WIRE_ATTR;
typedef struct ksock_hello_msg ksock_hello_msg_t;

/** The part of a KSOCK_MSG_LNET message that follows ksock_msg's own fields and precedes the payload. */
struct ksock_lnet_msg {
	struct lnet_hdr ksnm_hdr;
} WIRE_ATTR;
typedef struct ksock_lnet_msg ksock_lnet_msg_t;

/** The values of ksm_type: nothing follows; ksm_u.lnetmsg follows. */
#define KSOCK_MSG_NOOP 0xc0
#define KSOCK_MSG_LNET 0xc1

/** The header of every message. ksm_u is not on the wire for KSOCK_MSG_NOOP. */
struct ksock_msg {
	__u32 ksm_type;
	/** The checksum; 0: none. */
	__u32 ksm_csum;
	/**
	 * In KSOCK_MSG_LNET: the cookie for which the sender wants a zero-copy ACK, and the cookie that the sender
	 * acknowledges; 0: none.
	 */
	__u64 ksm_zc_cookies[2];
	union {
		struct ksock_lnet_msg lnetmsg;
	} WIRE_ATTR ksm_u;
} WIRE_ATTR;
typedef struct ksock_msg ksock_msg_t;

#ifdef __cplusplus
}
#endif

#endif
