// SPDX-License-Identifier: MIT
#include "net/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define SMALLEST 64

enum { OPT_JSON = 256, OPT_SELF, OPT_PORT, OPT_GID, OPT_MTU, OPT_QP_TYPE, OPT_TIMEOUT, OPT_SIZE, OPT_MAX_SIZE,
       OPT_THREADS, OPT_MEMORY, OPT_LISTEN };

const struct tool_name net_qp_types[] = { { "rc", 0 }, { "uc", 1 }, { NULL, 0 } };
const struct tool_name net_memories[] = { { "host", NET_MEMORY_HOST }, { "gpu", NET_MEMORY_GPU }, { NULL, 0 } };

static const struct option longs[] = {
	{ "help", no_argument, NULL, 'h' },	     { "json", required_argument, NULL, OPT_JSON },
	{ "self", no_argument, NULL, OPT_SELF },     { "port", required_argument, NULL, OPT_PORT },
	{ "gid", required_argument, NULL, OPT_GID }, { "mtu", required_argument, NULL, OPT_MTU },
	{ "qp-type", required_argument, NULL, OPT_QP_TYPE },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "max-size", required_argument, NULL, OPT_MAX_SIZE },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "listen-fd", required_argument, NULL, OPT_LISTEN },
	{ NULL, 0, NULL, 0 },
};

static void usage(const struct net_program *program, FILE *out)
{
	fprintf(out, "usage: %s [-c SERVER] [options]\n%s\nWithout -c or --self it is the server.\n", program->name,
		program->about);
	fprintf(out,
		"  -c HOST         be the client of the server there\n"
		"  -d NIC          NIC, its exact name (the first there is)\n"
		"  -g ADDRESS      GPU, its PCI address (the first there is)\n"
		"  -i N            iterations for each size (%llu)\n"
		"  -l N, --gid N   index of the NIC's address (the first of RoCE version 2 that is not link-local)\n"
		"  -p N            who rings the doorbell: 0 automatic (default), 1 CPU proxy, 2 GPU, 6 GPU with BlueFlame\n",
		(unsigned long long)program->iters);
	if (program->takes & NET_TAKES_SCOPE)
		fprintf(out, "  -e N            0: each thread puts by itself (default), 1: warps do together\n");
	if (program->takes & NET_TAKES_DBR)
		fprintf(out, "  -r N            doorbell record: 0 valid (default), 1 none, 2 emulated by software\n");
	if (program->takes & NET_TAKES_THREADS)
		fprintf(out, "  --threads N     threads of the kernel, multiple of 32 (512)\n");
	if (program->takes & NET_TAKES_MEMORY)
		fprintf(out, "  --memory M      of the server: host (default) or gpu\n");
	fprintf(out,
		"  --size BYTES    this size only\n"
		"  --max-size B    sizes up to this (%zu)\n"
		"  --port N        TCP port of the server (%d)\n"
		"  --mtu N         largest path MTU: 256, 512, 1024, 2048 or 4096 (what both ports have)\n"
		"  --qp-type T     rc (default) or uc; both ends alike\n"
		"  --timeout S     longest wait for anything, seconds (30)\n"
		"  --self          run both ends, on this machine\n"
		"  --json F        also write the result as JSON to file F; - is stdout, and text goes to stderr\n"
		"  -h, --help      this text\n",
		program->max_size, NET_PORT);
}

static int handler_value(const char *text)
{
	uint64_t value = tool_number("-p", text, 0, 6);

	if (value > 2 && value != 6)
		tool_die("option -p: %s is none of 0, 1, 2 and 6", text);
	return (int)value;
}

static unsigned int mtu_value(const char *text)
{
	uint64_t value = tool_number("--mtu", text, 256, 4096);

	if (value & (value - 1))
		tool_die("option --mtu: %s is none of 256, 512, 1024, 2048 and 4096", text);
	return (unsigned int)value;
}

/* Options that only some programs have. */
static bool own_option(int opt, struct net_options *options, unsigned int takes)
{
	switch (opt) {
	case 'e':
		options->scope = (int)tool_number("-e", optarg, 0, 1);
		return takes & NET_TAKES_SCOPE;
	case 'r':
		options->dbr = (int)tool_number("-r", optarg, 0, 2);
		return takes & NET_TAKES_DBR;
	case OPT_THREADS:
		options->threads = (unsigned int)tool_number("--threads", optarg, 32, 1024);
		return takes & NET_TAKES_THREADS;
	case OPT_MEMORY:
		options->memory = tool_name_value("--memory", optarg, net_memories);
		return takes & NET_TAKES_MEMORY;
	default:
		return false;
	}
}

static bool common_option(int opt, struct net_options *options)
{
	switch (opt) {
	case 'c':
		options->server = optarg;
		return true;
	case 'd':
		options->device = optarg;
		return true;
	case 'g':
		options->gpu = optarg;
		return true;
	case 'i':
		options->iters = tool_number("-i", optarg, 1, 1 << 22);
		return true;
	case 'l':
	case OPT_GID:
		options->gid = (int)tool_number(opt == 'l' ? "-l" : "--gid", optarg, 0, 255);
		return true;
	case 'p':
		options->handler = handler_value(optarg);
		return true;
	case OPT_JSON:
		options->json = optarg;
		return true;
	case OPT_SELF:
		options->self = true;
		return true;
	case OPT_PORT:
		options->port = (uint16_t)tool_number("--port", optarg, 1, 65535);
		return true;
	case OPT_MTU:
		options->mtu = mtu_value(optarg);
		return true;
	case OPT_QP_TYPE:
		options->uc = tool_name_value("--qp-type", optarg, net_qp_types);
		return true;
	case OPT_TIMEOUT:
		options->timeout_s = (unsigned int)tool_number("--timeout", optarg, 1, 3600);
		return true;
	case OPT_LISTEN:
		options->listen_fd = (int)tool_number("--listen-fd", optarg, 3, 1 << 20);
		return true;
	default:
		return false;
	}
}

/* 1, 64, 128 and so on; or one. */
static void fill_sizes(struct net_options *options, size_t only, size_t max)
{
	if (only) {
		options->sizes[options->nr_sizes++] = only;
		return;
	}
	options->sizes[options->nr_sizes++] = 1;
	for (size_t size = SMALLEST; size <= max; size *= 2)
		options->sizes[options->nr_sizes++] = size;
}

static void check(const struct net_options *options)
{
	if (options->self && options->server)
		tool_die("options -c and --self: it is one or the other");
	if (!(options->program->takes & NET_TAKES_THREADS))
		return;
	if (options->threads % (options->threads > 256 ? 256 : 32))
		tool_die("option --threads: %u is no multiple of %d", options->threads, options->threads > 256 ? 256 : 32);
	if (options->iters % options->threads)
		tool_die("option -i: %llu is no multiple of the %u threads", (unsigned long long)options->iters,
			 options->threads);
}

void net_options_parse(int argc, char **argv, const struct net_program *program, struct net_options *options)
{
	size_t only = 0, max = program->max_size;
	int opt;

	*options = (struct net_options){ .program = program, .iters = program->iters, .gid = -1, .port = NET_PORT,
					 .timeout_s = 30, .threads = 512, .listen_fd = -1, .out = stdout,
					 .verdict = stdout };
	while ((opt = getopt_long(argc, argv, "hc:d:g:i:l:p:e:r:", longs, NULL)) != -1) {
		if (opt == 'h') {
			usage(program, stdout);
			exit(EXIT_SUCCESS);
		}
		if (opt == OPT_SIZE)
			only = tool_number("--size", optarg, 1, program->max_size);
		else if (opt == OPT_MAX_SIZE)
			max = tool_number("--max-size", optarg, 1, program->max_size);
		else if (!own_option(opt, options, program->takes) && !common_option(opt, options)) {
			usage(program, stderr);
			exit(EXIT_FAILURE);
		}
	}
	if (optind < argc)
		tool_die("%s: not an option", argv[optind]);
	fill_sizes(options, only, max);
	check(options);
	if (options->json && !strcmp(options->json, "-"))
		options->out = options->verdict = stderr;
	if (options->listen_fd >= 0 && (options->out = fopen("/dev/null", "we")) == NULL)
		tool_die("/dev/null: %s", strerror(errno));
}
