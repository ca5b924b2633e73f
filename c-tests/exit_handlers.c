/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests calls from a handler of the exit of a program, when the variables of its thread are gone. */
#include "check.h"
#include <lnet/lnet.h>
#include <stdlib.h>
#include <unistd.h>

static void end_node(void)
{
	lnet_process_id_t id;

	/* The status that main() returned no longer counts. */
	if (LNetGetId(0, &id) != 0 || LNetNIFini() != 0 || LNetGetId(0, &id) == 0)
		_exit(1);
}

int main(void)
{
	lnet_process_id_t id;

	CHECK(atexit(end_node) == 0);
	CHECK(LNetNIInit(LNET_PID_LUSTRE) >= 0);
	CHECK(LNetGetId(0, &id) == 0);
	return failures != 0;
}
