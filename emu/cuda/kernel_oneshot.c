// SPDX-License-Identifier: MIT
#include "kernel_oneshot.h"

#include "arena.h"
#include "gpu/kernels/oneshot.h"
#include "state.h"

enum { DST, SRC, LEN, GATE, WORDS, SEQ, CLAIM };

#define ONE_BLOCK (1ULL << 32)

/* What is copied from and to is looked at by a block that has claimed: a read that was cancelled touches neither. */
static int check(const uint64_t *params)
{
	return !(params[GATE] % 64) && !(params[WORDS] % 64) &&
	       emu_range_ok(params[GATE], sizeof(struct bl_oneshot_gate)) &&
	       emu_range_ok(params[WORDS], sizeof(struct bl_oneshot_words));
}

/* Sequentially consistent: the claim before the look at the cancel. Non-zero when the read was not cancelled. */
static int claim(struct bl_oneshot_gate *gate, uint64_t block, const uint64_t *params)
{
	uint64_t cancelled = 0;

	switch (params[CLAIM]) {
	case BL_ONESHOT_CLAIM_ATOMIC:
		cancelled = __atomic_fetch_add(&gate->both, ONE_BLOCK, __ATOMIC_SEQ_CST) & (ONE_BLOCK - 1);
		break;
	case BL_ONESHOT_CLAIM_GPU:
	case BL_ONESHOT_CLAIM_SYSTEM:
		__atomic_store_n(&gate->claim[block].seq, params[SEQ], __ATOMIC_SEQ_CST);
		cancelled = __atomic_load_n(&gate->cancelled, __ATOMIC_SEQ_CST);
		break;
	default:
		break;
	}
	return cancelled < params[SEQ];
}

/*
 * The CPU knows the end of a read by words that it polls, and a race detector does not see the order that a launch makes:
 * it is not to look here. Volatile, or this would become a call of memcpy().
 */
__attribute__((no_sanitize("thread"))) static void move(volatile unsigned char *to, const volatile unsigned char *from,
							 uint64_t len)
{
	for (; len && ((uintptr_t)from & 7); len--)
		*to++ = *from++;
	for (; len >= 8 && !((uintptr_t)to & 7); len -= 8, to += 8, from += 8)
		*(volatile uint64_t *)to = *(const volatile uint64_t *)from;
	for (; len; len--)
		*to++ = *from++;
}

/* A kernel that accesses what it may not is a device error; this one stores nothing, and the CPU waits in vain. */
static int ranges_ok(const uint64_t *params)
{
	int ok;

	emu_lock();
	ok = !params[LEN] || (emu_range_ok(params[DST], params[LEN]) && emu_range_ok(params[SRC], params[LEN]));
	emu_unlock();
	return ok && !((params[SRC] ^ params[DST]) & 15);
}

static void run(const struct emu_grid *grid, uint64_t block, const uint64_t *params)
{
	struct bl_oneshot_gate *gate = emu_cpu(params[GATE]);
	struct bl_oneshot_words *words = emu_cpu(params[WORDS]);
	uint64_t len = params[LEN], part = (len + grid->nr_blocks - 1) / grid->nr_blocks, from = block * part;

	if (!claim(gate, block, params) || !ranges_ok(params))
		return;
	if (from < len)
		move((unsigned char *)emu_cpu(params[DST]) + from, (const unsigned char *)emu_cpu(params[SRC]) + from,
		     part < len - from ? part : len - from);
	__atomic_store_n(&words->done[block].seq, params[SEQ], __ATOMIC_RELEASE);
}

const struct emu_kernel emu_oneshot = {
	.ptx = bl_oneshot_ptx,
	.name = "bl_oneshot",
	.nr_params = 7,
	.resident = 1,
	.check = check,
	.run = run,
};
