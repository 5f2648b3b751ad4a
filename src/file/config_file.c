// SPDX-License-Identifier: MIT
/* Where a configuration comes from: files and environment variables. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_load.h"

#define MAX_FILE (1 << 20)

/* Read a whole regular file. Return: 0, -errno, -EINVAL (no regular file), -EFBIG. */
static int slurp(const char *path, char **text_p, size_t *len_p)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), ret = 0;
	struct stat st;
	size_t len = 0;
	char *text;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		ret = -errno;
	else if (!S_ISREG(st.st_mode))
		ret = -EINVAL;
	else if (st.st_size > MAX_FILE)
		ret = -EFBIG;
	text = ret ? NULL : malloc((size_t)st.st_size + 1);
	if (!ret && !text)
		ret = -ENOMEM;
	while (!ret && len < (size_t)st.st_size) {
		ssize_t got = read(fd, text + len, (size_t)st.st_size - len);

		if (got < 0 && errno != EINTR)
			ret = -errno;
		else if (!got)
			break;
		else if (got > 0)
			len += (size_t)got;
	}
	close(fd);
	if (ret) {
		free(text);
		return ret;
	}
	*text_p = text;
	*len_p = len;
	return 0;
}

/* Return: 0 when the file was there, whatever was in it, or -errno. */
static int try_file(struct bl_file_config *config, const char *path)
{
	char *text = NULL;
	size_t len = 0;
	int ret;

	ret = slurp(path, &text, &len);
	if (ret)
		return ret;
	if (bl_config_parse(config, text, len, path) == -ENOMEM)
		bl_config_fault("%s: out of memory; the file is ignored", path);
	free(text);
	return 0;
}

void bl_config_file(struct bl_file_config *config)
{
	static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH"};
	const char *path = secure_getenv("CUFILE_ENV_PATH_JSON");
	char copy[4096];
	int ret;

	if (path && *path) {
		ret = try_file(config, path);
		if (ret)
			bl_config_fault("CUFILE_ENV_PATH_JSON %s: %s; no file is read", path, strerror(-ret));
		return;
	}
	ret = try_file(config, "/etc/cufile.json");
	if (ret && ret != -ENOENT)
		bl_config_fault("/etc/cufile.json: %s", strerror(-ret));
	for (size_t i = 0; ret && i < sizeof(homes) / sizeof(homes[0]); i++) {
		const char *home = secure_getenv(homes[i]);

		if (home && *home && snprintf(copy, sizeof(copy), "%s/gds/cufile.json", home) < (int)sizeof(copy))
			ret = try_file(config, copy);
	}
	if (ret)
		try_file(config, "/usr/local/cuda/gds/cufile.json");
}

void bl_config_environment(struct bl_file_config *config)
{
	static const struct {
		const char *name;
		enum bl_key key;
	} variables[] = {
		{"CUFILE_LOGGING_LEVEL", BL_KEY_LOG_LEVEL},
		{"CUFILE_LOGFILE_MAX_SIZE_MB", BL_KEY_LOG_MAX_SIZE},
		{"CUFILE_ALLOW_COMPAT_MODE", BL_KEY_ALLOW_COMPAT},
		{"CUFILE_FORCE_COMPAT_MODE", BL_KEY_FORCE_COMPAT},
		{"CUFILE_USE_PCIP2PDMA", BL_KEY_P2PDMA},
		{"CUFILE_SKIP_TOPOLOGY_DETECTION", BL_KEY_SKIP_TOPOLOGY},
		{"CUFILE_NVTX", BL_KEY_NVTX},
		{"BARLANE_FILE_PATH", BL_KEY_PATH},
		{"BARLANE_FILE_STRICT", BL_KEY_STRICT},
	};
	const char *file = secure_getenv("CUFILE_LOGFILE_PATH");

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = secure_getenv(variables[i].name);

		if (value && *value)
			bl_key_parse(config, variables[i].key, value, variables[i].name);
	}
	if (file && !bl_key_set_text(config, BL_KEY_LOG_FILE, file, "CUFILE_LOGFILE_PATH"))
		config->log_to = *file ? BL_LOG_TO_FILE : BL_LOG_TO_NONE;
}
