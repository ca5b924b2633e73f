/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parts that programs share, in C and C++: request_response, get_file, two_queues, robust_server, sharing.
 *
 * Terms: a NID (127.0.1.2@tcp) is the address of a node's interface. A portal is a numbered list of match entries. A
 * match entry (ME) selects the messages that may arrive; a memory descriptor (MD) describes the memory that they are
 * written to or read from; an event queue (EQ) gets the events of MDs. The memory of an MD belongs to LNet until the
 * MD's last event, in which `unlinked` is set. */
#ifndef FIRST_H
#define FIRST_H

#include <lnet/api.h>
#include <lnet/lnet.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Requests come to a portal that client and server have agreed on, responses to another one. A request is a text, and
 * its header data holds the match bits with which its response must come; 0 means that no response is wanted. */
enum { REQUEST_PORTAL = 10, REQUEST_BITS = 42, RESPONSE_PORTAL = 11, MAX_TEXT = 256 };

/* Ends the program if result is an error. Every function of LNet returns errors as a negative errno. */
static inline void must(int result, const char *what)
{
	if (result < 0) {
		fflush(stdout);
		fprintf(stderr, "%s: %s\n", what, strerror(-result));
		exit(1);
	}
}

/* Starts the node with the networks of LNET_NETWORKS, or attaches to that of lnetd, and stores its address. */
static inline void start_node(struct lnet_process_id *self)
{
	must(LNetNIInit(LNET_PID_LUSTRE), "LNetNIInit");
	/* Interface 0 is the loopback, so the first one that other nodes can reach is interface 1. */
	must(LNetGetId(1, self), "no network (is LNET_NETWORKS set?)");
}

/* Converts text such as 127.0.1.2@tcp to the address of a program there. */
static inline struct lnet_process_id address_of(const char *nid)
{
	struct lnet_process_id id = { libcfs_str2nid(nid), LNET_PID_LUSTRE };

	must(id.nid == LNET_NID_ANY ? -EINVAL : 0, nid);
	return id;
}

/* Describes memory for `threshold` operations. Events of the MD go to eq, and have user_ptr in them. */
static inline struct lnet_md describe(void *memory, unsigned int length, int threshold, unsigned int options,
		struct lnet_handle_eq eq, void *user_ptr)
{
	struct lnet_md md;

	memset(&md, 0, sizeof(md));
	md.start = memory;
	md.length = length;
	md.threshold = threshold;
	md.options = options;
	md.eq_handle = eq;
	md.user_ptr = user_ptr;
	return md;
}

/* Lets every node use the memory by messages with these match bits. The ME and the MD are unlinked together: when the
 * MD's threshold has reached 0, or by LNetMDUnlink. */
static inline struct lnet_handle_md attach(unsigned int portal, __u64 match_bits, struct lnet_md md)
{
	struct lnet_process_id anyone = { LNET_NID_ANY, LNET_PID_ANY };
	struct lnet_handle_me me;
	struct lnet_handle_md handle;

	must(LNetMEAttach(portal, anyone, match_bits, 0, LNET_UNLINK, LNET_INS_AFTER, &me), "LNetMEAttach");
	must(LNetMDAttach(me, md, LNET_UNLINK, &handle), "LNetMDAttach");
	return handle;
}

/* Sends the MD's memory without asking for an acknowledgement: the MD has one event, SEND, and is then unlinked. */
static inline void put(struct lnet_md md, struct lnet_process_id to, unsigned int portal, __u64 match_bits, __u64 hdr_data)
{
	struct lnet_handle_md handle;

	must(LNetMDBind(md, LNET_UNLINK, &handle), "LNetMDBind");
	must(LNetPut(LNET_NID_ANY, handle, LNET_NOACK_REQ, to, portal, match_bits, 0, hdr_data), "LNetPut");
}

/* The service of the examples: it changes letters to capitals, in place. */
static inline void serve_text(char *text, unsigned int length)
{
	unsigned int i;

	for (i = 0; i < length; i++)
		if (text[i] >= 'a' && text[i] <= 'z')
			text[i] = (char)(text[i] - 'a' + 'A');
}

#endif
