// SPDX-License-Identifier: MIT
/* The wire of world.h: one list of packets for all ports, in order but where the test says otherwise. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "tap.h"
#include "world.h"

#define PORTS 4

enum world_fate (*world_fate)(const struct bl_packet *packet, unsigned int nr);
unsigned int world_room = 4096;
bool world_gone;

struct bl_snic_link {
	uint8_t gid[16];
	bool kicked;
};

struct bl_snic_path {
	struct bl_snic_link *from;
	struct bl_snic_link *to;
	uint8_t *payload;
	uint32_t room;
	unsigned int users;
};

struct parcel {
	struct parcel *next;
	struct bl_snic_link *to;
	uint8_t from[16];
	struct bl_packet packet;
	uint8_t *payload;
};

/* Threads of several NICs use it; the tests' own accesses come before or after those. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct bl_snic_link *links[PORTS];
	struct parcel *first, *held;
	unsigned int nr, nr_sent;
	uint32_t max_payload;
} wire = {.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};

void wire_begin(uint32_t max_payload);
unsigned int wire_links(void);

void wire_begin(uint32_t max_payload)
{
	wire.max_payload = max_payload;
	wire.nr_sent = 0;
	world_fate = NULL;
	world_room = 4096;
	world_gone = false;
}

unsigned int wire_links(void)
{
	unsigned int nr = 0;

	for (int i = 0; i < PORTS; i++)
		nr += wire.links[i] != NULL;
	return nr;
}

static void parcel_free(struct parcel *parcel)
{
	free(parcel->payload);
	free(parcel);
}

static int wire_open(const char *name, uint8_t gid[16], struct bl_snic_link **link_p)
{
	struct bl_snic_link *link = calloc(1, sizeof(*link));
	int port = 0;

	pthread_mutex_lock(&wire.lock);
	while (wire.links[port])
		port++;
	wire.links[port] = link;
	pthread_mutex_unlock(&wire.lock);
	link->gid[0] = 0xfe;
	link->gid[15] = (uint8_t)(port + 1);
	memcpy(gid, link->gid, sizeof(link->gid));
	*link_p = link;
	return 0;
}

static void drop_for(struct bl_snic_link *link)
{
	for (struct parcel **place = &wire.first, *parcel; (parcel = *place);) {
		if (parcel->to != link) {
			place = &parcel->next;
			continue;
		}
		*place = parcel->next;
		parcel_free(parcel);
		wire.nr--;
	}
	if (wire.held && wire.held->to == link) {
		parcel_free(wire.held);
		wire.held = NULL;
	}
}

static void wire_close(struct bl_snic_link *link)
{
	pthread_mutex_lock(&wire.lock);
	drop_for(link);
	for (int i = 0; i < PORTS; i++) {
		if (wire.links[i] == link)
			wire.links[i] = NULL;
	}
	pthread_mutex_unlock(&wire.lock);
	free(link);
}

void world_lose(void)
{
	for (int i = 0; i < PORTS; i++) {
		if (wire.links[i])
			drop_for(wire.links[i]);
	}
}

static uint32_t wire_max_payload(struct bl_snic_link *link)
{
	return wire.max_payload;
}

static int wire_path_open(struct bl_snic_link *link, const uint8_t gid[16], struct bl_snic_path **path_p)
{
	struct bl_snic_path *path = NULL;

	pthread_mutex_lock(&wire.lock);
	for (int i = 0; i < PORTS && !path; i++) {
		if (!wire.links[i] || memcmp(wire.links[i]->gid, gid, 16) != 0)
			continue;
		path = calloc(1, sizeof(*path));
		path->from = link;
		path->to = wire.links[i];
	}
	pthread_mutex_unlock(&wire.lock);
	*path_p = path;
	return path ? 0 : -ENOTCONN;
}

static void wire_path_close(struct bl_snic_path *path)
{
	free(path->payload);
	free(path);
}

static void *wire_reserve(struct bl_snic_path *path, size_t len)
{
	bool full;

	pthread_mutex_lock(&wire.lock);
	full = wire.nr >= world_room;
	pthread_mutex_unlock(&wire.lock);
	if (full || len > wire.max_payload)
		return NULL;
	/* of the exact length, so that one byte too many is found */
	free(path->payload);
	path->payload = malloc(len ? len : 1);
	path->room = (uint32_t)len;
	return path->payload;
}

static void append(struct parcel *parcel)
{
	struct parcel **last = &wire.first;

	while (*last)
		last = &(*last)->next;
	parcel->next = NULL;
	*last = parcel;
	wire.nr++;
}

static struct parcel *parcel_of(const struct bl_snic_path *path, const struct bl_packet *packet)
{
	struct parcel *parcel = calloc(1, sizeof(*parcel));

	parcel->to = path->to;
	memcpy(parcel->from, path->from->gid, sizeof(parcel->from));
	parcel->packet = *packet;
	parcel->payload = malloc(packet->len ? packet->len : 1);
	memcpy(parcel->payload, path->payload, packet->len);
	return parcel;
}

static void put(const struct bl_snic_path *path, const struct bl_packet *packet, enum world_fate fate)
{
	struct parcel *held = wire.held;

	if (fate == WORLD_DROP)
		return;
	if (fate == WORLD_HOLD && !held) {
		wire.held = parcel_of(path, packet);
		return;
	}
	append(parcel_of(path, packet));
	if (fate == WORLD_DOUBLE)
		append(parcel_of(path, packet));
	if (held && fate != WORLD_HOLD) {
		wire.held = NULL;
		append(held);
	}
}

static void wire_commit(struct bl_snic_path *path, const struct bl_packet *packet)
{
	enum world_fate fate;

	pthread_mutex_lock(&wire.lock);
	fate = packet->len > path->room ? WORLD_DROP : WORLD_PASS;
	if (world_fate)
		fate = world_fate(packet, wire.nr_sent);
	wire.nr_sent++;
	put(path, packet, fate);
	pthread_cond_broadcast(&wire.news);
	pthread_mutex_unlock(&wire.lock);
}

static struct parcel *take(struct bl_snic_link *link)
{
	struct parcel **place = &wire.first, *parcel;

	pthread_mutex_lock(&wire.lock);
	while (*place && (*place)->to != link)
		place = &(*place)->next;
	parcel = *place;
	if (parcel) {
		*place = parcel->next;
		wire.nr--;
	}
	pthread_mutex_unlock(&wire.lock);
	return parcel;
}

static int wire_poll(struct bl_snic_link *link, bl_snic_receive_fn *fn, void *arg, unsigned int budget)
{
	struct parcel *parcel;
	int nr = 0;

	while ((unsigned int)nr < budget && (parcel = take(link))) {
		fn(arg, parcel->from, &parcel->packet, parcel->payload);
		parcel_free(parcel);
		nr++;
	}
	return nr;
}

static int wire_path_state(struct bl_snic_path *path)
{
	return world_gone ? -ECONNRESET : 0;
}

static void wire_wait(struct bl_snic_link *link, uint64_t timeout_ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(timeout_ns % 1000000000U);
	until.tv_sec += (time_t)(timeout_ns / 1000000000U) + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&wire.lock);
	if (!link->kicked && !wire.first)
		pthread_cond_timedwait(&wire.news, &wire.lock, &until);
	link->kicked = false;
	pthread_mutex_unlock(&wire.lock);
}

static void wire_kick(struct bl_snic_link *link)
{
	pthread_mutex_lock(&wire.lock);
	link->kicked = true;
	pthread_cond_broadcast(&wire.news);
	pthread_mutex_unlock(&wire.lock);
}

static void wire_forget(struct bl_snic_link *link)
{
	free(link);
}

const struct bl_snic_transport_ops world_transport = {
	.name = "wire",
	.open = wire_open,
	.close = wire_close,
	.max_payload = wire_max_payload,
	.path_open = wire_path_open,
	.path_close = wire_path_close,
	.reserve = wire_reserve,
	.commit = wire_commit,
	.poll = wire_poll,
	.path_state = wire_path_state,
	.wait = wire_wait,
	.kick = wire_kick,
	.forget = wire_forget,
};

const struct bl_snic_transport_ops *world_loops(void)
{
	static struct bl_snic_transport_ops ops;

	ops = world_transport;
	ops.loops_back = true;
	return &ops;
}
