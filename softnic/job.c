// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/job: " fmt
#include <errno.h>
#include <sched.h>

#include "mem.h"
#include "nic.h"
#include "util/clock.h"
#include "util/log.h"

/* A mover that takes longer will not end: what waits for it fails. */
#define DEADLINE_NS (10000 * BL_SNIC_MS)

/* How long a call waits. */
#define WAIT_NS (1000 * BL_SNIC_MS)

int bl_job_start(struct bl_snic *nic, const struct bl_job *like, uint64_t dst_off, uint64_t src_off, size_t len)
{
	struct bl_job *job = &nic->jobs[nic->nr_jobs];
	int ret;

	if (nic->nr_jobs == BL_JOBS)
		return -EAGAIN;
	/* what the NIC, or who has rung its doorbell, wrote to the source before is there when the mover reads it */
	bl_snic_mem_settle(nic);
	if (like->src->flush && nic->flushed != like->src) {
		like->src->flush(like->src->priv);
		nic->flushed = like->src;
	}
	*job = *like;
	job->mover = like->dst->mover;
	ret = job->mover->start(like->dst->moved, dst_off, like->src->moved, src_off, len, &job->job);
	if (ret)
		return ret;
	job->deadline = nic->now + DEADLINE_NS;
	job->move->jobs++;
	for (int i = 0; i < 2; i++) {
		++*job->memories[i];
		if (job->queues[i])
			++*job->queues[i];
	}
	nic->nr_jobs++;
	return 0;
}

/* Its message and queue pairs do not wait any more; who has the memory does. */
static void let_go(struct bl_job *job, int error)
{
	if (job->move) {
		job->move->jobs--;
		if (error && !job->move->error)
			job->move->error = error;
	}
	for (int i = 0; i < 2; i++) {
		if (job->queues[i])
			--*job->queues[i];
		job->queues[i] = NULL;
	}
	job->move = NULL;
}

int bl_jobs_poll(struct bl_snic *nic)
{
	unsigned int left = 0, nr = nic->nr_jobs;

	for (unsigned int i = 0; i < nr; i++) {
		struct bl_job *job = &nic->jobs[i];
		int ret = job->mover->poll(&job->job);

		if (ret == -EAGAIN) {
			if (nic->now >= job->deadline)
				let_go(job, -ETIMEDOUT);
			/* in order of their start */
			nic->jobs[left++] = *job;
			continue;
		}
		let_go(job, ret);
		--*job->memories[0];
		--*job->memories[1];
	}
	nic->nr_jobs = left;
	return (int)(nr - left);
}

void bl_jobs_detach(struct bl_snic *nic, const struct bl_move *move)
{
	for (unsigned int i = 0; i < nic->nr_jobs; i++) {
		if (nic->jobs[i].move == move)
			nic->jobs[i].move = NULL;
	}
}

int bl_jobs_wait(struct bl_snic *nic, const unsigned int *jobs, const char *what, uint32_t number)
{
	uint64_t end = 0, now;

	while (*jobs) {
		if (bl_jobs_poll(nic))
			continue;
		now = bl_now_ns();
		if (!end)
			end = now + WAIT_NS;
		if (now > end)
			return fail(EBUSY, "%s: %s 0x%x: %u copies of long messages do not end", nic->name, what,
				    number, *jobs);
		sched_yield();
	}
	return 0;
}
