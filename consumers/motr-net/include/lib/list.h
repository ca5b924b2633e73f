/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rings of links that are embedded in the objects of a list. The head is itself a link, and points to itself when the
 * list is empty. The functions neither lock nor allocate memory. A head of zeros is an empty list, and a link of
 * zeros is in no list. */
#ifndef M0_LIB_LIST_H
#define M0_LIB_LIST_H

#include <lib/misc.h>
#include <lib/types.h>

struct m0_list_link {
	struct m0_list_link *ll_next;
	struct m0_list_link *ll_prev;
};

struct m0_list {
	struct m0_list_link *l_head;
	struct m0_list_link *l_tail;
};

void m0_list_init(struct m0_list *head);
/** The list must be empty. */
void m0_list_fini(struct m0_list *head);
bool m0_list_is_empty(const struct m0_list *head);
void m0_list_link_init(struct m0_list_link *link);
/** The link must be in no list. */
void m0_list_link_fini(struct m0_list_link *link);
bool m0_list_link_is_in(const struct m0_list_link *link);
/** Puts a link first. */
void m0_list_add(struct m0_list *head, struct m0_list_link *link);
/** Puts a link last. */
void m0_list_add_tail(struct m0_list *head, struct m0_list_link *link);
void m0_list_add_after(struct m0_list_link *anchor, struct m0_list_link *link);
void m0_list_add_before(struct m0_list_link *anchor, struct m0_list_link *link);
/** Removes a link from its list, if it is in one. */
void m0_list_del(struct m0_list_link *link);
/** Whether the link is in this list. Searches the whole list. */
bool m0_list_contains(const struct m0_list *list, const struct m0_list_link *link);
size_t m0_list_length(const struct m0_list *list);
/** The first link; NULL if the list is empty. */
struct m0_list_link *m0_list_first(const struct m0_list *head);
struct m0_list_link *m0_list_last(const struct m0_list *head);

/** The object in which the link is embedded. */
#define m0_list_entry(link, type, member) container_of(link, type, member)

/** Loops over the links. The body must not remove links. */
#define m0_list_for_each(head, pos) \
	for ((pos) = m0_list_first(head); (pos) != NULL && (pos) != (const void *)(head); (pos) = (pos)->ll_next)

/** Loops over the objects. The body may remove the current one. */
#define m0_list_for_each_entry(head, pos, type, member)                                        \
	for (struct m0_list_link *m0_link_ = m0_list_first(head), *m0_next_ = NULL;            \
	     m0_link_ != NULL && m0_link_ != (const void *)(head) &&                           \
	     ((pos) = m0_list_entry(m0_link_, type, member), m0_next_ = m0_link_->ll_next, true); \
	     m0_link_ = m0_next_)
#define m0_list_for_each_entry_safe(head, pos, temp, type, member)                          \
	for ((pos) = m0_list_first(head) == NULL ? NULL :                                   \
						   m0_list_entry(m0_list_first(head), type, member); \
	     (pos) != NULL && &(pos)->member != (const void *)(head) &&                     \
	     ((temp) = m0_list_entry((pos)->member.ll_next, type, member), true);           \
	     (pos) = (temp))

#endif
