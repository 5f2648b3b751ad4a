// SPDX-License-Identifier: MIT
#include "common/object.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"

#define OBJECT_MAX (64UL << 20)

static int object_path(const char *name, char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size);
	char *slash;

	if (len < 0)
		return tool_fail(errno, "/proc/self/exe: %s", strerror(errno));
	if ((size_t)len >= size)
		return tool_fail(ENAMETOOLONG, "the program's path is too long");
	path[len] = '\0';
	slash = strrchr(path, '/');
	if (!slash || (size_t)(slash + 1 - path) + strlen(name) + 1 > size)
		return tool_fail(ENAMETOOLONG, "the program's path is too long");
	memcpy(slash + 1, name, strlen(name) + 1);
	return 0;
}

/* The whole file, to be freed. NULL with errno. */
static void *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	void *bytes = NULL;
	long len;

	if (!file)
		return NULL;
	errno = EINVAL;
	if (!fseek(file, 0, SEEK_END) && (len = ftell(file)) > 0 && (unsigned long)len <= OBJECT_MAX) {
		rewind(file);
		bytes = malloc((size_t)len);
		if (bytes && fread(bytes, 1, (size_t)len, file) != (size_t)len) {
			free(bytes);
			bytes = NULL;
			errno = EIO;
		}
	}
	fclose(file);
	return bytes;
}

int tool_object_load(const struct tool_device *device, const char *name, const char *why, CUmodule *module)
{
	char path[4096];
	CUresult res;
	void *bytes;
	int ret = object_path(name, path, sizeof(path));

	if (ret)
		return ret;
	bytes = read_file(path);
	if (!bytes)
		return tool_fail(errno, "no kernel for this GPU: %s; %s: %s", why, path, strerror(errno));
	res = device->cu->cuModuleLoadData(module, bytes);
	free(bytes);
	return res ? tool_fail(bl_cuda_errno(res), "no kernel for this GPU: %s; %s: %s", why, path, bl_cuda_strerror(res)) : 0;
}
