// SPDX-License-Identifier: MIT
/*
 * single.c - naturally aligned copies of 1, 2, 4 and 8 bytes are one access
 */
#include "sanity/sanity.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "common/stats.h"

#define CHANGES	      2000 /* of the value, that a reader wants to see */
#define TIME_LIMIT_NS 5000000000ULL

/* A writer that alternates between two values, and what it writes through. */
struct writer {
	const struct st_buf *buf;
	size_t width;
	bool through_library;
	atomic_bool stop;
};

static void *write_alternating(void *arg)
{
	static const uint64_t values[] = { 0, UINT64_MAX };
	struct writer *writer = arg;
	char *word = (char *)(uintptr_t)writer->buf->map + 64;

	for (size_t i = 0; !atomic_load_explicit(&writer->stop, memory_order_relaxed); i++) {
		if (writer->through_library)
			st_ok(gdr_copy_to_mapping(writer->buf->mh, word, &values[i & 1], writer->width));
		else
			__atomic_store_n((uint64_t *)(void *)word, values[i & 1], __ATOMIC_RELAXED);
		st_flush();
	}
	return NULL;
}

/* No reader may ever see a part of one value and a part of the other. */
static void check_no_tearing(const struct st_buf *buf, size_t width, bool through_library)
{
	struct writer writer = { .buf = buf, .width = width, .through_library = through_library };
	const char *word = (const char *)(uintptr_t)buf->map + 64;
	uint64_t ones = width == 8 ? UINT64_MAX : (1ULL << (8 * width)) - 1;
	uint64_t last = 0, end = tool_now_ns() + TIME_LIMIT_NS;
	size_t changes = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, write_alternating, &writer))
		st_fail("cannot start a thread");
	while (changes < CHANGES && tool_now_ns() < end) {
		uint64_t got = 0;

		if (through_library)
			got = __atomic_load_n((const uint64_t *)(const void *)word, __ATOMIC_RELAXED) & ones;
		else
			st_ok(gdr_copy_from_mapping(buf->mh, &got, word, width));
		if (got && got != ones)
			st_fail("a %zu-byte access was torn: 0x%llx", width, (unsigned long long)got);
		changes += got != last;
		last = got;
	}
	atomic_store(&writer.stop, true);
	pthread_join(thread, NULL);
	st_log("%zu bytes: %zu changes seen", width, changes);
	if (!changes)
		st_fail("what one thread writes never reaches the other");
}

static void barlane_accesses_do_not_tear(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct st_buf buf;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, GPU_PAGE_SIZE, &buf);
	for (size_t width = 2; width <= 8; width *= 2) {
		memset((char *)(uintptr_t)buf.map + 64, 0, 8);
		st_flush();
		check_no_tearing(&buf, width, true);
		check_no_tearing(&buf, width, false);
	}
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

#ifdef __x86_64__

#define TRAP_FLAG 0x100

/**
 * struct counter - accesses to a page, counted
 * @page:    the page; not accessible while @armed
 * @prot:    what is left while armed
 * @armed:   count
 * @stepped: one access is under way
 * @count:   accesses so far
 */
static struct counter {
	char *page;
	int prot;
	volatile sig_atomic_t armed;
	volatile sig_atomic_t stepped;
	volatile sig_atomic_t count;
} counter;

/* Let the one instruction through, and stop after it. */
static void on_access(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	char *at = info->si_addr;

	if (!counter.armed || at < counter.page || at >= counter.page + GPU_PAGE_SIZE)
		st_fail("signal %d at address %p", sig, info->si_addr);
	counter.count++;
	counter.stepped = 1;
	mprotect(counter.page, GPU_PAGE_SIZE, PROT_READ | PROT_WRITE);
	uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	if (counter.stepped && counter.armed)
		mprotect(counter.page, GPU_PAGE_SIZE, counter.prot);
	counter.stepped = 0;
}

static void count_start(const struct st_buf *buf, int prot)
{
	counter.page = st_buf_addr(buf);
	counter.prot = prot;
	counter.count = 0;
	counter.armed = 1;
	/* some kernels do not let an unprivileged process take all access from a device's pages */
	if (mprotect(counter.page, GPU_PAGE_SIZE, prot))
		st_waive("mprotect of the mapping: %s", strerror(errno));
}

static int count_end(void)
{
	counter.armed = 0;
	if (mprotect(counter.page, GPU_PAGE_SIZE, PROT_READ | PROT_WRITE))
		st_fail("mprotect of the mapping: %s", strerror(errno));
	return counter.count;
}

static void catch_accesses(void)
{
	struct sigaction access = { .sa_sigaction = on_access, .sa_flags = SA_SIGINFO };
	struct sigaction step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	sigemptyset(&access.sa_mask);
	sigemptyset(&step.sa_mask);
	sigaction(SIGSEGV, &access, NULL);
	sigaction(SIGTRAP, &step, NULL);
}

/* Return: accesses that one copy of @width bytes makes at @off. */
static int count_copy(const struct st_buf *buf, size_t off, size_t width, bool write)
{
	char *at = (char *)(uintptr_t)buf->map + off;
	char host[8] = "barlane";
	int ret, count;

	count_start(buf, write ? PROT_READ : PROT_NONE);
	ret = write ? gdr_copy_to_mapping(buf->mh, at, host, width) : gdr_copy_from_mapping(buf->mh, host, at, width);
	count = count_end();
	st_ok(ret);
	return count;
}

static void barlane_aligned_copies_are_one_access(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct st_buf buf;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, GPU_PAGE_SIZE, &buf);
	catch_accesses();
	/* writes first: to count reads needs more of the kernel */
	for (int read = 0; read < 2; read++) {
		for (size_t width = 1; width <= 8; width *= 2) {
			for (size_t off = 0; off < 128; off += width)
				st_check_eq(count_copy(&buf, off, width, !read), 1);
		}
	}
	/* that there is something to count: 3 bytes cannot be one access */
	st_check(count_copy(&buf, 0, 3, true) > 1);
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

#else

static void barlane_aligned_copies_are_one_access(enum tool_mem_kind kind)
{
	st_waive("accesses are counted by single steps, which this does on x86-64 only");
}

#endif

const struct sanity_test sanity_single[] = {
	SANITY_ONE(barlane_accesses_do_not_tear),
	SANITY_ONE(barlane_aligned_copies_are_one_access),
	{ 0 },
};
