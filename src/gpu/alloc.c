// SPDX-License-Identifier: MIT
/*
 * Memory that is pinned and mapped from birth. It belongs to its pin: whatever ends the pin, bl_free() or bl_close(),
 * gives the memory back afterwards.
 */
#define log_fmt(fmt) "gpu/alloc: " fmt
#include <errno.h>
#include <inttypes.h>

#include "core.h"
#include "util/log.h"

/* From here on the pin's end is the memory's. -EINVAL when the context, and with it the pin, was closed meanwhile. */
static int hand_over(bl_ctx_t ctx, bl_pin_t id, const struct bl_vmm *vmm)
{
	struct bl_pin *pin = NULL;
	int ret;

	ret = bl_pin_get(ctx, id, &pin);
	if (ret)
		return ret;
	pthread_mutex_lock(&pin->lock);
	if (pin->dead)
		ret = fail(EINVAL, "alloc: the context was closed meanwhile");
	else
		pin->vmm = *vmm;
	pthread_mutex_unlock(&pin->lock);
	bl_pin_put(pin);
	return ret;
}

static int pin_and_map(bl_ctx_t ctx, const struct bl_vmm *vmm, struct bl_alloc *out)
{
	struct bl_alloc made = { .va = vmm->va, .size = vmm->size };
	int ret;

	ret = bl_pin(ctx, vmm->va, vmm->size, 0, 0, 0, &made.pin);
	if (ret)
		goto free_memory;
	ret = hand_over(ctx, made.pin, vmm);
	if (ret)
		goto free_memory;
	ret = bl_map(ctx, made.pin, vmm->size, BL_MAP_NONE, &made.addr);
	if (ret) {
		bl_free(ctx, made.pin);
		return ret;
	}
	*out = made;
	return 0;
free_memory:
	bl_vmm_free(vmm);
	return ret;
}

int bl_alloc(bl_ctx_t ctx_id, int device, size_t size, struct bl_alloc *out)
{
	struct bl_vmm vmm = { 0 };
	struct bl_ctx *ctx;
	int ret;

	if (!out)
		return fail(EINVAL, "alloc: no place for the answer");
	if (!size)
		return fail(EINVAL, "alloc: 0 bytes");
	ret = bl_check_owner();
	if (ret)
		return ret;
	/* a stale handle is found before a GPU is touched; what is in use meanwhile, bl_pin() looks at again */
	ctx = bl_ctx_get(ctx_id);
	if (!ctx)
		return fail(EINVAL, "alloc: no such context (closed already?)");
	ret = bl_vmm_new(device, size, &vmm);
	if (!ret)
		ret = pin_and_map(ctx_id, &vmm, out);
	bl_ctx_put(ctx);
	return ret;
}

int bl_free(bl_ctx_t ctx, bl_pin_t id)
{
	struct bl_pin *pin = NULL;
	bool own;
	int ret;

	ret = bl_pin_get(ctx, id, &pin);
	if (ret)
		return ret;
	pthread_mutex_lock(&pin->lock);
	own = pin->vmm.size;
	pthread_mutex_unlock(&pin->lock);
	if (own)
		ret = bl_pin_destroy(pin);
	else
		ret = fail(EINVAL, "free: handle 0x%" PRIx64 " was not made by bl_alloc(): unpin it", id);
	bl_pin_put(pin);
	return ret;
}
