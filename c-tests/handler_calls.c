/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests calls that wait and are made from an event handler, against the rule: they are refused, and none hangs. */
#include "check.h"
#include <lnet/lnetconfig/liblnetconfig.h>
#include <lnet/lib-dlc.h>
#include <libcfs/util/ioctl.h>
#include <lnet/nidstr.h>

static int heard;

static void handler(struct lnet_event *event)
{
	struct libcfs_ioctl_data ping;
	struct lnet_process_id ids[4];

	(void)event;
	CHECK_EQ(LNetNIInit(LNET_PID_ANY), -EBUSY);
	CHECK_EQ(LNetNIFini(), -EBUSY);
	CHECK_EQ(lustre_lnet_config_numa_range(7, -1, NULL), -EBUSY);
	CHECK_EQ(lustre_lnet_modify_peer("127.0.1.7@tcp", NULL, true, 3, 0, -1, NULL), -EBUSY);
	memset(&ping, 0, sizeof(ping));
	ping.ioc_hdr.ioc_version = LIBCFS_IOCTL_VERSION;
	ping.ioc_hdr.ioc_len = sizeof(ping);
	ping.ioc_nid = loopback().nid;
	ping.ioc_u32[0] = LNET_PID_LUSTRE;
	ping.ioc_u32[1] = -1;
	ping.ioc_plen1 = sizeof(ids);
	ping.ioc_pbuf1 = (char *)ids;
	CHECK_EQ(LNetCtl(IOC_LIBCFS_PING, &ping), -EBUSY);
	heard++;
}

int main(void)
{
	struct lnet_handle_eq eq;
	struct lnet_handle_md md;
	char byte = 0;

	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(LNetEQAlloc(0, handler, &eq), 0);
	CHECK_EQ(LNetMDBind(make_md(&byte, 1, 1, 0, NULL, eq), LNET_UNLINK, &md), 0);
	/* No ME matches the PUT: there is only the SEND event. */
	CHECK_EQ(LNetPut(LNET_NID_ANY, md, LNET_NOACK_REQ, loopback(), 10, 1, 0, 0), 0);
	CHECK_EQ(heard, 1);
	CHECK_EQ(lustre_lnet_config_numa_range(7, -1, NULL), 0);
	CHECK_EQ(LNetNIFini(), 0);
	CHECK_EQ(LNetNIFini(), -ENETDOWN);
	return failures != 0;
}
