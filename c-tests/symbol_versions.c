/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests the symbols of functions that have several forms: by dlvsym, and by a reference that names the version of a symbol, as
 * programs have it that do not use the headers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <lnet/api.h>
#include <stdio.h>

/* Another name for the form of 2.17. */
void put_of_2_17(void);
__asm__(".symver put_of_2_17, LNetPut@LNET_2.17");

static int failures;
static void *library;

static void same(const char *what, void *one, void *other)
{
	if (one == NULL || one != other) {
		fprintf(stderr, "%s: %p and %p\n", what, one, other);
		failures++;
	}
}

int main(void)
{
	static const struct {
		const char *name, *version, *symbol;
	} forms[] = {
		{ "LNetPut", "LNET_2.10", "LNetPut" },
		{ "LNetPut", "LNET_2.17", "LNetPut_2_17" },
		{ "LNetGet", "LNET_2.15", "LNetGet_2_15" },
		{ "LNetGet", "LNET_2.17", "LNetGet_2_17" },
		{ "LNetMDAttach", "LNET_2.10", "LNetMDAttach" },
		{ "LNetMDAttach", "LNET_2.15", "LNetMDAttach_2_15" },
		{ "LNetMDUnlink", "LNET_2.17", "LNetMDUnlink_2_17" },
		{ "LNetNIInit", "LNET_2.10", "LNetNIInit" },
	};

	library = dlopen("liblnet.so.1", RTLD_NOW);
	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		same(forms[i].name, dlvsym(library, forms[i].name, forms[i].version), dlsym(library, forms[i].symbol));
	/* Without a version it is the form of 2.10. */
	same("dlsym", dlsym(library, "LNetPut"), dlvsym(library, "LNetPut", "LNET_2.10"));
	same("LNetPut", (void *)LNetPut, dlvsym(library, "LNetPut", "LNET_2.10"));
	same(".symver", (void *)put_of_2_17, dlvsym(library, "LNetPut", "LNET_2.17"));
	/* A release that did not change a function has no symbol of its own for it. */
	if (dlvsym(library, "LNetPut", "LNET_2.15") != NULL || dlvsym(library, "LNetNIInit", "LNET_2.17") != NULL)
		failures++;
	return failures != 0;
}
