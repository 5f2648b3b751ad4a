// SPDX-License-Identifier: MIT
#include "reason.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "barlane.h"

#define IN_THREAD _Thread_local __attribute__((tls_model("initial-exec")))

/* A handler of signals may come between any two accesses of its thread. */
static IN_THREAD char *_Atomic reason_text;
static IN_THREAD volatile int reason_code;

/* The key by which pages are given back, + 1; 0: none yet. pthread_once() could make a handler wait for its thread. */
static _Atomic(unsigned int) key_after;

static void thread_ends(void *page)
{
	atomic_store_explicit(&reason_text, NULL, memory_order_relaxed);
	reason_code = 0;
	munmap(page, BL_REASON_SIZE);
}

static bool find_key(pthread_key_t *key_p)
{
	unsigned int known = atomic_load_explicit(&key_after, memory_order_relaxed);
	pthread_key_t key;

	if (!known) {
		if (pthread_key_create(&key, thread_ends))
			return false;
		if (atomic_compare_exchange_strong_explicit(&key_after, &known, key + 1, memory_order_relaxed,
							    memory_order_relaxed))
			known = key + 1;
		else
			pthread_key_delete(key);
	}
	*key_p = known - 1;
	return true;
}

/* The thread's page, or NULL. */
static __attribute__((noinline, cold)) char *claim(void)
{
	char *page, *known = NULL;
	pthread_key_t key;

	if (!find_key(&key))
		return NULL;
	page = mmap(NULL, BL_REASON_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	if (!atomic_compare_exchange_strong_explicit(&reason_text, &known, page, memory_order_relaxed,
						     memory_order_relaxed)) {
		/* a handler failed meanwhile, and has one for this thread */
		munmap(page, BL_REASON_SIZE);
		return known;
	}
	if (!pthread_setspecific(key, page))
		return page;
	thread_ends(page);
	return NULL;
}

void bl_reason_set(int code, const char *text)
{
	char *kept = atomic_load_explicit(&reason_text, memory_order_relaxed);

	if (!kept)
		kept = claim();
	if (kept) {
		size_t len = strnlen(text, BL_REASON_SIZE - 1);

		memmove(kept, text, len);
		kept[len] = '\0';
	}
	reason_code = code;
}

/* Valid for ever. */
static const char *text_of_code(int code)
{
	const char *text = NULL;

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
	text = strerrordesc_np(code);
#endif
	return text ? text : "there was no memory for the reason";
}

const char *bl_last_error(int *code_p)
{
	const char *text = atomic_load_explicit(&reason_text, memory_order_relaxed);
	int code = reason_code;

	if (code_p)
		*code_p = code;
	if (text)
		return text;
	return code ? text_of_code(code) : "";
}
