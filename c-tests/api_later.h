/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests each function that the API of 2.15 or 2.17 has in another form than that of 2.10, on the loopback. */
#include "api_later_addresses.h"
#include "api_later_data.h"
#include "api_later_handlers.h"
#include "api_later_memory.h"
#include "api_later_strings.h"

int main(void)
{
	struct lnet_processid any = anybody(), id;

	CHECK_EQ(PTR_ERR(LNetMEAttach(PORTAL, &any, 1, 0, LNET_UNLINK, LNET_INS_AFTER)), -ENETDOWN);
	CHECK_EQ(id_of(0, &id), -ENETDOWN);
	setenv("LNET_NETWORKS", "tcp(127.0.3.1)", 1);
	setenv("LNET_ACCEPT", "none", 1);
	for (int round = 0; round < 2; round++) {
		/* The second node has queues of its own for the same handlers. */
		CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
		if (failures != 0)
			return 1;
		a_put_with_its_ack();
		a_get_and_its_reply();
		descriptors_without_a_handler();
		fragments_are_pages();
		match_entries_are_pointers_or_errors();
		a_failed_attach_removes_the_match_entry();
		the_errors_of_bound_memory();
		unlinking_waits_for_the_handler();
		unlinking_a_busy_descriptor_waits_for_the_handler_alone();
		a_handler_unlinks_its_own_descriptor();
		handlers_are_held_to_be_unused();
		delayed_puts_arrive_when_memory_is_attached();
		own_addresses();
		peers();
		failures_of_sends();
		an_entry_for_one_process();
		strings_of_both_sizes();
		CHECK_EQ(LNetNIFini(), 0);
	}
	return failures != 0;
}
