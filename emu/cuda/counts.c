// SPDX-License-Identifier: MIT
#include "counts.h"
#include "emu.h"
#include "rm_state.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Atomic uint64_t emu_cuda_calls;
_Atomic uint64_t emu_ioctls;
_Atomic uint64_t emu_peer_direct;
_Atomic uint64_t emu_peer_staged;

/**
 * struct violations - shared with forked children
 * @nr:    rules broken
 * @first: 0, then 1 while the first text is written, then 2
 * @text:  the first
 */
struct violations {
	_Atomic uint64_t nr;
	atomic_int first;
	char text[240];
};

static struct violations private_page; /* when no shared page can be had */
static struct violations *violations = &private_page;
static pthread_once_t violations_once = PTHREAD_ONCE_INIT;

static void violations_create(void)
{
	void *page = mmap(NULL, sizeof(*violations), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page != MAP_FAILED)
		violations = page;
}

void emu_violations_init(void)
{
	pthread_once(&violations_once, violations_create);
}

void emu_violation(const char *fmt, ...)
{
	static const char prefix[] = "barlane-emu: violation: ";
	const char *strict = getenv("BARLANE_EMU_STRICT");
	char line[sizeof(prefix) + sizeof(violations->text) + 1];
	char *text = line + sizeof(prefix) - 1;
	int none = 0;
	va_list args;

	emu_violations_init();
	strcpy(line, prefix);
	va_start(args, fmt);
	vsnprintf(text, sizeof(violations->text), fmt, args);
	va_end(args);
	if (atomic_compare_exchange_strong(&violations->first, &none, 1)) {
		strcpy(violations->text, text);
		atomic_store(&violations->first, 2);
	}
	atomic_fetch_add(&violations->nr, 1);
	strcat(line, "\n");
	/* One write and no stdio: this may run in a child forked by a program with threads. */
	for (size_t len = strlen(line); write(STDERR_FILENO, line, len) < 0 && errno == EINTR;)
		;
	if (strict && !strcmp(strict, "1"))
		abort();
}

const char *bl_emu_violation(void)
{
	emu_violations_init();
	return atomic_load(&violations->first) == 2 ? violations->text : "";
}

void bl_emu_counts(struct bl_emu_counts *counts)
{
	emu_violations_init();
	memset(counts, 0, sizeof(*counts));
	emu_rm_count(counts);
	counts->violations = atomic_load(&violations->nr);
	counts->ioctls = atomic_load(&emu_ioctls);
	counts->cuda_calls = atomic_load(&emu_cuda_calls);
	counts->peer_direct = atomic_load(&emu_peer_direct);
	counts->peer_staged = atomic_load(&emu_peer_staged);
}
