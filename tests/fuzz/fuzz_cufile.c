// SPDX-License-Identifier: MIT
/* Any bytes as a cufile.json, and in the variables that come after it; places on the bus; the module's list. */
#include <string.h>

#include "cufile.h"
#include "file/config_load.h"
#include "file/nvfs_modules.h"
#include "file/topology.h"
#include "fuzz.h"
#include "util/log.h"

static const char *const variables[] = {
	"CUFILE_LOGGING_LEVEL", "CUFILE_LOGFILE_MAX_SIZE_MB", "CUFILE_ALLOW_COMPAT_MODE", "CUFILE_LOGFILE_PATH",
	"BARLANE_FILE_PATH",	"BARLANE_FILE_STRICT",
};

/* Sections and keys, so that the fuzzer need not find them letter by letter. */
static const char *const pieces[] = {
	"{", "}", "[", "]", ":", ",", "\"", "\\", "//", "/*", "*/", "\n", "true", "false", "null", "-1", "4096", "1e9",
	"\"logging\":{", "\"properties\":{", "\"execution\":{", "\"profile\":{", "\"denylist\":{", "\"fs\":{", "\"generic\":{",
	"\"gpu_bounce_buffer_slab_config\":{", "\"slab_size_kb\":[", "\"slab_count\":[", "\"posix_pool_slab_size_kb\":[",
	"\"posix_pool_slab_count\":[", "\"mounts\":[", "\"level\":\"", "\"dir\":\"", "\"max_file_size_mb\":",
	"\"max_direct_io_size_kb\":", "\"io_batchsize\":", "\"allow_compat_mode\":", "\"max_io_threads\":", "\"barlane_path\":\"",
};

static bool ends(const char *text, size_t size)
{
	return memchr(text, 0, size);
}

/* Whatever was read: every value is in its range, every text ends. */
static void check_all(const struct bl_file_config *config)
{
	for (int key = BL_KEY_NONE + 1; key < BL_KEY_NR; key++) {
		const struct bl_key_info *info = &bl_keys[key];
		const char *at = (const char *)config + info->off;
		char text[400];

		if (info->kind == BL_KIND_UINT)
			must(*(const unsigned int *)at <= (unsigned int)info->max && *(const unsigned int *)at >= (unsigned int)info->min);
		if (info->kind == BL_KIND_U64 || info->kind == BL_KIND_I64)
			must(*(const int64_t *)at >= info->min && *(const int64_t *)at <= info->max && !(*(const int64_t *)at % info->step));
		if (info->kind == BL_KIND_TEXT || info->kind == BL_KIND_WORD)
			must(ends(at, info->size));
		must(ends(bl_key_show(config, (enum bl_key)key, text, sizeof(text)), sizeof(text)));
	}
	must(config->path <= BL_PATH_NR);
	must(config->gpu_bounce_slabs.nr == config->gpu_bounce_slabs.nr_counts);
	must(config->posix_pool_slabs.nr == config->posix_pool_slabs.nr_counts);
	must(config->posix_pool_slabs.nr >= 1 && config->posix_pool_slabs.nr <= BL_SLABS);
	for (int i = 0; i < BL_DENY_NR; i++) {
		must(config->deny[i].nr >= 0 && config->deny[i].nr <= BL_NAMES);
		for (int k = 0; k < config->deny[i].nr; k++)
			must(ends(config->deny[i].name[k], BL_NAME_SIZE));
	}
}

static size_t make_text(char *text, size_t size)
{
	size_t len = 0, nr = fuzz_byte();

	for (size_t i = 0; i < nr; i++) {
		uint8_t which = fuzz_byte();
		size_t more;

		if (which < 64) {
			if (len < size)
				text[len++] = (char)fuzz_byte();
			continue;
		}
		more = strlen(pieces[which % (sizeof(pieces) / sizeof(pieces[0]))]);
		if (len + more > size)
			break;
		memcpy(text + len, pieces[which % (sizeof(pieces) / sizeof(pieces[0]))], more);
		len += more;
	}
	return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bl_file_config config;
	static struct bl_pci_device device;
	char text[8192], value[300];
	size_t len;

	bl_log_set_level(BL_LOG_OFF);
	config = bl_config_defaults;
	/* the bytes as they are, and then as a recipe */
	if (bl_config_parse(&config, (const char *)data, size, "fuzz"))
		must(!memcmp(&config, &bl_config_defaults, sizeof(config)));
	check_all(&config);
	fuzz_begin(data, size);
	len = make_text(text, sizeof(text));
	bl_config_parse(&config, text, len, "fuzz");
	check_all(&config);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		must(!setenv(variables[i], fuzz_text(value, sizeof(value)), 1));
	bl_config_environment(&config);
	check_all(&config);
	bl_config_notes_log();
	must(bl_pci_parse_path(fuzz_text(value, sizeof(value)), &device) || device.nr_path > 0);
	must(bl_nvfs_modules_parse(fuzz_text(value, sizeof(value))) < 1U << CU_FILE_MAX_TARGET_TYPES);
	return 0;
}
