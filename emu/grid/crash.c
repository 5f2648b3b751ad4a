// SPDX-License-Identifier: MIT
/*
 * A thread of a grid that faults ends its grid and not the process; and one that never calls this library can be taken
 * out of its function by a signal, where it is known to be in its own code: anywhere else it might hold a lock.
 */
#include "grid_int.h"

#include <errno.h>
#include <link.h>
#include <ucontext.h>

static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };

#define NR_SIGNALS (sizeof(signals) / sizeof(signals[0]))

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t actions_lock = PTHREAD_MUTEX_INITIALIZER; /* over before[]; free in a child */
static struct sigaction before[NR_SIGNALS];

static uintptr_t pc_of(const ucontext_t *uc)
{
#if defined(__x86_64__)
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (uintptr_t)uc->uc_mcontext.pc;
#else
#error "where does this CPU keep the program counter?"
#endif
}

/* What was there before this library. A fault comes again by itself; a signal that was sent does not. */
static void pass_on(int sig, siginfo_t *info, void *uc)
{
	for (size_t i = 0; i < NR_SIGNALS; i++) {
		const struct sigaction *action = &before[i];

		if (signals[i] != sig)
			continue;
		if (action->sa_flags & SA_SIGINFO) {
			action->sa_sigaction(sig, info, uc);
		} else if (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN) {
			action->sa_handler(sig);
		} else {
			signal(sig, SIG_DFL);
			if (info->si_code <= 0)
				raise(sig);
		}
		return;
	}
}

/* Returns 0 when the signal is not this library's business. */
static int handle(struct grid_thread *thread, int sig, const siginfo_t *info, uintptr_t pc)
{
	struct grid *grid = thread->grid;
	int nudged = info->si_code == SI_TKILL && atomic_load(&grid->stopping);

	if (!thread->armed || thread->inside)
		return nudged;
	if (nudged) {
		if (pc >= thread->text.from && pc < thread->text.to)
			siglongjmp(thread->out, 1);
		return 1;
	}
	thread->sig = sig;
	thread->addr = (uintptr_t)info->si_addr;
	thread->pc = pc;
	atomic_store(&thread->at, GRID_AT_CRASH);
	grid_stop(grid, -EFAULT, "a thread faulted", thread);
	siglongjmp(thread->out, 1);
}

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	struct grid_thread *thread = grid_current;
	int saved = errno;

	if (!thread || !handle(thread, sig, info, pc_of(uc)))
		pass_on(sig, info, uc);
	errno = saved;
}

static void fork_begin(void)
{
	pthread_mutex_lock(&actions_lock);
}

static void fork_end(void)
{
	pthread_mutex_unlock(&actions_lock);
}

static void watch_forks(void)
{
	pthread_atfork(fork_begin, fork_end, fork_end);
}

/* Again with each grid: the program may have set its own meanwhile, and expects to get the rest of the signals. */
void grid_crash_init(void)
{
	struct sigaction mine = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	struct sigaction now;

	sigemptyset(&mine.sa_mask);
	pthread_once(&fork_once, watch_forks);
	pthread_mutex_lock(&actions_lock);
	for (size_t i = 0; i < NR_SIGNALS; i++) {
		if (sigaction(signals[i], NULL, &now) || now.sa_sigaction == on_signal)
			continue;
		before[i] = now;
		sigaction(signals[i], &mine, NULL);
	}
	pthread_mutex_unlock(&actions_lock);
}

void grid_crash_stack(void *stack, size_t size, stack_t *old)
{
	stack_t mine = { .ss_sp = stack, .ss_size = size };

	sigaltstack(&mine, old);
}

struct find_text {
	uintptr_t address;
	struct grid_text text;
};

static int look_in(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct find_text *find = arg;

	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || find->address - from >= part->p_memsz)
			continue;
		find->text.from = from;
		find->text.to = from + part->p_memsz;
		return 1;
	}
	return 0;
}

struct grid_text grid_text_of(const void *code)
{
	struct find_text find = { .address = (uintptr_t)code };

	dl_iterate_phdr(look_in, &find);
	return find.text;
}

/* Sent as a fault, since sanitizers put off all other signals until a call that they know. */
void grid_crash_nudge(struct grid_thread *thread)
{
	if (!atomic_load(&thread->ended))
		pthread_kill(thread->id, SIGSEGV);
}
