/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* RPCs of the Lustre file system over LNet: clients and services. Link with -lptlrpc -llnet.
 *
 * A service listens at a portal and replies to requests; a client has an import for each target that it uses. An RPC
 * is a request and its reply, each of up to 31 buffers that the program defines, 1 MiB in all; bulk data of up to 64
 * MiB is transferred beside them, from memory to memory. The library connects, pings, sends lost messages again, and
 * reconnects.
 *
 * Results: 0 or a positive number for success, a negative errno for failure; errno is never set. A NULL pointer that
 * is not allowed, a number out of range and an unknown flag are -EINVAL; -EIO may be an internal error of the
 * library. Functions that return a pointer return NULL on failure. Before ptlrpc_init all functions that need LNet
 * return -ENETDOWN.
 *
 * Times are in milliseconds. Where 0 stands for a default, the default is given. Portals, opcodes and lengths are
 * plain numbers; the program defines the contents of buffers, including their byte order (ptlrpc_rep_is_swabbed,
 * ptlrpc_svc_is_swabbed).
 *
 * Memory: the program owns an object that it has made until it releases it by the function named there, and must not
 * use it after that. Structures, strings and arrays that are passed are only read during the call. Texts are UTF-8.
 *
 * Threads: any function may be called on any thread, but an object may be used by one thread at a time only; imports
 * and services by any number at the same time. Most functions may wait: call none of them in an event handler of
 * LNet.
 */
#ifndef PTLRPC_H
#define PTLRPC_H

#include <lnet/types.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- numbers ---- */

/** The number of bytes of the longest name of a target or UUID of a client, including the terminating NUL. */
#define PTLRPC_NAME_SIZE 39
/** The most bytes of bulk data of one request. */
#define PTLRPC_MAX_BULK (64U << 20)
/** The maximum number of buffers of a request or a reply. */
#define PTLRPC_MAX_BUFFERS 31

/** Opcodes of Lustre. Those from PTLRPC_OWN_OPCODES on are free for programs. */
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

/** Kinds of targets, which differ in portals, in the opcodes for connecting and in the protocol. */
enum ptlrpc_kind {
	/**
	 * Portals: 28 for requests, 4 for replies, 8 for bulk data. Opcodes: OST_CONNECT, OST_DISCONNECT. Protocol:
	 * 3.
	 */
	PTLRPC_OST = 0,
	/**
	 * Portals: 12 for requests, 10 for replies, 14 for bulk data. Opcodes: MDS_CONNECT, MDS_DISCONNECT. Protocol:
	 * 2.
	 */
	PTLRPC_MDS = 1,
	/**
	 * Portals: 26 for requests, 25 for replies, 33 for bulk data. Opcodes: MGS_CONNECT, MGS_DISCONNECT. Protocol:
	 * 6.
	 */
	PTLRPC_MGS = 2,
};

/* ---- up and down ---- */

/** The timeouts of RPCs of this process's clients. */
struct ptlrpc_timeouts {
	/** The timeout where timeouts are not adaptive; pings are sent at a quarter of it. 0: 100 s. */
	__u32 obd_timeout;
	/** The minimum estimate of the service time. 0: none. */
	__u32 at_min;
	/** The maximum estimate of the service time. 0: 600 s. */
	__u32 at_max;
	/** The time for which the longest service time is remembered. 0: 600 s. */
	__u32 at_history;
	/** The timeout of each attempt to connect. 0: a twentieth of obd_timeout, at least 5 s. */
	__u32 connect;
	/** PTLRPC_FIXED_TIMEOUTS or 0. */
	__u32 flags;
};

/** Timeouts are not adaptive, and there are no early replies: every request may take obd_timeout. */
#define PTLRPC_FIXED_TIMEOUTS 1

/**
 * Starts PtlRPC, and LNet with it, configured by the environment (LNET_NETWORKS and others); or takes one more
 * reference. The first call sets the timeouts of RPCs (NULL: the defaults); in later calls they are only checked.
 *
 * Returns 0. Errors: -EINVAL; -EAGAIN (no thread); those of LNetNIInit. After an error there is no reference.
 */
int ptlrpc_init(const struct ptlrpc_timeouts *timeouts);

/**
 * Releases one reference. The last call ends PtlRPC; LNet stops unless the program has another reference on it. Waits
 * at most 5 s for messages in flight.
 *
 * Returns 0. Errors: -ENETDOWN (there is no reference); -EBUSY (it is the last one, and there are imports, requests,
 * sets or services: nothing is done).
 */
int ptlrpc_fini(void);

/**
 * Adds a NID to the server with this UUID. All its NIDs become one peer in LNet, whose primary NID is the first one.
 * A UUID that is a NID in text need not be added.
 *
 * Returns 0. Errors: -ENETDOWN, -EINVAL.
 */
int class_add_uuid(const char *uuid, lnet_nid_t nid);

/** Forgets a UUID. Returns 0. Errors: -ENETDOWN, -EINVAL, -ENOENT (it was not added). */
int class_del_uuid(const char *uuid);

/**
 * Finds the process with this UUID by its nearest NID: stores the process in *peer, by its primary NID, and the
 * nearest interface of this node in *self (unless NULL). This node itself is 0@lo.
 *
 * Returns 0. Errors: -ENETDOWN, -EINVAL, -ENOENT (neither added nor a NID), -EHOSTUNREACH (no path).
 */
int ptlrpc_uuid_to_peer(const char *uuid, struct lnet_process_id *peer, lnet_nid_t *self);

/* ---- imports: a client's targets ---- */

/** A target that this process uses. */
struct obd_import;

/** The configuration of an import. Zero it, then set the first four fields; 0 stands for the default of the others. */
struct ptlrpc_import_conf {
	/** The name of the target: at most 38 bytes. */
	const char *target;
	/**
	 * The UUID of this client: at most 38 bytes, the same during its lifetime, and different from those of other
	 * clients.
	 */
	const char *client_uuid;
	/** The servers that may have the target, the likeliest first: UUIDs (class_add_uuid) or NIDs in text. 1 to 64. */
	const char *const *servers;
	__u32 server_count;
	/** An enum ptlrpc_kind, which determines the defaults of the next six fields. */
	__u32 kind;
	/**
	 * The portal of the service for requests, that of this client for replies, and that of its memory for bulk
	 * data.
	 */
	__u32 request_portal;
	__u32 reply_portal;
	__u32 bulk_portal;
	/** The protocol of the requests: the upper half of pb_version. */
	__u32 service_version;
	/** The opcodes for connecting and disconnecting: a pair of the opcodes above. */
	__u32 connect_opcode;
	__u32 disconnect_opcode;
	/**
	 * The number of requests with PTLRPC_AT_MOST_ONCE that may be in progress; others wait. 0: 8; fewer if the
	 * server says so.
	 */
	__u32 max_mod_rpcs;
	/** Must be 0. */
	__u32 reserved;
	/** The flags that are requested of the server when connecting. Both 0: VERSION, AT, FULL20 and BULK_MBITS. */
	__u64 connect_flags;
	__u64 connect_flags2;
};

/** The state of an import. */
enum ptlrpc_import_state {
	/** The import was never connected. */
	PTLRPC_IMP_NEW = 0,
	/** Not connected; will be connected again. */
	PTLRPC_IMP_DISCON = 1,
	/** A connect request is in progress. */
	PTLRPC_IMP_CONNECTING = 2,
	/** The import is connected. */
	PTLRPC_IMP_FULL = 3,
	/** Closed: cannot be used again. */
	PTLRPC_IMP_CLOSED = 4,
};

/**
 * Makes an import and stores it in *imp. It is not connected yet. Release it with class_import_put.
 *
 * Returns 0. Errors, with NULL in *imp: -ENETDOWN; -EINVAL (names that are empty or too long, no server, an unknown
 * kind, a request portal that is also the reply or bulk portal).
 */
int ptlrpc_import_new(const struct ptlrpc_import_conf *conf, struct obd_import **imp);

/**
 * Releases an import. Its requests continue. The server is not told: ptlrpc_disconnect_import does that. NULL is
 * allowed.
 */
void class_import_put(struct obd_import *imp);

/**
 * Connects, and from now on reconnects whenever the connection is lost. Waits for the connection at most for timeout;
 * a negative timeout has no limit; with 0 the function does not wait.
 *
 * Returns 0. Errors: -EINVAL; -ESHUTDOWN (the import is closed); the error of the last attempt, or -ETIMEDOUT.
 * Attempts continue.
 */
int ptlrpc_connect_import(struct obd_import *imp, int timeout);

/**
 * Disconnects from the server, if the import is connected; timeout limits the wait for its response (negative:
 * obd_timeout). Closes the import: requests that wait for a connection end with -ESHUTDOWN. Wait for the other
 * requests first.
 *
 * Returns 0. Errors: -EINVAL; the error of the disconnect request. The import is closed in any case.
 */
int ptlrpc_disconnect_import(struct obd_import *imp, int timeout);

/** The state of the import: an enum ptlrpc_import_state. */
int ptlrpc_import_state(const struct obd_import *imp);

/**
 * The server's handle of the connection, 0 without a connection; stores the number of attempts in *conn_cnt (unless
 * NULL).
 */
__u64 ptlrpc_import_handle(const struct obd_import *imp, __u32 *conn_cnt);

/** Stores the server's process, by its primary NID. Returns 0. Errors: -EINVAL, -ENOTCONN (no server was tried yet). */
int ptlrpc_import_peer(const struct obd_import *imp, struct lnet_process_id *peer);

/** Pings the server, and waits for its response. Returns 0. Errors: -EAGAIN (not connected), -ETIMEDOUT, others. */
int ptlrpc_obd_ping(struct obd_import *imp);

/**
 * Makes LNet discover the NIDs of the server again, and waits. Returns 0. Errors: -ENOTCONN, those of LNet's
 * discovery.
 */
int ptlrpc_rediscover(struct obd_import *imp);

/* ---- requests ---- */

/** A request of this process, and its reply. */
struct ptlrpc_request;

/** Flags of requests. */
enum ptlrpc_req_flags {
	/**
	 * The request is executed at most once, whatever is lost. If it is unknown whether it was executed, because
	 * the server was restarted or the limit has passed, it ends with -ESTALE. Without this flag a request without
	 * a reply is sent again.
	 */
	PTLRPC_AT_MOST_ONCE = 1,
	/** The request ends with an error in place of being sent again. */
	PTLRPC_NO_RESEND = 2,
	/** The request ends with -EAGAIN in place of waiting for a connection. */
	PTLRPC_NO_DELAY = 4,
};

/** The direction of bulk data. */
enum ptlrpc_bulk_way {
	/** The service writes to this client's memory (ptlrpc_bulk_put there). */
	PTLRPC_FROM_SERVICE = 0,
	/** The service reads this client's memory (ptlrpc_bulk_get there). */
	PTLRPC_TO_SERVICE = 1,
};

/**
 * Makes a request, with count buffers of these lengths in bytes, zeroed. Fill them (ptlrpc_req_buf), then send the
 * request (ptlrpc_queue_wait, ptlrpc_set_add_req), once. Release it with ptlrpc_req_finished. It holds the parts of
 * the import that it needs.
 *
 * NULL: more than 31 buffers or 1 MiB, or an opcode for connecting, which only the library uses.
 */
struct ptlrpc_request *ptlrpc_request_alloc(struct obd_import *imp, __u32 opcode, __u32 count, const __u32 *lens);

/**
 * Returns buffer index of the request, from 1, to be filled until it is sent. NULL: no such buffer, or it has been
 * sent.
 */
void *ptlrpc_req_buf(struct ptlrpc_request *req, __u32 index);

/*
 * The following functions set properties of a request that has not been sent. They return 0. Errors: -EINVAL, -EBUSY
 * (it has been sent).
 */

/**
 * Sets the lengths of the buffers for the reply. If a longer reply comes the request is sent again, or ends with
 * -EOVERFLOW if it must not be.
 */
int ptlrpc_req_set_repsize(struct ptlrpc_request *req, __u32 count, const __u32 *lens);

/** Sets a combination of enum ptlrpc_req_flags. */
int ptlrpc_req_set_flags(struct ptlrpc_request *req, __u32 flags);

/** Sets the timeout of each transmission. 0: the recent service time of the service. */
int ptlrpc_req_set_timeout(struct ptlrpc_request *req, __u32 timeout);

/** Sets the time limit of the whole request, which then ends with -ETIMEDOUT. 0: no limit. */
int ptlrpc_req_set_limit(struct ptlrpc_request *req, __u32 limit);

/** Sets a request portal other than that of the import. 0: that of the import. */
int ptlrpc_req_set_portal(struct ptlrpc_request *req, __u32 portal);

/**
 * Sets bulk data of the request: 1 byte to 64 MiB of the caller's memory, which the service reads or writes (enum
 * ptlrpc_bulk_way). Nothing is copied: the memory must stay valid and unchanged until the request has ended.
 */
int ptlrpc_req_set_bulk(struct ptlrpc_request *req, void *memory, size_t length, __u32 way);

/**
 * Called when the request has ended, with its status, by the thread that waits for it; the result becomes the status.
 * The function may read the request and add others to the set, and must not release the request. NULL: no function.
 */
typedef int (*ptlrpc_interpret_t)(struct ptlrpc_request *req, void *arg, int rc);
int ptlrpc_req_set_interpret(struct ptlrpc_request *req, ptlrpc_interpret_t interpret, void *arg);

/**
 * Sends a request and waits for its end.
 *
 * Returns its status: that of the service's reply, or -ETIMEDOUT (the limit), -EAGAIN, -ESTALE (see the flags),
 * -EOVERFLOW (the reply does not fit), -ESHUTDOWN (the import was closed), -EPROTO (the reply does not belong to the
 * request), -EIO (the bulk data), -EINVAL; -EBUSY: the request had been sent before, nothing is done.
 */
int ptlrpc_queue_wait(struct ptlrpc_request *req);

/** Returns the status of a request that has ended; -EINPROGRESS before. */
int ptlrpc_req_status(const struct ptlrpc_request *req);

/**
 * Returns buffer index of the reply, from 1, and stores its length in *len (unless NULL). The buffer is valid until
 * the request is released, is aligned to 8 bytes, and must not be changed. NULL: there is no such buffer, or no
 * reply.
 */
const void *ptlrpc_rep_buf(const struct ptlrpc_request *req, __u32 index, __u32 *len);

/** Returns 1 if the server's byte order is not this machine's, 0 if it is. Error: -ENOENT (no reply). */
int ptlrpc_rep_is_swabbed(const struct ptlrpc_request *req);

/** Returns the transaction number of the request; 0 without a transaction. */
__u64 ptlrpc_req_transno(const struct ptlrpc_request *req);

/** Returns the number of bytes of bulk data that were transferred. */
__u64 ptlrpc_req_bulk_bytes(const struct ptlrpc_request *req);

/**
 * Releases a request, sent or not. A request that is in progress in a set is ended, with -EINTR, and removed. When
 * the function returns LNet does not access the request's memory any more, including that for bulk data; this may
 * take as long as LNet needs to give up a message. NULL is allowed.
 */
void ptlrpc_req_finished(struct ptlrpc_request *req);

/* ---- sets: many requests of one thread ---- */

/**
 * Requests that are in progress at the same time. They make progress while a thread waits for the set or checks it.
 * Requests that were added belong to the set until ptlrpc_set_next returns them. If two threads use a set at the same
 * time one of them gets -EBUSY.
 */
struct ptlrpc_request_set;

/** Makes an empty set. Release it with ptlrpc_set_destroy. */
struct ptlrpc_request_set *ptlrpc_prep_set(void);

/** Sends a request as a member of the set. Returns 0. Errors: -EINVAL, -EBUSY (it has been sent before). */
int ptlrpc_set_add_req(struct ptlrpc_request_set *set, struct ptlrpc_request *req);

/**
 * Waits until all requests have ended, including those that are added meanwhile. Returns 0, or the first negative
 * status among the requests that have ended since the last call that returned one.
 */
int ptlrpc_set_wait(struct ptlrpc_request_set *set);

/**
 * Waits until a request has ended, at most for timeout; a negative timeout has no limit. Returns the number of ended
 * requests that ptlrpc_set_next can return; 0: the timeout has passed, or the set is empty.
 */
int ptlrpc_set_wait_any(struct ptlrpc_request_set *set, int timeout);

/** Makes progress without waiting. Returns the number of requests in progress. */
int ptlrpc_check_set(struct ptlrpc_request_set *set);

/** Removes an ended request from the set, in the order in which they ended; the caller owns it. NULL: there is none. */
struct ptlrpc_request *ptlrpc_set_next(struct ptlrpc_request_set *set);

/**
 * Ends the requests in progress, with -EINTR, and releases all requests of the set and the set itself. NULL is
 * allowed.
 */
void ptlrpc_set_destroy(struct ptlrpc_request_set *set);

/* ---- services ---- */

/** A service of this process. */
struct ptlrpc_service;
/** A request to a service, valid while its handler runs. */
struct ptlrpc_svc_req;

/** The configuration of a service. Zero it, then set its targets; 0 stands for the default of the others. */
struct ptlrpc_service_conf {
	/** The name in the log and of threads. NULL: "ptlrpc". */
	const char *name;
	/**
	 * The targets that clients can connect to: names of at most 38 bytes. At least one, unless the service shares
	 * those of another one.
	 */
	const char *const *targets;
	__u32 target_count;
	/** An enum ptlrpc_kind, which determines the defaults of portals and protocol. */
	__u32 kind;
	/**
	 * A service whose targets and connections this one serves too, at another portal. This service's own targets
	 * are added to them. NULL: none.
	 */
	const struct ptlrpc_service *same_targets_as;
	/** The opcodes of the handler; requests with others end with -EOPNOTSUPP. count 0: all opcodes. */
	const __u32 *opcodes;
	__u32 opcode_count;
	/** The portal for requests (of no other service), and the portals of clients for replies and bulk data. */
	__u32 request_portal;
	__u32 reply_portal;
	__u32 bulk_portal;
	/** The protocol: the upper half of pb_version. */
	__u32 service_version;
	/** The number of handlers that may run at the same time, one of them for urgent requests; at least 2. 0: 4. */
	__u32 threads;
	/**
	 * The number of buffers that are posted for requests, and their maximum number. 0: 64, and 256 or four times
	 * buffers.
	 */
	__u32 buffers;
	__u32 buffers_limit;
	/**
	 * The lengths of each buffer (at most 1 MiB), of the longest request, which must fit, and of the longest
	 * reply. 0: 32, 16, 9 KiB.
	 */
	__u32 buffer_size;
	__u32 max_request;
	__u32 max_reply;
	/** The number of PTLRPC_AT_MOST_ONCE requests of a client that may be in progress. 0: 8. */
	__u32 max_mod_rpcs;
	/**
	 * The parameters of early replies, which make clients wait while a handler works. 0: none, 600 s, 30 s, 5 s,
	 * 600 s.
	 */
	__u32 at_min;
	__u32 at_max;
	__u32 at_extra;
	__u32 at_early_margin;
	__u32 at_history;
	/** The longest timeout of a request, whatever its client announces. 0: 600 s. */
	__u32 longest_timeout;
	/** Clients from which nothing was received for this time are evicted. 0: never. */
	__u32 evict_unresponsive_after;
	/** The timeout of ptlrpc_unregister_service. 0: 75 s. */
	__u32 stop_timeout;
	/** A combination of PTLRPC_NO_EARLY_REPLIES and PTLRPC_NO_REPLY_FALLBACK. */
	__u32 flags;
	/** Must be 0. */
	__u32 reserved;
	/** The flags that clients get if they request them. Both 0: VERSION, AT, FULL20 and BULK_MBITS. */
	__u64 connect_flags;
	__u64 connect_flags2;
};

/** The service sends no early replies. */
#define PTLRPC_NO_EARLY_REPLIES 1
/**
 * A reply, or bulk data, that cannot take the path of its request is given up, as in Lustre; otherwise it is sent
 * once more, on any path.
 */
#define PTLRPC_NO_REPLY_FALLBACK 2

/**
 * Handles a request: reads it (ptlrpc_svc_*), transfers bulk data, makes the reply's buffers (ptlrpc_rep_pack) and
 * returns the reply's status, or PTLRPC_NO_REPLY. Called on threads of the service, on several at the same time; may
 * take long and call every function of this library except ptlrpc_unregister_service and ptlrpc_fini. The request is
 * valid only while the handler runs, on this thread. Connect and disconnect requests and pings are not passed to the
 * handler.
 */
typedef int (*svc_handler_t)(struct ptlrpc_svc_req *req, void *arg);

/** The result of a handler that sends no reply: the client is not told, and will send the request again. */
#define PTLRPC_NO_REPLY (-2147483647 - 1)

/**
 * Starts a service, and stores it in *service. Release it with ptlrpc_unregister_service. arg is passed to the
 * handler.
 *
 * Returns 0. Errors, with NULL in *service: -ENETDOWN; -EINVAL (the configuration is not valid, or has no target);
 * -EEXIST (a target twice); -EAGAIN (no threads); those of LNet.
 */
int ptlrpc_register_service(const struct ptlrpc_service_conf *conf, svc_handler_t handler, void *arg,
			    struct ptlrpc_service **service);

/**
 * Ends a service: handlers that run are completed, waiting requests are dropped, resources held for difficult replies
 * are released. Clients are not told; for them the server does not respond.
 *
 * Returns 0, and the handler is not called any more. Errors: -EINVAL; -EBUSY (called by its handler: nothing is
 * done); -ETIMEDOUT (a handler has not returned: the memory that it uses must stay). In all other cases the service
 * is released.
 */
int ptlrpc_unregister_service(struct ptlrpc_service *service);

/**
 * Declares that all transactions of this target up to transno are on disk: replies say so from now on, and difficult
 * replies that wait for it are completed. Returns 0. Errors: -EINVAL, -ENOENT (no such target).
 */
int ptlrpc_commit(struct ptlrpc_service *service, const char *target, __u64 transno);

/**
 * Ends all connections of a client; returns their number. The client learns it at its next request, and connects
 * again.
 */
int ptlrpc_evict_client(struct ptlrpc_service *service, const char *client_uuid);

/** The counters of a service since its start. */
struct ptlrpc_service_counts {
	/**
	 * Requests that arrived; whose handling has ended; that were refused with an error; that got the previous
	 * reply again.
	 */
	__u64 arrived;
	__u64 served;
	__u64 refused;
	__u64 answered_again;
	/** Requests that were dropped: malformed, late, of an old connection, or in progress already. */
	__u64 dropped;
	/** Early replies; replies that LNet could not send; replies that were sent once more on another path. */
	__u64 early_replies;
	__u64 replies_failed;
	__u64 replies_again;
	/** Bulk transfers that failed. */
	__u64 bulk_failed;
	/** Buffers that were posted for requests. */
	__u64 buffers_posted;
	/** Clients that were evicted because they did not respond. */
	__u64 evicted;
	/** The present number of connections. */
	__u64 connected;
};

/** Stores the counts. Returns 0. Error: -EINVAL. */
int ptlrpc_service_counts(const struct ptlrpc_service *service, struct ptlrpc_service_counts *counts);

/* ---- in a handler ---- */

/** Returns the opcode of the request. */
__u32 ptlrpc_svc_opcode(const struct ptlrpc_svc_req *req);

/** Returns the number of the request, which stays the same if it is sent again. */
__u64 ptlrpc_svc_xid(const struct ptlrpc_svc_req *req);

/** Returns 1 if the client has sent the request before, 0 if not. */
int ptlrpc_svc_is_resent(const struct ptlrpc_svc_req *req);

/** Returns 1 if the client's byte order is not this machine's, 0 if it is. */
int ptlrpc_svc_is_swabbed(const struct ptlrpc_svc_req *req);

/**
 * Returns buffer index of the request, from 1, and stores its length in *len (unless NULL). The contents are what the
 * client has sent, unchecked. The buffer is where it arrived, aligned to 8 bytes; do not write to it. NULL: there is
 * no such buffer.
 */
const void *ptlrpc_svc_buf(const struct ptlrpc_svc_req *req, __u32 index, __u32 *len);

/** Stores the client's process, by its primary NID. Returns 0. Error: -EINVAL. */
int ptlrpc_svc_peer(const struct ptlrpc_svc_req *req, struct lnet_process_id *peer);

/** Stores the interface that the client sent the request from, to which the reply goes. Returns 0. Error: -EINVAL. */
int ptlrpc_svc_source(const struct ptlrpc_svc_req *req, struct lnet_process_id *source);

/**
 * Stores the interface of this node that the request came to, from which the reply leaves. Returns 0. Error: -EINVAL.
 */
int ptlrpc_svc_self(const struct ptlrpc_svc_req *req, lnet_nid_t *self);

/** Stores the client's UUID, with a NUL: uuid has space for PTLRPC_NAME_SIZE bytes. Returns 0. Error: -EINVAL. */
int ptlrpc_svc_client(const struct ptlrpc_svc_req *req, char *uuid);

/** Stores the target that the client is connected to, as ptlrpc_svc_client does. */
int ptlrpc_svc_target(const struct ptlrpc_svc_req *req, char *target);

/** Returns the time for which the client still waits. Early replies extend it. */
__u32 ptlrpc_svc_time_left(const struct ptlrpc_svc_req *req);

/**
 * Writes length bytes to the memory that the client offers (PTLRPC_FROM_SERVICE), and waits until they have arrived.
 * Nothing is copied here; when the function returns the caller may reuse the memory.
 *
 * Returns 0. Errors: -EINVAL; -EPROTO (the client offers no memory, or less); -ETIMEDOUT (it has given up); -EIO and
 * others. After an error no reply is sent, whatever the handler returns: the client has to send the request again.
 */
int ptlrpc_bulk_put(struct ptlrpc_svc_req *req, const void *memory, size_t length);

/** Reads length bytes of the client's memory (PTLRPC_TO_SERVICE); otherwise like ptlrpc_bulk_put. */
int ptlrpc_bulk_get(struct ptlrpc_svc_req *req, void *memory, size_t length);

/**
 * Makes count buffers of these lengths for the reply, zeroed, replacing previous ones. Without this call the reply
 * has none. A reply longer than max_reply becomes the error -EOVERFLOW. Returns 0. Error: -EINVAL (more than 31
 * buffers, or 1 MiB).
 */
int ptlrpc_rep_pack(struct ptlrpc_svc_req *req, __u32 count, const __u32 *lens);

/** Returns buffer index of the reply, from 1, to be filled. NULL: there is no such buffer. */
void *ptlrpc_svc_rep_buf(struct ptlrpc_svc_req *req, __u32 index);

/** Sets the transaction number of the request. Returns 0. Error: -EINVAL. */
int ptlrpc_svc_set_transno(struct ptlrpc_svc_req *req, __u64 transno);

/** The reason why resources for a difficult reply need not be held any more. */
enum ptlrpc_reply_done {
	/** The client has the reply. */
	PTLRPC_REPLY_ACKED = 0,
	/** The transaction is on disk: ptlrpc_commit. */
	PTLRPC_REPLY_COMMITTED = 1,
	/** The client is disconnected, the service ends, or there was no reply. */
	PTLRPC_REPLY_LOST = 2,
};

/**
 * Makes the reply difficult: the program holds a resource until the client has the reply, or transaction transno (0:
 * none) is on disk, or the client is disconnected. Then done is called, exactly once, with an enum ptlrpc_reply_done,
 * on a thread of the service, and must return soon.
 *
 * Returns 0. Errors, and done is not called: -EINVAL, -EEXIST (called before).
 */
int ptlrpc_rep_difficult(struct ptlrpc_svc_req *req, __u64 transno, void (*done)(void *arg, int why), void *arg);

#ifdef __cplusplus
}
#endif

#endif
