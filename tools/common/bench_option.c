// SPDX-License-Identifier: MIT
#include <getopt.h>
#include <stdlib.h>

#include "common/bench.h"
#include "common/error.h"

static void usage(const struct bench_cli *cli, FILE *out)
{
	fprintf(out, "usage: %s [options]\n  -h         this text\n%s", cli->name, cli->usage);
}

static void common(int opt, const struct bench_cli *cli, struct bench_options *bench)
{
	switch (opt) {
	case 'h':
		usage(cli, stdout);
		exit(EXIT_SUCCESS);
	case 's':
		bench->size = tool_number("-s", optarg, 1, SIZE_MAX / 2);
		break;
	case 'd':
		bench->ordinal = (int)tool_number("-d", optarg, 0, INT32_MAX);
		break;
	case 'w':
		bench->writes = tool_number("-w", optarg, 1, UINT32_MAX);
		break;
	case 'r':
		bench->reads = tool_number("-r", optarg, 1, UINT32_MAX);
		break;
	case 'a':
		bench->kind = tool_name_value("-a", optarg, tool_mem_kinds);
		break;
	case 'M':
		bench->map = tool_name_value("-M", optarg, bench_map_types);
		break;
	case BENCH_BIND:
		bench->bind = tool_name_value("--bind", optarg, tool_bind_names);
		break;
	case BENCH_JSON:
		bench->json = optarg;
		break;
	default: /* getopt said what is wrong */
		usage(cli, stderr);
		exit(EXIT_FAILURE);
	}
}

void bench_parse(int argc, char **argv, const struct bench_cli *cli, struct bench_options *bench, void *options)
{
	int opt;

	while ((opt = getopt_long(argc, argv, cli->letters, cli->longs, NULL)) != -1) {
		if (!cli->own || !cli->own(opt, options))
			common(opt, cli, bench);
	}
	if (optind < argc)
		tool_die("unexpected argument \"%s\"", argv[optind]);
}
