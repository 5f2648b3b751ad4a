// SPDX-License-Identifier: MIT
/* What may be registered and what may be asked for, and the errors of all else. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "file_world.h"
#include "tests/tap.h"

#define SIZE (1UL << 20)

static CUfileOpError register_fd(int fd)
{
	CUfileDescr_t descr = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = fd };
	CUfileHandle_t handle = NULL;
	CUfileOpError err = cuFileHandleRegister(&handle, &descr).err;

	if (!err)
		cuFileHandleDeregister(handle);
	return err;
}

static void descriptors(void)
{
	CUfileDescr_t descr = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_WIN32 };
	CUfileHandle_t handle;
	int fds[2];

	check_eq(register_fd(-1), CU_FILE_INVALID_VALUE);
	check_eq(register_fd(987), CU_FILE_INVALID_VALUE);
	check_eq(register_fd(open(".", O_RDONLY | O_DIRECTORY)), CU_FILE_INVALID_FILE_TYPE);
	check_eq(pipe(fds), 0);
	check_eq(register_fd(fds[0]), CU_FILE_INVALID_FILE_TYPE);
	check_eq(register_fd(open("/dev/zero", O_RDONLY)), CU_FILE_INVALID_FILE_TYPE);
	check_eq(cuFileHandleRegister(&handle, NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileHandleRegister(NULL, &descr).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileHandleRegister(&handle, &descr).err, CU_FILE_IO_NOT_SUPPORTED);
	descr.type = (enum CUfileFileHandleType)77;
	check_eq(cuFileHandleRegister(&handle, &descr).err, CU_FILE_IO_NOT_SUPPORTED);
	descr.type = CU_FILE_HANDLE_TYPE_USERSPACE_FS;
	check_eq(cuFileHandleRegister(&handle, &descr).err, CU_FILE_IO_NOT_SUPPORTED);
}

static void open_flags(void)
{
	static const int refused[] = { O_APPEND, O_NONBLOCK, O_NOFOLLOW, O_NOATIME };
	char path[] = "./cufile-flags.XXXXXX";
	int fd = mkstemp(path);

	check(fd >= 0);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		check_eq(register_fd(open(path, O_RDWR | refused[i])), CU_FILE_INVALID_FILE_OPEN_FLAG);
	check_eq(register_fd(open(path, O_PATH)), CU_FILE_INVALID_FILE_OPEN_FLAG);
	check_eq(register_fd(open(path, O_RDWR | O_SYNC)), CU_FILE_SUCCESS);
	check_eq(register_fd(open(path, O_RDWR | O_NOCTTY)), CU_FILE_SUCCESS);
	check_eq(register_fd(open(path, O_WRONLY)), CU_FILE_SUCCESS);
	unlink(path);
}

static void twice(void)
{
	struct tested tested;
	CUfileHandle_t again;

	tested_make(&tested, "disk", O_RDWR);
	check_eq(register_fd(tested.fd), CU_FILE_HANDLE_ALREADY_REGISTERED);
	/* another descriptor of the same file is another matter */
	again = must_register(tested.plain);
	cuFileHandleDeregister(again);
	tested_drop(&tested);
	check_eq(register_fd(tested.fd), CU_FILE_INVALID_VALUE);
}

/* The handle goes on with the file that it was made for, whatever the number of the descriptor stands for by now. */
static void closed_descriptor(void)
{
	unsigned char byte = 0, bytes[64];
	struct tested first, second;
	int fd;

	tested_make(&first, "disk", O_RDWR);
	tested_fill(&first, 4096, 1);
	fd = first.fd;
	close(first.fd);
	check_eq(cuFileRead(first.handle, bytes, sizeof(bytes), 100, 0), sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		check_eq(bytes[i], pattern_at(1, 100 + i));
	tested_make(&second, "disk", O_RDWR);
	if (second.plain == fd || second.fd == fd) {
		check_eq(cuFileWrite(first.handle, "x", 1, 0, 0), 1);
		check_eq(lseek(second.plain, 0, SEEK_END), 0);
		check_eq(pread(first.plain, &byte, 1, 0), 1);
		check_eq(byte, 'x');
	}
	cuFileHandleDeregister(first.handle);
	close(first.plain);
	tested_drop(&second);
}

static void bad_handles(void)
{
	struct tested tested;
	char bytes[16];

	tested_make(&tested, "disk", O_RDWR);
	cuFileHandleDeregister(tested.handle);
	check_eq(cuFileRead(tested.handle, bytes, sizeof(bytes), 0, 0), -1);
	check_eq(errno, CU_FILE_HANDLE_NOT_REGISTERED);
	check_eq(cuFileWrite(tested.handle, bytes, sizeof(bytes), 0, 0), -1);
	check_eq(errno, CU_FILE_HANDLE_NOT_REGISTERED);
	cuFileHandleDeregister(tested.handle);
	check_eq(cuFileRead(NULL, bytes, sizeof(bytes), 0, 0), -1);
	check_eq(errno, EINVAL);
	check_eq(cuFileRead(bytes, bytes, sizeof(bytes), 0, 0), -1);
	check_eq(errno, EINVAL);
	cuFileHandleDeregister((CUfileHandle_t)bytes);
	close(tested.fd);
	close(tested.plain);
}

static void must_fail(ssize_t got, int err)
{
	int saved = errno;

	check_eq(got, -1);
	check_eq(saved, err);
}

static void arguments(void)
{
	struct memory memory;
	struct tested tested;
	int fd;

	world_enter();
	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, SIZE, 2);
	memory_make(&memory, REGISTERED, SIZE);
	must_fail(cuFileRead(tested.handle, NULL, 16, 0, 0), EINVAL);
	check_eq(cuFileRead(tested.handle, memory.base, 0, 0, 0), 0);
	must_fail(cuFileRead(tested.handle, memory.base, 16, -1, 0), CU_FILE_INVALID_VALUE);
	must_fail(cuFileRead(tested.handle, memory.base, 16, 0, -1), CU_FILE_INTERNAL_ERROR);
	must_fail(cuFileRead(tested.handle, memory.base, SIZE, 0, 1), CU_FILE_INVALID_MAPPING_RANGE);
	must_fail(cuFileRead(tested.handle, memory.base, 1, 0, (off_t)SIZE), CU_FILE_INVALID_MAPPING_RANGE);
	must_fail(cuFileRead(tested.handle, memory.base, SIZE_MAX, 0, 0), CU_FILE_INVALID_VALUE);
	check_eq(cuFileRead(tested.handle, memory.base, SIZE, (off_t)SIZE, 0), 0);
	check_eq(cuFileRead(tested.handle, memory.base, SIZE, (off_t)SIZE - 10, 0), 10);
	fd = open("/proc/self/exe", O_RDONLY);
	tested_drop(&tested);
	tested.handle = must_register(fd);
	must_fail(cuFileWrite(tested.handle, memory.base, 16, 0, 0), EIO);
	cuFileHandleDeregister(tested.handle);
	tested_make(&tested, "disk", O_WRONLY);
	must_fail(cuFileRead(tested.handle, memory.base, 16, 0, 0), CU_FILE_INVALID_FILE_OPEN_FLAG);
	check_eq(cuFileWrite(tested.handle, memory.base, 16, 0, 0), 16);
	tested_drop(&tested);
	memory_drop(&memory);
}

static void registrations(void)
{
	CUdeviceptr va;
	char *base;

	world_enter();
	va = world_alloc(SIZE);
	base = (char *)(uintptr_t)va;
	check_eq(cuFileBufRegister(NULL, SIZE, 0).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileBufRegister(base, 0, 0).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileBufRegister(base, SIZE + 1, 0).err, CU_FILE_CUDA_POINTER_RANGE_ERROR);
	check_eq(cuFileBufRegister(base, SIZE, 0).err, CU_FILE_SUCCESS);
	check_eq(cuFileBufRegister(base, SIZE / 2, 0).err, CU_FILE_MEMORY_ALREADY_REGISTERED);
	check_eq(cuFileBufRegister(base + 4096, SIZE / 2, 0).err, CU_FILE_SUCCESS);
	check_eq(cuFileBufDeregister(base + 4096).err, CU_FILE_SUCCESS);
	check_eq(cuFileBufDeregister(base + 4096).err, CU_FILE_MEMORY_NOT_REGISTERED);
	check_eq(cuFileBufDeregister(NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileBufDeregister(base).err, CU_FILE_SUCCESS);
	check_eq(cuFileBufDeregister(base).err, CU_FILE_MEMORY_NOT_REGISTERED);
	check_eq(cuFileBufRegister(&va, sizeof(va), 0).err, CU_FILE_SUCCESS);
	check_eq(cuFileBufDeregister(&va).err, CU_FILE_SUCCESS);
	world_free(va);
}

static bool is_pattern(CUdeviceptr va, size_t len, size_t pos)
{
	unsigned char *bytes = malloc(len);
	bool same = true;

	check_eq(world.cuda->cuMemcpyDtoH(bytes, va, len), CUDA_SUCCESS);
	for (size_t i = 0; i < len && same; i++)
		same = bytes[i] == pattern_at(4, pos + i);
	free(bytes);
	return same;
}

/* Only path mapped is allowed: what is not found in the registered range would fail. */
static void inside_a_range(const void *arg)
{
	struct tested tested;
	CUdeviceptr va;
	char *base;

	world_enter();
	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, SIZE, 4);
	va = world_alloc(SIZE);
	base = (char *)(uintptr_t)va;
	check_eq(cuFileRead(tested.handle, base, 4096, 0, 0), -CU_FILE_IO_NOT_SUPPORTED);
	check_eq(cuFileBufRegister(base + 4096, SIZE - 8192, 0).err, CU_FILE_SUCCESS);
	check_eq(cuFileRead(tested.handle, base + 5000, 4096, 77, 0), 4096);
	check(is_pattern(va + 5000, 4096, 77));
	check_eq(cuFileRead(tested.handle, base + 4096, 4096, 99, 12288), 4096);
	check(is_pattern(va + 4096 + 12288, 4096, 99));
	check_eq(cuFileRead(tested.handle, base, 4096, 3, 65536), 4096);
	check(is_pattern(va + 65536, 4096, 3));
	check_eq(cuFileRead(tested.handle, base, 4096, 3, 0), -CU_FILE_IO_NOT_SUPPORTED);
	/* a smaller range inside: what is larger goes to the outer one */
	check_eq(cuFileBufRegister(base + 16384, 4096, 0).err, CU_FILE_SUCCESS);
	check_eq(cuFileRead(tested.handle, base + 16385, 20000, 5, 0), 20000);
	check(is_pattern(va + 16385, 20000, 5));
	must_fail(cuFileRead(tested.handle, base + 16384, 20000, 5, 0), CU_FILE_INVALID_MAPPING_RANGE);
	check_eq(cuFileBufDeregister(base + 4096).err, CU_FILE_SUCCESS);
	check_eq(cuFileRead(tested.handle, base + 16385, 20000, 5, 0), -CU_FILE_IO_NOT_SUPPORTED);
	check_eq(cuFileRead(tested.handle, base + 16384, 4096, 6, 0), 4096);
	check(is_pattern(va + 16384, 4096, 6));
	check_eq(cuFileWrite(tested.handle, base + 16384, 4096, 6, 0), -CU_FILE_IO_NOT_SUPPORTED);
	check_eq(cuFileBufDeregister(base + 16384).err, CU_FILE_SUCCESS);
	world_free(va);
	tested_drop(&tested);
}

static void ranges(void)
{
	static const char *const env[] = { "BARLANE_FILE_PATH", "mapped", "BARLANE_FILE_STRICT", "1", NULL };

	child_run(inside_a_range, NULL, env);
}

static void gone_memory(void)
{
	struct tested tested;
	CUdeviceptr va;
	void *base;

	world_enter();
	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, SIZE, 4);
	va = world_alloc(SIZE);
	base = (void *)(uintptr_t)va;
	must_fail(cuFileRead(tested.handle, base, SIZE, 0, 4096), EIO);
	check_eq(cuFileBufRegister(base, SIZE, 0).err, CU_FILE_SUCCESS);
	check_eq(cuFileRead(tested.handle, base, SIZE, 0, 0), SIZE);
	world_free(va);
	check_eq(cuFileRead(tested.handle, base, 4096, 0, 0), -CU_FILE_CUDA_POINTER_INVALID);
	check_eq(cuFileWrite(tested.handle, base, SIZE, 0, 0), -CU_FILE_CUDA_POINTER_INVALID);
	check_eq(cuFileBufDeregister(base).err, CU_FILE_SUCCESS);
	tested_drop(&tested);
}

static CUdeviceptr pieces_of_memory(size_t piece, size_t nr)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemAccessDesc access = { .location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr va = 0;

	check_eq(world.cuda->cuMemAddressReserve(&va, piece * nr, 0, 0, 0), CUDA_SUCCESS);
	for (size_t i = 0; i < nr; i++) {
		check_eq(world.cuda->cuMemCreate(&handle, piece, &prop, 0), CUDA_SUCCESS);
		check_eq(world.cuda->cuMemMap(va + i * piece, piece, 0, handle, 0), CUDA_SUCCESS);
		check_eq(world.cuda->cuMemRelease(handle), CUDA_SUCCESS);
	}
	check_eq(world.cuda->cuMemSetAccess(va, piece * nr, &access, 1), CUDA_SUCCESS);
	return va;
}

/* Allocators that grow give such memory out as one tensor. */
static void several_allocations(void)
{
	size_t piece = 2UL << 20, len = 3 * piece - 4096;
	struct tested tested;
	CUdeviceptr va;
	void *base;

	world_enter();
	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, len + 100, 4);
	va = pieces_of_memory(piece, 3);
	base = (void *)(uintptr_t)va;
	for (int registered = 0; registered < 2; registered++) {
		check_eq(world.cuda->cuMemsetD8(va, 0, 3 * piece), CUDA_SUCCESS);
		check_eq(world.cuda->cuStreamSynchronize(NULL), CUDA_SUCCESS);
		if (registered)
			check_eq(cuFileBufRegister(base, 3 * piece, 0).err, CU_FILE_SUCCESS);
		check_eq(cuFileRead(tested.handle, base, len, 100, 1000), len);
		check(is_pattern(va + 1000, len, 100));
		check_eq(cuFileWrite(tested.handle, base, piece, 100, (off_t)(piece / 2)), piece);
		check_eq(cuFileRead(tested.handle, base, piece, 100, (off_t)(piece / 2)), piece);
		check(is_pattern(va + piece / 2, piece, 100 + piece / 2 - 1000));
		tested_fill(&tested, len + 100, 4);
	}
	check_eq(cuFileBufDeregister(base).err, CU_FILE_SUCCESS);
	must_fail(cuFileRead(tested.handle, base, 3 * piece + 1, 0, 0), EIO);
	tested_drop(&tested);
	check_eq(world.cuda->cuMemUnmap(va, 3 * piece), CUDA_SUCCESS);
}

/* Hundreds of ranges, in no order, some around others; each is found, and none that is gone. */
static void many_ranges(void)
{
	enum { NR = 512 };
	unsigned long state = 88172645463325252UL;
	bool there[NR] = { false };
	struct tested tested;
	unsigned char byte;
	char *base;

	world_enter();
	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, 4096, 8);
	base = malloc(NR * 64);
	check(base);
	for (int i = 0; i < 4000; i++) {
		size_t at = next_random(&state) % NR;
		size_t len = next_random(&state) % 200 + 1;

		if (there[at])
			check_eq(cuFileBufDeregister(base + at * 64).err, CU_FILE_SUCCESS);
		else
			check_eq(cuFileBufRegister(base + at * 64, len, 0).err, CU_FILE_SUCCESS);
		there[at] = !there[at];
		at = next_random(&state) % NR;
		check_eq(cuFileRead(tested.handle, base + at * 64, 1, (off_t)at, 0), 1);
		byte = (unsigned char)base[at * 64];
		check_eq(byte, pattern_at(8, at));
		if (there[at])
			must_fail(cuFileRead(tested.handle, base + at * 64, 201, 0, 0), CU_FILE_INVALID_MAPPING_RANGE);
	}
	for (size_t at = 0; at < NR; at++) {
		if (there[at])
			check_eq(cuFileBufDeregister(base + at * 64).err, CU_FILE_SUCCESS);
	}
	free(base);
	tested_drop(&tested);
}

static void vectors(void)
{
	char a[100], b[1], c[5000];
	CUfileIOVec_t iov[] = { { a, sizeof(a) }, { b, sizeof(b) }, { NULL, 0 }, { c, sizeof(c) } };
	struct tested tested;

	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, 4096, 6);
	check_eq(cuFileReadv(tested.handle, iov, 4, 10, 0), 4096 - 10);
	check_eq((unsigned char)a[99], pattern_at(6, 109));
	check_eq((unsigned char)b[0], pattern_at(6, 110));
	check_eq((unsigned char)c[3984], pattern_at(6, 4095));
	check_eq(cuFileWritev(tested.handle, iov, 4, 4000, 0), 5101);
	check_eq(lseek(tested.plain, 0, SEEK_END), 9101);
	check_eq(cuFileReadv(tested.handle, iov, 0, 0, 0), 0);
	must_fail(cuFileReadv(tested.handle, NULL, 1, 0, 0), EINVAL);
	must_fail(cuFileReadv(tested.handle, iov, 1UL << 20, 0, 0), EINVAL);
	must_fail(cuFileReadv(tested.handle, iov, 4, 0, 1), EINVAL);
	tested_drop(&tested);
}

/* All that was registered goes with the last close, and leaves nothing behind. */
static void closing(const void *arg)
{
	struct snapshot before;
	struct tested tested;
	CUdeviceptr va;
	void *base;

	world_enter();
	va = world_alloc(SIZE);
	base = (void *)(uintptr_t)va;
	for (int round = 0; round < 3; round++) {
		check_eq(cuFileDriverOpen().err, CU_FILE_SUCCESS);
		tested_make(&tested, "disk", O_RDWR | O_DIRECT);
		tested_fill(&tested, SIZE, 4);
		check_eq(cuFileBufRegister(base, SIZE, 0).err, CU_FILE_SUCCESS);
		check_eq(cuFileRead(tested.handle, base, SIZE, 0, 0), SIZE);
		check_eq(cuFileWrite(tested.handle, base, SIZE, 1, 0), SIZE);
		check_eq(cuFileDriverClose().err, CU_FILE_SUCCESS);
		check_eq(cuFileBufDeregister(base).err, CU_FILE_DRIVER_CLOSING);
		close(tested.fd);
		close(tested.plain);
		if (!round)
			snapshot_take(&before);
	}
	snapshot_check(&before);
	world_free(va);
	world_check_rules();
}

static void last_close(void)
{
	static const char *const env[] = { NULL };

	child_run(closing, NULL, env);
}

/* The ends of an unaligned write need the file without O_DIRECT, which takes a descriptor more. */
static void short_of_descriptors(const void *arg)
{
	struct rlimit limit, none;
	struct memory memory;
	struct tested tested;
	char byte = 0;

	world_enter();
	memory_make(&memory, UNREGISTERED, SIZE);
	memory_put(&memory, 100, "x", 1);
	tested_make(&tested, "disk", O_RDWR | O_DIRECT);
	tested_fill(&tested, SIZE, 3);
	check_eq(cuFileRead(tested.handle, memory.base, 4096, 0, 4096), 4096);
	check_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ 0, limit.rlim_max };
	check_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	errno = 0;
	check_eq(cuFileWrite(tested.handle, memory.base, 1, 5, 100), -1);
	check_eq(errno, EMFILE);
	check_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	check_eq(cuFileWrite(tested.handle, memory.base, 1, 5, 100), 1);
	check_eq(pread(tested.plain, &byte, 1, 5), 1);
	check_eq(byte, 'x');
	tested_drop(&tested);
	memory_drop(&memory);
}

static void descriptors_run_out(void)
{
	child_run(short_of_descriptors, NULL, NULL);
}

/* What a call says of itself, and not what was said of the one before. */
static void reasons(void)
{
	CUfileBatchHandle_t batch;
	CUfileIOEvents_t event;
	unsigned int nr = 1;
	size_t size = 1;
	ssize_t bytes;
	off_t off = 0;
	char byte;

	check_eq(cuFileBatchIOSetUp(NULL, 1).err, CU_FILE_INVALID_VALUE);
	check_has(bl_last_error(NULL), "set up: no place");
	check_eq(cuFileBatchIOSetUp(&batch, 1).err, CU_FILE_SUCCESS);
	check_eq(cuFileBatchIOSubmit(batch, 1, NULL, 0).err, CU_FILE_INVALID_VALUE);
	check_has(bl_last_error(NULL), "submit: entries at");
	check_eq(cuFileBatchIOGetStatus(batch, 2, &nr, &event, NULL).err, CU_FILE_INVALID_VALUE);
	check_has(bl_last_error(NULL), "at least 2 of 1");
	cuFileBatchIODestroy(batch);
	check_eq(cuFileReadAsync(NULL, &byte, &size, &off, &off, &bytes, NULL).err, CU_FILE_INVALID_VALUE);
	check_has(bl_last_error(NULL), "an argument is missing");
	check_eq(cuFileReadAsync(&byte, &byte, &size, &off, &off, &bytes, NULL).err, CU_FILE_HANDLE_NOT_REGISTERED);
	check_has(bl_last_error(NULL), "is not registered");
	check_eq(cuFileSetStatsLevel(4).err, CU_FILE_INVALID_VALUE);
	check_has(bl_last_error(NULL), "level 4");
	check_eq(cuFileStatsStart().err, CU_FILE_INVALID_VALUE);
	check_has(bl_last_error(NULL), "level 0");
}

static void closed_driver(void)
{
	char byte;

	check_eq(cuFileDriverOpen().err, CU_FILE_SUCCESS);
	while (cuFileUseCount())
		check_eq(cuFileDriverClose().err, CU_FILE_SUCCESS);
	check_eq(cuFileBufDeregister(&byte).err, CU_FILE_DRIVER_CLOSING);
	check_has(bl_last_error(NULL), "has been closed");
}

static const struct tap_test tests[] = {
	{ "after_the_last_close_nothing_is_left", last_close },
	{ "only_the_mapped_path_is_taken_where_a_range_is_found", ranges },
	{ "a_lack_of_descriptors_ends_when_there_are_some_again", descriptors_run_out },
	{ "only_files_and_block_devices_are_registered", descriptors },
	{ "open_flags_that_cufile_refuses_are_refused", open_flags },
	{ "a_descriptor_is_registered_once", twice },
	{ "a_handle_outlives_the_number_of_its_descriptor", closed_descriptor },
	{ "stale_handles_are_told_from_nonsense", bad_handles },
	{ "wrong_arguments_have_their_errors", arguments },
	{ "ranges_are_registered_by_the_rules", registrations },
	{ "memory_that_is_gone_is_an_error", gone_memory },
	{ "memory_of_several_allocations_is_one_range", several_allocations },
	{ "many_ranges_are_told_apart", many_ranges },
	{ "vectors_are_filled_in_turn", vectors },
	{ "a_refusal_says_why", reasons },
	{ "a_closed_driver_says_so", closed_driver },
};

TAP_MAIN(tests)
