// SPDX-License-Identifier: MIT
/*
 * gdsio - speed of transfers between files and GPU memory
 *
 * Options and result line are those of NVIDIA's gdsio; the rest is not. Measures whatever libcufile the loader finds, or
 * --lib names, so that two of them can be compared.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/json.h"
#include "common/stats.h"
#include "gdsio/gdsio.h"

struct team {
	struct gdsio_worker *workers;
	unsigned int nr;
	struct gdsio_lane *lanes;
	unsigned int nr_lanes;
};

static struct tool_device devices[GDSIO_JOBS];
static bool opened[GDSIO_JOBS];

/* The lanes of a job: parts of one file, multiples of the request size, or files. */
static void set_lanes(const struct gdsio_options *opt, const struct gdsio_job *job, struct gdsio_lane *lanes)
{
	uint64_t part = opt->size / job->workers;

	if (part > opt->io_max)
		part = part / opt->io_max * opt->io_max;
	for (unsigned int i = 0; i < job->workers; i++) {
		struct gdsio_lane *lane = &lanes[i];
		int len;

		lane->fd = -1;
		if (job->file) {
			len = snprintf(lane->path, sizeof(lane->path), "%s", job->file);
			lane->lo = opt->start + part * i;
			lane->size = i + 1 < job->workers ? part : opt->size - part * i;
		} else {
			len = snprintf(lane->path, sizeof(lane->path), "%s/gdsio.%u", job->dir, i);
			lane->lo = opt->start;
			lane->size = opt->size;
		}
		if (len < 0 || (size_t)len >= sizeof(lane->path))
			tool_die("the name of the file is too long");
	}
}

static int open_direct(const char *path, int flags, bool direct)
{
	static bool told;
	int fd = tool_cufile_open(path, flags | (direct ? O_DIRECT : 0));

	if (fd >= 0 || errno != EINVAL || !direct)
		return fd;
	fd = tool_cufile_open(path, flags);
	if (fd >= 0 && !told)
		fprintf(stderr, "gdsio: %s: no O_DIRECT on this file system, the page cache is used\n", path);
	told = told || fd >= 0;
	return fd;
}

static int open_lane(const struct gdsio_run *run, struct gdsio_lane *lane)
{
	/* without the library there is nobody to make something of offsets that direct I/O cannot have */
	bool direct = run->way->direct && (run->way->lib || run->opt->align % 512 == 0);
	CUfileDescr_t descr = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
	struct stat st;

	lane->done = 0;
	lane->fd = open_direct(lane->path, run->write ? O_RDWR | O_CREAT : O_RDONLY, direct);
	if (lane->fd < 0 || fstat(lane->fd, &st))
		return tool_fail(errno, "%s: %s", lane->path, strerror(errno));
	if (S_ISREG(st.st_mode) && (uint64_t)st.st_size < lane->lo + lane->size) {
		if (!run->write)
			return tool_fail(EINVAL, "%s has %lld bytes, and is to be read up to %llu: write it first (-I 1)",
					 lane->path, (long long)st.st_size,
					 (unsigned long long)(lane->lo + lane->size));
		/* what is read back afterwards reaches to the end of the data, written or not */
		if ((run->opt->io == IO_RANDWRITE || (run->opt->seconds > 0 && run->verify)) &&
		    ftruncate(lane->fd, (off_t)(lane->lo + lane->size)))
			return tool_fail(errno, "%s: %s", lane->path, strerror(errno));
	}
	if (!run->way->lib)
		return 0;
	descr.handle.fd = lane->fd;
	return tool_cufile_status(run->lib->cuFileHandleRegister(&lane->fh, &descr), "cuFileHandleRegister");
}

static void close_lane(const struct gdsio_run *run, struct gdsio_lane *lane)
{
	if (lane->fh)
		run->lib->cuFileHandleDeregister(lane->fh);
	if (lane->fd >= 0)
		close(lane->fd);
	lane->fh = NULL;
	lane->fd = -1;
}

static void make_team(const struct gdsio_options *opt, bool deep, struct team *team)
{
	unsigned int lane = 0;

	for (unsigned int i = 0; i < opt->nr_jobs; i++)
		team->nr_lanes += opt->jobs[i].workers;
	team->lanes = calloc(team->nr_lanes, sizeof(*team->lanes));
	team->workers = calloc(team->nr_lanes, sizeof(*team->workers));
	if (!team->lanes || !team->workers)
		tool_die("out of memory");
	for (unsigned int i = 0; i < opt->nr_jobs; i++) {
		const struct gdsio_job *job = &opt->jobs[i];
		unsigned int nr = deep ? 1 : job->workers;

		set_lanes(opt, job, &team->lanes[lane]);
		for (unsigned int w = 0; w < nr; w++) {
			struct gdsio_worker *worker = &team->workers[team->nr++];

			worker->job = job;
			worker->device = opened[i] ? &devices[i] : NULL;
			worker->lanes = &team->lanes[lane];
			worker->nr_lanes = job->workers / nr;
			lane += worker->nr_lanes;
		}
	}
}

static void collect(const struct gdsio_run *run, const struct team *team, double wall, struct gdsio_result *result)
{
	uint64_t lat = 0, longest = 0;

	*result = (struct gdsio_result){ .way = run->way, .io = run->opt->io, .threads = team->nr };
	result->io_size = run->opt->io_max;
	if (run->way->deep)
		result->depth = team->nr_lanes / team->nr;
	/* the read after a verifying write */
	if (!run->write && (result->io == IO_WRITE || result->io == IO_RANDWRITE))
		result->io = result->io == IO_WRITE ? IO_READ : IO_RANDREAD;
	for (unsigned int i = 0; i < team->nr_lanes; i++)
		result->want += team->lanes[i].size;
	for (unsigned int i = 0; i < team->nr; i++) {
		result->bytes += team->workers[i].bytes;
		result->ops += team->workers[i].ops;
		lat += team->workers[i].lat_ns;
		longest = team->workers[i].io_ns > longest ? team->workers[i].io_ns : longest;
	}
	result->lat_us = result->ops ? (double)lat / 1e3 / (double)result->ops : 0;
	/* comparing takes longer than many a disk: a verifying run counts the time in requests alone */
	result->seconds = run->verify ? (double)longest / 1e9 : wall;
}

static void start_worker(struct gdsio_run *run, struct gdsio_worker *worker, unsigned int index)
{
	int err;

	worker->run = run;
	worker->registered = false;
	/* a read that verifies a write asks for what that one has written, and no more */
	worker->max_ops = worker->ops ? worker->ops : UINT64_MAX;
	worker->ops = worker->bytes = worker->io_ns = worker->lat_ns = worker->turn = 0;
	worker->random = (run->opt->seed + 1) * 0x9e3779b97f4a7c15U + index;
	err = pthread_create(&worker->thread, NULL, gdsio_work, worker);
	/* those that run already wait for the full number */
	if (err)
		tool_die("no thread: %s", strerror(err));
}

static double run_team(struct gdsio_run *run, struct team *team)
{
	uint64_t begin;
	double wall;

	if (pthread_barrier_init(&run->start, NULL, team->nr + 1))
		tool_die("no barrier");
	for (unsigned int i = 0; i < team->nr; i++)
		start_worker(run, &team->workers[i], i);
	pthread_barrier_wait(&run->start);
	begin = tool_now_ns();
	pthread_barrier_wait(&run->start);
	pthread_barrier_wait(&run->start);
	wall = (double)(tool_now_ns() - begin) / 1e9;
	for (unsigned int i = 0; i < team->nr; i++)
		pthread_join(team->workers[i].thread, NULL);
	pthread_barrier_destroy(&run->start);
	return wall;
}

/* One pass over everything. */
static int pass(struct gdsio_run *run, struct team *team, struct gdsio_result *result)
{
	double wall;
	int ret = 0;

	for (unsigned int i = 0; i < team->nr_lanes && !ret; i++)
		ret = open_lane(run, &team->lanes[i]);
	if (ret) {
		snprintf(run->why, sizeof(run->why), "%s", tool_why());
	} else {
		wall = run_team(run, team);
		collect(run, team, wall, result);
		ret = atomic_load(&run->failed) ? -EIO : 0;
	}
	for (unsigned int i = 0; i < team->nr_lanes; i++)
		close_lane(run, &team->lanes[i]);
	return ret;
}

static void open_devices(const struct gdsio_options *opt)
{
	for (unsigned int i = 0; i < opt->nr_jobs; i++) {
		if (opt->xfer == XFER_CPUONLY && opt->jobs[i].mem != MEM_HOSTALLOC)
			continue;
		if (tool_device_open(opt->jobs[i].gpu, &devices[i]))
			tool_die("%s", tool_why());
		opened[i] = true;
	}
}

static struct json_object *result_json(const struct gdsio_result *result)
{
	static const char *const ios[IO_NR] = { "read", "write", "randread", "randwrite" };
	struct json_object *object = tool_json_object();

	tool_json_string(object, "io", ios[result->io]);
	tool_json_string(object, "xfer", result->way->name);
	tool_json_int(object, "threads", result->threads);
	tool_json_int(object, "depth", result->depth ? result->depth : 1);
	tool_json_int(object, "bytes", (int64_t)result->bytes);
	tool_json_int(object, "data_set_bytes", (int64_t)result->want);
	tool_json_int(object, "io_bytes", (int64_t)result->io_size);
	tool_json_int(object, "ops", (int64_t)result->ops);
	tool_json_double(object, "seconds", result->seconds);
	tool_json_double(object, "gib_per_s", result->seconds > 0 ? (double)result->bytes / (1 << 30) / result->seconds : 0);
	tool_json_double(object, "latency_us", result->lat_us);
	return object;
}

static void write_json(const struct gdsio_run *run, const struct gdsio_result *results, int nr)
{
	struct json_object *object = tool_json_object(), *array = tool_json_array();
	int version = 0;

	tool_json_string(object, "program", "gdsio");
	tool_json_string(object, "version", BARLANE_VERSION);
	if (run->way->lib) {
		tool_json_string(object, "libcufile", run->lib->path);
		if (!run->lib->cuFileGetVersion(&version).err)
			tool_json_int(object, "libcufile_version", version);
	}
	if (opened[0]) {
		tool_json_string(object, "gpu", devices[0].name);
		tool_json_bool(object, "emu", devices[0].emulated);
	}
	tool_json_bool(object, "verified", run->verify);
	for (int i = 0; i < nr; i++)
		tool_json_append(array, result_json(&results[i]));
	tool_json_add(object, "results", array);
	if (tool_json_write(object, run->opt->json))
		tool_die("%s", tool_why());
}

int main(int argc, char **argv)
{
	static struct gdsio_options opt;
	static struct tool_cufile lib;
	struct gdsio_run run = { .opt = &opt, .lib = &lib, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct gdsio_result results[2];
	struct team team = { 0 };
	FILE *out = stdout;
	int nr = 0, passes;

	gdsio_options_parse(argc, argv, &opt);
	if (opt.json && !strcmp(opt.json, "-"))
		out = stderr;
	run.way = &gdsio_ways[opt.xfer];
	run.write = opt.io == IO_WRITE || opt.io == IO_RANDWRITE;
	run.verify = opt.verify;
	open_devices(&opt);
	if (run.way->lib &&
	    (tool_cufile_load(opt.lib, &lib) || tool_cufile_status(lib.cuFileDriverOpen(), "cuFileDriverOpen")))
		tool_die("%s", tool_why());
	make_team(&opt, run.way->deep, &team);
	passes = run.write && run.verify ? 2 : 1;
	while (nr < passes) {
		if (pass(&run, &team, &results[nr]))
			tool_die("%s", run.why);
		gdsio_result_print(&results[nr++], out);
		if (nr < passes)
			fprintf(out, "Verifying data\n");
		run.write = false;
	}
	if (opt.json)
		write_json(&run, results, nr);
	free(team.workers);
	free(team.lanes);
	if (run.way->lib)
		lib.cuFileDriverClose_v2();
	for (unsigned int i = 0; i < opt.nr_jobs; i++) {
		if (opened[i])
			tool_device_close(&devices[i]);
	}
	return tool_finish(EXIT_SUCCESS);
}
