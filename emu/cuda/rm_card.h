/* SPDX-License-Identifier: MIT */
/* rm_card.h - what the emulated cards look like on the bus */
#ifndef EMU_CUDA_RM_CARD_H
#define EMU_CUDA_RM_CARD_H

#include "rm_state.h"

#define RM_PCI_VENDOR 0x10de
#define RM_PCI_DEVICE 0xffff /* no card has it */
#define RM_BAR0_FIRST 0xc0000000ULL
#define RM_BAR0_SIZE  (16ULL << 20)

/* Where the registers would be; nothing lies there. */
uint64_t rm_bar0_base(const struct emu_gpu *gpu);

/* UUID in the form "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", 41 bytes with the NUL. */
#define RM_UUID_TEXT 41
void rm_uuid_text(const struct emu_gpu *gpu, char *text);

#endif
