/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The first bytes of a connection, for peers that send only a part of them. */
#ifndef WIRE_H
#define WIRE_H

#include "own_address.h"
#include <sys/socket.h>

/* The bytes that a peer sends to connect (wire-tcp 2 and 3), in the byte order of this machine. */
struct opening {
	struct {
		__u32 magic, version;
		__u64 nid;
	} __attribute__((packed)) request;
	struct hello {
		__u32 magic, version;
		__u64 src_nid, dst_nid;
		__u32 src_pid, dst_pid;
		__u64 src_incarnation, dst_incarnation;
		__u32 type, ips;
	} __attribute__((packed)) hello;
} __attribute__((packed));

static inline struct sockaddr_in address_of(const char *ip, int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, ip, &at.sin_addr);
	return at;
}

static inline __u64 nid_of(const char *ip)
{
	char text[80];

	snprintf(text, sizeof(text), "%s@tcp", ip);
	return libcfs_str2nid(text);
}

static inline struct hello hello_to(const char *to, const char *from, __u32 type)
{
	static __u64 incarnation;

	return (struct hello){ .magic = 0x45726963, .version = 3, .src_nid = nid_of(from), .dst_nid = nid_of(to),
			       .src_pid = LNET_PID_LUSTRE, .dst_pid = LNET_PID_LUSTRE,
			       .src_incarnation = ++incarnation, .type = type };
}

static inline struct opening opening_to(const char *to, const char *from)
{
	struct opening opening = { .request = { 0xacce7100, 1, nid_of(to) }, .hello = hello_to(to, from, 1) };

	return opening;
}

/* Ends a connection: in order (FIN), or with a reset at once. */
static inline void end_connection(int fd, int reset)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	if (reset)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

#endif
