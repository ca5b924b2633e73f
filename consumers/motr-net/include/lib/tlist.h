/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lists of objects of one type. A descriptor contains the offset of the link in an object. A family of functions,
 * NAME_tlist_... and NAME_tlink_..., is a descriptor with its type. This library has three families: m0_nep,
 * m0_net_tm (net/net.h) and m0_net_pool (net/buffer_pool.h). A head of zeros is an empty list, and a link of zeros is
 * in no list. */
#ifndef M0_LIB_TLIST_H
#define M0_LIB_TLIST_H

#include <lib/list.h>
#include <lib/types.h>

/** The head of a list. */
struct m0_tl {
	struct m0_list t_head;
};

/** A link, which is embedded in an object. */
struct m0_tlink {
	struct m0_list_link t_link;
};

struct m0_tl_descr {
	/** The name of the list in messages. */
	const char *td_name;
	/** The offset of the link in an object. */
	size_t td_link_offset;
	/** The offset of the mark (a uint64_t) in an object, and the mark; 0: the objects have no marks. */
	size_t td_magic_offset;
	uint64_t td_magic;
};

void m0_tlist_init(const struct m0_tl_descr *d, struct m0_tl *list);
/** The list must be empty. */
void m0_tlist_fini(const struct m0_tl_descr *d, struct m0_tl *list);
bool m0_tlist_is_empty(const struct m0_tl_descr *d, const struct m0_tl *list);
size_t m0_tlist_length(const struct m0_tl_descr *d, const struct m0_tl *list);
bool m0_tlist_contains(const struct m0_tl_descr *d, const struct m0_tl *list, const void *obj);
/** Initialises the link of `obj` as one that is in no list, and marks `obj`. */
void m0_tlink_init(const struct m0_tl_descr *d, void *obj);
/** The link must be in no list. */
void m0_tlink_fini(const struct m0_tl_descr *d, void *obj);
bool m0_tlink_is_in(const struct m0_tl_descr *d, const void *obj);
void m0_tlist_add(const struct m0_tl_descr *d, struct m0_tl *list, void *obj);
void m0_tlist_add_tail(const struct m0_tl_descr *d, struct m0_tl *list, void *obj);
void m0_tlist_del(const struct m0_tl_descr *d, void *obj);
/** The first object; NULL if the list is empty. */
void *m0_tlist_head(const struct m0_tl_descr *d, const struct m0_tl *list);
void *m0_tlist_tail(const struct m0_tl_descr *d, const struct m0_tl *list);
/** The object after `obj`; NULL if `obj` is the last. */
void *m0_tlist_next(const struct m0_tl_descr *d, const struct m0_tl *list, const void *obj);
void *m0_tlist_prev(const struct m0_tl_descr *d, const struct m0_tl *list, const void *obj);

/* Declares the functions of a family that the library defines. */
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

/* Defines a family of the program: M0_TL_DESCR_DEFINE(name, "for messages", static, struct object, its m0_tlink, its
 * uint64_t for the mark, the mark, the head's mark); M0_TL_DEFINE(name, static, struct object). Heads have no marks
 * in this library. */
#define M0_TL_DESCR_DECLARE(name, scope) scope const struct m0_tl_descr name##_tl
#define M0_TL_DESCR_DEFINE(name, hname, scope, amb_type, amb_link_field, amb_magic_field, amb_magic, head_magic) \
	scope const struct m0_tl_descr name##_tl = {                                                             \
		.td_name = (hname),                                                                              \
		.td_link_offset = offsetof(amb_type, amb_link_field),                                            \
		.td_magic_offset = offsetof(amb_type, amb_magic_field),                                          \
		.td_magic = (amb_magic) + 0 * (head_magic),                                                      \
	}
#define M0_TL_FUNCTION(scope) __attribute__((unused)) scope
#define M0_TL_DECLARE(name, scope, amb_type)                                                     \
	M0_TL_FUNCTION(scope) void name##_tlist_init(struct m0_tl *list);                        \
	M0_TL_FUNCTION(scope) void name##_tlist_fini(struct m0_tl *list);                        \
	M0_TL_FUNCTION(scope) bool name##_tlist_is_empty(const struct m0_tl *list);              \
	M0_TL_FUNCTION(scope) size_t name##_tlist_length(const struct m0_tl *list);              \
	M0_TL_FUNCTION(scope) bool name##_tlist_contains(const struct m0_tl *list, const amb_type *obj); \
	M0_TL_FUNCTION(scope) void name##_tlist_add(struct m0_tl *list, amb_type *obj);          \
	M0_TL_FUNCTION(scope) void name##_tlist_add_tail(struct m0_tl *list, amb_type *obj);     \
	M0_TL_FUNCTION(scope) void name##_tlist_del(amb_type *obj);                              \
	M0_TL_FUNCTION(scope) amb_type *name##_tlist_head(const struct m0_tl *list);             \
	M0_TL_FUNCTION(scope) amb_type *name##_tlist_tail(const struct m0_tl *list);             \
	M0_TL_FUNCTION(scope) amb_type *name##_tlist_pop(struct m0_tl *list);                    \
	M0_TL_FUNCTION(scope) amb_type *name##_tlist_next(const struct m0_tl *list, const amb_type *obj); \
	M0_TL_FUNCTION(scope) amb_type *name##_tlist_prev(const struct m0_tl *list, const amb_type *obj); \
	M0_TL_FUNCTION(scope) void name##_tlink_init(amb_type *obj);                             \
	M0_TL_FUNCTION(scope) void name##_tlink_init_at(amb_type *obj, struct m0_tl *list);      \
	M0_TL_FUNCTION(scope) void name##_tlink_init_at_tail(amb_type *obj, struct m0_tl *list); \
	M0_TL_FUNCTION(scope) void name##_tlink_fini(amb_type *obj);                             \
	M0_TL_FUNCTION(scope) void name##_tlink_del_fini(amb_type *obj);                         \
	M0_TL_FUNCTION(scope) bool name##_tlink_is_in(const amb_type *obj)
#define M0_TL_DEFINE(name, scope, amb_type)                                                                   \
	M0_TL_DECLARE(name, scope, amb_type);                                                                 \
	scope void name##_tlist_init(struct m0_tl *list) { m0_tlist_init(&name##_tl, list); }                 \
	scope void name##_tlist_fini(struct m0_tl *list) { m0_tlist_fini(&name##_tl, list); }                 \
	scope bool name##_tlist_is_empty(const struct m0_tl *list) { return m0_tlist_is_empty(&name##_tl, list); } \
	scope size_t name##_tlist_length(const struct m0_tl *list) { return m0_tlist_length(&name##_tl, list); } \
	scope bool name##_tlist_contains(const struct m0_tl *list, const amb_type *obj)                       \
	{                                                                                                     \
		return m0_tlist_contains(&name##_tl, list, obj);                                              \
	}                                                                                                     \
	scope void name##_tlist_add(struct m0_tl *list, amb_type *obj) { m0_tlist_add(&name##_tl, list, obj); } \
	scope void name##_tlist_add_tail(struct m0_tl *list, amb_type *obj)                                   \
	{                                                                                                     \
		m0_tlist_add_tail(&name##_tl, list, obj);                                                     \
	}                                                                                                     \
	scope void name##_tlist_del(amb_type *obj) { m0_tlist_del(&name##_tl, obj); }                         \
	scope amb_type *name##_tlist_head(const struct m0_tl *list) { return m0_tlist_head(&name##_tl, list); } \
	scope amb_type *name##_tlist_tail(const struct m0_tl *list) { return m0_tlist_tail(&name##_tl, list); } \
	scope amb_type *name##_tlist_pop(struct m0_tl *list)                                                  \
	{                                                                                                     \
		amb_type *m0_obj_ = name##_tlist_head(list);                                                  \
		if (m0_obj_ != NULL)                                                                          \
			name##_tlist_del(m0_obj_);                                                            \
		return m0_obj_;                                                                               \
	}                                                                                                     \
	scope amb_type *name##_tlist_next(const struct m0_tl *list, const amb_type *obj)                      \
	{                                                                                                     \
		return m0_tlist_next(&name##_tl, list, obj);                                                  \
	}                                                                                                     \
	scope amb_type *name##_tlist_prev(const struct m0_tl *list, const amb_type *obj)                      \
	{                                                                                                     \
		return m0_tlist_prev(&name##_tl, list, obj);                                                  \
	}                                                                                                     \
	scope void name##_tlink_init(amb_type *obj) { m0_tlink_init(&name##_tl, obj); }                       \
	scope void name##_tlink_init_at(amb_type *obj, struct m0_tl *list)                                    \
	{                                                                                                     \
		name##_tlink_init(obj);                                                                       \
		name##_tlist_add(list, obj);                                                                  \
	}                                                                                                     \
	scope void name##_tlink_init_at_tail(amb_type *obj, struct m0_tl *list)                               \
	{                                                                                                     \
		name##_tlink_init(obj);                                                                       \
		name##_tlist_add_tail(list, obj);                                                             \
	}                                                                                                     \
	scope void name##_tlink_fini(amb_type *obj) { m0_tlink_fini(&name##_tl, obj); }                       \
	scope void name##_tlink_del_fini(amb_type *obj)                                                       \
	{                                                                                                     \
		name##_tlist_del(obj);                                                                        \
		name##_tlink_fini(obj);                                                                       \
	}                                                                                                     \
	scope bool name##_tlink_is_in(const amb_type *obj) { return m0_tlink_is_in(&name##_tl, obj); }        \
	struct name##_tlist_needs_a_semicolon

/**
 * Loops over the objects of a list: m0_tl_for(family, list, obj) { ... } m0_tl_endfor; The body may remove the
 * current object.
 */
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

/** Removes the objects of a list, one by one, until it is empty: m0_tl_teardown(family, list, obj) { ... } */
#define m0_tl_teardown(name, head, obj) \
	for (; ((obj) = m0_tlist_head(&name##_tl, (head))) != NULL && (m0_tlist_del(&name##_tl, (obj)), true);)

#endif
