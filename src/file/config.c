// SPDX-License-Identifier: MIT
/* The configuration in force, and what is staged for the next open. All under the driver's lock, but for reading. */
#define log_fmt(fmt) "file/config: " fmt
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config_load.h"
#include "util/log.h"

/* A configuration that was in force once. It is never freed: a request that outlived the close may look at it. */
struct version {
	struct version *next;
	struct bl_file_config config;
};

static struct version *versions;
static _Atomic(struct bl_file_config *) in_force;
static struct bl_file_config gathered;
static struct bl_file_config staged;
static bool is_staged[BL_KEY_NR];

const struct bl_file_config *bl_file_config(void)
{
	const struct bl_file_config *config = atomic_load_explicit(&in_force, memory_order_acquire);

	return config ? config : &bl_config_defaults;
}

struct bl_file_config *bl_config_in_force(void)
{
	return atomic_load(&in_force);
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

/* But for what may change at any time. */
static bool is_same(const struct bl_file_config *a, const struct bl_file_config *b)
{
	bool same = a->log_to == b->log_to;

	for (int key = BL_KEY_NONE + 1; same && key < BL_KEY_NR; key++)
		same = bl_key_is_live((enum bl_key)key) || bl_key_same(a, b, (enum bl_key)key);
	return same;
}

/* The version that has these settings, made unless there is one; NULL: no memory. */
static struct bl_file_config *keep(const struct bl_file_config *config)
{
	struct version *version = versions;

	while (version && !is_same(&version->config, config))
		version = version->next;
	if (version) {
		for (int key = BL_KEY_NONE + 1; key < BL_KEY_NR; key++) {
			if (bl_key_is_live((enum bl_key)key))
				bl_key_store(&version->config, config, (enum bl_key)key);
		}
		return &version->config;
	}
	version = malloc(sizeof(*version));
	if (!version)
		return NULL;
	version->config = *config;
	version->next = versions;
	versions = version;
	return &version->config;
}

int bl_config_open(void)
{
	struct bl_file_config *config;

	gather(&gathered);
	config = keep(&gathered);
	if (!config) {
		bl_config_notes_drop();
		return fail(ENOMEM, "out of memory");
	}
	memset(is_staged, 0, sizeof(is_staged));
	atomic_store_explicit(&in_force, config, memory_order_release);
	bl_logfile_start(config);
	bl_config_notes_log();
	return 0;
}

const struct bl_file_config *bl_config_peek(struct bl_file_config *scratch, bool open)
{
	if (open)
		return bl_file_config();
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
