// SPDX-License-Identifier: MIT
#include "copy_step.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "copy_trap.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static struct {
	uint8_t *page;
	uint8_t *result; /* what stores wrote, moved out of the page */
	size_t size;
	volatile bool armed;   /* faults on the page are ours */
	volatile bool opened;  /* one instruction is on its way */
	volatile bool tracing; /* every instruction traps */
	bool stores;	       /* look for changed bytes */
	uintptr_t fault;
	uint64_t mask;
	struct copy_trace *trace;
} step;

static void protect(int prot)
{
	if (mprotect(step.page, step.size, prot))
		abort();
}

static void open_page(uintptr_t fault, uint64_t mask)
{
	step.fault = fault;
	step.mask = mask;
	step.opened = true;
	protect(PROT_READ | PROT_WRITE);
}

/* Find the bytes that the instruction changed and take them away. */
static void collect(struct copy_access *access)
{
	size_t first = step.size, last = 0, nr = 0;

	for (size_t off = 0; off < step.size; off += 8) {
		uint64_t word;

		memcpy(&word, step.page + off, 8);
		for (size_t i = off; word && i < off + 8; i++) {
			if (!step.page[i])
				continue;
			if (first == step.size)
				first = i;
			last = i;
			nr++;
			step.result[i] = step.page[i];
			step.page[i] = 0;
		}
	}
	access->start = (uintptr_t)step.page + first;
	access->width = nr;
	access->gap = nr && last - first + 1 != nr;
}

static void close_page(void)
{
	struct copy_trace *trace = step.trace;
	struct copy_access access = {.addr = step.fault, .mask = step.mask};

	if (step.stores)
		collect(&access);
	if (trace->nr == sizeof(trace->access) / sizeof(trace->access[0]))
		abort();
	trace->access[trace->nr++] = access;
	step.opened = false;
	protect(PROT_NONE);
}

#if defined(__x86_64__)

#define TRAP_FLAG 0x100

/*
 * A protected page cannot show which bytes of its line a masked load touches; the mask register can. It lies in the
 * signal frame, where CPUID says (state component 5); bits 0 ... 2 of the prefix's last byte are its number.
 */
static uint64_t mask_of(const ucontext_t *uc)
{
	const uint8_t *code = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];
	const uint8_t *area = (const uint8_t *)uc->uc_mcontext.fpregs;
	uint32_t size, offset, ecx, edx;
	uint64_t in_use, mask;

	if (code[0] != 0x62 || !(code[3] & 7))
		return 0;
	__cpuid_count(0xd, 5, size, offset, ecx, edx);
	memcpy(&in_use, area + 512, sizeof(in_use));
	if (size < 64 || !(in_use & 1 << 5))
		return 0;
	memcpy(&mask, area + offset + 8 * (code[3] & 7), sizeof(mask));
	return mask;
}

static void step_over(ucontext_t *uc)
{
	uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void look_at(const uint8_t *code)
{
	struct copy_trace *trace = step.trace;

	if (!memcmp(code, "\x0f\xae\xf8", 3))
		trace->store_fences++;
	else if (!memcmp(code, "\x0f\xae\xf0", 3))
		trace->full_fences++;
	else if (!memcmp(code, "\xc5\xf8\x77", 3))
		trace->upper_clears++;
	else
		return;
	if (code[0] == 0x0f)
		trace->nr_at_fence = trace->nr;
	else
		trace->nr_at_clear = trace->nr;
}

/* int3 begins and ends a traced run. */
static void trace_switch(void)
{
	__asm__ volatile("int3" ::: "memory");
}

static void stepped(ucontext_t *uc, int code)
{
	if (step.opened)
		close_page();
	if (code != TRAP_TRACE)
		step.tracing = !step.tracing;
	if (step.tracing && step.armed)
		look_at((const uint8_t *)uc->uc_mcontext.gregs[REG_RIP]);
	if (step.tracing)
		uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
	else
		uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

#elif defined(__aarch64__)

#define BRK_0 0xd4200000U

static uint64_t mask_of(const ucontext_t *uc)
{
	return 0;
}

static uint32_t saved_insn;

static void write_insn(uint32_t *addr, uint32_t insn)
{
	uintptr_t page = (uintptr_t)addr & ~(step.size - 1);

	if (mprotect((void *)page, step.size, PROT_READ | PROT_WRITE | PROT_EXEC))
		abort();
	*addr = insn;
	__builtin___clear_cache((char *)addr, (char *)(addr + 1));
}

/* No load or store branches: the next instruction is the one behind it. */
static void step_over(ucontext_t *uc)
{
	uint32_t *next = (uint32_t *)(uintptr_t)uc->uc_mcontext.pc + 1;

	saved_insn = *next;
	write_insn(next, BRK_0);
}

static void trace_switch(void)
{
	abort();
}

static void stepped(ucontext_t *uc, int code)
{
	write_insn((uint32_t *)(uintptr_t)uc->uc_mcontext.pc, saved_insn);
	close_page();
}

#else

static uint64_t mask_of(const ucontext_t *uc)
{
	return 0;
}

static void step_over(ucontext_t *uc)
{
	abort();
}

static void trace_switch(void)
{
	abort();
}

static void stepped(ucontext_t *uc, int code)
{
	abort();
}

#endif

static void on_sigsegv(int sig, siginfo_t *info, void *context)
{
	uintptr_t fault = (uintptr_t)info->si_addr;

	if (!step.armed || step.opened || fault - (uintptr_t)step.page >= step.size) {
		signal(SIGSEGV, SIG_DFL);
		return;
	}
	open_page(fault, mask_of(context));
	step_over(context);
}

static void on_sigtrap(int sig, siginfo_t *info, void *context)
{
	stepped(context, info->si_code);
}

/* What stands in for an instruction that the CPU lacks is watched too. */
static void trapped_store(void *dst, const void *src)
{
	if (!step.armed) {
		memcpy(dst, src, 64);
		return;
	}
	open_page((uintptr_t)dst, 0);
	memcpy(dst, src, 64);
	close_page();
}

static void trapped_load(void *dst, const void *src)
{
	if (!step.armed) {
		memcpy(dst, src, 64);
		return;
	}
	open_page((uintptr_t)src, 0);
	memcpy(dst, src, 64);
	close_page();
}

static void handle(int sig, void (*fn)(int, siginfo_t *, void *))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = fn;
	action.sa_flags = SA_SIGINFO;
	if (sigaction(sig, &action, NULL))
		abort();
}

uint8_t *copy_step_page(void)
{
	if (step.page)
		return step.page;
	step.size = (size_t)sysconf(_SC_PAGESIZE);
	step.page = mmap(NULL, step.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	step.result = calloc(1, step.size);
	if (step.page == MAP_FAILED || !step.result)
		abort();
	handle(SIGSEGV, on_sigsegv);
	handle(SIGTRAP, on_sigtrap);
	copy_trap_store = trapped_store;
	copy_trap_load = trapped_load;
	return step.page;
}

size_t copy_step_size(void)
{
	copy_step_page();
	return step.size;
}

static void watch(copy_fn fn, uint8_t *dst, const uint8_t *src, size_t len, bool traced)
{
	protect(PROT_NONE);
	if (traced)
		trace_switch();
	step.armed = true;
	fn(dst, src, len);
	step.armed = false;
	if (traced)
		trace_switch();
	protect(PROT_READ | PROT_WRITE);
}

static void watch_to(copy_fn fn, uint8_t *dst, const uint8_t *src, size_t len, struct copy_trace *trace, bool traced)
{
	memset(trace, 0, sizeof(*trace));
	memset(step.page, 0, step.size);
	memset(step.result, 0, step.size);
	step.trace = trace;
	step.stores = true;
	watch(fn, dst, src, len, traced);
	memcpy(step.page, step.result, step.size);
}

static void watch_from(copy_fn fn, uint8_t *dst, const uint8_t *src, size_t len, struct copy_trace *trace, bool traced)
{
	memset(trace, 0, sizeof(*trace));
	step.trace = trace;
	step.stores = false;
	watch(fn, dst, src, len, traced);
}

void copy_step_to(copy_fn fn, uint8_t *dst, const uint8_t *src, size_t len, struct copy_trace *trace)
{
	watch_to(fn, dst, src, len, trace, false);
}

void copy_step_from(copy_fn fn, uint8_t *dst, const uint8_t *src, size_t len, struct copy_trace *trace)
{
	watch_from(fn, dst, src, len, trace, false);
}

void copy_step_trace_to(copy_fn fn, uint8_t *dst, const uint8_t *src, size_t len, struct copy_trace *trace)
{
	watch_to(fn, dst, src, len, trace, true);
}

void copy_step_trace_from(copy_fn fn, uint8_t *dst, const uint8_t *src, size_t len, struct copy_trace *trace)
{
	watch_from(fn, dst, src, len, trace, true);
}

/* Two stores of 4 bytes that nothing may merge. */
static int two_stores(void *dst, const void *src, size_t len)
{
	volatile uint32_t *to = dst;
	uint32_t from[2];

	memcpy(from, src, 8);
	to[0] = from[0];
	to[1] = from[1];
	return 0;
}

static bool probe(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
	static struct copy_trace trace;
	uint8_t *page = copy_step_page();

	copy_step_to(two_stores, page, (const uint8_t *)"12345678", 8, &trace);
	return trace.nr == 2 && trace.access[0].width == 4 && trace.access[1].width == 4 &&
	       trace.access[1].start == trace.access[0].start + 4;
#else
	return false;
#endif
}

/* Asked once: where stepping does not work, the first try leaves things in disorder. */
bool copy_step_works(void)
{
	static bool asked, works;

	if (!asked)
		works = probe();
	asked = true;
	return works;
}
