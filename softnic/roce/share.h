/* SPDX-License-Identifier: MIT */
/*
 * share.h - several processes on one address
 *
 * With packet sockets each gets what is meant for its queue pairs: the upper eight bits of a queue pair's number are
 * the NIC's own in its network namespace. Who has which is told by the names of sockets that nobody sends to, so that
 * a share is free again when its process ends, however it ends.
 */
#ifndef SOFTNIC_ROCE_SHARE_H
#define SOFTNIC_ROCE_SHARE_H

#include <stdint.h>

#define BL_ROCE_SHARE_BITS 16 /* of a number, below the share */

/*
 * Takes a share that nobody has: @wanted, from 0 to 255, or any if that is negative. *@share_p: from 1 to 255, or @wanted.
 * Return: the descriptor that keeps it, -EADDRINUSE (another has it, or there are 255 NICs), other -errno; quiet.
 */
int bl_roce_share_take(int wanted, uint8_t *share_p);

#endif
