/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The types that the LNet API of 2.15 and later releases has and that of 2.10 has not: lnet/types.h includes this header
 * if LNET_API asks for it. */
#ifndef LNET_V2_15_TYPES_H
#define LNET_V2_15_TYPES_H

#include <lnet/types.h>

#if LNET_API >= 0x20f00
#include <stdbool.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- addresses ---- */

/**
 * A network interface, with an address of 4 or 16 bytes. The NID of an interface with a 4-byte address has in its first 8 bytes what
 * lnet_nid_t has, in network byte order. LNET_NID_IS_ANY tells whether it stands for any.
 */
struct __attribute__((packed)) lnet_nid {
	/** The number of bytes that are used, less 8: 0 or 12. */
	__u8 nid_size;
	/** The type of the network: SOCKLND, O2IBLND, ...; 0xff for any NID. */
	__u8 nid_type;
	/** The number of the network within its type. */
	__be16 nid_num;
	/** The address, in the first element or in all four. */
	__be32 nid_addr[4];
};

/** A process on a node, as an address. */
struct lnet_processid {
	/** The NID of the node's interface. */
	struct lnet_nid nid;
	/** The process on the node. */
	lnet_pid_t pid;
};

/** Whether a NID stands for any. */
static inline bool LNET_NID_IS_ANY(const struct lnet_nid *nid)
{
	return nid == NULL || nid->nid_type == 0xff;
}

/** Whether two NIDs are the same. */
static inline bool nid_same(const struct lnet_nid *one, const struct lnet_nid *other)
{
	return memcmp(one, other, sizeof(*one)) == 0;
}

/** Whether a NID has an address of 4 bytes, so that there is an lnet_nid_t for it. */
static inline bool nid_is_nid4(const struct lnet_nid *nid)
{
	return nid->nid_size == 0;
}

/** Converts a NID. LNET_NID_ANY becomes a NID that stands for any. */
static inline void lnet_nid4_to_nid(lnet_nid_t nid4, struct lnet_nid *nid)
{
	unsigned char *bytes = (unsigned char *)nid;
	int i;

	memset(nid, nid4 == LNET_NID_ANY ? 0xff : 0, sizeof(*nid));
	nid->nid_size = 0;
	/* The same bytes in network order; the type is the second. */
	for (i = 1; i < 8; i++)
		bytes[i] = (unsigned char)(nid4 >> (56 - 8 * i));
}

/** Converts a NID with an address of 4 bytes. Any other one, and one that stands for any, become LNET_NID_ANY. */
static inline lnet_nid_t lnet_nid_to_nid4(const struct lnet_nid *nid)
{
	const unsigned char *bytes = (const unsigned char *)nid;
	lnet_nid_t nid4 = 0;
	int i;

	if (LNET_NID_IS_ANY(nid) || !nid_is_nid4(nid))
		return LNET_NID_ANY;
	for (i = 1; i < 8; i++)
		nid4 = nid4 << 8 | bytes[i];
	return nid4;
}

/** Converts the address of a process. */
static inline void lnet_pid4_to_pid(struct lnet_process_id pid4, struct lnet_processid *pid)
{
	lnet_nid4_to_nid(pid4.nid, &pid->nid);
	pid->pid = pid4.pid;
}

/** Converts the address of a process; its NID as lnet_nid_to_nid4 does. */
static inline struct lnet_process_id lnet_pid_to_pid4(const struct lnet_processid *pid)
{
	struct lnet_process_id pid4;

	pid4.nid = lnet_nid_to_nid4(&pid->nid);
	pid4.pid = pid->pid;
	return pid4;
}

/* ---- match entries, memory descriptors and events ---- */

/** A match entry; opaque. The pointer is a handle, not an address. */
struct lnet_me;

/** An event of a memory descriptor. */
struct lnet_event {
	/** The process that the message was sent to. */
	struct lnet_processid target;
	/** The sender, by the primary NID of its node: an identity, not an address for responses. */
	struct lnet_processid initiator;
	/** The interface that the message was sent from: the address for responses. */
	struct lnet_processid source;
	/** The previous hop: a router, or the same as source. */
	struct lnet_nid sender;
	/** The type of the event. */
	enum lnet_event_kind type;
	/** The portal. */
	unsigned int pt_index;
	/** The match bits, as given by the initiator. */
	__u64 match_bits;
	/** The number of bytes requested. */
	unsigned int rlength;
	/** The number of bytes moved. */
	unsigned int mlength;
	/** The memory descriptor. */
	struct lnet_handle_md md_handle;
	/** The memory of the memory descriptor, as its maker has given it. */
	void *md_start;
	/** The data of the memory descriptor's maker. */
	void *md_user_ptr;
	/** The LNET_MD_* bits of the memory descriptor. */
	unsigned int md_options;
	/** The 64 bits that the initiator of a PUT has given. */
	__u64 hdr_data;
	/** The kind of the message that the event is about, an enum lnet_msg_type. No meaning in an LNET_EVENT_UNLINK. */
	__u32 msg_type;
	/** 0, or a negative errno. */
	int status;
	/** Not 0: this is the last event of the MD, its handle is invalid and its memory free. */
	int unlinked;
	/** The offset of the data in the MD, in bytes. */
	unsigned int offset;
	/** 0: there are no queues. */
	volatile unsigned long sequence;
};

/**
 * Called for each event of the memory descriptors that name it, on a thread of the library or on a thread that is inside an LNet
 * call; never at the same time for two events of one MD, and with no lock of the library held. The event is valid until the handler
 * returns.
 *
 * A handler should return soon, but need not: the messages that it sends leave while it runs, and it may wait for their events
 * by means of the program, but not for a further event of its own MD, which comes after it. If it runs on a thread that serves
 * connections, another thread replaces that after some milliseconds; 64 handlers may take long at the same time. LNetNIFini waits for
 * every handler.
 */
typedef void (*lnet_handler_t)(struct lnet_event *event);

#if LNET_API < 0x21100
/**
 * Describes memory and the operations that may use it. The structure, and the fragment array it may point to,
 * are copied by LNetMDAttach and LNetMDBind; the memory itself is borrowed until the last event of the
 * MD, which has `unlinked` set.
 */
struct lnet_md {
	/** The memory; or an array of struct bio_vec with LNET_MD_KIOV. */
	void *start;
	/** The number of bytes; or of fragments with LNET_MD_KIOV, at most LNET_MAX_IOV. */
	unsigned int length;
	/**
	 * The number of operations after which the MD is exhausted; LNET_MD_THRESH_INF for no limit. A PUT with an
	 * acknowledgement and a GET take two, every other operation one.
	 */
	int threshold;
	/** Valid with LNET_MD_MAX_SIZE: the length of the longest message, and the free space below which the MD is exhausted. */
	int max_size;
	/** A combination of LNET_MD_* bits. */
	unsigned int options;
	/** Data of the caller, which is part of every event. */
	void *user_ptr;
	/** The handler of the MD's events; NULL for none. */
	lnet_handler_t handler;
	/** Valid with LNET_MD_BULK_HANDLE: an MD whose best interface is preferred. */
	struct lnet_handle_md bulk_handle;
};
#endif

#ifdef __cplusplus
}
#endif

#if LNET_API >= 0x21100
#include <lnet/v2_17/types.h>
#endif
#endif

#endif
