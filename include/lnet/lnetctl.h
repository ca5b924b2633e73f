/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fault injection: rules that drop or delay messages. Also the names of the kernel's device. */
#ifndef LNET_LNETCTL_H
#define LNET_LNETCTL_H

#include <lnet/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The operations of IOC_LIBCFS_LNET_FAULT (in ioc_flags). */
enum {
	LNET_CTL_DROP_ADD,
	LNET_CTL_DROP_DEL,
	LNET_CTL_DROP_RESET,
	LNET_CTL_DROP_LIST,
	LNET_CTL_DELAY_ADD,
	LNET_CTL_DELAY_DEL,
	LNET_CTL_DELAY_RESET,
	LNET_CTL_DELAY_LIST
};

/** Bits of fa_msg_mask. */
#define LNET_ACK_BIT (1 << 0)
#define LNET_PUT_BIT (1 << 1)
#define LNET_GET_BIT (1 << 2)
#define LNET_REPLY_BIT (1 << 3)

/** A fault rule: the messages that it matches, and its effect. */
struct lnet_fault_attr {
	/** The sender and the receiver; LNET_NID_ANY, or an address part of all ones, matches several. */
	lnet_nid_t fa_src;
	lnet_nid_t fa_dst;
	/** Bit n stands for portal n; 0: all portals. */
	__u64 fa_ptl_mask;
	/** The types of message; 0: all types. */
	__u32 fa_msg_mask;
	union {
		struct {
			/** The rule drops one of da_rate messages ... */
			__u32 da_rate;
			/** ... or one message in da_interval seconds. */
			__u32 da_interval;
		} drop;
		struct {
			/** The rule delays one of la_rate messages ... */
			__u32 la_rate;
			/** ... or one message in la_interval seconds ... */
			__u32 la_interval;
			/** ... by la_latency seconds. */
			__u32 la_latency;
		} delay;
		__u64 space[8];
	} u;
};

/** The counts of a rule. */
struct lnet_fault_stat {
	/** Messages that the rule matched. */
	__u64 fs_count;
	/** Messages that the rule dropped or delayed, by type. */
	__u64 fs_put;
	__u64 fs_ack;
	__u64 fs_get;
	__u64 fs_reply;
	union {
		struct {
			__u64 ds_dropped;
		} drop;
		struct {
			__u64 ls_delayed;
		} delay;
		__u64 space[8];
	} u;
};

/** The number of the kernel's device; the first argument of l_ioctl. */
#define LNET_DEV_ID 0
#define LNET_DEV_PATH "/dev/lnet"
#define LNET_DEV_MAJOR 10
#define LNET_DEV_MINOR 240

#ifdef __cplusplus
}
#endif

#endif
