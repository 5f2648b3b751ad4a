/* SPDX-License-Identifier: MIT */
/*
 * stage.h - GPU memory, a shadow and a request of nvidia-fs.ko, brought to a stage of their life and held there
 *
 *	stage             held there by                                    state of the map
 *	binding           delay_get_ms of the card's driver                none yet
 *	bound             -                                                gates open
 *	first_request     nothing: all moments, several times              a peer gets its addresses
 *	in_flight         a slow drive                                     pieces inside of both gates
 *	waiting_for_slots a slow drive, a shadow smaller than the request  the same, and a thread that waits
 *	closing           memory freed over a slow drive                   gates closed, the callback waits
 *	dead              memory freed                                     gates closed, nobody inside
 *	giving_back       delay_put_ms of the card's driver                the shadow is gone, pages are put
 *	failing           a drive that fails requests                      pieces that come and go
 *
 * Functions end the test when something else goes wrong.
 */
#ifndef BL_TESTS_KERNEL_STAGE_H
#define BL_TESTS_KERNEL_STAGE_H

#include "nvfs_lane.h"

enum stage { BINDING, BOUND, FIRST_REQUEST, IN_FLIGHT, WAITING_FOR_SLOTS, CLOSING, DEAD, GIVING_BACK, FAILING };

#define STAGE_MEM  (2 * MIB)
#define STAGE_READ (2 * (int64_t)MIB)

/**
 * struct stage_lane - what is brought to a stage
 * @gpu:      the card
 * @node:     the module's node
 * @drive:    the drive, or the second one
 * @mem:      memory of the card
 * @map:      its binding; none before the stage BOUND
 * @injected: the kernel fails requests of the drive, and there is no second one
 */
struct stage_lane {
	int gpu;
	int node;
	int drive;
	struct gpu_mem mem;
	struct lane_map map;
	bool injected;
};

extern struct stage_lane lane;

/* Opens everything, with nothing bound. */
void stage_set_up(void);

/* moment: counts up, where a stage is met by chance. */
void stage_reach(enum stage stage, unsigned int moment);

/* Lets the stage end, and returns what came of its thread: bytes, 0 or -errno. */
int64_t stage_end(void);

/* Frees the memory: 0 or -errno. Reads STAGE_READ bytes. No check() in them. */
int64_t stage_free(void);
int64_t stage_read(void);

/* Whether the kernel can fail requests of the first drive; have it fail half of them, or none. */
bool stage_can_inject(void);
void stage_inject(bool on);

#endif
