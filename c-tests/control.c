/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests LNetCtl: the commands that change or return the configuration, with their structures. */
#include "check.h"
#include <lnet/lib-dlc.h>
#include <lnet/lib-lnet.h>
#include <lnet/lnetconfig/liblnetconfig.h>
#include <lnet/lnetctl.h>
#include <libcfs/util/ioctl.h>
#include <stddef.h>
#include <lnet/nidstr.h>
#include <unistd.h>

#define ANY LNET_NID_ANY

static lnet_nid_t nid(const char *text)
{
	return libcfs_str2nid(text);
}

/* A structure with room for more data after it, as commands require. */
#define ARGUMENT(type, more)                                  \
	struct {                                              \
		struct type it;                               \
		char room[more];                              \
	} __attribute__((aligned(8)))

static void start(void *argument, size_t size)
{
	struct libcfs_ioctl_hdr *header = argument;

	memset(argument, 0, size);
	header->ioc_version = LIBCFS_IOCTL_VERSION2;
	header->ioc_len = size;
}

/* The memory after a structure whose last member is an empty array. */
static __attribute__((noinline)) void *behind(void *argument, size_t offset)
{
	return (char *)argument + offset;
}

static int add_ni(const char *own, const char *interface, int credits)
{
	ARGUMENT(lnet_ioctl_config_ni, sizeof(struct lnet_ioctl_config_lnd_tunables)) ni;
	struct lnet_ioctl_config_lnd_tunables tunables;

	start(&ni, sizeof(ni));
	ni.it.lic_nid = nid(own);
	strcpy(ni.it.lic_ni_intf[0], interface);
	memset(&tunables, 0, sizeof(tunables));
	tunables.lt_cmn.lct_max_tx_credits = credits;
	tunables.lt_tun.lnd_tun_u.lnd_sock.lnd_conns_per_peer = 3;
	memcpy(behind(&ni, offsetof(struct lnet_ioctl_config_ni, lic_bulk)), &tunables, sizeof(tunables));
	return LNetCtl(IOC_LIBCFS_ADD_LOCAL_NI, &ni);
}

static int del_ni(lnet_nid_t own, const char *interface)
{
	struct lnet_ioctl_config_ni ni;

	start(&ni, sizeof(ni));
	ni.lic_nid = own;
	strcpy(ni.lic_ni_intf[0], interface);
	return LNetCtl(IOC_LIBCFS_DEL_LOCAL_NI, &ni);
}

static void interfaces(void)
{
	ARGUMENT(lnet_ioctl_config_ni,
		 sizeof(struct lnet_ioctl_element_stats) + sizeof(struct lnet_ioctl_config_lnd_tunables)) ni;
	struct lnet_ioctl_config_lnd_tunables tunables;
	struct lnet_ioctl_element_msg_stats stats;
	ARGUMENT(lnet_ioctl_config_data, sizeof(struct lnet_ioctl_net_config)) net;
	ARGUMENT(lnet_ioctl_config_data, 8) old;

	CHECK_EQ(add_ni("127.0.1.1@tcp1", "127.0.1.1", 64), 0);
	CHECK_EQ(add_ni("127.0.1.1@tcp1", "127.0.1.1", 64), -EEXIST);
	CHECK_EQ(add_ni("127.0.1.1@tcp1", "no-such-interface", 64), -ENODEV);

	start(&ni, sizeof(ni));
	ni.it.lic_idx = 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_LOCAL_NI, &ni), 0);
	CHECK_EQ(ni.it.lic_nid, nid("127.0.1.1@tcp1"));
	CHECK_EQ(strcmp(ni.it.lic_ni_intf[0], "127.0.1.1"), 0);
	CHECK_EQ(ni.it.lic_ncpts, 1);
	CHECK_EQ(ni.it.lic_status, 0x15aac0de);
	memcpy(&tunables,
	       behind(&ni, offsetof(struct lnet_ioctl_config_ni, lic_bulk) + sizeof(struct lnet_ioctl_element_stats)),
	       sizeof(tunables));
	CHECK_EQ(tunables.lt_cmn.lct_max_tx_credits, 64);
	CHECK_EQ(tunables.lt_cmn.lct_peer_tx_credits, 8);
	CHECK_EQ(tunables.lt_tun.lnd_tun_u.lnd_sock.lnd_conns_per_peer, 3);
	ni.it.lic_idx = 2;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_LOCAL_NI, &ni), -ENOENT);
	ni.it.lic_cfg_hdr.ioc_len = sizeof(ni.it);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_LOCAL_NI, &ni), -EINVAL);

	start(&net, sizeof(net));
	net.it.cfg_count = 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_NET, &net), 0);
	CHECK_EQ(net.it.cfg_nid, nid("127.0.1.1@tcp1"));
	CHECK_EQ(net.it.cfg_config_u.cfg_net.net_max_tx_credits, 64);
	CHECK_EQ(strcmp(behind(&net, offsetof(struct lnet_ioctl_config_data, cfg_bulk)), "127.0.1.1"), 0);

	start(&stats, sizeof(stats));
	stats.im_idx = 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_LOCAL_NI_MSG_STATS, &stats), 0);
	CHECK_EQ(stats.im_send_stats.ico_put_count, 0);

	CHECK_EQ(del_ni(nid("127.0.1.9@tcp1"), "127.0.1.9"), -ENOENT);
	CHECK_EQ(del_ni(nid("127.0.1.1@tcp1"), ""), 0);

	start(&old, sizeof(old));
	old.it.cfg_net = libcfs_str2net("tcp2");
	strcpy(old.it.cfg_config_u.cfg_net.net_intf, "127.0.1.2");
	CHECK_EQ(LNetCtl(IOC_LIBCFS_ADD_NET, &old), 0);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DEL_NET, &old), 0);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DEL_NET, &old), -ENOENT);
	CHECK_EQ(add_ni("127.0.1.1@tcp", "127.0.1.1", 0), 0);
}

static int peer(unsigned int command, lnet_nid_t primary, lnet_nid_t other, bool multi_rail)
{
	struct lnet_ioctl_peer_cfg cfg;

	start(&cfg, sizeof(cfg));
	cfg.prcfg_prim_nid = primary;
	cfg.prcfg_cfg_nid = other;
	cfg.prcfg_mr = multi_rail;
	return LNetCtl(command, &cfg);
}

static void peers(void)
{
	struct lnet_ioctl_peer_cfg cfg;
	struct {
		struct lnet_peer_ni_credit_info credits;
		struct lnet_ioctl_element_stats stats;
	} told;
	struct lnet_process_id list[2];
	struct lnet_ioctl_peer info;

	CHECK_EQ(peer(IOC_LIBCFS_ADD_PEER_NI, nid("10.0.0.5@tcp"), ANY, true), 0);
	CHECK_EQ(peer(IOC_LIBCFS_ADD_PEER_NI, nid("10.0.0.5@tcp"), nid("10.0.1.5@tcp"), true), 0);
	CHECK_EQ(peer(IOC_LIBCFS_ADD_PEER_NI, nid("10.0.0.6@tcp"), ANY, false), 0);
	CHECK_EQ(peer(IOC_LIBCFS_ADD_PEER_NI, nid("10.0.0.6@tcp"), nid("10.0.1.6@tcp"), false), -EPERM);
	CHECK_EQ(peer(IOC_LIBCFS_DEL_PEER_NI, ANY, ANY, true), -EINVAL);

	start(&cfg, sizeof(cfg));
	cfg.prcfg_count = 1;
	cfg.prcfg_size = sizeof(told);
	cfg.prcfg_bulk = &told;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_PEER_NI, &cfg), 0);
	CHECK_EQ(cfg.prcfg_prim_nid, nid("10.0.0.5@tcp"));
	CHECK_EQ(cfg.prcfg_cfg_nid, nid("10.0.1.5@tcp"));
	CHECK(cfg.prcfg_mr);
	CHECK_EQ(strcmp(told.credits.cr_aliveness, "NA"), 0);
	CHECK_EQ(told.credits.cr_peer_tx_credits, 8);
	cfg.prcfg_count = 3;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_PEER_NI, &cfg), -ENOENT);
	cfg.prcfg_size = 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_PEER_NI, &cfg), -EINVAL);

	start(&info, sizeof(info));
	info.pr_count = 2;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_PEER_INFO, &info), 0);
	CHECK_EQ(info.pr_nid, nid("10.0.0.6@tcp"));
	info.pr_lnd_u.pr_peer_credits.cr_ncpt = 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_PEER_INFO, &info), -ENOENT);

	start(&cfg, sizeof(cfg));
	cfg.prcfg_bulk = list;
	cfg.prcfg_size = sizeof(list[0]);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_PEER_LIST, &cfg), -E2BIG);
	CHECK_EQ(cfg.prcfg_size, sizeof(list));
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_PEER_LIST, &cfg), 0);
	CHECK_EQ(cfg.prcfg_count, 2);
	CHECK_EQ(list[1].nid, nid("10.0.0.6@tcp"));

	start(&cfg, sizeof(cfg));
	cfg.prcfg_prim_nid = nid("10.0.0.6@tcp");
	cfg.prcfg_state = 5;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SET_PEER, &cfg), 0);
	CHECK_EQ(peer(IOC_LIBCFS_DEL_PEER_NI, nid("10.0.0.5@tcp"), nid("10.0.1.5@tcp"), true), 0);
	CHECK_EQ(peer(IOC_LIBCFS_DEL_PEER_NI, nid("10.0.0.5@tcp"), ANY, true), 0);
	CHECK_EQ(peer(IOC_LIBCFS_DEL_PEER_NI, nid("10.0.0.5@tcp"), ANY, true), -ENOENT);
}

static void routes(void)
{
	ARGUMENT(lnet_ioctl_config_data, sizeof(struct lnet_ioctl_pool_cfg)) data;
	struct lnet_ioctl_pool_cfg *pools = behind(&data, offsetof(struct lnet_ioctl_config_data, cfg_bulk));

	start(&data, sizeof(data));
	data.it.cfg_net = libcfs_str2net("tcp5");
	data.it.cfg_nid = nid("127.0.1.9@tcp");
	data.it.cfg_config_u.cfg_route.rtr_hop = -1;
	data.it.cfg_config_u.cfg_route.rtr_priority = 3;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_ADD_ROUTE, &data), 0);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_ADD_ROUTE, &data), -EEXIST);
	data.it.cfg_nid = nid("127.0.1.9@tcp9");
	CHECK_EQ(LNetCtl(IOC_LIBCFS_ADD_ROUTE, &data), -EHOSTUNREACH);
	data.it.cfg_nid = ANY;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_ADD_ROUTE, &data), -EINVAL);

	start(&data, sizeof(data));
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_ROUTE, &data), 0);
	CHECK_EQ(data.it.cfg_nid, nid("127.0.1.9@tcp"));
	CHECK_EQ(data.it.cfg_config_u.cfg_route.rtr_hop, (__u32)-1);
	CHECK_EQ(data.it.cfg_config_u.cfg_route.rtr_priority, 3);
	data.it.cfg_count = 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_ROUTE, &data), -ENOENT);
	data.it.cfg_net = -1;
	data.it.cfg_nid = ANY;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DEL_ROUTE, &data), 0);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DEL_ROUTE, &data), -ENOENT);

	start(&data, sizeof(data));
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_BUF, &data), -ENOENT);
	data.it.cfg_config_u.cfg_buffers.buf_enable = 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_CONFIG_RTR, &data), 0);
	data.it.cfg_config_u.cfg_buffers.buf_tiny = 1000;
	data.it.cfg_config_u.cfg_buffers.buf_small = -1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_ADD_BUF, &data), 0);
	start(&data, sizeof(data));
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_BUF, &data), 0);
	CHECK_EQ(pools->pl_pools[0].pl_nbuffers, 1000);
	CHECK_EQ(pools->pl_pools[1].pl_nbuffers, 16384);
	CHECK_EQ(pools->pl_routing, 1);
}

/* Tests the structures of 2.15, most of which lib-dlc.h does not define (c-abi 5.4). */
static void newer(void)
{
	struct lnet_ioctl_udsp udsp;
	struct {
		struct libcfs_ioctl_hdr hdr;
		__u32 pad[2];
		__u64 nid;
		__u32 nid_priority, net_priority;
		__u64 preferred[2 * 128];
	} applied;
	struct {
		struct libcfs_ioctl_hdr hdr;
		__u32 type;
		__u16 all;
		__s16 value;
		__u64 nid;
	} health;
	struct {
		struct libcfs_ioctl_hdr hdr;
		__u16 all, value;
		__u32 pad;
		__u64 nid;
	} conns;
	/* A rule about the net tcp as source. */
	__u32 rule[12] = { 0x00435253, 0, 2, 0, 0x00545344, 0, 0, 0, 0x00455452 }, back[12];

	start(&udsp, sizeof(udsp));
	udsp.iou_idx = -1;
	udsp.iou_action_type = 1;
	udsp.iou_action.priority = 7;
	udsp.iou_bulk_size = sizeof(rule);
	udsp.iou_bulk = rule;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_ADD_UDSP, &udsp), 0);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_ADD_UDSP, &udsp), -EALREADY);
	rule[0] = 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_ADD_UDSP, &udsp), -EINVAL);
	rule[0] = 0x00435253;
	start(&udsp, sizeof(udsp));
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_UDSP, &udsp), -ENOSPC);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_UDSP_SIZE, &udsp), 0);
	CHECK_EQ(udsp.iou_bulk_size, sizeof(rule));
	udsp.iou_bulk = back;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_UDSP, &udsp), 0);
	CHECK_EQ(memcmp(rule, back, sizeof(rule)), 0);
	CHECK_EQ(udsp.iou_action.priority, 7);
	start(&applied, sizeof(applied));
	applied.nid = nid("127.0.1.1@tcp");
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_CONST_UDSP_INFO, &applied), 0);
	CHECK_EQ(applied.net_priority, 7);
	CHECK_EQ(applied.nid_priority, (__u32)-1);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DEL_UDSP, &udsp), 0);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_UDSP_SIZE, &udsp), -ENOENT);

	start(&health, sizeof(health));
	health.nid = nid("127.0.1.1@tcp");
	health.value = 500;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SET_HEALHV, &health), 0);
	health.type = 2;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SET_HEALHV, &health), -EINVAL);
	start(&conns, sizeof(conns));
	conns.all = 1;
	conns.value = 4;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SET_CONNS_PER_PEER, &conns), 0);
	start(&udsp, sizeof(udsp));
	CHECK_EQ(LNetCtl(IOC_LIBCFS_RESET_LNET_STATS, &udsp), 0);
}

static int fault(unsigned int what, struct lnet_fault_attr *attr, struct lnet_fault_stat *stat, __u32 *count)
{
	struct libcfs_ioctl_data data;
	int rc;

	LIBCFS_IOC_INIT(data);
	data.ioc_flags = what;
	data.ioc_count = *count;
	data.ioc_inllen1 = attr == NULL ? 0 : sizeof(*attr);
	data.ioc_inlbuf1 = (char *)attr;
	data.ioc_inllen2 = stat == NULL ? 0 : sizeof(*stat);
	data.ioc_inlbuf2 = (char *)stat;
	data.ioc_hdr.ioc_len = sizeof(data) + data.ioc_inllen1 + data.ioc_inllen2;
	rc = LNetCtl(IOC_LIBCFS_LNET_FAULT, &data);
	*count = data.ioc_count;
	return rc;
}

/*
 * Calls IOC_LIBCFS_LNET_FAULT as a caller within the kernel does: without a header, and with buffers at any address
 * and without lengths.
 */
static int fault_without_header(unsigned int what, struct lnet_fault_attr *attr, struct lnet_fault_stat *stat)
{
	struct libcfs_ioctl_data data;

	memset(&data, 0, sizeof(data));
	data.ioc_flags = what;
	data.ioc_inlbuf1 = (char *)attr;
	data.ioc_inlbuf2 = (char *)stat;
	return LNetCtl(IOC_LIBCFS_LNET_FAULT, &data);
}

static void faults_as_the_kernel_has_them(void)
{
	struct lnet_fault_attr attr, back;
	struct lnet_fault_stat stat;
	struct libcfs_ioctl_data data;

	memset(&attr, 0, sizeof(attr));
	attr.fa_src = LNET_NID_ANY;
	attr.fa_dst = nid("10.0.0.7@tcp");
	attr.fa_msg_mask = LNET_PUT_BIT;
	attr.u.drop.da_rate = 10;
	CHECK_EQ(fault_without_header(LNET_CTL_DROP_ADD, NULL, NULL), -EINVAL);
	CHECK_EQ(fault_without_header(LNET_CTL_DROP_ADD, &attr, NULL), 0);
	memset(&back, 0xff, sizeof(back));
	memset(&stat, 0xff, sizeof(stat));
	CHECK_EQ(fault_without_header(LNET_CTL_DROP_LIST, &back, NULL), -EINVAL);
	CHECK_EQ(fault_without_header(LNET_CTL_DROP_LIST, &back, &stat), 0);
	CHECK_EQ(memcmp(&attr, &back, sizeof(attr)), 0);
	CHECK_EQ(stat.fs_count, 0);
	CHECK_EQ(fault_without_header(LNET_CTL_DROP_DEL, &attr, NULL), 0);
	CHECK_EQ(fault_without_header(LNET_CTL_DROP_LIST, &back, &stat), -ENOENT);

	/* With a header whose length covers only the structure. */
	LIBCFS_IOC_INIT(data);
	data.ioc_flags = LNET_CTL_DROP_ADD;
	data.ioc_inllen1 = sizeof(attr);
	data.ioc_inlbuf1 = (char *)&attr;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_LNET_FAULT, &data), 0);
	CHECK_EQ(l_ioctl(LNET_DEV_ID, IOC_LIBCFS_LNET_FAULT, &data), 0);
	data.ioc_inllen1 = sizeof(attr) - 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_LNET_FAULT, &data), -EINVAL);
	CHECK_EQ(fault_without_header(LNET_CTL_DROP_DEL, &attr, NULL), 0);
	/* Only IOC_LIBCFS_LNET_FAULT works without a header. */
	memset(&data, 0, sizeof(data));
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_NI, &data), -EINVAL);
}

static void faults(void)
{
	struct lnet_fault_attr attr, back;
	struct lnet_fault_stat stat;
	__u32 count = 0;

	memset(&attr, 0, sizeof(attr));
	CHECK_EQ(fault(LNET_CTL_DROP_ADD, NULL, NULL, &count), -EINVAL);
	CHECK_EQ(fault(LNET_CTL_DROP_ADD, &attr, NULL, &count), -EINVAL);
	attr.fa_src = nid("255.255.255.255@tcp");
	attr.fa_dst = nid("10.0.0.5@tcp");
	attr.fa_msg_mask = LNET_GET_BIT;
	CHECK_EQ(fault(LNET_CTL_DROP_ADD, &attr, NULL, &count), -EINVAL);
	attr.u.drop.da_rate = 100;
	CHECK_EQ(fault(LNET_CTL_DROP_ADD, &attr, NULL, &count), 0);
	attr.u.drop.da_interval = 1;
	CHECK_EQ(fault(LNET_CTL_DROP_ADD, &attr, NULL, &count), -EINVAL);
	attr.u.drop.da_interval = 0;

	memset(&back, 0xff, sizeof(back));
	memset(&stat, 0xff, sizeof(stat));
	CHECK_EQ(fault(LNET_CTL_DROP_LIST, &back, NULL, &count), -EINVAL);
	CHECK_EQ(fault(LNET_CTL_DROP_LIST, &back, &stat, &count), 0);
	CHECK_EQ(memcmp(&attr, &back, sizeof(attr)), 0);
	CHECK_EQ(stat.fs_count, 0);
	CHECK_EQ(stat.u.drop.ds_dropped, 0);
	count = 1;
	CHECK_EQ(fault(LNET_CTL_DROP_LIST, &back, &stat, &count), -ENOENT);
	CHECK_EQ(fault(LNET_CTL_DROP_RESET, NULL, NULL, &count), 0);

	memset(&attr, 0, sizeof(attr));
	attr.fa_src = LNET_NID_ANY;
	attr.fa_dst = LNET_NID_ANY;
	attr.u.delay.la_interval = 2;
	CHECK_EQ(fault(LNET_CTL_DELAY_ADD, &attr, NULL, &count), -EINVAL);
	attr.u.delay.la_latency = 3;
	CHECK_EQ(fault(LNET_CTL_DELAY_ADD, &attr, NULL, &count), 0);
	count = 0;
	CHECK_EQ(fault(LNET_CTL_DELAY_LIST, &back, &stat, &count), 0);
	CHECK_EQ(back.u.delay.la_interval, 2);
	CHECK_EQ(back.u.delay.la_latency, 3);
	CHECK_EQ(back.fa_msg_mask, LNET_ACK_BIT | LNET_PUT_BIT | LNET_GET_BIT | LNET_REPLY_BIT);

	memset(&attr, 0, sizeof(attr));
	attr.fa_dst = nid("10.0.0.6@tcp");
	CHECK_EQ(fault(LNET_CTL_DROP_DEL, &attr, NULL, &count), 0);
	CHECK_EQ(count, 0);
	attr.fa_dst = nid("10.0.0.5@tcp");
	CHECK_EQ(fault(LNET_CTL_DROP_DEL, &attr, NULL, &count), 0);
	CHECK_EQ(count, 1);
	attr.fa_dst = 0;
	CHECK_EQ(fault(LNET_CTL_DELAY_DEL, &attr, NULL, &count), 0);
	CHECK_EQ(count, 1);
	CHECK_EQ(fault(8, &attr, &stat, &count), -EINVAL);
}

/* ---- the selection rules of the first design ---- */

struct selection {
	struct lnet_ioctl_selection_rule rule;
	/* The memory of lisr_selection_bulk. */
	struct lnet_match_expr bulk[8];
};

/* An expression of one range at the given place. */
static struct lnet_offset_descriptor expression(struct selection *selection, int place, __u32 start, __u32 end, __u32 incr)
{
	struct lnet_offset_descriptor where = { sizeof(struct lnet_match_expr), place * sizeof(struct lnet_match_expr) };

	selection->bulk[place].lme_start = start;
	selection->bulk[place].lme_end = end;
	selection->bulk[place].lme_incr = incr;
	return where;
}

static void begin_selection(struct selection *selection, enum lnet_selection_rule_type type)
{
	start(selection, sizeof(*selection));
	selection->rule.lisr_selection_type = type;
	selection->rule.lisr_id = -1;
}

static void selection_rules(void)
{
	struct lnet_ioctl_config_data config;
	struct selection net, nids, pair, back;
	struct lnet_ioctl_udsp udsp;

	/* o2ib[1-9/2], which is one rule. */
	begin_selection(&net, LNET_SELECTION_NET_RULE);
	strcpy(net.rule.lisr_u.lisr_net_rule.lnsn_net_name, "o2ib");
	net.rule.lisr_u.lisr_net_rule.lnsn_priority = 3;
	net.rule.lisr_u.lisr_net_rule.lnsn_net_descr = expression(&net, 0, 1, 9, 2);
	CHECK_EQ(LNetCtl(IOC_LNET_ADD_NET_SELECTION_RULE, &net), 0);
	CHECK_EQ(LNetCtl(IOC_LNET_ADD_NET_SELECTION_RULE, &net), -EALREADY);
	CHECK_EQ(LNetCtl(IOC_LNET_ADD_NID_SELECTION_RULE, &net), -EINVAL);
	/* 10.0.[1-4].*@tcp1, which is two: for this node's NIDs and for others'. */
	begin_selection(&nids, LNET_SELECTION_NID_RULE);
	strcpy(nids.rule.lisr_u.lisr_nid_rule.lnsn_net_name, "tcp1");
	nids.rule.lisr_u.lisr_nid_rule.lnsn_priority = 4;
	nids.rule.lisr_u.lisr_nid_rule.lnsn_ip_descr.lad_octets[0] = expression(&nids, 0, 10, 10, 1);
	nids.rule.lisr_u.lisr_nid_rule.lnsn_ip_descr.lad_octets[1] = expression(&nids, 1, 0, 0, 1);
	nids.rule.lisr_u.lisr_nid_rule.lnsn_ip_descr.lad_octets[2] = expression(&nids, 2, 1, 4, 1);
	CHECK_EQ(LNetCtl(IOC_LNET_ADD_NID_SELECTION_RULE, &nids), 0);
	/* Every NID on tcp with every other. */
	begin_selection(&pair, LNET_SELECTION_PEER_RULE);
	strcpy(pair.rule.lisr_u.lisr_peer_rule.lisp_net_name[0], "tcp");
	CHECK_EQ(LNetCtl(IOC_LNET_ADD_CONNECTION_SELECTION_RULE, &pair), -EINVAL);
	strcpy(pair.rule.lisr_u.lisr_peer_rule.lisp_net_name[1], "tcp");
	pair.rule.lisr_u.lisr_peer_rule.lisp_priority = 5;
	CHECK_EQ(LNetCtl(IOC_LNET_ADD_CONNECTION_SELECTION_RULE, &pair), 0);
	/* Four rules of the policy. */
	start(&udsp, sizeof(udsp));
	udsp.iou_idx = 3;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_UDSP_SIZE, &udsp), 0);
	udsp.iou_idx = 4;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_UDSP_SIZE, &udsp), -ENOENT);

	/* Each rule is shown in the form in which it was added. */
	begin_selection(&back, LNET_SELECTION_NET_RULE);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SHOW_NET_SELECTION_RULES, &back), 0);
	CHECK_STR(back.rule.lisr_u.lisr_net_rule.lnsn_net_name, "o2ib");
	CHECK(back.rule.lisr_id == 0 && back.rule.lisr_u.lisr_net_rule.lnsn_priority == 3);
	CHECK_EQ(back.rule.lisr_u.lisr_net_rule.lnsn_net_descr.lodesc_size, 12);
	CHECK(memcmp(&back.bulk[0], &net.bulk[0], sizeof(net.bulk[0])) == 0);
	back.rule.lisr_idx = 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SHOW_NET_SELECTION_RULES, &back), -ENOENT);
	for (__u32 i = 0; i < 2; i++) {
		begin_selection(&back, LNET_SELECTION_NID_RULE);
		back.rule.lisr_idx = i;
		CHECK_EQ(LNetCtl(IOC_LIBCFS_SHOW_NID_SELECTION_RULES, &back), 0);
		CHECK_STR(back.rule.lisr_u.lisr_nid_rule.lnsn_net_name, "tcp1");
		CHECK_EQ(back.rule.lisr_id, i + 1);
		CHECK(memcmp(back.bulk, nids.bulk, 3 * sizeof(nids.bulk[0])) == 0);
		/* An expression that was omitted matches any number. */
		CHECK(back.bulk[3].lme_start == 0 && back.bulk[3].lme_end == 255);
	}
	begin_selection(&back, LNET_SELECTION_PEER_RULE);
	back.rule.lisr_hdr.ioc_len = sizeof(back.rule);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SHOW_CONNECTION_SELECTION_RULES, &back), -ENOSPC);
	start(&back, sizeof(back));
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SHOW_CONNECTION_SELECTION_RULES, &back), 0);
	CHECK_STR(back.rule.lisr_u.lisr_peer_rule.lisp_net_name[1], "tcp");
	CHECK(back.rule.lisr_id == 3 && back.rule.lisr_u.lisr_peer_rule.lisp_priority == 5);

	/* An invalid expression is refused. */
	net.rule.lisr_u.lisr_net_rule.lnsn_net_descr.lodesc_offset = sizeof(net.bulk);
	CHECK_EQ(LNetCtl(IOC_LNET_ADD_NET_SELECTION_RULE, &net), -EINVAL);
	net.rule.lisr_u.lisr_net_rule.lnsn_net_descr = expression(&net, 0, 9, 1, 1);
	CHECK_EQ(LNetCtl(IOC_LNET_ADD_NET_SELECTION_RULE, &net), -EINVAL);
	net.rule.lisr_u.lisr_net_rule.lnsn_net_descr = expression(&net, 0, 1, 9, 0);
	CHECK_EQ(LNetCtl(IOC_LNET_ADD_NET_SELECTION_RULE, &net), -EINVAL);
	net.rule.lisr_u.lisr_net_rule.lnsn_net_descr = expression(&net, 0, 1, 9, 2);

	/* Rules are deleted by their ID, which must be of this kind, by criteria, or by both. */
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DEL_CONNECTION_SELECTION_RULE, &back), 0);
	net.rule.lisr_id = 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DEL_NET_SELECTION_RULE, &net), -EINVAL);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DEL_NID_SELECTION_RULE, &nids), 0);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DEL_NID_SELECTION_RULE, &nids), -ENOENT);
	net.rule.lisr_id = 0;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DEL_NET_SELECTION_RULE, &net), 0);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_DEL_NET_SELECTION_RULE, &net), -ENOENT);
	udsp.iou_idx = 0;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_UDSP_SIZE, &udsp), -ENOENT);

	/* The two switches of the design. */
	start(&config, sizeof(config));
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SET_DYN_DISCOVERY, &config), 0);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SET_USE_TCP_BONDING, &config), 0);
	config.cfg_count = 1;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SET_DYN_DISCOVERY, &config), 0);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SET_USE_TCP_BONDING, &config), -EOPNOTSUPP);
}

/* ---- CPU partitions ---- */

static void partitions(void)
{
	struct cfs_cpt_table *table = lnet_cpt_table();
	unsigned int own = cfs_cpt_distance(table, 0, 0), farthest = cfs_cpt_distance(table, CFS_CPT_ANY, 0);

	/* Only the order of distances matters: a partition is no nearer to another one than to itself. */
	CHECK(own > 0 && farthest >= own);
	CHECK_EQ(cfs_cpt_distance(table, 0, CFS_CPT_ANY), farthest);
	CHECK_EQ(cfs_cpt_distance(table, 9999, 0), farthest);
	CHECK_EQ(cfs_cpt_of_node(table, -1), CFS_CPT_ANY);
	CHECK_EQ(cfs_cpt_of_node(table, 9999), CFS_CPT_ANY);
	CHECK(cfs_cpt_of_node(table, 0) >= CFS_CPT_ANY);
	CHECK_EQ(cfs_cpt_of_node(table, 0), cfs_cpt_of_node(NULL, 0));
}

int main(void)
{
	struct lnet_ioctl_numa_range range;
	struct libcfs_ioctl_data data;

	setenv("LNET_ACCEPT", "none", 1);
	CHECK_EQ(cfs_cpt_distance(NULL, 0, 0), 0);
	CHECK_EQ(cfs_cpt_of_node(NULL, 0), CFS_CPT_ANY);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	interfaces();
	peers();
	routes();
	newer();
	selection_rules();
	partitions();
	faults();
	faults_as_the_kernel_has_them();
	LIBCFS_IOC_INIT_V2(range, nr_hdr);
	range.nr_range = 9;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_SET_NUMA_RANGE, &range), 0);
	range.nr_range = 0;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_GET_NUMA_RANGE, &range), 0);
	CHECK_EQ(range.nr_range, 9);
	/* The node belongs to this program: other programs must not end it. */
	LIBCFS_IOC_INIT(data);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_CONFIGURE, &data), 0);
	CHECK_EQ(LNetCtl(IOC_LIBCFS_UNCONFIGURE, &data), -EBUSY);
	CHECK_EQ(LNetNIFini(), 0);
	return failures != 0;
}
