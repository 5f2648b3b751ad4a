// SPDX-License-Identifier: MIT
/* The policy: what bl_copy() does with a copy that is not simply the CPU's. */
#define log_fmt(fmt) "gpu/engine: " fmt
#include "engine.h"

#include <errno.h>
#include <inttypes.h>

#include "util/log.h"

/* Below these no copy engine was ever faster (measured on an H200: 6 KiB and 128 KiB); calibration lifts them. */
_Atomic(size_t) bl_engine_from[BL_NR_DIRS] = { [BL_COPY_TO] = 32U << 10, [BL_COPY_FROM] = 2U << 10 };

void bl_engine_forget(void)
{
	bl_edge_forget();
	bl_calibrate_forget();
}

static int by_cpu(struct bl_pin *pin, void *addr, void *host, size_t len, enum bl_copy_dir dir)
{
	int ret;

	bl_engine_count(BL_ENGINE_CPU, dir, len);
	ret = dir == BL_COPY_TO ? pin->cpu->to(addr, host, len) : pin->cpu->from(host, addr, len);
	if (atomic_load_explicit(&bl_maps_mixed, memory_order_relaxed))
		bl_cpu_fence_mixed();
	if (dir == BL_COPY_TO)
		bl_ce_wrote();
	return ret;
}

/* What ce must know of the pin, found out once. */
static int know_target(const struct bl_cuda *cuda, struct bl_pin *pin)
{
	int ret = 0;

	if (atomic_load_explicit(&pin->ce_known, memory_order_acquire))
		return 0;
	pthread_mutex_lock(&pin->lock);
	if (!atomic_load_explicit(&pin->ce_known, memory_order_relaxed)) {
		ret = bl_ce_target_init(cuda, pin->backing.va + pin->page_off, pin->backing.buffer_id, &pin->ce);
		if (!ret)
			atomic_store_explicit(&pin->ce_known, true, memory_order_release);
	}
	pthread_mutex_unlock(&pin->lock);
	return ret;
}

static int prepare(struct bl_pin *pin)
{
	if (!bl_cuda())
		return fail(EOPNOTSUPP, "engine ce: %s", bl_cuda_error());
	bl_copies_note();
	return know_target(bl_cuda(), pin);
}

static int by_ce(struct bl_pin *pin, uint64_t off, void *addr, void *host, size_t len, enum bl_copy_dir dir,
		 bool pinned)
{
	struct bl_ce_copy copy = {
		.target = &pin->ce,
		.va = pin->backing.va + off,
		.mapped = addr,
		.host = host,
		.len = len,
		.dir = dir,
		.pinned = pinned,
	};
	int ret = bl_ce_run(bl_cuda(), &copy);

	if (!ret)
		bl_engine_count(BL_ENGINE_CE, dir, len);
	return ret;
}

/* The copy was not begun, so that the CPU may do it. After other errors the GPU may be at it still. */
static bool not_begun(int err)
{
	return err == -ENOMEM || err == -EOPNOTSUPP || err == -EINVAL || err == -ENODEV || err == -EBUSY;
}

/* -EAGAIN: the CPU shall do it. */
static int try_ce(struct bl_pin *pin, uint64_t off, void *addr, void *host, size_t len, enum bl_copy_dir dir)
{
	bool pinned;
	int ret;

	bl_fail_hush(1);
	ret = prepare(pin);
	if (!ret) {
		pinned = bl_ce_pinned(bl_cuda(), host, len);
		ret = len < bl_calibrate(pin, dir, pinned) ? -EAGAIN : by_ce(pin, off, addr, host, len, dir, pinned);
	}
	bl_fail_hush(-1);
	if (ret && ret != -EAGAIN && not_begun(ret)) {
		log_info("engine ce cannot be used (%s): the CPU copies", bl_last_error(NULL));
		return -EAGAIN;
	}
	if (ret && ret != -EAGAIN)
		log_warn("copy by ce failed: %s", bl_last_error(NULL));
	return ret;
}

static int copy_pin(struct bl_pin *pin, uint64_t off, void *host, size_t len, enum bl_copy_dir dir,
		    enum bl_engine engine)
{
	void *addr = (char *)pin->mapping.addr + off;
	int ret = -EAGAIN;

	if (engine == BL_ENGINE_CE) {
		ret = prepare(pin);
		return ret ? ret : by_ce(pin, off, addr, host, len, dir, bl_ce_pinned(bl_cuda(), host, len));
	}
	if (engine == BL_ENGINE_AUTO && bl_engine_large(dir, len))
		ret = try_ce(pin, off, addr, host, len, dir);
	return ret == -EAGAIN ? by_cpu(pin, addr, host, len, dir) : ret;
}

int bl_engine_copy(bl_pin_t id, uint64_t off, void *host, size_t len, enum bl_copy_dir dir, enum bl_engine engine)
{
	struct bl_pin *pin;
	int ret;

	ret = bl_pin_get_any(id, &pin);
	if (ret)
		return ret;
	ret = copy_pin(pin, off, host, len, dir, engine);
	bl_pin_put(pin);
	return ret;
}
