// SPDX-License-Identifier: MIT
/* A program closes the library after a copy that had its thread help, and opens it again. */
#include <dirent.h>
#include <dlfcn.h>
#include <unistd.h>

#include "barlane.h"
#include "gpu/cuda.h"
#include "tests/tap.h"

#define SIZE (4UL << 20)

struct api {
	void *handle;
	__typeof__(bl_open) *open;
	__typeof__(bl_close) *close;
	__typeof__(bl_pin) *pin;
	__typeof__(bl_map_byte) *map;
	__typeof__(bl_copy) *copy;
};

static void load(struct api *api)
{
	api->handle = dlopen(BARLANE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!api->handle)
		tap_end(TAP_FAILED, "%s", dlerror());
	api->open = (__typeof__(bl_open) *)dlsym(api->handle, "bl_open");
	api->close = (__typeof__(bl_close) *)dlsym(api->handle, "bl_close");
	api->pin = (__typeof__(bl_pin) *)dlsym(api->handle, "bl_pin");
	api->map = (__typeof__(bl_map_byte) *)dlsym(api->handle, "bl_map_byte");
	api->copy = (__typeof__(bl_copy) *)dlsym(api->handle, "bl_copy");
	check(api->open && api->close && api->pin && api->map && api->copy);
}

static int helpers(void)
{
	DIR *dir = opendir("/proc/self/task");
	char path[320], name[32];
	int nr = 0;

	check(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (file && fgets(name, sizeof(name), file))
			nr += !strcmp(name, "barlane-copy\n");
		if (file)
			fclose(file);
	}
	closedir(dir);
	return nr;
}

static CUdeviceptr memory(const struct bl_cuda *cuda)
{
	CUdeviceptr va;
	CUcontext context;
	CUdevice device;

	if (!cuda)
		skip("no libcuda.so.1");
	check(!cuda->cuInit(0) && !cuda->cuDeviceGet(&device, 0));
	check(!cuda->cuDevicePrimaryCtxRetain(&context, device) && !cuda->cuCtxSetCurrent(context));
	check(!cuda->cuMemAlloc(&va, SIZE) && !cuda->cuMemsetD8(va, 0x5a, SIZE));
	/* it is not done when the call returns, and no copy of ours waits for it */
	check(!cuda->cuCtxSynchronize());
	return va;
}

static void a_closed_library_serves_the_next_who_opens_it(void)
{
	CUdeviceptr va = memory(bl_cuda());
	void *first = NULL, *addr;
	struct api api;
	bl_ctx_t ctx;
	bl_pin_t pin;
	char *host;

	/* this program is not linked with the library: it is mapped by load() alone */
	check(!dlopen("libbarlane.so.0", RTLD_NOW | RTLD_NOLOAD));
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip("needs two CPUs");
	host = malloc(SIZE);
	check(host);
	for (int round = 0; round < 3; round++) {
		load(&api);
		check(!first || first == (void *)api.open);
		first = (void *)api.open;
		memset(host, 0, SIZE);
		check_eq(api.open(NULL, &ctx), 0);
		check_eq(api.pin(ctx, va, SIZE, 0, 0, 0, &pin), 0);
		check_eq(api.map(ctx, pin, SIZE, BL_MAP_NONE, &addr), 0);
		check_eq(api.copy(pin, 0, host, SIZE, BL_COPY_FROM, BL_ENGINE_CE), 0);
		for (size_t i = 0; i < SIZE; i++)
			check_eq(host[i], 0x5a);
		check_eq(helpers(), 1);
		check_eq(api.close(ctx), 0);
		check_eq(dlclose(api.handle), 0);
		check_eq(helpers(), 1);
	}
	check(!bl_cuda()->cuMemFree(va));
	free(host);
}

static const struct tap_test tests[] = {
	{ "a closed library serves the next who opens it", a_closed_library_serves_the_next_who_opens_it },
};

TAP_MAIN(tests)
