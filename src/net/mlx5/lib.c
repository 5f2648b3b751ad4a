// SPDX-License-Identifier: MIT
#include "lib.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct bl_mlx5dv table;
static int loaded;
static char why[200];

static void *find(void *lib, const char *symbol)
{
	void *entry = dlsym(lib, symbol);

	if (!entry && !*why)
		snprintf(why, sizeof(why), "libmlx5.so.1 has no %s", symbol);
	return entry;
}

static void load(void)
{
	void *lib;

	/* libmlx5 would bring in libibverbs, of which this process may have none that can be used */
	if (!bl_ibv(why, sizeof(why)))
		return;
	lib = dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		snprintf(why, sizeof(why), "%.150s (package ibverbs-providers of rdma-core)", dlerror());
		return;
	}
#define RESOLVE(ret, field, symbol, args) table.field = (ret(*) args)find(lib, symbol);
	BL_MLX5DV_REQUIRED(RESOLVE)
	loaded = !*why;
#undef RESOLVE
#define RESOLVE(ret, field, symbol, args) table.field = (ret(*) args)dlsym(lib, symbol);
	BL_MLX5DV_OPTIONAL(RESOLVE)
#undef RESOLVE
}

const struct bl_mlx5dv *bl_mlx5dv(char *reason, size_t size)
{
	pthread_once(&once, load);
	if (reason)
		snprintf(reason, size, "%s", why);
	return loaded ? &table : NULL;
}
