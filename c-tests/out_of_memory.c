/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests that a call that needs more memory than the system has fails with an error, and that the node continues. */
#include "check.h"
#include <sys/resource.h>
#include <unistd.h>

/* The largest ring of events that may be asked for, about a gigabyte. */
#define LARGEST (1U << 22)
/* The amount of memory that the process may still allocate. */
#define LEFT (256UL << 20)

static unsigned long address_space(void)
{
	unsigned long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");

	CHECK(statm != NULL && fscanf(statm, "%lu", &pages) == 1);
	if (statm != NULL)
		fclose(statm);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

int main(void)
{
	struct lnet_handle_eq large = { 0 }, small = { 0 };
	struct rlimit had, few;

	CHECK_EQ(LNetNIInit(LNET_PID_LUSTRE), 0);
	CHECK_EQ(getrlimit(RLIMIT_AS, &had), 0);
	few = had;
	few.rlim_cur = address_space() + LEFT;
	CHECK_EQ(setrlimit(RLIMIT_AS, &few), 0);
	CHECK_EQ(LNetEQAlloc(LARGEST, NULL, &large), -ENOMEM);
	CHECK_EQ(LNetEQAlloc(64, NULL, &small), 0);
	CHECK_EQ(LNetEQFree(small), 0);
	CHECK_EQ(setrlimit(RLIMIT_AS, &had), 0);
	CHECK_EQ(LNetNIFini(), 0);
	return failures != 0;
}
