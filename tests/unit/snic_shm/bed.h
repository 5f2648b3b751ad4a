/* SPDX-License-Identifier: MIT */
/* bed.h - a ring with both of its ends */
#ifndef TESTS_UNIT_SNIC_SHM_BED_H
#define TESTS_UNIT_SNIC_SHM_BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/shm/ring.h"

#define SIZE 16384U

/**
 * struct bed - both ends of a ring, as two processes have them
 * @sent:  sender's mapping
 * @taken: receiver's mapping of the same memory
 */
struct bed {
	struct bl_shm_ring sent, taken;
	struct bl_shm_tx tx;
	struct bl_shm_rx rx;
};

/* Size of its ring: as small as may be. */
size_t bed_size(void);

/* Fails the test when it cannot be done. */
void bed_make(struct bed *bed);
void bed_free(struct bed *bed);

/* Send a record whose bytes follow from @psn. Return: false: no room. */
bool bed_put(struct bed *bed, uint32_t psn, uint32_t len, bool *wake_p);

/* Take a record. Return: -1: there is none, -2: it is not as it was sent, else its psn. */
int64_t bed_get(struct bed *bed, bool *wake_p);

#endif
