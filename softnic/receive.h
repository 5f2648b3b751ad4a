/* SPDX-License-Identifier: MIT */
/* receive.h - packets on their way to queue pairs */
#ifndef SOFTNIC_RECEIVE_H
#define SOFTNIC_RECEIVE_H

#include "transport.h"

/* A bl_snic_receive_fn, with the NIC as its argument. The lock is held. */
void bl_snic_receive(void *nic, const uint8_t *gid, const struct bl_packet *packet, const void *payload);

#endif
