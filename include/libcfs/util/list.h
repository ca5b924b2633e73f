/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Doubly linked rings, with the names that Linux gives them. */
#ifndef LIBCFS_UTIL_LIST_H
#define LIBCFS_UTIL_LIST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A doubly linked ring, as in Linux: the head and the links look alike. */
struct list_head {
	/** The one after. */
	struct list_head *next;
	/** The one before. */
	struct list_head *prev;
};

#define LIST_HEAD_INIT(name) { &(name), &(name) }
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)

/** Makes a list empty. */
static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

/** Links item between two neighbours. */
static inline void list_insert_between(struct list_head *item, struct list_head *before,
				       struct list_head *after)
{
	item->prev = before;
	item->next = after;
	before->next = item;
	after->prev = item;
}

/** Adds item at the front of a list. */
static inline void list_add(struct list_head *item, struct list_head *head)
{
	list_insert_between(item, head, head->next);
}

/** Adds item at the end of a list. */
static inline void list_add_tail(struct list_head *item, struct list_head *head)
{
	list_insert_between(item, head->prev, head);
}

/** Takes item out of its list. */
static inline void list_del(struct list_head *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	item->next = NULL;
	item->prev = NULL;
}

/** Takes item out of its list; it is then an empty list of its own. */
static inline void list_del_init(struct list_head *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	INIT_LIST_HEAD(item);
}

/** Whether a list has no items. */
static inline int list_empty(const struct list_head *head)
{
	return head->next == head;
}

/** Moves item to the front of another list. */
static inline void list_move(struct list_head *item, struct list_head *head)
{
	list_del(item);
	list_add(item, head);
}

/** Moves item to the end of another list. */
static inline void list_move_tail(struct list_head *item, struct list_head *head)
{
	list_del(item);
	list_add_tail(item, head);
}

/** Moves all items of a list to the front of another; the first is then empty. */
static inline void list_splice_init(struct list_head *from, struct list_head *head)
{
	if (list_empty(from))
		return;
	from->prev->next = head->next;
	head->next->prev = from->prev;
	from->next->prev = head;
	head->next = from->next;
	INIT_LIST_HEAD(from);
}

#ifndef container_of
/** The structure of a type that has ptr as its member. */
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))
#endif

#define list_entry(ptr, type, member) container_of(ptr, type, member)

#define list_for_each(pos, head) for (pos = (head)->next; pos != (head); pos = pos->next)
#define list_for_each_prev(pos, head) for (pos = (head)->prev; pos != (head); pos = pos->prev)
#define list_for_each_safe(pos, n, head) \
	for (pos = (head)->next, n = pos->next; pos != (head); pos = n, n = pos->next)

#define list_for_each_entry(pos, head, member)                          \
	for (pos = list_entry((head)->next, __typeof__(*pos), member);  \
	     &pos->member != (head);                                    \
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))

#define list_for_each_entry_safe(pos, n, head, member)                  \
	for (pos = list_entry((head)->next, __typeof__(*pos), member),  \
	     n = list_entry(pos->member.next, __typeof__(*pos), member); \
	     &pos->member != (head);                                    \
	     pos = n, n = list_entry(n->member.next, __typeof__(*n), member))

#ifdef __cplusplus
}
#endif

#endif
