/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests calls from a handler of the exit of a program, when the variables of its thread are gone. */
#include "check.h"
#include <lnet/lnet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sends a message to a portal of this node where nothing matches and waits for its SEND. */
static int sends(void)
{
	lnet_process_id_t id;
	lnet_handle_eq_t eq;
	lnet_handle_md_t md_handle;
	lnet_event_t event;
	int which;
	lnet_md_t md;

	if (LNetGetId(0, &id) != 0 || LNetEQAlloc(8, LNET_EQ_HANDLER_NONE, &eq) != 0)
		return 0;
	memset(&md, 0, sizeof(md));
	md.threshold = 1;
	md.eq_handle = eq;
	return LNetMDBind(md, LNET_UNLINK, &md_handle) == 0
	       && LNetPut(LNET_NID_ANY, md_handle, LNET_NOACK_REQ, id, 9, 1, 0, 0) == 0
	       && LNetEQPoll(&eq, 1, 10000, &event, &which) == 1 && event.type == LNET_EVENT_SEND
	       && event.status == 0 && LNetEQFree(eq) == 0;
}

static void end_node(void)
{
	lnet_process_id_t id;

	/* The status that main() returned no longer counts. */
	if (LNetGetId(0, &id) != 0 || !sends() || LNetNIFini() != 0 || LNetGetId(0, &id) == 0)
		_exit(1);
}

int main(void)
{
	lnet_process_id_t id;

	setenv("LNET_NETWORKS", "tcp(127.0.0.1)", 1);
	CHECK(atexit(end_node) == 0);
	CHECK(LNetNIInit(LNET_PID_LUSTRE) >= 0);
	CHECK(LNetGetId(0, &id) == 0);
	/* The thread has variables of its own from here on. */
	CHECK(sends());
	return failures != 0;
}
