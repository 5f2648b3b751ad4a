// SPDX-License-Identifier: MIT
#include "fixture.h"

#include <dirent.h>
#include <sys/random.h>

#include "tap.h"

static void fill(uint8_t *to, uint32_t psn, uint32_t len)
{
	uint32_t word = psn * 2654435761U + len;

	for (uint32_t i = 0; i < len; i++) {
		to[i] = (uint8_t)(word >> 24);
		word = word * 1664525U + 1013904223U;
	}
}

static bool is_as_sent(const struct bl_packet *packet, const void *payload)
{
	uint32_t word = packet->psn * 2654435761U + packet->len;
	const uint8_t *bytes = payload;

	if (packet->va != ((uint64_t)packet->psn << 32 | packet->len) || packet->opcode != BL_PKT_WRITE_ONLY)
		return false;
	for (uint32_t i = 0; i < packet->len; i++) {
		if (bytes[i] != (uint8_t)(word >> 24))
			return false;
		word = word * 1664525U + 1013904223U;
	}
	return true;
}

static void receive(void *arg, const uint8_t *gid, const struct bl_packet *packet, const void *payload)
{
	struct port *port = arg;

	port->nr++;
	port->bad += !is_as_sent(packet, payload) || (port->ordered && packet->psn != port->next);
	port->next = packet->psn + 1;
	port->last = *packet;
	if (gid)
		memcpy(port->from, gid, sizeof(port->from));
}

void port_open(struct port *port)
{
	*port = (struct port){0};
	check_eq(bl_snic_shm.open("test", port->gid, &port->link), 0);
}

void port_close(struct port *port)
{
	bl_snic_shm.close(port->link);
	port->link = NULL;
}

struct bl_snic_path *port_path(struct port *port, const uint8_t gid[16])
{
	struct bl_snic_path *path = NULL;

	check_eq(bl_snic_shm.path_open(port->link, gid, &path), 0);
	check(path);
	return path;
}

bool port_send(struct bl_snic_path *path, uint32_t psn, uint32_t len)
{
	struct bl_packet packet = {
		.opcode = BL_PKT_WRITE_ONLY,
		.psn = psn,
		.va = (uint64_t)psn << 32 | len,
		.len = len,
	};
	void *payload = bl_snic_shm.reserve(path, len);

	if (!payload)
		return false;
	fill(payload, psn, len);
	bl_snic_shm.commit(path, &packet);
	return true;
}

int port_poll(struct port *port, unsigned int budget)
{
	return bl_snic_shm.poll(port->link, receive, port, budget);
}

bool port_poll_until(struct port *port, uint64_t nr)
{
	uint64_t end = bl_now_ns() + DEADLINE_NS;

	while (port->nr < nr && bl_now_ns() < end)
		port_poll(port, 16);
	return port->nr >= nr;
}

bool port_sees_death(struct port *port, struct bl_snic_path *path)
{
	uint64_t end = bl_now_ns() + DEADLINE_NS;
	int state;

	while (!(state = bl_snic_shm.path_state(path)) && bl_now_ns() < end)
		port_poll(port, 16);
	return state == -ECONNRESET;
}

uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

uint64_t test_seed(void)
{
	const char *text = getenv("SEED");
	uint64_t seed = 0;

	if (text)
		seed = strtoull(text, NULL, 0);
	else
		check_eq(getrandom(&seed, sizeof(seed), 0), sizeof(seed));
	seed |= 1;
	printf("# SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	check(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}
