// SPDX-License-Identifier: MIT
/*
 * A program that exports functions of the libraries' private names, as one does that was linked with parts of another
 * build. The libraries use their own.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "barlane.h"
#ifdef HAVE_CUFILE
#include "cufile.h"
#endif
#include "gdrapi.h"
#include "gpu/cuda_abi.h"
#include "tests/tap.h"

#define SIZE (1UL << 20)

static atomic_int calls;
static CUresult (*synchronize)(void);

/* Of a build whose table is another one, so that nothing in it is where it is looked for. */
#define VISIBLE __attribute__((visibility("default"), used))
VISIBLE const void *bl_cuda(void);
VISIBLE const char *bl_cuda_error(void);
VISIBLE const char *bl_cuda_strerror(int err);
VISIBLE int bl_cuda_errno(int err);
VISIBLE int bl_driver_version_parse(const char *text, void *version);

const void *bl_cuda(void)
{
	atomic_fetch_add(&calls, 1);
	return NULL;
}

const char *bl_cuda_error(void)
{
	atomic_fetch_add(&calls, 1);
	return "another build's";
}

const char *bl_cuda_strerror(int err)
{
	atomic_fetch_add(&calls, 1);
	return "another build's";
}

int bl_cuda_errno(int err)
{
	atomic_fetch_add(&calls, 1);
	return 1;
}

int bl_driver_version_parse(const char *text, void *version)
{
	atomic_fetch_add(&calls, 1);
	return -1;
}

static CUdeviceptr memory(void)
{
	static CUdeviceptr va;
	CUresult (*init)(unsigned int), (*retain)(CUcontext *, CUdevice), (*set)(CUcontext);
	CUresult (*alloc)(CUdeviceptr *, size_t);
	CUcontext context;
	void *lib;

	if (va)
		return va;
	lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib || !dlsym(lib, "bl_emu_counts"))
		skip("libcuda.so.1 is not the emulated one: run under scripts/with-emu");
	*(void **)&init = dlsym(lib, "cuInit");
	*(void **)&retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
	*(void **)&set = dlsym(lib, "cuCtxSetCurrent");
	*(void **)&alloc = dlsym(lib, "cuMemAlloc_v2");
	*(void **)&synchronize = dlsym(lib, "cuCtxSynchronize");
	check(init && retain && set && alloc && synchronize);
	check(!init(0) && !retain(&context, 0) && !set(context) && !alloc(&va, SIZE));
	return va;
}

/* The names are there for whoever looks for them: this program comes first. */
static void the_program_comes_first(void)
{
	const void *(*found)(void);

	*(void **)&found = dlsym(RTLD_DEFAULT, "bl_cuda");
	check(found == bl_cuda);
	check(dlsym(RTLD_DEFAULT, "bl_driver_version_parse") == (void *)bl_driver_version_parse);
	atomic_store(&calls, 0);
	check(!found());
	check_eq(atomic_load(&calls), 1);
	atomic_store(&calls, 0);
}

static void the_core_uses_its_own(void)
{
	CUdeviceptr va = memory();
	unsigned char byte = 0;
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;

	check_eq(bl_open("rm", &ctx), 0);
	check_eq(bl_pin(ctx, va, SIZE, 0, 0, 0, &pin), 0);
	check_eq(bl_map(ctx, pin, SIZE, BL_MAP_NONE, &addr), 0);
	check_eq(bl_copy_to(pin, addr, "x", 1), 0);
	check_eq(bl_copy(pin, 0, &byte, 1, BL_COPY_FROM, BL_ENGINE_CE), 0);
	check_eq(byte, 'x');
	check_eq(bl_pin(ctx, 0x1000, SIZE, 0, 0, 0, &pin), -EINVAL);
	check_eq(bl_close(ctx), 0);
	check_eq(atomic_load(&calls), 0);
}

static void libgdrapi_uses_the_core_s(void)
{
	gdr_t gdr = gdr_open();
	gdr_mh_t handle;

	check(gdr);
	check_eq(gdr_pin_buffer(gdr, memory(), SIZE, 0, 0, &handle), 0);
	check_eq(gdr_unpin_buffer(gdr, handle), 0);
	check_eq(gdr_close(gdr), 0);
	check_eq(atomic_load(&calls), 0);
}

#ifdef HAVE_CUFILE
static void libcufile_uses_its_own(void)
{
	CUfileDescr_t descr = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
	void *base = (void *)(uintptr_t)memory();
	ssize_t bytes = 0;
	size_t size = 100;
	off_t zero = 0;
	CUfileHandle_t fh;

	descr.handle.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	check(descr.handle.fd >= 0);
	check_eq(cuFileDriverOpen().err, CU_FILE_SUCCESS);
	check_eq(cuFileHandleRegister(&fh, &descr).err, CU_FILE_SUCCESS);
	check_eq(cuFileRead(fh, base, 4096, 0, 0), 4096);
	check_eq(cuFileBufRegister(base, SIZE, 0).err, CU_FILE_SUCCESS);
	check_eq(cuFileRead(fh, base, 4096, 0, 0), 4096);
	check_eq(cuFileReadAsync(fh, base, &size, &zero, &zero, &bytes, NULL).err, CU_FILE_SUCCESS);
	check_eq(cuFileReadAsync(fh, base, &size, &zero, &zero, &bytes, (CUstream)0x777770).err,
		 CU_FILE_CUDA_DRIVER_ERROR);
	check_eq(synchronize(), CUDA_SUCCESS);
	check_eq(bytes, 100);
	check_eq(cuFileBufDeregister(base).err, CU_FILE_SUCCESS);
	cuFileHandleDeregister(fh);
	check_eq(cuFileDriverClose().err, CU_FILE_SUCCESS);
	check_eq(atomic_load(&calls), 0);
	close(descr.handle.fd);
}
#endif

static const struct tap_test tests[] = {
	{ "a_program_s_functions_come_before_a_library_s", the_program_comes_first },
	{ "the_core_uses_its_own_all_the_same", the_core_uses_its_own },
	{ "so_does_libgdrapi", libgdrapi_uses_the_core_s },
#ifdef HAVE_CUFILE
	{ "and_libcufile", libcufile_uses_its_own },
#endif
};

TAP_MAIN(tests)
