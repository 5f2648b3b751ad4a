// SPDX-License-Identifier: MIT
/* Memory that is taken away under a guarded access; and every other fault, which goes where it went before. */
#include "util/guard.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

#define PAGES 8

static size_t page;

static void need_guard(void)
{
	if (!BL_GUARD_WORKS)
		skip("accesses are not guarded in this build: no code for this CPU, or ThreadSanitizer");
	page = (size_t)sysconf(_SC_PAGESIZE);
}

/* All that a child does after this ends it by itself, or in ten seconds. */
static _Noreturn void be_child(void (*run)(void))
{
	const struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	alarm(10);
	run();
	_exit(0);
}

/* Of a child that begins with both signals as they are by default, whatever a sanitizer has made of them. */
static int status_of(void (*run)(void))
{
	int status = -1;
	pid_t pid = fork();

	check(pid >= 0);
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		be_child(run);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void check_exits(void (*run)(void), int code)
{
	int status = status_of(run);

	check(WIFEXITED(status));
	check_eq(WEXITSTATUS(status), code);
}

static void check_dies(void (*run)(void), int sig)
{
	int status = status_of(run);

	check(WIFSIGNALED(status));
	check_eq(WTERMSIG(status), sig);
}

static char *map_pages(size_t nr)
{
	char *at = mmap(NULL, nr * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		_exit(99);
	memset(at, 0x5a, nr * page);
	return at;
}

/* Pages of a file that has none any more. */
static char *map_nothing(size_t nr)
{
	int fd = memfd_create("guard", MFD_CLOEXEC);
	char *at;

	if (fd < 0 || ftruncate(fd, (off_t)(nr * page)))
		_exit(98);
	at = mmap(NULL, nr * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || ftruncate(fd, 0))
		_exit(97);
	close(fd);
	return at;
}

static void fault(volatile char *at)
{
	*at = 1;
}

static void die_of_segv(void)
{
	char *at = map_pages(1);

	mprotect(at, page, PROT_NONE);
	fault(at);
}

#define expect(cond) ((cond) ? (void)0 : _exit(__LINE__ % 90 + 1))

/* ---- memory that is gone ---- */

static void check_gone(char *at)
{
	uint32_t v4 = 4;
	uint64_t v8 = 8;
	char byte = 1;

	check_eq(bl_guard_copy_from(&byte, at, 1), -EFAULT);
	check_eq(bl_guard_copy_to(at, &byte, 1), -EFAULT);
	check_eq(bl_guard_load32((uint32_t *)(void *)at, &v4), -EFAULT);
	check_eq(bl_guard_load64((uint64_t *)(void *)at, &v8), -EFAULT);
	check_eq(byte, 1);
	check_eq(v4, 4);
	check_eq(v8, 8);
}

static void memory_that_is_unmapped_protected_or_cut_off_is_an_error(void)
{
	char *at;

	need_guard();
	bl_guard_init();
	at = map_pages(1);
	mprotect(at, page, PROT_NONE);
	check_gone(at);
	munmap(at, page);
	check_gone(at);
	at = map_nothing(1);
	check_gone(at);
	munmap(at, page);
}

static void memory_that_may_be_read_only_is_not_written(void)
{
	uint64_t v8 = 0;
	char *at, byte = 1;

	need_guard();
	bl_guard_init();
	at = map_pages(1);
	mprotect(at, page, PROT_READ);
	check_eq(bl_guard_copy_to(at + 5, &byte, 1), -EFAULT);
	check_eq(bl_guard_copy_from(&byte, at + 5, 1), 0);
	check_eq(byte, 0x5a);
	check_eq(bl_guard_load64((uint64_t *)(void *)(at + 8), &v8), 0);
	check_eq(v8, 0x5a5a5a5a5a5a5a5aULL);
	munmap(at, page);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static bool touches_hole(unsigned int holes, size_t off, size_t len)
{
	for (size_t i = off / page; len && i <= (off + len - 1) / page; i++) {
		if (holes & 1U << i)
			return true;
	}
	return false;
}

/* Any length at any place of pages with holes: an error where there is one, and all of the bytes where there is none. */
static void copies_fail_where_there_is_a_hole(void)
{
	const char *given = getenv("GUARD_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL), state = seed;
	char *at, *mine;

	need_guard();
	bl_guard_init();
	printf("# GUARD_SEED=%" PRIu64 "\n", seed);
	at = map_pages(PAGES);
	mine = malloc(PAGES * page);
	for (unsigned int turn = 0; turn < 2000; turn++) {
		unsigned int holes = (unsigned int)(next_random(&state) & next_random(&state) & ((1U << PAGES) - 1));
		size_t off = next_random(&state) % (PAGES * page), len = next_random(&state) % (PAGES * page - off);
		bool bad = touches_hole(holes, off, len);
		char byte = (char)(next_random(&state) | 1);

		for (unsigned int i = 0; i < PAGES; i++)
			mprotect(at + i * page, page, holes & 1U << i ? PROT_NONE : PROT_READ | PROT_WRITE);
		memset(mine, byte, len);
		check_eq(bl_guard_copy_to(at + off, mine, len), bad ? -EFAULT : 0);
		memset(mine, 0, len);
		check_eq(bl_guard_copy_from(mine, at + off, len), bad ? -EFAULT : 0);
		check(bad || !len || (mine[0] == byte && !memcmp(mine, mine + 1, len - 1)));
	}
	free(mine);
	munmap(at, PAGES * page);
}

struct fall {
	char *at;
	int says;
};

static int fall(void *arg)
{
	const struct fall *what = arg;

#if defined(__x86_64__)
	__asm__ volatile("std" ::: "cc");
#endif
	fault(what->at);
#if defined(__x86_64__)
	__asm__ volatile("cld" ::: "cc");
#endif
	return what->says;
}

static void what_a_call_says_is_what_comes_back(void)
{
	struct fall what = {.says = -17};

	need_guard();
	bl_guard_init();
	what.at = map_pages(1);
	check_eq(bl_guard_call(what.at, page, fall, &what), -17);
	mprotect(what.at, page, PROT_NONE);
	check_eq(bl_guard_call(what.at, page, fall, &what), -EFAULT);
	munmap(what.at, page);
}

/* Numbers that live in registers over a call that is left; strings go forward again. */
static void registers_are_as_they_were(void)
{
	struct fall what = {.says = 0};
	volatile long one = 1;
	volatile double half = 0.5;
	long a, b, c, d, e, f;
	double x, y;

	need_guard();
	bl_guard_init();
	what.at = map_pages(1);
	mprotect(what.at, page, PROT_NONE);
	a = one, b = a + one, c = b + one, d = c + one, e = d + one, f = e + one;
	x = half, y = x + half;
	for (int i = 0; i < 100; i++) {
		check_eq(bl_guard_call(what.at, page, fall, &what), -EFAULT);
		a += one, b += a, c ^= b, d += c, e ^= d, f += e;
		x += y, y += half;
	}
#if defined(__x86_64__)
	{
		unsigned long flags;

		__asm__ volatile("pushfq; popq %0" : "=r"(flags));
		check(!(flags & 0x400));
	}
#endif
	check_eq(a, 101);
	check_eq(b, 2 + 100 + 100 * 101 / 2);
	check(x == 0.5 + 100 * 1.0 + 0.5 * 99 * 100 / 2);
	check(y == 51.0);
	check(c || d || e || f);
	munmap(what.at, page);
}

static void *copy_in_thread(void *arg)
{
	char byte;

	return (void *)(intptr_t)bl_guard_copy_from(&byte, arg, 1);
}

static void a_thread_that_blocks_the_rest_is_guarded(void)
{
	sigset_t all, old;
	pthread_t thread;
	void *ret = NULL;
	char *at;

	need_guard();
	bl_guard_init();
	at = map_nothing(1);
	sigfillset(&all);
	bl_guard_unblock(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	check_eq(pthread_create(&thread, NULL, copy_in_thread, at), 0);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_join(thread, &ret);
	check_eq((intptr_t)ret, -EFAULT);
	munmap(at, page);
}

static void child_copies(void)
{
	char *at = map_nothing(1), byte;

	expect(bl_guard_copy_from(&byte, at, 1) == -EFAULT);
	bl_guard_init();
	expect(bl_guard_copy_from(&byte, at, 1) == -EFAULT);
}

static void fork_and_copy(void)
{
	int status = -1;
	pid_t pid;

	bl_guard_init();
	pid = fork();
	if (!pid)
		be_child(child_copies);
	waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 77);
}

static void children_are_guarded(void)
{
	need_guard();
	check_exits(fork_and_copy, 0);
}

/* ---- faults that are none of this ---- */

static void unguarded(void)
{
	bl_guard_init();
	die_of_segv();
}

static void unguarded_bus(void)
{
	bl_guard_init();
	fault(map_nothing(1));
}

static int fall_elsewhere(void *arg)
{
	fault(arg);
	return 0;
}

/* The memory that is guarded is all right; what the function touches beside it is not. */
static void beside(void)
{
	char *at = map_pages(4);

	bl_guard_init();
	mprotect(at + 2 * page, page, PROT_NONE);
	bl_guard_call(at, 2 * page, fall_elsewhere, at + 2 * page);
}

static void after(void)
{
	char *at = map_pages(1), byte;

	bl_guard_init();
	mprotect(at, page, PROT_NONE);
	expect(bl_guard_copy_from(&byte, at, 1) == -EFAULT);
	fault(at);
}

static void sent(void)
{
	bl_guard_init();
	raise(SIGSEGV);
}

static void unguarded_faults_end_the_process_by_their_signal(void)
{
	need_guard();
	check_dies(unguarded, SIGSEGV);
	check_dies(unguarded_bus, SIGBUS);
	check_dies(beside, SIGSEGV);
	check_dies(after, SIGSEGV);
	check_dies(sent, SIGSEGV);
}

static void ignored_and_sent(void)
{
	signal(SIGSEGV, SIG_IGN);
	bl_guard_init();
	raise(SIGSEGV);
	_exit(5);
}

static void ignored_and_faulted(void)
{
	signal(SIGSEGV, SIG_IGN);
	bl_guard_init();
	die_of_segv();
}

/* The kernel does it so: a signal can be ignored, a fault cannot. */
static void an_ignored_signal_is_ignored_and_a_fault_is_not(void)
{
	need_guard();
	check_exits(ignored_and_sent, 5);
	check_dies(ignored_and_faulted, SIGSEGV);
}

/* ---- handlers that were there ---- */

static sigjmp_buf out;
static volatile sig_atomic_t times;
static char *volatile where;

static bool is_blocked(int sig)
{
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	return sigismember(&now, sig);
}

static void on_plain(int sig)
{
	expect(sig == SIGSEGV);
	expect(is_blocked(SIGSEGV) && is_blocked(SIGUSR1) && !is_blocked(SIGUSR2));
	times++;
	siglongjmp(out, 1);
}

static void plain(void)
{
	struct sigaction action = {.sa_handler = on_plain};
	char byte;

	sigaddset(&action.sa_mask, SIGUSR1);
	sigaction(SIGSEGV, &action, NULL);
	bl_guard_init();
	where = map_pages(1);
	mprotect(where, page, PROT_NONE);
	for (int i = 0; i < 3; i++) {
		if (!sigsetjmp(out, 1))
			fault(where);
		expect(bl_guard_copy_from(&byte, where, 1) == -EFAULT);
	}
	expect(times == 3 && !is_blocked(SIGSEGV));
}

static void on_info(int sig, siginfo_t *info, void *uc)
{
	expect(sig == SIGSEGV && info->si_addr == where && uc);
	expect(!is_blocked(SIGSEGV));
	times++;
	/* it comes again, and succeeds */
	mprotect(where, page, PROT_READ | PROT_WRITE);
}

static void info(void)
{
	struct sigaction action = {.sa_sigaction = on_info, .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigaction(SIGSEGV, &action, NULL);
	bl_guard_init();
	where = map_pages(1);
	mprotect(where, page, PROT_NONE);
	fault(where);
	expect(times == 1 && *where == 1);
}

static void once_only(void)
{
	struct sigaction action = {.sa_sigaction = on_info, .sa_flags = SA_SIGINFO | SA_NODEFER | (int)SA_RESETHAND};

	sigaction(SIGSEGV, &action, NULL);
	bl_guard_init();
	where = map_pages(1);
	mprotect(where, page, PROT_NONE);
	fault(where);
	expect(times == 1);
	die_of_segv();
}

static void earlier_handlers_get_their_faults(void)
{
	need_guard();
	check_exits(plain, 0);
	check_exits(info, 0);
	check_dies(once_only, SIGSEGV);
}

/* ---- handlers that come later ---- */

static struct sigaction replaced;

static void on_later(int sig, siginfo_t *signal_info, void *uc)
{
	if (++times > 100)
		_exit(66);
	replaced.sa_sigaction(sig, signal_info, uc);
}

static void chains(void)
{
	struct sigaction action = {.sa_sigaction = on_later, .sa_flags = SA_SIGINFO};
	char *at = map_pages(1), byte;

	bl_guard_init();
	sigaction(SIGSEGV, &action, &replaced);
	mprotect(at, page, PROT_NONE);
	expect(bl_guard_copy_from(&byte, at, 1) == -EFAULT);
	expect(times == 1);
	fault(at);
}

static void on_last(int sig)
{
	_exit(7);
}

static void keeps(void)
{
	char *at = map_pages(1), byte;

	bl_guard_init();
	signal(SIGSEGV, on_last);
	mprotect(at, page, PROT_NONE);
	bl_guard_copy_from(&byte, at, 1);
}

static void later_handlers_decide(void)
{
	need_guard();
	check_dies(chains, SIGSEGV);
	check_exits(keeps, 7);
}

/* It was there before the guard, and puts itself over it once more: each has the other for the one before. */
static void circle(void)
{
	struct sigaction action = {.sa_sigaction = on_later, .sa_flags = SA_SIGINFO | SA_NODEFER};
	char *at = map_pages(1), byte;

	sigaction(SIGSEGV, &action, &replaced);
	bl_guard_init();
	sigaction(SIGSEGV, &action, &replaced);
	mprotect(at, page, PROT_NONE);
	expect(bl_guard_copy_from(&byte, at, 1) == -EFAULT);
	expect(times == 1);
	fault(at);
}

static void handlers_in_a_circle_end(void)
{
	need_guard();
	check_dies(circle, SIGSEGV);
}

static const struct tap_test tests[] = {
	{"unguarded_faults_end_the_process_by_their_signal", unguarded_faults_end_the_process_by_their_signal},
	{"an_ignored_signal_is_ignored_and_a_fault_is_not", an_ignored_signal_is_ignored_and_a_fault_is_not},
	{"earlier_handlers_get_their_faults", earlier_handlers_get_their_faults},
	{"later_handlers_decide", later_handlers_decide},
	{"handlers_in_a_circle_end", handlers_in_a_circle_end},
	{"children_are_guarded", children_are_guarded},
	{"memory_that_is_unmapped_protected_or_cut_off_is_an_error",
	 memory_that_is_unmapped_protected_or_cut_off_is_an_error},
	{"memory_that_may_be_read_only_is_not_written", memory_that_may_be_read_only_is_not_written},
	{"copies_fail_where_there_is_a_hole", copies_fail_where_there_is_a_hole},
	{"what_a_call_says_is_what_comes_back", what_a_call_says_is_what_comes_back},
	{"registers_are_as_they_were", registers_are_as_they_were},
	{"a_thread_that_blocks_the_rest_is_guarded", a_thread_that_blocks_the_rest_is_guarded},
};

TAP_MAIN(tests)
