/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The functions of the LNet API: of Lustre 2.10, or of the release that LNET_API names.
 *
 * Results: 0 or a positive number for success, a negative errno for failure; errno is never set. Every function but
 * LNetNIInit returns -ENETDOWN while the network is down, and in a child process after fork (which may start the
 * network again), -EFAULT if a pointer that must not be NULL is NULL, and -EIO after an internal error of the
 * library, after which every call returns -ENETDOWN.
 *
 * Threads: every function may be called from every thread at any time. A function may be called from an event handler
 * only if its comment says so; lnet_eq_handler_t describes what else a handler may do.
 */
#ifndef LNET_API_H
#define LNET_API_H

#include <lnet/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- up and down ---- */

/**
 * Starts the network, or takes another reference if it is up.
 *
 * requested_pid becomes the PID of this node if the call starts it (LNET_PID_LUSTRE for all known
 * consumers); LNET_PID_ANY takes a reference only. The networks are configured by the environment:
 * LNET_NETWORKS and other variables; see the manual. Without them, or with LNET_ATTACH, the call attaches
 * to the node of an lnetd that admits this process: the PID is then another one if a program has it already,
 * see LNetGetId.
 *
 * Returns the number of references before the call: 0 if this call started the network, or a
 * positive number. Test for < 0, never for != 0. Errors: -ENETDOWN (LNET_PID_ANY, and the network is
 * down), -EINVAL (the configuration, or a PID with LNET_PID_USERFLAG), -ENOMEM, and the errors of a network's
 * driver. After an error there is no reference. Must not be called from an event handler.
 */
int LNetNIInit(lnet_pid_t requested_pid);

/**
 * Releases the reference of one LNetNIInit. The last call stops the network: the remaining match
 * entries, memory descriptors and event queues are freed, without events. Threads that wait for events in LNetEQWait or
 * LNetEQPoll return -ENETDOWN.
 *
 * Before that, PUTs and GETs that have not been sent yet have two seconds to leave, and ACKs and REPLYs to other nodes
 * half a second. Messages that have not left then end with -ESHUTDOWN, and the log has their number. The call does not wait for
 * the ACKs and REPLYs to this node's own requests. A process that exits without this call loses the messages that have not left.
 *
 * Returns 0; -ENETDOWN if there was no reference. Waits for event handlers that are running. Must not be called from an
 * event handler.
 */
int LNetNIFini(void);

/* ---- addresses ---- */

#if LNET_API < 0x20f00
/**
 * Stores in *id the address of this node's interface number index. Number 0 is 0@lo. Interfaces with 16-byte addresses are not counted.
 *
 * Returns 0; -ENOENT if there is no interface with this number, with *id unchanged.
 * Allowed in an event handler.
 */
int LNetGetId(unsigned int index, struct lnet_process_id *id);
#endif

#if LNET_API < 0x21100
/**
 * The distance of an interface: 0 for an interface of this node, 1 on a network that this node is on, more
 * over routers.
 *
 * Stores the interface of this node that would send in *srcnid (unless NULL), and in *order (unless NULL) the
 * rank among paths of equal distance: smaller is better, 0 is 0@lo, 1 another interface of this
 * node. Error: -EHOSTUNREACH. Allowed in an event handler.
 */
int LNetDist(lnet_nid_t nid, lnet_nid_t *srcnid, __u32 *order);

/**
 * The primary NID of the node that has the interface nid: match entries compare it, and it is the initiator in
 * events. nid itself if the node is unknown, and if its primary NID has an address of 16 bytes: match entries with nid match the
 * node's messages then, too.
 *
 * The result stays valid: a match id with it matches the node's messages, and it is their initiator, whatever discovery
 * finds later. A node that has not been discovered is discovered. The call does not wait for that: its result
 * stays the node's primary NID. If the environment has LNET_LOCK_PRIM_NID=0 it waits, but not in an event handler,
 * for at most twice the transaction timeout; then the result is permanent only for nodes that could not be discovered.
 */
lnet_nid_t LNetPrimaryNID(lnet_nid_t nid);

/**
 * Declares that these NIDs, at most 128, belong to one node. From 2.15. The first one is its primary NID, permanently unless
 * the environment has LNET_LOCK_PRIM_NID=0. Without discovery each NID is a separate node. Configured peers are not changed.
 * Sends nothing.
 *
 * Returns 0. Errors: -ENETDOWN, -EFAULT (NULL), -EINVAL (no NID but 0@lo, or an invalid one, or too many), -EEXIST (a NID is
 * locked to another node), -EPERM (the node is configured without this NID). After -EEXIST or -EPERM the NIDs before the
 * failing one belong to the node. -EBUSY from an event handler.
 */
int LNetAddPeer(lnet_nid_t *nids, __u32 num_nids);

/**
 * Whether the node with this NID can be used. From 2.17, where NIDs are larger. Does not wait.
 *
 * Returns 1 if so. -EALREADY: a discovery is in progress. -EAGAIN: a discovery has been started. -EHOSTUNREACH: the node is
 * not known, or it has not responded; the next call tries again. -EINVAL: the argument is not a NID.
 * Errors: -ENETDOWN.
 */
int LNetPeerDiscovered(lnet_nid_t nid);
#endif

/** Whether this node discovers others: 1 or 0. From 2.12. Errors: -ENETDOWN. Allowed in an event handler. */
int LNetGetPeerDiscoveryStatus(void);

#if LNET_API < 0x20f00
/** Logs this node's knowledge of a peer. Allowed in an event handler. */
void LNetDebugPeer(struct lnet_process_id id);

/* ---- match entries ---- */

/**
 * Adds a match entry to a portal. It matches nothing until it has a memory descriptor, not even the PUTs that wait
 * on a lazy portal, which LNetMDAttach delivers.
 *
 * The entry matches messages from match_id whose match bits equal match_bits where ignore_bits has zeros. The NID in match_id is any of
 * the node, for which the primary NID is taken that is known now; LNET_NID_ANY and LNET_PID_ANY are wildcards. With LNET_UNLINK it is removed together with its memory
 * descriptor, with LNET_RETAIN it stays. The first entry of a portal decides permanently whether the portal is for
 * entries with wildcards (in match_id or ignore_bits) or without.
 *
 * Stores the handle in *handle. Errors: -EINVAL (no such portal), -EPERM (an entry of another kind than the
 * portal's; pos is unknown), -ENOMEM. Must not be called from an event handler.
 */
int LNetMEAttach(unsigned int portal, struct lnet_process_id match_id, __u64 match_bits,
		__u64 ignore_bits, enum lnet_unlink unlink, enum lnet_ins_pos pos,
		struct lnet_handle_me *handle);

/**
 * Adds a match entry beside another, on the same portal. The portal must be one for wildcards.
 *
 * Stores the handle in *handle. Errors: -ENOENT (current is no match entry), -EPERM (LNET_INS_LOCAL; a
 * portal without wildcards), -ENOMEM. Must not be called from an event handler.
 */
int LNetMEInsert(struct lnet_handle_me current, struct lnet_process_id match_id, __u64 match_bits,
		__u64 ignore_bits, enum lnet_unlink unlink, enum lnet_ins_pos pos,
		struct lnet_handle_me *handle);

/**
 * Removes a match entry, and its memory descriptor if it has one.
 *
 * If the memory descriptor has an event queue and nothing is in progress with it, its
 * LNET_EVENT_UNLINK is delivered before the function returns; otherwise the last operation's event has
 * `unlinked` set. The handle is invalid on return. Error: -ENOENT. Must not be called from an event handler.
 */
int LNetMEUnlink(struct lnet_handle_me me);
#endif

/* ---- memory ---- */

/**
 * Allocates memory for memory descriptors. Of liblnet only. The node of a program that is attached to another process accesses it in
 * place; what is in other memory is copied once more, on its way to that process and back. For a node in this process it is memory like any
 * other.
 *
 * Returns the address of length bytes, all zero, at the beginning of a page; NULL without memory, if length is 0, and while the network is
 * down. The memory belongs to the program until LNetMemFree, also after LNetNIFini. Must not be called from an event handler.
 */
void *LNetMemAlloc(size_t length);

/**
 * Frees memory of LNetMemAlloc. No memory descriptor that is made of it may be left. Of liblnet only.
 *
 * Returns 0, also for NULL; -EINVAL for another address. Must not be called from an event handler.
 */
int LNetMemFree(void *memory);

#if LNET_API < 0x20f00
/* ---- memory descriptors ---- */

/**
 * Attaches a memory descriptor to a match entry: messages that match it may use the memory from now on.
 *
 * md and the fragment array that it may point to are copied. With LNET_UNLINK the descriptor is unlinked when it is
 * exhausted, with LNET_RETAIN it stays until LNetMDUnlink.
 *
 * On a lazy portal the waiting PUTs that match are delivered to the descriptor, oldest first, until it is exhausted. For
 * PUTs whose data has arrived, the events come before the function returns, and their handler runs on the calling thread; so
 * the caller must hold no lock that the handler takes. For PUTs whose data is still arriving, the events come when it has
 * arrived. If another thread attaches matching memory at the same time, each PUT goes to one of the two.
 *
 * Stores the handle in *handle before any event of the descriptor. Errors: -EINVAL (md is not valid, or allows
 * neither PUT nor GET), -ENOENT (no such match entry or event queue), -EBUSY (the match entry has one already),
 * -ENOMEM. After an error the match entry is not changed. Must not be called from an event handler.
 */
int LNetMDAttach(struct lnet_handle_me me, struct lnet_md md, enum lnet_unlink unlink,
		struct lnet_handle_md *handle);

/**
 * Binds memory for LNetPut and LNetGet.
 *
 * md and the fragment array that it may point to are copied. With LNET_UNLINK the descriptor is unlinked when it is
 * exhausted, with LNET_RETAIN it stays until LNetMDUnlink.
 *
 * Stores the handle in *handle. Errors: -EINVAL (md is not valid, or allows PUT or GET), -ENOENT (no such event
 * queue), -ENOMEM. Must not be called from an event handler.
 */
int LNetMDBind(struct lnet_md md, enum lnet_unlink unlink, struct lnet_handle_md *handle);

/**
 * Ends a memory descriptor.
 *
 * If nothing is in progress with it, its LNET_EVENT_UNLINK is delivered before the function returns. Otherwise
 * the function returns at once and the last operation's event has `unlinked` set; until that event the memory is
 * in use. The handle is invalid on return either way. Error: -ENOENT (also for a descriptor that was unlinked automatically,
 * whose last event may not have been delivered yet). Must not be called from an event handler.
 */
int LNetMDUnlink(struct lnet_handle_md md);

/* ---- event queues ---- */

/**
 * Makes an event queue.
 *
 * count is the number of events that the queue keeps for LNetEQGet, LNetEQWait and LNetEQPoll (rounded up to a power of
 * two; when it is full the oldest is lost); 0 for none. handler, unless it is LNET_EQ_HANDLER_NONE, is
 * called for every event. At least one of the two must be given.
 *
 * Stores the handle in *handle. Errors: -EINVAL, -ENOMEM. Must not be called from an event handler.
 */
int LNetEQAlloc(unsigned int count, lnet_eq_handler_t handler, struct lnet_handle_eq *handle);

/**
 * Frees an event queue; unread events are lost. Threads that wait for an event of it in LNetEQWait or LNetEQPoll
 * return -ENOENT.
 *
 * After the last event of the last memory descriptor that uses it, this succeeds from any thread. Errors: -ENOENT,
 * -EBUSY (a memory descriptor uses it). Not from an event handler.
 */
int LNetEQFree(struct lnet_handle_eq eq);

/**
 * Removes the oldest event from a queue.
 *
 * Returns 1 and stores the event in *event; 0 if there is none; -EOVERFLOW if it is stored but earlier events
 * were lost; -ENOENT for a bad handle.
 */
int LNetEQGet(struct lnet_handle_eq eq, struct lnet_event *event);

/**
 * Does the same as LNetEQGet, but waits until there is an event.
 *
 * Also returns -ENOENT when the queue is freed meanwhile, and -ENETDOWN when the network goes down. In an event
 * handler: -EBUSY, without waiting.
 */
int LNetEQWait(struct lnet_handle_eq eq, struct lnet_event *event);

/**
 * Removes the oldest event from the first of neq queues that has one; waits up to timeout for an event.
 *
 * timeout is in milliseconds: 0 does not wait; a negative value and LONG_MAX wait without limit. Stores
 * the event in *event and the index of its queue in *which. Returns like LNetEQGet, and 0 at the
 * timeout; -ENOENT also for neq < 1, and when one of the queues is freed meanwhile; -ENETDOWN when the network goes
 * down. In an event handler, unless timeout is 0: -EBUSY, without waiting.
 */
int LNetEQPoll(struct lnet_handle_eq *eqs, int neq, long timeout, struct lnet_event *event,
		int *which);
#endif

#if LNET_API < 0x21100
/* ---- moving data ---- */

/**
 * Sends all of a memory descriptor's data to a target.
 *
 * self_nid is the interface to send from, and then the target's NID is used unchanged; LNET_NID_ANY leaves both to
 * LNet. The target receives the data into the match entry that matches on portal by match_bits and this node; offset only
 * has an effect with LNET_MD_MANAGE_REMOTE there. hdr_data becomes part of the target's event.
 *
 * Returns 0 when the PUT was accepted: everything else, including that it cannot be sent, is reported by events:
 * LNET_EVENT_SEND, and LNET_EVENT_ACK if ack is LNET_ACK_REQ and the target accepted it. The events may come before the function
 * returns.
 *
 * If the ACK does not come within the transaction timeout (LNET_TRANSACTION_TIMEOUT) the memory descriptor is
 * unlinked, and its last event, LNET_EVENT_UNLINK if nothing else is in progress, has the status -ETIMEDOUT. If
 * LNET_EVENT_SEND has another status than 0, no ACK is awaited: its share of the threshold is taken, so that a
 * memory descriptor for just this PUT ends with that event.
 *
 * The status is -EINVAL if self_nid is not this node's, -EHOSTUNREACH if there is no path to the target or it
 * refuses connections, -EMSGSIZE for more than LNET_MTU bytes, -ECANCELED if the memory descriptor was unlinked
 * before the message was sent, -ESHUTDOWN if the node shuts down or its interface is removed, -ETIMEDOUT, or the
 * error of the network.
 *
 * Errors, without events: -ENOENT (no such memory descriptor, or it is exhausted, or attached to a match entry),
 * -EINVAL (ack; portal is not below MAX_PORTALS, the number of portals of every node), -ENOMEM, -EIO (fault
 * injection). Must not be called from an event handler.
 */
int LNetPut(lnet_nid_t self_nid, struct lnet_handle_md md, enum lnet_ack_req ack,
		struct lnet_process_id target, unsigned int portal, __u64 match_bits,
		unsigned int offset, __u64 hdr_data);
#endif

#if LNET_API < 0x20f00
/**
 * Fetches data from a target into all of a memory descriptor.
 *
 * The arguments are those of LNetPut. Returns 0 when the GET was accepted: everything else is reported by events:
 * LNET_EVENT_SEND, and LNET_EVENT_REPLY when the data has arrived. They may come before the function returns, in any order.
 * If the REPLY does not come, or cannot come because LNET_EVENT_SEND failed, the events are those of LNetPut without an
 * ACK, and so are the statuses. Errors, without events: those of LNetPut. Must not be called from an event handler.
 */
int LNetGet(lnet_nid_t self_nid, struct lnet_handle_md md, struct lnet_process_id target,
		unsigned int portal, __u64 match_bits, unsigned int offset);
#endif

/* ---- portals ---- */

/**
 * Makes a portal lazy: PUTs that nothing matches wait for a memory descriptor instead of being dropped.
 * GETs never wait.
 *
 * Returns 0; -EINVAL for a number that is no portal's. Must not be called from an event handler.
 */
int LNetSetLazyPortal(int portal);

/**
 * Makes a portal not lazy, and drops the PUTs that wait, before it returns.
 *
 * Returns 0, also if the portal was not lazy; -EINVAL for a number that is no portal's. Must not be called from an event
 * handler.
 */
int LNetClearLazyPortal(int portal);

/**
 * Claims match bits at a portal, except for the bits that are set in ignore_bits, for messages to the PID of this process: programs that share
 * a node, or libraries of one process, so find out which of them may use an address. Of liblnet only. A claim does not attach anything, and
 * match entries need none; it ends with LNetReleaseBits, LNetNIFini or the end of the process.
 *
 * A process that has claimed bits has the PID that it asked for in LNetNIInit, as LNetGetId tells, even if another program on its node has that
 * PID: match bits tell them apart.
 *
 * Returns 0; -EADDRINUSE if some of these bits are claimed at that portal for the same PID, by any program of the node; -EINVAL for portal 0 and
 * numbers that are no portal's; -ENOMEM for too many claims.
 */
int LNetClaimBits(unsigned int portal, __u64 match_bits, __u64 ignore_bits);

/**
 * Ends a claim of LNetClaimBits, with the same arguments. Of liblnet only.
 *
 * Returns 0; -ENOENT if this process has no such claim.
 */
int LNetReleaseBits(unsigned int portal, __u64 match_bits, __u64 ignore_bits);

/* ---- errors ---- */

/**
 * The meaning of a result: of a call of the function with this name, or, if call is NULL, of the status of an event. Of liblnet only. The text
 * names what is usually wrong; where there is nothing to say but the error, it is that of strerror.
 *
 * Returns a string that stays valid, without a full stop, never NULL. Allowed in an event handler, and while the network is down.
 */
const char *LNetErrorText(const char *call, int result);

/* ---- configuration and inquiry ---- */

/**
 * Sends a command or a query to the node. cmd is an IOC_LIBCFS_* number, arg its argument,
 * which starts with a struct libcfs_ioctl_hdr; results are stored in it. IOC_LIBCFS_LNET_FAULT may leave the header
 * and the lengths of its buffers zero.
 *
 * Returns 0. Errors: -EINVAL (unknown command; wrong header, length or content), -EOPNOTSUPP (a command
 * that this library does not have), -ENOENT (past the end of a list), and the errors of the command. Must not be called
 * from an event handler.
 */
int LNetCtl(unsigned int cmd, void *arg);

#ifdef __cplusplus
}
#endif

#if LNET_API >= 0x20f00
#include <lnet/v2_15/api.h>
#endif

#endif
