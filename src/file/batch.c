// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/batch: " fmt
#include "batch.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "config.h"
#include "error.h"
#include "file.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/slots.h"

/* Longest wait for entries where the caller names none. */
#define PATIENCE_NS 60000000000ULL

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_slots table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A child has no threads that could end an entry: batches are its parent's. */
static void forget(void)
{
	pthread_mutex_init(&table_lock, NULL);
	bl_slots_forget(&table);
}

static void set_up(void)
{
	pthread_atfork(NULL, NULL, forget);
}

static struct bl_iobatch *get(uint64_t id)
{
	struct bl_iobatch *batch;

	pthread_mutex_lock(&table_lock);
	batch = bl_slots_object(&table, id);
	if (batch)
		atomic_fetch_add(&batch->refs, 1);
	pthread_mutex_unlock(&table_lock);
	return batch;
}

void bl_iobatch_put(struct bl_iobatch *batch, int refs)
{
	if (atomic_fetch_sub(&batch->refs, refs) != refs)
		return;
	pthread_mutex_destroy(&batch->lock);
	free(batch);
}

int bl_iobatch_create(unsigned int nr, uint64_t *id_p)
{
	unsigned int max = bl_file_config()->io_batchsize;
	struct bl_iobatch *batch;
	int ret;

	pthread_once(&once, set_up);
	if (!nr || nr > max)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("set up: %u entries, not 1 to %u"), nr, max);
	batch = calloc(1, sizeof(*batch) + nr * sizeof(batch->entries[0]));
	if (!batch)
		return fail(ENOMEM, "set up: %u entries", nr);
	atomic_store(&batch->refs, 1);
	batch->size = batch->nr_free = nr;
	pthread_mutex_init(&batch->lock, NULL);
	for (unsigned int i = nr; i--;) {
		batch->entries[i].batch = batch;
		batch->entries[i].next = batch->free;
		batch->free = &batch->entries[i];
	}
	pthread_mutex_lock(&table_lock);
	ret = bl_slots_add(&table, batch, id_p);
	pthread_mutex_unlock(&table_lock);
	if (ret) {
		bl_iobatch_put(batch, 1);
		return fail(-ret, "set up: too many batches");
	}
	return 0;
}

/* A list of @nr free entries, NULL when there are fewer. */
static struct bl_entry *take_free(struct bl_iobatch *batch, unsigned int nr)
{
	struct bl_entry *first = NULL, **end = &first;

	pthread_mutex_lock(&batch->lock);
	if (nr <= batch->nr_free && !atomic_load(&batch->dead)) {
		batch->nr_free -= nr;
		for (; nr; nr--) {
			*end = batch->free;
			batch->free = batch->free->next;
			end = &(*end)->next;
		}
		*end = NULL;
	}
	pthread_mutex_unlock(&batch->lock);
	return first;
}

static void give_free(struct bl_iobatch *batch, struct bl_entry *first)
{
	pthread_mutex_lock(&batch->lock);
	for (struct bl_entry *entry = first, *next; entry; entry = next) {
		next = entry->next;
		entry->next = batch->free;
		batch->free = entry;
		batch->nr_free++;
	}
	pthread_mutex_unlock(&batch->lock);
}

/* Neighbours are mostly of one file, and its reference is had without a look at the table. */
static int prepare(struct bl_entry *entry, const CUfileIOParams_t *params, const struct bl_entry *before)
{
	if (params->mode != CUFILE_BATCH)
		return fail(EINVAL, "mode %d is unknown", (int)params->mode);
	if (params->opcode != CUFILE_READ && params->opcode != CUFILE_WRITE)
		return fail(EINVAL, "opcode %d is unknown", (int)params->opcode);
	if (before && before->params.fh == params->fh) {
		entry->file = before->file;
		bl_file_hold(entry->file);
	} else {
		entry->file = bl_file_get((uint64_t)(uintptr_t)params->fh, NULL);
	}
	if (!entry->file)
		return fail(EINVAL, "file %p is not registered", params->fh);
	entry->params = *params;
	return 0;
}

static int prepare_all(struct bl_entry *first, const CUfileIOParams_t *params)
{
	uint64_t now_ns = bl_now_ns();
	struct bl_entry *entry, *before = NULL;

	for (entry = first; entry; before = entry, entry = entry->next) {
		if (prepare(entry, params++, before))
			goto put_files;
		entry->submitted_ns = now_ns;
	}
	return 0;
put_files:
	for (struct bl_entry *done = first; done != entry; done = done->next)
		bl_file_put(done->file);
	return BL_CUFILE(CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
}

static int submit(struct bl_iobatch *batch, unsigned int nr, const CUfileIOParams_t *params)
{
	struct bl_entry *first = take_free(batch, nr);
	int ret;

	if (!first)
		return bl_fail(-BL_CUFILE(CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR),
			       log_fmt("submit: no room for %u entries in a batch of %u"), nr, batch->size);
	ret = prepare_all(first, params);
	if (ret) {
		give_free(batch, first);
		return ret;
	}
	atomic_fetch_add(&batch->refs, (int)nr);
	atomic_fetch_add(&batch->running, nr);
	bl_entries_run(batch, first);
	return 0;
}

int bl_iobatch_submit(uint64_t id, unsigned int nr, const CUfileIOParams_t *params)
{
	struct bl_iobatch *batch = get(id);
	int ret;

	if (!batch || !nr) {
		ret = bl_fail(-BL_CUFILE(CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR), log_fmt("submit: %s"),
			      batch ? "no entries" : "no such batch");
	} else {
		ret = submit(batch, nr, params);
	}
	if (batch)
		bl_iobatch_put(batch, 1);
	return ret;
}

static int wait_of(const struct timespec *timeout, uint64_t *ns_p)
{
	*ns_p = PATIENCE_NS;
	if (!timeout)
		return 0;
	if (timeout->tv_sec < 0 || timeout->tv_nsec < 0 || timeout->tv_nsec >= 1000000000)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("status: a time of %ld s %ld ns"),
			       (long)timeout->tv_sec, timeout->tv_nsec);
	/* a year is for ever, and does not overflow */
	*ns_p = timeout->tv_sec > 31536000 ? 31536000000000000ULL :
					     (uint64_t)timeout->tv_sec * 1000000000U + (uint64_t)timeout->tv_nsec;
	return 0;
}

int bl_iobatch_collect(uint64_t id, unsigned int min_nr, unsigned int *nr_p, CUfileIOEvents_t *events,
		       const struct timespec *timeout)
{
	struct bl_iobatch *batch;
	uint64_t wait_ns;
	int ret;

	ret = wait_of(timeout, &wait_ns);
	if (ret)
		return ret;
	batch = get(id);
	if (!batch)
		return bl_fail(-BL_CUFILE(CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR), log_fmt("status: no such batch"));
	ret = bl_iobatch_events(batch, min_nr, nr_p, events, !timeout, wait_ns);
	bl_iobatch_put(batch, 1);
	return ret;
}

/* Under the lock no entry is handed out, and so none is used again meanwhile. */
static void cancel_all(struct bl_iobatch *batch)
{
	pthread_mutex_lock(&batch->lock);
	for (unsigned int i = 0; i < batch->size; i++)
		bl_entry_cancel(&batch->entries[i]);
	pthread_mutex_unlock(&batch->lock);
}

int bl_iobatch_cancel(uint64_t id)
{
	struct bl_iobatch *batch = get(id);

	if (!batch)
		return bl_fail_quiet(-BL_CUFILE(CU_FILE_INTERNAL_BATCH_CANCEL_ERROR), log_fmt("cancel: no such batch"));
	cancel_all(batch);
	bl_iobatch_put(batch, 1);
	return 0;
}

int bl_iobatch_destroy(uint64_t id)
{
	struct bl_iobatch *batch;
	int ret;

	pthread_mutex_lock(&table_lock);
	batch = bl_slots_object(&table, id);
	if (batch)
		bl_slots_remove(&table, id);
	pthread_mutex_unlock(&table_lock);
	if (!batch)
		return fail_quiet(EINVAL, "destroy: no such batch");
	pthread_mutex_lock(&batch->lock);
	atomic_store(&batch->dead, true);
	pthread_mutex_unlock(&batch->lock);
	bl_iobatch_wake(batch);
	cancel_all(batch);
	ret = bl_iobatch_wait_idle(batch, PATIENCE_NS);
	if (ret)
		fail(ETIMEDOUT, "destroy: %u entries do not end and are left", atomic_load(&batch->running));
	bl_iobatch_put(batch, 1);
	return ret;
}
