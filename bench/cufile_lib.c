// SPDX-License-Identifier: MIT
#include "cufile_lib.h"

#include <dlfcn.h>
#include <stdio.h>

static int find(void *handle, const char *path, const char *name, void *slot)
{
	void *address = dlsym(handle, name);

	if (!address) {
		fprintf(stderr, "cufile_bw: %s has no %s\n", path, name);
		return -1;
	}
	*(void **)slot = address;
	return 0;
}

int cufile_lib_load(const char *path, struct cufile_lib *lib)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		fprintf(stderr, "cufile_bw: %s\n", dlerror());
		return -1;
	}
#define CUFILE_LIB_FIND(ret, name, params)                                                                             \
	if (find(handle, path, #name, &lib->name))                                                                     \
		return -1;
	CUFILE_LIB_CALLS(CUFILE_LIB_FIND)
	return 0;
}
