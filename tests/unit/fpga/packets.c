// SPDX-License-Identifier: MIT
/* Two ends of fpga_peer, without its link, on a wire that loses, doubles and reorders by dice; and what strangers send.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/fpga/port.h"
#include "tap.h"

#define MTU    256U
#define NR     200U /* frames each way */
#define QUEUE  4096U
#define WINDOW 16U
#define STEP   1000000ULL
#define TURNS  200000U

struct letter {
	struct bl_packet packet;
	uint8_t payload[4096];
};

/* What is on its way to an end. */
struct bl_snic_path {
	struct letter letters[QUEUE];
	unsigned int head, tail;
};

struct end {
	struct fpga_port port;
	struct bl_snic_path path;
	unsigned int come[NR];
	unsigned int right, wrong;
};

static struct fpga_options options;
static struct end ends[2];
static unsigned int chance; /* of a thousand, for each fault */
static uint64_t now_ns;

static unsigned int dice(unsigned int sides)
{
	return (unsigned int)rand() % sides;
}

static void *reserve(struct bl_snic_path *path, size_t len)
{
	(void)len;
	return path->tail - path->head < QUEUE - 2 ? path->letters[path->tail % QUEUE].payload : NULL;
}

static void commit(struct bl_snic_path *path, const struct bl_packet *packet)
{
	struct letter *letter = &path->letters[path->tail % QUEUE], *other;
	struct letter swap;

	letter->packet = *packet;
	if (dice(1000) < chance)
		return;
	path->tail++;
	if (dice(1000) < chance) {
		path->letters[path->tail % QUEUE] = *letter;
		path->tail++;
	}
	if (path->tail - path->head >= 2 && dice(1000) < chance) {
		letter = &path->letters[(path->tail - 1) % QUEUE];
		other = &path->letters[(path->tail - 2) % QUEUE];
		swap = *letter;
		*letter = *other;
		*other = swap;
	}
}

const struct bl_snic_transport_ops bl_snic_roce = {.reserve = reserve, .commit = commit};

/* Of port.c and dump.c, which need a link. */
const char *fpga_port_why(struct fpga_port *port)
{
	(void)port;
	return "no answer";
}

void fpga_dump_out(struct fpga_port *port, const struct bl_packet *packet)
{
	(void)port;
	(void)packet;
}

void fpga_dump_in(struct fpga_port *port, const struct bl_packet *packet, const uint8_t *payload)
{
	(void)port;
	(void)packet;
	(void)payload;
}

static void arrived(void *arg, const struct fpga_check *check, bool right, uint64_t now)
{
	struct end *end = arg;

	(void)now;
	if (!right || check->stamp.number >= NR) {
		end->wrong++;
		return;
	}
	end->right++;
	end->come[check->stamp.number]++;
}

static void begin_end(struct end *end, const struct end *other, unsigned int number, uint32_t size)
{
	*end = (struct end){.port = {.options = &options, .mtu = MTU, .arg = end, .arrived = arrived}};
	end->port.limits.window = WINDOW;
	/* sequence numbers that wrap on the way */
	end->port.local =
		(struct bl_net_peer){.gid = {[15] = (uint8_t)(1 + number)}, .qpn = 10 + number, .psn = 0xffffe0};
	end->port.remote =
		(struct bl_net_peer){.gid = {[15] = (uint8_t)(2 - number)}, .qpn = 11 - number, .psn = 0xffffe0};
	/* what one sends goes into the path to the other */
	end->port.path = (struct bl_snic_path *)&other->path;
	end->port.in.known = true;
	end->port.in.psn = 0xffffe0;
	end->port.out.psn = 0xffffe0;
	end->port.out.size = size;
	end->port.out.nr = (size + MTU - 1) / MTU;
	end->port.out.posted = NR;
}

static void begin(bool uc, uint32_t size, unsigned int faults)
{
	const char *text = getenv("FPGA_SEED");
	unsigned int seed = text ? (unsigned int)strtoul(text, NULL, 0) : 4711 + size + faults;

	printf("# seed %u (FPGA_SEED)\n", seed);
	srand(seed);
	fpga_data_begin();
	options = (struct fpga_options){.uc = uc};
	chance = faults;
	now_ns = STEP;
	for (unsigned int i = 0; i < 2; i++)
		begin_end(&ends[i], &ends[1 - i], i, size);
}

static bool turn(struct end *end)
{
	struct bl_snic_path *path = &end->path;
	unsigned int nr = path->tail - path->head;
	bool busy = nr != 0;

	end->port.now = now_ns;
	while (nr--) {
		struct letter *letter = &path->letters[path->head++ % QUEUE];

		fpga_in_take(&end->port, end->port.remote.gid, &letter->packet, letter->payload);
	}
	if (!options.uc)
		fpga_rc_serve(&end->port);
	return fpga_out_push(&end->port) || busy;
}

static bool is_done(const struct end *end)
{
	uint64_t all = end->port.out.posted * end->port.out.nr;

	return end->port.out.next == all && (options.uc || end->port.out.acked == all);
}

/* Until nothing moves any more, or both ends are done. */
static void run(void)
{
	unsigned int quiet = 0;

	for (unsigned int i = 0; i < TURNS && quiet < 10; i++) {
		bool busy = turn(&ends[0]);

		busy |= turn(&ends[1]);
		now_ns += STEP;
		quiet = !busy && is_done(&ends[0]) && is_done(&ends[1]) ? quiet + 1 : 0;
	}
}

static void rc_delivers_each_frame_once(void)
{
	static const uint32_t sizes[] = {64, MTU, MTU + 1, 1000};
	static const unsigned int faults[] = {0, 20, 150};

	for (unsigned int i = 0; i < 12; i++) {
		begin(false, sizes[i % 4], faults[i / 4]);
		run();
		for (int e = 0; e < 2; e++) {
			check_str(ends[e].port.error, "");
			check_eq(ends[e].right, NR);
			check_eq(ends[e].wrong, 0);
			for (unsigned int n = 0; n < NR; n++)
				check_eq(ends[e].come[n], 1);
			check(faults[i / 4] ? ends[e].port.rc.resent > 0 : !ends[e].port.rc.resent);
		}
	}
}

static void uc_loses_what_the_wire_loses(void)
{
	begin(true, 1000, 0);
	run();
	check_eq(ends[0].right, NR);
	check_eq(ends[1].port.in.gaps, 0);
	check_eq(ends[1].port.in.broken, 0);
	begin(true, 1000, 50);
	run();
	check(ends[1].right > 0 && ends[1].right < NR);
	check_eq(ends[1].wrong, 0);
	check(ends[1].port.in.gaps > 0);
	check(ends[1].port.in.broken > 0);
}

/* Answers to a frame that was sent; @syndrome of the acknowledgement. */
static void answer(uint8_t syndrome, uint32_t psn)
{
	const struct bl_packet packet = {.opcode = BL_PKT_ACK, .dest_qpn = 10, .psn = psn, .syndrome = syndrome};

	fpga_in_take(&ends[0].port, ends[0].port.remote.gid, &packet, NULL);
}

static void refusals_end_a_reliable_connection(void)
{
	begin(false, 64, 0);
	turn(&ends[0]);
	answer(BL_AETH_ACCESS, 0xffffe0);
	check_has(ends[0].port.error, "no access to that memory");
	begin(false, 64, 0);
	turn(&ends[0]);
	answer(BL_AETH_INVALID, 0xffffe3);
	check_has(ends[0].port.error, "invalid request");
	/* what comes before it has arrived */
	check_eq(ends[0].port.out.acked, 3);
	begin(false, 64, 0);
	turn(&ends[0]);
	for (int i = 0; i < 8; i++)
		answer(BL_AETH_SEQUENCE, 0xffffe0);
	check_has(ends[0].port.error, "out of sequence");
}

static void a_peer_that_is_silent_or_never_ready_is_given_up(void)
{
	unsigned int i;

	begin(false, 64, 1000);
	for (i = 0; i < 10000 && !*ends[0].port.error; i++, now_ns += STEP)
		turn(&ends[0]);
	check_has(ends[0].port.error, "sent 8 times: no answer");
	begin(false, 64, 0);
	for (i = 0; i < 10000 && !*ends[0].port.error; i++, now_ns += 20 * STEP) {
		turn(&ends[0]);
		answer(BL_AETH_RNR | 1, 0xffffe0);
		ends[1].path.head = ends[1].path.tail;
	}
	check_has(ends[0].port.error, "no receive posted");
}

static void acknowledgements_of_what_was_not_sent_say_nothing(void)
{
	begin(false, 64, 0);
	turn(&ends[0]);
	check_eq(ends[0].port.out.high, WINDOW);
	answer(BL_AETH_ACK, 0xffffe0 + WINDOW);
	answer(BL_AETH_ACK, 0xffffdf);
	answer(BL_AETH_ACK, 0x7fffe0);
	check_eq(ends[0].port.out.acked, 0);
	answer(BL_AETH_ACK, 0xffffe0 + WINDOW - 1);
	check_eq(ends[0].port.out.acked, WINDOW);
}

/* Fields of all kinds, from strangers and from the peer; the sanitizers look on. */
static void any_packet_is_survived(void)
{
	static uint8_t payload[4096];
	uint8_t gid[16] = {[15] = 9};

	for (unsigned int i = 0; i < 200000; i++) {
		struct bl_packet packet = {
			.opcode = (uint8_t)(dice(4) ? dice(6) : dice(256)),
			.flags = (uint8_t)dice(4),
			.syndrome = (uint8_t)dice(256),
			.dest_qpn = dice(8) ? 10 : dice(20),
			.psn = dice(4) ? (0xffffe0 + dice(40)) & BL_PSN_MASK : (uint32_t)rand() & BL_PSN_MASK,
			.len = dice(3) ? dice(sizeof(payload)) : dice(40),
		};

		if (!(i % 5000)) {
			begin(i / 5000 % 2, 64, 0);
			turn(&ends[0]);
		}
		if (options.uc && dice(4))
			packet.opcode |= BL_PKT_UC;
		if (dice(2))
			memcpy(payload, "BLFP", 4);
		payload[dice(sizeof(payload))] = (uint8_t)rand();
		fpga_in_take(&ends[0].port, dice(10) ? ends[0].port.remote.gid : gid, &packet, payload);
		ends[1].path.head = ends[1].path.tail;
	}
	check(ends[0].port.in.strange > 0);
	check_eq(ends[0].right, 0);
}

static const struct tap_test tests[] = {
	{"rc_delivers_each_frame_once", rc_delivers_each_frame_once},
	{"uc_loses_what_the_wire_loses", uc_loses_what_the_wire_loses},
	{"refusals_end_a_reliable_connection", refusals_end_a_reliable_connection},
	{"a_peer_that_is_silent_or_never_ready_is_given_up", a_peer_that_is_silent_or_never_ready_is_given_up},
	{"acknowledgements_of_what_was_not_sent_say_nothing", acknowledgements_of_what_was_not_sent_say_nothing},
	{"any_packet_is_survived", any_packet_is_survived},
};

TAP_MAIN(tests)
