// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/fault: " fmt
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "util/clock.h"
#include "util/log.h"

#define MILLION	    1000000U
#define MAX_DELAY   8U	     /* later packets that a held one lets pass */
#define QUIET_POLLS 64U	     /* that find nothing, after which what is held arrives */
#define HELD_NS	    1000000U /* longest sleep while something is held */

static void fault_close(struct bl_snic_link *link)
{
	link->ops->close(link->below);
	bl_held_clear(&link->held);
	bl_held_clear(&link->slow);
	free(link);
}

/* The path of @below to @gid. */
static int path_over(struct bl_snic_link *link, struct bl_snic_path *below, const uint8_t gid[16],
		     struct bl_snic_path **path_p)
{
	struct bl_snic_path *path;

	for (path = link->paths; path; path = path->next) {
		if (path->below == below) {
			path->refs++;
			*path_p = path;
			return 0;
		}
	}
	path = calloc(1, sizeof(*path));
	if (!path) {
		link->ops->path_close(below);
		return fail(ENOMEM, "path: out of memory");
	}
	*path = (struct bl_snic_path){.link = link, .next = link->paths, .below = below, .refs = 1};
	memcpy(path->gid, gid, sizeof(path->gid));
	link->paths = path;
	*path_p = path;
	return 0;
}

static int fault_path_open(struct bl_snic_link *link, const uint8_t gid[16], struct bl_snic_path **path_p)
{
	struct bl_snic_path *below;
	int ret = link->ops->path_open(link->below, gid, &below);

	return ret ? ret : path_over(link, below, gid, path_p);
}

static int fault_way_open(struct bl_snic_link *link, const struct bl_snic_way *way, struct bl_snic_path **path_p)
{
	struct bl_snic_path *below;
	int ret = link->ops->way_open(link->below, way, &below);

	return ret ? ret : path_over(link, below, way->gid, path_p);
}

static void fault_path_close(struct bl_snic_path *path)
{
	struct bl_snic_path **place = &path->link->paths;

	path->link->ops->path_close(path->below);
	if (--path->refs)
		return;
	while (*place != path)
		place = &(*place)->next;
	*place = path->next;
	bl_flows_clear(&path->flows);
	free(path);
}

/* A step of splitmix64: 64 bits of which all are good. */
static uint64_t roll(uint64_t *dice)
{
	uint64_t bits = *dice += 0x9e3779b97f4a7c15ULL;

	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ULL;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111ebULL;
	return bits ^ bits >> 31;
}

static bool happens(uint64_t bits, uint32_t per_million)
{
	return ((bits >> 32) * MILLION) >> 32 < per_million;
}

static void count(struct bl_snic_link *link, enum bl_fault_kind what)
{
	/* others read the words while they are counted */
	__atomic_fetch_add(&link->counts[what], 1, __ATOMIC_RELAXED);
}

static void *fault_reserve(struct bl_snic_path *path, size_t len)
{
	return path->link->ops->reserve(path->below, len);
}

static void fault_commit(struct bl_snic_path *path, const struct bl_packet *packet)
{
	struct bl_snic_link *link = path->link;
	uint64_t bits;

	if (link->fault.nak)
		bl_flow_note(&path->flows, packet);
	if (link->fault.corrupt) {
		bits = roll(&link->spoiler);
		if (happens(bits, link->fault.corrupt)) {
			count(link, BL_FAULT_CORRUPTED);
			link->ops->spoil(path->below, roll(&link->spoiler));
		}
	}
	link->ops->commit(path->below, packet);
}

static void hand(struct bl_snic_link *link, const uint8_t *gid, const struct bl_packet *packet, const void *payload)
{
	link->handed++;
	link->fn(link->arg, gid, packet, payload);
}

/* In place of the request, if it can be: there is a way back, and a number that is true. */
static bool answer_nak(struct bl_snic_link *link, const uint8_t *gid, const struct bl_packet *request)
{
	struct bl_snic_path *path = link->paths;
	struct bl_packet nak;

	while (path && (!gid || memcmp(path->gid, gid, sizeof(path->gid))))
		path = path->next;
	if (!path || !link->ops->reserve(path->below, 0) || !bl_flow_nak(&path->flows, request, &nak))
		return false;
	link->ops->commit(path->below, &nak);
	return true;
}

/* As many dice for each packet, whatever happens to it: one kind of fault does not change when another does. */
static void receive(void *arg, const uint8_t *gid, const struct bl_packet *packet, const void *payload)
{
	struct bl_snic_link *link = arg;
	const struct bl_snic_fault *fault = &link->fault;
	uint64_t drop = roll(&link->dice), nak = roll(&link->dice), twice = roll(&link->dice), late = roll(&link->dice);

	link->arrived++;
	if (happens(drop, fault->drop)) {
		count(link, BL_FAULT_DROPPED);
		return;
	}
	if (happens(nak, fault->nak) && answer_nak(link, gid, packet)) {
		count(link, BL_FAULT_NAKED);
		return;
	}
	if (happens(twice, fault->duplicate) &&
	    bl_held_add(&link->held, link->arrived + twice % (MAX_DELAY + 1), gid, packet, payload))
		count(link, BL_FAULT_DOUBLED);
	/* the half of the dice that nothing else looks at */
	if (happens(nak << 32, fault->delay) &&
	    bl_held_add(&link->slow, bl_now_ns() + fault->delay_us * 1000ULL, gid, packet, payload))
		count(link, BL_FAULT_DELAYED);
	else if (happens(late, fault->reorder) &&
	    bl_held_add(&link->held, link->arrived + 1 + late % MAX_DELAY, gid, packet, payload))
		count(link, BL_FAULT_DELAYED);
	else
		hand(link, gid, packet, payload);
}

static bool hand_held(struct bl_snic_link *link)
{
	struct bl_held *held = bl_held_take(&link->held, link->arrived);

	if (!held && link->slow.nr)
		held = bl_held_take(&link->slow, bl_now_ns());
	if (!held)
		return false;
	hand(link, held->has_gid ? held->gid : NULL, &held->packet, held->payload);
	free(held);
	return true;
}

/* What is held is due now: nothing comes that it could let pass. */
static void give_up_holding(struct bl_snic_link *link)
{
	link->arrived += MAX_DELAY + 1;
	link->quiet = 0;
	while (link->handed < link->budget && hand_held(link))
		;
}

static int fault_poll(struct bl_snic_link *link, bl_snic_receive_fn *fn, void *arg, unsigned int budget)
{
	bool quiet = true;

	link->fn = fn;
	link->arg = arg;
	link->budget = budget;
	link->handed = 0;
	/* one at a time: two may come of one, and what is held has its place between the others */
	for (unsigned int i = 0; i < budget; i++) {
		while (link->handed < budget && hand_held(link))
			;
		if (link->handed == budget || !link->ops->poll(link->below, receive, link, 1))
			break;
		quiet = false;
	}
	link->quiet = quiet ? link->quiet + 1 : 0;
	if (link->quiet >= QUIET_POLLS)
		give_up_holding(link);
	return (int)link->handed;
}

static void fault_wait(struct bl_snic_link *link, uint64_t timeout_ns)
{
	bool holds = link->held.nr;

	link->ops->wait(link->below, (holds || link->slow.nr) && timeout_ns > HELD_NS ? HELD_NS : timeout_ns);
	/* the next poll that finds nothing is late enough */
	if (holds)
		link->quiet = QUIET_POLLS;
}

static void fault_forget(struct bl_snic_link *link)
{
	struct bl_snic_path *path;

	link->ops->forget(link->below);
	while ((path = link->paths)) {
		link->paths = path->next;
		bl_flows_clear(&path->flows);
		free(path);
	}
	bl_held_clear(&link->held);
	bl_held_clear(&link->slow);
	free(link);
}

static const struct bl_snic_transport_ops fault_ops = {
	.name = "fault",
	.close = fault_close,
	.path_open = fault_path_open,
	.way_open = fault_way_open,
	.path_close = fault_path_close,
	.reserve = fault_reserve,
	.commit = fault_commit,
	.poll = fault_poll,
	.wait = fault_wait,
	.forget = fault_forget,
};

int bl_snic_fault_open(const struct bl_snic_transport_ops *ops, struct bl_snic_link *below,
		       const struct bl_snic_fault *fault, uint64_t *counts, const struct bl_snic_transport_ops **ops_p,
		       struct bl_snic_link **link_p)
{
	struct bl_snic_link *link;

	if (fault->drop > MILLION || fault->reorder > MILLION || fault->duplicate > MILLION || fault->nak > MILLION ||
	    fault->corrupt > MILLION || fault->delay > MILLION)
		return fail(EINVAL, "drop %u reorder %u duplicate %u nak %u corrupt %u delay %u: more than a million",
			    fault->drop, fault->reorder, fault->duplicate, fault->nak, fault->corrupt, fault->delay);
	if (fault->corrupt && !ops->spoil)
		return fail(EOPNOTSUPP, "corrupt: packets of transport %s have no check that would find it", ops->name);
	link = calloc(1, sizeof(*link));
	if (!link)
		return fail(ENOMEM, "out of memory");
	*link = (struct bl_snic_link){
		.ops = ops,
		.below = below,
		.fault = *fault,
		.counts = counts,
		.dice = fault->seed,
		.spoiler = ~fault->seed,
	};
	link->table = fault_ops;
	bl_fault_pass(link);
	*ops_p = &link->table;
	*link_p = link;
	return 0;
}
