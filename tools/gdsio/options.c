// SPDX-License-Identifier: MIT
/* The command line of gdsio. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/option.h"
#include "gdsio/gdsio.h"

static void usage(FILE *out)
{
	fputs("usage: gdsio [options] -f FILE | -D DIRECTORY\n"
	      "       gdsio JOBFILE\n"
	      "  -f FILE      file; its first -s bytes are shared among the workers\n"
	      "  -D DIR       directory; a file gdsio.N of -s bytes for each worker\n"
	      "  -d N         GPU (0)\n"
	      "  -n N         NUMA node to run on\n"
	      "  -w N         workers; with -x 6 and -x 7 requests of a batch (1)\n"
	      "  -s BYTES     size of the data; K, M, G may follow\n"
	      "  -o BYTES     offset where it begins (0)\n"
	      "  -i BYTES     size of a request (1M), or MIN:MAX:STEP\n"
	      "  -m N         memory: 0 cuMemAlloc, 1 cuMemCreate, 2 cuMemHostAlloc, 3 malloc, 4 mmap (0)\n"
	      "  -x N         way: 0 libcufile, 1 file and CPU alone, 2 pread and copy, 3 the same overlapped,\n"
	      "               4 as 2 through the page cache, 5 libcufile in a stream, 6 batches, 7 batches of a stream (0)\n"
	      "  -I N         0 read, 1 write, 2 random reads, 3 random writes (0)\n"
	      "  -T SECONDS   go round for so long instead of once\n"
	      "  -k N         seed of random offsets (0)\n"
	      "  -a BYTES     multiple that random offsets are of (4K)\n"
	      "  -U           random offsets that are no multiples of 4K\n"
	      "  -V           compare the bytes; after a write, read them back\n"
	      "  -b           do not register buffers\n"
	      "  -R, -F       write random bytes; new ones for each request\n"
	      "  -p           accepted for the original's sake: paths between GPUs are CUDA's matter\n"
	      "  --lib FILE   libcufile to use, default libcufile.so.0 where the loader finds it\n"
	      "  --json FILE  the result as JSON as well; - is stdout in place of the text\n"
	      "A -f or -D after another begins a new job, which takes -d, -n, -w and -m of its own.\n",
	      out);
}

void gdsio_options_sizes(const char *option, const char *text, struct gdsio_options *opt)
{
	char copy[96], *max, *step;

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		tool_die("option %s: \"%.40s...\" is not a size, or MIN:MAX:STEP", option, text);
	max = strchr(copy, ':');
	step = max ? strchr(max + 1, ':') : NULL;
	if (max)
		*max++ = '\0';
	if (step)
		*step++ = '\0';
	opt->io_min = tool_number(option, copy, 1, 1UL << 40);
	opt->io_max = max ? tool_number(option, max, opt->io_min, 1UL << 40) : opt->io_min;
	opt->io_step = step ? tool_number(option, step, 1, 1UL << 40) : opt->io_max - opt->io_min;
}

static struct gdsio_job *new_job(struct gdsio_options *opt)
{
	struct gdsio_job *job = &opt->jobs[opt->nr_jobs ? opt->nr_jobs - 1 : 0];

	if (opt->nr_jobs && !job->file && !job->dir)
		return job;
	if (opt->nr_jobs == GDSIO_JOBS)
		tool_die("more than %d jobs", GDSIO_JOBS);
	job = &opt->jobs[opt->nr_jobs++];
	*job = (struct gdsio_job){ .node = -1, .workers = 1 };
	return job;
}

static struct gdsio_job *this_job(struct gdsio_options *opt)
{
	return opt->nr_jobs ? &opt->jobs[opt->nr_jobs - 1] : new_job(opt);
}

static double seconds(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value > 0 && value <= 1e9))
		tool_die("option -T: \"%s\" is not a number of seconds", text);
	return value;
}

static void job_option(int c, struct gdsio_options *opt)
{
	switch (c) {
	case 'f':
		new_job(opt)->file = optarg;
		break;
	case 'D':
		new_job(opt)->dir = optarg;
		break;
	case 'd':
		this_job(opt)->gpu = (int)tool_number("-d", optarg, 0, 1023);
		break;
	case 'n':
		this_job(opt)->node = (int)tool_number("-n", optarg, 0, 1023);
		break;
	case 'w':
		this_job(opt)->workers = (unsigned int)tool_number("-w", optarg, 1, GDSIO_WORKERS);
		break;
	default:
		this_job(opt)->mem = (enum gdsio_mem)tool_number("-m", optarg, 0, MEM_NR - 1);
	}
}

static void flag(int c, struct gdsio_options *opt)
{
	switch (c) {
	case 'U':
		opt->align = 1;
		break;
	case 'V':
		opt->verify = true;
		break;
	case 'b':
		opt->skip_register = true;
		break;
	case 'R':
		opt->random_fill = true;
		break;
	case 'F':
		opt->refill = true;
		break;
	case 'p':
		fputs("gdsio: -p changes nothing here: paths between GPUs are CUDA's matter\n", stderr);
		break;
	case 'h':
		usage(stdout);
		exit(EXIT_SUCCESS);
	default:
		usage(stderr);
		exit(EXIT_FAILURE);
	}
}

static void value_option(int c, struct gdsio_options *opt)
{
	switch (c) {
	case 's':
		opt->size = tool_number("-s", optarg, 1, 1UL << 50);
		break;
	case 'o':
		opt->start = tool_number("-o", optarg, 0, 1UL << 50);
		break;
	case 'i':
		gdsio_options_sizes("-i", optarg, opt);
		break;
	case 'x':
		opt->xfer = (enum gdsio_xfer)tool_number("-x", optarg, 0, XFER_NR - 1);
		break;
	case 'I':
		opt->io = (enum gdsio_io)tool_number("-I", optarg, 0, IO_NR - 1);
		break;
	case 'T':
		opt->seconds = seconds(optarg);
		break;
	case 'k':
		opt->seed = tool_number("-k", optarg, 0, UINT32_MAX);
		break;
	case 'a':
		opt->align = tool_number("-a", optarg, 1, 1UL << 30);
		break;
	case 'L':
		opt->lib = optarg;
		break;
	case 'J':
		opt->json = optarg;
		break;
	case 'f':
	case 'D':
	case 'd':
	case 'n':
	case 'w':
	case 'm':
		job_option(c, opt);
		break;
	default:
		flag(c, opt);
	}
}

static void check_job(const struct gdsio_options *opt, struct gdsio_job *job)
{
	bool host = job->mem >= MEM_HOSTALLOC;

	if (!job->file && !job->dir)
		tool_die("no file: -f FILE or -D DIRECTORY");
	if (job->file && job->dir)
		tool_die("a job has a file or a directory: %s, %s", job->file, job->dir);
	if (!*(job->file ? job->file : job->dir))
		tool_die("the name of a file or directory is empty");
	if (opt->xfer == XFER_CPUONLY && !host)
		job->mem = MEM_MALLOC;
	if (host && opt->xfer >= XFER_CPU_GPU && opt->xfer <= XFER_CPU_CACHED_GPU)
		tool_die("option -x: %d copies to GPU memory, and -m %d is none", opt->xfer, job->mem);
}

static void check(struct gdsio_options *opt)
{
	if (!opt->nr_jobs)
		tool_die("no file: -f FILE or -D DIRECTORY");
	if (!opt->size)
		tool_die("no size: -s BYTES");
	for (unsigned int i = 0; i < opt->nr_jobs; i++) {
		check_job(opt, &opt->jobs[i]);
		if (opt->jobs[i].file && opt->size / opt->jobs[i].workers < opt->io_max && opt->jobs[i].workers > 1)
			tool_die("option -s: %llu bytes are less than a request for each of %u workers",
				 (unsigned long long)opt->size, opt->jobs[i].workers);
	}
}

void gdsio_options_parse(int argc, char **argv, struct gdsio_options *opt)
{
	static const struct option longs[] = { { "lib", required_argument, NULL, 'L' },
					       { "json", required_argument, NULL, 'J' },
					       { "help", no_argument, NULL, 'h' },
					       { NULL, 0, NULL, 0 } };
	int c;

	*opt = (struct gdsio_options){ .io_min = 1 << 20, .io_max = 1 << 20, .align = 4096 };
	while ((c = getopt_long(argc, argv, "f:D:d:n:w:s:o:i:m:x:I:T:k:a:UVbRFph", longs, NULL)) != -1)
		value_option(c, opt);
	if (optind + 1 == argc && !opt->nr_jobs)
		gdsio_jobfile_read(argv[optind++], opt);
	if (optind < argc)
		tool_die("unexpected argument \"%s\"", argv[optind]);
	check(opt);
}
