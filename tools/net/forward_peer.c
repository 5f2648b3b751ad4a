// SPDX-License-Identifier: MIT
/* gpunetio_forward_peer: a CPU that sends messages to gpunetio_forward and times their way there and back. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/json.h"
#include "common/stats.h"
#include "net/cpu.h"
#include "net/forward.h"
#include "net/round.h"
#include "net/say.h"
#include "net/wire.h"

#define LINE	"--------------------------------------------------------------------------------------------------------------\n"
#define WINDOW	32U	     /* messages under way; the other side has NET_SLOTS receives */
#define LOST_NS 1000000000UL /* so long without an answer: all that are under way are lost */
#define LOOKS	4096
#define YIELDS	64

static const struct net_program program = {
	.name = "gpunetio_forward_peer",
	.id = NET_FORWARD_ID,
	.takes = NET_TAKES_RATE,
	.about = "Round trips of messages that gpunetio_forward sends back.",
	.min_size = 16,
	.max_size = NET_PAGE,
	.largest = NET_PAGE,
	.server = "gpunetio_forward",
	.role = 'c',
	.uc = 1,
	.iters = 1000,
};

/* First bytes of a message; the others are the low byte of its number. */
struct stamp {
	uint64_t run;
	uint64_t number;
};

static void post(struct net_round *round)
{
	struct net_cpu *cpu = round->bed->cpu;
	unsigned char *page = net_cpu_send_page(cpu, round->sent);
	const struct stamp stamp = { .run = round->run, .number = round->sent };
	struct net_region to = round->region;

	memcpy(page, &stamp, sizeof(stamp));
	memset(page + sizeof(stamp), (int)(round->sent & 0xff), round->size - sizeof(stamp));
	to.addr += round->sent % NET_SLOTS * NET_PAGE;
	round->sent_ns[round->sent] = tool_now_ns();
	net_cpu_post(cpu, page, round->size, round->hello->imm ? &to : NULL, (uint32_t)(round->sent % NET_SLOTS));
	round->sent++;
}

static bool right(const struct net_round *round, const unsigned char *page, uint32_t len, const struct stamp *stamp)
{
	if (len != round->size || stamp->run != round->run || stamp->number >= round->sent)
		return false;
	for (uint32_t i = sizeof(*stamp); i < len; i++) {
		if (page[i] != (unsigned char)stamp->number)
			return false;
	}
	return true;
}

/* One message has come. */
static void take(struct net_round *round, const unsigned char *page, uint32_t len, uint64_t now)
{
	struct stamp stamp;

	memcpy(&stamp, page, sizeof(stamp));
	/* late, of a size that was done with */
	if (len >= sizeof(stamp) && stamp.run < round->run)
		return;
	if (!right(round, page, len, &stamp)) {
		round->wrong++;
		return;
	}
	if (round->back[stamp.number])
		return;
	round->back[stamp.number] = true;
	round->us[round->returned++] = (double)(now - round->sent_ns[stamp.number]) / 1000;
	round->last_ns = now;
}

/* All that has come so far, of sends and of receives. */
static int reap(struct net_round *round)
{
	struct net_cpu *cpu = round->bed->cpu;
	uint32_t len, imm;
	int ret;

	while ((ret = net_cpu_sent(cpu)) > 0)
		;
	if (ret < 0)
		return ret;
	while ((ret = net_cpu_received(cpu, &len, &imm)) > 0) {
		take(round, net_cpu_recv_page(cpu, cpu->recv_ci - 1), len, tool_now_ns());
		net_cpu_post_recv(cpu, false);
	}
	return ret;
}

static uint64_t under_way(const struct net_round *round)
{
	uint64_t over = round->returned + round->lost;

	return round->sent > over ? round->sent - over : 0;
}

/* Now and then: is the peer there, and does anything come back? */
static int look_around(struct net_round *round)
{
	uint64_t now = tool_now_ns();

	if (net_signal())
		return net_interrupted();
	if (under_way(round) && now - round->last_ns > LOST_NS) {
		round->lost += under_way(round);
		round->last_ns = now;
	}
	return net_peer_check(round->bed->sock);
}

static int send_all(struct net_round *round)
{
	uint64_t step_ns = round->bed->options->rate ? 1000000000ULL / round->bed->options->rate : 0;
	uint64_t window = step_ns ? WINDOW : 1, begin = tool_now_ns();
	uint32_t turns = 0;
	int ret;

	round->last_ns = begin;
	while (round->sent < round->hello->iters || under_way(round)) {
		bool room = under_way(round) < window && round->bed->cpu->sent - round->bed->cpu->send_ci < NET_SLOTS;

		if (room && round->sent < round->hello->iters && tool_now_ns() >= begin + round->sent * step_ns) {
			if (!under_way(round))
				round->last_ns = tool_now_ns();
			post(round);
		}
		ret = reap(round);
		/* the other side may need this CPU */
		if (!(++turns % YIELDS))
			sched_yield();
		if (!ret && !(turns % LOOKS))
			ret = look_around(round);
		if (ret)
			return ret;
	}
	return 0;
}

static int play_size(struct net_round *round, uint32_t size, struct json_object *results)
{
	int ret;

	round->size = size;
	round->run++;
	round->sent = round->returned = round->lost = 0;
	memset(round->back, 0, round->hello->iters * sizeof(*round->back));
	ret = send_all(round);
	if (!ret)
		net_round_report(round, results);
	return ret;
}

static int play_all(struct net_round *round, struct json_object *results)
{
	struct net_bed *bed = round->bed;
	int ret;

	for (unsigned int i = 0; i < NET_SLOTS; i++)
		net_cpu_post_recv(bed->cpu, false);
	ret = net_recv(bed->sock, NET_REGION, &round->region, sizeof(round->region), bed->options->timeout_s);
	if (!ret && round->region.len < NET_SLOTS * NET_PAGE)
		ret = tool_fail(EPROTO, "the server's pages are too small");
	if (!ret)
		ret = net_barrier(bed->sock, bed->options->timeout_s);
	if (ret)
		return ret;
	net_say_path(bed);
	fprintf(bed->options->out, LINE " %-10s %-12s %-10s %-12s %-12s %-12s %-12s %-12s\n" LINE, "#bytes", "#messages", "#lost",
		"min[usec]", "p50[usec]", "p99[usec]", "p99.9[usec]", "max[usec]");
	for (unsigned int i = 0; i < round->hello->nr_sizes && !ret; i++)
		ret = play_size(round, (uint32_t)round->hello->sizes[i], results);
	if (!ret)
		ret = net_session_end(bed);
	if (ret)
		return ret;
	fprintf(bed->options->out, LINE);
	if (!round->wrong)
		return NET_OK;
	fprintf(stderr, "%s: Validation failed! %llu messages came back with wrong bytes\n", program.name,
		(unsigned long long)round->wrong);
	return NET_WRONG;
}

static int finish_json(const struct net_round *round, struct json_object *results, int status)
{
	const struct net_options *options = round->bed->options;
	struct json_object *object = net_json(round->bed, "client");

	tool_json_string(object, "mode", options->imm ? "imm" : "send");
	tool_json_int(object, "rate", options->rate);
	if (options->self)
		tool_json_string(object, "echo", tool_value_name(options->echo, net_echoes));
	tool_json_bool(object, "valid", status == NET_OK);
	tool_json_add(object, "results", results);
	return tool_json_write(object, options->json) ? NET_FAILED : status;
}

static int run(struct net_bed *bed, struct net_hello *hello)
{
	struct net_round round = { .bed = bed, .hello = hello };
	struct json_object *results = tool_json_array();
	int ret = tool_fail(ENOMEM, "no memory for %llu messages", (unsigned long long)hello->iters);

	round.sent_ns = calloc(hello->iters, sizeof(*round.sent_ns));
	round.us = calloc(hello->iters, sizeof(*round.us));
	round.back = calloc(hello->iters, sizeof(*round.back));
	if (round.sent_ns && round.us && round.back)
		ret = play_all(&round, results);
	if (ret >= 0 && bed->options->json)
		ret = finish_json(&round, json_object_get(results), ret);
	json_object_put(results);
	free(round.sent_ns);
	free(round.us);
	free(round.back);
	return ret;
}

int main(int argc, char **argv)
{
	const struct net_part part = { .program = &program, .kind = NET_BED_CPU, .run = run };
	struct net_options options;
	struct net_part server;

	net_options_parse(argc, argv, &program, &options);
	server = net_forward_part(&options);
	return net_session_main(&options, &part, &server);
}
