// SPDX-License-Identifier: MIT
/*
 * cuFileRead() and cuFileWrite() at random places of files and memory, compared with plain reads. Each path, each kind of
 * memory, through and past the page cache, on a disk (the current folder's) and on tmpfs. SEED repeats a run, ROUNDS sets
 * how many moves each kind of memory gets.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "child.h"
#include "file_moves.h"
#include "tests/tap.h"

/**
 * struct plan - one child
 */
struct plan {
	const char *dir;
	int flags;
	unsigned int rounds;
	const char *path; /* BARLANE_FILE_PATH, NULL: free choice */
	bool rings;	  /* io_uring is used if it can be */
};

static void mixed(const void *arg)
{
	const struct plan *plan = arg;
	struct memory memory;
	struct tested tested;

	world_enter();
	moves_make_file(&tested, plan->dir, plan->flags);
	for (int kind = 0; kind < NR_KINDS; kind++) {
		memory_make(&memory, (enum kind)kind, MOVES_MEM);
		for (unsigned int i = 0; i < plan->rounds; i++) {
			moves_read(&tested, &memory);
			moves_write(&tested, &memory);
		}
		memory_drop(&memory);
	}
	check(!plan->rings || !!nr_rings() == may_have_rings());
	tested_drop(&tested);
	world_check_rules();
}

static unsigned int rounds(void)
{
	const char *text = getenv("ROUNDS");
	unsigned long nr = text ? strtoul(text, NULL, 10) : 0;

	return nr ? (unsigned int)nr : 24;
}

static void with(const char *dir, int flags, const char *path)
{
	struct plan plan = { dir, flags, rounds(), path, path && !strcmp(path, "staged") && flags & O_DIRECT };
	/* strict: the path that is named, or an error. Path mapped is for some of the requests only */
	const char *strict = path && strcmp(path, "mapped") ? "1" : "0";
	const char *env[] = { "BARLANE_FILE_PATH", path ? path : "", "BARLANE_FILE_STRICT", strict, NULL };

	if (!moves_seed)
		moves_choose_seed();
	child_run(mixed, &plan, env);
	next_random(&moves_seed);
}

static void disk(void)
{
	with("disk", 0, NULL);
}

static void disk_direct(void)
{
	with("disk", O_DIRECT, NULL);
}

static void tmpfs(void)
{
	with("tmpfs", 0, NULL);
}

static void tmpfs_direct(void)
{
	with("tmpfs", O_DIRECT, NULL);
}

static void plain_alone(void)
{
	with("disk", 0, "plain");
}

static void plain_direct(void)
{
	with("disk", O_DIRECT, "plain");
}

static void staged_alone(void)
{
	with("disk", 0, "staged");
}

static void staged_direct(void)
{
	with("disk", O_DIRECT, "staged");
}

static void mapped_alone(void)
{
	with("disk", 0, "mapped");
}

static const struct tap_test tests[] = {
	{ "any_range_of_a_disk_file_is_read_and_written", disk },
	{ "any_range_of_a_disk_file_is_read_and_written_with_o_direct", disk_direct },
	{ "any_range_of_a_tmpfs_file_is_read_and_written", tmpfs },
	{ "any_range_of_a_tmpfs_file_is_read_and_written_with_o_direct", tmpfs_direct },
	{ "path_plain_does_every_range", plain_alone },
	{ "path_plain_does_every_range_with_o_direct", plain_direct },
	{ "path_staged_does_every_range", staged_alone },
	{ "path_staged_does_every_range_with_o_direct", staged_direct },
	{ "path_mapped_does_every_range", mapped_alone },
};

TAP_MAIN(tests)
