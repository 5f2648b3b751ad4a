// SPDX-License-Identifier: MIT
/*
 * net_echo: sends the packets of fpga_peer back, one by one, with nothing between the sockets and this loop
 *
 * It is what gpunetio_forward over a software NIC is compared with: the same link, that is the same sockets, the same
 * headers and the same checks of what comes, but no NIC, no queues, no other thread and no GPU. It sleeps in the kernel
 * until there is a packet, as plain programs do, or polls.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/error.h"
#include "common/option.h"
#include "common/stats.h"
#include "net/cpu.h"
#include "net/forward.h"
#include "net/fpga/port.h"
#include "net/wire.h"

#define BUDGET	64
#define LOOK_NS 20000000ULL
#define YIELDS	1

static const struct bl_snic_transport_ops *const wire = &bl_snic_roce;

/* What the other thread of --relay is told: a packet is its, and is back; the end. */
enum { MINE, ITS, OVER };

/**
 * struct echo - the server
 * @port:  its end
 * @relay: packets go by way of another thread
 * @turn:  whose turn it is then
 * @sock:  to the client, or -1
 * @psn:   of the next packet
 * @sent, @full: packets that went back, and that found no room
 */
struct echo {
	struct fpga_port port;
	bool relay;
	_Alignas(128) atomic_int turn;
	_Alignas(128) int sock;
	uint32_t psn;
	uint64_t sent;
	uint64_t full;
};

enum { OPT_PORT = 256, OPT_RELAY, OPT_SPIN, OPT_TIMEOUT };

static const struct option longs[] = {
	{"help", no_argument, NULL, 'h'},
	{"port", required_argument, NULL, OPT_PORT},
	{"relay", no_argument, NULL, OPT_RELAY},
	{"spin", no_argument, NULL, OPT_SPIN},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{NULL, 0, NULL, 0},
};

static void usage(FILE *out)
{
	fprintf(out, "usage: net_echo -d NIC [-l N] [--port N] [--timeout S] [--spin] [--relay]\n"
		     "The server of fpga_peer, --qp-type uc, that is as plain as can be.\n"
		     "  -d NIC       soft_ and the name of an interface\n"
		     "  -l N         index of the own address\n"
		     "  --port N     TCP port (2000)\n"
		     "  --timeout S  longest wait, seconds (30)\n"
		     "  --spin       poll instead of sleeping until a packet comes\n"
		     "  --relay      each packet goes by way of another thread that polls, as a GPU would, and does "
		     "nothing\n");
}

static void parse(int argc, char **argv, struct fpga_options *options, bool *relay)
{
	int opt;

	*options = (struct fpga_options){.port = 2000,
					 .gid = -1,
					 .uc = true,
					 .timeout_s = 30,
					 .out = stdout,
					 .server = "",
					 .qpn = FPGA_ANY,
					 .psn = FPGA_ANY,
					 .sport = FPGA_ANY};
	while ((opt = getopt_long(argc, argv, "hd:l:", longs, NULL)) != -1) {
		switch (opt) {
		case 'd':
			options->nic = optarg;
			break;
		case 'l':
			options->gid = (int)tool_number("-l", optarg, 0, 255);
			break;
		case OPT_PORT:
			options->port = (uint16_t)tool_number("--port", optarg, 1, 65535);
			break;
		case OPT_TIMEOUT:
			options->timeout_s = (uint32_t)tool_number("--timeout", optarg, 1, 3600);
			break;
		case OPT_RELAY:
			*relay = true;
			break;
		case OPT_SPIN:
			options->spin = true;
			break;
		default:
			usage(opt == 'h' ? stdout : stderr);
			exit(opt == 'h' ? tool_finish(EXIT_SUCCESS) : EXIT_FAILURE);
		}
	}
	if (!options->nic || optind < argc)
		tool_die("option -d: the NIC is needed, and nothing but options");
}

/* What it costs at least that somebody else has to see each packet: two words that cross, and two threads that poll. */
static void *relay(void *arg)
{
	struct echo *echo = arg;
	int turn;

	/* acquire, release: the packet is handed over and back by the word */
	while ((turn = atomic_load_explicit(&echo->turn, memory_order_acquire)) != OVER) {
		if (turn == ITS)
			atomic_store_explicit(&echo->turn, MINE, memory_order_release);
		else
			sched_yield();
	}
	return NULL;
}

static void by_way_of_relay(struct echo *echo)
{
	atomic_store_explicit(&echo->turn, ITS, memory_order_release);
	while (atomic_load_explicit(&echo->turn, memory_order_acquire) == ITS)
		sched_yield();
}

static void take(void *arg, const uint8_t *gid, const struct bl_packet *packet, const void *payload)
{
	struct echo *echo = arg;
	struct bl_packet back = {
		.opcode = packet->opcode,
		.dest_qpn = echo->port.remote.qpn,
		.psn = echo->psn,
		.imm = packet->imm,
		.len = packet->len,
	};
	void *room;

	if (packet->dest_qpn != echo->port.local.qpn || packet->opcode < (BL_PKT_UC | BL_PKT_SEND_FIRST) ||
	    packet->opcode > (BL_PKT_UC | BL_PKT_SEND_ONLY_IMM))
		return;
	if (echo->relay)
		by_way_of_relay(echo);
	room = wire->reserve(echo->port.path, packet->len);
	if (!room) {
		echo->full++;
		return;
	}
	memcpy(room, payload, packet->len);
	wire->commit(echo->port.path, &back);
	echo->psn = (echo->psn + 1) & BL_PSN_MASK;
	echo->sent++;
}

/* As gpunetio_forward does it, which names memory that nothing here writes. */
static int meet(struct echo *echo)
{
	unsigned int limit = echo->port.options->timeout_s;
	struct net_region region = {.len = NET_SLOTS * NET_PAGE};
	struct net_hello hello;
	int ret = net_recv(echo->sock, NET_HELLO, &hello, sizeof(hello), limit);

	if (!ret && (hello.program != NET_FORWARD_ID || !hello.uc || hello.imm))
		ret = tool_fail(EPROTO, "the client is no fpga_peer with --qp-type uc and --mode send");
	if (!ret)
		ret = net_send(echo->sock, NET_PEER, &echo->port.local, sizeof(echo->port.local), limit);
	if (!ret)
		ret = net_recv(echo->sock, NET_PEER, &echo->port.remote, sizeof(echo->port.remote), limit);
	if (!ret)
		ret = fpga_port_connect(&echo->port);
	echo->psn = echo->port.local.psn;
	if (!ret)
		ret = net_barrier(echo->sock, limit);
	if (!ret)
		ret = net_send(echo->sock, NET_REGION, &region, sizeof(region), limit);
	return ret ? ret : net_barrier(echo->sock, limit);
}

/* Return: 1 when the client is done, 0, or -errno with tool_why(). */
static int look_around(const struct echo *echo)
{
	int ret = net_peer_check(echo->sock);

	if (ret)
		return ret;
	if (net_signal())
		return tool_fail(ECANCELED, "interrupted by signal %d", net_signal());
	return net_peek(echo->sock) == NET_END;
}

static int echo_all(struct echo *echo)
{
	const struct fpga_options *options = echo->port.options;
	uint64_t now = tool_now_ns(), looked = now, last = now;
	uint32_t turns = 0;
	int ret = 0;

	while (!ret) {
		int nr = wire->poll(echo->port.link, take, echo, BUDGET);

		wire->flush(echo->port.link);
		if (!nr && !options->spin)
			fpga_port_wait(&echo->port, LOOK_NS);
		/* the other side may need this CPU */
		if (options->spin && !nr && !(++turns % YIELDS))
			sched_yield();
		now = tool_now_ns();
		if (nr)
			last = now;
		if (now < looked + LOOK_NS)
			continue;
		looked = now;
		ret = look_around(echo);
		if (!ret && now > last + options->timeout_s * 1000000000ULL)
			ret = tool_fail(ETIMEDOUT, "no packet within %u s", options->timeout_s);
	}
	if (ret < 0)
		return ret;
	ret = net_recv(echo->sock, NET_END, NULL, 0, options->timeout_s);
	return ret ? ret : net_send(echo->sock, NET_END, NULL, 0, options->timeout_s);
}

static int serve(struct echo *echo)
{
	const struct fpga_options *options = echo->port.options;
	int fd = net_listen(options->port, false);

	if (fd < 0)
		return fd;
	fprintf(stderr, "net_echo: Listening for incoming connections\n");
	echo->sock = net_accept(fd, options->timeout_s);
	return echo->sock < 0 ? echo->sock : meet(echo);
}

int main(int argc, char **argv)
{
	static struct echo echo = {.sock = -1};
	struct fpga_options options;
	pthread_t thread;
	bool started = false;
	int ret;

	parse(argc, argv, &options, &echo.relay);
	net_catch_signals();
	prctl(PR_SET_TIMERSLACK, 1UL);
	ret = fpga_port_open(&echo.port, &options);
	if (!ret)
		ret = serve(&echo);
	if (!ret && echo.relay) {
		ret = -pthread_create(&thread, NULL, relay, &echo);
		started = !ret;
		if (ret)
			tool_fail(-ret, "thread: %s", strerror(-ret));
	}
	if (!ret)
		ret = echo_all(&echo);
	atomic_store(&echo.turn, OVER);
	if (started)
		pthread_join(thread, NULL);
	if (ret) {
		fprintf(stderr, "net_echo: %s\n", tool_why());
		net_send_error(echo.sock, tool_why());
	} else {
		printf("Echoed %llu packets, %llu found no room.\n", (unsigned long long)echo.sent,
		       (unsigned long long)echo.full);
	}
	fpga_port_close(&echo.port);
	if (echo.sock >= 0)
		close(echo.sock);
	return tool_finish(ret ? EXIT_FAILURE : EXIT_SUCCESS);
}
