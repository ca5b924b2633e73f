/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The protocol of kv_server and kv_client: keys and values of bytes, which the server keeps in memory.
 *
 * PUT   request: the key; struct kv_put; the value, if it is small          reply: struct kv_value
 * GET   request: the key; struct kv_get                                     reply: struct kv_value; the value, if small
 *
 * A value that is not small is transferred as bulk data: from memory to memory, without a copy in between. Numbers are
 * little-endian. */
#ifndef KV_H
#define KV_H

#include <endian.h>
#include <errno.h>
#include <lnet/nidstr.h>
#include <ptlrpc/ptlrpc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KV_TARGET "kv-OST0000"

enum kv_opcode { KV_PUT = PTLRPC_OWN_OPCODES, KV_GET };

/* The lengths in bytes of the longest key, and of the longest value that is part of its message. */
enum { KV_LONGEST_KEY = 255, KV_SMALL = 4096 };

struct kv_put {
	__u32 length;
};

struct kv_get {
	/*
	 * The number of bytes of memory that the client offers. If the value is longer the reply is -EOVERFLOW with
	 * the length of the value.
	 */
	__u32 room;
};

struct kv_value {
	__u32 length;
	/* The number of PUTs of the key. */
	__u32 version;
};

/* Ends the program if result is an error. */
static inline void must(int result, const char *what)
{
	if (result < 0) {
		fflush(stdout);
		fprintf(stderr, "FAILED: %s: %s\n", what, strerror(-result));
		exit(1);
	}
}

#endif
