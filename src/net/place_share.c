// SPDX-License-Identifier: MIT
/*
 * GPU memory of another process: CUDA's handle for it goes to the peer's NIC, which opens it in a context that it has
 * on that GPU anyway, or else in one that it has on a GPU which reaches that one's memory, and copies from there.
 * Opening and closing may wait for the driver, so that threads of their own do it.
 */
#define log_fmt(fmt) "net/place: " fmt
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda.h"
#include "place.h"
#include "util/thread.h"
#include "net/log.h"

#define MAGIC 0x706c6163U

/**
 * struct words - what is told of memory
 * @magic:  MAGIC
 * @size:   of this struct
 * @uuid:   GPU
 * @handle: CUDA's
 * @off, @len: the memory in the allocation that @handle is of
 */
struct words {
	uint32_t magic;
	uint32_t size;
	CUuuid uuid;
	CUipcMemHandle handle;
	uint64_t off;
	uint64_t len;
};

_Static_assert(sizeof(struct words) <= BL_SNIC_SHARE_LEN, "it fits");

enum state { OPENING, OPEN, FAILED, CLOSING, CLOSED };

/**
 * struct import - memory of another process
 * @mem:   as the mover knows it: what the NIC has is a pointer to this
 * @words: as they came
 * @base:  what CUDA gave for the handle
 * @state: whoever sets it to what is over does not look at this any more
 */
struct import {
	struct bl_place_mem mem;
	struct words words;
	CUdeviceptr base;
	_Atomic(enum state) state;
};

int bl_place_share(void *src, uint8_t bytes[BL_SNIC_SHARE_LEN])
{
	struct bl_place_mem *mem = src;
	const struct bl_cuda *cuda = bl_cuda();
	struct words words = { .magic = MAGIC, .size = sizeof(words), .len = mem->len };
	struct bl_cuda_scope scope;
	CUresult err;
	int ret;

	if (!mem->gpu || !bl_place_gpu_uuid(mem->gpu))
		return -EOPNOTSUPP;
	bl_fail_hush(1);
	ret = bl_ce_enter(cuda, &mem->target, &scope);
	bl_fail_hush(-1);
	if (ret)
		return ret;
	err = cuda->cuIpcGetMemHandle(&words.handle, mem->target.base);
	bl_cuda_leave(cuda, &scope);
	if (err) {
		log_debug("0x%llx is not shared with other processes: %s", (unsigned long long)mem->va,
			  bl_cuda_strerror(err));
		return -bl_cuda_errno(err);
	}
	words.uuid = *bl_place_gpu_uuid(mem->gpu);
	words.off = mem->va - mem->target.base;
	memcpy(bytes, &words, sizeof(words));
	return 0;
}

/* The context is current. */
static int open_entered(const struct bl_cuda *cuda, struct import *import)
{
	struct bl_place_mem *mem = &import->mem;
	const struct words *words = &import->words;
	CUresult err;
	int ret;

	err = cuda->cuIpcOpenMemHandle(&import->base, words->handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	if (err)
		return fail_quiet(bl_cuda_errno(err), "cuIpcOpenMemHandle: %s", bl_cuda_strerror(err));
	ret = bl_ce_target_init(cuda, import->base, 0, &mem->target);
	/* what a peer says of its own memory is not believed */
	if (!ret && (words->off > mem->target.size || words->len > mem->target.size - words->off))
		ret = fail_quiet(EPROTO, "more than the allocation has");
	if (ret) {
		cuda->cuIpcCloseMemHandle(import->base);
		return ret;
	}
	mem->target.context = bl_place_gpu_context(mem->gpu);
	mem->va = import->base + words->off;
	mem->len = words->len;
	return 0;
}

static int open_import(struct import *import)
{
	const struct bl_cuda *cuda = bl_cuda();
	struct bl_cuda_scope scope;
	int ret;

	if (import->words.magic != MAGIC || import->words.size != sizeof(import->words) || !import->words.len)
		return fail_quiet(EPROTO, "what the peer tells of it makes no sense");
	if (!cuda || !cuda->cuIpcOpenMemHandle || !cuda->cuIpcCloseMemHandle)
		return fail_quiet(EOPNOTSUPP, "libcuda.so.1 cannot open it");
	import->mem.gpu = bl_place_gpu_of(cuda, &import->words.uuid);
	if (!import->mem.gpu) {
		import->mem.gpu = bl_place_gpu_reaching(cuda, &import->words.uuid);
		import->mem.far = true;
	}
	if (!import->mem.gpu)
		return -ENODEV;
	ret = bl_place_gpu_enter(cuda, import->mem.gpu, &scope);
	if (ret)
		return ret;
	ret = open_entered(cuda, import);
	bl_cuda_leave(cuda, &scope);
	return ret;
}

static void *run_open(void *arg)
{
	struct import *import = arg;
	int ret;

	bl_fail_hush(1);
	ret = open_import(import);
	bl_fail_hush(-1);
	if (ret)
		log_info("memory of another process, 0x%" PRIx64 " bytes: messages from there come in packets: %s",
			 import->words.len, bl_last_error(NULL));
	else
		log_info("memory of another process, 0x%" PRIx64 " bytes: messages from there are copied by %s",
			 import->words.len, import->mem.far ? "another GPU, to its own memory" : "its own GPU");
	atomic_store(&import->state, ret ? FAILED : OPEN);
	return NULL;
}

static void *run_close(void *arg)
{
	struct import *import = arg;
	const struct bl_cuda *cuda = bl_cuda();
	struct bl_cuda_scope scope;

	/* with a context goes what was opened in it */
	bl_fail_hush(1);
	if (!bl_place_gpu_enter(cuda, import->mem.gpu, &scope)) {
		cuda->cuIpcCloseMemHandle(import->base);
		bl_cuda_leave(cuda, &scope);
	}
	bl_fail_hush(-1);
	atomic_store(&import->state, CLOSED);
	return NULL;
}

int bl_place_attach(const uint8_t bytes[BL_SNIC_SHARE_LEN], void **moved_p, size_t *len_p)
{
	struct import *import = *moved_p;

	if (!import) {
		import = calloc(1, sizeof(*import));
		if (!import)
			return -ENOMEM;
		memcpy(&import->words, bytes, sizeof(import->words));
		if (bl_thread_start(run_open, import)) {
			free(import);
			return -ENOMEM;
		}
		*moved_p = import;
	}
	switch (atomic_load(&import->state)) {
	case OPENING:
		return -EAGAIN;
	case OPEN:
		*len_p = import->mem.len;
		return 0;
	default:
		return -ENODEV;
	}
}

int bl_place_detach(void *moved)
{
	struct import *import = moved;
	enum state state = atomic_load(&import->state);

	if (state == OPEN) {
		atomic_store(&import->state, CLOSING);
		/* without a thread, later */
		if (bl_thread_start(run_close, import))
			atomic_store(&import->state, OPEN);
		return -EAGAIN;
	}
	if (state == OPENING || state == CLOSING)
		return -EAGAIN;
	free(import);
	return 0;
}
