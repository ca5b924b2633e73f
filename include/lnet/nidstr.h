/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The numbers of the network drivers; NIDs and networks as strings. The functions may be called whether the network
 * is up or not, from every thread and from event handlers. */
#ifndef LNET_NIDSTR_H
#define LNET_NIDSTR_H

#include <lnet/types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The types of networks, each named after its driver. The missing numbers were used in the past. */
enum {
	SOCKLND = 2,
	O2IBLND = 5,
	LOLND = 9,
	GNILND = 13,
	GNIIPLND = 14,
#if LNET_API < 0x20f00
	PTL4LND = 15
#else
	PTL4LND = 15,
	KFILND = 16,
	TOFULND = 17,
	EFALND = 18,
	BXI3LND = 19
#endif
};

/** The number of strings that libcfs_next_nidstring keeps, and the number of bytes of each that a caller may use. */
#define LNET_NIDSTR_COUNT 1024
#if LNET_API < 0x20f00
#define LNET_NIDSTR_SIZE 32
#else
#define LNET_NIDSTR_SIZE 64
#endif

/**
 * The next of 1024 strings that are used in turn, never NULL. A string is valid until 1024 others have
 * been returned.
 */
char *libcfs_next_nidstring(void);

/** Returns 1 if lnd is the number of a kind of network that has a name, else 0. */
int libcfs_isknown_lnd(__u32 lnd);

/** The name of the kernel module that drives a kind of network; NULL if there is none. The string is static. */
char *libcfs_lnd2modname(__u32 lnd);

/**
 * Writes the name of a kind of network, such as tcp, or ?99?, into the n bytes of buf; returns buf. The
 * result is always terminated, and cut short where buf is too small.
 */
char *libcfs_lnd2str_r(__u32 lnd, char *buf, size_t n);

/** Like libcfs_lnd2str_r, but writes into a string of libcfs_next_nidstring. */
static inline char *libcfs_lnd2str(__u32 lnd)
{
	return libcfs_lnd2str_r(lnd, libcfs_next_nidstring(), LNET_NIDSTR_SIZE);
}

/** The number of a kind of network by its name; -1 if there is none. */
int libcfs_str2lnd(const char *str);

/**
 * Writes a network, such as tcp1, or <77:3>, into the n bytes of buf; returns buf. The result is always
 * terminated, and cut short where buf is too small.
 */
char *libcfs_net2str_r(__u32 net, char *buf, size_t n);

/** Like libcfs_net2str_r, but writes into a string of libcfs_next_nidstring. */
static inline char *libcfs_net2str(__u32 net)
{
	return libcfs_net2str_r(net, libcfs_next_nidstring(), LNET_NIDSTR_SIZE);
}

/**
 * Writes a NID, such as 10.0.0.1@tcp1, or <?> for LNET_NID_ANY, into the n bytes of buf; returns buf. The
 * result is always terminated, and cut short where buf is too small.
 */
char *libcfs_nid2str_r(lnet_nid_t nid, char *buf, size_t n);

/** Like libcfs_nid2str_r, but writes into a string of libcfs_next_nidstring. */
static inline char *libcfs_nid2str(lnet_nid_t nid)
{
	return libcfs_nid2str_r(nid, libcfs_next_nidstring(), LNET_NIDSTR_SIZE);
}

/** The network that a string such as tcp or o2ib3 names; 0xffffffff if it names none. */
__u32 libcfs_str2net(const char *str);

/**
 * The NID that a string such as 10.0.0.1@tcp names (tcp if there is no @); LNET_NID_ANY if it names none, or one whose
 * address is longer than four bytes. A host name may replace an IPv4 address; it is looked up by the system's resolver, for
 * at most 5 s.
 */
lnet_nid_t libcfs_str2nid(const char *str);

/**
 * Does the same as libcfs_str2nid, but accepts * for LNET_NID_ANY. Stores the NID in *nid and returns 1; returns 0, and
 * stores LNET_NID_ANY, if the string names none.
 */
int libcfs_str2anynid(lnet_nid_t *nid, const char *str);

/**
 * A process on a node, such as 12345-10.0.0.1@tcp, in a string of libcfs_next_nidstring: at most LNET_NIDSTR_SIZE
 * bytes with the terminator, truncated if necessary.
 */
char *libcfs_id2str(struct lnet_process_id id);

/* ---- lists of NIDs: "10.0.0.[1-5]@tcp *@o2ib" ---- */

/** A ring like Linux's; libcfs/util/list.h defines it. */
struct list_head;

/**
 * Reads a list of NIDs from the first len bytes of str into list, which the function initialises: one or more
 * ADDRESSES@NETWORK with blanks between.
 *
 * ADDRESSES is *, or four expressions with dots between, or for networks with numeric addresses one
 * expression; an expression is a number, * or [a,b-c,d-e/s]. On tcp and efa it is also an IPv6 address whose
 * groups are expressions with hexadecimal numbers (fd99::[1-f]). A mask is an address and the number of its
 * first bits (10.0.0.0/8, fd99::/64). Returns 1; 0 if str is no list of NIDs, and
 * list is then empty. The list belongs to the caller until cfs_free_nidlist.
 */
int cfs_parse_nidlist(char *str, int len, struct list_head *list);

/** Returns 1 if nid is in the list, else 0. */
int cfs_match_nid(lnet_nid_t nid, struct list_head *list);

/**
 * Writes the list into the count bytes of buf, terminated, and truncated if buf is too small. Entries
 * on the same network are adjacent. Returns the number of characters written; 0 for count <= 0.
 */
int cfs_print_nidlist(char *buf, int count, struct list_head *list);

/** Frees the items of a list, which is then empty. */
void cfs_free_nidlist(struct list_head *list);

/** Whether the list names one network, and all addresses between the lowest and the highest. */
bool cfs_nidrange_is_contiguous(struct list_head *list);

/**
 * Writes the lowest and the highest NID of a list for which cfs_nidrange_is_contiguous holds into min and
 * max, which have len bytes each; empty strings for any other list.
 */
void cfs_nidrange_find_min_max(struct list_head *list, char *min, char *max, size_t len);

#if LNET_API < 0x20f00
/**
 * The conversion between a driver's addresses and strings. It is for drivers within LNet: no function of the API
 * takes or returns this structure.
 */
struct netstrfns {
	__u32 nf_type;
	char *nf_name;
	char *nf_modname;
	void (*nf_addr2str)(__u32 addr, char *str, size_t size);
	int (*nf_str2addr)(const char *str, int nob, __u32 *addr);
	int (*nf_parse_addrlist)(char *str, int len, struct list_head *list);
	int (*nf_print_addrlist)(char *buffer, int count, struct list_head *list);
	int (*nf_match_addr)(__u32 addr, struct list_head *list);
	bool (*nf_is_contiguous)(struct list_head *nidlist);
	void (*nf_min_max)(struct list_head *nidlist, __u32 *min_nid, __u32 *max_nid);
};
#endif

#ifdef __cplusplus
}
#endif

#if LNET_API >= 0x20f00
#include <lnet/v2_15/nidstr.h>
#endif

#endif
