// SPDX-License-Identifier: MIT
/*
 * export.c - dma-bufs of pins, which the native library makes
 *
 * The program is for any libgdrapi, so libbarlane is looked for at run time. What a dma-buf shows takes another device,
 * or a driver that lets it be mapped; the rest is what the kernel says of the descriptor.
 */
#include "sanity/sanity.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "barlane.h"

#define LEN	  (4 * GPU_PAGE_SIZE)
#define HELD_SIZE (64UL << 20)

/* struct native - what these tests call of libbarlane, with the context that they use */
struct native {
	__typeof__(bl_open) *open;
	__typeof__(bl_close) *close;
	__typeof__(bl_pin) *pin;
	__typeof__(bl_unpin) *unpin;
	__typeof__(bl_pin_export) *export;
	__typeof__(bl_last_error) *last_error;
	bl_ctx_t ctx;
};

static void find(void *lib, const char *name, void *slot)
{
	void *address = dlsym(lib, name);

	if (!address)
		st_waive("libbarlane.so.0 has no %s", name);
	*(void **)slot = address;
}

static void native_open(struct native *native)
{
	void *lib = dlopen("libbarlane.so.0", RTLD_NOW);

	if (!lib)
		st_waive("no native library: %s", dlerror());
	find(lib, "bl_open", &native->open);
	find(lib, "bl_close", &native->close);
	find(lib, "bl_pin", &native->pin);
	find(lib, "bl_unpin", &native->unpin);
	find(lib, "bl_pin_export", &native->export);
	find(lib, "bl_last_error", &native->last_error);
	if (native->open(NULL, &native->ctx))
		st_fail("bl_open: %s", native->last_error(NULL));
}

static bl_pin_t native_pin(const struct native *native, CUdeviceptr ptr, size_t len)
{
	bl_pin_t pin = 0;

	if (native->pin(native->ctx, ptr, len, 0, 0, 0, &pin))
		st_fail("bl_pin: %s", native->last_error(NULL));
	return pin;
}

static void native_export(const struct native *native, bl_pin_t pin, uint64_t off, size_t len, struct bl_dmabuf *dmabuf)
{
	if (native->export(native->ctx, pin, off, len, 0, dmabuf))
		st_fail("bl_pin_export: %s", native->last_error(NULL));
	st_log("off 0x%llx len 0x%zx: descriptor %d, off 0x%llx size 0x%llx", (unsigned long long)off, len, dmabuf->fd,
	       (unsigned long long)dmabuf->off, (unsigned long long)dmabuf->size);
}

/* A device that makes no dma-bufs must be told so, and is then no subject for the rest. */
static void need_dmabufs(const struct tool_device *device, const struct native *native, bl_pin_t pin)
{
	struct bl_dmabuf dmabuf = { .fd = -1 };

	if (tool_device_attr(device, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED))
		return;
	st_check_eq(native->export(native->ctx, pin, 0, LEN, 0, &dmabuf), -EOPNOTSUPP);
	st_check(strstr(native->last_error(NULL), "attribute 124"));
	st_check_eq(dmabuf.fd, -1);
	st_waive("GPU %d makes no dma-bufs (DMA_BUF_SUPPORTED is 0)", device->ordinal);
}

/* What the kernel knows of a descriptor. The emulated GPU's is no file of the kernel's. */
static void check_descriptor(const struct tool_device *device, const struct bl_dmabuf *dmabuf)
{
	char path[64], name[128] = "";
	off_t size;

	st_check(fcntl(dmabuf->fd, F_GETFD) & FD_CLOEXEC);
	if (device->emulated)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dmabuf->fd);
	if (readlink(path, name, sizeof(name) - 1) < 0)
		st_fail("%s: %s", path, strerror(errno));
	st_log("%s is %s", path, name);
	if (!strstr(name, "dmabuf"))
		st_fail("descriptor %d is \"%s\" and no dma-buf", dmabuf->fd, name);
	size = lseek(dmabuf->fd, 0, SEEK_END);
	st_check_eq(size, dmabuf->size);
}

/* Where the driver maps dma-bufs they are compared with the memory. */
static void check_bytes(const struct tool_device *device, const struct bl_dmabuf *dmabuf, const unsigned char *want,
			size_t len)
{
	unsigned char *map;

	if (device->emulated || !tool_device_attr(device, CU_DEVICE_ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED)) {
		st_log("dma-bufs cannot be mapped here: bytes not compared");
		return;
	}
	map = mmap(NULL, dmabuf->size, PROT_READ, MAP_SHARED, dmabuf->fd, 0);
	if (map == MAP_FAILED)
		st_fail("mmap of the dma-buf: %s", strerror(errno));
	st_same(map + dmabuf->off, want, len);
	munmap(map, dmabuf->size);
}

static void barlane_export_dmabuf(enum tool_mem_kind kind)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *want = st_host(LEN);
	struct bl_dmabuf whole, part;
	struct native native;
	struct tool_device device;
	struct tool_mem mem;
	bl_pin_t pin;
	size_t fds;

	st_gpu(&device);
	native_open(&native);
	st_alloc(&device, kind, LEN, &mem);
	pin = native_pin(&native, mem.ptr, LEN);
	need_dmabufs(&device, &native, pin);
	st_fill(want, LEN, 5);
	st_cuda(device.cu->cuMemcpyHtoD(mem.ptr, want, LEN));
	fds = st_fds_count();
	native_export(&native, pin, 0, LEN, &whole);
	st_check_eq(whole.off, 0);
	st_check_eq(whole.size, LEN);
	native_export(&native, pin, page + 3, page, &part);
	st_check_eq(part.off, 3);
	st_check_eq(part.size, 2 * page);
	st_check_eq(st_fds_count(), fds + 2);
	check_descriptor(&device, &whole);
	check_descriptor(&device, &part);
	check_bytes(&device, &whole, want, LEN);
	check_bytes(&device, &part, want + page + 3, page);
	/* what was freed is not exported, whatever the pin keeps */
	st_help(tool_mem_free(&mem));
	st_check_eq(native.export(native.ctx, pin, 0, LEN, 0, &part), -EINVAL);
	st_log("after the free: %s", native.last_error(NULL));
	st_check_eq(native.unpin(native.ctx, pin), 0);
	st_check_eq(native.close(native.ctx), 0);
	check_descriptor(&device, &whole);
	check_bytes(&device, &whole, want, LEN);
	close(whole.fd);
	close(part.fd);
	free(want);
}

static void barlane_export_dmabuf_holds_memory(enum tool_mem_kind kind)
{
	size_t before, held, after;
	struct bl_dmabuf dmabuf;
	struct native native;
	struct tool_device device;
	struct tool_mem mem;
	bl_pin_t pin;

	st_gpu(&device);
	native_open(&native);
	before = st_free_memory(&device);
	if (before < 2 * HELD_SIZE)
		st_waive("only %zu bytes of GPU memory are free, this needs %zu", before, 2 * HELD_SIZE);
	st_alloc(&device, kind, HELD_SIZE, &mem);
	pin = native_pin(&native, mem.ptr, HELD_SIZE);
	need_dmabufs(&device, &native, pin);
	native_export(&native, pin, 0, HELD_SIZE, &dmabuf);
	st_check_eq(native.unpin(native.ctx, pin), 0);
	st_check_eq(native.close(native.ctx), 0);
	st_help(tool_mem_free(&mem));
	held = st_free_memory(&device);
	close(dmabuf.fd);
	after = st_free_memory(&device);
	st_log("free: %zu before, %zu with the dma-buf only, %zu after", before, held, after);
	/* half of it: other programs may use the GPU as well */
	st_check(before > held && before - held > HELD_SIZE / 2);
	st_check(after > held && after - held > HELD_SIZE / 2);
}

const struct sanity_test sanity_export[] = {
	SANITY_BOTH(barlane_export_dmabuf),
	SANITY_BOTH(barlane_export_dmabuf_holds_memory),
	{ 0 },
};
