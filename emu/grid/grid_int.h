/* SPDX-License-Identifier: MIT */
/*
 * grid_int.h - inside of emu/grid
 *
 * run.c    a grid from its beginning to its end
 * thread.c one thread: its blocks, one after the other, and what the functions say of it
 * sync.c   meetings of lanes and of blocks
 * sched.c  seeded orders
 * stop.c   the early end
 * crash.c  signals of threads that fault or do not listen
 * where.c  the text about it
 *
 * Locks: one per block slot, over its meetings and its shared memory. Nothing else is taken with it held, but for
 * futex words, which are none.
 */
#ifndef EMU_GRID_GRID_INT_H
#define EMU_GRID_GRID_INT_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "emu/grid/grid.h"

#define GRID_WARP	 32U
#define GRID_STATIC_VARS 64U

/* In the emulated libcuda.so.1 modules find these functions; in programs they stay inside. */
#ifdef BL_GRID_EXPORT
#define GRID_API __attribute__((visibility("default")))
#else
#define GRID_API __attribute__((visibility("hidden")))
#endif

/* Where a thread is. */
enum grid_at {
	GRID_AT_START, /* has not begun */
	GRID_AT_RUN,   /* in its function */
	GRID_AT_YIELD, /* the same, and in a wait of its own */
	GRID_AT_WARP,
	GRID_AT_SHFL,
	GRID_AT_BALLOT,
	GRID_AT_BLOCK,
	GRID_AT_NEXT,  /* its block has not ended yet */
	GRID_AT_CRASH,
	GRID_AT_END,
};

struct grid;
struct grid_block;

/**
 * struct grid_text - code of one object
 * @from, @to: addresses
 */
struct grid_text {
	uintptr_t from, to;
};

/**
 * struct grid_thread - one thread, or an actor
 * @self:     what it is told of itself
 * @grid:     where it belongs
 * @block:    its slot; NULL: an actor
 * @index:    in the grid's threads
 * @in_block: in its block
 * @linear:   number of the block that it runs
 * @id:       the thread
 * @text:     code that it may be taken out of by a signal
 * @out:      where it leaves to while @armed
 * @armed:    it is in its function
 * @inside:   it is in a function of this library, and will see by itself that the grid has stopped
 * @at:       enum grid_at
 * @mask, @value, @source: its part in a meeting; block lock
 * @waits:    it waits for lanes to meet: enum grid_at, or 0; block lock
 * @answer:   what the meeting gave it
 * @met:      it took place
 * @ended:    it runs no code of the grid's any more
 * @can_run:  seeded: it may be drawn
 * @go:       seeded: futex, it is its turn
 * @priority: seeded: of BL_GRID_PCT, the higher the better
 * @turns:    times that it gave way in the present wait
 * @gave_ns:  when it did so last
 * @sleeps:   and slept
 * @sig, @addr, @pc: GRID_AT_CRASH: the signal, the address it names, the instruction
 */
struct grid_thread {
	struct bl_thread self;
	struct grid *grid;
	struct grid_block *block;
	unsigned int index;
	unsigned int in_block;
	atomic_ullong linear;
	pthread_t id;
	struct grid_text text;
	sigjmp_buf out;
	volatile sig_atomic_t armed;
	volatile sig_atomic_t inside;
	atomic_int at;
	atomic_uint mask;
	uint64_t value;
	unsigned int source;
	int waits;
	uint64_t answer;
	atomic_int met;
	atomic_int ended;
	int can_run;
	atomic_uint go;
	uint64_t priority;
	unsigned int turns;
	uint64_t gave_ns;
	unsigned int sleeps;
	int sig;
	uintptr_t addr, pc;
};

/**
 * struct grid_warp - 32 threads of a block
 * @lanes: first of them
 * @here:  lanes that exist and have not ended; block lock
 * @epoch: futex, counts meetings
 */
struct grid_warp {
	struct grid_thread *lanes;
	uint32_t here;
	atomic_uint epoch;
};

/**
 * struct grid_block - a slot, in which one block after the other runs
 * @lock:     guards what follows
 * @linear:   number of its block
 * @threads:  first of its threads, @nr of them
 * @live:     threads whose function has not returned
 * @arrived:  of these, how many wait for the others
 * @over:     there are no more blocks for it
 * @epoch:    futex, counts meetings of the whole block and its ends
 * @warps:    its warps
 * @shared:   bl_thread_shared(), or NULL
 * @vars_mem: bl_thread_shared_static(), NULL before its first use
 * @vars:     what lies there, @nr_vars of them; @static_used bytes
 */
struct grid_block {
	pthread_mutex_t lock;
	uint64_t linear;
	struct grid_thread *threads;
	unsigned int nr;
	unsigned int live;
	unsigned int arrived;
	int over;
	atomic_uint epoch;
	struct grid_warp warps[BL_GRID_BLOCK_THREADS / GRID_WARP];
	uint8_t *shared;
	uint8_t *vars_mem;
	struct {
		const void *key;
		uint64_t off, size;
	} vars[GRID_STATIC_VARS];
	unsigned int nr_vars;
	uint64_t static_used;
};

/**
 * struct grid - a run
 * @next:	grids that were left behind
 * @what:	what was asked for
 * @nr_blocks:	blocks of the grid
 * @next_block: first that no slot has taken
 * @block_nr:	threads of a block
 * @slots:	blocks that run at a time, @nr_slots
 * @threads:	those of the slots, then the actors; @nr_threads in all, @nr_made of them made
 * @nr_cpus:	of the machine
 * @begin:	futex: 1 go, 2 there are not enough threads
 * @ended:	futex: threads that have ended
 * @left:	threads of blocks that have not
 * @awake:	of these, how many do not wait for a meeting
 * @stopping:	everybody leaves
 * @error:	why: -errno
 * @reason:	the same in words, set once by who set @error; or NULL
 * @culprit:	the thread that @reason is about, or NULL
 * @random:	seeded: state of the generator
 * @steps:	seeded: drawn so far
 * @trace:	seeded: hash of who was drawn
 * @changes:	BL_GRID_PCT: steps at which a priority changes, @nr_changes
 * @lowest:	BL_GRID_PCT: priority below all that were given
 */
struct grid {
	struct grid *next;
	struct bl_grid what;
	uint64_t nr_blocks;
	atomic_ullong next_block;
	unsigned int block_nr;
	struct grid_block *slots;
	unsigned int nr_slots;
	struct grid_thread *threads;
	unsigned int nr_threads;
	unsigned int nr_made;
	unsigned int nr_cpus;
	atomic_uint begin;
	atomic_uint ended;
	atomic_uint left;
	atomic_uint awake;
	atomic_int stopping;
	atomic_int error;
	_Atomic(const char *) reason;
	_Atomic(struct grid_thread *) culprit;
	uint64_t random;
	uint64_t steps;
	uint64_t trace;
	uint64_t changes[8];
	unsigned int nr_changes;
	uint64_t lowest;
};

static inline int grid_seeded(const struct grid *grid)
{
	return grid->what.order != BL_GRID_FREE;
}

/* The calling thread's, or NULL. */
extern __thread struct grid_thread *grid_current __attribute__((tls_model("initial-exec")));

uint64_t grid_now_ns(void);

/* Wait while *@word is @value, for at most @ns (0: for ever), and wake who does so. */
void grid_futex_wait(atomic_uint *word, unsigned int value, uint64_t ns);
void grid_futex_wake(atomic_uint *word);

/* Where a number lies in three dimensions, x first. */
struct bl_dim3 grid_place(uint64_t linear, const struct bl_dim3 *dim);

/* thread.c */
void *grid_thread_main(void *arg);

/* Begin and end of a function of this library; the second leaves the thread's function when the grid has stopped. */
void grid_enter(struct grid_thread *thread);
void grid_exit(struct grid_thread *thread);

/* sync.c; the lock of the block is held by callers of the first two. */
void grid_block_begin(struct grid_block *block);
void grid_block_left(struct grid_thread *thread);
/* Wait until @thread->met, on the futex @epoch, which was @seen before the lock was dropped. Or until the grid stops. */
void grid_wait_met(struct grid_thread *thread, atomic_uint *epoch, unsigned int seen);
/* The calling thread waits for a meeting from now on; or it has taken place for @nr others, which do not any more. */
void grid_asleep(struct grid_thread *thread);
void grid_awake(struct grid *grid, unsigned int nr);

/* sched.c; seeded orders only. */
void grid_sched_init(struct grid *grid);
/* Somebody is drawn, the caller too if it can run; returns in its turn. @gives_way: the caller waits for others. */
void grid_sched_step(struct grid_thread *thread, int gives_way);
/* The caller has ended: draw another. */
void grid_sched_end(struct grid_thread *thread);
void grid_sched_begin(struct grid *grid);
void grid_sched_await(struct grid_thread *thread);

/* stop.c */
/* Everybody is to leave, for a reason; the first one counts. Safe in signal handlers. */
void grid_stop(struct grid *grid, int error, const char *reason, struct grid_thread *culprit);
/* Wait for all threads; returns how many could not be ended. */
unsigned int grid_wait_end(struct grid *grid);

/* crash.c */
void grid_crash_init(void);
void grid_crash_stack(void *stack, size_t size, stack_t *old);
struct grid_text grid_text_of(const void *code);
/* Take a thread out of its function if it is where that can be done. */
void grid_crash_nudge(struct grid_thread *thread);

/* where.c */
void grid_where(const struct grid *grid, struct bl_grid_result *result);

#endif
