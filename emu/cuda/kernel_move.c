// SPDX-License-Identifier: MIT
#include "kernel_move.h"

#include "arena.h"
#include "gpu/kernels/move.h"
#include "state.h"

enum { JOB };

static struct bl_move_job job_of(const uint64_t *params)
{
	const struct bl_move_job *job = emu_cpu(params[JOB]);

	return (struct bl_move_job){
		.dst = __atomic_load_n(&job->dst, __ATOMIC_RELAXED),
		.src = __atomic_load_n(&job->src, __ATOMIC_RELAXED),
		.len = __atomic_load_n(&job->len, __ATOMIC_RELAXED),
	};
}

static int check(const uint64_t *params)
{
	struct bl_move_job job;

	if (params[JOB] % 16 || !emu_range_ok(params[JOB], sizeof(job)))
		return 0;
	job = job_of(params);
	return !job.len || (emu_range_ok(job.dst, job.len) && emu_range_ok(job.src, job.len));
}

/*
 * Who was given up may still write to the host memory while this reads it, and what comes of that is counted nowhere: a race
 * detector is not to look. Volatile, or this would become a call of memcpy().
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

/* Each thread takes an equal part in one go: a CPU has no use for neighbours that take neighbouring bytes. */
static void run(const struct emu_grid *grid, uint64_t thread, const uint64_t *params)
{
	struct bl_move_job job = job_of(params);
	uint64_t part = (job.len + grid->nr_threads - 1) / grid->nr_threads;
	uint64_t from = thread * part;

	if (from >= job.len)
		return;
	if (part > job.len - from)
		part = job.len - from;
	move((unsigned char *)emu_cpu(job.dst) + from, (const unsigned char *)emu_cpu(job.src) + from, part);
}

const struct emu_kernel emu_move = {
	.ptx = bl_move_ptx,
	.name = "bl_move",
	.nr_params = 1,
	.check = check,
	.run = run,
};
