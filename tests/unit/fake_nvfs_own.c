// SPDX-License-Identifier: MIT
/* The commands of the fake module that only Barlane's has, or has so that they are of use: UNMAP and BATCH. */
#include "fake_nvfs_in.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define IO_SIZE 80
#define MOST	256

/* Undo fake_job_admit(); under the lock. */
static void cancel(struct job *job)
{
	close(job->fd);
	fake_count.reads -= !job->write;
	fake_count.writes -= job->write;
	fake_count.async -= !job->sync;
	fake_count.running--;
	job->vma->users--;
	fake_vma_put(job->vma);
	free(job);
}

/* All of them, or none; under the lock. */
static bool admit_all(uint8_t *entries, uint64_t nr, struct job **jobs)
{
	bool refused = false;

	for (uint64_t i = 0; i < nr; i++) {
		uint8_t *entry = entries + i * IO_SIZE;
		int err;

		jobs[i] = NULL;
		err = fake_job_admit(entry, entry[76] >> 4 & 1, true, &jobs[i]);
		if (!(entry[76] & 1))
			fake_break("an entry of a batch that nobody waits for");
		put64(entry, REASON, (uint64_t)-(int64_t)err);
		refused |= err != 0;
	}
	for (uint64_t i = 0; refused && i < nr; i++) {
		if (!jobs[i])
			continue;
		cancel(jobs[i]);
		put64(entries + i * IO_SIZE, REASON, (uint64_t)-ECANCELED);
	}
	return !refused;
}

/* As Barlane's module does it: results are true, and in the entries. */
int64_t fake_nvfs_batch(const uint8_t *arg)
{
	uint64_t nr = get64(arg, 8);
	uint8_t *entries = (uint8_t *)(uintptr_t)get64(arg, 16);
	struct job *jobs[MOST];
	bool admitted;

	if (!nr || nr > MOST || !fake_nvfs.own) {
		fake_break("BATCH of %llu entries", (unsigned long long)nr);
		return -EINVAL;
	}
	pthread_mutex_lock(&fake_lock);
	admitted = admit_all(entries, nr, jobs);
	fake_count.batches += admitted;
	pthread_mutex_unlock(&fake_lock);
	for (uint64_t i = 0; admitted && i < nr; i++) {
		ssize_t result = fake_job_carry_out(jobs[i]);

		fake_job_end(jobs[i], result);
		put64(entries + i * IO_SIZE, REASON, (uint64_t)result);
	}
	return admitted ? 0 : -EPERM;
}

static int unmap_locked(const uint8_t *arg)
{
	struct vma *vma = fake_vma_at(get64(arg, 0));

	if (get64(arg, 8))
		return EINVAL;
	if (!get64(arg, 0))
		return 0;
	if (!vma || !vma->file || !vma->meta)
		return EINVAL;
	if (vma->users)
		return EBUSY;
	vma->kept = vma->meta;
	vma->meta = NULL;
	vma->state = FREE;
	fake_count.mapped--;
	fake_count.unmaps++;
	return 0;
}

int fake_nvfs_unmap(const void *arg)
{
	int err;

	pthread_mutex_lock(&fake_lock);
	err = unmap_locked(arg);
	pthread_mutex_unlock(&fake_lock);
	return err;
}
