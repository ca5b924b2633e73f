/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads. Threads that were not created by this library may call every function too. */
#ifndef M0_LIB_THREAD_H
#define M0_LIB_THREAD_H

#include <lib/bitmap.h>
#include <lib/semaphore.h>
#include <lib/types.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

enum m0_thread_state { TS_PARKED = 0, TS_RUNNING };

/** The size of a thread's name in bytes, with the terminating NUL; a longer name is truncated. */
enum { M0_THREAD_NAME_LEN = 16 };

/** The structure must be set to zeros before each m0_thread_init. */
struct m0_thread {
	enum m0_thread_state t_state;
	/** The result of `init`. */
	int t_initrc;
	pthread_t t_handle;
	int (*t_init)(void *);
	void (*t_func)(void *);
	void *t_arg;
	struct m0_semaphore t_wait;
	char t_namebuf[M0_THREAD_NAME_LEN];
};

/** Starts a thread like m0_thread_init, with a name that is already formatted. */
int m0_thread_create(struct m0_thread *thread, int (*init)(void *), void (*func)(void *), void *arg, const char *name);

/**
 * Starts a thread, which calls `init` (unless NULL) and, if that returns 0, `func`, both with `arg`. The name is
 * formatted like printf's output. Returns when `init` has returned.
 *
 * Returns 0. Errors: the result of `init`; -EAGAIN (the thread cannot be created). After an error there is no thread.
 */
__attribute__((format(printf, 5, 6))) static inline int m0_thread_init(struct m0_thread *thread, int (*init)(void *),
								       void (*func)(void *), void *arg,
								       const char *namefmt, ...)
{
	char name[128];
	va_list arguments;

	va_start(arguments, namefmt);
	vsnprintf(name, sizeof(name), namefmt, arguments);
	va_end(arguments);
	return m0_thread_create(thread, init, func, arg, name);
}

/** The same for functions whose argument has another type than void *. */
#define M0_THREAD_INIT(thread, TYPE, init, func, arg, namefmt, ...)                               \
	({                                                                                        \
		int (*m0_init_)(TYPE) = (init);                                                   \
		void (*m0_func_)(TYPE) = (func);                                                  \
		TYPE m0_arg_ = (arg);                                                             \
		_Static_assert(sizeof(m0_arg_) <= sizeof(void *), "the argument is no larger than a pointer"); \
		m0_thread_init((thread), (int (*)(void *))(void (*)(void))m0_init_,               \
			       (void (*)(void *))(void (*)(void))m0_func_,                        \
			       (void *)(uintptr_t)m0_arg_, (namefmt), ##__VA_ARGS__);             \
	})

/** Waits until the thread has ended. Returns 0. Must not be called by the thread itself. */
int m0_thread_join(struct m0_thread *thread);
/** Ends the structure of a thread, which must have been joined, or never started. */
void m0_thread_fini(struct m0_thread *thread);
/** The calling thread, never NULL. */
struct m0_thread *m0_thread_self(void);
/** Restricts the thread to these processors. Returns 0. Errors: -EINVAL (none of them is online), -ESRCH. */
int m0_thread_confine(struct m0_thread *thread, const struct m0_bitmap *processors);

#endif
