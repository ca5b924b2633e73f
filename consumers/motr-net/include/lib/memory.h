/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions for memory. Allocated memory is filled with zeros. Any thread may free it. */
#ifndef M0_LIB_MEMORY_H
#define M0_LIB_MEMORY_H

#include <lib/types.h>

/** Allocates `size` bytes; NULL if there is not enough memory. */
void *m0_alloc(size_t size);
/** Frees memory of m0_alloc. NULL is allowed. */
void m0_free(void *data);

/** Allocates `size` bytes at a multiple of 2^shift; NULL if there is not enough memory or no such multiple. */
void *m0_alloc_aligned(size_t size, unsigned int shift);
/** Frees memory of m0_alloc_aligned, with the same size and shift. NULL is allowed. */
void m0_free_aligned(void *data, size_t size, unsigned int shift);

/** Allocates `count` objects of `size` bytes; NULL if there is not enough memory. */
static inline void *m0_alloc_array(size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : m0_alloc(bytes);
}

/** Allocates an object of the type to which `ptr` points; the value is the pointer. */
#define M0_ALLOC_PTR(ptr) ((ptr) = m0_alloc(sizeof(*(ptr))))
/** Allocates an array of `nr` elements; the value is the pointer. */
#define M0_ALLOC_ARR(array, nr) ((array) = m0_alloc_array((nr), sizeof((array)[0])))
/** Frees the memory to which `*pptr` points, and sets `*pptr` to NULL. */
#define m0_free0(pptr)              \
	do {                        \
		m0_free(*(pptr));   \
		*(pptr) = NULL;     \
	} while (0)

#endif
