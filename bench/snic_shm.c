// SPDX-License-Identifier: MIT
/*
 * snic_shm: the software NIC's transport between two processes, without the NIC
 *
 * Latency: half of a round trip of one packet each way, with both sides polling, and with both asleep. Messages: 1 MiB
 * cut into packets of each size, copied in and out as the NIC does, answered by 8 bytes when all of it has arrived; one
 * at a time, and several under way. Every row first sends a message that is compared byte for byte.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/json.h"
#include "common/option.h"
#include "common/stats.h"
#include "softnic/transport.h"

#define MESSAGE	    (1U << 20)
#define DEPTH	    8U
#define MAX_ROUNDS  100000U
#define DEADLINE_NS 10000000000ULL

/* In struct bl_packet, for the other side: what to do when it has the message. */
#define ANSWER_BYTES va
#define SLEEP	     imm
#define OFFSET	     swap_add
#define PAYLOAD	     dma_len

static const struct bl_snic_transport_ops *const shm = &bl_snic_shm;
static char source[MESSAGE], sink[MESSAGE];
static double samples[MAX_ROUNDS];

/**
 * struct end - one of the two processes
 * @messages: that have arrived in full
 * @owed:     of them, those that are not answered yet
 * @answer:   bytes to answer with
 * @payload:  size of packets that the last one came in
 * @sleep:    the last one wants both to sleep
 */
struct end {
	struct bl_snic_link *link;
	struct bl_snic_path *path;
	uint8_t gid[16];
	uint64_t messages;
	uint64_t owed;
	uint32_t answer;
	uint32_t payload;
	bool sleep;
};

static void receive(void *arg, const uint8_t *gid, const struct bl_packet *packet, const void *payload)
{
	struct end *end = arg;

	memcpy(sink + packet->OFFSET, payload, packet->len);
	end->sleep = packet->SLEEP;
	if (packet->opcode != BL_PKT_SEND_LAST)
		return;
	end->messages++;
	end->owed++;
	end->answer = (uint32_t)packet->ANSWER_BYTES;
	end->payload = packet->PAYLOAD;
}

static void await_something(struct end *end, bool sleep)
{
	if (!shm->poll(end->link, receive, end, 16) && sleep)
		shm->wait(end->link, DEADLINE_NS);
}

/* One message in packets of @payload bytes. */
static void send_message(struct end *end, uint32_t len, uint32_t payload, uint32_t answer, bool sleep)
{
	for (uint32_t off = 0; off < len || !len; off += payload) {
		uint32_t part = len - off < payload ? len - off : payload;
		struct bl_packet packet = {
			.opcode = off + part == len ? BL_PKT_SEND_LAST : BL_PKT_SEND_MIDDLE,
			.ANSWER_BYTES = answer,
			.SLEEP = sleep,
			.OFFSET = off,
			.PAYLOAD = payload,
			.len = part,
		};
		void *room;

		while (!(room = shm->reserve(end->path, part))) {
			if (shm->path_state(end->path))
				tool_die("the other process is gone");
			await_something(end, sleep);
		}
		memcpy(room, source + off, part);
		shm->commit(end->path, &packet);
	}
}

static void await_messages(struct end *end, uint64_t nr, bool sleep)
{
	uint64_t looks = 0, until = 0;

	while (end->messages < nr) {
		await_something(end, sleep);
		if (++looks % 65536)
			continue;
		if (!until)
			until = tool_now_ns() + DEADLINE_NS;
		if (shm->path_state(end->path) || tool_now_ns() > until)
			tool_die("no answer");
	}
}

static void end_open(struct end *end, int from, int to)
{
	uint8_t peer[16];

	*end = (struct end){0};
	if (shm->open("bench", end->gid, &end->link))
		exit(1);
	if (write(to, end->gid, 16) != 16 || read(from, peer, 16) != 16 || shm->path_open(end->link, peer, &end->path))
		tool_die("the other process cannot be reached");
}

/* The other process: answers with what it has received. */
static _Noreturn void answer_all(int from, int to)
{
	struct end end;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	end_open(&end, from, to);
	while (!shm->path_state(end.path)) {
		await_something(&end, end.sleep);
		for (; end.owed; end.owed--) {
			memcpy(source, sink, end.answer);
			send_message(&end, end.answer, end.payload, 0, end.sleep);
		}
	}
	_exit(0);
}

/* All bytes there and back. */
static void verify(struct end *end, uint32_t len, uint32_t payload)
{
	static uint32_t word = 1;

	for (uint32_t i = 0; i < len; i++) {
		word = word * 1664525U + 1013904223U;
		source[i] = (char)(word >> 24);
	}
	memset(sink, 0, len);
	send_message(end, len, payload, len, false);
	await_messages(end, end->messages + 1, false);
	if (memcmp(source, sink, len))
		tool_die("%u bytes in packets of %u: they came back changed", len, payload);
}

struct row {
	const char *what;
	uint32_t len;
	uint32_t payload;
	struct tool_stats ns;
	double mb_per_s;
};

static void report(struct json_object *rows, const struct row *row)
{
	struct json_object *line = tool_json_object();

	printf("%9u %9u %-13s %10.0f %10.0f %10.0f %10.0f\n", row->len, row->payload, row->what, row->ns.min,
	       row->ns.p50, row->ns.p99, row->mb_per_s);
	tool_json_string(line, "what", row->what);
	tool_json_int(line, "bytes", row->len);
	tool_json_int(line, "payload", row->payload);
	tool_json_double(line, "min_ns", row->ns.min);
	tool_json_double(line, "p50_ns", row->ns.p50);
	tool_json_double(line, "p99_ns", row->ns.p99);
	tool_json_double(line, "mb_per_s", row->mb_per_s);
	tool_json_append(rows, line);
}

static void measure_latency(struct end *end, struct json_object *rows, uint32_t len, bool sleep, size_t rounds)
{
	struct row row = {.what = sleep ? "asleep" : "awake", .len = len, .payload = len};

	verify(end, len, len);
	for (size_t i = 0; i < rounds + rounds / 10; i++) {
		size_t at = i < rounds / 10 ? 0 : i - rounds / 10;
		uint64_t start;

		if (sleep)
			usleep(200);
		start = tool_now_ns();
		send_message(end, len, len, len, sleep);
		await_messages(end, end->messages + 1, sleep);
		samples[at] = (double)(tool_now_ns() - start) / 2;
	}
	tool_stats_fill(samples, rounds, &row.ns);
	row.mb_per_s = (double)len / row.ns.p50 * 1000;
	report(rows, &row);
}

/* One message at a time: how long until the sender knows that all of it is there. */
static void measure_message(struct end *end, struct json_object *rows, uint32_t payload, size_t rounds)
{
	struct row row = {.what = "one at a time", .len = MESSAGE, .payload = payload};

	verify(end, MESSAGE, payload);
	for (size_t i = 0; i < rounds + rounds / 10; i++) {
		uint64_t start = tool_now_ns();

		send_message(end, MESSAGE, payload, 8, false);
		await_messages(end, end->messages + 1, false);
		samples[i < rounds / 10 ? 0 : i - rounds / 10] = (double)(tool_now_ns() - start);
	}
	tool_stats_fill(samples, rounds, &row.ns);
	row.mb_per_s = MESSAGE / row.ns.p50 * 1000;
	report(rows, &row);
}

/* Several under way: time per message, in batches. */
static void measure_stream(struct end *end, struct json_object *rows, uint32_t payload, size_t rounds)
{
	struct row row = {.what = "streamed", .len = MESSAGE, .payload = payload};
	size_t batches = rounds / 10 > 0 ? rounds / 10 : 1;

	for (size_t i = 0; i < batches; i++) {
		uint64_t start = tool_now_ns(), first = end->messages;

		for (uint64_t k = 0; k < 10 + DEPTH; k++) {
			if (k < 10)
				send_message(end, MESSAGE, payload, 8, false);
			if (k >= DEPTH)
				await_messages(end, first + k - DEPTH + 1, false);
		}
		samples[i] = (double)(tool_now_ns() - start) / 10;
	}
	tool_stats_fill(samples, batches, &row.ns);
	row.mb_per_s = MESSAGE / row.ns.p50 * 1000;
	report(rows, &row);
}

static struct json_object *run(struct end *end, size_t rounds)
{
	static const uint32_t lens[] = {8, 64, 256, 1024, 4096};
	struct json_object *rows = tool_json_array();
	uint32_t most = shm->max_payload(end->link);
	struct utsname kernel;

	uname(&kernel);
	printf("# snic_shm %s kernel %s ring %s rounds %zu; two processes, %ld CPUs; 1 MB is 10^6 bytes\n",
	       BARLANE_VERSION, kernel.release, getenv("BARLANE_SNIC_RING") ? getenv("BARLANE_SNIC_RING") : "4m",
	       rounds, sysconf(_SC_NPROCESSORS_ONLN));
	printf("#%8s %9s %-13s %10s %10s %10s %10s\n", "bytes", "payload", "how", "min_ns", "p50_ns", "p99_ns", "MB/s");
	for (int sleep = 0; sleep < 2; sleep++) {
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
			measure_latency(end, rows, lens[i], sleep, sleep ? rounds / 10 + 10 : rounds);
	}
	for (uint32_t payload = 4096; payload <= most; payload *= 2)
		measure_message(end, rows, payload, rounds / 10 + 10);
	for (uint32_t payload = 4096; payload <= most; payload *= 2)
		measure_stream(end, rows, payload, rounds / 10 + 10);
	return rows;
}

static void bind_to(const char *cpus, int which)
{
	char *second;
	cpu_set_t set;
	long cpu = strtol(cpus, &second, 10);

	if (which && *second == ',')
		cpu = strtol(second + 1, NULL, 10);
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		tool_die("CPU %ld: %s", cpu, strerror(errno));
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", required_argument, NULL, 'j'},
		{"cpus", required_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *json = NULL, *cpus = NULL;
	int to_other[2], from_other[2], option;
	size_t rounds = 10000;
	struct json_object *rows;
	struct end end;
	pid_t pid;

	while ((option = getopt_long(argc, argv, "r:h", options, NULL)) >= 0) {
		switch (option) {
		case 'r':
			rounds = tool_number("-r", optarg, 10, MAX_ROUNDS);
			break;
		case 'j':
			json = optarg;
			break;
		case 'c':
			cpus = optarg;
			break;
		default:
			printf("usage: snic_shm [-r ROUNDS] [--cpus A,B] [--json FILE]\n"
			       "Times packets between two processes through shared memory.\n");
			return option != 'h';
		}
	}
	if (pipe(to_other) || pipe(from_other))
		tool_die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		tool_die("fork: %s", strerror(errno));
	if (cpus)
		bind_to(cpus, !pid);
	if (!pid)
		answer_all(to_other[0], from_other[1]);
	end_open(&end, from_other[0], to_other[1]);
	rows = run(&end, rounds);
	shm->path_close(end.path);
	shm->close(end.link);
	/* it ends when it finds this side gone */
	if (waitpid(pid, NULL, 0) != pid)
		return 1;
	if (json && tool_json_write(rows, json))
		tool_die("%s: cannot be written", json);
	return 0;
}
