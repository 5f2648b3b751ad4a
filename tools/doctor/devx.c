// SPDX-License-Identifier: MIT
/* The trial is what the library does, so that the answer is that of the driver, this user, and the container. */
#include "doctor/devx.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* As libmlx5 has it. Its header, and libibverbs', need not be there to build this program. */
struct attr {
	uint32_t flags;
	uint64_t comp_mask;
};

#define FLAG_DEVX 1

/**
 * struct functions - of libibverbs and libmlx5, whose devices and contexts are opaque here
 */
struct functions {
	void **(*list)(int *nr);
	void (*free_list)(void **list);
	const char *(*name)(void *device);
	void *(*open)(void *device, struct attr *attr);
	int (*close)(void *context);
};

/* Both stay, as trials' libraries do. */
static int find(struct functions *functions)
{
	void *verbs = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	void *mlx5 = verbs ? dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!mlx5)
		return -ENOENT;
	*(void **)&functions->list = dlsym(verbs, "ibv_get_device_list");
	*(void **)&functions->free_list = dlsym(verbs, "ibv_free_device_list");
	*(void **)&functions->name = dlsym(verbs, "ibv_get_device_name");
	*(void **)&functions->close = dlsym(verbs, "ibv_close_device");
	*(void **)&functions->open = dlsym(mlx5, "mlx5dv_open_device");
	return functions->list && functions->free_list && functions->name && functions->close && functions->open
		       ? 0
		       : -ENOENT;
}

static int try_one(const struct functions *functions, void *device)
{
	struct attr attr = {.flags = FLAG_DEVX};
	void *context;

	errno = 0;
	context = functions->open(device, &attr);
	if (!context)
		return errno ? -errno : -EIO;
	functions->close(context);
	return 0;
}

int doctor_try_devx(const char *device)
{
	struct functions functions = {0};
	void **list;
	int ret = find(&functions);

	if (ret)
		return ret;
	ret = -ENODEV;
	list = functions.list(NULL);
	for (size_t i = 0; list && list[i]; i++) {
		if (!strcmp(functions.name(list[i]), device)) {
			ret = try_one(&functions, list[i]);
			break;
		}
	}
	if (list)
		functions.free_list(list);
	return ret;
}
