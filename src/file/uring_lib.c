// SPDX-License-Identifier: MIT
#include "uring_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

static struct bl_liburing table;
static const struct bl_liburing *usable;
static char why[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int resolve_all(void *lib)
{
#define RESOLVE(name)                                                                                                  \
	*(void **)&table.name = dlsym(lib, "io_uring_" #name);                                                         \
	if (!table.name) {                                                                                             \
		snprintf(why, sizeof(why), "liburing.so.2 has no io_uring_" #name ": 2.2 or later is needed");         \
		return -ENOENT;                                                                                        \
	}
	BL_LIBURING(RESOLVE)
	return 0;
}

static void load(void)
{
	void *lib = dlopen("liburing.so.2", RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		snprintf(why, sizeof(why), "%s", dlerror());
		return;
	}
	if (resolve_all(lib))
		dlclose(lib);
	else
		usable = &table;
}

const struct bl_liburing *bl_liburing(const char **why_p)
{
	pthread_once(&once, load);
	*why_p = why;
	return usable;
}
