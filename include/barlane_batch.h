/* SPDX-License-Identifier: MIT */
/**
 * DOC: barlane_batch.h - native API of the core, copies that go on beside the caller
 *
 * Rules are those of barlane.h: 0 or a negative errno value, thread-safe, handles are numbers.
 */
#ifndef BARLANE_BATCH_H
#define BARLANE_BATCH_H

#include "barlane.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t bl_batch_t; /* 0 is no batch */

/** BL_BATCH_COPIES - most copies of one batch */
#define BL_BATCH_COPIES 65536U

/** BL_BATCH_LIMIT - most batches that exist at a time, from bl_batch_submit() to bl_batch_free() */
#define BL_BATCH_LIMIT 4096U

/** BL_BATCH_TIMEOUT - for bl_batch_wait(): BARLANE_CE_TIMEOUT_MS, 10 s if that is not set */
#define BL_BATCH_TIMEOUT UINT64_MAX

/**
 * struct bl_copy_op - one copy of a batch
 * @pin:      mapped pin
 * @off:      bytes from the start of the pin
 * @host:     host memory, any alignment; written when @dir is BL_COPY_FROM, else only read
 * @len:      bytes, may be 0
 * @dir:      enum bl_copy_dir
 * @engine:   enum bl_engine: BL_ENGINE_AUTO, BL_ENGINE_CPU or BL_ENGINE_CE
 * @reserved: 0
 */
struct bl_copy_op {
	bl_pin_t pin;
	uint64_t off;
	void *host;
	size_t len;
	uint32_t dir;
	uint32_t engine;
	uint64_t reserved[2];
};

/**
 * struct bl_batch_status - how far a batch is
 * @nr:       copies of the batch
 * @done:     of them, those that have ended, with or without an error, as far as is known
 * @failed:   lowest index of a copy that failed; @nr: none
 * @error:    0, or the negative errno value of that copy
 * @running:  1: the batch uses its host memory and its pins
 * @reserved: 0
 */
struct bl_batch_status {
	uint64_t nr;
	uint64_t done;
	uint64_t failed;
	int32_t error;
	uint32_t running;
	uint64_t reserved[2];
};

/**
 * bl_batch_submit() - Begin many copies with one call
 * @ops:     the copies; the array is not used after the call
 * @nr:      how many, up to BL_BATCH_COPIES; 0: a batch that has ended
 * @flags:   0
 * @batch_p: receives the batch, for bl_batch_free()
 *
 * All copies are checked before one is begun: on an error none is, and the reason names the index. The host memory
 * belongs to the library until the batch has ended.
 *
 * BL_ENGINE_CE: the GPU's copy engine, beside the caller. Up to 512 transfers per stream are under way at a time. Host
 * memory that CUDA did not pin goes through a ring of 4 MiB; writes are staged in this call as far as there is room.
 * What is left then, and the way from the ring to the host memory, is done by bl_batch_test() and bl_batch_wait().
 * There is no hidden thread: a batch that nobody asks about does not end.
 * BL_ENGINE_CPU: done in this call. BL_ENGINE_AUTO: reads below 2 KiB and writes below 32 KiB by the CPU, up to 64 KiB
 * and 1 MiB in all, the others by the copy engine; all by the CPU where that cannot be used.
 *
 * The copies come after all copies by this library that were complete before the call. They have no order among each
 * other, nor against copies of other batches and of other calls before the batch has ended. Neighbours in the array
 * that are adjacent on both sides may be done as one: they fail together, with the index of the first, and count as
 * one.
 *
 * Context: calls CUDA unless the CPU does all; takes locks, allocates; not in a CUDA host function. The current context
 * and stream captures are left alone. The contexts of the memory must not be destroyed during the call; later they may.
 * Return: 0; -EINVAL (as bl_copy(); flags, reserved fields), -E2BIG (more than BL_BATCH_COPIES), -EAGAIN
 * (BL_BATCH_LIMIT batches exist), -ENOMEM, -EACCES; and, for BL_ENGINE_CE, what bl_copy() gives before it begins.
 */
BL_API int bl_batch_submit(const struct bl_copy_op *ops, size_t nr, uint32_t flags, bl_batch_t *batch_p);

/**
 * bl_batch_test() - Do what there is to do for a batch, and see whether it has ended
 * @batch:  from bl_batch_submit()
 * @status: receives the status, whatever is returned but -EINVAL and -EACCES; may be NULL
 *
 * Does not wait for copies. When all are done and another thread is about to say so, it waits for that thread, for a
 * second at most: a batch has ended for who has ended one of its pins. After the end it may be called again and says
 * the same.
 * Return: 0 (all copies are complete), -EAGAIN (not yet; without a reason in bl_last_error()), -EINVAL (no such
 * batch), -EACCES; or the error of the batch's first copy that failed: -EIO (device error; the GPU may still use the
 * host memory of the copy), -EIDRM (the GPU memory was freed before the copy was begun), -ECANCELED (its context was
 * destroyed, the copy was made or not).
 */
BL_API int bl_batch_test(bl_batch_t batch, struct bl_batch_status *status);

/**
 * bl_batch_wait() - Wait for the end of a batch
 * @batch:      from bl_batch_submit()
 * @timeout_ns: how long; 0 looks once, BL_BATCH_TIMEOUT waits as long as a bl_copy() would
 * @status:     as for bl_batch_test()
 *
 * Several threads may wait for one batch. The contexts of its memory must not be destroyed meanwhile.
 * Return: as bl_batch_test(), with -ETIMEDOUT (it has not ended, and goes on) in place of -EAGAIN.
 */
BL_API int bl_batch_wait(bl_batch_t batch, uint64_t timeout_ns, struct bl_batch_status *status);

/**
 * bl_batch_free() - Give up the handle of a batch that has ended
 * @batch: from bl_batch_submit(); invalid afterwards
 *
 * Does not wait; looks as bl_batch_test() does.
 * Return: 0, whatever became of the copies; -EBUSY (it has not ended, and the handle stays), -EINVAL (no such batch),
 * -EACCES.
 */
BL_API int bl_batch_free(bl_batch_t batch);

#ifdef __cplusplus
}
#endif

#endif
