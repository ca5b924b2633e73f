/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checks every size, offset and constant of c-abi 4 at compile time, for the API of 2.15 or 2.17. */
#include <lnet/api.h>
#include <lnet/lib-lnet.h>
#include <lnet/lib-types.h>
#include <lnet/lnet.h>
#include <libcfs/linux_compat.h>
#include <linux/lnet/lnet-types.h>
#include <lustre_ver.h>
#include <stddef.h>
#include <uapi/linux/lnet/libcfs_ioctl.h>
#include <uapi/linux/lnet/lnet-dlc.h>
#include <uapi/linux/lnet/lnet-idl.h>
#include <uapi/linux/lnet/lnet-types.h>
#include <uapi/linux/lnet/nidstr.h>

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define IS(name, value) _Static_assert((name) == (value), #name)

/* NIDs and process IDs */
SIZE(lnet_nid_t, 8);
SIZE(struct lnet_nid, 20);
_Static_assert(_Alignof(struct lnet_nid) == 1, "packed");
AT(struct lnet_nid, nid_size, 0);
AT(struct lnet_nid, nid_type, 1);
AT(struct lnet_nid, nid_num, 2);
AT(struct lnet_nid, nid_addr, 4);
SIZE(struct lnet_processid, 24);
AT(struct lnet_processid, nid, 0);
AT(struct lnet_processid, pid, 20);
SIZE(struct lnet_process_id, 16);

/* memory descriptors */
SIZE(struct lnet_handle_md, 8);
SIZE(struct lnet_md, 48);
#if LNET_API >= 0x21100
AT(struct lnet_md, umd_start, 0);
AT(struct lnet_md, umd_length, 8);
AT(struct lnet_md, umd_threshold, 12);
AT(struct lnet_md, umd_max_size, 16);
AT(struct lnet_md, umd_options, 20);
AT(struct lnet_md, umd_user_ptr, 24);
AT(struct lnet_md, umd_handler, 32);
AT(struct lnet_md, umd_bulk_handle, 40);
IS(LNET_MD_GPU_ADDR, 0x2000);
IS(LUSTRE_VERSION_CODE, OBD_OCD_VERSION(2, 17, 0, 0));
#else
AT(struct lnet_md, start, 0);
AT(struct lnet_md, length, 8);
AT(struct lnet_md, threshold, 12);
AT(struct lnet_md, max_size, 16);
AT(struct lnet_md, options, 20);
AT(struct lnet_md, user_ptr, 24);
AT(struct lnet_md, handler, 32);
AT(struct lnet_md, bulk_handle, 40);
IS(LUSTRE_VERSION_CODE, OBD_OCD_VERSION(2, 15, 8, 0));
#ifdef LNET_MD_GPU_ADDR
#error "LNET_MD_GPU_ADDR came with 2.17"
#endif
#endif
IS(LNET_MD_OP_PUT, 0x001);
IS(LNET_MD_OP_GET, 0x002);
IS(LNET_MD_MANAGE_REMOTE, 0x004);
IS(LNET_MD_TRUNCATE, 0x010);
IS(LNET_MD_ACK_DISABLE, 0x020);
IS(LNET_MD_MAX_SIZE, 0x080);
IS(LNET_MD_KIOV, 0x100);
IS(LNET_MD_BULK_HANDLE, 0x200);
IS(LNET_MD_TRACK_RESPONSE, 0x400);
IS(LNET_MD_NO_TRACK_RESPONSE, 0x800);
IS(LNET_MD_GNILND, 0x1000);
#if defined(LNET_MD_IOVEC) || defined(LNET_MD_PHYS) || defined(LNET_EQ_HANDLER_NONE)
#error "2.15 does not have these"
#endif
SIZE(struct bio_vec, 16);
AT(struct bio_vec, bv_page, 0);
AT(struct bio_vec, bv_len, 8);
AT(struct bio_vec, bv_offset, 12);

/* events */
SIZE(struct lnet_event, 184);
AT(struct lnet_event, target, 0);
AT(struct lnet_event, initiator, 24);
AT(struct lnet_event, source, 48);
AT(struct lnet_event, sender, 72);
AT(struct lnet_event, type, 92);
AT(struct lnet_event, pt_index, 96);
AT(struct lnet_event, match_bits, 104);
AT(struct lnet_event, rlength, 112);
AT(struct lnet_event, mlength, 116);
AT(struct lnet_event, md_handle, 120);
AT(struct lnet_event, md_start, 128);
AT(struct lnet_event, md_user_ptr, 136);
AT(struct lnet_event, md_options, 144);
AT(struct lnet_event, hdr_data, 152);
AT(struct lnet_event, msg_type, 160);
AT(struct lnet_event, status, 164);
AT(struct lnet_event, unlinked, 168);
AT(struct lnet_event, offset, 172);
AT(struct lnet_event, sequence, 176);

/* constants */
IS(LNET_NIDSTR_SIZE, 64);
IS(LNET_INTERFACES_NUM, 16);
IS(KFILND, 16);
IS(TOFULND, 17);
IS(EFALND, 18);
IS(BXI3LND, 19);
IS(LNET_MAX_IOV, 256);
IS(LNET_MTU, 1048576);
IS(LNET_MD_THRESH_INF, -1);
IS(LNET_EVENT_GET, 1);
IS(LNET_EVENT_PUT, 2);
IS(LNET_EVENT_REPLY, 3);
IS(LNET_EVENT_ACK, 4);
IS(LNET_EVENT_SEND, 5);
IS(LNET_EVENT_UNLINK, 6);

int main(void)
{
	/* A type of more than 8 bits is not kept. */
	return LNET_NETTYP(LNET_MKNET(0x102, 0)) == 2 ? 0 : 1;
}
