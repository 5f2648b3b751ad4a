// SPDX-License-Identifier: MIT
#include "quiet.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

volatile unsigned long quiet_calls;

#define COUNTED(ret, name, params, args)                                                                               \
	ret __real_##name params;                                                                                      \
	ret __wrap_##name params;                                                                                      \
	ret __wrap_##name params                                                                                       \
	{                                                                                                              \
		quiet_calls++;                                                                                         \
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
	quiet_calls++;
	__real_free(p);
}

/* Must not say that it does not return: before what does not return AddressSanitizer makes system calls. */
void quiet_leave(int status)
{
	syscall(SYS_exit_group, status);
}

void quiet_lock_down(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		quiet_leave(QUIET_NO_SECCOMP);
}

int quiet_child(void (*run)(uint32_t type, bool mixed), uint32_t type, bool mixed)
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		run(type, mixed);
		quiet_leave(QUIET_WRONG_SETUP);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == QUIET_NO_SECCOMP)
		skip("system calls cannot be filtered here (seccomp)");
	return status;
}

void quiet_check(void (*run)(uint32_t type, bool mixed), uint32_t type, bool mixed)
{
	int status = quiet_child(run, type, mixed);

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		tap_end(TAP_FAILED, "a system call was made");
	if (WIFSIGNALED(status))
		tap_end(TAP_FAILED, "killed by signal %d", WTERMSIG(status));
	check_eq(WEXITSTATUS(status), 0);
}
