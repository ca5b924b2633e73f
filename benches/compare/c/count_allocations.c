/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that, preloaded into a program, counts every allocation in it. The program reads the count with `unsigned
 * long allocation_count(void)`, which it declares weak so that it also runs without the library. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

/* The names of glibc's own allocator, under the names that this library replaces. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_ulong allocations;

unsigned long allocation_count(void)
{
	return atomic_load_explicit(&allocations, memory_order_relaxed);
}

static void count(void)
{
	atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void *malloc(size_t size)
{
	count();
	return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
	count();
	return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size)
{
	count();
	return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size)
{
	count();
	return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	void *memory = memalign(alignment, size);

	if (memory == NULL)
		return ENOMEM;
	*out = memory;
	return 0;
}
