/* SPDX-License-Identifier: MIT */
/*
 * object.h - shared objects with kernels that are compiled for the CPU
 *
 * What a module is when it is no PTX: emu/grid/cuda_host.h makes it from CUDA source. Each object that is opened has
 * variables of its own, as a module of CUDA's has, also when the file is the same.
 */
#ifndef EMU_CUDA_OBJECT_H
#define EMU_CUDA_OBJECT_H

#include <stddef.h>

#include "emu/grid/cuda_module.h"
#include "gpu/cuda_abi.h"

struct emu_object;

#define EMU_SIZE_UNKNOWN SIZE_MAX

#define EMU_SIZE_UNKNOWN SIZE_MAX

/* Whether an image, of four bytes or up to a zero byte, is an ELF file. */
int emu_object_is_elf(const void *image);

/**
 * emu_object_open() - Load an object
 * @path:     file that the image was read from, or NULL
 * @image:    an ELF file in memory
 * @size:     bytes of it, or EMU_SIZE_UNKNOWN: as its headers say
 * @object_p: receives the object
 *
 * Constructors of the object run: emu_lock() is not held.
 * Return: CUDA_SUCCESS; CUDA_ERROR_INVALID_IMAGE when it cannot be loaded;
 * CUDA_ERROR_NO_BINARY_FOR_GPU when it is for another machine, or has no kernels; CUDA_ERROR_OUT_OF_MEMORY. The reason
 * is on stderr.
 */
CUresult emu_object_open(const char *path, const void *image, size_t size, struct emu_object **object_p);

/* Nothing of it runs any more, unless emu_object_keep() was called. */
void emu_object_close(struct emu_object *object);

/* A thread that could not be ended is in its code: it stays for good. */
void emu_object_keep(struct emu_object *object);

/* A kernel by its name, or NULL. */
const struct bl_cuda_kernel *emu_object_kernel(const struct emu_object *object, const char *name);

#endif
