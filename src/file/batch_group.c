// SPDX-License-Identifier: MIT
/*
 * Entries of a batch that go to the nvidia-fs module together: one call for many, made by one thread of the crew, instead of
 * a call and a thread for each. What the module does not carry out as a whole is handed over again, one by one, and meets
 * there what it would have met at once: another path, the end of the file, its error.
 */
#include "batch.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "config.h"
#include "file.h"
#include "io.h"
#include "nvfs.h"
#include "nvidia_fs.h"
#include "tune.h"
#include "util/log.h"

/* Larger ones are cut by path nvfs, and go by several threads. */
#define MOST_LEN (1UL << 20)

/**
 * struct member - an entry of a group
 */
struct member {
	struct bl_entry *entry;
	struct bl_io io;
};

/**
 * struct group - entries that go together
 * @work:    for the crew
 * @nr:      how many
 * @members: them
 */
struct group {
	struct bl_work work;
	unsigned int nr;
	struct member members[];
};

/* What can be said without a look at the memory; only of files that requests have been served for. */
static bool may_join(const struct bl_entry *entry)
{
	const CUfileIOParams_t *params = &entry->params;
	const char *why = atomic_load_explicit(&entry->file->nvfs, memory_order_acquire);
	size_t step = entry->file->align > NVIDIA_FS_BLOCK ? entry->file->align : NVIDIA_FS_BLOCK;

	if (!why || *why || !params->u.batch.size || params->u.batch.size > MOST_LEN)
		return false;
	return !((params->u.batch.size | (size_t)params->u.batch.file_offset) % step);
}

/* An entry that was cancelled meanwhile ends here. */
static bool begin(struct bl_entry *entry)
{
	int queued = BL_ENTRY_QUEUED;

	if (atomic_compare_exchange_strong(&entry->state, &queued, BL_ENTRY_BEGUN))
		return true;
	bl_entry_finish(entry, -ECANCELED, BL_PATH_PLAIN);
	bl_iobatch_ended(entry->batch, entry, entry, 1);
	return false;
}

/* What is wrong is said when the entry is run by itself. */
static bool open_io(struct member *member)
{
	const CUfileIOParams_t *params = &member->entry->params;
	struct bl_io *io = &member->io;
	int ret;

	io->file = member->entry->file;
	io->len = params->u.batch.size;
	io->pos = params->u.batch.file_offset;
	io->write = params->opcode == CUFILE_WRITE;
	bl_fail_hush(1);
	ret = bl_io_open(io, params->u.batch.devPtr_base, params->u.batch.devPtr_offset);
	bl_fail_hush(-1);
	if (ret)
		return false;
	if (bl_io_first(io) == BL_PATH_NVFS)
		return true;
	bl_io_close(io);
	return false;
}

static void push(struct bl_entry **list, struct bl_entry *entry)
{
	entry->next = *list;
	*list = entry;
}

/* Give back what entries have, and end those that were carried out. The others. */
static struct bl_entry *end_all(struct member *const *members, unsigned int nr)
{
	struct bl_entry *others = NULL, *first = NULL, *last = NULL;
	unsigned int ended = 0;

	for (unsigned int i = nr; i--;) {
		struct bl_entry *entry = members[i]->entry;
		struct bl_io *io = &members[i]->io;

		bl_io_close(io);
		if (io->done != io->len) {
			push(&others, entry);
			continue;
		}
		bl_entry_finish(entry, (ssize_t)io->done, BL_PATH_NVFS);
		push(&first, entry);
		last = last ? last : entry;
		ended++;
	}
	if (ended)
		bl_iobatch_ended(first->batch, first, last, ended);
	return others;
}

static void group_run(struct bl_work *work)
{
	struct group *group = (struct group *)((char *)work - offsetof(struct group, work));
	struct bl_io *ios[NVIDIA_FS_MAX_BATCH];
	struct member *members[NVIDIA_FS_MAX_BATCH];
	struct bl_entry *others = NULL, *rest, *next;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < group->nr; i++) {
		struct member *member = &group->members[i];

		if (!begin(member->entry))
			continue;
		if (open_io(member)) {
			members[nr] = member;
			ios[nr++] = &member->io;
		} else {
			push(&others, member->entry);
		}
	}
	if (nr)
		bl_nvfs_run_many(ios, nr);
	rest = end_all(members, nr);
	free(group);
	for (; rest; rest = next) {
		next = rest->next;
		push(&others, rest);
	}
	bl_entries_alone(others);
}

static struct group *new_group(struct bl_entry **list, unsigned int most)
{
	struct group *group = calloc(1, sizeof(*group) + most * sizeof(group->members[0]));

	if (!group)
		return NULL;
	group->work.run = group_run;
	while (*list && group->nr < most) {
		struct bl_entry *entry = *list;

		*list = entry->next;
		entry->work = (struct bl_work){ 0 };
		group->members[group->nr++].entry = entry;
	}
	/* from here on it may be cancelled */
	for (unsigned int i = 0; i < group->nr; i++)
		atomic_store(&group->members[i].entry->state, BL_ENTRY_QUEUED);
	return group;
}

static bool are_wanted(void)
{
	enum bl_path forced = bl_file_config()->path;

	return bl_nvfs_is_own() && bl_file_tune()->nvfs_batch > 1 && (forced == BL_PATH_NR || forced == BL_PATH_NVFS);
}

struct bl_entry *bl_entries_together(struct bl_entry *first)
{
	struct bl_entry *joined = NULL, *rest = NULL, **end = &rest, **joined_end = &joined, *next;
	unsigned int nr = 0;
	struct group *group;

	if (!first || !first->next || !are_wanted())
		return first;
	for (struct bl_entry *entry = first; entry; entry = next) {
		struct bl_entry ***to = may_join(entry) ? &joined_end : &end;

		next = entry->next;
		nr += to == &joined_end;
		**to = entry;
		*to = &entry->next;
	}
	*end = NULL;
	*joined_end = NULL;
	while (nr > 1 && joined) {
		group = new_group(&joined, bl_file_tune()->nvfs_batch);
		if (!group)
			break;
		if (bl_crew_submit(&group->work))
			group_run(&group->work);
	}
	*end = joined;
	return rest;
}
