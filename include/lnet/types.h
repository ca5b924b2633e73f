/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The types and constants of the LNet API: of Lustre 2.10, or of the release that LNET_API names. */
#ifndef LNET_TYPES_H
#define LNET_TYPES_H

#include <linux/types.h>
#include <lnet/version.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An attribute that follows a structure: the structure has no padding, like its form on the wire. */
#ifndef WIRE_ATTR
#define WIRE_ATTR __attribute__((packed))
#endif

/**
 * A network interface: the network in the upper 32 bits, the address on it in the lower 32 bits, both
 * in host byte order. LNET_NID_ANY stands for any.
 */
typedef __u64 lnet_nid_t;

/** A process on a node. LNET_PID_ANY stands for any. */
typedef __u32 lnet_pid_t;

/** A value that stands for any interface. */
#define LNET_NID_ANY ((lnet_nid_t)-1)
/** A value that stands for any process. */
#define LNET_PID_ANY ((lnet_pid_t)-1)
/** The bits that PIDs of kernel nodes do not use. */
#define LNET_PID_RESERVED 0xf0000000U
/** The bit that the accepting node sets in the PID of a peer that connected from an unprivileged port. */
#define LNET_PID_USERFLAG 0x80000000U
/** The PID that Lustre, LNet selftest and Motr use. Kernel nodes have no other PID. */
#define LNET_PID_LUSTRE 12345

/** The portal that LNet uses itself. Portals are numbered from 0; see MAX_PORTALS. */
#define LNET_RESERVED_PORTAL 0
/** The largest number of fragments of one MD. */
#define LNET_MAX_IOV 256
/** The maximum number of interfaces that one NI may name. */
#define LNET_NUM_INTERFACES 16
#if LNET_API >= 0x20f00
#define LNET_INTERFACES_NUM 16
#endif
/** The largest payload of one message, as a power of two and in bytes. */
#define LNET_MTU_BITS 20
#define LNET_MTU (1 << LNET_MTU_BITS)
/** The version of the interface between LNet and its drivers. */
#define LNET_VERSION "0.7.0"

/** The first word of ping replies, and the features that they may announce. */
#define LNET_PROTO_PING_MAGIC 0x70696E67
#define LNET_PING_FEAT_INVAL 0
#define LNET_PING_FEAT_BASE (1 << 0)
#define LNET_PING_FEAT_NI_STATUS (1 << 1)
#define LNET_PING_FEAT_RTE_DISABLED (1 << 2)
#define LNET_PING_FEAT_MULTI_RAIL (1 << 3)
#define LNET_PING_FEAT_DISCOVERY (1 << 4)

/** The state of an interface in a ping reply. */
#define LNET_NI_STATUS_UP 0x15aac0deU
#define LNET_NI_STATUS_DOWN 0xdeadfaceU
#define LNET_NI_STATUS_INVALID 0x00000000U

/** The first words of the handshakes. */
#define LNET_PROTO_IB_MAGIC 0x0be91b91U
#define LNET_PROTO_GNI_MAGIC 0xb00fbabeU
#define LNET_PROTO_TCP_MAGIC 0xeebc0dedU
#define LNET_PROTO_ACCEPTOR_MAGIC 0xacce7100U
#define LNET_PROTO_MAGIC 0x45726963U
#define LNET_PROTO_ACCEPTOR_VERSION 1
#define LNET_PROTO_TCP_VERSION_MAJOR 1
#define LNET_PROTO_TCP_VERSION_MINOR 0

/** Whether event number a comes after event number b. */
#define LNET_SEQ_GT(a, b) (((signed long)((a) - (b))) > 0)

/** The address part of a NID. For IP networks in host byte order: 10.0.0.1 is 0x0a000001. */
static inline __u32 LNET_NIDADDR(lnet_nid_t nid)
{
	return (__u32)(nid & 0xffffffffU);
}

/** The network part of a NID. */
static inline __u32 LNET_NIDNET(lnet_nid_t nid)
{
	return (__u32)(nid >> 32);
}

/** The NID of an address on a network. */
static inline lnet_nid_t LNET_MKNID(__u32 net, __u32 addr)
{
	return ((__u64)net << 32) | addr;
}

/** The number of a network within its type. */
static inline __u32 LNET_NETNUM(__u32 net)
{
	return net & 0xffffU;
}

/** The type of a network: SOCKLND, O2IBLND, ... */
static inline __u32 LNET_NETTYP(__u32 net)
{
#if LNET_API >= 0x20f00
	return (net >> 16) & 0xffU;
#else
	return (net >> 16) & 0xffffU;
#endif
}

/** The network of a type and a number. */
static inline __u32 LNET_MKNET(__u32 type, __u32 num)
{
	return (type << 16) | num;
}

/** A process on a node, as an address. */
struct lnet_process_id {
	/** The NID of the node's interface. */
	lnet_nid_t nid;
	/** The process on the node. */
	lnet_pid_t pid;
};
typedef struct lnet_process_id lnet_process_id_t;

/** A process on a node, without padding. */
struct lnet_process_id_packed {
	lnet_nid_t nid;
	lnet_pid_t pid;
} __attribute__((packed));
typedef struct lnet_process_id_packed lnet_process_id_packed;

/* ---- handles ---- */

/** The cookie of a handle that names nothing. */
#define LNET_WIRE_HANDLE_COOKIE_NONE (-1)

/** The handle of a memory descriptor. Opaque; never reused while the network is up. */
struct lnet_handle_md {
	/** Opaque; all ones is no handle. */
	__u64 cookie;
};
typedef struct lnet_handle_md lnet_handle_md_t;

#if LNET_API < 0x20f00
/** The handle of a match entry. Opaque; never reused while the network is up. */
struct lnet_handle_me {
	/** Opaque; all ones is no handle. */
	__u64 cookie;
};
typedef struct lnet_handle_me lnet_handle_me_t;

/** The handle of an event queue. Opaque; never reused while the network is up. */
struct lnet_handle_eq {
	/** Opaque; all ones is no handle. */
	__u64 cookie;
};
typedef struct lnet_handle_eq lnet_handle_eq_t;

/** Makes an event queue handle name nothing. */
static inline void LNetInvalidateEQHandle(struct lnet_handle_eq *h)
{
	h->cookie = (__u64)LNET_WIRE_HANDLE_COOKIE_NONE;
}

/** Whether an event queue handle names nothing. */
static inline int LNetEQHandleIsInvalid(struct lnet_handle_eq h)
{
	return h.cookie == (__u64)LNET_WIRE_HANDLE_COOKIE_NONE;
}

#endif

/** Makes a memory descriptor handle name nothing. */
static inline void LNetInvalidateMDHandle(struct lnet_handle_md *h)
{
	h->cookie = (__u64)LNET_WIRE_HANDLE_COOKIE_NONE;
}

/** Whether a memory descriptor handle names nothing. */
static inline int LNetMDHandleIsInvalid(struct lnet_handle_md h)
{
	return h.cookie == (__u64)LNET_WIRE_HANDLE_COOKIE_NONE;
}

/* ---- match entries and memory descriptors ---- */

/** Whether an object is unlinked automatically when it is exhausted. */
enum lnet_unlink {
	/** The object stays until it is unlinked by a call. */
	LNET_RETAIN = 0,
	/** The object is unlinked automatically. */
	LNET_UNLINK = 1,
};
typedef enum lnet_unlink lnet_unlink_t;

/** The position of a new match entry among the existing ones. */
enum lnet_ins_pos {
	/** Before the others. */
	LNET_INS_BEFORE = 0,
	/** After the others. */
	LNET_INS_AFTER = 1,
	/** After the others, where the calling CPU finds it first. */
	LNET_INS_LOCAL = 2,
};
typedef enum lnet_ins_pos lnet_ins_pos;

/** The MD accepts PUTs. */
#define LNET_MD_OP_PUT (1 << 0)
/** The MD accepts GETs. */
#define LNET_MD_OP_GET (1 << 1)
/** The initiator of an operation determines the offset in the memory; otherwise the MD does. */
#define LNET_MD_MANAGE_REMOTE (1 << 2)
/** A message that is too long is truncated instead of dropped. */
#define LNET_MD_TRUNCATE (1 << 4)
/** Messages that arrive here are not acknowledged, even if their senders ask for an acknowledgement. */
#define LNET_MD_ACK_DISABLE (1 << 5)
#if LNET_API < 0x20f00
/** `start` is an array of struct iovec, or of Linux's struct kvec, which has the same layout. */
#define LNET_MD_IOVEC (1 << 6)
#endif
/** `max_size` is valid. */
#define LNET_MD_MAX_SIZE (1 << 7)
/** `start` is an array of lnet_kiov_t; from 2.15 on, of struct bio_vec, which has the same layout. */
#define LNET_MD_KIOV (1 << 8)
/** `bulk_handle` is valid. */
#define LNET_MD_BULK_HANDLE (1 << 9)
#if LNET_API < 0x20f00
/** Has no meaning; some consumers use the name. */
#define LNET_MD_PHYS 0
#else
/** These have no effect: responses are always awaited for the transaction timeout. */
#define LNET_MD_TRACK_RESPONSE (1 << 10)
#define LNET_MD_NO_TRACK_RESPONSE (1 << 11)
/** Has no effect: there is no such network. */
#define LNET_MD_GNILND (1 << 12)
#endif
#if LNET_API >= 0x21100
/** Has no effect: the memory is the program's. */
#define LNET_MD_GPU_ADDR (1 << 13)
#endif

/** The threshold of an MD without a limit. */
#define LNET_MD_THRESH_INF (-1)

/** The type of pages; in user space a `struct page *` is the address of the page's memory. */
struct page;

#if LNET_API < 0x20f00
/**
 * Describes memory and the operations that may use it. The structure, and the fragment array it may point to,
 * are copied by LNetMDAttach and LNetMDBind; the memory itself is borrowed until the last event of the
 * MD, which has `unlinked` set.
 */
struct lnet_md {
	/** The memory; or an array of fragments with LNET_MD_KIOV or LNET_MD_IOVEC. */
	void *start;
	/** The number of bytes; or of fragments with LNET_MD_KIOV or LNET_MD_IOVEC, at most LNET_MAX_IOV. */
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
	/** The queue for the MD's events; an invalid handle for none. */
	struct lnet_handle_eq eq_handle;
	/** Valid with LNET_MD_BULK_HANDLE: an MD whose best interface is preferred. */
	struct lnet_handle_md bulk_handle;
};
typedef struct lnet_md lnet_md_t;

/** One fragment of an MD with LNET_MD_KIOV. In user space a page is its address. */
struct lnet_kiov {
	/** The address of the page. */
	struct page *kiov_page;
	/** The number of bytes. */
	unsigned int kiov_len;
	/** The offset of these bytes in the page. */
	unsigned int kiov_offset;
};
typedef struct lnet_kiov lnet_kiov_t;
#endif

/* ---- events ---- */

/** Whether a PUT asks for an acknowledgement. Note that 0 asks for one. */
enum lnet_ack_req {
	/** The PUT asks for an acknowledgement. */
	LNET_ACK_REQ = 0,
	/** The PUT does not ask for an acknowledgement. */
	LNET_NOACK_REQ = 1,
};
typedef enum lnet_ack_req lnet_ack_req_t;

/** The type of an event. */
enum lnet_event_kind {
	/** Data of this MD was fetched by a peer; the REPLY has been sent. */
	LNET_EVENT_GET = 1,
	/** Data has been put into this MD. */
	LNET_EVENT_PUT = 2,
	/** The data that LNetGet requested is in this MD. */
	LNET_EVENT_REPLY = 3,
	/** The target of an LNetPut has the data. */
	LNET_EVENT_ACK = 4,
	/** A PUT or GET has been sent, or has failed: the memory of a PUT is free again. */
	LNET_EVENT_SEND = 5,
	/**
	 * The MD was unlinked while nothing was in progress: by a call (status 0), or because the response that it
	 * waited for did not come in time (status -ETIMEDOUT).
	 */
	LNET_EVENT_UNLINK = 6,
};
typedef enum lnet_event_kind lnet_event_kind_t;

#if LNET_API < 0x20f00
/** An event of a memory descriptor. */
struct lnet_event {
	/** The process that the message was sent to. */
	struct lnet_process_id target;
	/**
	 * The sender, by the primary NID of its node: an identity, not an address for responses. If that NID has an address of 16 bytes, the
	 * NID of source is here.
	 */
	struct lnet_process_id initiator;
	/**
	 * The interface that the message was sent from: the address for responses. LNET_NID_ANY if it has an address of 16 bytes: only programs
	 * with the API of 2.17 can respond there.
	 */
	struct lnet_process_id source;
	/** The previous hop: a router, or the same as source. */
	lnet_nid_t sender;
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
	/** The memory descriptor when the operation started, with the operation already subtracted from its threshold. */
	struct lnet_md md;
	/** The 64 bits that the initiator of a PUT has given. */
	__u64 hdr_data;
	/** 0, or a negative errno. */
	int status;
	/** Not 0: this is the last event of the MD, its handle is invalid and its memory free. */
	int unlinked;
	/** The offset of the data in the MD, in bytes. */
	unsigned int offset;
	/** The number of the event in its queue, from 1; 0 if the queue keeps none. */
	volatile unsigned long sequence;
};
typedef struct lnet_event lnet_event_t;

/**
 * Called for each event of a queue, on a thread of the library or on a thread that is inside an LNet call;
 * never at the same time for two events of one MD. The event is valid until the handler returns.
 *
 * A handler should return soon, but need not: the messages that it sends leave while it runs, and it may wait for their events
 * by means of the program (LNetEQWait is refused), but not for a further event of its own MD, which comes after
 * it. If it runs on a thread that serves connections, another thread replaces that after some milliseconds, and the
 * other peers of the node, and other messages of the same peer, are served; so 64 handlers may take long at the same
 * time. A handler for an operation that failed or timed out may run on a thread that connects, resends and
 * discovers: these activities wait for it, established connections do not. LNetNIFini waits for every handler.
 */
typedef void (*lnet_eq_handler_t)(struct lnet_event *event);

/** No handler: the events are fetched with LNetEQGet, LNetEQWait or LNetEQPoll. */
#define LNET_EQ_HANDLER_NONE NULL
#endif

/* ---- on the wire: packed, little-endian except hdr_data ---- */

/** The kinds of message on the wire. */
enum lnet_msg_type {
	/** The acknowledgement of a PUT. */
	LNET_MSG_ACK = 0,
	/** Data for the target. */
	LNET_MSG_PUT = 1,
	/** A request for the target's data. */
	LNET_MSG_GET = 2,
	/** The data that a GET requested. */
	LNET_MSG_REPLY = 3,
	/** Part of the oldest handshake, never a message. */
	LNET_MSG_HELLO = 4,
};
typedef enum lnet_msg_type lnet_msg_type_t;

/** The handle of a memory descriptor on the wire. Only the node that created it can interpret it. */
struct lnet_handle_wire {
	__u64 wh_interface_cookie;
	__u64 wh_object_cookie;
} __attribute__((packed));
typedef struct lnet_handle_wire lnet_handle_wire_t;

/** The contents of an ACK. */
struct lnet_ack {
	struct lnet_handle_wire dst_wmd;
	__u64 match_bits;
	__u32 mlength;
} __attribute__((packed));
typedef struct lnet_ack lnet_ack_t;

/** The contents of a PUT. */
struct lnet_put {
	struct lnet_handle_wire ack_wmd;
	__u64 match_bits;
	__u64 hdr_data;
	__u32 ptl_index;
	__u32 offset;
} __attribute__((packed));
typedef struct lnet_put lnet_put_t;

/** The contents of a GET. */
struct lnet_get {
	struct lnet_handle_wire return_wmd;
	__u64 match_bits;
	__u32 ptl_index;
	__u32 src_offset;
	__u32 sink_length;
} __attribute__((packed));
typedef struct lnet_get lnet_get_t;

/** The contents of a REPLY. */
struct lnet_reply {
	struct lnet_handle_wire dst_wmd;
} __attribute__((packed));
typedef struct lnet_reply lnet_reply_t;

/** The contents of the oldest handshake. */
struct lnet_hello {
	__u64 incarnation;
	__u32 type;
} __attribute__((packed));
typedef struct lnet_hello lnet_hello_t;

/** The header of every message. */
struct lnet_hdr {
	lnet_nid_t dest_nid;
	lnet_nid_t src_nid;
	lnet_pid_t dest_pid;
	lnet_pid_t src_pid;
	__u32 type;
	__u32 payload_length;
	union {
		struct lnet_ack ack;
		struct lnet_put put;
		struct lnet_get get;
		struct lnet_reply reply;
		struct lnet_hello hello;
	} msg;
} __attribute__((packed));
typedef struct lnet_hdr lnet_hdr_t;

/** The first fields of a handshake. */
struct lnet_magicversion {
	__u32 magic;
	__u16 version_major;
	__u16 version_minor;
} __attribute__((packed));
typedef struct lnet_magicversion lnet_magic_version_t;

/** The first message that a connecting TCP node sends. */
struct lnet_acceptor_connreq {
	__u32 acr_magic;
	__u32 acr_version;
	__u64 acr_nid;
} __attribute__((packed));
typedef struct lnet_acceptor_connreq lnet_acceptor_connreq_t;

/** An interface in a ping reply. */
struct lnet_ni_status {
	lnet_nid_t ns_nid;
	__u32 ns_status;
	__u32 ns_unused;
} __attribute__((packed));

/** The reply to a ping. */
struct lnet_ping_info {
	__u32 pi_magic;
	__u32 pi_features;
	lnet_pid_t pi_pid;
	__u32 pi_nnis;
	__extension__ struct lnet_ni_status pi_ni[0];
} __attribute__((packed));

/** The counters of a node since it started. */
struct __attribute__((packed)) lnet_counters {
	/** The number of messages in the node now. */
	__u32 msgs_alloc;
	/** The highest number of messages at the same time. */
	__u32 msgs_max;
	/** Messages that could not be sent or understood. */
	__u32 errors;
	/** Messages sent. */
	__u32 send_count;
	/** Messages received. */
	__u32 recv_count;
	/** Messages forwarded. */
	__u32 route_count;
	/** Messages dropped. */
	__u32 drop_count;
	/** Bytes sent. */
	__u64 send_length;
	/** Bytes received. */
	__u64 recv_length;
	/** Bytes forwarded. */
	__u64 route_length;
	/** Bytes dropped. */
	__u64 drop_length;
};
typedef struct lnet_counters lnet_counters_t;

#ifdef __cplusplus
}
#endif

#if LNET_API >= 0x20f00
#include <lnet/v2_15/types.h>
#endif

#endif
