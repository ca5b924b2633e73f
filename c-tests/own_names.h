/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program's own definitions of names that the Linux kernel has: what programs bring along that were written for it. */
#ifndef OWN_NAMES_H
#define OWN_NAMES_H

#include <stddef.h>

#define PAGE_SHIFT 16
#define PAGE_SIZE 65536
#define PAGE_MASK (~65535UL)

struct kvec {
	void *iov_base;
	size_t iov_len;
};

struct page {
	int of_my_own;
};

static inline void *page_address(struct page *page)
{
	return page;
}

static inline struct page *virt_to_page(void *address)
{
	return (struct page *)address;
}

struct list_head {
	struct list_head *next, *prev;
};

#ifndef WITHOUT_MACROS
#define LIST_HEAD_INIT(name) { &(name), &(name) }
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)
#endif

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list->prev = list;
}

static inline int list_empty(struct list_head *list)
{
	return list->next == list;
}

static inline void list_splice_tail(struct list_head *from, struct list_head *to)
{
	if (!list_empty(from)) {
		from->next->prev = to->prev;
		to->prev->next = from->next;
		from->prev->next = to;
		to->prev = from->prev;
	}
}

struct hlist_head {
	struct hlist_node *first;
};

#endif
