/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The commands of LNetCtl and l_ioctl, and the arguments of the older ones. The arguments of the newer
 * ones are in lnet/lib-dlc.h. */
#ifndef LIBCFS_IOCTL_H
#define LIBCFS_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The two forms of an argument: struct libcfs_ioctl_data, and the structures of lnet/lib-dlc.h. */
#define LIBCFS_IOCTL_VERSION 0x0001000a
#define LIBCFS_IOCTL_VERSION2 0x0001000b

/** The largest argument, in bytes. */
#define LIBCFS_IOC_DATA_MAX (128 * 1024)

/** The start of every LNetCtl argument. */
struct libcfs_ioctl_hdr {
	/** The number of bytes of the whole argument, including this header. */
	__u32 ioc_len;
	/** LIBCFS_IOCTL_VERSION or LIBCFS_IOCTL_VERSION2. */
	__u32 ioc_version;
};

/** The argument of the commands of version 1. Two inline buffers may follow, each padded to 8 bytes. */
struct libcfs_ioctl_data {
	struct libcfs_ioctl_hdr ioc_hdr;
	__u64 ioc_nid;
	__u64 ioc_u64[1];
	__u32 ioc_flags;
	__u32 ioc_count;
	__u32 ioc_net;
	__u32 ioc_u32[7];
	/** Inline buffers: in the kernel's ioctl they follow in ioc_bulk. */
	__u32 ioc_inllen1;
	char *ioc_inlbuf1;
	__u32 ioc_inllen2;
	char *ioc_inlbuf2;
	/** Buffers outside of the argument. */
	__u32 ioc_plen1;
	void *ioc_pbuf1;
	__u32 ioc_plen2;
	void *ioc_pbuf2;
	__extension__ char ioc_bulk[0];
};

/** The code of a command: its number, and a size that does not depend on the argument. The size is that of
 * IOCTL_LIBCFS_TYPE up to number 80, and that of IOCTL_CONFIG_SIZE (lnet/lib-dlc.h) from 81 on. */
#define IOC_LIBCFS_TYPE 'e'
#define IOCTL_LIBCFS_TYPE long
#define IOCTL_CONFIG_SIZE struct lnet_ioctl_config_data
#define LIBCFS_IOC_OLD(nr) _IOC(_IOC_READ | _IOC_WRITE, IOC_LIBCFS_TYPE, nr, 8)
#define LIBCFS_IOC_NEW(nr) _IOC(_IOC_READ | _IOC_WRITE, IOC_LIBCFS_TYPE, nr, 184)
/**
 * The range of command numbers of 2.10. LNetCtl also takes the numbers outside this range, which are of later
 * releases.
 */
#define IOC_LIBCFS_MIN_NR 30
#define IOC_LIBCFS_MAX_NR 99

#define IOC_LIBCFS_CLEAR_DEBUG LIBCFS_IOC_OLD(31)
#define IOC_LIBCFS_MARK_DEBUG LIBCFS_IOC_OLD(32)
#define IOC_LIBCFS_GET_NI LIBCFS_IOC_OLD(50)
#define IOC_LIBCFS_FAIL_NID LIBCFS_IOC_OLD(51)
#define IOC_LIBCFS_NOTIFY_ROUTER LIBCFS_IOC_OLD(55)
#define IOC_LIBCFS_UNCONFIGURE LIBCFS_IOC_OLD(56)
#define IOC_LIBCFS_LNET_DIST LIBCFS_IOC_OLD(58)
#define IOC_LIBCFS_CONFIGURE LIBCFS_IOC_OLD(59)
#define IOC_LIBCFS_TESTPROTOCOMPAT LIBCFS_IOC_OLD(60)
#define IOC_LIBCFS_PING LIBCFS_IOC_OLD(61)
#define IOC_LIBCFS_PING_PEER LIBCFS_IOC_OLD(62)
#define IOC_LIBCFS_LNETST LIBCFS_IOC_OLD(63)
#define IOC_LIBCFS_LNET_FAULT LIBCFS_IOC_OLD(64)
#define IOC_LIBCFS_REGISTER_MYNID LIBCFS_IOC_OLD(70)
#define IOC_LIBCFS_CLOSE_CONNECTION LIBCFS_IOC_OLD(71)
#define IOC_LIBCFS_PUSH_CONNECTION LIBCFS_IOC_OLD(72)
#define IOC_LIBCFS_GET_CONN LIBCFS_IOC_OLD(73)
#define IOC_LIBCFS_DEL_PEER LIBCFS_IOC_OLD(74)
#define IOC_LIBCFS_ADD_PEER LIBCFS_IOC_OLD(75)
#define IOC_LIBCFS_GET_PEER LIBCFS_IOC_OLD(76)
#define IOC_LIBCFS_DISCOVER LIBCFS_IOC_OLD(77)
#define IOC_LIBCFS_ADD_INTERFACE LIBCFS_IOC_OLD(78)
#define IOC_LIBCFS_DEL_INTERFACE LIBCFS_IOC_OLD(79)
#define IOC_LIBCFS_GET_INTERFACE LIBCFS_IOC_OLD(80)
#define IOC_LIBCFS_ADD_ROUTE LIBCFS_IOC_NEW(81)
#define IOC_LIBCFS_DEL_ROUTE LIBCFS_IOC_NEW(82)
#define IOC_LIBCFS_GET_ROUTE LIBCFS_IOC_NEW(83)
#define IOC_LIBCFS_ADD_NET LIBCFS_IOC_NEW(84)
#define IOC_LIBCFS_DEL_NET LIBCFS_IOC_NEW(85)
#define IOC_LIBCFS_GET_NET LIBCFS_IOC_NEW(86)
#define IOC_LIBCFS_CONFIG_RTR LIBCFS_IOC_NEW(87)
#define IOC_LIBCFS_ADD_BUF LIBCFS_IOC_NEW(88)
#define IOC_LIBCFS_GET_BUF LIBCFS_IOC_NEW(89)
#define IOC_LIBCFS_GET_PEER_INFO LIBCFS_IOC_NEW(90)
#define IOC_LIBCFS_GET_LNET_STATS LIBCFS_IOC_NEW(91)
#define IOC_LIBCFS_ADD_PEER_NI LIBCFS_IOC_NEW(92)
#define IOC_LIBCFS_DEL_PEER_NI LIBCFS_IOC_NEW(93)
#define IOC_LIBCFS_GET_PEER_NI LIBCFS_IOC_NEW(94)
#define IOC_LIBCFS_ADD_LOCAL_NI LIBCFS_IOC_NEW(95)
#define IOC_LIBCFS_DEL_LOCAL_NI LIBCFS_IOC_NEW(96)
#define IOC_LIBCFS_GET_LOCAL_NI LIBCFS_IOC_NEW(97)
#define IOC_LIBCFS_SET_NUMA_RANGE LIBCFS_IOC_NEW(98)
#define IOC_LIBCFS_GET_NUMA_RANGE LIBCFS_IOC_NEW(99)
#define IOC_LIBCFS_GET_PEER_LIST LIBCFS_IOC_NEW(100)
#define IOC_LIBCFS_GET_LOCAL_NI_MSG_STATS LIBCFS_IOC_NEW(101)
#define IOC_LIBCFS_SET_HEALHV LIBCFS_IOC_NEW(102)
#define IOC_LIBCFS_GET_LOCAL_HSTATS LIBCFS_IOC_NEW(103)
#define IOC_LIBCFS_GET_RECOVERY_QUEUE LIBCFS_IOC_NEW(104)
#define IOC_LIBCFS_ADD_UDSP LIBCFS_IOC_NEW(105)
#define IOC_LIBCFS_DEL_UDSP LIBCFS_IOC_NEW(106)
#define IOC_LIBCFS_GET_UDSP_SIZE LIBCFS_IOC_NEW(107)
#define IOC_LIBCFS_GET_UDSP LIBCFS_IOC_NEW(108)
#define IOC_LIBCFS_GET_CONST_UDSP_INFO LIBCFS_IOC_NEW(109)
#define IOC_LIBCFS_RESET_LNET_STATS LIBCFS_IOC_NEW(110)
#define IOC_LIBCFS_SET_CONNS_PER_PEER LIBCFS_IOC_NEW(111)
#define IOC_LIBCFS_SET_PEER LIBCFS_IOC_NEW(112)

/* The commands of the Multi-Rail design under their names there. Four of them are commands from above. The design
 * gives no numbers to the others, and releases have selection policies instead of them (IOC_LIBCFS_ADD_UDSP), so
 * these numbers are specific to this library. The argument of the commands for selection rules is struct
 * lnet_ioctl_selection_rule (lnet/lib-dlc.h). The argument of the last two is struct lnet_ioctl_config_data, with the
 * value in cfg_count. */
#define IOC_LNET_ADD_LOCAL_NI IOC_LIBCFS_ADD_LOCAL_NI
#define IOC_LNET_DEL_LOCAL_NI IOC_LIBCFS_DEL_LOCAL_NI
#define IOC_LNET_ADD_PEER_NI IOC_LIBCFS_ADD_PEER_NI
#define IOC_LNET_DEL_PEER_NI IOC_LIBCFS_DEL_PEER_NI
#define IOC_LNET_ADD_NET_SELECTION_RULE LIBCFS_IOC_NEW(201)
#define IOC_LNET_ADD_NID_SELECTION_RULE LIBCFS_IOC_NEW(202)
#define IOC_LNET_ADD_CONNECTION_SELECTION_RULE LIBCFS_IOC_NEW(203)
#define IOC_LIBCFS_DEL_NET_SELECTION_RULE LIBCFS_IOC_NEW(204)
#define IOC_LIBCFS_DEL_NID_SELECTION_RULE LIBCFS_IOC_NEW(205)
#define IOC_LIBCFS_DEL_CONNECTION_SELECTION_RULE LIBCFS_IOC_NEW(206)
#define IOC_LIBCFS_SHOW_NET_SELECTION_RULES LIBCFS_IOC_NEW(207)
#define IOC_LIBCFS_SHOW_NID_SELECTION_RULES LIBCFS_IOC_NEW(208)
#define IOC_LIBCFS_SHOW_CONNECTION_SELECTION_RULES LIBCFS_IOC_NEW(209)
#define IOC_LIBCFS_SET_DYN_DISCOVERY LIBCFS_IOC_NEW(210)
#define IOC_LIBCFS_SET_USE_TCP_BONDING LIBCFS_IOC_NEW(211)

#define LIBCFS_IOC_DEBUG_MASK _IOC(_IOC_READ | _IOC_WRITE, 'f', 250, 8)

#ifdef __cplusplus
}
#endif

#endif
