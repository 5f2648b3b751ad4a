// SPDX-License-Identifier: MIT
/* The policy: what bl_copy() does with a copy that is not simply the CPU's. */
#define log_fmt(fmt) "gpu/engine: " fmt
#include "engine.h"

#include <errno.h>
#include <inttypes.h>

#include "cost.h"
#include "push.h"
#include "util/log.h"
#include "view.h"

/* Below these no copy engine was ever faster (measured on an H200: 6 KiB and 128 KiB); calibration moves them. */
_Atomic(size_t) bl_engine_from[BL_NR_DIRS] = { [BL_COPY_TO] = 32U << 10, [BL_COPY_FROM] = 2U << 10 };

void bl_engine_forget(void)
{
	bl_edge_forget();
	bl_calibrate_forget();
	bl_calibrate_push_forget();
	bl_push_forget();
}

/**
 * struct request - what shall be copied; as bl_copy() has it
 * @off:  bytes from the start of the pin
 * @host: host memory
 * @len:  bytes, > 0
 * @dir:  direction
 */
struct request {
	uint64_t off;
	void *host;
	size_t len;
	enum bl_copy_dir dir;
};

static int by_cpu(struct bl_pin *pin, const struct request *req)
{
	void *addr = (char *)pin->mapping.addr + req->off;
	int ret;

	bl_engine_count(BL_ENGINE_CPU, req->dir, req->len);
	ret = req->dir == BL_COPY_TO ? pin->cpu->to(addr, req->host, req->len) :
				       pin->cpu->from(req->host, addr, req->len);
	if (atomic_load_explicit(&bl_maps_mixed, memory_order_relaxed))
		bl_cpu_fence_mixed();
	if (req->dir == BL_COPY_TO)
		bl_ce_wrote();
	return ret;
}

int bl_engine_by_cpu(struct bl_pin *pin, uint64_t off, void *host, size_t len, enum bl_copy_dir dir)
{
	struct request req = { .off = off, .host = host, .len = len, .dir = dir };

	return by_cpu(pin, &req);
}

/* What ce must know of the pin, found out once. */
static int know_target(const struct bl_cuda *cuda, struct bl_pin *pin)
{
	int ret = 0;

	pthread_mutex_lock(&pin->lock);
	if (!atomic_load_explicit(&pin->ce_known, memory_order_relaxed)) {
		ret = bl_ce_target_init(cuda, pin->backing.va + pin->page_off, pin->backing.buffer_id, &pin->ce);
		if (!ret)
			atomic_store_explicit(&pin->ce_known, true, memory_order_release);
	}
	pthread_mutex_unlock(&pin->lock);
	return ret;
}

int bl_engine_prepare(struct bl_pin *pin)
{
	const struct bl_cuda *cuda;

	/* nothing is left to do after the first time */
	if (atomic_load_explicit(&pin->ce_known, memory_order_acquire))
		return 0;
	cuda = bl_cuda();
	if (!cuda)
		return fail(EOPNOTSUPP, "the GPU's engines: %s", bl_cuda_error());
	bl_copies_note();
	return know_target(cuda, pin);
}

void bl_engine_mapped(struct bl_pin *pin)
{
	int ret;

	if (!bl_push_anywhere())
		return;
	bl_fail_hush(1);
	ret = bl_engine_prepare(pin);
	if (!ret)
		ret = bl_push_prepare(bl_cuda(), &pin->ce, pin->ops->name);
	bl_fail_hush(-1);
	if (ret)
		log_info("va 0x%" PRIx64 ": no channel for engine push: %s", pin->asked, bl_last_error(NULL));
}

static void remember(const struct bl_pin *pin, const struct bl_cost_table *table)
{
	struct bl_again *again = bl_engine_again();

	/* memory of no context may go with the pin, whose reference keeps it */
	if (!again || pin->ce.shared || (again->id == pin->id && (again->table || !table)))
		return;
	again->id = pin->id;
	again->va = pin->backing.va;
	again->table = table;
	again->target = (struct bl_ce_target){
		.device = pin->ce.device,
		.ordinal = pin->ce.ordinal,
		.context = pin->ce.context,
		.asked = pin->ce.asked,
		.buffer_id = pin->ce.buffer_id,
		.base = pin->ce.base,
		.size = pin->ce.size,
	};
	atomic_init(&again->target.ce, atomic_load_explicit(&pin->ce.ce, memory_order_acquire));
}

static int run_ce(struct bl_ce_target *target, uint64_t va, void *map, const struct request *req, bool pinned)
{
	struct bl_ce_copy copy = {
		.target = target,
		.va = va + req->off,
		.mapped = (char *)map + req->off,
		.host = req->host,
		.len = req->len,
		.dir = req->dir,
		.pinned = pinned,
	};
	int ret = bl_ce_run(bl_cuda(), &copy);

	if (!ret)
		bl_engine_count(BL_ENGINE_CE, req->dir, req->len);
	return ret;
}

/* @table: by which it was picked, NULL: it was asked for by name */
static int by_ce(struct bl_pin *pin, const struct request *req, bool pinned, const struct bl_cost_table *table)
{
	int ret = run_ce(&pin->ce, pin->backing.va, pin->mapping.addr, req, pinned);

	if (!ret)
		remember(pin, table);
	return ret;
}

/* @provider: for a channel that has to be made, NULL: none is made. */
static int by_push(struct bl_pin *pin, const struct request *req, const char *provider, bool *begun_p)
{
	const struct bl_ce_copy copy = {
		.target = &pin->ce,
		.va = pin->backing.va + req->off,
		.host = req->host,
		.len = req->len,
		.dir = req->dir,
	};
	int ret = bl_push_run(bl_cuda(), provider, &copy, begun_p);

	if (!ret)
		bl_engine_count(BL_ENGINE_PUSH, req->dir, req->len);
	return ret;
}

/* That push cannot write is known before anything else. */
static int only_push(struct bl_pin *pin, const struct request *req)
{
	bool begun;
	int ret;

	if (req->dir != BL_COPY_FROM)
		return fail(EOPNOTSUPP, "engine push reads only: write with cpu or ce");
	ret = bl_engine_prepare(pin);
	return ret ? ret : by_push(pin, req, pin->ops->name, &begun);
}

static bool push_is_fastest(const struct bl_cost_table *table, const struct request *req)
{
	bool ordinary = bl_cost_pick(table, req->dir, false, req->len) == BL_ENGINE_PUSH;
	bool pinned = bl_cost_pick(table, req->dir, true, req->len) == BL_ENGINE_PUSH;

	/* CUDA need not be asked what the host memory is when that does not matter */
	if (pinned == ordinary)
		return pinned;
	return pinned == bl_ce_pinned(bl_cuda(), req->host, req->len);
}

static bool wants_push(struct bl_pin *pin, const struct request *req)
{
	const struct bl_cuda *cuda = bl_cuda();
	const struct bl_cost_table *table;

	if (!bl_push_usable(cuda, &pin->ce))
		return false;
	table = bl_calibrate_push(pin);
	return table && push_is_fastest(table, req) && bl_push_wanted(cuda, &pin->ce);
}

/* -EAGAIN: another engine shall do it. */
static int try_push(struct bl_pin *pin, const struct request *req)
{
	bool begun = false;
	int ret;

	bl_fail_hush(1);
	ret = bl_engine_prepare(pin);
	if (!ret)
		ret = wants_push(pin, req) ? by_push(pin, req, NULL, &begun) : -EAGAIN;
	bl_fail_hush(-1);
	if (ret && ret != -EAGAIN && !begun) {
		log_info("engine push cannot be used (%s)", bl_last_error(NULL));
		return -EAGAIN;
	}
	if (ret && ret != -EAGAIN)
		log_warn("copy by push failed: %s", bl_last_error(NULL));
	return ret;
}

/* The copy was not begun, so that the CPU may do it. After other errors the GPU may be at it still. */
static bool not_begun(int err)
{
	return err == -ENOMEM || err == -EOPNOTSUPP || err == -EINVAL || err == -ENODEV || err == -EBUSY;
}

/* @pinned_p: what the host memory is, of which CUDA need not be asked when it does not matter. */
static bool picks_ce(const struct bl_cost_table *table, const struct request *req, bool *pinned_p)
{
	if (bl_cost_pick(table, req->dir, false, req->len) == BL_ENGINE_CPU &&
	    bl_cost_pick(table, req->dir, true, req->len) == BL_ENGINE_CPU)
		return false;
	*pinned_p = bl_ce_pinned(bl_cuda(), req->host, req->len);
	return bl_cost_pick(table, req->dir, *pinned_p, req->len) == BL_ENGINE_CE;
}

/* With the engine that the table says; -EAGAIN: the CPU shall do it. */
static int by_table(struct bl_pin *pin, const struct request *req)
{
	const struct bl_cost_table *table = bl_calibrate(pin);
	bool pinned;

	if (!table || !picks_ce(table, req, &pinned))
		return -EAGAIN;
	return by_ce(pin, req, pinned, table);
}

/* The same for a pin that the thread has copied by ce before. -EAGAIN: all of it has to be looked at. */
static int by_auto_again(struct bl_again *again, const struct bl_view *view, const struct request *req)
{
	bool pinned;
	int ret;

	if (!again->table || !bl_engine_large(req->dir, req->len) || bl_push_fits(req->dir, req->len) ||
	    !picks_ce(again->table, req, &pinned))
		return -EAGAIN;
	bl_fail_hush(1);
	ret = run_ce(&again->target, again->va, (void *)atomic_load(&view->addr), req, pinned);
	bl_fail_hush(-1);
	if (ret && not_begun(ret))
		return -EAGAIN;
	if (ret)
		log_warn("copy by ce failed: %s", bl_last_error(NULL));
	return ret;
}

static int by_ce_again(bl_pin_t id, const struct request *req, enum bl_engine engine)
{
	struct bl_again *again = bl_engine_again();
	const struct bl_view *view = again && id == again->id ? bl_view_live(id) : NULL;

	if (view && engine == BL_ENGINE_AUTO)
		return by_auto_again(again, view, req);
	if (!view || engine != BL_ENGINE_CE)
		return -EAGAIN;
	return run_ce(&again->target, again->va, (void *)atomic_load(&view->addr), req,
		      bl_ce_pinned(bl_cuda(), req->host, req->len));
}

static int by_auto(struct bl_pin *pin, const struct request *req)
{
	int ret;

	bl_fail_hush(1);
	ret = bl_engine_prepare(pin);
	if (!ret)
		ret = by_table(pin, req);
	bl_fail_hush(-1);
	if (ret && ret != -EAGAIN && not_begun(ret)) {
		log_info("engine ce cannot be used (%s): the CPU copies", bl_last_error(NULL));
		ret = -EAGAIN;
	}
	if (ret == -EAGAIN)
		return by_cpu(pin, req);
	if (ret)
		log_warn("copy by ce failed: %s", bl_last_error(NULL));
	return ret;
}

static int by_engine(struct bl_pin *pin, const struct request *req, enum bl_engine engine)
{
	int ret;

	if (engine == BL_ENGINE_PUSH)
		return only_push(pin, req);
	if (engine == BL_ENGINE_AUTO && bl_push_fits(req->dir, req->len)) {
		ret = try_push(pin, req);
		if (ret != -EAGAIN)
			return ret;
	}
	if (engine == BL_ENGINE_AUTO && bl_engine_large(req->dir, req->len))
		return by_auto(pin, req);
	if (engine != BL_ENGINE_CE)
		return by_cpu(pin, req);
	ret = bl_engine_prepare(pin);
	return ret ? ret : by_ce(pin, req, bl_ce_pinned(bl_cuda(), req->host, req->len), NULL);
}

int bl_engine_copy(bl_pin_t id, uint64_t off, void *host, size_t len, enum bl_copy_dir dir, enum bl_engine engine)
{
	struct request req = { .off = off, .host = host, .len = len, .dir = dir };
	struct bl_pin *pin;
	int ret;

	ret = by_ce_again(id, &req, engine);
	if (ret != -EAGAIN)
		return ret;
	ret = bl_pin_get_any(id, &pin);
	if (ret)
		return ret;
	ret = by_engine(pin, &req, engine);
	bl_pin_put(pin);
	return ret;
}
