/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The functions that the LNet API of 2.15 and later releases has in another form than that of 2.10: lnet/api.h includes this
 * header if LNET_API asks for it. What that header says of results and threads holds here, too. */
#ifndef LNET_V2_15_API_H
#define LNET_V2_15_API_H

#include <lnet/api.h>

#if LNET_API >= 0x20f00
#include <stdbool.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- addresses ---- */

#if LNET_API < 0x21100
/**
 * Stores in *id the address of this node's interface number index. Number 0 is 0@lo. Interfaces with 16-byte addresses are not counted.
 *
 * Returns 0; -ENOENT if there is no interface with this number, with *id unchanged.
 * Allowed in an event handler.
 */
int LNetGetId(unsigned int index, struct lnet_processid *id)
		LNET_SYMBOL(LNetGetId_2_15);

/** Whether a NID is one of this node's. Allowed in an event handler. */
bool LNetIsPeerLocal(lnet_nid_t nid)
		LNET_SYMBOL(LNetIsPeerLocal_2_15);
#endif

/** Logs this node's knowledge of a peer. Allowed in an event handler. */
void LNetDebugPeer(struct lnet_processid *id)
		LNET_SYMBOL(LNetDebugPeer_2_15);

/* ---- match entries ---- */

/**
 * Adds a match entry to a portal. It matches nothing until it has a memory descriptor, not even the PUTs that wait
 * on a lazy portal, which LNetMDAttach delivers.
 *
 * The entry matches messages from match_id whose match bits equal match_bits where ignore_bits has zeros. The NID in match_id is any of
 * the node, for which the primary NID is taken that is known now; a NID of type 0xff and LNET_PID_ANY are wildcards. With LNET_UNLINK it is removed together with its memory
 * descriptor, with LNET_RETAIN it stays until LNetNIFini. The first entry of a portal decides permanently whether the portal is for
 * entries with wildcards (in match_id or ignore_bits) or without.
 *
 * Returns the entry, which is not to be dereferenced. Errors, as pointers for which IS_ERR holds: -EINVAL (no such portal, or match_id is
 * no NID), -EPERM (an entry of another kind than the portal's; pos is unknown), -EFAULT, -ENOMEM, -ENETDOWN. Must not be called from an
 * event handler.
 */
struct lnet_me *LNetMEAttach(unsigned int portal, struct lnet_processid *match_id, __u64 match_bits,
		__u64 ignore_bits, enum lnet_unlink unlink, enum lnet_ins_pos pos)
		LNET_SYMBOL(LNetMEAttach_2_15);

/* ---- memory descriptors ---- */

/**
 * Attaches a memory descriptor to a match entry: messages that match it may use the memory from now on.
 *
 * *md and the fragment array that it may point to are copied. With LNET_UNLINK the descriptor is unlinked when it is
 * exhausted, with LNET_RETAIN it stays until LNetMDUnlink.
 *
 * On a lazy portal the waiting PUTs that match are delivered to the descriptor, oldest first, until it is exhausted. For
 * PUTs whose data has arrived, the events come before the function returns, and their handler runs on the calling thread; so
 * the caller must hold no lock that the handler takes. For PUTs whose data is still arriving, the events come when it has
 * arrived. If another thread attaches matching memory at the same time, each PUT goes to one of the two.
 *
 * Stores the handle in *handle before any event of the descriptor. Errors: -EINVAL (*md is not valid, or allows
 * neither PUT nor GET), -ENOENT (no such match entry), -EBUSY (the match entry has one already), -EFAULT, -ENOMEM. After an error
 * the match entry is gone, unless it has another descriptor, which it keeps. Must not be called from an event handler.
 */
int LNetMDAttach(struct lnet_me *me, const struct lnet_md *md, enum lnet_unlink unlink,
		struct lnet_handle_md *handle)
		LNET_SYMBOL(LNetMDAttach_2_15);

/**
 * Binds memory for LNetPut and LNetGet.
 *
 * *md and the fragment array that it may point to are copied. With LNET_UNLINK the descriptor is unlinked when it is
 * exhausted, with LNET_RETAIN it stays until LNetMDUnlink.
 *
 * Stores the handle in *handle. Errors: -EINVAL (*md is not valid, allows PUT or GET, or has more than LNET_MTU bytes), -EFAULT,
 * -ENOMEM. Must not be called from an event handler.
 */
int LNetMDBind(const struct lnet_md *md, enum lnet_unlink unlink, struct lnet_handle_md *handle)
		LNET_SYMBOL(LNetMDBind_2_15);

#if LNET_API < 0x21100
/**
 * Ends a memory descriptor. LNetMDUnlink is a macro for it.
 *
 * If nothing is in progress with it, its LNET_EVENT_UNLINK is delivered before the function returns. Otherwise the last operation's event
 * has `unlinked` set; until that event the memory is in use. In both cases a handler of the descriptor that is running has returned
 * when the function returns, unless it is called from a handler. Messages that have not been sent are cancelled whether discard is
 * set or not. The handle is invalid on return. Error: -ENOENT (also for a descriptor that was unlinked automatically, whose
 * last event may not have been delivered yet).
 */
int __LNetMDUnlink(struct lnet_handle_md md, bool discard)
		LNET_SYMBOL(__LNetMDUnlink_2_15);

/** Ends a memory descriptor: see __LNetMDUnlink. */
#define LNetMDUnlink(md) __LNetMDUnlink(md, false)
#endif

/**
 * Holds that no memory descriptor uses a handler any more: before the code of the handler is unloaded, or at the end of a program. Waits
 * for a call of the handler with the last event of a descriptor, but not in a handler. If it is in use still, the log has a
 * line that says so; the kernel stops there.
 */
void lnet_assert_handler_unused(lnet_handler_t handler)
		LNET_SYMBOL(lnet_assert_handler_unused_2_15);

#if LNET_API < 0x21100
/* ---- moving data ---- */

/**
 * Fetches data from a target into all of a memory descriptor, as LNetGet of 2.10 does.
 *
 * recovery has no effect: the node sends its recovery pings itself. Returns 0 when the GET was accepted; lnet/api.h has its events and their
 * statuses at LNetGet. Errors, without events: those of LNetPut. Must not be called from an event handler.
 */
int LNetGet(lnet_nid_t self_nid, struct lnet_handle_md md, struct lnet_process_id target,
		unsigned int portal, __u64 match_bits, unsigned int offset, bool recovery)
		LNET_SYMBOL(LNetGet_2_15);
#endif

#ifdef __cplusplus
}
#endif

#if LNET_API >= 0x21100
#include <lnet/v2_17/api.h>
#endif
#endif

#endif
