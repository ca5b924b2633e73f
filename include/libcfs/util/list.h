/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Doubly linked rings and hash chains, with the names that Linux gives them.
 *
 * A program may define its own rings with those names, if its struct list_head is { next, prev } too. Such a program
 * includes its definitions before this header, which then defines nothing. This header recognises them by the macro
 * LIST_HEAD_INIT; if they do not have this macro, the program defines LIBCFS_OWN_LIST first. */
#ifndef LIBCFS_UTIL_LIST_H
#define LIBCFS_UTIL_LIST_H

#if !defined(LIBCFS_OWN_LIST) && !defined(LIST_HEAD_INIT)

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A doubly linked circular list, as in Linux: the head has the same form as the links. */
struct list_head {
	/** The next link, or the head. */
	struct list_head *next;
	/** The previous link, or the head. */
	struct list_head *prev;
};

#define LIST_HEAD_INIT(name) { &(name), &(name) }
/* sys/queue.h defines another macro of this name. */
#ifndef LIST_HEAD
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)
#endif

/** Makes a list empty. */
static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

/** Makes two links neighbours. */
static inline void libcfs_list_join(struct list_head *before, struct list_head *after)
{
	before->next = after;
	after->prev = before;
}

/** Adds item at the front of a list. */
static inline void list_add(struct list_head *item, struct list_head *head)
{
	libcfs_list_join(item, head->next);
	libcfs_list_join(head, item);
}

/** Adds item at the end of a list. */
static inline void list_add_tail(struct list_head *item, struct list_head *head)
{
	libcfs_list_join(head->prev, item);
	libcfs_list_join(item, head);
}

/** Removes item from its list. */
static inline void list_del(struct list_head *item)
{
	libcfs_list_join(item->prev, item->next);
	item->next = NULL;
	item->prev = NULL;
}

/** Removes item from its list. Afterwards item is an empty list. */
static inline void list_del_init(struct list_head *item)
{
	libcfs_list_join(item->prev, item->next);
	INIT_LIST_HEAD(item);
}

/** Replaces an item of a list by another. The replaced item is in no list afterwards. */
static inline void list_replace(struct list_head *old_item, struct list_head *item)
{
	libcfs_list_join(item, old_item->next);
	libcfs_list_join(old_item->prev, item);
}

/** Whether a list has no items. */
static inline int list_empty(const struct list_head *head)
{
	return head->next == head;
}

/** Whether a list has no items and no other thread is removing the last item with list_del_init. */
static inline int list_empty_careful(const struct list_head *head)
{
	return head->next == head && head->prev == head;
}

/** Whether item is the last one of a list. */
static inline int list_is_last(const struct list_head *item, const struct list_head *head)
{
	return item->next == head;
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

/**
 * Adds all items of a list at the front of another list. The head of the first list may not be used afterwards until
 * it is initialised.
 */
static inline void list_splice(const struct list_head *from, struct list_head *head)
{
	if (!list_empty(from)) {
		libcfs_list_join(from->prev, head->next);
		libcfs_list_join(head, from->next);
	}
}

/**
 * Adds all items of a list at the end of another list. The head of the first list may not be used afterwards until it
 * is initialised.
 */
static inline void list_splice_tail(const struct list_head *from, struct list_head *head)
{
	if (!list_empty(from)) {
		libcfs_list_join(head->prev, from->next);
		libcfs_list_join(from->prev, head);
	}
}

/** Moves all items of a list to the front of another; the first is then empty. */
static inline void list_splice_init(struct list_head *from, struct list_head *head)
{
	list_splice(from, head);
	INIT_LIST_HEAD(from);
}

/** Moves all items of a list to the end of another; the first is then empty. */
static inline void list_splice_tail_init(struct list_head *from, struct list_head *head)
{
	list_splice_tail(from, head);
	INIT_LIST_HEAD(from);
}

#ifndef container_of
/** The structure of this type that has ptr as the address of its member. */
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))
#endif

#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_last_entry(head, type, member) list_entry((head)->prev, type, member)
#define list_next_entry(pos, member) list_entry((pos)->member.next, __typeof__(*(pos)), member)
#define list_prev_entry(pos, member) list_entry((pos)->member.prev, __typeof__(*(pos)), member)

#define list_for_each(pos, head) for (pos = (head)->next; pos != (head); pos = pos->next)
#define list_for_each_prev(pos, head) for (pos = (head)->prev; pos != (head); pos = pos->prev)
#define list_for_each_safe(pos, n, head) \
	for (pos = (head)->next, n = pos->next; pos != (head); pos = n, n = pos->next)

/* Loops over the structures in a list. The body of the forms with _safe may remove pos from the list. */
#define list_for_each_entry(pos, head, member)                                                      \
	for (pos = list_first_entry(head, __typeof__(*pos), member); &pos->member != (head);        \
	     pos = list_next_entry(pos, member))
#define list_for_each_entry_reverse(pos, head, member)                                              \
	for (pos = list_last_entry(head, __typeof__(*pos), member); &pos->member != (head);         \
	     pos = list_prev_entry(pos, member))
/* Loops over the structures after pos. */
#define list_for_each_entry_continue(pos, head, member)                                             \
	for (pos = list_next_entry(pos, member); &pos->member != (head);                            \
	     pos = list_next_entry(pos, member))
/* Loops over pos and the structures after it. */
#define list_for_each_entry_from(pos, head, member) \
	for (; &pos->member != (head); pos = list_next_entry(pos, member))
#define list_for_each_entry_safe(pos, n, head, member)                                              \
	for (pos = list_first_entry(head, __typeof__(*pos), member),                                \
	     n = list_next_entry(pos, member);                                                      \
	     &pos->member != (head); pos = n, n = list_next_entry(n, member))
#define list_for_each_entry_safe_from(pos, n, head, member)                                         \
	for (n = list_next_entry(pos, member); &pos->member != (head);                              \
	     pos = n, n = list_next_entry(n, member))
#define list_for_each_entry_safe_reverse(pos, n, head, member)                                      \
	for (pos = list_last_entry(head, __typeof__(*pos), member),                                 \
	     n = list_prev_entry(pos, member);                                                      \
	     &pos->member != (head); pos = n, n = list_prev_entry(n, member))

/* ---- hash chains: a head of one pointer ---- */

/** A link of a chain. */
struct hlist_node {
	/** The next node; NULL at the end. */
	struct hlist_node *next;
	/**
	 * The pointer that refers to this node: `first` of the head, or `next` of the previous node. NULL if the node
	 * is in no chain.
	 */
	struct hlist_node **pprev;
};

/** A chain. */
struct hlist_head {
	/** The first node; NULL if the chain is empty. */
	struct hlist_node *first;
};

#define HLIST_HEAD_INIT { NULL }
#define HLIST_HEAD(name) struct hlist_head name = HLIST_HEAD_INIT
#define INIT_HLIST_HEAD(head) ((head)->first = NULL)

/** Initialises a link that is in no chain. */
static inline void INIT_HLIST_NODE(struct hlist_node *node)
{
	node->next = NULL;
	node->pprev = NULL;
}

/** Whether a link is in no chain. */
static inline int hlist_unhashed(const struct hlist_node *node)
{
	return node->pprev == NULL;
}

/** Whether a chain has no links. */
static inline int hlist_empty(const struct hlist_head *head)
{
	return head->first == NULL;
}

/** Inserts node at the position that a pointer of a chain refers to. */
static inline void libcfs_hlist_insert(struct hlist_node *node, struct hlist_node **place)
{
	node->next = *place;
	node->pprev = place;
	if (node->next != NULL)
		node->next->pprev = &node->next;
	*place = node;
}

/** Adds node at the front of a chain. */
static inline void hlist_add_head(struct hlist_node *node, struct hlist_head *head)
{
	libcfs_hlist_insert(node, &head->first);
}

/** Adds node before another node. */
static inline void hlist_add_before(struct hlist_node *node, struct hlist_node *next)
{
	libcfs_hlist_insert(node, next->pprev);
}

/** Adds node after another node. */
static inline void hlist_add_behind(struct hlist_node *node, struct hlist_node *prev)
{
	libcfs_hlist_insert(node, &prev->next);
}

/** Like hlist_add_behind, with the arguments in the order of older releases. */
static inline void hlist_add_after(struct hlist_node *prev, struct hlist_node *node)
{
	libcfs_hlist_insert(node, &prev->next);
}

/** Removes node from its chain. Afterwards the node is in no chain. */
static inline void hlist_del_init(struct hlist_node *node)
{
	if (hlist_unhashed(node))
		return;
	*node->pprev = node->next;
	if (node->next != NULL)
		node->next->pprev = node->pprev;
	INIT_HLIST_NODE(node);
}

/** Removes node from its chain. */
static inline void hlist_del(struct hlist_node *node)
{
	hlist_del_init(node);
}

#define hlist_entry(ptr, type, member) container_of(ptr, type, member)
/** Like hlist_entry, but NULL for NULL. */
#define hlist_entry_safe(ptr, type, member) ((ptr) != NULL ? hlist_entry(ptr, type, member) : (type *)NULL)

#define hlist_for_each(pos, head) for (pos = (head)->first; pos != NULL; pos = pos->next)
#define hlist_for_each_safe(pos, n, head) \
	for (pos = (head)->first; pos != NULL && (n = pos->next, 1); pos = n)

/* Loops over the structures in a chain. The arguments are (pos, head, member), as in newer releases of Linux, or
 * (tpos, pos, head, member) with a struct hlist_node *pos, as in older releases and in Lustre 2.10. */
#define hlist_for_each_entry(...) \
	LIBCFS_FIFTH(__VA_ARGS__, libcfs_hlist_each_4, libcfs_hlist_each_3, , )(__VA_ARGS__)
/*
 * Loops over the structures in a chain; the body may remove pos. The arguments are (pos, n, head, member) with a
 * struct hlist_node *n, or (tpos, pos, n, head, member).
 */
#define hlist_for_each_entry_safe(...) \
	LIBCFS_SIXTH(__VA_ARGS__, libcfs_hlist_safe_5, libcfs_hlist_safe_4, , )(__VA_ARGS__)

#define LIBCFS_FIFTH(a, b, c, d, fifth, ...) fifth
#define LIBCFS_SIXTH(a, b, c, d, e, sixth, ...) sixth
#define libcfs_hlist_each_3(pos, head, member)                                                      \
	for (pos = hlist_entry_safe((head)->first, __typeof__(*pos), member); pos != NULL;          \
	     pos = hlist_entry_safe(pos->member.next, __typeof__(*pos), member))
#define libcfs_hlist_each_4(tpos, pos, head, member)                                                \
	for (pos = (head)->first;                                                                   \
	     pos != NULL && (tpos = hlist_entry(pos, __typeof__(*tpos), member), 1); pos = pos->next)
#define libcfs_hlist_safe_4(pos, n, head, member)                                                   \
	for (pos = hlist_entry_safe((head)->first, __typeof__(*pos), member);                       \
	     pos != NULL && (n = pos->member.next, 1);                                              \
	     pos = hlist_entry_safe(n, __typeof__(*pos), member))
#define libcfs_hlist_safe_5(tpos, pos, n, head, member)                                             \
	for (pos = (head)->first; pos != NULL && (n = pos->next,                                    \
	     tpos = hlist_entry(pos, __typeof__(*tpos), member), 1); pos = n)

#ifdef __cplusplus
}
#endif

#endif

#endif
