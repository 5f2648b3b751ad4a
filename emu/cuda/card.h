/* SPDX-License-Identifier: MIT */
/*
 * card.h - video memory of an emulated card in the machine, instead of this process' own
 *
 * In a guest with emu/kernel's driver, memory objects are the card's, and so are their lifetime and who may pin them: a
 * kernel module that pins memory asks that driver, which is told here where things lie. There is one card at most; it
 * is GPU 0.
 */
#ifndef EMU_CUDA_CARD_H
#define EMU_CUDA_CARD_H

#include "vram.h"

/* The GPU that is a card, or NULL. */
struct emu_gpu *emu_card(void);

/**
 * emu_card_open() - Open the card
 * @gpu: receives descriptor, size, PCI address and tokens
 *
 * Return: 0, -ENOENT when there is none, or -errno.
 */
int emu_card_open(struct emu_gpu *gpu);

/* Take and give back the storage of @mem, whose size is set. Returns 0 or -errno. */
int emu_card_alloc(struct emu_mem *mem);
void emu_card_free(const struct emu_mem *mem);

/* Tell where memory lies and may be pinned. Returns 0 or -errno. */
int emu_card_bind(uint64_t va, const struct emu_mem *mem, uint64_t len);
void emu_card_unbind(uint64_t va, uint64_t len);

/* Tell that an allocation was freed whose object stays. */
void emu_card_freed(uint64_t va, uint64_t len);

/* Bytes of the card in use, by all processes and what they left pinned. */
uint64_t emu_card_used(const struct emu_gpu *gpu);

/* As emu_rm_dmabuf_fd(). */
int emu_card_dmabuf_fd(const struct emu_mem *mem, uint64_t off, uint64_t len, int allow_mmap);

#endif
