/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Helpers for tests of the DLC API: the results of calls, their errors and the trees that they show. */
#ifndef DLC_H
#define DLC_H

#include "check.h"
#include <lnet/lnetconfig/lnetconfig_hld.h>

#define NONE (-1)

static struct cYAML *err, *shown;

/* Checks the result of a call, and that the last entry of the tree of errors contains it. */
#define CALL(call, want)                                                   \
	do {                                                               \
		err = NULL;                                                \
		CHECK_EQ(call, want);                                      \
		CHECK_EQ(last_errno(#call), want);                         \
		cYAML_free_tree(err);                                      \
		err = NULL;                                                \
	} while (0)

/* Like CALL, for a call that shows something; compares the text, unless that is NULL. */
#define SHOW(call, text)                                                   \
	do {                                                               \
		shown = NULL;                                              \
		CALL(call, 0);                                             \
		check_shown(text, #call);                                  \
		cYAML_free_tree(shown);                                    \
		shown = NULL;                                              \
	} while (0)

static inline char *c(const char *text)
{
	return (char *)text;
}

static inline struct cYAML *last(struct cYAML *node)
{
	while (node != NULL && node->cy_next != NULL)
		node = node->cy_next;
	return node;
}

static inline long long last_errno(const char *call)
{
	struct cYAML *item = err ? last(err->cy_child) : NULL, *number;

	item = item ? last(item->cy_child) : NULL;
	number = item && item->cy_child ? cYAML_get_object_item(item->cy_child->cy_child, "errno") : NULL;
	if (number == NULL) {
		fprintf(stderr, "%s: no errno\n", call);
		failures++;
		return -9999;
	}
	return number->cy_valueint;
}

static inline void check_shown(const char *text, const char *call)
{
	char *got = NULL;

	cYAML_dump(shown, &got);
	if (text != NULL && strcmp(got ? got : "", text) != 0) {
		fprintf(stderr, "%s shows\n%s, not\n%s\n", call, got ? got : "nothing", text);
		failures++;
	}
	free(got);
}

/* The string under a key in the shown tree. */
static inline const char *string(const char *key)
{
	struct cYAML *node = cYAML_find_object(shown, key);

	return node && node->cy_valuestring ? node->cy_valuestring : "";
}

/* The number under a key in the shown tree. */
static inline long long number(const char *key)
{
	struct cYAML *node = cYAML_find_object(shown, key);

	return node ? node->cy_valueint : -9999;
}

#endif
