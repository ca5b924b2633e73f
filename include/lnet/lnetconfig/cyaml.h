/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* YAML as a tree of structures: the form in which the functions of liblnetconfig.h show things and report errors.
 * Different threads may use different trees at the same time. */
#ifndef LNETCONFIG_CYAML_H
#define LNETCONFIG_CYAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The type of a node. */
enum cYAML_object_type {
	CYAML_TYPE_FALSE = 0,
	CYAML_TYPE_TRUE,
	CYAML_TYPE_NULL,
	CYAML_TYPE_NUMBER,
	CYAML_TYPE_STRING,
	CYAML_TYPE_ARRAY,
	CYAML_TYPE_OBJECT
};

/**
 * A node of a tree. The root is an object without a key, and so are the items of a sequence that have
 * keys. Nodes come from the functions of this header and are freed by cYAML_free_tree.
 */
struct cYAML {
	/** The next among the children of the same parent. */
	struct cYAML *cy_next;
	/** The previous node among the children of the same parent. */
	struct cYAML *cy_prev;
	/** The first child of an array or object. */
	struct cYAML *cy_child;
	/** The type of the node. */
	enum cYAML_object_type cy_type;
	/** The text of a string. In a tree that was read also the text of a number or truth value, unchanged. */
	char *cy_valuestring;
	/** A number, without its fraction; 1 for true. */
	int64_t cy_valueint;
	/** The value of a number. */
	double cy_valuedouble;
	/** The key; NULL in an item of a sequence. */
	char *cy_string;
	/** Data of the program. cYAML_free_tree does not free it. */
	void *cy_user_data;
};

/** Frees the data that the program has attached to a node. */
typedef void (*cYAML_user_data_free_cb)(void *data);

/** The function that a walk over a tree calls for each node. The walk ends when it returns false. */
typedef bool (*cYAML_walk_cb)(struct cYAML *node, void *data, void **result);

/**
 * Reads YAML from a file up to its end. The caller frees the tree with cYAML_free_tree; an empty file is a
 * root without children. NULL if the text is not YAML or not a mapping; *err_rc then has the error and its place.
 * debug is ignored.
 */
struct cYAML *cYAML_load(FILE *file, struct cYAML **err_rc, bool debug);

/**
 * Reads YAML: the file with the name path; without one, the yaml_blk_size bytes at yaml_blk; without both,
 * standard input. Otherwise as cYAML_load.
 */
struct cYAML *cYAML_build_tree(char *path, const char *yaml_blk, size_t yaml_blk_size,
		struct cYAML **err_str, bool debug);

/**
 * Writes a node and all nodes below it, but not its siblings, to standard output, in the form of lnetctl. NULL
 * does nothing.
 */
void cYAML_print_tree(struct cYAML *node);

/** Does the same as cYAML_print_tree, to another file. */
void cYAML_print_tree2file(FILE *f, struct cYAML *node);

/**
 * Does the same as cYAML_print_tree, into a string that is stored in *buf and that the caller frees with free. NULL
 * if there is no node or no memory.
 */
void cYAML_dump(struct cYAML *node, char **buf);

/**
 * Frees a node, all nodes below it and all siblings that follow it. The caller ensures that nothing points
 * to them any more; to free a whole tree, pass its root. NULL does nothing.
 */
void cYAML_free_tree(struct cYAML *node);

/**
 * Calls free_cb for the cy_user_data of the node, of all nodes below it and of all siblings that follow it,
 * if it is not NULL, and makes it NULL.
 */
void cYAML_clean_usr_data(struct cYAML *node, cYAML_user_data_free_cb free_cb);

/**
 * The first node with the key name; NULL if there is none. The search goes through parent itself, all nodes below it, and
 * then the siblings that follow it: if an item of a sequence lacks the key, the key of a later item
 * is found. To search one item alone, iterate over its cy_child and their cy_next.
 */
struct cYAML *cYAML_get_object_item(struct cYAML *parent, const char *name);

/** Does the same as cYAML_get_object_item. */
struct cYAML *cYAML_find_object(struct cYAML *root, const char *key);

/**
 * The item of the sequence seq that follows *itm, or its first where *itm is NULL, and stores it in *itm.
 * After the last one NULL, and *itm remains the last one.
 */
struct cYAML *cYAML_get_next_seq_item(struct cYAML *seq, struct cYAML **itm);

/** Whether node is a sequence; false for NULL. */
bool cYAML_is_sequence(struct cYAML *node);

/**
 * Makes an object, the last child of parent unless that is NULL, with a copy of key unless that is NULL.
 * NULL when there is no memory.
 */
struct cYAML *cYAML_create_object(struct cYAML *parent, char *key);

/** Makes a sequence, as cYAML_create_object makes an object. */
struct cYAML *cYAML_create_seq(struct cYAML *parent, char *key);

/** Makes an object without a key, the last item of the sequence seq. NULL when there is no memory. */
struct cYAML *cYAML_create_seq_item(struct cYAML *seq);

/**
 * Makes a string, as cYAML_create_object makes an object, with a copy of value. The string is printed unchanged:
 * quotes are only printed if it contains them. NULL without a value, and if there is no memory.
 */
struct cYAML *cYAML_create_string(struct cYAML *parent, char *key, char *value);

/** Makes a number, as cYAML_create_object makes an object. cy_valueint is value without its fraction. */
struct cYAML *cYAML_create_number(struct cYAML *parent, char *key, double value);

/** Adds sibling, and the nodes that follow it, behind the last sibling of root. They then belong to root's tree. */
void cYAML_insert_sibling(struct cYAML *root, struct cYAML *sibling);

/** Makes node, and the nodes that follow it, the last children of parent. They then belong to parent's tree. */
void cYAML_insert_child(struct cYAML *parent, struct cYAML *node);

/**
 * Adds the result of an operation to the tree of errors *root, which is made if it is NULL: under the key cmd
 * an item with the key entity, which has seq_no (unless negative), errno = rc, and descr = err_str, which is not
 * changed. Items of the same cmd are adjacent.
 */
void cYAML_build_error(int rc, int seq_no, char *cmd, char *entity, char *err_str,
		struct cYAML **root);

#ifdef __cplusplus
}
#endif

#endif
