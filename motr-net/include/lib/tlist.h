/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lists of objects of one type. A descriptor says where in an object its link is; a family of functions, NAME_tlist_... and
 * NAME_tlink_..., is a descriptor with its type. This library has three families: m0_nep, m0_net_tm (net/net.h) and
 * m0_net_pool (net/buffer_pool.h). Zeros are an empty list, and a link that is in no list. */
#ifndef M0_LIB_TLIST_H
#define M0_LIB_TLIST_H

#include <lib/list.h>
#include <lib/types.h>

/** The head of a list. */
struct m0_tl {
	struct m0_list t_head;
};

/** A link, which lies in an object. */
struct m0_tlink {
	struct m0_list_link t_link;
};

struct m0_tl_descr {
	/** For messages. */
	const char *td_name;
	/** Where in an object its link is. */
	size_t td_link_offset;
	/** Where in an object its mark is, a uint64_t, and the mark; 0: objects have none. */
	size_t td_magic_offset;
	uint64_t td_magic;
};

void m0_tlist_init(const struct m0_tl_descr *d, struct m0_tl *list);
/** The list must be empty. */
void m0_tlist_fini(const struct m0_tl_descr *d, struct m0_tl *list);
bool m0_tlist_is_empty(const struct m0_tl_descr *d, const struct m0_tl *list);
size_t m0_tlist_length(const struct m0_tl_descr *d, const struct m0_tl *list);
bool m0_tlist_contains(const struct m0_tl_descr *d, const struct m0_tl *list, const void *obj);
/** Makes the link of `obj` one that is in no list, and marks `obj`. */
void m0_tlink_init(const struct m0_tl_descr *d, void *obj);
/** The link must be in no list. */
void m0_tlink_fini(const struct m0_tl_descr *d, void *obj);
bool m0_tlink_is_in(const struct m0_tl_descr *d, const void *obj);
void m0_tlist_add(const struct m0_tl_descr *d, struct m0_tl *list, void *obj);
void m0_tlist_add_tail(const struct m0_tl_descr *d, struct m0_tl *list, void *obj);
void m0_tlist_del(const struct m0_tl_descr *d, void *obj);
/** The first object; NULL: there is none. */
void *m0_tlist_head(const struct m0_tl_descr *d, const struct m0_tl *list);
void *m0_tlist_tail(const struct m0_tl_descr *d, const struct m0_tl *list);
/** The next one after `obj`; NULL: that is the last. */
void *m0_tlist_next(const struct m0_tl_descr *d, const struct m0_tl *list, const void *obj);
void *m0_tlist_prev(const struct m0_tl_descr *d, const struct m0_tl *list, const void *obj);

/* Declares the functions of a family, which the library has. */
#define M0_TL_FAMILY_DECLARE(name, type)                                      \
	extern const struct m0_tl_descr name##_tl;                            \
	void name##_tlist_init(struct m0_tl *list);                           \
	void name##_tlist_fini(struct m0_tl *list);                           \
	bool name##_tlist_is_empty(const struct m0_tl *list);                 \
	size_t name##_tlist_length(const struct m0_tl *list);                 \
	bool name##_tlist_contains(const struct m0_tl *list, const type *obj); \
	void name##_tlist_add(struct m0_tl *list, type *obj);                 \
	void name##_tlist_add_tail(struct m0_tl *list, type *obj);            \
	void name##_tlist_del(type *obj);                                     \
	type *name##_tlist_head(const struct m0_tl *list);                    \
	type *name##_tlist_tail(const struct m0_tl *list);                    \
	void name##_tlink_init(type *obj);                                    \
	void name##_tlink_init_at(type *obj, struct m0_tl *list);             \
	void name##_tlink_init_at_tail(type *obj, struct m0_tl *list);        \
	void name##_tlink_fini(type *obj);                                    \
	void name##_tlink_del_fini(type *obj);                                \
	bool name##_tlink_is_in(const type *obj)

/** For each object of a list: m0_tl_for(family, list, obj) { ... } m0_tl_endfor; The current object may be taken out. */
#define m0_tl_for(name, head, obj)                                                                     \
	do {                                                                                           \
		const struct m0_tl *m0_head_ = (head);                                                 \
		void *m0_next_;                                                                        \
		for ((obj) = m0_tlist_head(&name##_tl, m0_head_);                                      \
		     (obj) != NULL && (m0_next_ = m0_tlist_next(&name##_tl, m0_head_, (obj)), true);   \
		     (obj) = m0_next_)
#define m0_tl_endfor \
	(void)m0_head_; \
	}               \
	while (0)

/** Whether `expr` holds for each `var` of a list. */
#define m0_tl_forall(name, var, head, ...)                                   \
	({                                                                   \
		const struct m0_tl *m0_list_ = (head);                       \
		__typeof__(name##_tlist_head(m0_list_)) var = name##_tlist_head(m0_list_); \
		while (var != NULL && (__VA_ARGS__))                         \
			var = m0_tlist_next(&name##_tl, m0_list_, var);      \
		var == NULL;                                                 \
	})

#endif
