// SPDX-License-Identifier: MIT
#include "guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
void __asan_handle_no_return(void);
/* What the frames that were left have marked on the stack is in nobody's way. */
#define forget_frames() __asan_handle_no_return()
#else
#define forget_frames() ((void)0)
#endif

#if BL_GUARD_WORKS

/* guard_x86.S, guard_arm64.S: the function, and places in code that are none for a call. */
int bl_guard_enter(int (*fn)(void *arg), void *arg, uintptr_t *sp_p);
extern const char bl_guard_leave[], bl_guard_at32[], bl_guard_at64[], bl_guard_miss[];

/**
 * struct call - a guarded call of this thread
 * @from, @len: addresses whose faults end it
 * @sp:	  stack to leave it with
 * @left: it was
 */
struct call {
	uintptr_t from;
	size_t len;
	uintptr_t sp;
	volatile bool left;
};

/**
 * struct passing - a signal that is being passed on by this thread
 * @info:  of it, where the kernel has put it
 * @frame: of the handler here
 */
struct passing {
	const siginfo_t *info;
	const char *frame;
};

/* A handler may neither allocate nor wait, as the first use of any other kind of variable of a thread may. */
static __thread struct call *volatile present __attribute__((tls_model("initial-exec")));
static __thread struct passing passing __attribute__((tls_model("initial-exec")));

static const int signals[] = {SIGSEGV, SIGBUS};

#define NR_SIGNALS (sizeof(signals) / sizeof(signals[0]))

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uintptr_t page;
static struct sigaction before[NR_SIGNALS];
static atomic_bool used_up[NR_SIGNALS]; /* one that is for one signal only has had it */

static uintptr_t *pc_of(ucontext_t *uc)
{
#if defined(__x86_64__)
	return (uintptr_t *)&uc->uc_mcontext.gregs[REG_RIP];
#else
	return (uintptr_t *)&uc->uc_mcontext.pc;
#endif
}

static void go_on(ucontext_t *uc, const char *place)
{
	*pc_of(uc) = (uintptr_t)place;
#if defined(__x86_64__)
	uc->uc_mcontext.gregs[REG_RAX] = -EFAULT;
	/* the direction of strings, which functions expect to be forward */
	uc->uc_mcontext.gregs[REG_EFL] &= ~0x400LL;
#else
	uc->uc_mcontext.regs[0] = (uint32_t)-EFAULT;
#endif
}

static void set_sp(ucontext_t *uc, uintptr_t sp)
{
#if defined(__x86_64__)
	uc->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
#else
	uc->uc_mcontext.sp = sp;
#endif
}

static bool leave_load(ucontext_t *uc)
{
	uintptr_t pc = *pc_of(uc);

	if (pc != (uintptr_t)bl_guard_at32 && pc != (uintptr_t)bl_guard_at64)
		return false;
	go_on(uc, bl_guard_miss);
	return true;
}

/* What a device says may name the page and not the byte. */
static bool leave_call(ucontext_t *uc, uintptr_t addr)
{
	struct call *call = present;
	uintptr_t from = call ? call->from & ~(page - 1) : 0;

	if (!call || !call->sp || addr < from || addr - from >= call->from - from + call->len)
		return false;
	call->left = true;
	set_sp(uc, call->sp);
	go_on(uc, bl_guard_leave);
	return true;
}

/* A fault comes again when its handler returns; what was sent, or told by the way, does not. */
static bool comes_again(const siginfo_t *info)
{
	return info->si_code > 0 && info->si_code != BUS_MCEERR_AO;
}

/* The signal is blocked while its handler runs: what is raised ends the process when it returns. */
static void by_default(int sig, const siginfo_t *info)
{
	const struct sigaction action = {.sa_handler = SIG_DFL};

	sigaction(sig, &action, NULL);
	if (!comes_again(info))
		raise(sig);
}

/* As the kernel does it. The mask and the stack are right already: this handler was installed with the other's. */
static void deliver(unsigned int i, siginfo_t *info, void *uc)
{
	const struct sigaction *action = &before[i];
	bool plain = !(action->sa_flags & SA_SIGINFO);
	int sig = signals[i];

	if (action->sa_flags & SA_RESETHAND && atomic_exchange(&used_up[i], true))
		by_default(sig, info);
	else if (plain && action->sa_handler == SIG_DFL)
		by_default(sig, info);
	else if (plain && action->sa_handler == SIG_IGN) {
		/* but for a fault, which cannot be ignored */
		if (info->si_code > 0)
			by_default(sig, info);
	} else if (plain)
		action->sa_handler(sig);
	else
		action->sa_sigaction(sig, info, uc);
}

/*
 * Somebody who has put a handler over this one twice, and took this one for the one before his, calls it with what he just
 * got from it: the same signal, deeper on the stack. There is nobody left to ask.
 */
static void pass_on(int sig, siginfo_t *info, void *uc)
{
	const struct passing outer = passing;
	const char *frame = __builtin_frame_address(0);

	if (outer.info == info && frame < outer.frame) {
		by_default(sig, info);
		return;
	}
	passing = (struct passing){info, frame};
	for (unsigned int i = 0; i < NR_SIGNALS; i++) {
		if (signals[i] == sig)
			deliver(i, info, uc);
	}
	passing = outer;
}

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	int saved = errno;

	if (info->si_code <= 0 || (!leave_load(uc) && !leave_call(uc, (uintptr_t)info->si_addr)))
		pass_on(sig, info, uc);
	errno = saved;
}

/* With mask and stack of what was there, for which most faults are. Its being for one signal only is seen to here. */
static void install(void)
{
	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < NR_SIGNALS; i++) {
		struct sigaction mine = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
		struct sigaction *old = &before[i];

		sigemptyset(&mine.sa_mask);
		if (sigaction(signals[i], NULL, old))
			continue;
		if (old->sa_flags & SA_SIGINFO || (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN)) {
			mine.sa_mask = old->sa_mask;
			mine.sa_flags = SA_SIGINFO | (old->sa_flags & (SA_ONSTACK | SA_RESTART | SA_NODEFER));
		}
		sigaction(signals[i], &mine, NULL);
	}
}

void bl_guard_init(void)
{
	pthread_once(&once, install);
}

int bl_guard_call(const void *at, size_t len, int (*fn)(void *arg), void *arg)
{
	struct call call = {.from = (uintptr_t)at, .len = len};
	int ret;

	present = &call;
	ret = bl_guard_enter(fn, arg, &call.sp);
	present = NULL;
	if (__builtin_expect(call.left, 0))
		forget_frames();
	return ret;
}

#else

void bl_guard_init(void)
{
}

int bl_guard_call(const void *at, size_t len, int (*fn)(void *arg), void *arg)
{
	return fn(arg);
}

#endif

void bl_guard_unblock(sigset_t *set)
{
	if (!BL_GUARD_WORKS)
		return;
	sigdelset(set, SIGSEGV);
	sigdelset(set, SIGBUS);
}

struct copy {
	void *dst;
	const void *src;
	size_t len;
};

static int copy(void *arg)
{
	const struct copy *what = arg;

	memcpy(what->dst, what->src, what->len);
	return 0;
}

int bl_guard_copy_from(void *dst, const void *src, size_t len)
{
	struct copy what = {dst, src, len};

	return bl_guard_call(src, len, copy, &what);
}

int bl_guard_copy_to(void *dst, const void *src, size_t len)
{
	struct copy what = {dst, src, len};

	return bl_guard_call(dst, len, copy, &what);
}
