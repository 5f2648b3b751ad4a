// SPDX-License-Identifier: MIT
/* What copies take, for those who plan them. */
#define log_fmt(fmt) "gpu/copy_cost: " fmt
#include <errno.h>
#include <inttypes.h>

#include "calibrate.h"
#include "push.h"
#include "util/log.h"
#include "view.h"

static int check_request(bl_pin_t id, size_t len, enum bl_copy_dir dir, enum bl_engine engine, const uint64_t *ns_p)
{
	if ((unsigned int)dir >= BL_NR_DIRS)
		return fail(EINVAL, "cost: no direction %u", dir);
	if ((unsigned int)engine >= BL_NR_ENGINES)
		return fail(EINVAL, "cost: no engine %u", engine);
	if (!len || !ns_p)
		return fail(EINVAL, "cost: %s", ns_p ? "length 0" : "no place for the answer");
	if (!bl_view_live(id))
		return fail(EINVAL, "cost: handle 0x%" PRIx64 " is not a mapped pin", id);
	return 0;
}

/* Quiet: that there is no answer is for the caller to handle. */
static int look_up(const struct bl_calibration *cal, const struct bl_cost_table *table, size_t len,
		   enum bl_copy_dir dir, bool pinned, enum bl_engine engine, uint64_t *ns_p, enum bl_engine *engine_p)
{
	const struct bl_refusal *all = &cal->refused[BL_ENGINE_AUTO], *own = &cal->refused[engine];

	if (all->err && engine > BL_ENGINE_CPU)
		return fail_quiet(EOPNOTSUPP, "engine %s: %s", bl_engine_name(engine), all->why);
	if (all->err)
		return fail_quiet(ENODATA, "cost: not measured: %s", all->why);
	if (own->err)
		return fail_quiet(EOPNOTSUPP, "engine %s: %s", bl_engine_name(engine), own->why);
	if (engine == BL_ENGINE_AUTO)
		engine = bl_cost_pick(table, dir, pinned, len);
	*ns_p = bl_cost_estimate(&table->rows[engine][dir][pinned], len);
	if (!*ns_p)
		return fail_quiet(ENODATA, "cost: engine %s len 0x%zx: not measured in the time for it",
				  bl_engine_name(engine), len);
	*engine_p = engine;
	return 0;
}

/* Why push cannot do such a copy, as bl_copy() says it. */
static int check_push(const struct bl_pin *pin, size_t len, enum bl_copy_dir dir)
{
	if (dir != BL_COPY_FROM)
		return fail_quiet(EOPNOTSUPP, "engine push reads only");
	if (len > BL_PUSH_MAX_LEN)
		return fail_quiet(EOPNOTSUPP, "len 0x%zx: engine push reads at most %lu bytes", len, BL_PUSH_MAX_LEN);
	if (!bl_push_enabled(&pin->ce))
		return fail_quiet(EOPNOTSUPP, "device %d: engine push is not enabled", pin->ce.ordinal);
	return 0;
}

/* The table in which the answer is: that with push where push can do it. Who asks for auto does without. */
static int find_table(struct bl_pin *pin, const struct bl_calibration *cal, size_t len, enum bl_copy_dir dir,
		      enum bl_engine engine, const struct bl_cost_table **table_p)
{
	int ret;

	*table_p = &cal->table;
	if ((engine != BL_ENGINE_PUSH && engine != BL_ENGINE_AUTO) || cal->refused[BL_ENGINE_AUTO].err)
		return 0;
	ret = check_push(pin, len, dir);
	if (!ret)
		ret = bl_calibrate_push_wait(pin, &cal->table, table_p);
	return engine == BL_ENGINE_AUTO ? 0 : ret;
}

int bl_copy_cost(bl_pin_t id, size_t len, enum bl_copy_dir dir, int pinned, enum bl_engine engine, uint64_t *ns_p,
		 enum bl_engine *engine_p)
{
	const struct bl_cost_table *table;
	const struct bl_calibration *cal;
	enum bl_engine by = engine;
	struct bl_pin *pin;
	uint64_t ns;
	int ret;

	ret = bl_pin_get_any(id, &pin);
	if (ret)
		return ret;
	ret = check_request(id, len, dir, engine, ns_p);
	if (!ret)
		ret = bl_engine_prepare(pin);
	if (!ret)
		ret = bl_calibrate_wait(pin, &cal);
	if (!ret)
		ret = find_table(pin, cal, len, dir, engine, &table);
	if (!ret)
		ret = look_up(cal, table, len, dir, pinned, engine, &ns, &by);
	bl_pin_put(pin);
	if (ret)
		return ret;
	*ns_p = ns;
	if (engine_p)
		*engine_p = by;
	return 0;
}
