// SPDX-License-Identifier: MIT
#include "object.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "include/gpunetio/device/doca_gpunetio_host_threads.h"
#include "state.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "the machine's number in ELF files"
#endif

/**
 * struct emu_object - a loaded object
 * @handle: of the loader
 * @fd:     file in memory that it was loaded from, or -1
 * @keep:   never unload it
 */
struct emu_object {
	void *handle;
	int fd;
	atomic_int keep;
};

/* The loader gives one object for one file: that a file is new, and its load, must be one step. Constructors may load. */
static pthread_mutex_t load_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

int emu_object_is_elf(const void *image)
{
	return !strncmp(image, ELFMAG, SELFMAG);
}

static int for_this_machine(const Elf64_Ehdr *head)
{
	return head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_machine == MACHINE && head->e_type == ET_DYN;
}

static size_t later(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* The end of the last thing that the headers speak of. */
static size_t image_size(const unsigned char *image, const Elf64_Ehdr *head)
{
	size_t end = later(head->e_phoff + (size_t)head->e_phnum * sizeof(Elf64_Phdr),
			   head->e_shoff + (size_t)head->e_shnum * sizeof(Elf64_Shdr));

	for (size_t i = 0; i < head->e_phnum; i++) {
		Elf64_Phdr part;

		memcpy(&part, image + head->e_phoff + i * sizeof(part), sizeof(part));
		end = later(end, part.p_offset + part.p_filesz);
	}
	for (size_t i = 0; i < head->e_shnum; i++) {
		Elf64_Shdr section;

		memcpy(&section, image + head->e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_type != SHT_NOBITS)
			end = later(end, section.sh_offset + section.sh_size);
	}
	return end;
}

/* Objects find bl_thread_*() here, also when this library was loaded for somebody's private use. */
static void become_global(void)
{
	static atomic_int done;
	Dl_info info;

	if (atomic_exchange(&done, 1))
		return;
	if (!dladdr((void *)bl_thread_self, &info) || !dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL))
		fprintf(stderr, "emu: this library cannot be found by its name: %s\n", dlerror());
}

static CUresult bad_object(const char *what, const char *why, CUresult ret)
{
	fprintf(stderr, "emu: module %s: %s\n", what, why);
	return ret;
}

static CUresult check_kernels(const char *what, void *handle)
{
	const struct bl_cuda_module *module = dlsym(handle, BL_CUDA_MODULE_SYMBOL);

	if (!module)
		return bad_object(what, "no kernels: it is not compiled with cuda_host.h", CUDA_ERROR_NO_BINARY_FOR_GPU);
	if (module->abi != BL_CUDA_MODULE_ABI)
		return bad_object(what, "compiled with another version of cuda_host.h", CUDA_ERROR_NO_BINARY_FOR_GPU);
	return CUDA_SUCCESS;
}

static CUresult load(const char *what, const char *path, void **handle_p)
{
	CUresult ret;
	void *handle;

	become_global();
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return bad_object(what, dlerror(), CUDA_ERROR_INVALID_IMAGE);
	ret = check_kernels(what, handle);
	if (ret)
		dlclose(handle);
	else
		*handle_p = handle;
	return ret;
}

static int write_all(int fd, const unsigned char *from, size_t size)
{
	while (size) {
		ssize_t len = write(fd, from, size);

		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return -EIO;
		from += len;
		size -= (size_t)len;
	}
	return 0;
}

static void *loaded(const char *path)
{
	return dlopen(path, RTLD_NOW | RTLD_NOLOAD);
}

static void image_path(int fd, char *path, size_t size)
{
	snprintf(path, size, "/proc/self/fd/%d", fd);
}

/* Some objects cannot be unloaded: then no other file must get the name. */
static void close_image(int fd)
{
	char path[64];
	void *handle;

	image_path(fd, path, sizeof(path));
	handle = loaded(path);
	if (handle)
		dlclose(handle);
	else
		close(fd);
}

/* The descriptor is part of the name by which the loader knows the object, and stays open as long. */
static CUresult load_image(const char *what, const unsigned char *image, size_t size, struct emu_object *object)
{
	char path[64];
	CUresult ret;

	object->fd = memfd_create("barlane-emu-module", MFD_CLOEXEC);
	if (object->fd < 0)
		return bad_object(what, strerror(errno), CUDA_ERROR_OUT_OF_MEMORY);
	image_path(object->fd, path, sizeof(path));
	ret = write_all(object->fd, image, size) ? bad_object(what, "no memory for a copy", CUDA_ERROR_OUT_OF_MEMORY) :
						   load(what, path, &object->handle);
	if (ret)
		close_image(object->fd);
	return ret;
}

/* A file that is loaded already would be given again, with its variables: then a copy is loaded. */
static CUresult load_file(const char *what, const char *path, const unsigned char *image, size_t size,
			  struct emu_object *object)
{
	void *handle = loaded(path);
	CUresult ret;

	if (!handle)
		return load(what, path, &object->handle);
	ret = check_kernels(what, handle);
	dlclose(handle);
	return ret ? ret : load_image(what, image, size, object);
}

static CUresult load_any(const char *path, const unsigned char *image, size_t size, struct emu_object *object)
{
	const char *what = path ? path : "in memory";
	char real[PATH_MAX];
	Elf64_Ehdr head;

	if (size < sizeof(head))
		return bad_object(what, "too short", CUDA_ERROR_INVALID_IMAGE);
	memcpy(&head, image, sizeof(head));
	if (!for_this_machine(&head))
		return bad_object(what, "no shared object of this machine", CUDA_ERROR_NO_BINARY_FOR_GPU);
	if (size == EMU_SIZE_UNKNOWN)
		size = image_size(image, &head);
	if (path && realpath(path, real))
		return load_file(what, real, image, size, object);
	return load_image(what, image, size, object);
}

CUresult emu_object_open(const char *path, const void *image, size_t size, struct emu_object **object_p)
{
	struct emu_object *object = calloc(1, sizeof(*object));
	CUresult ret;

	if (!object)
		return CUDA_ERROR_OUT_OF_MEMORY;
	object->fd = -1;
	pthread_mutex_lock(&load_lock);
	ret = load_any(path, image, size, object);
	pthread_mutex_unlock(&load_lock);
	if (ret)
		free(object);
	else
		*object_p = object;
	return ret;
}

void emu_object_keep(struct emu_object *object)
{
	atomic_store(&object->keep, 1);
}

void emu_object_close(struct emu_object *object)
{
	if (atomic_load(&object->keep))
		return;
	pthread_mutex_lock(&load_lock);
	dlclose(object->handle);
	if (object->fd >= 0)
		close_image(object->fd);
	pthread_mutex_unlock(&load_lock);
	free(object);
}

static int kernel_ok(const struct bl_cuda_kernel *kernel)
{
	uint64_t size = 0;

	if (kernel->nr_params > BL_CUDA_MAX_PARAMS)
		return 0;
	for (uint32_t i = 0; i < kernel->nr_params; i++)
		size += kernel->params[i].size;
	return size <= BL_CUDA_MAX_PARAM;
}

const struct bl_cuda_kernel *emu_object_kernel(const struct emu_object *object, const char *name)
{
	const struct bl_cuda_kernel *kernel;
	char symbol[512];

	if (snprintf(symbol, sizeof(symbol), BL_CUDA_KERNEL_PREFIX "%s", name) >= (int)sizeof(symbol))
		return NULL;
	kernel = dlsym(object->handle, symbol);
	return kernel && kernel_ok(kernel) ? kernel : NULL;
}
