// SPDX-License-Identifier: MIT
#include "common/cufile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"

static int find(void *handle, const char *name, void *slot)
{
	*(void **)slot = dlsym(handle, name);
	return *(void **)slot ? 0 : -ENOSYS;
}

int tool_cufile_load(const char *name, struct tool_cufile *lib)
{
	void *handle = dlopen(name ? name : "libcufile.so.0", RTLD_NOW | RTLD_LOCAL);
	struct link_map *map;

	if (!handle)
		return tool_fail(ENOENT, "no libcufile: %s", dlerror());
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map))
		return tool_fail(ENOENT, "libcufile: %s", dlerror());
	snprintf(lib->path, sizeof(lib->path), "%s", map->l_name);
#define NEED(ret, field, params)                                                                                       \
	if (find(handle, #field, &lib->field))                                                                         \
		return tool_fail(ENOSYS, "%s has no function " #field, lib->path);
#define TRY(ret, field, params) find(handle, #field, &lib->field);
	TOOL_CUFILE_REQUIRED(NEED)
	TOOL_CUFILE_OPTIONAL(TRY)
	return 0;
}

int tool_cufile_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0644), now, err = 0;
	struct stat st;

	if (fd < 0)
		return -1;
	now = fcntl(fd, F_GETFL);
	if (fstat(fd, &st) || now < 0)
		err = errno;
	else if (S_ISFIFO(st.st_mode))
		err = ESPIPE;
	/* a libcufile may refuse descriptors that have the flag */
	else if (fcntl(fd, F_SETFL, now & ~O_NONBLOCK))
		err = errno;
	if (!err)
		return fd;
	close(fd);
	errno = err;
	return -1;
}

int tool_cufile_status(CUfileError_t status, const char *what)
{
	if (status.err == CU_FILE_SUCCESS)
		return 0;
	if (status.err == CU_FILE_CUDA_DRIVER_ERROR)
		return tool_fail(EIO, "%s: %s (%d)", what, bl_cuda_strerror((CUresult)status.cu_err), status.err);
	return tool_fail(EIO, "%s: %s (%d)", what, cufileop_status_error(status.err), status.err);
}
