/* SPDX-License-Identifier: MIT */
/*
 * rm_client.h - this process' RM client and its GPUs
 *
 * One client per process, however many contexts use it: made when the first of them pins, freed when the last one
 * closes. Each GPU is opened at its first pin. Nothing here is used across a fork.
 */
#ifndef BL_GPU_RM_CLIENT_H
#define BL_GPU_RM_CLIENT_H

#include <stdbool.h>

#include "gpu/cuda.h"
#include "rm_call.h"
#include "rm_known.h"

/**
 * struct rm_gpu - a GPU as this client sees it
 * @next:      in the client's list
 * @ordinal:   CUDA ordinal
 * @card:      what CARD_INFO says of it
 * @anchor:    descriptor of its node, open as long as the objects below exist
 * @instance:  RM's deviceInstance
 * @device:    device object
 * @subdevice: subdevice object
 * @known:     allocations whose object was checked
 */
struct rm_gpu {
	struct rm_gpu *next;
	int ordinal;
	struct rm_card_info card;
	int anchor;
	uint32_t instance;
	uint32_t device;
	uint32_t subdevice;
	struct rm_known known;
};

/**
 * rm_client_get() - The client, made if there is none
 * @conn_p: receives the connection, valid until the matching rm_client_put()
 *
 * Return: 0 or -errno with the reason.
 */
int rm_client_get(const struct rm_conn **conn_p);
void rm_client_put(void);

/**
 * rm_client_gpu() - A GPU of the client, opened if it is not
 * @cuda:    driver library
 * @ordinal: CUDA ordinal
 * @gpu_p:   receives it, valid as long as the client
 *
 * Return: 0 or -errno with the reason.
 */
int rm_client_gpu(const struct bl_cuda *cuda, int ordinal, struct rm_gpu **gpu_p);

/*
 * A mapping could not be removed: from now on nothing that its pages depend on may be freed, so the client stays until
 * the process ends. Stale page-table entries would reach memory of other processes.
 */
void rm_client_leak(void);

/* Free and total BAR1 of a GPU in KiB; 0 or -errno. */
int rm_gpu_bar1(const struct rm_conn *conn, const struct rm_gpu *gpu, uint32_t *avail_p, uint32_t *size_p);

/* Forget an inherited client, in a child that starts anew. */
void bl_rm_forget(void);

#endif
