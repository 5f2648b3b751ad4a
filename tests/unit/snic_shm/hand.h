/* SPDX-License-Identifier: MIT */
/* hand.h - one end of a connection made by hand, and whether the other end got over it */
#ifndef TESTS_UNIT_SNIC_SHM_HAND_H
#define TESTS_UNIT_SNIC_SHM_HAND_H

#include <stdbool.h>
#include <stdint.h>

#include "fixture.h"

/* A socket at the address of @gid: of a listener, or connected to one. */
int socket_of(const uint8_t gid[16], bool listens);

/* Until nothing is left of those that are gone. */
void settles(struct port *port, int fds);

/* The link is as good as new: somebody else can send to it. */
void still_works(struct port *port, int fds);

#endif
