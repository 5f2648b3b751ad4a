/* SPDX-License-Identifier: MIT */
/* rm_gpu.h - opening one GPU with the process' RM client; used by rm_client.c, under its lock */
#ifndef BL_GPU_RM_GPU_H
#define BL_GPU_RM_GPU_H

#include "rm_client.h"

/**
 * rm_gpu_open() - Find a CUDA device in RM and make its objects
 * @conn:    client
 * @cuda:    driver library
 * @ordinal: CUDA ordinal
 * @gpu_p:   receives the GPU
 *
 * Return: 0; -ENODEV (node missing, device not found, other GPU answered), or RM's error; with the reason.
 */
int rm_gpu_open(const struct rm_conn *conn, const struct bl_cuda *cuda, int ordinal, struct rm_gpu **gpu_p);

/* Free its objects and the descriptor. */
void rm_gpu_close(const struct rm_conn *conn, struct rm_gpu *gpu);

/* Open another descriptor of the GPU's node, tied to the client. Return: descriptor or -errno with the reason. */
int rm_gpu_node(const struct rm_conn *conn, const struct rm_card_info *card);

#endif
