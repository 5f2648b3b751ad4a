// SPDX-License-Identifier: MIT
#include "stat/stat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/error.h"
#include "common/stats.h"

void stat_take(const struct bl_stats_shm *shm, struct stat_sample *sample)
{
	uint64_t now;

	/* of a file that cannot be read any more the numbers stay */
	bl_stats_shm_refresh(shm);
	now = tool_now_ns();
	bl_stats_sum(shm->block, BL_STATS_BLOCKS, &sample->sum);
	sample->level = atomic_load(&shm->level);
	/* a clock in another time namespace may lie behind */
	sample->ns = now > shm->begun_ns ? now - shm->begun_ns : 1;
}

void stat_since(struct stat_sample *later, const struct stat_sample *earlier)
{
	bl_stats_add(&later->sum, &earlier->sum, true);
	later->ns = later->ns > earlier->ns ? later->ns - earlier->ns : 1;
}

static void add(struct stat_flow *flow, uint64_t *ns, const struct bl_stats_way *way)
{
	flow->calls += way->calls;
	flow->bytes += way->bytes;
	flow->errors += way->errors;
	*ns += way->ns;
}

struct stat_flow stat_flow(const struct stat_sample *sample, bool batch, enum bl_path path, bool write)
{
	struct stat_flow flow = { 0 };
	uint64_t ns = 0;

	for (enum bl_path i = 0; i < BL_PATH_NR; i++) {
		if (path == BL_PATH_NR || path == i)
			add(&flow, &ns, batch ? &sample->sum.batch[i][write] : &sample->sum.single[i][write]);
	}
	flow.per_s = (double)flow.bytes * 1e9 / (double)sample->ns;
	flow.us = flow.calls ? (double)ns / 1e3 / (double)flow.calls : 0;
	return flow;
}

const struct bl_stats_shm *stat_open(pid_t pid)
{
	const struct bl_stats_shm *shm;
	int ret = bl_stats_shm_open(pid, &shm);

	if (!ret)
		return shm;
	if (ret == -ENOENT)
		tool_die("process %d has no counters: it does not run, has not opened libcufile, or counts nothing: set "
			 "profile.cufile_stats to 1, 2 or 3 in its cufile.json", (int)pid);
	if (ret == -ESTALE)
		tool_die("process %d has ended and left its counters behind", (int)pid);
	if (ret == -EACCES)
		tool_die("process %d is another user's", (int)pid);
	if (ret == -EPROTO)
		tool_die("the counters of process %d are of another version of the library", (int)pid);
	tool_die("counters of process %d: %s", (int)pid, strerror(-ret));
}

pid_t stat_pid(const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (end == text || *end || pid <= 0 || pid > INT32_MAX)
		tool_die("\"%s\" is no number of a process", text);
	return (pid_t)pid;
}

double stat_seconds(const char *option, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0 && value <= 86400))
		tool_die("option %s: \"%s\" is no number of seconds", option, text);
	return value;
}

void stat_wait(double seconds)
{
	struct timespec time = { .tv_sec = (time_t)seconds };

	time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
	nanosleep(&time, NULL);
}
