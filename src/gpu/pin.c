// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/pin: " fmt
#include "core.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "batch.h"
#include "engine.h"
#include "util/log.h"
#include "view.h"

struct bl_slots bl_pin_slots;

int bl_pin_get(bl_ctx_t ctx_id, bl_pin_t id, struct bl_pin **pin_p)
{
	struct bl_pin *pin;
	int ret;

	ret = bl_check_owner();
	if (ret)
		return ret;
	bl_table_lock();
	pin = bl_slots_object(&bl_pin_slots, id);
	if (pin && pin->ctx->id == ctx_id)
		atomic_fetch_add(&pin->refs, 1);
	else
		pin = NULL;
	bl_table_unlock();
	if (!pin)
		return fail(EINVAL, "handle 0x%" PRIx64 ": no such pin in this context (unpinned already?)", id);
	*pin_p = pin;
	return 0;
}

int bl_pin_get_any(bl_pin_t id, struct bl_pin **pin_p)
{
	struct bl_pin *pin;
	int ret;

	ret = bl_check_owner();
	if (ret)
		return ret;
	bl_table_lock();
	pin = bl_slots_object(&bl_pin_slots, id);
	if (pin)
		atomic_fetch_add(&pin->refs, 1);
	bl_table_unlock();
	if (!pin)
		return fail(EINVAL, "handle 0x%" PRIx64 ": no such pin (unpinned already?)", id);
	*pin_p = pin;
	return 0;
}

void bl_pin_put(struct bl_pin *pin)
{
	if (atomic_fetch_sub(&pin->refs, 1) != 1)
		return;
	bl_ctx_put(pin->ctx);
	pthread_mutex_destroy(&pin->lock);
	free(pin);
}

int bl_pin_release(struct bl_pin *pin)
{
	if (atomic_fetch_sub(&pin->holds, 1) != 1)
		return 0;
	return pin->ops->unpin(pin->ctx->priv, &pin->backing);
}

/* The chosen provider cannot serve after all: go on with the next one in the table. */
static int take_over(struct bl_ctx *ctx)
{
	const struct bl_provider_ops *const *next;
	void *priv;
	int ret;

	ret = bl_provider_select(NULL, ctx->place + 1, &next);
	if (ret)
		return ret;
	ret = (*next)->open(&priv);
	if (ret)
		return ret;
	log_info("provider %s cannot serve (%s), %s takes over", (*ctx->place)->name, bl_last_error(NULL),
		 (*next)->name);
	(*ctx->place)->close(ctx->priv);
	ctx->place = next;
	ctx->priv = priv;
	return 0;
}

/* Called before the first pin, so nothing depends on the provider yet. */
static int settle(struct bl_ctx *ctx)
{
	int ret = 0;

	pthread_mutex_lock(&ctx->lock);
	while (!ctx->settled && !ret) {
		ret = (*ctx->place)->settle ? (*ctx->place)->settle(ctx->priv) : 0;
		ctx->settled = !ret;
		if (ret == -EOPNOTSUPP && !ctx->forced)
			ret = take_over(ctx);
	}
	pthread_mutex_unlock(&ctx->lock);
	return ret;
}

static int check_request(const struct bl_request *req, const bl_pin_t *pin_p)
{
	if (!pin_p)
		return fail(EINVAL, "pin: no place for the handle");
	if (!req->va)
		return fail(EINVAL, "pin: address 0");
	if (!req->len)
		return fail(EINVAL, "pin va 0x%" PRIx64 ": length 0", req->va);
	if (req->va + req->len < req->va || req->va + req->len > UINT64_MAX - BL_GPU_PAGE_SIZE)
		return fail(EINVAL, "pin va 0x%" PRIx64 " len 0x%zx: beyond the end of the address space", req->va,
			    req->len);
	if (req->flags & ~BL_PIN_FORCE_PCIE)
		return fail(EINVAL, "pin va 0x%" PRIx64 ": unknown flags 0x%x", req->va, req->flags);
	return 0;
}

/* Give the pin its handle, unless the context is being closed. */
static int publish(struct bl_ctx *ctx, struct bl_pin *pin, bl_pin_t *pin_p)
{
	int ret;

	pthread_mutex_lock(&ctx->lock);
	if (ctx->closing) {
		pthread_mutex_unlock(&ctx->lock);
		return fail(EINVAL, "pin: the context was closed meanwhile");
	}
	bl_table_lock();
	ret = bl_slots_add(&bl_pin_slots, pin, &pin->id);
	if (!ret) {
		ret = bl_view_reserve(pin->id);
		if (ret)
			bl_slots_remove(&bl_pin_slots, pin->id);
	}
	bl_table_unlock();
	if (!ret) {
		pin->next = ctx->pins;
		if (pin->next)
			pin->next->prev = pin;
		ctx->pins = pin;
		*pin_p = pin->id;
	}
	pthread_mutex_unlock(&ctx->lock);
	return ret ? fail(-ret, "pin: no room for another handle") : 0;
}

static struct bl_pin *pin_new(struct bl_ctx *ctx)
{
	struct bl_pin *pin = calloc(1, sizeof(*pin));

	if (!pin)
		return NULL;
	atomic_init(&pin->refs, 1);
	atomic_init(&pin->holds, 1);
	pthread_mutex_init(&pin->lock, NULL);
	atomic_fetch_add(&ctx->refs, 1);
	pin->ctx = ctx;
	pin->ops = *ctx->place;
	return pin;
}

static int pin_range(struct bl_ctx *ctx, const struct bl_request *req, bl_pin_t *pin_p)
{
	struct bl_pin *pin;
	int ret;

	ret = settle(ctx);
	if (ret)
		return ret;
	pin = pin_new(ctx);
	if (!pin)
		return fail(ENOMEM, "pin: out of memory");
	ret = pin->ops->pin(ctx->priv, req, &pin->backing);
	if (ret)
		goto put;
	pin->asked = req->va;
	pin->page_off = req->va & (pin->backing.page_size - 1);
	ret = publish(ctx, pin, pin_p);
	if (ret)
		goto unpin;
	return 0;
unpin:
	pin->ops->unpin(ctx->priv, &pin->backing);
put:
	bl_pin_put(pin);
	return ret;
}

int bl_pin(bl_ctx_t ctx_id, uint64_t va, size_t len, uint32_t flags, uint64_t token, uint32_t space, bl_pin_t *pin_p)
{
	struct bl_request req = { .va = va, .len = len, .flags = flags, .token = token, .space = space };
	struct bl_ctx *ctx;
	int ret;

	ret = bl_check_owner();
	if (ret)
		return ret;
	ret = check_request(&req, pin_p);
	if (ret)
		return ret;
	ctx = bl_ctx_get(ctx_id);
	if (!ctx)
		return fail(EINVAL, "pin: no such context (closed already?)");
	ret = pin_range(ctx, &req, pin_p);
	bl_ctx_put(ctx);
	return ret;
}

/* No call finds the pin afterwards, nor a copy its mapping: none starts on one that goes away. */
static void forget_pin(struct bl_pin *pin)
{
	struct bl_ctx *ctx = pin->ctx;

	pthread_mutex_lock(&ctx->lock);
	if (pin->prev)
		pin->prev->next = pin->next;
	else
		ctx->pins = pin->next;
	if (pin->next)
		pin->next->prev = pin->prev;
	bl_table_lock();
	bl_view_hide(pin->id);
	bl_slots_remove(&bl_pin_slots, pin->id);
	bl_table_unlock();
	pthread_mutex_unlock(&ctx->lock);
}

int bl_pin_destroy(struct bl_pin *pin)
{
	int ret, err = 0;

	ret = bl_batch_pin_lock(pin);
	if (ret)
		return ret;
	if (pin->dead) {
		pthread_mutex_unlock(&pin->lock);
		return fail(EINVAL, "unpin: done already");
	}
	pin->dead = true;
	if (!pin->orphan)
		forget_pin(pin);
	bl_table_lock();
	if (pin->mapping.addr)
		bl_maps_count(pin->mapping.type, -1);
	bl_table_unlock();
	if (pin->mapping.addr) {
		bl_edge_drop(pin->mapping.addr);
		err = bl_share_unmap(pin, &pin->mapping);
		pin->mapping = (struct bl_mapping){ 0 };
	}
	ret = bl_pin_release(pin);
	if (!err)
		err = ret;
	/* under a mapping that could not be removed the memory stays */
	if (pin->vmm.size && err != -EBUSY)
		ret = bl_vmm_free(&pin->vmm);
	pthread_mutex_unlock(&pin->lock);
	bl_pin_put(pin); /* the handle's reference */
	return err ? err : ret;
}

int bl_pin_leave(struct bl_pin *pin)
{
	bool done;

	pthread_mutex_lock(&pin->lock);
	done = pin->dead || pin->batches;
	if (pin->batches && !pin->orphan) {
		forget_pin(pin);
		pin->orphan = true;
	}
	pthread_mutex_unlock(&pin->lock);
	return done ? -ETIMEDOUT : bl_pin_destroy(pin);
}

int bl_unpin(bl_ctx_t ctx_id, bl_pin_t id)
{
	struct bl_pin *pin = NULL;
	bool own;
	int ret;

	ret = bl_pin_get(ctx_id, id, &pin);
	if (ret)
		return ret;
	pthread_mutex_lock(&pin->lock);
	own = pin->vmm.size;
	pthread_mutex_unlock(&pin->lock);
	ret = own ? fail(EINVAL, "unpin: the memory was made by bl_alloc(): bl_free() takes it") : bl_pin_destroy(pin);
	bl_pin_put(pin);
	return ret;
}

static int describe(struct bl_pin *pin, struct bl_pin_info *info)
{
	struct bl_pin_info out = {
		.va = pin->backing.va,
		.len = pin->backing.len,
		.page_size = pin->backing.page_size,
		.type = pin->mapping.addr ? pin->mapping.type : BL_MAP_NONE,
		.addr = pin->mapping.addr,
		.map_len = pin->mapping.len,
		.sharers = bl_share_count(pin),
	};
	void *priv = pin->ctx->priv;
	int released = 0;
	int ret;

	if (pin->dead)
		return fail(EINVAL, "info: unpinned already");
	ret = pin->ops->released ? pin->ops->released(priv, &pin->backing, &released) : 0;
	if (!ret && pin->ops->times)
		ret = pin->ops->times(priv, &pin->backing, &out.pin_cycles, &out.tsc_khz);
	if (ret)
		return ret;
	out.released = (uint32_t)released;
	*info = out;
	return 0;
}

int bl_pin_info(bl_ctx_t ctx_id, bl_pin_t id, struct bl_pin_info *info)
{
	struct bl_pin *pin = NULL;
	int ret;

	if (!info)
		return fail(EINVAL, "info: no place for the answer");
	ret = bl_pin_get(ctx_id, id, &pin);
	if (ret)
		return ret;
	pthread_mutex_lock(&pin->lock);
	ret = describe(pin, info);
	pthread_mutex_unlock(&pin->lock);
	bl_pin_put(pin);
	return ret;
}
