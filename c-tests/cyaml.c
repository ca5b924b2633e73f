/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests trees: making, reading, printing, searching and freeing them. */
#include "check.h"
#include <lnet/lnetconfig/cyaml.h>
#include <unistd.h>

/* Compares the printed form of a tree, and frees the tree. */
#define CHECK_TEXT(tree, want)                      \
	do {                                        \
		char *text_ = NULL;                 \
		cYAML_dump(tree, &text_);           \
		CHECK(text_ != NULL);               \
		CHECK_STR(text_ ? text_ : "", want); \
		free(text_);                        \
	} while (0)

static char *c(const char *text)
{
	return (char *)text;
}

static struct cYAML *read_text(const char *text)
{
	struct cYAML *err = NULL, *root = cYAML_build_tree(NULL, text, strlen(text), &err, false);

	if (err != NULL)
		cYAML_print_tree2file(stderr, err);
	cYAML_free_tree(err);
	return root;
}

static void trees_made_by_hand(void)
{
	struct cYAML *root = cYAML_create_object(NULL, NULL);
	struct cYAML *net = cYAML_create_seq(root, c("net"));
	struct cYAML *item = cYAML_create_seq_item(net);
	struct cYAML *map, *loose, *second;

	CHECK(cYAML_create_string(item, c("net type"), c("tcp")) != NULL);
	CHECK(cYAML_create_number(item, c("tries"), 3) != NULL);
	CHECK(cYAML_create_number(item, c("share"), 0.5) != NULL);
	map = cYAML_create_object(item, c("tunables"));
	CHECK(cYAML_create_number(map, c("credits"), 4294967296.0) != NULL);
	cYAML_create_object(item, c("lnd tunables"));
	cYAML_create_string(item, c("CPT"), c("\"[0,1]\""));
	CHECK(cYAML_create_string(item, c("nothing"), NULL) == NULL);

	loose = cYAML_create_object(NULL, c("global"));
	cYAML_create_number(loose, c("retry_count"), -2);
	cYAML_insert_child(root, loose);
	second = cYAML_create_object(NULL, NULL);
	cYAML_create_string(second, c("net type"), c("lo"));
	cYAML_insert_sibling(item, second);

	CHECK(cYAML_is_sequence(net));
	CHECK(!cYAML_is_sequence(root));
	CHECK(!cYAML_is_sequence(NULL));
	CHECK_TEXT(root, "net:\n"
			 "    - net type: tcp\n"
			 "      tries: 3\n"
			 "      share: 0.500000\n"
			 "      tunables:\n"
			 "          credits: 4294967296\n"
			 "      lnd tunables:\n"
			 "      CPT: \"[0,1]\"\n"
			 "    - net type: lo\n"
			 "global:\n"
			 "    retry_count: -2\n");
	/* Prints a part of a tree: with its key, without its siblings. */
	CHECK_TEXT(loose, "global:\n    retry_count: -2\n");
	CHECK_TEXT(second, "net type: lo\n");
	CHECK(map->cy_prev != NULL && map->cy_prev->cy_next == map);
	cYAML_free_tree(root);
	cYAML_free_tree(NULL);
}

/* The trees of liblnetconfig itself have keys directly in a sequence. */
static void keys_directly_in_a_sequence(void)
{
	struct cYAML *root = cYAML_create_object(NULL, NULL);
	struct cYAML *list = cYAML_create_seq(root, c("peer list"));

	cYAML_create_string(list, c("nid"), c("192.0.2.1@tcp"));
	cYAML_create_string(list, c("nid"), c("192.0.2.2@tcp"));
	CHECK_TEXT(root, "peer list:\n    - nid: 192.0.2.1@tcp\n    - nid: 192.0.2.2@tcp\n");
	cYAML_free_tree(root);
}

static void finding(void)
{
	struct cYAML *root = read_text("net:\n"
				       "  - net type: tcp\n"
				       "  - net type: tcp1\n"
				       "    tunables: {credits: 8}\n"
				       "routing:\n"
				       "- enable: 1\n");
	struct cYAML *net = cYAML_get_object_item(root, "net"), *item = NULL, *last = NULL;
	int count = 0;

	CHECK(net != NULL && net->cy_type == CYAML_TYPE_ARRAY);
	CHECK(cYAML_get_object_item(net, "net") == net);
	CHECK(cYAML_get_object_item(root, "bogus") == NULL);
	CHECK(cYAML_get_object_item(NULL, "net") == NULL);
	CHECK(cYAML_get_object_item(root, NULL) == NULL);
	CHECK(cYAML_find_object(root, "credits") != NULL);
	CHECK_EQ(cYAML_find_object(root, "credits")->cy_valueint, 8);
	CHECK_EQ(cYAML_get_object_item(root, "enable")->cy_valueint, 1);
	while (cYAML_get_next_seq_item(net, &item) != NULL) {
		last = item;
		CHECK(item->cy_type == CYAML_TYPE_OBJECT && item->cy_string == NULL);
		CHECK_STR(cYAML_get_object_item(item, "net type")->cy_valuestring, count++ ? "tcp1" : "tcp");
	}
	CHECK_EQ(count, 2);
	CHECK(item == last);
	/* As documented: a key that an item lacks is found in the next item. */
	CHECK(cYAML_get_object_item(net->cy_child, "credits") != NULL);
	item = NULL;
	CHECK(cYAML_get_next_seq_item(root, &item) == NULL);
	CHECK(cYAML_get_next_seq_item(NULL, &item) == NULL);
	CHECK(cYAML_get_next_seq_item(net, NULL) == NULL);
	cYAML_free_tree(root);
}

static void scalars(void)
{
	static const struct {
		const char *text;
		enum cYAML_object_type type;
		int64_t number;
	} rows[] = {
		{ "null", CYAML_TYPE_NULL, 0 },	     { "true", CYAML_TYPE_TRUE, 1 },
		{ "false", CYAML_TYPE_FALSE, 0 },    { "True", CYAML_TYPE_STRING, 0 },
		{ "12", CYAML_TYPE_NUMBER, 12 },     { "-7", CYAML_TYPE_NUMBER, -7 },
		{ "\"12\"", CYAML_TYPE_NUMBER, 12 }, { "010", CYAML_TYPE_NUMBER, 10 },
		{ "0x10", CYAML_TYPE_STRING, 0 },    { "1e3", CYAML_TYPE_NUMBER, 1000 },
		{ "2.75", CYAML_TYPE_NUMBER, 2 },    { "4294967296", CYAML_TYPE_NUMBER, 4294967296 },
		{ "tcp", CYAML_TYPE_STRING, 0 },     { "192.0.2.1@tcp", CYAML_TYPE_STRING, 0 },
		{ "+1", CYAML_TYPE_STRING, 0 },	     { "1.2.3", CYAML_TYPE_STRING, 0 },
		{ "", CYAML_TYPE_OBJECT, 0 },	     { "-", CYAML_TYPE_ARRAY, 0 },
		{ "9223372036854775807", CYAML_TYPE_NUMBER, INT64_MAX },
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		char text[64];
		struct cYAML *root, *value;

		snprintf(text, sizeof(text), rows[i].text[0] == '-' && !rows[i].text[1] ? "k:\n  %s\n" : "k: %s\n",
			 rows[i].text);
		root = read_text(text);
		value = cYAML_get_object_item(root, "k");
		CHECK(value != NULL);
		if (value != NULL) {
			CHECK_EQ(value->cy_type, rows[i].type);
			CHECK_EQ(value->cy_valueint, rows[i].number);
		}
		cYAML_free_tree(root);
	}
}

static void reading(void)
{
	static const char *const wrong[] = {
		"- a\n", "just a word\n", "a: [b\n", "a: &x 1\nb: *x\n", "? [a]\n: b\n", "a: b: c\n", "a: \"b\n", "\xff: 1\n",
	};
	struct cYAML *root, *err = NULL;
	char path[] = "/tmp/cyaml-XXXXXX", *deep;
	FILE *file;
	int fd;

	root = read_text("");
	CHECK(root != NULL && root->cy_type == CYAML_TYPE_OBJECT && root->cy_child == NULL);
	CHECK_TEXT(root, "");
	cYAML_free_tree(root);
	root = read_text("# nothing\n---\n...\n");
	CHECK(root != NULL && root->cy_child == NULL);
	cYAML_free_tree(root);
	root = read_text("a: 1\n---\nb: 2\n");
	CHECK_TEXT(root, "a: 1\nb: 2\n");
	cYAML_free_tree(root);
	root = read_text("yes: true\nno: false\nCPT: \"[0,1]\"\n");
	CHECK_TEXT(root, "yes: 1\nno: 0\nCPT: [0,1]\n");
	cYAML_free_tree(root);

	for (size_t i = 0; i < LENGTH(wrong); i++) {
		struct cYAML *item;

		CHECK(cYAML_build_tree(NULL, wrong[i], strlen(wrong[i]), &err, false) == NULL);
		item = cYAML_get_object_item(err, "builder");
		CHECK(item != NULL && err->cy_child == cYAML_get_object_item(err, "yaml"));
		CHECK_EQ(cYAML_get_object_item(item, "errno")->cy_valueint, -1);
		CHECK(cYAML_get_object_item(item, "descr")->cy_valuestring[0] == '"');
		cYAML_free_tree(err);
		err = NULL;
	}
	CHECK(cYAML_build_tree(NULL, wrong[0], strlen(wrong[0]), NULL, true) == NULL);
	CHECK(cYAML_build_tree(c("/no/such/file"), NULL, 0, &err, false) == NULL);
	CHECK(err != NULL);
	CHECK(cYAML_load(NULL, &err, false) == NULL);
	cYAML_free_tree(err);
	err = NULL;

	fd = mkstemp(path);
	CHECK(fd >= 0);
	file = fdopen(fd, "w+");
	fputs("net:\n  - net type: tcp\n", file);
	rewind(file);
	root = cYAML_load(file, &err, false);
	CHECK_TEXT(root, "net:\n    - net type: tcp\n");
	cYAML_free_tree(root);
	root = cYAML_build_tree(path, "ignored: 1", 10, &err, false);
	CHECK_TEXT(root, "net:\n    - net type: tcp\n");
	cYAML_free_tree(root);
	fclose(file);
	/* Without a name and a block the function reads standard input. */
	CHECK(freopen(path, "r", stdin) != NULL);
	root = cYAML_build_tree(NULL, NULL, 0, &err, false);
	CHECK_TEXT(root, "net:\n    - net type: tcp\n");
	cYAML_free_tree(root);
	CHECK(err == NULL);
	unlink(path);

	/* A tree that is nested far too deeply is refused, and does not end the program. */
	deep = malloc(200001);
	memcpy(deep, "a: ", 3);
	memset(deep + 3, '[', 199997);
	CHECK(cYAML_build_tree(NULL, deep, 200000, &err, false) == NULL);
	CHECK(err != NULL);
	free(deep);
	cYAML_free_tree(err);
}

static void deep_trees_made_by_hand(void)
{
	struct cYAML *root = cYAML_create_object(NULL, NULL), *node = root;
	char *text = NULL;

	for (int i = 0; i < 100000; i++)
		node = cYAML_create_object(node, c("k"));
	cYAML_create_number(node, c("last"), 1);
	CHECK_EQ(cYAML_get_object_item(root, "last")->cy_valueint, 1);
	cYAML_dump(root, &text);
	CHECK(text != NULL);
	free(text);
	cYAML_free_tree(root);
}

static void errors(void)
{
	struct cYAML *root = NULL;

	cYAML_build_error(-17, 7, c("add"), c("net"), c("\"is there\""), &root);
	cYAML_build_error(0, -1, c("add"), c("route"), c("\"success\""), &root);
	cYAML_build_error(-2, -1, c("del"), c("peer_ni"), c("one\ntwo"), &root);
	cYAML_build_error(-2, -1, c("del"), c("peer_ni"), c("x"), NULL);
	CHECK_TEXT(root, "add:\n"
			 "    - net:\n"
			 "          seq_no: 7\n"
			 "          errno: -17\n"
			 "          descr: \"is there\"\n"
			 "    - route:\n"
			 "          errno: 0\n"
			 "          descr: \"success\"\n"
			 "del:\n"
			 "    - peer_ni:\n"
			 "          errno: -2\n"
			 "          descr: one\n"
			 "                 two\n");
	cYAML_free_tree(root);
}

static int cleaned;

static void clean(void *data)
{
	cleaned++;
	free(data);
}

static void user_data(void)
{
	struct cYAML *root = cYAML_create_object(NULL, NULL), *child = cYAML_create_object(root, c("a"));

	root->cy_user_data = malloc(1);
	child->cy_user_data = malloc(1);
	cYAML_create_object(root, c("b"));
	cYAML_clean_usr_data(root, clean);
	CHECK_EQ(cleaned, 2);
	CHECK(root->cy_user_data == NULL && child->cy_user_data == NULL);
	cYAML_clean_usr_data(root, clean);
	cYAML_clean_usr_data(NULL, clean);
	CHECK_EQ(cleaned, 2);
	cYAML_free_tree(root);
}

static void printing(void)
{
	struct cYAML *root = cYAML_create_object(NULL, NULL);
	char *buffer = NULL, *text = (char *)"x";
	size_t size = 0;
	FILE *file = open_memstream(&buffer, &size);

	cYAML_create_string(root, c("a"), c("b"));
	cYAML_print_tree2file(file, root);
	cYAML_print_tree2file(file, NULL);
	cYAML_print_tree2file(NULL, root);
	fclose(file);
	CHECK_STR(buffer, "a: b\n");
	free(buffer);
	cYAML_print_tree(root);
	cYAML_print_tree(NULL);
	cYAML_dump(NULL, &text);
	CHECK(text == NULL);
	cYAML_dump(root, NULL);
	cYAML_free_tree(root);
}

int main(void)
{
	trees_made_by_hand();
	keys_directly_in_a_sequence();
	finding();
	scalars();
	reading();
	deep_trees_made_by_hand();
	errors();
	user_data();
	printing();
	return failures != 0;
}
