// SPDX-License-Identifier: MIT
/* The list of cases, made from sizes, callers and kinds. */
#include <stdio.h>
#include <stdlib.h>

#include "cufile_bw.h"

static const struct {
	const char *name;
	size_t len;
} sizes[] = { { "4K", 4096 }, { "64K", 65536 }, { "1M", 1 << 20 }, { "16M", 16 << 20 } };

static const int callers[] = { 1, 4 };

static const struct kind {
	const char *name;
	const struct bw_ops *ops;
	bool file, lib, direct, write;
} kinds[] = {
	{ "read-cached", &bw_cufile_read, true, true, false, false },
	{ "read-direct", &bw_cufile_read, true, true, true, false },
	{ "write-cached", &bw_cufile_write, true, true, false, true },
	{ "write-direct", &bw_cufile_write, true, true, true, true },
	{ "host-read-cached", &bw_host_read, true, false, false, false },
	{ "host-read-direct", &bw_host_read, true, false, true, false },
	{ "host-write-cached", &bw_host_write, true, false, false, true },
	{ "host-write-direct", &bw_host_write, true, false, true, true },
	{ "copy-h2d", &bw_copy_h2d, false, false, false, false },
	{ "copy-d2h", &bw_copy_d2h, false, false, false, false },
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))
#define NR_CASES  (NR(kinds) * NR(sizes) * NR(callers) + NR(callers))

static struct bw_case cases[NR_CASES];

static size_t add(size_t at, const struct kind *kind, size_t size, int threads, unsigned int nr)
{
	struct bw_case *what = &cases[at];

	*what = (struct bw_case){
		.ops = kind->ops,
		.len = sizes[size].len,
		.threads = threads,
		.nr = nr,
		.file = kind->file,
		.lib = kind->lib,
		.direct = kind->direct,
		.write = kind->write,
	};
	snprintf(what->name, sizeof(what->name), "%s-%s-t%d", kind->name, sizes[size].name, threads);
	return at + 1;
}

const struct bw_case *bw_cases(size_t *nr_p)
{
	static const struct kind batch = { "batch128-read-cached", &bw_cufile_batch, true, true, false, false };
	size_t at = 0;

	for (size_t kind = 0; kind < NR(kinds); kind++) {
		for (size_t i = 0; i < NR(callers); i++) {
			for (size_t size = 0; size < NR(sizes); size++)
				at = add(at, &kinds[kind], size, callers[i], 1);
		}
	}
	for (size_t i = 0; i < NR(callers); i++)
		at = add(at, &batch, 0, callers[i], BW_BATCH);
	*nr_p = at;
	return cases;
}
