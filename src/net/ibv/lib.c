// SPDX-License-Identifier: MIT
#include "lib.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A program that is kept from the machine's devices has a library in its place whose devices are this library's. */
#define STAND_IN "bl_soft_ibverbs"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct bl_ibv table;
static int loaded;
static char why[200];

static void *find(void *lib, const char *symbol)
{
	void *entry = dlsym(lib, symbol);

	if (!entry && !*why)
		snprintf(why, sizeof(why), "libibverbs.so.1 has no %s", symbol);
	return entry;
}

static void load(void)
{
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		snprintf(why, sizeof(why), "%.150s (package libibverbs1 of rdma-core)", dlerror());
		return;
	}
	if (dlsym(lib, STAND_IN)) {
		snprintf(why, sizeof(why), "libibverbs.so.1 is the stand-in whose devices are software NICs");
		return;
	}
#define RESOLVE(ret, field, symbol, args) table.field = (ret(*) args)find(lib, symbol);
	BL_IBV_REQUIRED(RESOLVE)
	loaded = !*why;
#undef RESOLVE
#define RESOLVE(ret, field, symbol, args) table.field = (ret(*) args)dlsym(lib, symbol);
	BL_IBV_OPTIONAL(RESOLVE)
#undef RESOLVE
}

const struct bl_ibv *bl_ibv(char *reason, size_t size)
{
	pthread_once(&once, load);
	if (reason)
		snprintf(reason, size, "%s", why);
	return loaded ? &table : NULL;
}
