/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tests selection rules: the released calls, those of the first design, and the form of a rule in one block of
 * memory.
 */
#include "dlc.h"
#include "own_address.h"

/* Tests the released calls. */
static void policy(void)
{
	union lnet_udsp_action action = { 1 };

	CALL(lustre_lnet_add_udsp(c("tcp"), NULL, NULL, c("priority"), &action, -1, NONE, &err), 0);
	CALL(lustre_lnet_add_udsp(c("tcp"), c("10.0.0.*@tcp"), NULL, c("pref"), NULL, 0, NONE, &err), 0);
	CALL(lustre_lnet_add_udsp(c("tcp"), NULL, NULL, c("bogus"), &action, -1, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_add_udsp(NULL, NULL, NULL, NULL, NULL, -1, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	shown = NULL;
	CALL(lustre_lnet_show_udsp(-1, NONE, &shown, &err), 0);
	CHECK(cYAML_is_sequence(shown->cy_child));
	cYAML_free_tree(shown);
	CALL(lustre_lnet_del_udsp(7, NONE, &err), -ENOENT);
	CALL(lustre_lnet_del_same_udsp(c("tcp1"), NULL, NULL, -1, NONE, &err), -ENOENT);
	CALL(lustre_lnet_del_same_udsp(c("tcp"), c("10.0.0.*@tcp"), NULL, 1, NONE, &err), -EINVAL);
	CALL(lustre_lnet_del_same_udsp(c("tcp"), c("10.0.0.*@tcp"), NULL, 0, NONE, &err), 0);
	action.udsp_priority = 256;
	CALL(lustre_lnet_add_udsp(c("tcp9"), NULL, NULL, c("priority"), &action, -1, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	action.udsp_priority = -1;
	CALL(lustre_lnet_add_udsp(c("tcp9"), NULL, NULL, c("priority"), &action, -1, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_add_udsp(c("tcp9"), NULL, NULL, NULL, NULL, -2, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_del_udsp(0, NONE, &err), 0);
	CALL(lustre_lnet_del_udsp((unsigned int)-1, NONE, &err), 0);
	SHOW(lustre_lnet_show_udsp(-1, NONE, &shown, &err), "");
	CHECK_EQ(lustre_lnet_udsp_str_to_action(c("priority")), EN_LNET_UDSP_ACTION_PRIORITY);
	CHECK_EQ(lustre_lnet_udsp_str_to_action(c("pref")), EN_LNET_UDSP_ACTION_PREFERRED_LIST);
	CHECK_EQ(lustre_lnet_udsp_str_to_action(c("bogus")), EN_LNET_UDSP_ACTION_NONE);
	CHECK_EQ(lustre_lnet_udsp_str_to_action(NULL), EN_LNET_UDSP_ACTION_NONE);
}

/** Adds an expression to a ring. */
static void put(struct list_head *ring, const char *text)
{
	struct cfs_expr_list *expression;

	CHECK_EQ(cfs_expr_list_parse(c(text), (int)strlen(text), 0, 65535, &expression), 0);
	list_add_tail(&expression->el_link, ring);
}

static void no_descriptor(struct lnet_ud_nid_descr *descriptor)
{
	descriptor->ud_net_id.udn_net_type = 0;
	INIT_LIST_HEAD(&descriptor->ud_net_id.udn_net_num_range);
	INIT_LIST_HEAD(&descriptor->ud_addr_range);
}

static void free_rule(struct lnet_udsp *rule)
{
	struct lnet_ud_nid_descr *descriptors[] = { &rule->udsp_src, &rule->udsp_dst, &rule->udsp_rte };

	for (int i = 0; i < 3; i++) {
		cfs_expr_list_free_list(&descriptors[i]->ud_net_id.udn_net_num_range);
		cfs_expr_list_free_list(&descriptors[i]->ud_addr_range);
	}
}

/** Tests writing a selection rule into one block of memory and reading it back. */
static void a_marshalled_rule(void)
{
	struct lnet_udsp rule, back;
	char memory[512], again[512];
	__u32 size = sizeof(memory), size_again = sizeof(again);
	const char *octets[] = { "10", "1", "[1-4]", "5" };

	memset(&rule, 0, sizeof(rule));
	CHECK_EQ(lnet_get_udsp_size(&rule), 32 + 3 * 16);
	no_descriptor(&rule.udsp_src);
	no_descriptor(&rule.udsp_dst);
	no_descriptor(&rule.udsp_rte);
	rule.udsp_idx = 4;
	rule.udsp_action_type = EN_LNET_UDSP_ACTION_PRIORITY;
	rule.udsp_action.udsp_priority = 9;
	rule.udsp_src.ud_net_id.udn_net_type = 2;
	put(&rule.udsp_src.ud_net_id.udn_net_num_range, "2");
	for (int i = 0; i < 4; i++)
		put(&rule.udsp_src.ud_addr_range, octets[i]);
	CHECK_EQ(lnet_get_udsp_size(&rule), 156);
	CHECK_EQ(lnet_get_udsp_size(NULL), -EINVAL);
	CHECK_EQ(lnet_udsp_marshal(&rule, &size, memory), 0);
	CHECK_EQ(size, 156);
	size--;
	CHECK_EQ(lnet_udsp_marshal(&rule, &size, again), -ENOSPC);
	CHECK_EQ(lnet_udsp_demarshal(memory, 155, &back), -EINVAL);
	CHECK_EQ(lnet_udsp_demarshal(memory, 156, &back), 0);
	CHECK_EQ(back.udsp_idx, 4);
	CHECK_EQ(back.udsp_action_type, EN_LNET_UDSP_ACTION_PRIORITY);
	CHECK_EQ(back.udsp_action.udsp_priority, 9);
	CHECK_EQ(lnet_udsp_marshal(&back, &size_again, again), 0);
	CHECK(size_again == 156 && memcmp(memory, again, 156) == 0);
	free_rule(&rule);
	free_rule(&back);
}

/* A side of a rule: the type of its nets, the ranges of their numbers, and an expression for each byte of the addresses. */
static void describe(struct lnet_ud_nid_descr *descriptor, __u32 type, const char *nets, const char *const octets[4])
{
	descriptor->ud_net_id.udn_net_type = type;
	put(&descriptor->ud_net_id.udn_net_num_range, nets);
	for (int i = 0; octets != NULL && i < 4; i++)
		put(&descriptor->ud_addr_range, octets[i]);
}

static int ranges_in(const struct list_head *ring)
{
	struct cfs_expr_list *expression;
	int count = 0;

	list_for_each_entry(expression, ring, el_link) {
		struct list_head *range;

		list_for_each(range, &expression->el_exprs)
			count++;
	}
	return count;
}

/* A pair of ranges with steps: 2 for the nets of this node, 7 for the addresses of others. */
static void make_pair_rule(struct lnet_udsp *rule)
{
	const char *const far[] = { "10", "[0-254/2]", "[1-4,8,10-20/5]", "[1,2]" };

	memset(rule, 0, sizeof(*rule));
	no_descriptor(&rule->udsp_src);
	no_descriptor(&rule->udsp_dst);
	no_descriptor(&rule->udsp_rte);
	rule->udsp_action_type = EN_LNET_UDSP_ACTION_PREFERRED_LIST;
	describe(&rule->udsp_src, 2, "[1-3,8]", NULL);
	describe(&rule->udsp_dst, 2, "[0]", far);
}

/* Tests a rule with two sides, several ranges and steps. */
static void marshalled_ranges(void)
{
	struct lnet_udsp rule, back;
	char memory[1024], again[1024];
	__u32 size = sizeof(memory), size_again = sizeof(again);

	make_pair_rule(&rule);
	CHECK_EQ(lnet_udsp_marshal(&rule, &size, memory), 0);
	CHECK_EQ(size, lnet_get_udsp_size(&rule));
	CHECK_EQ(lnet_udsp_demarshal(memory, size, &back), 0);
	CHECK_EQ(back.udsp_action_type, EN_LNET_UDSP_ACTION_PREFERRED_LIST);
	CHECK_EQ(back.udsp_src.ud_net_id.udn_net_type, 2);
	CHECK_EQ(ranges_in(&back.udsp_src.ud_net_id.udn_net_num_range), 2);
	CHECK(list_empty(&back.udsp_src.ud_addr_range));
	CHECK_EQ(ranges_in(&back.udsp_dst.ud_addr_range), 7);
	CHECK_EQ(back.udsp_rte.ud_net_id.udn_net_type, 0);
	CHECK_EQ(lnet_udsp_marshal(&back, &size_again, again), 0);
	CHECK(size_again == size && memcmp(memory, again, size) == 0);
	free_rule(&rule);
	free_rule(&back);
}

/* Tests a rule about routers. */
static void marshalled_router_rule(void)
{
	const char *const pool[] = { "10", "0", "0", "[1-8]" };
	struct lnet_udsp rule, back;
	char memory[512];
	__u32 size = sizeof(memory);

	memset(&rule, 0, sizeof(rule));
	no_descriptor(&rule.udsp_src);
	no_descriptor(&rule.udsp_dst);
	no_descriptor(&rule.udsp_rte);
	rule.udsp_action_type = EN_LNET_UDSP_ACTION_PREFERRED_LIST;
	describe(&rule.udsp_dst, 2, "[1]", NULL);
	describe(&rule.udsp_rte, 2, "[0]", pool);
	CHECK_EQ(lnet_udsp_marshal(&rule, &size, memory), 0);
	CHECK_EQ(lnet_udsp_demarshal(memory, size, &back), 0);
	CHECK_EQ(ranges_in(&back.udsp_rte.ud_addr_range), 4);
	CHECK_EQ(back.udsp_src.ud_net_id.udn_net_type, 0);
	free_rule(&rule);
	free_rule(&back);
}

/*
 * Tests every change of a single byte, and every size that is too small: memory that contains no rule is refused, and
 * a rule that is read has the same size when it is written again.
 */
static void other_bytes_are_no_rule(void)
{
	static const unsigned char changes[] = { 0x01, 0x80, 0xff };
	struct lnet_udsp rule, back;
	char memory[1024], again[1024];
	__u32 size = sizeof(memory);
	int refused = 0;

	make_pair_rule(&rule);
	CHECK_EQ(lnet_udsp_marshal(&rule, &size, memory), 0);
	free_rule(&rule);
	for (__u32 shorter = 0; shorter < size; shorter++)
		CHECK_EQ(lnet_udsp_demarshal(memory, shorter, &back), -EINVAL);
	for (__u32 at = 0; at < size; at++) {
		for (size_t i = 0; i < LENGTH(changes); i++) {
			__u32 size_again = sizeof(again);
			int rc;

			memory[at] ^= (char)changes[i];
			rc = lnet_udsp_demarshal(memory, size, &back);
			memory[at] ^= (char)changes[i];
			if (rc == 0) {
				CHECK_EQ(lnet_udsp_marshal(&back, &size_again, again), 0);
				CHECK_EQ(size_again, size);
				free_rule(&back);
			} else {
				CHECK_EQ(rc, -EINVAL);
				refused++;
			}
		}
	}
	CHECK(refused > 0);
	CHECK_EQ(lnet_udsp_demarshal(NULL, size, &back), -EINVAL);
	CHECK_EQ(lnet_udsp_demarshal(memory, size, NULL), -EINVAL);
}

/* The number of rules that a call shows. */
static int rules_shown(int show(int, struct cYAML **, struct cYAML **))
{
	struct cYAML *rules, *place = NULL;
	int count = 0;

	shown = NULL;
	CALL(show(NONE, &shown, &err), 0);
	rules = shown == NULL ? NULL : cYAML_get_object_item(shown, "udsp");
	while (rules != NULL && cYAML_get_next_seq_item(rules, &place) != NULL)
		count++;
	cYAML_free_tree(shown);
	shown = NULL;
	return count;
}

static void check_rules(int of_nets, int of_nids, int of_pairs)
{
	CHECK_EQ(rules_shown(lustre_lnet_net_selection_rule), of_nets);
	CHECK_EQ(rules_shown(lustre_lnet_nid_selection_rule), of_nids);
	CHECK_EQ(rules_shown(lustre_lnet_peer_selection_rule), of_pairs);
}

/* Tests the calls of the first design, which name the subject of a rule. */
static void rules_by_kind(void)
{
	struct lnet_selection_descriptor rule = { LNET_SELECTION_NET, c("tcp"), NULL, { 3 } };

	CALL(lustre_lnet_add_selection(NULL, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_add_selection(&rule, NONE, &err), 0);
	rule.lsd_type = LNET_SELECTION_NID;
	rule.lsd_pattern1 = c("10.0.0.*@tcp");
	CALL(lustre_lnet_add_selection(&rule, NONE, &err), 0);
	rule.lsd_type = LNET_SELECTION_PEER;
	CALL(lustre_lnet_add_selection(&rule, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	rule.lsd_pattern2 = c("10.0.9.*@tcp");
	CALL(lustre_lnet_add_selection(&rule, NONE, &err), 0);
	CALL(lustre_lnet_selection_add(7, c("tcp"), NULL, 3, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	check_rules(1, 2, 1);
	CALL(lustre_lnet_del_udsp((unsigned int)-1, NONE, &err), 0);

	CALL(lustre_lnet_config_net_selection_rule(c("tcp"), 3, NONE, &err), 0);
	CALL(lustre_lnet_config_nid_selection_rule(c("10.0.0.1@tcp"), 4, NONE, &err), 0);
	CALL(lustre_lnet_config_peer_selection_rule(c("tcp"), c("10.0.0.9@tcp"), 5, NONE, &err), 0);
	CALL(lustre_lnet_config_net_selection_rule(NULL, 3, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_config_net_selection_rule(c("tcp1"), 300, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_config_net_selection_rule(c("10.0.0.1@tcp"), 3, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);

	CALL(lustre_lnet_del_net_selection_rule(NULL, -1, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_selection_del(7, NULL, NULL, 0, NONE, &err), LUSTRE_CFG_RC_BAD_PARAM);
	CALL(lustre_lnet_selection_show(7, NONE, NULL, &err), LUSTRE_CFG_RC_BAD_PARAM);
	/* An index refers only to the rules of one kind. */
	CALL(lustre_lnet_del_net_selection_rule(c("tcp"), 1, NONE, &err), -EINVAL);
	CALL(lustre_lnet_del_net_selection_rule(NULL, 1, NONE, &err), -EINVAL);
	CALL(lustre_lnet_del_nid_selection_rule(NULL, 3, NONE, &err), -EINVAL);
	CALL(lustre_lnet_del_peer_selection_rule(NULL, NULL, 0, NONE, &err), -EINVAL);
	CALL(lustre_lnet_del_net_selection_rule(NULL, 4, NONE, &err), -ENOENT);
	check_rules(1, 2, 1);
	CALL(lustre_lnet_del_net_selection_rule(c("tcp"), 0, NONE, &err), 0);
	CALL(lustre_lnet_del_nid_selection_rule(c("10.0.0.1@tcp"), -1, NONE, &err), 0);
	check_rules(0, 0, 1);
	CALL(lustre_lnet_del_peer_selection_rule(NULL, NULL, 0, NONE, &err), 0);
	CALL(lustre_lnet_del_nid_selection_rule(c("10.0.0.1@tcp"), -1, NONE, &err), -ENOENT);
	check_rules(0, 0, 0);

	/* The other name of the design for pairs. */
	CALL(lustre_lnet_config_connection_selection_rule(c("tcp"), c("10.0.0.9@tcp"), 5, NONE, &err), 0);
	check_rules(0, 0, 1);
	CHECK_EQ(rules_shown(lustre_lnet_connection_selection_rule), 1);
	CALL(lustre_lnet_del_connection_selection_rule(c("tcp"), c("10.0.0.9@tcp"), -1, NONE, &err), 0);
	check_rules(0, 0, 0);
}

int main(void)
{
	a_marshalled_rule();
	marshalled_ranges();
	marshalled_router_rule();
	other_bytes_are_no_rule();
	find_own_address(1);
	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	policy();
	rules_by_kind();
	CHECK_EQ(LNetNIFini(), 0);
	return failures != 0;
}
