/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loads a library by its path, as plug-ins and other languages do, calls one of its functions, and unloads it. The
 * library loads LNet itself, and what it started keeps running. This program is not linked with any library of this
 * project. */
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
	/*
	 * The argument of the function, if it has one, is NULL. With this log level each call writes a line of the
	 * log.
	 */
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
