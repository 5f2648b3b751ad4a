// SPDX-License-Identifier: MIT
#include "kernel_push.h"

#include <sched.h>
#include <time.h>

#include "arena.h"
#include "fault.h"
#include "gpu/kernels/push.h"
#include "state.h"

enum { DOORBELL, WORDS, GEN, IDLE_NS, SLICE };

#define TAG_MASK   0xffffULL
#define VA_MASK	   ((1ULL << BL_PUSH_TAG_SHIFT) - 1)
#define LEN_MASK   ((1ULL << BL_PUSH_LEN_SHIFT) - 1)
#define EAGER	   64 /* polls before a block sleeps between them: the CPUs are fewer than the blocks */
#define NAP_NS	   20000
#define NS_PER_MS  1000000

/**
 * struct block - a block and what its thread 0 keeps in registers
 * @doorbell: where the CPU rings
 * @line:     its line of the words
 * @gen:      its generation
 * @idle_ns:  when to leave
 * @first:    first byte of a command that is its own
 * @slice:    bytes of a command that are its own
 * @last:     number of the last command that it saw
 * @revoked:  number that it must not serve
 */
struct block {
	const struct bl_push_doorbell *doorbell;
	struct bl_push_block *line;
	uint64_t gen;
	uint64_t idle_ns;
	uint64_t first;
	uint64_t slice;
	uint64_t last;
	uint64_t revoked;
};

/* A command, with its number still in it. */
struct command {
	uint64_t src;
	uint64_t dst;
	uint64_t word;
};

static int check(const uint64_t *params)
{
	return !(params[DOORBELL] % sizeof(struct bl_push_doorbell)) && !(params[WORDS] % 64) &&
	       !(params[SLICE] % 16) && emu_range_ok(params[DOORBELL], sizeof(struct bl_push_doorbell)) &&
	       emu_range_ok(params[WORDS], sizeof(struct bl_push_words));
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void nap(long ns)
{
	struct timespec time = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	nanosleep(&time, NULL);
}

/* Non-zero when there is a command that this block has not seen. */
static int look(const struct block *block, struct command *command)
{
	uint64_t seq;

	command->src = __atomic_load_n(&block->doorbell->src, __ATOMIC_RELAXED);
	command->dst = __atomic_load_n(&block->doorbell->dst, __ATOMIC_RELAXED);
	command->word = __atomic_load_n(&block->doorbell->command, __ATOMIC_ACQUIRE);
	seq = command->word >> BL_PUSH_LEN_SHIFT;
	return seq != block->last && seq != block->revoked &&
	       command->src >> BL_PUSH_TAG_SHIFT == (seq & TAG_MASK) &&
	       command->dst >> BL_PUSH_TAG_SHIFT == (seq & TAG_MASK);
}

/* The block leaves although there is something for it to do, as if its time had come a moment before. */
static int misses(const struct block *block, const struct command *command)
{
	return (command->word & LEN_MASK) > block->first && emu_fault("cuda.miss", NULL);
}

/* Zero when the block shall leave. */
static int wait_for(const struct block *block, struct command *command)
{
	uint64_t since = now_ns();

	for (unsigned int polls = 1;; polls++) {
		if (look(block, command))
			return !misses(block, command);
		if (__atomic_load_n(&block->doorbell->stop, __ATOMIC_RELAXED) >= block->gen)
			return 0;
		if (!(polls % BL_PUSH_POLLS) && now_ns() - since >= block->idle_ns)
			return 0;
		if (polls < EAGER)
			sched_yield();
		else
			nap(NAP_NS);
	}
}

/*
 * The two sides know the doorbell by different addresses, so that a race detector cannot see that the CPU is done with
 * the host memory when it rings: it is not to look here. Volatile, or this would become a call of memcpy().
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

/* A kernel that stores where it may not is a device error; this one stores nothing, and the CPU waits in vain. */
static void serve(struct block *block, const struct command *command)
{
	uint64_t src = command->src & VA_MASK, dst = command->dst & VA_MASK, len = command->word & LEN_MASK;
	uint64_t part = len > block->first ? len - block->first : 0;
	long ms = 1000;
	int ok;

	block->last = command->word >> BL_PUSH_LEN_SHIFT;
	if (!part)
		return;
	if (part > block->slice)
		part = block->slice;
	if (emu_fault("cuda.deaf", &ms))
		nap(ms * NS_PER_MS);
	emu_lock();
	ok = emu_range_ok(src + block->first, part) && emu_range_ok(dst + block->first, part) && !((src ^ dst) & 15);
	emu_unlock();
	if (!ok)
		return;
	move((unsigned char *)emu_cpu(dst) + block->first, (const unsigned char *)emu_cpu(src) + block->first, part);
	__atomic_store_n(&block->line->served, block->last, __ATOMIC_RELEASE);
}

static void run(const struct emu_grid *grid, uint64_t nr, const uint64_t *params)
{
	struct bl_push_words *words = emu_cpu(params[WORDS]);
	struct block block = {
		.doorbell = emu_cpu(params[DOORBELL]),
		.line = &words->block[nr],
		.gen = params[GEN],
		.idle_ns = params[IDLE_NS],
		.first = nr * params[SLICE],
		.slice = params[SLICE],
	};
	struct command command;

	block.last = __atomic_load_n(&block.line->served, __ATOMIC_RELAXED);
	/* sequentially consistent: "alive" before the look at "revoked" */
	__atomic_store_n(&block.line->alive, block.gen, __ATOMIC_SEQ_CST);
	block.revoked = __atomic_load_n(&words->revoked, __ATOMIC_SEQ_CST);
	__atomic_store_n(&block.line->skipped, block.revoked, __ATOMIC_RELEASE);
	while (wait_for(&block, &command))
		serve(&block, &command);
	__atomic_store_n(&block.line->left, block.gen, __ATOMIC_RELEASE);
}

const struct emu_kernel emu_push = {
	.ptx = bl_push_ptx,
	.name = "bl_push",
	.nr_params = 5,
	.resident = 1,
	.check = check,
	.run = run,
};
