// SPDX-License-Identifier: MIT
#include "file_world.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/tap.h"

const char *const kind_names[NR_KINDS] = { "registered", "unregistered", "vmm", "pool", "managed", "pinned", "pageable" };

static CUdeviceptr pool_memory(size_t size)
{
	CUdeviceptr ptr = 0;

	if (!world.cuda->cuMemAllocAsync)
		skip("no cuMemAllocAsync");
	check_eq(world.cuda->cuMemAllocAsync(&ptr, size, NULL), CUDA_SUCCESS);
	check_eq(world.cuda->cuStreamSynchronize(NULL), CUDA_SUCCESS);
	return ptr;
}

void memory_make(struct memory *memory, enum kind kind, size_t size)
{
	CUdeviceptr ptr = 0;

	memory->kind = kind;
	memory->size = size;
	switch (kind) {
	case REGISTERED:
	case UNREGISTERED:
		ptr = world_alloc(size);
		break;
	case VMM:
		ptr = world_vmm((size + (2UL << 20) - 1) & ~((2UL << 20) - 1), 1);
		break;
	case POOL:
		ptr = pool_memory(size);
		break;
	case MANAGED:
		check_eq(world.cuda->cuMemAllocManaged(&ptr, size, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
		break;
	case PINNED:
		check_eq(world.cuda->cuMemHostAlloc(&memory->base, size, 0), CUDA_SUCCESS);
		return;
	default:
		memory->base = malloc(size);
		check(memory->base);
		return;
	}
	memory->base = (void *)(uintptr_t)ptr;
	if (kind == REGISTERED)
		check_eq(cuFileBufRegister(memory->base, size, 0).err, CU_FILE_SUCCESS);
}

void memory_drop(struct memory *memory)
{
	CUdeviceptr ptr = (uintptr_t)memory->base;

	switch (memory->kind) {
	case REGISTERED:
		check_eq(cuFileBufDeregister(memory->base).err, CU_FILE_SUCCESS);
		world_free(ptr);
		break;
	case VMM:
		check_eq(world.cuda->cuMemUnmap(ptr, (memory->size + (2UL << 20) - 1) & ~((2UL << 20) - 1)), CUDA_SUCCESS);
		break;
	case POOL:
		check_eq(world.cuda->cuMemFreeAsync(ptr, NULL), CUDA_SUCCESS);
		break;
	case UNREGISTERED:
	case MANAGED:
		world_free(ptr);
		break;
	case PINNED:
		check_eq(world.cuda->cuMemFreeHost(memory->base), CUDA_SUCCESS);
		break;
	default:
		free(memory->base);
	}
}

static bool is_host(const struct memory *memory)
{
	return memory->kind == PINNED || memory->kind == PAGEABLE;
}

void memory_put(const struct memory *memory, size_t off, const void *bytes, size_t len)
{
	if (is_host(memory))
		memcpy((char *)memory->base + off, bytes, len);
	else
		check_eq(world.cuda->cuMemcpyHtoD((uintptr_t)memory->base + off, bytes, len), CUDA_SUCCESS);
}

void memory_get(const struct memory *memory, size_t off, void *bytes, size_t len)
{
	if (is_host(memory))
		memcpy(bytes, (char *)memory->base + off, len);
	else
		check_eq(world.cuda->cuMemcpyDtoH(bytes, (uintptr_t)memory->base + off, len), CUDA_SUCCESS);
}

unsigned long next_random(unsigned long *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

void random_fill(unsigned char *bytes, size_t len, unsigned long *state)
{
	for (size_t at = 0; at < len; at += sizeof(long)) {
		unsigned long word = next_random(state);

		memcpy(bytes + at, &word, len - at < sizeof(word) ? len - at : sizeof(word));
	}
}

CUfileHandle_t must_register(int fd)
{
	CUfileDescr_t descr = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = fd };
	CUfileHandle_t handle = NULL;

	check_eq(cuFileHandleRegister(&handle, &descr).err, CU_FILE_SUCCESS);
	return handle;
}

static void make_in(struct tested *tested, const char *dir, int flags)
{
	snprintf(tested->path, sizeof(tested->path), "%s/cufile-test.XXXXXX", dir);
	tested->plain = mkstemp(tested->path);
	if (tested->plain < 0)
		skip("no file can be made in %s: %s", dir, strerror(errno));
	tested->fd = open(tested->path, flags | O_CLOEXEC);
	if (tested->fd < 0) {
		unlink(tested->path);
		skip("%s has no such files (flags 0%o): %s", dir, (unsigned int)flags, strerror(errno));
	}
	tested->handle = must_register(tested->fd);
}

void tested_make_named(struct tested *tested, int flags)
{
	make_in(tested, ".", flags);
}

void tested_make(struct tested *tested, const char *dir, int flags)
{
	make_in(tested, strcmp(dir, "tmpfs") ? "." : "/dev/shm", flags);
	unlink(tested->path);
}

void tested_fill(struct tested *tested, size_t size, unsigned int seed)
{
	unsigned char *bytes = malloc(size);

	check(bytes);
	pattern_fill(bytes, size, seed, 0);
	check_eq(pwrite(tested->plain, bytes, size, 0), size);
	free(bytes);
}

void tested_drop(struct tested *tested)
{
	cuFileHandleDeregister(tested->handle);
	close(tested->fd);
	close(tested->plain);
}

unsigned int nr_rings(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	unsigned int nr = 0;
	char target[64];
	ssize_t len;

	check(dir);
	while ((entry = readdir(dir))) {
		len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = 0;
		nr += !strcmp(target, "anon_inode:[io_uring]");
	}
	closedir(dir);
	return nr;
}

bool may_have_rings(void)
{
	const char *without = getenv("TEST_URING");
	void *lib = dlopen("liburing.so.2", RTLD_NOW | RTLD_LOCAL);
	/* a ring without entries is none; a kernel that says so could make one */
	bool blocked = syscall(SYS_io_uring_setup, 0, NULL) < 0 && errno != EINVAL && errno != EFAULT;

	check_eq(without && !strcmp(without, "absent"), without && !lib);
	check(blocked || !without || strcmp(without, "blocked"));
#ifdef HAVE_LIBURING
	return lib && !blocked;
#else
	return false;
#endif
}
