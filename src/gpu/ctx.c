// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/ctx: " fmt
#include "core.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "copy/helper.h"
#include "gpu/batch.h"
#include "gpu/edge.h"
#include "gpu/engine.h"
#include "gpu/push.h"
#include "gpu/rm/rm_client.h"
#include "gpu/sys.h"
#include "util/fork.h"
#include "util/log.h"

static struct bl_slots ctx_slots;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

void bl_table_lock(void)
{
	pthread_mutex_lock(&table_lock);
}

void bl_table_unlock(void)
{
	pthread_mutex_unlock(&table_lock);
}

int bl_check_owner(void)
{
	if (!bl_fork_is_child())
		return 0;
	return fail(EACCES, "this process is a fork of the one that opened the context: open one of its own");
}

void bl_core_forget(void)
{
	pthread_mutex_init(&table_lock, NULL);
	bl_slots_forget(&ctx_slots);
	bl_slots_forget(&bl_pin_slots);
	bl_maps_forget();
	bl_rm_forget();
	bl_ce_forget();
	bl_engine_forget();
	bl_batch_forget();
	bl_helper_forget();
}

struct bl_ctx *bl_ctx_get(bl_ctx_t id)
{
	struct bl_ctx *ctx;

	bl_table_lock();
	ctx = bl_slots_object(&ctx_slots, id);
	if (ctx)
		atomic_fetch_add(&ctx->refs, 1);
	bl_table_unlock();
	return ctx;
}

void bl_ctx_put(struct bl_ctx *ctx)
{
	if (atomic_fetch_sub(&ctx->refs, 1) != 1)
		return;
	/* only now can no call that is still under way need it */
	(*ctx->place)->close(ctx->priv);
	pthread_mutex_destroy(&ctx->shares.lock);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx);
}

int bl_open(const char *provider, bl_ctx_t *ctx_p)
{
	struct bl_ctx *ctx;
	int ret;

	if (!ctx_p)
		return fail(EINVAL, "open: no place for the context");
	/* a library that stands in for the kernel sets its fork handlers up before ours: theirs nest inside */
	bl_sys();
	ret = bl_fork_init(bl_core_forget);
	if (ret)
		return fail(-ret, "open: cannot watch for forks");
	bl_push_init();
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return fail(ENOMEM, "open: out of memory");
	ret = bl_provider_select(provider, bl_providers, &ctx->place);
	if (ret)
		goto free_ctx;
	ctx->forced = provider || bl_provider_forced();
	ret = (*ctx->place)->open(&ctx->priv);
	if (ret)
		goto free_ctx;
	atomic_init(&ctx->refs, 1);
	pthread_mutex_init(&ctx->lock, NULL);
	pthread_mutex_init(&ctx->shares.lock, NULL);
	bl_table_lock();
	ret = bl_slots_add(&ctx_slots, ctx, &ctx->id);
	*ctx_p = ret ? *ctx_p : ctx->id;
	bl_table_unlock();
	if (ret) {
		fail(-ret, "open: no room for another context");
		goto close_provider;
	}
	return 0;
close_provider:
	(*ctx->place)->close(ctx->priv);
	pthread_mutex_destroy(&ctx->shares.lock);
	pthread_mutex_destroy(&ctx->lock);
free_ctx:
	free(ctx);
	return ret;
}

int bl_ctx_pins(bl_ctx_t id)
{
	struct bl_ctx *ctx = bl_ctx_get(id);
	int nr = 0;

	if (!ctx)
		return fail_quiet(EINVAL, "pins: no such context");
	pthread_mutex_lock(&ctx->lock);
	for (const struct bl_pin *pin = ctx->pins; pin; pin = pin->next)
		nr++;
	pthread_mutex_unlock(&ctx->lock);
	bl_ctx_put(ctx);
	return nr;
}

/* Take the handle away: one caller gets the context, all others see a stale handle. */
static struct bl_ctx *ctx_take(bl_ctx_t id)
{
	struct bl_ctx *ctx;

	bl_table_lock();
	ctx = bl_slots_object(&ctx_slots, id);
	if (ctx)
		bl_slots_remove(&ctx_slots, id);
	bl_table_unlock();
	return ctx;
}

/*
 * In a child no lock of the parent can be trusted and no object may be touched: descriptors were closed when it was
 * forked, memory is left alone. Whether the handle was valid is still answered.
 */
static int close_in_child(bl_ctx_t id)
{
	struct bl_slot *slot = bl_slots_find(&ctx_slots, id);

	if (!slot || !id || atomic_load(&slot->id) != id)
		return fail(EINVAL, "close: no such context");
	atomic_store(&slot->id, 0);
	return 0;
}

/* Pins are destroyed one by one without the context's lock: a provider may block, and other threads may unpin too. */
static int destroy_pins(struct bl_ctx *ctx)
{
	struct bl_pin *pin;
	int ret, first = 0;

	for (;;) {
		pthread_mutex_lock(&ctx->lock);
		ctx->closing = true;
		pin = ctx->pins;
		if (pin)
			atomic_fetch_add(&pin->refs, 1);
		pthread_mutex_unlock(&ctx->lock);
		if (!pin)
			return first;
		/* one time-out is enough for all of them */
		ret = first == -ETIMEDOUT ? -ETIMEDOUT : bl_pin_destroy(pin);
		if (ret == -ETIMEDOUT)
			ret = bl_pin_leave(pin);
		if (ret && ret != -EINVAL && !first)
			first = ret;
		bl_pin_put(pin);
	}
}

int bl_close(bl_ctx_t id)
{
	struct bl_ctx *ctx;
	int ret;

	if (bl_fork_is_child())
		return close_in_child(id);
	ctx = ctx_take(id);
	if (!ctx)
		return fail(EINVAL, "close: no such context (closed already?)");
	ret = destroy_pins(ctx);
	bl_ctx_put(ctx);
	return ret;
}

int bl_ctx_provider(bl_ctx_t id, struct bl_provider_info *info)
{
	const struct bl_provider_ops *ops;
	struct bl_ctx *ctx;
	int ret;

	if (!info)
		return fail(EINVAL, "provider: no place for the answer");
	ret = bl_check_owner();
	if (ret)
		return ret;
	ctx = bl_ctx_get(id);
	if (!ctx)
		return fail(EINVAL, "provider: no such context");
	pthread_mutex_lock(&ctx->lock);
	ops = *ctx->place;
	*info = (struct bl_provider_info){ .name = ops->name, .usable = 1 };
	ret = ops->refresh ? ops->refresh(ctx->priv, info) : ops->probe(info);
	pthread_mutex_unlock(&ctx->lock);
	bl_ctx_put(ctx);
	return ret;
}
