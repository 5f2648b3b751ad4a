// SPDX-License-Identifier: MIT
#include "net/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "net/kernels/kernels.h"

#define SMALLEST 64

enum { OPT_JSON = 256, OPT_SELF, OPT_PORT, OPT_GID, OPT_MTU, OPT_QP_TYPE, OPT_TIMEOUT, OPT_SIZE, OPT_MAX_SIZE,
       OPT_THREADS, OPT_MEMORY, OPT_LISTEN, OPT_ECHO,
       OPT_WORKERS, OPT_MODE, OPT_RATE, OPT_INLINE, OPT_SERVER_DEVICE, OPT_SERVER_GPU, OPT_QPS };

const struct tool_name net_qp_types[] = { { "rc", 0 }, { "uc", 1 }, { NULL, 0 } };
const struct tool_name net_memories[] = { { "host", NET_MEMORY_HOST }, { "gpu", NET_MEMORY_GPU }, { NULL, 0 } };

const struct tool_name net_echoes[] = { { "gpu", NET_ECHO_GPU }, { "cpu", NET_ECHO_CPU }, { NULL, 0 } };
static const struct tool_name selves[] = { { "auto", NET_SELF_AUTO }, { "thread", NET_SELF_THREAD },
					   { "process", NET_SELF_PROCESS }, { NULL, 0 } };
static const struct tool_name modes[] = { { "send", 0 }, { "imm", 1 }, { NULL, 0 } };

static const struct option longs[] = {
	{ "help", no_argument, NULL, 'h' },	     { "json", required_argument, NULL, OPT_JSON },
	{ "self", optional_argument, NULL, OPT_SELF }, { "port", required_argument, NULL, OPT_PORT },
	{ "gid", required_argument, NULL, OPT_GID }, { "mtu", required_argument, NULL, OPT_MTU },
	{ "qp-type", required_argument, NULL, OPT_QP_TYPE },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "max-size", required_argument, NULL, OPT_MAX_SIZE },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "echo", required_argument, NULL, OPT_ECHO },
	{ "workers", required_argument, NULL, OPT_WORKERS },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "rate", required_argument, NULL, OPT_RATE },
	{ "inline", no_argument, NULL, OPT_INLINE },
	{ "server-device", required_argument, NULL, OPT_SERVER_DEVICE },
	{ "server-gpu", required_argument, NULL, OPT_SERVER_GPU },
	{ "qps", required_argument, NULL, OPT_QPS },
	{ "listen-fd", required_argument, NULL, OPT_LISTEN },
	{ NULL, 0, NULL, 0 },
};

/* An unreliable connection has neither reads nor atomic operations. */
static bool needs_rc(const struct net_program *program)
{
	return program->reads || program->atomics;
}

static void usage_own(const struct net_program *program, FILE *out)
{
	unsigned int takes = program->takes;

	if (takes & NET_TAKES_SCOPE)
		fprintf(out, "  -e N            0: each thread puts by itself (default), 1: warps do together\n");
	if (takes & NET_TAKES_DBR)
		fprintf(out, "  -r N            doorbell record: 0 valid (default), 1 none, 2 emulated by software\n");
	if (takes & NET_TAKES_INLINE)
		fprintf(out, "  --inline        messages of up to %u bytes travel inside of the request; this side's\n",
			program->max_inline);
	if (takes & NET_TAKES_THREADS)
		fprintf(out, "  --threads N     threads of the kernel, multiple of 32 (512, or 32 for each queue pair)\n");
	if (takes & NET_TAKES_QPS)
		fprintf(out, "  --qps N         queue pairs that they share evenly, 1 to %d (1)\n", BL_NET_MAX_QPS);
	if (takes & NET_TAKES_MEMORY)
		fprintf(out, "  --memory M      of the server: host (default) or gpu\n");
	if (takes & NET_TAKES_ECHO)
		fprintf(out, "  --echo WHO      who sends messages back: gpu (default) or cpu\n"
			     "  --workers N     threads of the kernel that does: 1, 2, 4 ... 64 (1)\n");
	if (takes & NET_TAKES_RATE)
		fprintf(out, "  --mode M        send (default), or imm: RDMA write with an immediate\n"
			     "  --rate N        messages a second; 0: one after the other (default)\n");
}

static void usage(const struct net_program *program, FILE *out)
{
	const char *qp_types = needs_rc(program) ? "" :
			       program->uc	 ? "  --qp-type T     rc or uc (uc); both ends alike\n" :
						   "  --qp-type T     rc or uc (rc); both ends alike\n";

	fprintf(out, "usage: %s %s[options]\n%s\n", program->name, program->role == 's' ? "" : "[-c SERVER] ", program->about);
	if (!program->role)
		fprintf(out, "Without -c or --self it is the server.\n");
	if (program->role != 's')
		fprintf(out, "  -c HOST         be the client of the server there\n"
			     "  --self[=WHERE]  start the server as well: thread of this program, process, or auto (%s)\n"
			     "  --server-device NIC, --server-gpu ADDRESS  of that server (the same as here)\n",
			program->server ? "process" : "a thread if it uses the same GPU");
	fprintf(out,
		"  -d NIC          NIC, its exact name (the best there is)\n"
		"  -g ADDRESS      GPU, its PCI address (the first there is)\n"
		"  -i N            operations for each size (%llu)\n"
		"  -l N, --gid N   index of the NIC's address (the first of RoCE version 2 that is not link-local)\n"
		"  -p N            who rings the doorbell: 0 automatic (default), 1 CPU proxy, 2 GPU, 6 GPU with BlueFlame,\n"
		"                  17 CPU proxy with a word for each slot\n",
		(unsigned long long)program->iters);
	usage_own(program, out);
	fprintf(out,
		"  --size BYTES    this size only\n"
		"  --max-size B    sizes up to this (%zu; at most %zu)\n"
		"  --port N        TCP port of the server (%d)\n"
		"  --mtu N         largest path MTU: 256, 512, 1024, 2048 or 4096 (what both ports have)\n"
		"%s"
		"  --timeout S     longest wait for anything, seconds (30)\n"
		"  --json F        also write the result as JSON to file F; - is stdout, and text goes to stderr\n"
		"  -h, --help      this text\n",
		program->max_size, program->largest, NET_PORT, qp_types);
}

static int handler_value(const char *text)
{
	uint64_t value = tool_number("-p", text, 0, 17);

	if (value > 2 && value != 6 && value != 17)
		tool_die("option -p: %s is none of 0, 1, 2, 6 and 17", text);
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
		options->threads = (unsigned int)tool_number("--threads", optarg, 32, NET_MAX_THREADS);
		return takes & NET_TAKES_THREADS;
	case OPT_QPS:
		options->qps = (unsigned int)tool_number("--qps", optarg, 1, BL_NET_MAX_QPS);
		return takes & NET_TAKES_QPS;
	case OPT_MEMORY:
		options->memory = tool_name_value("--memory", optarg, net_memories);
		return takes & NET_TAKES_MEMORY;
	case OPT_ECHO:
		options->echo = tool_name_value("--echo", optarg, net_echoes);
		/* of a client: for the server of --self */
		return takes & (NET_TAKES_ECHO | NET_TAKES_RATE);
	case OPT_WORKERS:
		options->workers = (unsigned int)tool_number("--workers", optarg, 1, 64);
		return takes & (NET_TAKES_ECHO | NET_TAKES_RATE);
	case OPT_MODE:
		options->imm = tool_name_value("--mode", optarg, modes);
		return takes & NET_TAKES_RATE;
	case OPT_RATE:
		options->rate = (unsigned int)tool_number("--rate", optarg, 0, 100000000);
		return takes & NET_TAKES_RATE;
	case OPT_INLINE:
		options->inlined = true;
		return takes & NET_TAKES_INLINE;
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
		options->self = optarg ? tool_name_value("--self", optarg, selves) : NET_SELF_AUTO;
		return true;
	case OPT_SERVER_DEVICE:
		options->server_device = optarg;
		return true;
	case OPT_SERVER_GPU:
		options->server_gpu = optarg;
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
	if (options->program->min_size <= 1 || max < SMALLEST)
		options->sizes[options->nr_sizes++] = options->program->min_size;
	for (size_t size = SMALLEST; size <= max; size *= 2)
		options->sizes[options->nr_sizes++] = size;
}

/* Parts of queue pairs are whole warps, and alike. */
static void check_threads(const struct net_options *options)
{
	unsigned int max = options->program->max_block, part = options->threads / options->qps;

	if (options->threads % 32)
		tool_die("option --threads: %u is no multiple of 32", options->threads);
	if (options->threads % (options->qps * 32))
		tool_die("option --threads: %u is not a number of warps for each of the %u queue pairs", options->threads,
			 options->qps);
	if (options->program->block_has_qp && part > max)
		tool_die("option --threads: %u for a queue pair do not fit into a block of %u", part, max);
	if (options->iters % options->threads)
		tool_die("option -i: %llu is no multiple of the %u threads", (unsigned long long)options->iters,
			 options->threads);
}

static void check_inline(const struct net_options *options)
{
	for (unsigned int i = 0; i < options->nr_sizes && options->program->takes & NET_TAKES_THREADS; i++) {
		size_t size = options->sizes[i];

		if (size > options->program->max_inline || (!options->program->block_has_qp && size & (size - 1)))
			tool_die("option --inline: %zu bytes do not fit into a request", size);
	}
}

static void check(const struct net_options *options)
{
	if (options->inlined)
		check_inline(options);

	if (options->self && options->server)
		tool_die("options -c and --self: it is one or the other");
	if (options->program->role == 's' && (options->self || options->server))
		tool_die("options -c and --self: this is a server");
	if (options->program->role == 'c' && !options->self && !options->server)
		tool_die("option -c or --self: one is needed, this is a client");
	if (!options->self && (options->server_device || options->server_gpu))
		tool_die("options --server-device and --server-gpu: only with --self");
	if (options->uc && needs_rc(options->program))
		tool_die("option --qp-type: an unreliable connection has neither reads nor atomic operations");
	if (options->workers & (options->workers - 1))
		tool_die("option --workers: %u is no power of two", options->workers);
	if (options->program->takes & NET_TAKES_THREADS)
		check_threads(options);
}

/* Without --threads: 512, as long as that is a warp for each queue pair. */
static void fill_threads(struct net_options *options, bool iters_given)
{
	if (!options->threads)
		options->threads = options->qps * 32 > 512 || 512 % (options->qps * 32) ? options->qps * 32 : 512;
	if (!iters_given)
		options->iters = (options->iters + options->threads - 1) / options->threads * options->threads;
}

void net_options_parse(int argc, char **argv, const struct net_program *program, struct net_options *options)
{
	size_t only = 0, max = program->max_size;
	bool iters_given = false;
	int opt;

	*options = (struct net_options){ .program = program, .iters = program->iters, .gid = -1, .port = NET_PORT,
					 .timeout_s = 30, .uc = program->uc, .workers = 1,
					 .qps = 1, .listen_fd = -1, .out = stdout,
					 .verdict = stdout };
	while ((opt = getopt_long(argc, argv, "hc:d:g:i:l:p:e:r:", longs, NULL)) != -1) {
		if (opt == 'h') {
			usage(program, stdout);
			exit(EXIT_SUCCESS);
		}
		iters_given |= opt == 'i';
		if (opt == OPT_SIZE)
			only = tool_number("--size", optarg, program->min_size, program->largest);
		else if (opt == OPT_MAX_SIZE)
			max = tool_number("--max-size", optarg, program->min_size, program->largest);
		else if (!own_option(opt, options, program->takes) && !common_option(opt, options)) {
			usage(program, stderr);
			exit(EXIT_FAILURE);
		}
	}
	if (optind < argc)
		tool_die("%s: not an option", argv[optind]);
	if (options->inlined && program->takes & NET_TAKES_THREADS && max > program->max_inline)
		max = program->max_inline;
	fill_sizes(options, only, max);
	fill_threads(options, iters_given);
	check(options);
	if (options->json && !strcmp(options->json, "-"))
		options->out = options->verdict = stderr;
	if (options->listen_fd >= 0 && (options->out = fopen("/dev/null", "we")) == NULL)
		tool_die("/dev/null: %s", strerror(errno));
}
