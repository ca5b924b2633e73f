/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* RPCs as the Lustre file system makes them, over LNet: clients and services. Link with -lptlrpc -llnet.
 *
 * A service listens at a portal and answers requests; a client has an import for each target that it uses. An RPC is a
 * request and its reply, each of up to 31 buffers of the program's own, 1 MiB in all; bulk data of up to 64 MiB goes
 * beside them, from memory to memory. The library connects, pings, sends again what was lost, and connects again.
 *
 * Results: 0 or a positive number for success, a negative errno for failure; errno is never set. A NULL pointer where
 * something is needed, a number out of its range and an unknown flag are -EINVAL; -EIO may be an error of the library's
 * own. Functions that give a pointer give NULL where they cannot. Before ptlrpc_init whatever needs LNet gives -ENETDOWN.
 *
 * Times are in milliseconds. Where 0 stands for a default it is named. Portals, opcodes and lengths are plain numbers;
 * what buffers hold is the program's affair, its byte order included (ptlrpc_rep_is_swabbed, ptlrpc_svc_is_swabbed).
 *
 * Memory: an object belongs to who made it until he gives it back by the function named there, and must not be used after
 * that. Structures, strings and arrays that are passed are only read during the call. Texts are UTF-8.
 *
 * Threads: any function may be called on any thread, but an object by one thread at a time; imports and services by any
 * number at once. Most functions may wait: call none of them in an event handler of LNet's.
 */
#ifndef PTLRPC_H
#define PTLRPC_H

#include <lnet/types.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- numbers ---- */

/** Bytes of the longest name of a target or UUID of a client, with the NUL that ends it. */
#define PTLRPC_NAME_SIZE 39
/** The most bytes of bulk data beside one request. */
#define PTLRPC_MAX_BULK (64U << 20)
/** The most buffers of a request or a reply. */
#define PTLRPC_MAX_BUFFERS 31

/** Operations that every service has by itself, and from where on all are free for services of one's own. */
#define OST_READ 3
#define OST_WRITE 4
#define OST_CONNECT 8
#define OST_DISCONNECT 9
#define MDS_CONNECT 38
#define MDS_DISCONNECT 39
#define MGS_CONNECT 250
#define MGS_DISCONNECT 251
#define OBD_PING 400
#define PTLRPC_OWN_OPCODES 0x7000

/** Kinds of targets: they differ in portals, in the opcodes of connecting and in the protocol. */
enum ptlrpc_kind {
	/** Requests at portal 28, replies at 4, bulk data at 8; OST_CONNECT, OST_DISCONNECT; protocol 3. */
	PTLRPC_OST = 0,
	/** Requests at portal 12, replies at 10, bulk data at 14; MDS_CONNECT, MDS_DISCONNECT; protocol 2. */
	PTLRPC_MDS = 1,
	/** Requests at portal 26, replies at 25, bulk data at 33; MGS_CONNECT, MGS_DISCONNECT; protocol 6. */
	PTLRPC_MGS = 2,
};

/* ---- up and down ---- */

/** How long RPCs of this process's clients may take. */
struct ptlrpc_timeouts {
	/** What counts where nothing adapts itself; pings are a quarter of it apart. 0: 100 s. */
	__u32 obd_timeout;
	/** The minimum estimate of the service time. 0: none. */
	__u32 at_min;
	/** The most. 0: 600 s. */
	__u32 at_max;
	/** For how long the slowest answer is remembered. 0: 600 s. */
	__u32 at_history;
	/** What each try to connect may take. 0: a twentieth of obd_timeout, at least 5 s. */
	__u32 connect;
	/** PTLRPC_FIXED_TIMEOUTS or 0. */
	__u32 flags;
};

/** Timeouts are not adaptive, and there are no early replies: every request may take obd_timeout. */
#define PTLRPC_FIXED_TIMEOUTS 1

/**
 * Brings PtlRPC up, and LNet with it, configured by the environment (LNET_NETWORKS and others); or takes one more
 * reference. The first call says how long RPCs may take (NULL: the defaults); of the others it is only checked.
 *
 * Returns 0. Errors: -EINVAL; -EAGAIN (no thread); those of LNetNIInit. After an error there is no reference.
 */
int ptlrpc_init(const struct ptlrpc_timeouts *timeouts);

/**
 * Gives one reference back. The last ends PtlRPC; LNet goes down unless the program has it up too. Waits, for 5 s at most, for
 * what is still under way.
 *
 * Returns 0. Errors: -ENETDOWN (there is no reference); -EBUSY (it is the last, and there are imports, requests, sets or
 * services: nothing is done).
 */
int ptlrpc_fini(void);

/**
 * Says that the server of this UUID has this NID, beside those said before. All of them are one peer to LNet, the first is
 * its primary NID. A UUID that is a NID in text needs no such word.
 *
 * Returns 0. Errors: -ENETDOWN, -EINVAL.
 */
int class_add_uuid(const char *uuid, lnet_nid_t nid);

/** Forgets a UUID. Returns 0. Errors: -ENETDOWN, -EINVAL, -ENOENT (nobody has added it). */
int class_del_uuid(const char *uuid);

/**
 * Whom a UUID means, by the nearest of its NIDs: stores in *peer the process, by its primary NID, and in *self (unless
 * NULL) the nearest interface of this node. This node itself is 0@lo.
 *
 * Returns 0. Errors: -ENETDOWN, -EINVAL, -ENOENT (neither added nor a NID), -EHOSTUNREACH (no way there).
 */
int ptlrpc_uuid_to_peer(const char *uuid, struct lnet_process_id *peer, lnet_nid_t *self);

/* ---- imports: a client's targets ---- */

/** A target that this process uses. */
struct obd_import;

/** What an import is like. Set it to zeros, then the first four fields; 0 is the default of the others. */
struct ptlrpc_import_conf {
	/** The target: at most 38 bytes. */
	const char *target;
	/** This client: at most 38 bytes, the same as long as it lives, and no other client's. */
	const char *client_uuid;
	/** The servers that may have the target, the likeliest first: UUIDs (class_add_uuid) or NIDs in text. 1 to 64. */
	const char *const *servers;
	__u32 server_count;
	/** An enum ptlrpc_kind. It has the defaults of the next six fields. */
	__u32 kind;
	/** Where requests go, where replies come to, and where this client's memory for bulk data is. */
	__u32 request_portal;
	__u32 reply_portal;
	__u32 bulk_portal;
	/** The protocol of the requests: the upper half of pb_version. */
	__u32 service_version;
	/** How to connect and disconnect: a pair of those above. */
	__u32 connect_opcode;
	__u32 disconnect_opcode;
	/** How many requests with PTLRPC_AT_MOST_ONCE may be under way; the others wait. 0: 8; less if the server says so. */
	__u32 max_mod_rpcs;
	/** 0. */
	__u32 reserved;
	/** What is asked of the server when connecting. Both 0: VERSION, AT, FULL20 and BULK_MBITS. */
	__u64 connect_flags;
	__u64 connect_flags2;
};

/** How far an import is. */
enum ptlrpc_import_state {
	/** Never connected. */
	PTLRPC_IMP_NEW = 0,
	/** Not connected, and to be connected again. */
	PTLRPC_IMP_DISCON = 1,
	/** A connect request is under way. */
	PTLRPC_IMP_CONNECTING = 2,
	/** Connected. */
	PTLRPC_IMP_FULL = 3,
	/** Not to be used again. */
	PTLRPC_IMP_CLOSED = 4,
};

/**
 * Makes an import and stores it in *imp. It is not connected yet. Give it back with class_import_put.
 *
 * Returns 0. Errors, with NULL in *imp: -ENETDOWN; -EINVAL (names that are empty or too long, no server, an unknown kind,
 * a request portal that is also the reply or bulk portal).
 */
int ptlrpc_import_new(const struct ptlrpc_import_conf *conf, struct obd_import **imp);

/**
 * Gives an import back. Its requests go on. The server is not told: ptlrpc_disconnect_import does that. NULL is allowed.
 */
void class_import_put(struct obd_import *imp);

/**
 * Connects, from now on again and again whenever the connection is lost, and waits until it is connected: so long at most;
 * negative: without end; 0: does not wait.
 *
 * Returns 0. Errors: -EINVAL; -ESHUTDOWN (it is closed); why the last try has failed, or -ETIMEDOUT. It goes on trying.
 */
int ptlrpc_connect_import(struct obd_import *imp, int timeout);

/**
 * Takes leave of the server, if it is connected, which has so long to answer (negative: obd_timeout), and closes the
 * import: requests that wait for a connection end with -ESHUTDOWN. Wait for the others first.
 *
 * Returns 0. Errors: -EINVAL; what was wrong with the leave-taking. It is closed all the same.
 */
int ptlrpc_disconnect_import(struct obd_import *imp, int timeout);

/** How far it is: an enum ptlrpc_import_state. */
int ptlrpc_import_state(const struct obd_import *imp);

/** The server's name for the connection, 0 if there is none; stores in *conn_cnt (unless NULL) how often it has tried. */
__u64 ptlrpc_import_handle(const struct obd_import *imp, __u32 *conn_cnt);

/** Stores the server's process, by its primary NID. Returns 0. Errors: -EINVAL, -ENOTCONN (none was called yet). */
int ptlrpc_import_peer(const struct obd_import *imp, struct lnet_process_id *peer);

/** Asks the server whether it is there, and waits. Returns 0. Errors: -EAGAIN (not connected), -ETIMEDOUT, others. */
int ptlrpc_obd_ping(struct obd_import *imp);

/** Has LNet ask the server anew which NIDs it has, and waits. Returns 0. Errors: -ENOTCONN, those of LNet's discovery. */
int ptlrpc_rediscover(struct obd_import *imp);

/* ---- requests ---- */

/** A request of this process's, and its reply. */
struct ptlrpc_request;

/** Flags of requests. */
enum ptlrpc_req_flags {
	/**
	 * Done once at most, whatever is lost on the way. If nobody can tell whether it was done, because the server was
	 * started anew or the limit is over, it ends with -ESTALE. Without this flag what gets no answer is asked again.
	 */
	PTLRPC_AT_MOST_ONCE = 1,
	/** Ends with an error where it would be sent again. */
	PTLRPC_NO_RESEND = 2,
	/** Ends with -EAGAIN where it would wait for a connection. */
	PTLRPC_NO_DELAY = 4,
};

/** Which way bulk data goes. */
enum ptlrpc_bulk_way {
	/** The service writes to this client's memory (ptlrpc_bulk_put there). */
	PTLRPC_FROM_SERVICE = 0,
	/** The service reads this client's memory (ptlrpc_bulk_get there). */
	PTLRPC_TO_SERVICE = 1,
};

/**
 * Makes a request, with count buffers of these lengths in bytes, all zeros. Fill them (ptlrpc_req_buf), then send it
 * (ptlrpc_queue_wait, ptlrpc_set_add_req), once. Give it back with ptlrpc_req_finished. It keeps what it needs of the import.
 *
 * NULL: more than 31 buffers or 1 MiB, or an opcode of connecting, which is the library's affair.
 */
struct ptlrpc_request *ptlrpc_request_alloc(struct obd_import *imp, __u32 opcode, __u32 count, const __u32 *lens);

/** Buffer index of the request, from 1, to be filled until it is sent. NULL: no such buffer, or it has been sent. */
void *ptlrpc_req_buf(struct ptlrpc_request *req, __u32 index);

/*
 * The following say more of a request that has not been sent. They return 0. Errors: -EINVAL, -EBUSY (it has been sent).
 */

/** Room for a reply of buffers of these lengths. One that needs more is asked for again, or is -EOVERFLOW if it may not be. */
int ptlrpc_req_set_repsize(struct ptlrpc_request *req, __u32 count, const __u32 *lens);

/** Any of enum ptlrpc_req_flags. */
int ptlrpc_req_set_flags(struct ptlrpc_request *req, __u32 flags);

/** How long each sending may take. 0: what the service has needed lately. */
int ptlrpc_req_set_timeout(struct ptlrpc_request *req, __u32 timeout);

/** How long all of it may take; then it ends with -ETIMEDOUT. 0: as long as it takes. */
int ptlrpc_req_set_limit(struct ptlrpc_request *req, __u32 limit);

/** Another portal than the import's for requests. 0: the import's. */
int ptlrpc_req_set_portal(struct ptlrpc_request *req, __u32 portal);

/**
 * Bulk data beside it: 1 byte to 64 MiB of the caller's memory, where the service reads or writes (enum ptlrpc_bulk_way).
 * Nothing is copied: the memory must be there, and be left alone, until the request has ended.
 */
int ptlrpc_req_set_bulk(struct ptlrpc_request *req, void *memory, size_t length, __u32 way);

/**
 * What is called when the request has ended, with its status, by the thread that waits for it; what it returns becomes the
 * status. It may look at the request, add others to the set, and must not give the request back. NULL: nothing is called.
 */
typedef int (*ptlrpc_interpret_t)(struct ptlrpc_request *req, void *arg, int rc);
int ptlrpc_req_set_interpret(struct ptlrpc_request *req, ptlrpc_interpret_t interpret, void *arg);

/**
 * Sends a request and waits for its end.
 *
 * Returns its status: what the service answered, or -ETIMEDOUT (the limit), -EAGAIN, -ESTALE (see the flags), -EOVERFLOW (the
 * reply does not fit), -ESHUTDOWN (the import was closed), -EPROTO (no answer to that), -EIO (the bulk data), -EINVAL;
 * -EBUSY: it had been sent before, nothing is done.
 */
int ptlrpc_queue_wait(struct ptlrpc_request *req);

/** The status of a request that has ended; -EINPROGRESS before. */
int ptlrpc_req_status(const struct ptlrpc_request *req);

/**
 * Buffer index of the reply, from 1, and in *len (unless NULL) its bytes. It is there until the request is given back, is
 * aligned to 8 bytes, and not to be written to. NULL: there is no such buffer, or no reply.
 */
const void *ptlrpc_rep_buf(const struct ptlrpc_request *req, __u32 index, __u32 *len);

/** 1 if the server's byte order is not this machine's, 0 if it is. Error: -ENOENT (no reply). */
int ptlrpc_rep_is_swabbed(const struct ptlrpc_request *req);

/** The transaction that the request became; 0 if it is none. */
__u64 ptlrpc_req_transno(const struct ptlrpc_request *req);

/** Bytes of bulk data that were moved. */
__u64 ptlrpc_req_bulk_bytes(const struct ptlrpc_request *req);

/**
 * Gives a request back, sent or not. One that is under way in a set is ended, with -EINTR, and taken out. When this returns
 * LNet does not touch its memory any more, that for bulk data included: which may take as long as LNet does to give up a
 * message. NULL is allowed.
 */
void ptlrpc_req_finished(struct ptlrpc_request *req);

/* ---- sets: many requests of one thread ---- */

/**
 * Requests that are under way at once. They go on while a thread waits for the set or checks it. What is added belongs to the
 * set until ptlrpc_set_next gives it back. Two threads at once: one of them gets -EBUSY.
 */
struct ptlrpc_request_set;

/** Makes an empty set. Give it back with ptlrpc_set_destroy. */
struct ptlrpc_request_set *ptlrpc_prep_set(void);

/** Sends a request as one of the set. Returns 0. Errors: -EINVAL, -EBUSY (it has been sent before). */
int ptlrpc_set_add_req(struct ptlrpc_request_set *set, struct ptlrpc_request *req);

/**
 * Waits until all have ended, those included that are added meanwhile. Returns 0, or the first status below 0 among those
 * that have ended since the last time this told one.
 */
int ptlrpc_set_wait(struct ptlrpc_request_set *set);

/**
 * Waits until one has ended, so long at most; negative: without end. Returns how many ended ones the set has for
 * ptlrpc_set_next; 0: the time is over, or the set is empty.
 */
int ptlrpc_set_wait_any(struct ptlrpc_request_set *set, int timeout);

/** Goes on with what has news, without waiting. Returns how many are under way. */
int ptlrpc_check_set(struct ptlrpc_request_set *set);

/** Takes one that has ended out of the set, in the order in which they ended; it is the caller's. NULL: there is none. */
struct ptlrpc_request *ptlrpc_set_next(struct ptlrpc_request_set *set);

/** Ends what is under way, with -EINTR, and gives back all requests of the set and the set itself. NULL is allowed. */
void ptlrpc_set_destroy(struct ptlrpc_request_set *set);

/* ---- services ---- */

/** A service of this process's. */
struct ptlrpc_service;
/** A request that a service has to answer: there while its handler runs. */
struct ptlrpc_svc_req;

/** What a service is like. Set it to zeros, then name its targets; 0 is the default of the others. */
struct ptlrpc_service_conf {
	/** For logs and threads. NULL: "ptlrpc". */
	const char *name;
	/** What clients can connect to: names of at most 38 bytes. At least one, unless it shares those of another service. */
	const char *const *targets;
	__u32 target_count;
	/** An enum ptlrpc_kind. It has the defaults of portals and protocol. */
	__u32 kind;
	/**
	 * A service whose targets and connections this one serves too, at another portal. Those of its own are added to them.
	 * NULL: none.
	 */
	const struct ptlrpc_service *same_targets_as;
	/** What comes to the handler; others are answered -EOPNOTSUPP. count 0: everything does. */
	const __u32 *opcodes;
	__u32 opcode_count;
	/** Where requests come to (no other service's), where clients wait for replies and have their bulk data. */
	__u32 request_portal;
	__u32 reply_portal;
	__u32 bulk_portal;
	/** The protocol: the upper half of pb_version. */
	__u32 service_version;
	/** How many handlers may run at once, one of them for urgent requests; at least 2. 0: 4. */
	__u32 threads;
	/** How many buffers are kept open for requests, and how many there may be. 0: 64, and 256 or four times buffers. */
	__u32 buffers;
	__u32 buffers_limit;
	/** Bytes of each of them (at most 1 MiB), of the longest request, which must fit, and of the longest reply. 0: 32, 16, 9 KiB. */
	__u32 buffer_size;
	__u32 max_request;
	__u32 max_reply;
	/** How many PTLRPC_AT_MOST_ONCE requests of a client may be under way. 0: 8. */
	__u32 max_mod_rpcs;
	/** How clients are kept waiting while a handler works, by early replies. 0: none, 600 s, 30 s, 5 s, 600 s. */
	__u32 at_min;
	__u32 at_max;
	__u32 at_extra;
	__u32 at_early_margin;
	__u32 at_history;
	/** No client's word makes a request live longer. 0: 600 s. */
	__u32 longest_timeout;
	/** Clients from which nothing was received for this time are evicted. 0: never. */
	__u32 evict_unresponsive_after;
	/** How long ptlrpc_unregister_service may take. 0: 75 s. */
	__u32 stop_timeout;
	/** Any of PTLRPC_NO_EARLY_REPLIES and PTLRPC_NO_REPLY_FALLBACK. */
	__u32 flags;
	/** 0. */
	__u32 reserved;
	/** What clients can have of what they ask for. Both 0: VERSION, AT, FULL20 and BULK_MBITS. */
	__u64 connect_flags;
	__u64 connect_flags2;
};

/** No early replies. */
#define PTLRPC_NO_EARLY_REPLIES 1
/**
 * A reply, or bulk data, that cannot go back the way its request came is given up, as Lustre does; otherwise it goes once more,
 * any way.
 */
#define PTLRPC_NO_REPLY_FALLBACK 2

/**
 * Answers a request: looks at it (ptlrpc_svc_*), moves bulk data, makes the reply's buffers (ptlrpc_rep_pack) and returns the
 * reply's status, or PTLRPC_NO_REPLY: the client is told nothing, and will ask again. Called on threads of the service, on
 * several at once; may take its time and call anything of this library but ptlrpc_unregister_service and ptlrpc_fini. The
 * request is only there while it runs, on this thread. Connecting, disconnecting and pings do not come here.
 */
typedef int (*svc_handler_t)(struct ptlrpc_svc_req *req, void *arg);

/** What a handler returns that does not want to answer. */
#define PTLRPC_NO_REPLY (-2147483647 - 1)

/**
 * Begins to serve, and stores the service in *service. Give it back with ptlrpc_unregister_service. arg is the handler's.
 *
 * Returns 0. Errors, with NULL in *service: -ENETDOWN; -EINVAL (no service can be like that, or it has no target); -EEXIST
 * (a target twice); -EAGAIN (no threads); those of LNet.
 */
int ptlrpc_register_service(const struct ptlrpc_service_conf *conf, svc_handler_t handler, void *arg,
			    struct ptlrpc_service **service);

/**
 * Ends a service: what handlers do is finished, what waits is dropped, what is held for difficult replies is let go. Clients
 * are not told; to them it is a server that does not answer.
 *
 * Returns 0, and the handler is not called any more. Errors: -EINVAL; -EBUSY (called by its handler: nothing is done);
 * -ETIMEDOUT (a handler has not returned: what it uses must stay). Otherwise the service is gone.
 */
int ptlrpc_unregister_service(struct ptlrpc_service *service);

/**
 * All transactions of this target up to transno are on disk: replies say so from now on, and difficult ones that wait for it
 * are done. Returns 0. Errors: -EINVAL, -ENOENT (no such target).
 */
int ptlrpc_commit(struct ptlrpc_service *service, const char *target, __u64 transno);

/** Ends all connections of a client; returns how many there were. It hears of it at its next request, and connects again. */
int ptlrpc_evict_client(struct ptlrpc_service *service, const char *client_uuid);

/** What has happened since the start of a service. */
struct ptlrpc_service_counts {
	/** Requests that arrived; whose handling has ended; that were refused with an error; answered by the earlier answer. */
	__u64 arrived;
	__u64 served;
	__u64 refused;
	__u64 answered_again;
	/** Requests that were dropped: unreadable, late, of an old connection, in work already. */
	__u64 dropped;
	/** Early replies; replies that LNet could not send; those that went once more another way. */
	__u64 early_replies;
	__u64 replies_failed;
	__u64 replies_again;
	/** Bulk transfers that went wrong. */
	__u64 bulk_failed;
	/** Buffers that were opened for requests. */
	__u64 buffers_posted;
	/** Clients that were evicted because they did not respond. */
	__u64 evicted;
	/** Connections that there are now. */
	__u64 connected;
};

/** Stores the counts. Returns 0. Error: -EINVAL. */
int ptlrpc_service_counts(const struct ptlrpc_service *service, struct ptlrpc_service_counts *counts);

/* ---- in a handler ---- */

/** What the client wants. */
__u32 ptlrpc_svc_opcode(const struct ptlrpc_svc_req *req);

/** The number of the request; sent again it has the same. */
__u64 ptlrpc_svc_xid(const struct ptlrpc_svc_req *req);

/** 1 if the client has sent it before, 0 if not. */
int ptlrpc_svc_is_resent(const struct ptlrpc_svc_req *req);

/** 1 if the client's byte order is not this machine's, 0 if it is. */
int ptlrpc_svc_is_swabbed(const struct ptlrpc_svc_req *req);

/**
 * Buffer index of the request, from 1, and in *len (unless NULL) its bytes: what the client has sent, whatever that is. It
 * lies where it arrived, aligned to 8 bytes; do not write to it. NULL: there is no such buffer.
 */
const void *ptlrpc_svc_buf(const struct ptlrpc_svc_req *req, __u32 index, __u32 *len);

/** Stores who the client is, by its primary NID. Returns 0. Error: -EINVAL. */
int ptlrpc_svc_peer(const struct ptlrpc_svc_req *req, struct lnet_process_id *peer);

/** Stores the interface that the client sent it from, where the reply goes. Returns 0. Error: -EINVAL. */
int ptlrpc_svc_source(const struct ptlrpc_svc_req *req, struct lnet_process_id *source);

/** Stores the interface of this node that it came to, which the reply leaves from. Returns 0. Error: -EINVAL. */
int ptlrpc_svc_self(const struct ptlrpc_svc_req *req, lnet_nid_t *self);

/** Stores the client's UUID, with a NUL: uuid has room for PTLRPC_NAME_SIZE bytes. Returns 0. Error: -EINVAL. */
int ptlrpc_svc_client(const struct ptlrpc_svc_req *req, char *uuid);

/** Stores the target that the client is connected to, as ptlrpc_svc_client does. */
int ptlrpc_svc_target(const struct ptlrpc_svc_req *req, char *target);

/** For how long the client still waits. Early replies put it off. */
__u32 ptlrpc_svc_time_left(const struct ptlrpc_svc_req *req);

/**
 * Writes so many bytes to the memory that the client offers (PTLRPC_FROM_SERVICE), and waits until they are there. Nothing is
 * copied here; when this returns the memory is the caller's.
 *
 * Returns 0. Errors: -EINVAL; -EPROTO (the client offers no memory, or less); -ETIMEDOUT (it has given up); -EIO and
 * others. After an error there is no reply whatever the handler returns: the client has to ask again.
 */
int ptlrpc_bulk_put(struct ptlrpc_svc_req *req, const void *memory, size_t length);

/** Reads so many bytes of the client's memory (PTLRPC_TO_SERVICE), as ptlrpc_bulk_put writes them. */
int ptlrpc_bulk_get(struct ptlrpc_svc_req *req, void *memory, size_t length);

/**
 * Makes count buffers of these lengths for the reply, all zeros, instead of those before. Without it the reply has none. A
 * reply longer than max_reply becomes the error -EOVERFLOW. Returns 0. Error: -EINVAL (more than 31, or 1 MiB).
 */
int ptlrpc_rep_pack(struct ptlrpc_svc_req *req, __u32 count, const __u32 *lens);

/** Buffer index of the reply, from 1, to be filled. NULL: there is no such buffer. */
void *ptlrpc_svc_rep_buf(struct ptlrpc_svc_req *req, __u32 index);

/** The request became this transaction. Returns 0. Error: -EINVAL. */
int ptlrpc_svc_set_transno(struct ptlrpc_svc_req *req, __u64 transno);

/** Why nothing needs to be held any more. */
enum ptlrpc_reply_done {
	/** The client has the reply. */
	PTLRPC_REPLY_ACKED = 0,
	/** The transaction is on disk: ptlrpc_commit. */
	PTLRPC_REPLY_COMMITTED = 1,
	/** The client is gone, the service ends, or there was no reply. */
	PTLRPC_REPLY_LOST = 2,
};

/**
 * Something is held until the client has the reply, or transaction transno (0: it is none) is on disk, or the client is gone.
 * Then done is called, exactly once, with an enum ptlrpc_reply_done, on a thread of the service's, which it must not keep
 * for long.
 *
 * Returns 0. Errors, and done is not called: -EINVAL, -EEXIST (said before).
 */
int ptlrpc_rep_difficult(struct ptlrpc_svc_req *req, __u64 transno, void (*done)(void *arg, int why), void *arg);

#ifdef __cplusplus
}
#endif

#endif
