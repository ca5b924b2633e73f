/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests rings and hash chains, and small definitions that programs use from the headers. Needs no network. */
#include "check.h"
#include <libcfs/libcfs.h>
#include <libcfs/linux_compat.h>
#include <lnet/lnet.h>

struct item {
	struct list_head link;
	struct hlist_node chained;
	int number;
};

static struct item items[6];

/* The numbers of a ring as digits; checks that they are the same backwards. */
static const char *digits(struct list_head *head)
{
	static char text[16];
	struct item *item;
	size_t count = 0, back = 0;

	list_for_each_entry(item, head, link)
		text[count++] = (char)('0' + item->number);
	text[count] = '\0';
	list_for_each_entry_reverse(item, head, link) {
		back++;
		CHECK_EQ(text[count - back], '0' + item->number);
	}
	CHECK_EQ(back, count);
	return text;
}

/* A ring of the items from the first to the one before the last. */
static void fill(struct list_head *head, int first, int last)
{
	INIT_LIST_HEAD(head);
	for (int i = first; i < last; i++) {
		items[i].number = i;
		list_add_tail(&items[i].link, head);
	}
}

static void rings(void)
{
	LIST_HEAD(a);
	struct list_head b;
	struct item *item, *next;
	int sum = 0;

	CHECK(list_empty(&a) && list_empty_careful(&a));
	fill(&a, 1, 3);
	fill(&b, 3, 5);
	list_splice(&b, &a);
	CHECK_STR(digits(&a), "3412");
	fill(&a, 1, 3);
	fill(&b, 3, 5);
	list_splice_tail(&b, &a);
	CHECK_STR(digits(&a), "1234");
	INIT_LIST_HEAD(&b);
	list_splice(&b, &a);
	list_splice_tail(&b, &a);
	CHECK_STR(digits(&a), "1234");
	list_splice_tail_init(&a, &b);
	CHECK(list_empty(&a));
	list_splice_init(&b, &a);
	CHECK(list_empty_careful(&b));
	CHECK_STR(digits(&a), "1234");

	list_move(&items[3].link, &a);
	list_move_tail(&items[1].link, &a);
	CHECK_STR(digits(&a), "3241");
	list_add(&items[0].link, &items[2].link);
	CHECK_STR(digits(&a), "32041");
	list_del_init(&items[0].link);
	CHECK(list_empty_careful(&items[0].link));
	items[5].number = 5;
	list_replace(&items[2].link, &items[5].link);
	CHECK_STR(digits(&a), "3541");
	CHECK(list_is_last(&items[1].link, &a) && !list_is_last(&items[3].link, &a));
	CHECK_EQ(list_first_entry(&a, struct item, link)->number, 3);
	CHECK_EQ(list_last_entry(&a, struct item, link)->number, 1);

	item = &items[5];
	list_for_each_entry_continue(item, &a, link)
		sum = sum * 10 + item->number;
	CHECK_EQ(sum, 41);
	item = &items[5];
	sum = 0;
	list_for_each_entry_from(item, &a, link)
		sum = sum * 10 + item->number;
	CHECK_EQ(sum, 541);
	list_for_each_entry_safe_reverse(item, next, &a, link) {
		if (item->number == 4 || item->number == 1)
			list_del(&item->link);
	}
	CHECK_STR(digits(&a), "35");
	list_for_each_entry_safe(item, next, &a, link)
		list_del(&item->link);
	CHECK(list_empty(&a));
}

static int chain_as_number(struct hlist_head *head)
{
	struct hlist_node *node;
	struct item *item;
	int new_form = 0, old_form = 0;

	hlist_for_each_entry(item, head, chained)
		new_form = new_form * 10 + item->number;
	hlist_for_each_entry(item, node, head, chained)
		old_form = old_form * 10 + item->number;
	CHECK_EQ(new_form, old_form);
	return new_form;
}

static void chains(void)
{
	HLIST_HEAD(head);
	struct hlist_node *node, *next;
	struct item *item;

	CHECK(hlist_empty(&head));
	for (int i = 1; i < 6; i++) {
		items[i].number = i;
		INIT_HLIST_NODE(&items[i].chained);
		CHECK(hlist_unhashed(&items[i].chained));
	}
	hlist_add_head(&items[2].chained, &head);
	hlist_add_head(&items[1].chained, &head);
	hlist_add_before(&items[3].chained, &items[2].chained);
	hlist_add_behind(&items[4].chained, &items[2].chained);
	hlist_add_after(&items[4].chained, &items[5].chained);
	CHECK_EQ(chain_as_number(&head), 13245);
	hlist_del_init(&items[2].chained);
	hlist_del_init(&items[2].chained);
	CHECK(hlist_unhashed(&items[2].chained));
	hlist_del(&items[5].chained);
	CHECK_EQ(chain_as_number(&head), 134);
	hlist_for_each_entry_safe(item, next, &head, chained) {
		if (item->number == 3)
			hlist_del(&item->chained);
	}
	CHECK_EQ(chain_as_number(&head), 14);
	hlist_for_each_entry_safe(item, node, next, &head, chained)
		hlist_del(node);
	CHECK(hlist_empty(&head));
	INIT_HLIST_HEAD(&head);
	CHECK_EQ(chain_as_number(&head), 0);
}

/* WIRE_ATTR is an attribute here and does not define a variable. */
struct of_the_wire {
	__u8 one;
	__u64 eight;
} WIRE_ATTR;
_Static_assert(sizeof(struct of_the_wire) == 9, "WIRE_ATTR");

static void definitions(void)
{
	char memory[16];
	struct page *page = virt_to_page(memory);

	CHECK(lnet_cpt_table() != NULL && lnet_cpt_table() == lnet_cpt_table());
	CHECK((char *)page_address(page) <= memory && memory - (char *)page_address(page) < (long)PAGE_SIZE);
}

int main(void)
{
	rings();
	chains();
	definitions();
	return failures != 0;
}
