/* SPDX-License-Identifier: MIT */
/*
 * job.h - what movers are doing for the NIC
 *
 * A job moves a part of a message. It keeps both regions, and both queue pairs, from going away: who wants to destroy
 * one waits until it is over. The message may go away before; then nobody hears of the end.
 */
#ifndef SOFTNIC_JOB_H
#define SOFTNIC_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "snic.h"

#define BL_JOBS 64U

/* Bytes of a job at most: others should have their turn. */
#define BL_JOB_MAX (64UL << 20)

/**
 * struct bl_move - a message, as jobs move it
 * @jobs:  under way
 * @off:   bytes that jobs were begun for
 * @error: of the first job that failed, a negative errno value; 0: none has
 */
struct bl_move {
	unsigned int jobs;
	uint32_t off;
	int error;
};

/**
 * struct bl_job - a job
 * @mover, @job: whose, and which
 * @move:     message, or NULL: nobody wants to know
 * @dst, @src: memory
 * @memories: counts of jobs of who has it, which wait until the job is over
 * @queues:   counts of jobs of the queue pairs that send and receive, which wait no longer than @deadline; NULL: none
 * @deadline: when its message counts as failed
 */
struct bl_job {
	const struct bl_snic_mover *mover;
	struct bl_snic_job job;
	struct bl_move *move;
	const struct bl_snic_mem *dst, *src;
	unsigned int *memories[2];
	unsigned int *queues[2];
	uint64_t deadline;
};

/**
 * bl_job_start() - Have a mover move a part of a message
 * @nic:   NIC
 * @job:   its memory, message and counts; both memories have the same mover
 * @dst_off, @src_off: in the memories
 * @len:   bytes, at most BL_JOB_MAX
 *
 * Return: 0; -EAGAIN: later; or what the mover says.
 */
int bl_job_start(struct bl_snic *nic, const struct bl_job *job, uint64_t dst_off, uint64_t src_off, size_t len);

/* Look which are over. Return: how many. */
int bl_jobs_poll(struct bl_snic *nic);

/* Nobody wants to know of a message's jobs any more. */
void bl_jobs_detach(struct bl_snic *nic, const struct bl_move *move);

/**
 * bl_jobs_wait() - Wait until a count of jobs is zero, a second at most
 * @nic: NIC; its lock is held meanwhile
 * @jobs: count of a region or a queue pair
 * @what: for the message that it is not; "qp 0x%x" with @number
 * @number: of it
 *
 * Return: 0 or -EBUSY.
 */
int bl_jobs_wait(struct bl_snic *nic, const unsigned int *jobs, const char *what, uint32_t number);

#endif
