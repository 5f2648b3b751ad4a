// SPDX-License-Identifier: MIT
/*
 * native_calls.c - bl_flush() and bl_publish() make no system call, take no lock, allocate nothing
 *
 * As no_syscalls.c: they run in a child whose system calls, all but the one that ends it, kill it; calls of the
 * allocator and of locks are led through counters by the linker (--wrap).
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "barlane.h"
#include "fake_gdrdrv.h"
#include "tap.h"

static volatile unsigned long calls; /* the compiler thinks that it knows what malloc() changes */

#define COUNTED(ret, name, params, args)                                                                               \
	ret __real_##name params;                                                                                      \
	ret __wrap_##name params;                                                                                      \
	ret __wrap_##name params                                                                                       \
	{                                                                                                              \
		calls++;                                                                                               \
		return __real_##name args;                                                                             \
	}

COUNTED(void *, malloc, (size_t size), (size))
COUNTED(void *, calloc, (size_t nr, size_t size), (nr, size))
COUNTED(void *, realloc, (void *p, size_t size), (p, size))
COUNTED(void *, aligned_alloc, (size_t align, size_t size), (align, size))
COUNTED(int, pthread_mutex_lock, (pthread_mutex_t * lock), (lock))
COUNTED(int, pthread_mutex_trylock, (pthread_mutex_t * lock), (lock))
COUNTED(int, pthread_mutex_unlock, (pthread_mutex_t * lock), (lock))
COUNTED(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
COUNTED(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
COUNTED(int, pthread_once, (pthread_once_t * once, void (*fn)(void)), (once, fn))

void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p)
{
	calls++;
	__real_free(p);
}

enum { WRONG_SETUP = 1, NO_SECCOMP, CALL_FAILED, WRONG_BYTES, CALLED };

/* Does not return, but must not say so: before what does not return AddressSanitizer makes system calls. */
static void leave(int status)
{
	syscall(SYS_exit_group, status);
}

/* From here on every system call but exit_group() is the end. */
static int lock_down(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}

/* In the data segment: nothing here may fault in what is not there for want of a system call. */
static uint8_t sent[4096];

static int publish_all_sizes(bl_pin_t pin, uint8_t *va)
{
	uint64_t *flag = (uint64_t *)(va + 8192);

	for (size_t len = 0; len <= sizeof(sent); len++) {
		if (bl_publish(pin, va + len % 64, sent, len, flag, len) || bl_flush(pin))
			return CALL_FAILED;
		if (*flag != len || memcmp(va + len % 64, sent, len))
			return WRONG_BYTES;
	}
	return 0;
}

/* With @mixed a second mapping of another type exists, and a full fence follows. */
static void run_locked_down(uint32_t type, bool mixed)
{
	unsigned long before;
	bl_pin_t pin[2];
	bl_ctx_t ctx;
	void *va = NULL;
	int ret;

	fake_gdrdrv_begin(6);
	if (bl_open("gdrdrv", &ctx))
		leave(WRONG_SETUP);
	for (int i = mixed; i >= 0; i--) {
		fake_gdrdrv.type = i ? 3 - type : type;
		if (bl_pin(ctx, FAKE_VRAM_VA, BL_GPU_PAGE_SIZE, 0, 0, 0, &pin[i]) ||
		    bl_map(ctx, pin[i], BL_GPU_PAGE_SIZE, BL_MAP_NONE, &va))
			leave(WRONG_SETUP);
	}
	memset(sent, 0x3c, sizeof(sent));
	if (lock_down())
		leave(NO_SECCOMP);
	before = calls;
	ret = publish_all_sizes(pin[0], va);
	leave(ret ? ret : calls != before ? CALLED : 0);
}

static void check_locked_down(uint32_t type, bool mixed)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	check(pid >= 0);
	if (!pid)
		run_locked_down(type, mixed);
	check(waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		tap_end(TAP_FAILED, "killed by signal %d: a system call was made", WTERMSIG(status));
	if (WEXITSTATUS(status) == NO_SECCOMP)
		skip("the kernel has no seccomp filters");
	check_eq(WEXITSTATUS(status), 0);
}

static void flush_and_publish_make_no_calls(void)
{
	check_locked_down(BL_MAP_WC, false);
	check_locked_down(BL_MAP_CACHED, false);
	check_locked_down(BL_MAP_WC, true);
}

static void counters_count(void)
{
	unsigned long before = calls;
	void *volatile p = malloc(1);

	free(p);
	check_eq(calls, before + 2);
}

static const struct tap_test tests[] = {
	{ "flush_and_publish_make_no_calls", flush_and_publish_make_no_calls },
	{ "counters_count", counters_count },
};

TAP_MAIN(tests)
