/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of the Linux kernel that programs for LNet use: struct kvec and pages; for the API of 2.15 and later releases
 * struct bio_vec, and pointers that are errors. No other header includes this one, so a program may have its own definitions. */
#ifndef LIBCFS_LINUX_COMPAT_H
#define LIBCFS_LINUX_COMPAT_H

#include <lnet/version.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A fragment of an MD with LNET_MD_IOVEC; struct iovec has the same layout. */
struct kvec {
	void *iov_base;
	size_t iov_len;
};

#ifndef PAGE_SHIFT
#define PAGE_SHIFT 12
#endif
#ifndef PAGE_SIZE
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#endif
#ifndef PAGE_MASK
#define PAGE_MASK (~(PAGE_SIZE - 1))
#endif

/** The type of pages: in user space a `struct page *` is the address of the page's memory. */
struct page;

/** The page that contains an address. */
static inline struct page *virt_to_page(const void *addr)
{
	return (struct page *)((unsigned long)addr & PAGE_MASK);
}

/** The memory of a page. */
static inline void *page_address(const struct page *page)
{
	return (void *)(unsigned long)page;
}

#if LNET_API >= 0x20f00
/** A fragment of an MD with LNET_MD_KIOV. */
struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

/** Whether a pointer is an error. */
static inline bool IS_ERR(const void *ptr)
{
	return (unsigned long)ptr >= (unsigned long)-4095;
}

/** The negative errno that a pointer is. */
static inline long PTR_ERR(const void *ptr)
{
	return (long)ptr;
}

/** A negative errno as a pointer. */
static inline void *ERR_PTR(long error)
{
	return (void *)error;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
