// SPDX-License-Identifier: MIT
#include "net/fpga/options.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/option.h"
#include "net/fpga/data.h"
#include "net/fpga/track.h"

#define PORT	 2000
#define SMALLEST 64U
#define LARGEST	 16384U /* a page of gpunetio_forward */

enum {
	OPT_PORT = 256,
	OPT_MTU,
	OPT_TYPE,
	OPT_MODE,
	OPT_SIZE,
	OPT_MAX_SIZE,
	OPT_RATE,
	OPT_GBPS,
	OPT_BURST,
	OPT_WINDOW,
	OPT_WAIT,
	OPT_TIMEOUT,
	OPT_SPIN,
	OPT_ONE_WAY,
	OPT_DUMP,
	OPT_MAX_LOST,
	OPT_JSON,
	OPT_TO,
	OPT_DEST_QPN,
	OPT_DEST_PSN,
	OPT_QPN,
	OPT_PSN,
	OPT_RADDR,
	OPT_RKEY,
	OPT_SLOTS,
	OPT_PAGE,
	OPT_TCLASS,
	OPT_HOP_LIMIT,
	OPT_SPORT,
	OPT_MAC
};

static const struct tool_name types[] = {{"rc", 0}, {"uc", 1}, {NULL, 0}};
static const struct tool_name modes[] = {{"send", 0}, {"imm", 1}, {NULL, 0}};

static const struct option longs[] = {
	{"help", no_argument, NULL, 'h'},
	{"gid", required_argument, NULL, 'l'},
	{"frames", required_argument, NULL, 'i'},
	{"port", required_argument, NULL, OPT_PORT},
	{"mtu", required_argument, NULL, OPT_MTU},
	{"qp-type", required_argument, NULL, OPT_TYPE},
	{"mode", required_argument, NULL, OPT_MODE},
	{"size", required_argument, NULL, OPT_SIZE},
	{"max-size", required_argument, NULL, OPT_MAX_SIZE},
	{"rate", required_argument, NULL, OPT_RATE},
	{"gbps", required_argument, NULL, OPT_GBPS},
	{"burst", required_argument, NULL, OPT_BURST},
	{"window", required_argument, NULL, OPT_WINDOW},
	{"wait", required_argument, NULL, OPT_WAIT},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"spin", no_argument, NULL, OPT_SPIN},
	{"one-way", no_argument, NULL, OPT_ONE_WAY},
	{"dump", required_argument, NULL, OPT_DUMP},
	{"max-lost", required_argument, NULL, OPT_MAX_LOST},
	{"json", required_argument, NULL, OPT_JSON},
	{"to", required_argument, NULL, OPT_TO},
	{"dest-qpn", required_argument, NULL, OPT_DEST_QPN},
	{"dest-psn", required_argument, NULL, OPT_DEST_PSN},
	{"qpn", required_argument, NULL, OPT_QPN},
	{"psn", required_argument, NULL, OPT_PSN},
	{"raddr", required_argument, NULL, OPT_RADDR},
	{"rkey", required_argument, NULL, OPT_RKEY},
	{"slots", required_argument, NULL, OPT_SLOTS},
	{"page", required_argument, NULL, OPT_PAGE},
	{"tclass", required_argument, NULL, OPT_TCLASS},
	{"hop-limit", required_argument, NULL, OPT_HOP_LIMIT},
	{"sport", required_argument, NULL, OPT_SPORT},
	{"mac", required_argument, NULL, OPT_MAC},
	{NULL, 0, NULL, 0},
};

static void usage(FILE *out)
{
	fprintf(out,
		"usage: fpga_peer -d NIC -c SERVER [options]\n"
		"       fpga_peer -d NIC --to ADDRESS --dest-qpn N [options]\n"
		"Plays an FPGA on the wire: RoCE frames without a NIC, sent at a rate, that somebody sends back.\n"
		"  -d NIC          soft_ and the name of an interface\n"
		"  -c HOST         gpunetio_forward there; addresses and numbers are exchanged over TCP\n"
		"  --port N        its TCP port (%d)\n"
		"  -l N, --gid N   index of the own address (IPv4, else not link-local)\n"
		"  --mtu N         largest path MTU: 256, 512, 1024, 2048 or 4096 (what both ports have)\n"
		"  --qp-type T     uc (default) or rc\n"
		"  --mode M        send (default), or imm: RDMA write with an immediate\n"
		"  -i N, --frames N  of each size (1000)\n"
		"  --size BYTES    this size only, %u to 1M; with -c to 16K\n"
		"  --max-size B    sizes 64, 128 ... up to this (16K)\n"
		"  --rate N        frames a second; 0: one after the other (default)\n"
		"  --gbps X        the same as 10^9 bits of frames a second\n"
		"  --burst N       frames that leave together (1)\n"
		"  --window N      frames under way at most; 0: any (1, with a rate: 0)\n"
		"  --wait MS       no answer for so long: what is under way is lost (200)\n"
		"  --timeout S     longest wait for the server, seconds (30)\n"
		"  --spin          poll all the time instead of sleeping\n"
		"  --one-way       nothing comes back\n"
		"  --max-lost N    more lost frames of a size are a failure, status 3 (any number is none)\n"
		"  --dump N        print the first N packets of either direction\n"
		"  --json F        also write the result as JSON to file F; - is stdout, and text goes to stderr\n"
		"  -h, --help      this text\n"
		"fields of packets:\n"
		"  --qpn N, --psn N            own queue pair, first packet (by chance)\n"
		"  --to ADDRESS                the peer, IPv4 or IPv6; without -c\n"
		"  --dest-qpn N, --dest-psn N  its queue pair, first packet from there (uc: any)\n"
		"  --raddr N, --rkey N, --slots N, --page N   memory there, for --mode imm\n"
		"  --tclass N, --hop-limit N   of the IP header (0, 64)\n"
		"  --sport N, --mac XX:XX:XX:XX:XX:XX   UDP source port, Ethernet address; packet sockets only\n",
		PORT, FPGA_STAMP_LEN);
}

static uint32_t mtu_value(const char *text)
{
	uint64_t value = tool_number("--mtu", text, 256, 4096);

	if (value & (value - 1))
		tool_die("option --mtu: %s is none of 256, 512, 1024, 2048 and 4096", text);
	return (uint32_t)value;
}

static double gbps_value(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value > 0) || value > 1000)
		tool_die("option --gbps: %s is no number above 0 up to 1000", text);
	return value;
}

static void set_to(struct fpga_options *options, const char *text)
{
	uint8_t ipv4[4];

	memset(options->to, 0, sizeof(options->to));
	if (inet_pton(AF_INET, text, ipv4) == 1) {
		options->to[10] = options->to[11] = 0xff;
		memcpy(options->to + 12, ipv4, sizeof(ipv4));
	} else if (inet_pton(AF_INET6, text, options->to) != 1) {
		tool_die("option --to: %s is no address", text);
	}
}

static void set_mac(struct fpga_options *options, const char *text)
{
	unsigned int bytes[6];
	char rest;

	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%c", &bytes[0], &bytes[1], &bytes[2], &bytes[3], &bytes[4], &bytes[5],
		   &rest) != 6)
		tool_die("option --mac: %s is no Ethernet address", text);
	for (int i = 0; i < 6; i++)
		options->mac[i] = (uint8_t)bytes[i];
	options->has_mac = true;
}

/* Fields of packets. */
static bool field_option(int opt, struct fpga_options *options)
{
	switch (opt) {
	case OPT_TO:
		set_to(options, optarg);
		return true;
	case OPT_DEST_QPN:
		options->dest_qpn = tool_number("--dest-qpn", optarg, 0, 0xffffff);
		return true;
	case OPT_DEST_PSN:
		options->dest_psn = tool_number("--dest-psn", optarg, 0, 0xffffff);
		return true;
	case OPT_QPN:
		options->qpn = tool_number("--qpn", optarg, 2, 0xffffff);
		return true;
	case OPT_PSN:
		options->psn = tool_number("--psn", optarg, 0, 0xffffff);
		return true;
	case OPT_RADDR:
		options->raddr = tool_number("--raddr", optarg, 0, UINT64_MAX);
		return true;
	case OPT_RKEY:
		options->rkey = tool_number("--rkey", optarg, 0, UINT32_MAX);
		return true;
	case OPT_SLOTS:
		options->slots = tool_number("--slots", optarg, 1, 4096);
		return true;
	case OPT_PAGE:
		options->page = tool_number("--page", optarg, 1, 1 << 30);
		return true;
	case OPT_TCLASS:
		options->tclass = (uint8_t)tool_number("--tclass", optarg, 0, 255);
		return true;
	case OPT_HOP_LIMIT:
		options->hop_limit = (uint8_t)tool_number("--hop-limit", optarg, 1, 255);
		return true;
	case OPT_SPORT:
		options->sport = tool_number("--sport", optarg, 1, 65535);
		return true;
	case OPT_MAC:
		set_mac(options, optarg);
		return true;
	default:
		return false;
	}
}

/* How fast. */
static bool pace_option(int opt, struct fpga_options *options, bool *window_p)
{
	switch (opt) {
	case OPT_RATE:
		options->rate = tool_number("--rate", optarg, 0, 100000000);
		return true;
	case OPT_GBPS:
		options->gbps = gbps_value(optarg);
		return true;
	case OPT_BURST:
		options->burst = (uint32_t)tool_number("--burst", optarg, 1, 1 << 20);
		return true;
	case OPT_WINDOW:
		options->window = (uint32_t)tool_number("--window", optarg, 0, 1 << 20);
		*window_p = true;
		return true;
	case OPT_WAIT:
		options->wait_ms = (uint32_t)tool_number("--wait", optarg, 1, 3600000);
		return true;
	case OPT_TIMEOUT:
		options->timeout_s = (uint32_t)tool_number("--timeout", optarg, 1, 3600);
		return true;
	case OPT_SPIN:
		options->spin = true;
		return true;
	case OPT_ONE_WAY:
		options->one_way = true;
		return true;
	default:
		return false;
	}
}

static bool common_option(int opt, struct fpga_options *options)
{
	switch (opt) {
	case 'c':
		options->server = optarg;
		return true;
	case 'd':
		options->nic = optarg;
		return true;
	case 'i':
		options->frames = tool_number("-i", optarg, 1, FPGA_MAX_FRAMES);
		return true;
	case 'l':
		options->gid = (int)tool_number("-l", optarg, 0, 255);
		return true;
	case OPT_PORT:
		options->port = (uint16_t)tool_number("--port", optarg, 1, 65535);
		return true;
	case OPT_MTU:
		options->mtu = mtu_value(optarg);
		return true;
	case OPT_TYPE:
		options->uc = tool_name_value("--qp-type", optarg, types);
		return true;
	case OPT_MODE:
		options->imm = tool_name_value("--mode", optarg, modes);
		return true;
	case OPT_DUMP:
		options->dump = (uint32_t)tool_number("--dump", optarg, 0, 1 << 20);
		return true;
	case OPT_MAX_LOST:
		options->max_lost = tool_number("--max-lost", optarg, 0, FPGA_MAX_FRAMES);
		return true;
	case OPT_JSON:
		options->json = optarg;
		return true;
	default:
		return false;
	}
}

static void fill_sizes(struct fpga_options *options, uint32_t only, uint32_t max)
{
	if (only) {
		options->sizes[options->nr_sizes++] = only;
		return;
	}
	for (uint32_t size = SMALLEST; size <= max && options->nr_sizes < FPGA_MAX_SIZES; size *= 2)
		options->sizes[options->nr_sizes++] = size;
}

static void check(const struct fpga_options *options)
{
	static const uint8_t none[16];
	bool to = memcmp(options->to, none, sizeof(none)) != 0;

	if (!options->nic)
		tool_die("option -d: the NIC is needed, soft_ and the name of an interface");
	if (options->server && (to || options->dest_qpn != FPGA_ANY || options->dest_psn != FPGA_ANY))
		tool_die("options -c and --to, --dest-qpn, --dest-psn: what the server says, or what is given");
	if (!options->server && (!to || options->dest_qpn == FPGA_ANY))
		tool_die("option -c, or --to and --dest-qpn: the peer is needed");
	if (options->server && options->one_way)
		tool_die("options -c and --one-way: gpunetio_forward sends back");
	if (!options->server && !options->uc && options->dest_psn == FPGA_ANY)
		tool_die("option --dest-psn: a reliable connection needs it");
	if (!options->server && options->imm &&
	    (options->raddr == FPGA_ANY || options->rkey == FPGA_ANY || options->slots == FPGA_ANY ||
	     options->page == FPGA_ANY))
		tool_die("option --mode imm: --raddr, --rkey, --slots and --page say where frames are written");
	if (options->rate && options->gbps > 0)
		tool_die("options --rate and --gbps: it is one or the other");
	for (unsigned int i = 0; i < options->nr_sizes; i++) {
		if (options->sizes[i] > LARGEST && options->server)
			tool_die("option --size: gpunetio_forward takes frames of up to %u bytes", LARGEST);
		if (options->imm && !options->server && options->sizes[i] > options->page)
			tool_die("option --page: frames of %u bytes do not fit", options->sizes[i]);
	}
}

void fpga_options_parse(int argc, char **argv, struct fpga_options *options)
{
	uint32_t only = 0, max = LARGEST;
	bool window = false;
	int opt;

	*options = (struct fpga_options){.port = PORT,
					 .gid = -1,
					 .uc = true,
					 .frames = 1000,
					 .burst = 1,
					 .wait_ms = 200,
					 .timeout_s = 30,
					 .max_lost = FPGA_ANY,
					 .out = stdout,
					 .dest_qpn = FPGA_ANY,
					 .dest_psn = FPGA_ANY,
					 .qpn = FPGA_ANY,
					 .psn = FPGA_ANY,
					 .raddr = FPGA_ANY,
					 .rkey = FPGA_ANY,
					 .slots = FPGA_ANY,
					 .page = FPGA_ANY,
					 .sport = FPGA_ANY};
	while ((opt = getopt_long(argc, argv, "hc:d:i:l:", longs, NULL)) != -1) {
		if (opt == 'h') {
			usage(stdout);
			exit(tool_finish(EXIT_SUCCESS));
		}
		if (opt == OPT_SIZE)
			only = (uint32_t)tool_number("--size", optarg, FPGA_STAMP_LEN, FPGA_MAX_SIZE);
		else if (opt == OPT_MAX_SIZE)
			max = (uint32_t)tool_number("--max-size", optarg, SMALLEST, FPGA_MAX_SIZE);
		else if (!common_option(opt, options) && !pace_option(opt, options, &window) &&
			 !field_option(opt, options)) {
			usage(stderr);
			exit(EXIT_FAILURE);
		}
	}
	if (optind < argc)
		tool_die("%s: not an option", argv[optind]);
	if (!window && !options->rate && !(options->gbps > 0) && !options->one_way)
		options->window = options->burst;
	fill_sizes(options, only, max);
	check(options);
	if (options->json && !strcmp(options->json, "-"))
		options->out = stderr;
}
