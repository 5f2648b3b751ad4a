// SPDX-License-Identifier: MIT
/*
 * Where the reason of a thread's last failure lies: a page that comes with the first failure and goes with the thread.
 * The calls that make and end one are wrapped (mmap() is mmap64() where offsets have 64 bits): they count, fail when
 * told to, and are where a signal arrives. Each test has a process of its own that has not failed yet.
 */
#include "util/reason.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "barlane.h"
#include "child.h"
#include "tap.h"
#include "util/log.h"

void *__real_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int __real_munmap(void *addr, size_t len);
int __real_pthread_key_create(pthread_key_t *key, void (*end)(void *));
int __real_pthread_setspecific(pthread_key_t key, const void *value);
void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int __wrap_munmap(void *addr, size_t len);
int __wrap_pthread_key_create(pthread_key_t *key, void (*end)(void *));
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

static struct {
	atomic_int mapped, unmapped;
	bool no_memory, no_key, no_place;
	atomic_int signal; /* comes while a page is made, once */
} world;

void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	int signal = atomic_exchange(&world.signal, 0);

	if (signal)
		raise(signal);
	if (world.no_memory) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	atomic_fetch_add(&world.mapped, 1);
	return __real_mmap64(addr, len, prot, flags, fd, off);
}

int __wrap_munmap(void *addr, size_t len)
{
	atomic_fetch_add(&world.unmapped, 1);
	return __real_munmap(addr, len);
}

int __wrap_pthread_key_create(pthread_key_t *key, void (*end)(void *))
{
	return world.no_key ? EAGAIN : __real_pthread_key_create(key, end);
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	return world.no_place ? ENOMEM : __real_pthread_setspecific(key, value);
}

static char logged[BL_REASON_SIZE];

static void keep_line(enum bl_log_level level, const char *text)
{
	snprintf(logged, sizeof(logged), "%s", text);
}

static void in_child(void (*run)(const void *arg))
{
	child_run(run, NULL, NULL);
}

/* Without what a page needs: the code and its text, and the line is shown as ever. With it: the reason. */
static void lacks(bool *what)
{
	int code = -1;

	bl_log_set_sink(keep_line);
	bl_log_set_level(BL_LOG_ERROR);
	check_str(bl_last_error(&code), "");
	check_eq(code, 0);
	*what = true;
	errno = ENFILE;
	check_eq(fail(EBUSY, "card %d is in use", 7), -EBUSY);
	check_eq(errno, ENFILE);
	check_str(logged, "card 7 is in use");
	check_has(bl_last_error(&code), strerror(EBUSY));
	check_eq(code, EBUSY);
	check_eq(fail_quiet(EPERM, "of (%s)", bl_last_error(NULL)), -EPERM);
	check_str(bl_last_error(&code), strerror(EPERM));
	check_eq(code, EPERM);
	check_eq(atomic_load(&world.mapped), atomic_load(&world.unmapped));
	*what = false;
	check_eq(fail(EIO, "card %d is gone", 8), -EIO);
	check_str(bl_last_error(&code), "card 8 is gone");
	check_eq(code, EIO);
	check_eq(atomic_load(&world.mapped) - atomic_load(&world.unmapped), 1);
}

static void lacks_memory(const void *arg)
{
	lacks(&world.no_memory);
}

static void without_memory_the_code_has_a_text(void)
{
	in_child(lacks_memory);
}

static void lacks_a_key(const void *arg)
{
	lacks(&world.no_key);
}

static void without_a_key_the_code_has_a_text(void)
{
	in_child(lacks_a_key);
}

static void lacks_a_place(const void *arg)
{
	lacks(&world.no_place);
}

static void without_a_place_for_the_key_the_code_has_a_text(void)
{
	in_child(lacks_a_place);
}

static void *fail_twice(void *arg)
{
	long me = (long)(intptr_t)arg;
	char want[32];

	fail(EIO, "thread %ld first", me);
	fail(EIO, "thread %ld", me);
	snprintf(want, sizeof(want), "thread %ld", me);
	return strcmp(bl_last_error(NULL), want) ? arg : NULL;
}

static void many_threads(const void *arg)
{
	pthread_t threads[16];
	void *wrong;

	bl_log_set_level(BL_LOG_OFF);
	for (int round = 0; round < 8; round++) {
		for (long i = 0; i < 16; i++)
			check(!pthread_create(&threads[i], NULL, fail_twice, (void *)(intptr_t)(i + 1)));
		for (int i = 0; i < 16; i++) {
			check(!pthread_join(threads[i], &wrong));
			check(!wrong);
		}
	}
	check_eq(atomic_load(&world.mapped), 8 * 16);
	check_eq(atomic_load(&world.unmapped), 8 * 16);
	check_str(bl_last_error(NULL), "");
}

static void threads_that_end_give_their_pages_back(void)
{
	in_child(many_threads);
}

static pthread_key_t late_key;
static char late_text[2][64];

/* Comes after the reason's own end, which has the lower key. */
static void fail_at_the_end(void *arg)
{
	int code;

	snprintf(late_text[0], sizeof(late_text[0]), "%s", bl_last_error(&code));
	fail(EIO, "%s", "late");
	snprintf(late_text[1], sizeof(late_text[1]), "%s", bl_last_error(&code));
}

static void *fail_and_end(void *arg)
{
	fail(EIO, "early");
	if (__real_pthread_setspecific(late_key, &late_key))
		return arg;
	return NULL;
}

static void late_failures(const void *arg)
{
	pthread_t thread;

	bl_log_set_level(BL_LOG_OFF);
	fail(EIO, "the key is made here");
	check(!__real_pthread_key_create(&late_key, fail_at_the_end));
	check(!pthread_create(&thread, NULL, fail_and_end, NULL));
	check(!pthread_join(thread, NULL));
	check_str(late_text[0], "");
	check_str(late_text[1], "late");
	check_eq(atomic_load(&world.mapped), 3);
	check_eq(atomic_load(&world.unmapped), 2);
}

static void a_failure_while_a_thread_ends_leaves_nothing(void)
{
	in_child(late_failures);
}

static void fail_in_handler(int signal)
{
	fail(EINTR, "signal %d", signal);
}

static void interrupted(const void *arg)
{
	int code;

	bl_log_set_level(BL_LOG_OFF);
	check(signal(SIGUSR1, fail_in_handler) != SIG_ERR);
	atomic_store(&world.signal, SIGUSR1);
	fail(EIO, "not the signal's");
	check_str(bl_last_error(&code), "not the signal's");
	check_eq(code, EIO);
	/* the handler's page is the thread's, and the one that came second went back */
	check_eq(atomic_load(&world.mapped), 2);
	check_eq(atomic_load(&world.unmapped), 1);
	raise(SIGUSR1);
	check_has(bl_last_error(&code), "signal ");
	check_eq(code, EINTR);
	check_eq(atomic_load(&world.mapped), 2);
}

static void a_handler_may_fail_while_a_page_is_made(void)
{
	in_child(interrupted);
}

static void forked(const void *arg)
{
	int status = 1, code;
	pid_t pid;

	bl_log_set_level(BL_LOG_OFF);
	fail(EIO, "the parent's");
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		bool same = !strcmp(bl_last_error(&code), "the parent's") && code == EIO;

		fail(EPERM, "the child's");
		_exit(!same || strcmp(bl_last_error(&code), "the child's") || code != EPERM);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check_str(bl_last_error(&code), "the parent's");
	check_eq(code, EIO);
}

static void a_child_has_its_parents_reason_and_then_its_own(void)
{
	in_child(forked);
}

static const struct tap_test tests[] = {
	{"without memory the code has a text", without_memory_the_code_has_a_text},
	{"without a key the code has a text", without_a_key_the_code_has_a_text},
	{"without a place for the key the code has a text", without_a_place_for_the_key_the_code_has_a_text},
	{"threads that end give their pages back", threads_that_end_give_their_pages_back},
	{"a failure while a thread ends leaves nothing", a_failure_while_a_thread_ends_leaves_nothing},
	{"a handler may fail while a page is made", a_handler_may_fail_while_a_page_is_made},
	{"a child has its parent's reason and then its own", a_child_has_its_parents_reason_and_then_its_own},
};

TAP_MAIN(tests)
