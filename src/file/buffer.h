/* SPDX-License-Identifier: MIT */
/* buffer.h - registered buffers: ranges of GPU memory that are pinned and mapped, and noted ranges of host memory */
#ifndef BL_FILE_BUFFER_H
#define BL_FILE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

/**
 * bl_buffer_add() - Register a range
 * @base:  its start; one registration per base
 * @len:   bytes
 * @flags: as cuFileBufRegister() gets them
 *
 * Pins and maps GPU memory through the core. What cannot be pinned is registered all the same, and copied by CUDA; the
 * reason is logged and counted.
 * Return: 0, or a negative error of io.h.
 */
int bl_buffer_add(const void *base, size_t len, int flags);

/* Unregister; requests under way keep their mapping until they end. 0 or -(CU_FILE_MEMORY_NOT_REGISTERED). */
int bl_buffer_remove(const void *base);

/* All of them, as the last cuFileDriverClose() does. */
void bl_buffer_remove_all(void);

#endif
