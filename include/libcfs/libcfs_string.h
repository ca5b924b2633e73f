/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numeric expressions such as [1-5,8,10-20/2], and small helpers for strings. */
#ifndef LIBCFS_STRING_H
#define LIBCFS_STRING_H

#include <libcfs/util/list.h>
#include <linux/types.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A piece of a string, not terminated. */
struct cfs_lstr {
	/** The first character; NULL if the piece is absent. */
	char *ls_str;
	/** The number of characters. */
	int ls_len;
};

/** A range of a numeric expression: every re_stride-th number from re_lo to re_hi. */
struct cfs_range_expr {
	/** The link in cfs_expr_list.el_exprs. */
	struct list_head re_link;
	/** The first number. */
	__u32 re_lo;
	/** The last number, inclusive. */
	__u32 re_hi;
	/** The step. */
	__u32 re_stride;
};

/** A numeric expression: `[1-5,8,10-20/2]`, `7` or `*`. */
struct cfs_expr_list {
	/** The link in a list of expressions, for instance the four of an IPv4 address. */
	struct list_head el_link;
	/** The ranges. */
	struct list_head el_exprs;
};

/**
 * Removes the first piece of next, up to the character delim or the end, without the blanks around it.
 *
 * Returns 1 and stores it in *res, which points into the same string; next then holds the rest, and NULL
 * after the last piece. Returns 0 if there is none.
 */
int cfs_gettok(struct cfs_lstr *next, char delim, struct cfs_lstr *res);

/**
 * Reads a number from the first nob bytes of str: decimal, 0x hexadecimal or 0 octal; blanks around
 * it are ignored. Returns 1 and stores it in *num if it is from min to max, else 0.
 */
int cfs_str2num_check(char *str, int nob, unsigned int *num, unsigned int min, unsigned int max);

/**
 * Reads an expression from the first len bytes of str: a number, * or [a,b-c,d-e/s], with all numbers
 * from min to max.
 *
 * Stores it in *out; the caller frees it with cfs_expr_list_free. Returns 0; -EINVAL, -ENOMEM.
 */
int cfs_expr_list_parse(char *str, int len, unsigned int min, unsigned int max,
		struct cfs_expr_list **out);

/** Returns 1 if value is among the numbers of the expression, else 0. */
int cfs_expr_list_match(__u32 value, struct cfs_expr_list *list);

/**
 * Writes the expression into the count bytes of buf, terminated, and truncated if buf is too small.
 * Returns the number of characters written.
 */
int cfs_expr_list_print(char *buf, int count, struct cfs_expr_list *list);

/**
 * Stores in *vals an array of all numbers of the expression, which the caller frees with
 * cfs_expr_list_values_free.
 *
 * Returns the number of values; 0, and no array, if there are none; -EINVAL if there are more than max;
 * -ENOMEM.
 */
int cfs_expr_list_values(struct cfs_expr_list *list, int max, __u32 **vals);

/** Frees an array of cfs_expr_list_values. */
void cfs_expr_list_values_free(__u32 *values, int num);

/** Frees an expression. */
void cfs_expr_list_free(struct cfs_expr_list *list);

/** Frees the expressions in a list that links them by el_link; the list is then empty. */
void cfs_expr_list_free_list(struct list_head *list);

/**
 * Reads four expressions with dots between, all numbers from 0 to 255, or an IPv4 mask such as 10.0.0.0/8, which
 * four expressions stand for, from the first len bytes of str, and adds them to list, which the caller has initialised and frees with
 * cfs_expr_list_free_list.
 *
 * Returns 0; -EINVAL, -ENOMEM: the list is then empty.
 */
int cfs_ip_addr_parse(char *str, int len, struct list_head *list);

/** Returns 1 if addr, an IPv4 address in host byte order, matches the four expressions in list, else 0. */
int cfs_ip_addr_match(__u32 addr, struct list_head *list);

/** Removes the blanks at the end of str, in place; returns the address of its first character that is no blank. */
char *cfs_trimwhite(char *str);

/** Ends str after its first word, reading at most size bytes; returns the start of the word. */
char *cfs_firststr(char *str, size_t size);

/** The last occurrence of needle in haystack; NULL if there is none. */
char *cfs_strrstr(const char *haystack, const char *needle);

#ifdef __cplusplus
}
#endif

#endif
