/* SPDX-License-Identifier: MIT */
/* fixture.h - links to send packets over, and packets that can be recognised */
#ifndef TESTS_UNIT_SNIC_SHM_FIXTURE_H
#define TESTS_UNIT_SNIC_SHM_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "softnic/transport.h"
#include "util/clock.h"

#define DEADLINE_NS 20000000000ULL /* what has not happened by then never will */

/**
 * struct port - a link and what came over it
 * @link: link
 * @gid:  its address
 * @from: address that the last packet came from
 * @last: headers of the last packet
 * @nr:   packets
 * @bad:  of them, those that were not as they were sent
 * @next: psn that must come next, when @ordered
 */
struct port {
	struct bl_snic_link *link;
	uint8_t gid[16];
	uint8_t from[16];
	struct bl_packet last;
	uint64_t nr;
	uint64_t bad;
	uint32_t next;
	bool ordered;
};

/* Fails the test when it cannot be done. */
void port_open(struct port *port);
void port_close(struct port *port);
struct bl_snic_path *port_path(struct port *port, const uint8_t gid[16]);

/* A packet whose payload and headers follow from @psn and @len. Return: false: no room. */
bool port_send(struct bl_snic_path *path, uint32_t psn, uint32_t len);

/* Hand out what is there, at most @budget. Return: how many. */
int port_poll(struct port *port, unsigned int budget);

/* Poll until @nr packets have come in all, or the deadline is over. Return: whether they have. */
bool port_poll_until(struct port *port, uint64_t nr);

/* Poll @port until @path is dead, or the deadline is over. Return: whether it is. */
bool port_sees_death(struct port *port, struct bl_snic_path *path);

/* Numbers from a seed; the same for the same seed. */
uint64_t next_random(uint64_t *state);

/* Seed of a random test: argument of the environment variable SEED, or by chance; printed. */
uint64_t test_seed(void);

int count_fds(void);

#endif
