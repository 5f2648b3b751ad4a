// SPDX-License-Identifier: MIT
/*
 * cufile_bw: speed, latency and CPU time of a libcufile, whoever made it, and of the bare limits beside it
 *
 * usage: cufile_bw --lib PATH --file PATH [--case NAME]... [--seconds N] [--reps N] [--size BYTES] [--gpu N] [--json]
 *        cufile_bw --lib PATH --file PATH --serve [--seconds N] [--size BYTES] [--gpu N]
 *        cufile_bw --list
 *
 * Needs no toolkit: the library and libcuda.so.1 are loaded by name. Cases that write use FILE.write. Without --lib only
 * the bare limits are measured. bench/cufile_compare.sh runs it for two libraries in turn. Where there is no Meson:
 *
 *     cc -std=gnu17 -O2 -D_GNU_SOURCE -Isrc bench/cufile_*.c src/gpu/cuda.c -o cufile_bw -ldl -lpthread
 */
#include <fnmatch.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cufile_bw.h"
#include "util/clock.h"

#define MAX_PATTERNS 32
#define MIN_SIZE     (64UL << 20)

struct options {
	const char *lib;
	const char *file;
	const char *patterns[MAX_PATTERNS];
	int nr_patterns;
	double seconds;
	unsigned int reps;
	uint64_t size;
	int gpu;
	bool json;
	bool list;
	bool serve;
};

static const char *read_path;
static char write_path[4096];

static void give_up(int sig)
{
	static const char text[] = "cufile_bw: the case did not end in time\n";
	ssize_t put = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)put;
	_exit(3);
}

static void usage(FILE *to)
{
	fputs("usage: cufile_bw --lib PATH --file PATH [--case NAME]... [--seconds N] [--reps N] [--size BYTES]\n"
	      "                 [--gpu N] [--json]\n"
	      "       cufile_bw --lib PATH --file PATH --serve [--seconds N] [--size BYTES] [--gpu N]\n"
	      "       cufile_bw --list\n"
	      "  --lib PATH     libcufile to measure; left out: bare limits only\n"
	      "  --file PATH    file to read, made if it is not there; PATH.write is written\n"
	      "  --case NAME    only these cases; NAME may have * and ?, \"first\" stands for the first calls\n"
	      "  --seconds N    time of a case, all repetitions together, default 1\n"
	      "  --reps N       repetitions, default 5\n"
	      "  --size BYTES   of the file, default 1073741824, at least 67108864\n"
	      "  --gpu N        CUDA ordinal, default 0\n"
	      "  --json         one JSON object instead of CSV\n"
	      "  --serve        measure what is asked for on stdin: \"case NAME\", \"slice\" (of --seconds) as often as\n"
	      "                 wanted, \"end\"; \"quit\"\n",
	      to);
}

static double number(const char *option, const char *text, double min, double max)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= min && value <= max)) {
		fprintf(stderr, "cufile_bw: --%s %s: not a number from %.12g to %.12g\n", option, text, min, max);
		exit(2);
	}
	return value;
}

static void add_pattern(struct options *opt, const char *pattern)
{
	if (opt->nr_patterns == MAX_PATTERNS) {
		fprintf(stderr, "cufile_bw: more than %d --case\n", MAX_PATTERNS);
		exit(2);
	}
	opt->patterns[opt->nr_patterns++] = pattern;
}

static void parse(int argc, char **argv, struct options *opt)
{
	static const struct option longs[] = {
		{ "lib", 1, NULL, 'l' },  { "file", 1, NULL, 'f' }, { "case", 1, NULL, 'c' }, { "seconds", 1, NULL, 's' },
		{ "reps", 1, NULL, 'r' }, { "size", 1, NULL, 'b' }, { "gpu", 1, NULL, 'g' },  { "json", 0, NULL, 'j' },
		{ "list", 0, NULL, 'L' }, { "serve", 0, NULL, 'S' }, { "help", 0, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 'l': opt->lib = optarg; break;
		case 'f': opt->file = optarg; break;
		case 'c': add_pattern(opt, optarg); break;
		case 's': opt->seconds = number("seconds", optarg, 0.001, 3600); break;
		case 'r': opt->reps = (unsigned int)number("reps", optarg, 1, BW_MAX_REPS); break;
		case 'b': opt->size = (uint64_t)number("size", optarg, MIN_SIZE, 1e15) / 4096 * 4096; break;
		case 'g': opt->gpu = (int)number("gpu", optarg, 0, 255); break;
		case 'j': opt->json = true; break;
		case 'L': opt->list = true; break;
		case 'S': opt->serve = true; break;
		case 'h': usage(stdout); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (optind < argc || (!opt->list && !opt->file) || (opt->serve && (opt->json || opt->nr_patterns))) {
		usage(stderr);
		exit(2);
	}
}

static bool wanted(const struct options *opt, const char *name, bool lib)
{
	if (lib && !opt->lib)
		return false;
	for (int i = 0; i < opt->nr_patterns; i++) {
		if (!fnmatch(opt->patterns[i], name, 0))
			return true;
	}
	return !opt->nr_patterns;
}

static int list(void)
{
	size_t nr;
	const struct bw_case *cases = bw_cases(&nr);

	for (size_t i = 0; i < nr; i++)
		puts(cases[i].name);
	puts("first");
	return 0;
}

/* Whether a case is wanted that satisfies one more condition. */
static bool any(const struct options *opt, bool lib, bool write)
{
	size_t nr;
	const struct bw_case *cases = bw_cases(&nr);

	for (size_t i = 0; i < nr; i++) {
		if (wanted(opt, cases[i].name, cases[i].lib) && (!lib || cases[i].lib) && (!write || cases[i].write))
			return true;
	}
	return false;
}

int bw_gpu_open(int ordinal, CUcontext *context_p, char *name, size_t size)
{
	const struct bl_cuda *cuda = bl_cuda();
	CUresult err;
	CUdevice dev;

	if (!cuda) {
		fprintf(stderr, "cufile_bw: no CUDA: %s\n", bl_cuda_error());
		return -1;
	}
	err = cuda->cuInit(0);
	if (!err)
		err = cuda->cuDeviceGet(&dev, ordinal);
	if (!err)
		err = cuda->cuDeviceGetName(name, (int)size, dev);
	if (!err)
		err = cuda->cuDevicePrimaryCtxRetain(context_p, dev);
	if (!err)
		err = cuda->cuCtxSetCurrent(*context_p);
	if (err)
		fprintf(stderr, "cufile_bw: GPU %d: %s\n", ordinal, bl_cuda_strerror(err));
	return err ? -1 : 0;
}

static int run_cases(const struct options *opt, struct bw_run *run)
{
	size_t nr;
	const struct bw_case *cases = bw_cases(&nr);
	struct bw_row row;
	int failed = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!wanted(opt, cases[i].name, cases[i].lib))
			continue;
		run->what = &cases[i];
		run->path = cases[i].write ? write_path : opt->file;
		/* checks and what writes leave to the disk take time of their own */
		alarm((unsigned int)(opt->seconds + opt->reps * 10) + 120);
		if (bw_case_run(run, &row))
			failed++;
		else
			bw_row_put(&row);
		alarm(0);
	}
	return failed;
}

static int open_lib(const struct options *opt, struct cufile_lib *lib, int *version_p)
{
	CUfileError_t status;

	if (!opt->lib)
		return 0;
	if (cufile_lib_load(opt->lib, lib))
		return -1;
	status = lib->cuFileDriverOpen();
	if (status.err) {
		fprintf(stderr, "cufile_bw: cuFileDriverOpen: error %d\n", status.err);
		return -1;
	}
	status = lib->cuFileGetVersion(version_p);
	if (status.err)
		*version_p = 0;
	return 0;
}

/* The files that the cases need; which of them run is decided here. 0, 1: failed, 2: nothing to do. */
static int make_files(const struct options *opt)
{
	if (!wanted(opt, "first", true) && !any(opt, false, false)) {
		fprintf(stderr, "cufile_bw: no case has such a name%s\n", opt->lib ? "" : " and needs no --lib");
		return 2;
	}
	if ((size_t)snprintf(write_path, sizeof(write_path), "%s.write", opt->file) >= sizeof(write_path)) {
		fprintf(stderr, "cufile_bw: the name of the file is too long\n");
		return 2;
	}
	return bw_file_make(opt->file, opt->size) || (any(opt, false, true) && bw_file_make(write_path, opt->size));
}

static bool prepare(struct bw_run *run, const struct bw_case *what)
{
	if (what->lib && !run->lib->cuFileRead) {
		fprintf(stderr, "cufile_bw: %s needs --lib\n", what->name);
		return false;
	}
	run->path = what->write ? write_path : read_path;
	return true;
}

static int serve(const struct options *opt, struct bw_run *run)
{
	read_path = opt->file;
	run->rep_ns = (uint64_t)(opt->seconds * 1e9);
	return bw_serve(run, prepare);
}

static int measure(const struct options *opt, struct bw_run *run, struct cufile_lib *lib)
{
	struct bw_row rows[BW_FIRST_ROWS];
	bool first = !opt->serve && wanted(opt, "first", true);
	bool opened = opt->serve || any(opt, false, false); /* first calls alone are not made here */
	char gpu[64] = "not opened";
	int version = 0, failed = 0;

	/* processes of their own, which must not inherit CUDA */
	if (first)
		failed = bw_first(opt->lib, opt->file, opt->gpu, opt->reps, rows) ? 1 : 0;
	if (opened && (bw_gpu_open(opt->gpu, &run->context, gpu, sizeof(gpu)) || open_lib(opt, lib, &version)))
		return 1;
	run->cuda = bl_cuda();
	bw_rows_begin(opt->json, opt->lib, version, gpu, opt->file, opt->size);
	for (int i = 0; first && !failed && i < BW_FIRST_ROWS; i++)
		bw_row_put(&rows[i]);
	failed += opt->serve ? serve(opt, run) : run_cases(opt, run);
	bw_rows_end();
	if (opened && opt->lib)
		lib->cuFileDriverClose_v2();
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct options opt = { .seconds = 1, .reps = 5, .size = 1UL << 30 };
	struct cufile_lib lib = { 0 };
	struct bw_run run = { .lib = &lib };
	int ret;

	parse(argc, argv, &opt);
	if (opt.list)
		return list();
	ret = make_files(&opt);
	if (ret)
		return ret;
	signal(SIGALRM, give_up);
	run.size = opt.size;
	run.salt = bl_now_ns();
	run.reps = opt.reps;
	run.rep_ns = (uint64_t)(opt.seconds * 1e9 / opt.reps);
	return measure(&opt, &run, &lib);
}
