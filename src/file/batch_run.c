// SPDX-License-Identifier: MIT
/* How the entries of a submission are run: what is small and cached by the submitting thread, the rest by the crew. */
#include "batch.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "config.h"
#include "error.h"
#include "file.h"
#include "io.h"
#include "stats.h"
#include "util/clock.h"

/* Reads up to this many bytes are tried by the submitting thread: some microseconds each. */
#define SMALL_LEN (32UL << 10)

/* It does not do more than this in one submission, and gives up after so many that were not cached. */
#define SMALL_TOTAL  (1UL << 20)
#define SMALL_MISSES 4

/* As many small reads as this are shared with threads of the crew; each takes some at a time until none is left. */
#define SHARED_NR      64
#define SHARED_PIECE   8
#define SHARED_HELPERS 3

/**
 * struct list - entries, first to last
 */
struct list {
	struct bl_entry *first;
	struct bl_entry *last;
	unsigned int nr;
};

static void list_add(struct list *list, struct bl_entry *entry)
{
	entry->next = NULL;
	if (list->last)
		list->last->next = entry;
	else
		list->first = entry;
	list->last = entry;
	list->nr++;
}

void bl_entry_finish(struct bl_entry *entry, ssize_t result, enum bl_path path)
{
	bool write = entry->params.opcode == CUFILE_WRITE;

	entry->result = result;
	bl_file_put(entry->file);
	entry->file = NULL;
	bl_stats_batch_io(path, write, result, entry->queued_ns, bl_now_ns() - entry->submitted_ns);
	bl_stats_op(BL_OP_BATCH_PROCESSED, result < 0 ? (int)result : 0);
	atomic_store(&entry->state, BL_ENTRY_FREE);
}

static ssize_t run(struct bl_entry *entry, enum bl_path *path_p)
{
	const CUfileIOParams_t *params = &entry->params;

	return bl_io_run_quiet(entry->file, params->u.batch.devPtr_base, params->u.batch.size,
			       params->u.batch.file_offset, params->u.batch.devPtr_offset,
			       params->opcode == CUFILE_WRITE, path_p);
}

static void run_and_end(struct bl_entry *entry)
{
	int queued = BL_ENTRY_QUEUED;
	enum bl_path path = BL_PATH_PLAIN;
	ssize_t result = -ECANCELED;

	if (atomic_compare_exchange_strong(&entry->state, &queued, BL_ENTRY_BEGUN))
		result = run(entry, &path);
	bl_entry_finish(entry, result, path);
	bl_iobatch_ended(entry->batch, entry, entry, 1);
}

static void crew_run(struct bl_work *work)
{
	run_and_end((struct bl_entry *)((char *)work - offsetof(struct bl_entry, work)));
}

/* The other thread that may look at the state is one of the crew, if it has the entry already: it ends it then. */
void bl_entry_cancel(struct bl_entry *entry)
{
	int queued = BL_ENTRY_QUEUED;

	if (!atomic_compare_exchange_strong(&entry->state, &queued, BL_ENTRY_CANCELED))
		return;
	if (!bl_crew_withdraw(&entry->work))
		return;
	bl_entry_finish(entry, -ECANCELED, BL_PATH_PLAIN);
	bl_iobatch_ended(entry->batch, entry, entry, 1);
}

/* What is cached goes by path mapped: nothing is tried here where another one is asked for. */
static bool are_tried(void)
{
	enum bl_path forced = bl_file_config()->path;

	return forced == BL_PATH_NR || forced == BL_PATH_MAPPED;
}

static bool is_small(const struct bl_entry *entry)
{
	return entry->params.opcode == CUFILE_READ && entry->params.u.batch.size <= SMALL_LEN;
}

void bl_entries_alone(struct bl_entry *first)
{
	struct bl_entry *next;

	if (!first)
		return;
	for (struct bl_entry *entry = first; entry; entry = entry->next) {
		entry->work = (struct bl_work){ .run = crew_run };
		if (entry->next)
			entry->work.next = &entry->next->work;
	}
	for (struct bl_entry *entry = first; entry; entry = entry->next)
		atomic_store(&entry->state, BL_ENTRY_QUEUED);
	if (!bl_crew_submit(&first->work))
		return;
	for (struct bl_entry *entry = first; entry; entry = next) {
		next = entry->next;
		run_and_end(entry);
	}
}

static void hand_over(const struct list *list)
{
	uint64_t now_ns;

	if (!list->first)
		return;
	now_ns = bl_now_ns();
	for (struct bl_entry *entry = list->first; entry; entry = entry->next)
		entry->queued_ns = now_ns - entry->submitted_ns;
	bl_entries_alone(bl_entries_together(list->first));
}

/* One small read here and now. False: it would have to wait for the file. */
static bool try_here(struct bl_entry *entry, struct list *ended)
{
	const CUfileIOParams_t *params = &entry->params;
	enum bl_path path;
	ssize_t result;

	entry->queued_ns = 0;
	result = bl_io_try(entry->file, params->u.batch.devPtr_base, params->u.batch.size, params->u.batch.file_offset,
			   params->u.batch.devPtr_offset, &path);
	if (result == -EAGAIN)
		return false;
	bl_entry_finish(entry, result, path);
	list_add(ended, entry);
	return true;
}

static void run_here(struct bl_iobatch *batch, const struct list *list)
{
	struct list ended = { 0 }, missed = { 0 };
	struct bl_entry *next;

	for (struct bl_entry *entry = list->first; entry; entry = next) {
		next = entry->next;
		if (missed.nr >= SMALL_MISSES || !try_here(entry, &ended))
			list_add(&missed, entry);
	}
	if (ended.nr)
		bl_iobatch_ended(batch, ended.first, ended.last, ended.nr);
	hand_over(&missed);
}

struct share;

struct helper {
	struct bl_work work;
	struct share *share;
};

/**
 * struct share - small reads that several threads do
 * @refs:    the submitting thread and each of @helpers that may still run
 * @batch:   referenced by the entries that nobody has taken
 * @next:    first entry that nobody has taken
 * @nr:      number of @entries
 * @helpers: for the crew
 * @entries: the reads
 */
struct share {
	atomic_int refs;
	struct bl_iobatch *batch;
	atomic_uint next;
	unsigned int nr;
	struct helper helpers[SHARED_HELPERS];
	struct bl_entry *entries[];
};

static void share_put(struct share *share, int refs)
{
	if (atomic_fetch_sub(&share->refs, refs) == refs)
		free(share);
}

/* Where one is not cached, the others are hardly either: the crew gets them, to read several at a time. */
static void share_hand_over(struct share *share, struct list *missed)
{
	for (unsigned int i = atomic_exchange(&share->next, share->nr); i < share->nr; i++)
		list_add(missed, share->entries[i]);
	hand_over(missed);
}

/* The batch may be gone when the last entry has ended. */
static void share_run(struct share *share)
{
	unsigned int first;

	while ((first = atomic_fetch_add(&share->next, SHARED_PIECE)) < share->nr) {
		struct list ended = { 0 }, missed = { 0 };

		for (unsigned int i = first; i < share->nr && i < first + SHARED_PIECE; i++) {
			if (!try_here(share->entries[i], &ended))
				list_add(&missed, share->entries[i]);
		}
		if (ended.nr)
			bl_iobatch_ended(share->batch, ended.first, ended.last, ended.nr);
		if (missed.nr)
			share_hand_over(share, &missed);
	}
}

static void share_help(struct bl_work *work)
{
	struct share *share = ((struct helper *)work)->share;

	share_run(share);
	share_put(share, 1);
}

static int share_ask(struct share *share)
{
	unsigned int nr = bl_crew_limit();

	if (nr > SHARED_HELPERS)
		nr = SHARED_HELPERS;
	for (unsigned int i = 0; i < nr; i++) {
		share->helpers[i].share = share;
		share->helpers[i].work.run = share_help;
		share->helpers[i].work.next = i + 1 < nr ? &share->helpers[i + 1].work : NULL;
	}
	atomic_fetch_add(&share->refs, (int)nr);
	if (bl_crew_submit(&share->helpers[0].work))
		atomic_fetch_sub(&share->refs, (int)nr);
	return (int)nr;
}

/* False: no memory for it. */
static bool run_shared(struct bl_iobatch *batch, const struct list *list)
{
	struct share *share = calloc(1, sizeof(*share) + list->nr * sizeof(share->entries[0]));
	int asked, idle = 0;

	if (!share)
		return false;
	atomic_store(&share->refs, 1);
	share->batch = batch;
	for (struct bl_entry *entry = list->first; entry; entry = entry->next)
		share->entries[share->nr++] = entry;
	asked = share_ask(share);
	share_run(share);
	for (int i = 0; i < asked; i++)
		idle += bl_crew_withdraw(&share->helpers[i].work);
	share_put(share, 1 + idle);
	return true;
}

/* What is for this thread, and what for the crew. */
static void divide(struct bl_entry *first, struct list *here, struct list *crew)
{
	bool tried = are_tried();
	size_t total = 0;
	struct bl_entry *next;

	for (struct bl_entry *entry = first; entry; entry = next) {
		next = entry->next;
		if (tried && is_small(entry) && total < SMALL_TOTAL) {
			total += entry->params.u.batch.size;
			list_add(here, entry);
		} else {
			list_add(crew, entry);
		}
	}
}

void bl_entries_run(struct bl_iobatch *batch, struct bl_entry *first)
{
	struct list here = { 0 }, crew = { 0 };

	divide(first, &here, &crew);
	hand_over(&crew);
	if (here.nr < SHARED_NR || bl_crew_limit() == 1 || !run_shared(batch, &here))
		run_here(batch, &here);
}
