// SPDX-License-Identifier: MIT
#include "demo.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_NS	(100U * 1000 * 1000)
#define QUICK_BUDGET_NS (10U * 1000 * 1000)

const char *demo_program;

struct options {
	const char *svg;
	const char *html;
	const char *json;
	int device;
	bool quick;
	bool probe;
};

int demo_error(int err, const char *fmt, ...)
{
	va_list args;

	demo_progress_end();
	fprintf(stderr, "%s: ", demo_program);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	/* data that differs is no failure of a call: the text has said everything */
	if (err == EILSEQ)
		fputc('\n', stderr);
	else
		fprintf(stderr, ": %s\n", strerror(err));
	return -err;
}

static const char usage_text[] =
	"usage: %s [--device N] [--quick] [--svg FILE] [--html FILE] [--json FILE]\n"
	"       %s [--device N] --probe\n"
	"\n"
	"Maps GPU memory into the process, checks that CPU and GPU see each other's writes, and measures copies.\n"
	"\n"
	"  --device N   CUDA device, default 0\n"
	"  --quick      a tenth of the time per measurement\n"
	"  --svg FILE   write the curves as an image\n"
	"  --html FILE  write a report of one file%s%s\n"
	"  --json FILE  write all figures\n"
	"  --probe      only say which GPU there is, or why there is none\n"
	"  --help       this text\n"
	"\n"
	"Exit status: 0 all verified, 1 something failed or there is no GPU, 2 wrong usage.\n";

static void usage(const struct options *options)
{
	const char *html = options->html;

	printf(usage_text, demo_program, demo_program, html ? "; default " : "", html ? html : "");
}

static int parse_device(const char *text, int *device_p)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < 0 || value > INT_MAX) {
		fprintf(stderr, "%s: --device %s: not a device number\n", demo_program, text);
		return -EINVAL;
	}
	*device_p = (int)value;
	return 0;
}

/* Return: 0 go on, 1 done, or -EINVAL. */
static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{"device", required_argument, NULL, 'd'}, {"quick", no_argument, NULL, 'q'},
		{"svg", required_argument, NULL, 's'},	  {"html", required_argument, NULL, 'm'},
		{"json", required_argument, NULL, 'j'},	  {"probe", no_argument, NULL, 'p'},
		{"help", no_argument, NULL, 'h'},	  {NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 'd':
			if (parse_device(optarg, &options->device))
				return -EINVAL;
			break;
		case 'q':
			options->quick = true;
			break;
		case 's':
			options->svg = optarg;
			break;
		case 'm':
			options->html = optarg;
			break;
		case 'j':
			options->json = optarg;
			break;
		case 'p':
			options->probe = true;
			break;
		case 'h':
			usage(options);
			return 1;
		default:
			fprintf(stderr, "try %s --help\n", demo_program);
			return -EINVAL;
		}
	}
	if (optind == argc)
		return 0;
	fprintf(stderr, "%s: unexpected argument %s\ntry %s --help\n", demo_program, argv[optind], demo_program);
	return -EINVAL;
}

static int measure(struct demo_results *results, struct demo_gpu *gpu, struct demo_buffer *buf,
		   const struct options *options)
{
	uint64_t budget_ns = options->quick ? QUICK_BUDGET_NS : BUDGET_NS;
	int ret;

	ret = demo_facts(results, gpu, buf);
	if (!ret)
		ret = demo_verify(results, gpu, buf);
	if (!ret)
		ret = demo_measure(results, gpu, buf, budget_ns);
	if (!ret)
		ret = demo_measure_costs(results, gpu, buf, budget_ns);
	demo_progress_end();
	return ret;
}

static int run(struct demo_gpu *gpu, const struct options *options)
{
	static struct demo_results results;
	struct demo_buffer buf;
	int ret;

	ret = demo_gpu_open(gpu);
	if (ret)
		return ret;
	ret = demo_buffer_open(&buf, gpu, DEMO_MAX_BYTES);
	if (ret)
		goto close_gpu;
	results.emulated = gpu->emulated;
	results.clock_ns = demo_clock_cost_ns();
	results.first_pin_ns = buf.first_pin_ns;
	ret = measure(&results, gpu, &buf, options);
	if (!ret)
		ret = demo_show(&results, options->svg, options->html);
	if (!ret && options->json)
		ret = demo_write_json(&results, options->json);
	demo_buffer_close(&buf, gpu);
close_gpu:
	demo_gpu_close(gpu);
	return ret;
}

int demo_main(const char *program, const char *html, int argc, char **argv)
{
	struct options options = {.html = html};
	struct demo_gpu gpu;
	char why[256];
	int ret;

	demo_program = program;
	/* what getopt begins its messages with */
	argv[0] = (char *)program;
	ret = parse_options(argc, argv, &options);
	if (ret)
		return ret > 0 ? EXIT_SUCCESS : 2;
	ret = demo_gpu_probe(&gpu, options.device, why, sizeof(why));
	if (options.probe && !ret) {
		printf("%s at %s, CUDA %d.%d\n", gpu.name, gpu.pci, gpu.driver / 1000, gpu.driver % 1000 / 10);
		return EXIT_SUCCESS;
	}
	if (options.probe) {
		printf("%s\n", why);
		return EXIT_FAILURE;
	}
	if (ret) {
		fprintf(stderr, "%s: no GPU to run on: %s\n", demo_program, why);
		return EXIT_FAILURE;
	}
	if (run(&gpu, &options))
		return EXIT_FAILURE;
	if (html && options.html == html)
		printf("\nwrote %s\n", html);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
