/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loads a library by its path, as plug-ins and other languages do, calls a function of it, and lets it go: it brings LNet itself, and what it
 * left running goes on. Not linked with any of ours. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void *library;
	int (*begin)(void *), (*end)(void);

	if (argc != 4)
		return 2;
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&begin = dlsym(library, argv[2]);
	*(void **)&end = dlsym(library, argv[3]);
	if (begin == NULL || end == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	alarm(60);
	/* With a NULL where the function takes an argument. At this level each call is a line of the log. */
	setenv("LNET_DEBUG", "debug", 1);
	setenv("LNET_NETWORKS", "lo", 1);
	if (begin(NULL) != 0) {
		fprintf(stderr, "%s failed\n", argv[2]);
		return 1;
	}
	end();
	/* The thread of the log is still there. */
	return dlclose(library) != 0;
}
