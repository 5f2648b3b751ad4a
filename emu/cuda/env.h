/* SPDX-License-Identifier: MIT */
/*
 * env.h - what the environment says about the emulated machine
 *
 * Read once per process, on first use. Variables and defaults are listed in emu/README.md.
 */
#ifndef EMU_CUDA_ENV_H
#define EMU_CUDA_ENV_H

#include <stdint.h>

#define EMU_MAX_GPUS 8

/* How the 64 bytes of cuIpcGetMemHandle are laid out. */
enum emu_blob {
	EMU_BLOB_REAL,	 /* as measured on a real driver */
	EMU_BLOB_SHIFT,	 /* handles in other words */
	EMU_BLOB_SWAP,	 /* client and memory handle exchanged */
	EMU_BLOB_OFFSET, /* offset inside the object is wrong */
	EMU_BLOB_SIZE,	 /* object size in other units */
	EMU_BLOB_RANDOM, /* noise */
	EMU_BLOB_NR,
};

/* Whether a card in the machine is used. */
enum emu_card_use {
	EMU_CARD_NEVER,
	EMU_CARD_ALWAYS, /* it must be there */
	EMU_CARD_IF_THERE,
};

/* What it takes to load a module. */
enum emu_load {
	EMU_LOAD_KERNELS, /* the call waits for kernels that run, as measured on a real driver */
	EMU_LOAD_IDLE,	  /* for all that is on the context's streams */
	EMU_LOAD_LAUNCH,  /* the first launch waits for that, not the call */
	EMU_LOAD_NR,
};

/* Whether the CPU reaches device memory at its device addresses. */
enum emu_uva {
	EMU_UVA_NEVER,
	EMU_UVA_ALWAYS,
	EMU_UVA_WHEN_NEEDED, /* from the first load of a module on that is compiled for the CPU */
};

/**
 * struct emu_env - the emulated machine
 * @error:        1 when a variable could not be parsed, which was said on stderr
 * @nr_gpus:      GPUs, 0 .. EMU_MAX_GPUS
 * @vram_size:    bytes of video memory of each
 * @bar1_size:    bytes of BAR1 of each
 * @static_bar1:  BAR1 maps all of video memory
 * @cuda_version: what cuDriverGetVersion() says
 * @blob:         layout of the IPC handle
 * @dmabuf:       devices make dma-bufs
 * @card:         whether a card in the machine is used
 * @card_pages:   memory of a card is such that the kernel has struct pages for
 * @channels:     hardware channels that streams share, 0: each has its own
 * @load:         what modules wait for, and when
 * @uva:          whether the CPU reaches device memory at device addresses
 * @kernel_ms:    longest run of a kernel that is compiled for the CPU, 0: for ever
 * @peers:        GPUs can be given access to each other's memory
 * @async_us:     delay before each asynchronous operation of a stream, microseconds
 */
struct emu_env {
	int error;
	int nr_gpus;
	uint64_t vram_size;
	uint64_t bar1_size;
	int static_bar1;
	int cuda_version;
	enum emu_blob blob;
	int dmabuf;
	enum emu_card_use card;
	int card_pages;
	unsigned int channels;
	enum emu_load load;
	enum emu_uva uva;
	uint32_t kernel_ms;
	int peers;
	unsigned int async_us;
};

const struct emu_env *emu_env(void);

#endif
