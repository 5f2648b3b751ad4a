// SPDX-License-Identifier: MIT
/*
 * mix - requests of all kinds between two devices, each end knowing what must come of each
 *
 * A server waits for clients, one after the other, and does what they ask for. For each path MTU there is a new
 * connection; first the client posts requests and the server is their responder, then the other way round. The client
 * prints a line for each turn, both print the counters of software NICs.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/option.h"
#include "net/wire.h"
#include "turn.h"

#define MAX_MTUS 5

/**
 * struct options - of the command line
 * @server: where the server is; NULL: be it
 * @clients: a server ends after so many
 * @turns:  1: the client's requests, 2: the server's, 3: both
 */
struct options {
	const char *nic;
	const char *server;
	uint16_t port;
	unsigned int timeout_s;
	unsigned int clients;
	uint32_t turns;
	struct mix_case one;
	uint32_t mtus[MAX_MTUS];
	unsigned int nr_mtus;
};

/* What a client asks for; nothing more: @nr 0. */
struct hello {
	struct mix_case one;
	uint32_t turns;
};

static const struct tool_name op_names[] = {
	{ "send", MIX_SENDS }, { "write", MIX_WRITES }, { "read", MIX_READS }, { "atomic", MIX_ATOMICS }, { NULL, 0 },
};

static const struct tool_name types[] = { { "rc", 0 }, { "uc", 1 }, { NULL, 0 } };
static const struct tool_name turn_names[] = { { "client", 1 }, { "server", 2 }, { "both", 3 }, { NULL, 0 } };

static void usage(FILE *to)
{
	fputs("usage: wire_mix -d NIC [OPTION]...            the server\n"
	      "       wire_mix -d NIC -c SERVER [OPTION]...  a client\n\n"
	      "  --port N        of the control connection; 3000\n"
	      "  --timeout S     longest wait for anything; 30\n"
	      "  --clients N     the server ends after so many; 1\n"
	      "Of a client:\n"
	      "  --qp-type TYPE  rc or uc\n"
	      "  --mtu LIST      path MTUs, such as 256,4096; 1024\n"
	      "  --psn N         first sequence number of both ends; 0\n"
	      "  --ops LIST      of send, write, read, atomic; all\n"
	      "  --requests N    in each turn; 64\n"
	      "  --turns WHO     client, server or both: whose requests\n"
	      "  --seed N        of the requests; by the clock\n"
	      "  --lossy         messages of an unreliable connection may get lost\n",
	      to);
}

static void add_mtus(struct options *options, char *text)
{
	char *rest = NULL;

	options->nr_mtus = 0;
	for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (options->nr_mtus == MAX_MTUS)
			tool_die("--mtu: more than %d", MAX_MTUS);
		options->mtus[options->nr_mtus++] = (uint32_t)tool_number("--mtu", word, 256, 4096);
	}
}

static uint32_t ops_of(char *text)
{
	char *rest = NULL;
	uint32_t ops = 0;

	for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		ops |= (uint32_t)tool_name_value("--ops", word, op_names);
	return ops;
}

static void parse_one(struct options *options, int option, char *text)
{
	switch (option) {
	case 'd':
		options->nic = text;
		break;
	case 'c':
		options->server = text;
		break;
	case 'p':
		options->port = (uint16_t)tool_number("--port", text, 1, 65535);
		break;
	case 't':
		options->timeout_s = (unsigned int)tool_number("--timeout", text, 1, 3600);
		break;
	case 'n':
		options->clients = (unsigned int)tool_number("--clients", text, 1, 10000);
		break;
	case 'y':
		options->one.uc = (uint32_t)tool_name_value("--qp-type", text, types);
		break;
	case 'm':
		add_mtus(options, text);
		break;
	case 's':
		options->one.psn = (uint32_t)tool_number("--psn", text, 0, 0xffffff);
		break;
	case 'o':
		options->one.ops = ops_of(text);
		break;
	case 'r':
		options->one.nr = (uint32_t)tool_number("--requests", text, 1, 1 << 20);
		break;
	case 'w':
		options->turns = (uint32_t)tool_name_value("--turns", text, turn_names);
		break;
	case 'e':
		options->one.seed = tool_number("--seed", text, 0, UINT64_MAX);
		break;
	case 'l':
		options->one.lossy = 1;
		break;
	case 'h':
		usage(stdout);
		exit(0);
	default:
		usage(stderr);
		exit(1);
	}
}

static void parse(struct options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "port", 1, NULL, 'p' },     { "timeout", 1, NULL, 't' }, { "clients", 1, NULL, 'n' },
		{ "qp-type", 1, NULL, 'y' },  { "mtu", 1, NULL, 'm' },	   { "psn", 1, NULL, 's' },
		{ "ops", 1, NULL, 'o' },      { "requests", 1, NULL, 'r' }, { "turns", 1, NULL, 'w' },
		{ "seed", 1, NULL, 'e' },     { "lossy", 0, NULL, 'l' },   { "help", 0, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	*options = (struct options){
		.port = 3000,
		.timeout_s = 30,
		.clients = 1,
		.turns = 3,
		.one = { .nr = 64, .ops = MIX_ALL, .seed = (uint64_t)time(NULL) },
		.mtus = { 1024 },
		.nr_mtus = 1,
	};
	while ((option = getopt_long(argc, argv, "d:c:h", longs, NULL)) >= 0)
		parse_one(options, option, optarg);
	if (!options->nic || optind < argc)
		tool_die("which device? --help says more");
	if (options->one.uc && !(options->one.ops & (MIX_SENDS | MIX_WRITES)))
		tool_die("an unreliable connection has nothing but send and write");
	if (!options->one.uc)
		options->one.lossy = 0;
}

static int connect_end(struct mix_end *end, int sock, const struct mix_case *one, unsigned int timeout_s)
{
	struct bl_net_peer local, remote;
	int ret = mix_end_make(end, one->uc);

	if (ret)
		return ret;
	if (bl_net_qp_local(end->context, end->qp, 1, -1, &local))
		return tool_fail(EIO, "address: %s", bl_last_error(NULL));
	if (local.mtu < one->mtu)
		return tool_fail(EMSGSIZE, "path MTU %u: the port of this side has %u", one->mtu, local.mtu);
	local.mtu = one->mtu;
	local.psn = one->psn;
	end->peer.addr = (uintptr_t)end->data;
	end->peer.rkey = end->mr->rkey;
	ret = net_send(sock, NET_PEER, &local, sizeof(local), timeout_s);
	if (!ret)
		ret = net_send(sock, NET_REGION, &end->peer, sizeof(end->peer), timeout_s);
	if (!ret)
		ret = net_recv(sock, NET_PEER, &remote, sizeof(remote), timeout_s);
	if (!ret)
		ret = net_recv(sock, NET_REGION, &end->peer, sizeof(end->peer), timeout_s);
	if (ret)
		return ret;
	ret = bl_net_qp_connect(end->context, end->qp, (int)one->uc, &local, &remote);
	return ret ? tool_fail(-ret, "connect: %s", bl_last_error(NULL)) : net_barrier(sock, timeout_s);
}

static void say_turn(const struct mix_case *one, bool own, const struct mix_lost *lost)
{
	char text[80] = "";

	if (one->lossy)
		snprintf(text, sizeof(text), ", %" PRIu32 " of %" PRIu32 " lost, the last that came is %" PRIu32, lost->nr,
			 one->nr, lost->last);
	printf("%s mtu %" PRIu32 " psn 0x%06" PRIx32 ", requests of the %s: right%s\n", tool_value_name((int)one->uc, types), one->mtu,
	       one->psn, own ? "client" : "server", text);
	fflush(stdout);
}

/* A connection of its own for each. @turn: 1 the client's requests, 2 the server's. */
static int take_turn(struct mix_end *end, int sock, const struct options *options, const struct mix_case *one, uint32_t turn)
{
	bool client = options->server, request = client == (turn == 1);
	struct mix_lost lost = { .nr = 0 };
	int ret;

	if (request)
		ret = mix_turn_request(end, sock, one, options->timeout_s);
	else
		ret = mix_turn_respond(end, sock, one, options->timeout_s, &lost);
	/* whoever was the responder knows how many did not come */
	if (!ret && one->lossy)
		ret = request ? net_recv(sock, NET_VERDICT, &lost, sizeof(lost), options->timeout_s)
			      : net_send(sock, NET_VERDICT, &lost, sizeof(lost), options->timeout_s);
	if (!ret && client)
		say_turn(one, turn == 1, &lost);
	return ret;
}

static int do_case(struct mix_end *end, int sock, const struct options *options, const struct hello *hello)
{
	int ret = connect_end(end, sock, &hello->one, options->timeout_s);

	for (uint32_t turn = 1; !ret && turn <= 2; turn++) {
		if (hello->turns & turn)
			ret = take_turn(end, sock, options, &hello->one, turn);
	}
	return ret;
}

/* For the other end too; it waits for this one. */
static int give_up(int sock, int ret)
{
	char why[256];

	snprintf(why, sizeof(why), "%s", tool_why());
	if (sock >= 0)
		net_send_error(sock, why);
	return tool_fail(-ret, "%s", why);
}

static int serve(struct mix_end *end, const struct options *options, int sock)
{
	struct hello hello;
	int ret;

	for (;;) {
		ret = net_recv(sock, NET_HELLO, &hello, sizeof(hello), options->timeout_s);
		if (ret || !hello.one.nr)
			return ret;
		ret = do_case(end, sock, options, &hello);
		if (ret)
			return give_up(sock, ret);
	}
}

static int ask(struct mix_end *end, const struct options *options, int sock)
{
	struct hello hello = { .one = options->one, .turns = options->turns };
	int ret = 0;

	printf("# seed %" PRIu64 "\n", options->one.seed);
	for (unsigned int i = 0; !ret && i < options->nr_mtus; i++) {
		hello.one.mtu = options->mtus[i];
		ret = net_send(sock, NET_HELLO, &hello, sizeof(hello), options->timeout_s);
		if (!ret)
			ret = do_case(end, sock, options, &hello);
	}
	if (ret)
		return give_up(sock, ret);
	hello.one.nr = 0;
	return net_send(sock, NET_HELLO, &hello, sizeof(hello), options->timeout_s);
}

static int talk(struct mix_end *end, const struct options *options)
{
	int ret = 0, fd, sock;

	if (options->server) {
		sock = net_connect(options->server, options->port, true, options->timeout_s);
		if (sock < 0)
			return sock;
		ret = ask(end, options, sock);
		close(sock);
		return ret;
	}
	for (unsigned int i = 0; !ret && i < options->clients; i++) {
		fd = net_listen(options->port, false);
		if (fd < 0)
			return fd;
		if (!i)
			puts("listening");
		fflush(stdout);
		sock = net_accept(fd, options->timeout_s);
		if (sock < 0)
			return sock;
		ret = serve(end, options, sock);
		close(sock);
	}
	return ret;
}

static void say_counters(const struct mix_end *end)
{
	uint64_t values[BL_SNIC_NR_COUNTERS];

	mix_end_counters(end, values);
	for (int i = 0; i < BL_SNIC_NR_COUNTERS; i++) {
		if (values[i])
			printf("# %s %" PRIu64 "\n", bl_snic_counter_name((enum bl_snic_counter)i), values[i]);
	}
}

int main(int argc, char **argv)
{
	struct mix_end end = { .context = NULL };
	struct options options;
	int ret;

	parse(&options, argc, argv);
	net_catch_signals();
	ret = mix_end_open(&end, options.nic);
	if (!ret)
		ret = talk(&end, &options);
	if (ret)
		fprintf(stderr, "wire_mix: %s\n", tool_why());
	if (end.context)
		say_counters(&end);
	mix_end_close(&end);
	return tool_finish(ret ? EXIT_FAILURE : EXIT_SUCCESS);
}
