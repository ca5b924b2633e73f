/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The functions that the LNet API of 2.17 has in another form than that of 2.15: lnet/api.h includes this header if LNET_API
 * asks for it. What that header says of results and threads holds here, too. */
#ifndef LNET_V2_17_API_H
#define LNET_V2_17_API_H

#include <lnet/api.h>

#if LNET_API >= 0x21100
#include <stdbool.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- addresses ---- */

/**
 * Stores in *id the address of this node's interface number index. Number 0 is 0@lo. Interfaces with 16-byte addresses are counted only
 * if large_nids is set.
 *
 * Returns 0; -ENOENT if there is no interface with this number, with *id unchanged.
 * Allowed in an event handler.
 */
int LNetGetId(unsigned int index, struct lnet_processid *id, bool large_nids)
		LNET_SYMBOL(LNetGetId_2_17);

/**
 * The distance of an interface: 0 for an interface of this node, 1 on a network that this node is on, more
 * over routers.
 *
 * Stores the interface of this node that would send in *srcnid (unless NULL), and in *order (unless NULL) the
 * rank among paths of equal distance: smaller is better, 0 is 0@lo, 1 another interface of this
 * node. Errors: -EHOSTUNREACH, -EFAULT. Allowed in an event handler.
 */
int LNetDist(struct lnet_nid *nid, struct lnet_nid *srcnid, __u32 *order)
		LNET_SYMBOL(LNetDist_2_17);

/**
 * Replaces *nid, the NID of an interface, by the primary NID of its node: match entries compare it, and it is the initiator in
 * events. *nid stays if the node is unknown, and if it is 0@lo.
 *
 * The result stays valid: a match id with it matches the node's messages, and it is their initiator, whatever discovery
 * finds later. A node that has not been discovered is discovered. The call does not wait for that: its result
 * stays the node's primary NID. If the environment has LNET_LOCK_PRIM_NID=0 it waits, but not in an event handler,
 * for at most twice the transaction timeout; then the result is permanent only for nodes that could not be discovered.
 */
void LNetPrimaryNID(struct lnet_nid *nid)
		LNET_SYMBOL(LNetPrimaryNID_2_17);

/**
 * Stores in *nid the primary NID of this node: that of its first interface after 0@lo, by which other nodes know it.
 *
 * Returns 0; -ENOENT if there is no other interface than 0@lo, with *nid unchanged. The signature is liblnet's: c-abi does not have it.
 * Allowed in an event handler.
 */
int LNetLocalPrimaryNID(struct lnet_nid *nid)
		LNET_SYMBOL(LNetLocalPrimaryNID_2_17);

/** Whether a NID is one of this node's. Allowed in an event handler. */
bool LNetIsPeerLocal(struct lnet_nid *nid)
		LNET_SYMBOL(LNetIsPeerLocal_2_17);

/**
 * Declares that these NIDs, at most 128, belong to one node. The first one is its primary NID, permanently unless
 * the environment has LNET_LOCK_PRIM_NID=0. Without discovery each NID is a separate node. Configured peers are not changed.
 * Sends nothing.
 *
 * Errors are not reported: nothing is changed for NULL, for no NID but 0@lo, an invalid one or too many; a NID that is locked to another
 * node, or that the node is configured without, ends the call, and the NIDs before it belong to the node. Has no effect in an event
 * handler.
 */
void LNetAddPeer(struct lnet_nid *nids, int num_nids)
		LNET_SYMBOL(LNetAddPeer_2_17);

/**
 * Whether the node with this NID can be used. Does not wait.
 *
 * Returns 1 if so. -EALREADY: a discovery is in progress. -EAGAIN: a discovery has been started. -EHOSTUNREACH: the node is
 * not known, or it has not responded; the next call tries again. -EINVAL: the argument is not a NID.
 * Errors: -ENETDOWN, -EFAULT.
 */
int LNetPeerDiscovered(struct lnet_nid *nid)
		LNET_SYMBOL(LNetPeerDiscovered_2_17);

/**
 * Stores in nids, which has room for count, the NIDs of a node that has *nid, as far as this node knows it: the primary NID first. With
 * NULL for nid, and with a NID of this node, these are the NIDs of this node without 0@lo.
 *
 * Returns the number of these NIDs, which may be more than count. Errors: -ENOENT (the node is not known), -EINVAL (*nid is not a NID, or
 * count is negative), -EFAULT (nids is NULL, but count is not 0), -ENETDOWN. An attached program asks for another node's NIDs by the control
 * socket of lnetd, and gets an error if it may not. The signature is liblnet's: c-abi does not have it. Must not be called from an event
 * handler.
 */
int LNetFetchNIDs(struct lnet_nid *nid, struct lnet_nid *nids, int count)
		LNET_SYMBOL(LNetFetchNIDs_2_17);

/**
 * Called for each NID of this node, without 0@lo, that has come (is_there is set) or gone, on a thread of the library. nid is valid
 * until the function returns. It may call every function that may be called from an event handler, and LNetUnRegisterNIDUpdates.
 */
typedef void (*lnet_nid_update_t)(const struct lnet_nid *nid, bool is_there, void *data);

/**
 * Lets update be called with data when a NID of this node comes or goes: within some seconds, and not for those that are there now.
 * LNetUnRegisterNIDUpdates and the last LNetNIFini end that.
 *
 * Returns 0. Errors: -EINVAL (update is NULL), -EEXIST (it is registered with these data), -ENOMEM (no thread), -ENETDOWN. The signature
 * is liblnet's: c-abi does not have it. Must not be called from an event handler.
 */
int LNetRegisterNIDUpdates(lnet_nid_update_t update, void *data)
		LNET_SYMBOL(LNetRegisterNIDUpdates_2_17);

/**
 * Ends one LNetRegisterNIDUpdates with the same arguments. A call of the function that is running has returned when this
 * function returns, unless it is called from there.
 *
 * Returns 0; -ENOENT if there is no such registration; -ENETDOWN; -EBUSY in an event handler. The signature is liblnet's: c-abi does not have it.
 */
int LNetUnRegisterNIDUpdates(lnet_nid_update_t update, void *data)
		LNET_SYMBOL(LNetUnRegisterNIDUpdates_2_17);

/* ---- memory descriptors ---- */

/**
 * Ends a memory descriptor, and waits for its handler, as __LNetMDUnlink of 2.15 does (lnet/v2_15/api.h). Messages that have not been sent
 * are cancelled. The handle is invalid on return. Error: -ENOENT (also for a descriptor that was unlinked automatically).
 */
int LNetMDUnlink(struct lnet_handle_md md)
		LNET_SYMBOL(LNetMDUnlink_2_17);

/* ---- moving data ---- */

/**
 * Sends all of a memory descriptor's data to a target.
 *
 * *self_nid is the interface to send from, and then the target's NID is used unchanged; NULL, and a NID that stands for any, leave both to
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
 * The status is -EINVAL if *self_nid is not this node's, -EHOSTUNREACH if there is no path to the target or it
 * refuses connections, -EMSGSIZE for more than LNET_MTU bytes, -ECANCELED if the memory descriptor was unlinked
 * before the message was sent, -ESHUTDOWN if the node shuts down or its interface is removed, -ETIMEDOUT, or the
 * error of the network.
 *
 * Errors, without events: -ENOENT (no such memory descriptor, or it is exhausted, or attached to a match entry),
 * -EINVAL (ack; *self_nid is not a NID; portal is not below MAX_PORTALS, the number of portals of every node), -EFAULT (target
 * is NULL), -ENOMEM, -EIO (fault injection). Must not be called from an event handler.
 */
int LNetPut(struct lnet_nid *self_nid, struct lnet_handle_md md, enum lnet_ack_req ack,
		struct lnet_processid *target, unsigned int portal, __u64 match_bits,
		unsigned int offset, __u64 hdr_data)
		LNET_SYMBOL(LNetPut_2_17);

/**
 * Fetches data from a target into all of a memory descriptor, as LNetGet of 2.15 does, with the arguments of LNetPut.
 *
 * Returns 0 when the GET was accepted; lnet/api.h has its events and their statuses at LNetGet. Errors, without events: those of LNetPut. Must
 * not be called from an event handler.
 */
int LNetGet(struct lnet_nid *self_nid, struct lnet_handle_md md, struct lnet_processid *target,
		unsigned int portal, __u64 match_bits, unsigned int offset, bool recovery)
		LNET_SYMBOL(LNetGet_2_17);

#ifdef __cplusplus
}
#endif
#endif

#endif
