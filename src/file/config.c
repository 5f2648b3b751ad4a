// SPDX-License-Identifier: MIT
/* The configuration in force, and what is staged for the next open. All under the driver's lock, but for reading. */
#include <string.h>

#include "config_load.h"

static struct bl_file_config in_force;
static _Atomic(bool) ever_opened;
static struct bl_file_config staged;
static bool is_staged[BL_KEY_NR];

const struct bl_file_config *bl_file_config(void)
{
	return atomic_load_explicit(&ever_opened, memory_order_acquire) ? &in_force : &bl_config_defaults;
}

struct bl_file_config *bl_config_in_force(void)
{
	return &in_force;
}

static void gather(struct bl_file_config *config)
{
	*config = bl_config_defaults;
	bl_config_file(config);
	bl_config_environment(config);
	for (int key = 0; key < BL_KEY_NR; key++) {
		if (is_staged[key])
			bl_key_copy(config, &staged, (enum bl_key)key);
	}
}

void bl_config_open(void)
{
	gather(&in_force);
	memset(is_staged, 0, sizeof(is_staged));
	atomic_store_explicit(&ever_opened, true, memory_order_release);
	bl_logfile_start(&in_force);
	bl_config_notes_log();
}

const struct bl_file_config *bl_config_peek(struct bl_file_config *scratch, bool open)
{
	if (open)
		return &in_force;
	gather(scratch);
	bl_config_notes_drop();
	return scratch;
}

void bl_config_stage(const struct bl_file_config *config, enum bl_key key)
{
	bl_key_copy(&staged, config, key);
	is_staged[key] = true;
}

bool bl_config_denies(enum bl_deny what, const char *name)
{
	const struct bl_names *names = &bl_file_config()->deny[what];

	for (int i = 0; i < names->nr; i++) {
		size_t len = strlen(names->name[i]);

		if (!strcmp(names->name[i], name))
			return true;
		/* "/data/" and "/data" are the same mount, and hold "/data/set" */
		while (what == BL_DENY_MOUNTS && len > 1 && names->name[i][len - 1] == '/')
			len--;
		if (what == BL_DENY_MOUNTS && !strncmp(names->name[i], name, len) &&
		    (name[len] == '/' || !name[len] || len == 1))
			return true;
	}
	return false;
}
