// SPDX-License-Identifier: MIT
/*
 * no_syscalls.c - a small copy makes no system call, takes no lock, allocates nothing
 *
 * The copies run in a child whose system calls, all but the one that ends it, kill it. Calls of the allocator and of
 * locks are led through counters by the linker (--wrap).
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "copy/cpu.h"
#include "fake_gdrdrv.h"
#include "gdrapi.h"
#include "tap.h"

#define MAX_COPY 4096

static unsigned long calls;

#define COUNTED(ret, name, params, args)                                                                               \
	ret __real_##name params;                                                                                      \
	ret __wrap_##name params;                                                                                      \
	ret __wrap_##name params                                                                                       \
	{                                                                                                              \
		ret result;                                                                                            \
                                                                                                                       \
		calls++;                                                                                               \
		result = __real_##name args;                                                                           \
		return result;                                                                                         \
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

enum { WRONG_SETUP = 1, NO_SECCOMP, COPY_FAILED, WRONG_BYTES, CALLED };

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
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}

struct setup {
	gdr_t g;
	gdr_mh_t handle[2];
	uint8_t *va;
};

/* With @mixed a second mapping of another type exists. */
static void set_up(struct setup *s, uint32_t type, bool mixed)
{
	void *va = NULL;

	setenv("BARLANE_PROVIDER", "gdrdrv", 1);
	fake_gdrdrv_begin(6);
	s->g = gdr_open();
	if (!s->g)
		leave(WRONG_SETUP);
	for (int i = mixed; i >= 0; i--) {
		fake_gdrdrv.type = i ? 3 - type : type;
		if (gdr_pin_buffer(s->g, FAKE_VRAM_VA, GPU_PAGE_SIZE, 0, 0, &s->handle[i]) ||
		    gdr_map(s->g, s->handle[i], &va, GPU_PAGE_SIZE))
			leave(WRONG_SETUP);
	}
	s->va = va;
}

/* The arena is in the data segment: nothing here may fault in what is not there for want of a system call. */
static uint8_t sent[MAX_COPY + 64], seen[MAX_COPY + 64];

static int copy_all_sizes(const struct setup *s)
{
	for (size_t len = 1; len <= MAX_COPY; len++) {
		size_t at = len * 13 % 64, host = len * 7 % 64;

		sent[host] = (uint8_t)len;
		sent[host + len - 1] = (uint8_t)(len >> 4);
		seen[host + len - 1] = (uint8_t)~sent[host + len - 1];
		if (gdr_copy_to_mapping(s->handle[0], s->va + at, sent + host, len) ||
		    gdr_copy_from_mapping(s->handle[0], seen + host, s->va + at, len))
			return COPY_FAILED;
		if (memcmp(sent + host, seen + host, len))
			return WRONG_BYTES;
	}
	return 0;
}

static void run_locked_down(uint32_t type, bool mixed)
{
	unsigned long before;
	struct setup s;
	int ret;

	set_up(&s, type, mixed);
	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)(i * 5);
	if (lock_down())
		leave(NO_SECCOMP);
	before = calls;
	ret = copy_all_sizes(&s);
	leave(ret ? ret : calls != before ? CALLED : 0);
}

static int in_child(void (*fn)(uint32_t type, bool mixed), uint32_t type, bool mixed)
{
	int status = -1;
	pid_t pid = fork();

	check(pid >= 0);
	if (!pid) {
		fn(type, mixed);
		leave(WRONG_SETUP);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SECCOMP)
		skip("system calls cannot be filtered here (seccomp)");
	return status;
}

static void call_something(uint32_t type, bool mixed)
{
	if (lock_down())
		leave(NO_SECCOMP);
	syscall(SYS_getppid);
	leave(0);
}

static void call_nothing(uint32_t type, bool mixed)
{
	leave(lock_down() ? NO_SECCOMP : 0);
}

static void a_system_call_would_be_noticed(void)
{
	int status = in_child(call_something, 0, false);

	check(WIFSIGNALED(status));
	check_eq(WTERMSIG(status), SIGSYS);
	check_eq(in_child(call_nothing, 0, false), 0);
}

static void locks_and_allocations_would_be_noticed(void)
{
	unsigned long before = calls;
	struct setup s = {0};
	void *va = NULL;

	fake_gdrdrv_begin(6);
	setenv("BARLANE_PROVIDER", "gdrdrv", 1);
	s.g = gdr_open();
	check(s.g);
	check(calls > before);
	before = calls;
	check_eq(gdr_pin_buffer(s.g, FAKE_VRAM_VA, 1, 0, 0, &s.handle[0]), 0);
	check(calls > before);
	before = calls;
	check_eq(gdr_map(s.g, s.handle[0], &va, 1), 0);
	check(calls > before);
	check_eq(gdr_close(s.g), 0);
	fake_gdrdrv_end();
}

static void copies_to_write_combining_mappings_make_no_call(void)
{
	int tried = 0;

	for (size_t i = 0; bl_cpu_isas[i]; i++) {
		if (!bl_cpu_isas[i]->supported())
			continue;
		setenv("BARLANE_CPU_ISA", bl_cpu_isas[i]->name, 1);
		printf("# %s\n", bl_cpu_isas[i]->name);
		fflush(stdout);
		check_eq(in_child(run_locked_down, GDR_MAPPING_TYPE_WC, false), 0);
		tried++;
	}
	unsetenv("BARLANE_CPU_ISA");
	check(tried > 0);
	check_eq(in_child(run_locked_down, GDR_MAPPING_TYPE_WC, false), 0);
}

static void copies_to_cached_mappings_make_no_call(void)
{
	check_eq(in_child(run_locked_down, GDR_MAPPING_TYPE_CACHING, false), 0);
}

static void copies_beside_a_mapping_of_another_type_make_no_call(void)
{
	check_eq(in_child(run_locked_down, GDR_MAPPING_TYPE_WC, true), 0);
	check_eq(in_child(run_locked_down, GDR_MAPPING_TYPE_CACHING, true), 0);
}

static const struct tap_test tests[] = {
	{"a system call would be noticed", a_system_call_would_be_noticed},
	{"locks and allocations would be noticed", locks_and_allocations_would_be_noticed},
	{"copies to write-combining mappings make no call", copies_to_write_combining_mappings_make_no_call},
	{"copies to cached mappings make no call", copies_to_cached_mappings_make_no_call},
	{"copies beside a mapping of another type make no call",
	 copies_beside_a_mapping_of_another_type_make_no_call},
};

TAP_MAIN(tests)
