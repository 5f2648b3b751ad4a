// SPDX-License-Identifier: MIT
#include "copy_trap.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static void copy64(void *dst, const void *src)
{
	memcpy(dst, src, 64);
}

void (*copy_trap_store)(void *dst, const void *src) = copy64;
void (*copy_trap_load)(void *dst, const void *src) = copy64;
unsigned long copy_trap_count;

static void die(const char *why)
{
	ssize_t written = write(STDERR_FILENO, why, strlen(why));

	(void)written;
	_exit(99);
}

static void store_checked(uint64_t dst, const void *src)
{
	if (dst % 64)
		die("64-byte store to an address that is not a multiple of 64\n");
	copy_trap_store((void *)(uintptr_t)dst, src);
}

#if defined(__x86_64__)

/* General registers in the order in which instructions number them. */
static const int reg_order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
				  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static int32_t displacement(const uint8_t *code, unsigned int mod, unsigned int *len)
{
	int32_t wide;

	if (mod == 1) {
		*len += 1;
		return (int8_t)*code;
	}
	memcpy(&wide, code, 4);
	*len += 4;
	return wide;
}

/* The address of a memory operand; *@len grows by the bytes that describe it. */
static uint64_t operand(const greg_t *regs, const uint8_t *code, unsigned int rex, unsigned int *len)
{
	unsigned int mod = code[0] >> 6, rm = code[0] & 7, base = rm | (rex & 1) << 3;
	uint64_t addr = 0;
	bool has_base = true;

	code++;
	if (rm == 4) {
		unsigned int sib = *code++, index = (sib >> 3 & 7) | (rex & 2) << 2;

		(*len)++;
		base = (sib & 7) | (rex & 1) << 3;
		if (index != 4)
			addr += (uint64_t)regs[reg_order[index]] << (sib >> 6);
		has_base = mod || (sib & 7) != 5;
	} else if (!mod && rm == 5) {
		die("MOVDIR64B relative to the instruction pointer\n");
	}
	if (has_base)
		addr += (uint64_t)regs[reg_order[base]];
	if (mod || !has_base)
		addr += (uint64_t)(int64_t)displacement(code, has_base ? mod : 2, len);
	return addr;
}

/* 66 [REX] 0F 38 F8 /r: 64 bytes at the memory operand go to the address in the register operand. */
static bool carry_out(ucontext_t *uc)
{
	greg_t *regs = uc->uc_mcontext.gregs;
	const uint8_t *code = (const uint8_t *)regs[REG_RIP];
	unsigned int rex = 0, len = 1;
	uint64_t src, dst;

	if (code[0] != 0x66)
		return false;
	if ((code[len] & 0xf0) == 0x40)
		rex = code[len++];
	if (memcmp(code + len, "\x0f\x38\xf8", 3))
		return false;
	len += 3;
	dst = (uint64_t)regs[reg_order[(code[len] >> 3 & 7) | (rex & 4) << 1]];
	len++;
	src = operand(regs, code + len - 1, rex, &len);
	store_checked(dst, (const void *)(uintptr_t)src);
	regs[REG_RIP] += len;
	return true;
}

#elif defined(__aarch64__)

#define LS64_MASK 0xfffffc00U
#define ST64B	  0xf83f9000U
#define LD64B	  0xf83fd000U

static bool carry_out(ucontext_t *uc)
{
	mcontext_t *mc = &uc->uc_mcontext;
	uint32_t insn = *(const uint32_t *)(uintptr_t)mc->pc;
	unsigned int rt = insn & 31, rn = insn >> 5 & 31;
	uint64_t addr = rn == 31 ? mc->sp : mc->regs[rn];

	if ((insn & LS64_MASK) == ST64B) {
		store_checked(addr, &mc->regs[rt]);
	} else if ((insn & LS64_MASK) == LD64B) {
		if (addr % 64)
			die("64-byte load from an address that is not a multiple of 64\n");
		copy_trap_load(&mc->regs[rt], (const void *)(uintptr_t)addr);
	} else {
		return false;
	}
	mc->pc += 4;
	return true;
}

#else

static bool carry_out(ucontext_t *uc)
{
	return false;
}

#endif

static void on_sigill(int sig, siginfo_t *info, void *context)
{
	if (!carry_out(context)) {
		/* not one of ours: let it be fatal when it is tried again */
		signal(SIGILL, SIG_DFL);
		return;
	}
	copy_trap_count++;
}

void copy_trap_install(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_sigill;
	/* the access itself may fault, and be looked at */
	action.sa_flags = SA_SIGINFO | SA_NODEFER;
	if (sigaction(SIGILL, &action, NULL))
		abort();
}

bool copy_trap_needed(const struct bl_cpu_isa *isa)
{
	return !isa->supported() && (!strcmp(isa->name, "movdir64b") || !strcmp(isa->name, "ls64"));
}

bool copy_trap_runs(const struct bl_cpu_isa *isa)
{
	return isa->supported() || copy_trap_needed(isa);
}
