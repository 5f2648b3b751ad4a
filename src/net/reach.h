/* SPDX-License-Identifier: MIT */
/*
 * reach.h - memory of the program as a CPU reaches it, for a NIC that is one
 *
 * Host memory is what it is. GPU memory is pinned and mapped by the core (barlane.h), and copied by its engines.
 */
#ifndef BL_NET_REACH_H
#define BL_NET_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "barlane.h"
#include "nic.h"

#define BL_REACH_LINE 64

enum bl_reach_kind { BL_REACH_HOST, BL_REACH_GPU, BL_REACH_DMABUF };

/**
 * struct bl_reach - a piece of memory
 * @kind:    how it is reached
 * @cpu:     CPU address of its first byte; host memory is ordinary there, the others want bl_reach_read() and -write()
 * @len:     bytes
 * @pin:     of GPU memory
 * @pin_off: of the first byte in the pin
 * @map:     start of the mapping
 * @map_len: its bytes
 * @gone:    the mapping was taken away, with its GPU or its file: it is not touched again
 * @line, @bytes: what bl_reach_peek() has read last, and where; 0: nothing
 * @domain:  of GPU memory, what all of one GPU's has in common, or NULL
 */
struct bl_reach {
	enum bl_reach_kind kind;
	void *cpu;
	size_t len;
	bl_ctx_t ctx;
	bl_pin_t pin;
	uint64_t pin_off;
	void *map;
	size_t map_len;
	const void *domain;
	bool gone;
	uintptr_t line;
	char bytes[BL_REACH_LINE];
};

/**
 * bl_reach_open() - Get at memory
 * @memory: the memory; a dma-buf is mapped when its address is NULL or means nothing to CUDA and the host
 * @reach:  receives the result, to be given to bl_reach_close()
 *
 * Host memory is touched: all of it must be there, and writable where @memory->access says so.
 * Return: 0, -EINVAL (range), -EFAULT (no such host memory), or as bl_pin() and bl_map(); with the reason.
 */
int bl_reach_open(const struct bl_nic_memory *memory, struct bl_reach *reach);
void bl_reach_close(struct bl_reach *reach);

/* For struct bl_snic_mem. 0 or -errno; -EFAULT once the mapping was taken away, which is logged. */
int bl_reach_read(void *priv, uint64_t off, void *dst, size_t len);
int bl_reach_write(void *priv, uint64_t off, const void *src, size_t len);
void bl_reach_flush(void *priv);

/* What a guarded access (util/guard.h) says; from -EFAULT on the memory is @gone. */
int bl_reach_said(struct bl_reach *reach, int ret);

/* Likewise, of GPU memory: reach_words.c. */
int bl_reach_peek(void *priv, uint64_t off, void *dst, size_t len);
void bl_reach_peeked(void *priv);
int bl_reach_put(void *priv, uint64_t off, const void *src, size_t len);

/* Only where bl_can_store_line() (copy/line.h) says so. */
int bl_reach_put_line(void *priv, uint64_t off, const void *src);

#endif
