// SPDX-License-Identifier: MIT
/* dma-bufs of pins, on each provider: a device's view of them, their life, and what is refused. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "tests/tap.h"
#include "world.h"

#define MIB  (1UL << 20)
#define PAGE ((size_t)sysconf(_SC_PAGESIZE))

#define NR_EXPORTS 50

static const char *const gdrdrv_world[] = { "BARLANE_EMU_NODES", "gdrdrv", NULL };
static const char *const dmabuf_world[] = { "BARLANE_EMU_DRIVER", "610.43.02", "BARLANE_EMU_CUDA", "13030", NULL };

/**
 * struct device - another device that has taken a dma-buf
 * @bytes:  what it reaches
 * @len:    how many
 * @held:   for detach
 * @detach: bl_emu_dmabuf_detach()
 */
struct device {
	unsigned char *bytes;
	uint64_t len;
	void *held;
	void (*detach)(void *held);
};

static void attach(int fd, struct device *device)
{
	void *(*take)(int fd, void **addr_p, uint64_t *len_p);
	void *lib = dlopen("libcuda.so.1", RTLD_NOW), *addr = NULL;

	*(void **)&take = dlsym(lib, "bl_emu_dmabuf_attach");
	*(void **)&device->detach = dlsym(lib, "bl_emu_dmabuf_detach");
	check(take && device->detach);
	device->held = take(fd, &addr, &device->len);
	check(device->held);
	device->bytes = addr;
}

static bl_pin_t pinned(bl_ctx_t ctx, CUdeviceptr va, size_t len)
{
	bl_pin_t pin = 0;

	if (bl_pin(ctx, va, len, 0, 0, 0, &pin))
		tap_end(TAP_FAILED, "pin: %s", bl_last_error(NULL));
	return pin;
}

static void exported(bl_ctx_t ctx, bl_pin_t pin, uint64_t off, size_t len, struct bl_dmabuf *dmabuf)
{
	if (bl_pin_export(ctx, pin, off, len, 0, dmabuf))
		tap_end(TAP_FAILED, "export: %s", bl_last_error(NULL));
}

static void fill(CUdeviceptr va, unsigned char *bytes, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)(i * 167 + (i >> 8) + seed);
	check_eq(world.cuda->cuMemcpyHtoD(va, bytes, len), CUDA_SUCCESS);
}

static void check_view(CUdeviceptr va, const struct bl_dmabuf *dmabuf, size_t len)
{
	unsigned char *bytes = malloc(len), *back = malloc(len);
	struct device device;

	check(bytes && back);
	check(fcntl(dmabuf->fd, F_GETFD) & FD_CLOEXEC);
	attach(dmabuf->fd, &device);
	check_eq(device.len, dmabuf->size);
	check_eq(dmabuf->size % PAGE, 0);
	check(dmabuf->off < PAGE && dmabuf->off + len <= dmabuf->size);
	fill(va, bytes, len, 1);
	check(!memcmp(device.bytes + dmabuf->off, bytes, len));
	/* and what the device writes, CUDA reads */
	memset(device.bytes + dmabuf->off, 0x5c, len);
	check_eq(world.cuda->cuMemcpyDtoH(back, va, len), CUDA_SUCCESS);
	for (size_t i = 0; i < len; i++)
		check_eq(back[i], 0x5c);
	device.detach(device.held);
	free(bytes);
	free(back);
}

static void check_memory(bl_ctx_t ctx, CUdeviceptr va, size_t size)
{
	struct bl_dmabuf whole, part, byte;
	bl_pin_t pin = pinned(ctx, va, size);
	struct snapshot before;

	snapshot_take(&before);
	exported(ctx, pin, 0, size, &whole);
	check_eq(whole.off, 0);
	check_eq(whole.size, size);
	check_view(va, &whole, size);
	exported(ctx, pin, 3 * PAGE - 7, PAGE + 14, &part);
	check_eq(part.off, PAGE - 7);
	check_eq(part.size, 3 * PAGE);
	check_view(va + 3 * PAGE - 7, &part, PAGE + 14);
	exported(ctx, pin, size - 1, 1, &byte);
	check_eq(byte.size, PAGE);
	check_view(va + size - 1, &byte, 1);
	check_eq(close(whole.fd), 0);
	check_eq(close(part.fd), 0);
	check_eq(close(byte.fd), 0);
	snapshot_check(&before);
	check_eq(bl_unpin(ctx, pin), 0);
}

/* @arg: provider */
static void view(const void *arg)
{
	struct bl_dmabuf dmabuf;
	CUdeviceptr plain, vmm;
	struct bl_alloc mem;
	bl_ctx_t ctx;

	world_enter();
	ctx = world_open(arg);
	plain = world_alloc(4 * MIB);
	vmm = world_vmm(4 * MIB, 1);
	check_memory(ctx, plain, 4 * MIB);
	/* that module wants memory made for it, as bl_alloc() does below */
	if (strcmp(arg, "gdrdrv"))
		check_memory(ctx, vmm, 4 * MIB);
	check_memory(ctx, plain + MIB, 2 * MIB);
	check_eq(bl_alloc(ctx, 0, 2 * MIB, &mem), 0);
	exported(ctx, mem.pin, 100, 200, &dmabuf);
	check_view(mem.va + 100, &dmabuf, 200);
	check_eq(close(dmabuf.fd), 0);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void a_device_sees_the_bytes_with_each_provider(void)
{
	child_run(view, "rm", NULL);
	child_run(view, "gdrdrv", gdrdrv_world);
	child_run(view, "dmabuf", dmabuf_world);
}

static void outlive(const void *arg)
{
	struct bl_emu_counts before, after;
	unsigned char bytes[4096];
	struct bl_dmabuf dmabuf;
	struct device device;
	CUdeviceptr va;
	bl_pin_t pin;
	bl_ctx_t ctx;

	world_enter();
	ctx = world_open("rm");
	va = world_alloc(2 * MIB);
	pin = pinned(ctx, va, 2 * MIB);
	fill(va, bytes, sizeof(bytes), 9);
	exported(ctx, pin, 0, 2 * MIB, &dmabuf);
	check_eq(bl_unpin(ctx, pin), 0);
	check_eq(bl_close(ctx), 0);
	world.counts(&before);
	check_eq(before.dmabufs, 1);
	world_free(va);
	/* freed memory is poisoned once nobody holds it */
	attach(dmabuf.fd, &device);
	check(!memcmp(device.bytes, bytes, sizeof(bytes)));
	check_eq(close(dmabuf.fd), 0);
	check(!memcmp(device.bytes, bytes, sizeof(bytes)));
	device.detach(device.held);
	world.counts(&after);
	check_eq(after.dmabufs, 0);
	check_eq(after.vram_used, before.vram_used - 2 * MIB);
	world_check_rules();
}

static void a_dmabuf_outlives_pin_context_and_memory(void)
{
	child_run(outlive, NULL, NULL);
}

static void misuse(const void *arg)
{
	struct bl_dmabuf dmabuf = { .fd = -7 };
	struct snapshot before;
	bl_ctx_t ctx, other;
	CUdeviceptr va;
	bl_pin_t pin;

	world_enter();
	ctx = world_open("rm");
	other = world_open("rm");
	va = world_alloc(2 * MIB);
	pin = pinned(ctx, va, MIB);
	snapshot_take(&before);
	check_eq(bl_pin_export(ctx, pin, 0, PAGE, 0, NULL), -EINVAL);
	check_eq(bl_pin_export(ctx, 0, 0, PAGE, 0, &dmabuf), -EINVAL);
	check_eq(bl_pin_export(other, pin, 0, PAGE, 0, &dmabuf), -EINVAL);
	check_eq(bl_pin_export(ctx, pin, 0, 0, 0, &dmabuf), -EINVAL);
	check_eq(bl_pin_export(ctx, pin, 0, MIB + 1, 0, &dmabuf), -EINVAL);
	check_has(bl_last_error(NULL), "the pin has 0x100000 bytes");
	check_eq(bl_pin_export(ctx, pin, MIB, 1, 0, &dmabuf), -EINVAL);
	check_eq(bl_pin_export(ctx, pin, UINT64_MAX, 2, 0, &dmabuf), -EINVAL);
	check_eq(bl_pin_export(ctx, pin, 1, SIZE_MAX, 0, &dmabuf), -EINVAL);
	check_eq(bl_pin_export(ctx, pin, 0, PAGE, 2, &dmabuf), -EINVAL);
	check_has(bl_last_error(NULL), "unknown flags 0x2");
	/* this driver has no second way to the memory */
	check_eq(bl_pin_export(ctx, pin, 0, PAGE, BL_EXPORT_FORCE_PCIE, &dmabuf), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "without BL_EXPORT_FORCE_PCIE");
	check_eq(dmabuf.fd, -7);
	snapshot_check(&before);
	check_eq(bl_unpin(ctx, pin), 0);
	check_eq(bl_pin_export(ctx, pin, 0, PAGE, 0, &dmabuf), -EINVAL);
	check_eq(bl_close(ctx), 0);
	check_eq(bl_close(other), 0);
	world_check_rules();
}

static void misuse_is_refused(void)
{
	child_run(misuse, NULL, NULL);
}

/* Small allocations share a block: the pin may hold a neighbour's bytes, the dma-buf must not be of them alone. */
static void neighbour(const void *arg)
{
	struct bl_dmabuf dmabuf = { .fd = -7 };
	struct bl_pin_info info;
	CUdeviceptr va;
	bl_pin_t pin;
	bl_ctx_t ctx;

	world_enter();
	ctx = world_open("rm");
	va = world_alloc(5000);
	pin = pinned(ctx, va, 5000);
	check_eq(bl_pin_info(ctx, pin, &info), 0);
	check(info.len > 5000 + (va - info.va));
	exported(ctx, pin, va - info.va, 5000, &dmabuf);
	check_view(va, &dmabuf, 5000);
	check_eq(close(dmabuf.fd), 0);
	dmabuf.fd = -7;
	check_eq(bl_pin_export(ctx, pin, va - info.va, 5001, 0, &dmabuf), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "leaves the allocation");
	check_eq(bl_pin_export(ctx, pin, va - info.va + 5001, 1, 0, &dmabuf), -EOPNOTSUPP);
	check_eq(dmabuf.fd, -7);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void only_the_allocation_is_exported(void)
{
	child_run(neighbour, NULL, NULL);
}

/* @arg: provider */
static void freed(const void *arg)
{
	struct bl_dmabuf dmabuf = { .fd = -7 };
	struct snapshot before;
	CUdeviceptr va, again;
	bl_ctx_t ctx;
	bl_pin_t pin;

	world_enter();
	ctx = world_open(arg);
	va = world_alloc(2 * MIB);
	pin = pinned(ctx, va, 2 * MIB);
	snapshot_take(&before);
	world_free(va);
	check_eq(bl_pin_export(ctx, pin, 0, PAGE, 0, &dmabuf), -EINVAL);
	check_has(bl_last_error(NULL), "freed");
	again = world_alloc(2 * MIB);
	check_eq(again, va);
	check_eq(bl_pin_export(ctx, pin, 0, PAGE, 0, &dmabuf), -EINVAL);
	check_has(bl_last_error(NULL), "freed");
	check_eq(dmabuf.fd, -7);
	check_eq(bl_close(ctx), 0);
	check(world_fds() <= before.fds);
	world_check_rules();
}

static void freed_memory_is_refused_also_when_other_memory_has_its_address(void)
{
	child_run(freed, "rm", NULL);
	child_run(freed, "dmabuf", dmabuf_world);
	child_run(freed, "gdrdrv",
		  (const char *[]){ "BARLANE_EMU_NODES", "gdrdrv", "BARLANE_EMU_GDRDRV_PERSISTENT", "0", NULL });
}

static void no_dmabufs(const void *arg)
{
	struct bl_dmabuf dmabuf = { .fd = -7 };
	bl_ctx_t ctx;
	bl_pin_t pin;

	world_enter();
	ctx = world_open("rm");
	pin = pinned(ctx, world_alloc(2 * MIB), 2 * MIB);
	check_eq(bl_pin_export(ctx, pin, 0, PAGE, 0, &dmabuf), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "attribute 124");
	check_has(bl_last_error(NULL), "open kernel modules");
	check_eq(dmabuf.fd, -7);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void a_device_without_dmabufs_is_told_with_the_cure(void)
{
	child_run(no_dmabufs, NULL, (const char *[]){ "BARLANE_EMU_DMABUF", "0", NULL });
}

static void refused(const void *arg)
{
	static const struct {
		const char *fault;
		int ret;
		const char *text;
	} cases[] = {
		{ "cuda.export:1:801", -EOPNOTSUPP, "gpuDirectRDMACapable" },
		{ "cuda.export:1:1", -EINVAL, "CUDA_ERROR_INVALID_VALUE" },
		{ "cuda.export:1:2", -ENOMEM, "CUDA_ERROR_OUT_OF_MEMORY" },
		{ "cuda.export:1:304", -EIO, "CUDA_ERROR_OPERATING_SYSTEM" },
		{ "cuda.attr:1:1", -EINVAL, "cuPointerGetAttributes" },
		{ "cuda.attr:2:1", -EINVAL, "freed meanwhile" },
	};
	struct bl_dmabuf dmabuf = { .fd = -7 };
	struct snapshot before;
	CUdeviceptr va;
	bl_ctx_t ctx;
	bl_pin_t pin;

	world_enter();
	ctx = world_open("rm");
	va = world_alloc(2 * MIB);
	pin = pinned(ctx, va, 2 * MIB);
	snapshot_take(&before);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_eq(world.fault(cases[i].fault), 0);
		check_eq(bl_pin_export(ctx, pin, 0, PAGE, 0, &dmabuf), cases[i].ret);
		check_has(bl_last_error(NULL), cases[i].text);
		check_eq(world.fault(""), 0);
		check_eq(dmabuf.fd, -7);
		snapshot_check(&before);
	}
	exported(ctx, pin, 0, PAGE, &dmabuf);
	check_view(va, &dmabuf, PAGE);
	check_eq(close(dmabuf.fd), 0);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void what_the_driver_refuses_is_passed_on_and_leaves_nothing(void)
{
	child_run(refused, NULL, NULL);
}

static void forked(const void *arg)
{
	struct bl_dmabuf dmabuf, more = { .fd = -7 };
	int status = -1;
	bl_ctx_t ctx;
	bl_pin_t pin;
	pid_t pid;

	world_enter();
	ctx = world_open("rm");
	pin = pinned(ctx, world_alloc(2 * MIB), 2 * MIB);
	exported(ctx, pin, 0, PAGE, &dmabuf);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		/* the handles are the parent's, the descriptor is whoever's has it */
		if (bl_pin_export(ctx, pin, 0, PAGE, 0, &more) != -EACCES || more.fd != -7)
			_exit(1);
		_exit(fcntl(dmabuf.fd, F_GETFD) < 0 ? 2 : 0);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check_eq(close(dmabuf.fd), 0);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void a_forked_child_cannot_export_and_keeps_the_descriptor(void)
{
	child_run(forked, NULL, NULL);
}

/**
 * struct exporter - what a thread works with
 * @ctx:    context
 * @shared: pin of all threads
 * @own:    pin of this one
 * @fds:    descriptors; closed when no thread runs, as the emulated driver looks at them whenever it is called
 * @nr:     how many
 * @bad:    calls that failed
 */
struct exporter {
	bl_ctx_t ctx;
	bl_pin_t shared;
	bl_pin_t own;
	int fds[2 * NR_EXPORTS];
	int nr;
	int bad;
};

static void export_one(struct exporter *exporter, bl_pin_t pin, uint64_t off)
{
	struct bl_dmabuf dmabuf;

	/* no context is current in this thread */
	if (bl_pin_export(exporter->ctx, pin, off, MIB, 0, &dmabuf)) {
		exporter->bad++;
		return;
	}
	exporter->bad += dmabuf.off != off;
	exporter->fds[exporter->nr++] = dmabuf.fd;
}

static void *export_again(void *arg)
{
	struct exporter *exporter = arg;

	for (int i = 0; i < NR_EXPORTS; i++) {
		export_one(exporter, exporter->shared, (uint64_t)i);
		export_one(exporter, exporter->own, 0);
	}
	return NULL;
}

static void threads(const void *arg)
{
	struct exporter exporters[4];
	pthread_t ids[4];
	struct snapshot before;
	bl_ctx_t ctx;
	bl_pin_t shared;

	world_enter();
	ctx = world_open("rm");
	shared = pinned(ctx, world_alloc(2 * MIB), 2 * MIB);
	for (int i = 0; i < 4; i++)
		exporters[i] = (struct exporter){ .ctx = ctx, .shared = shared,
						  .own = pinned(ctx, world_alloc(2 * MIB), 2 * MIB) };
	snapshot_take(&before);
	for (int i = 0; i < 4; i++)
		check_eq(pthread_create(&ids[i], NULL, export_again, &exporters[i]), 0);
	for (int i = 0; i < 4; i++) {
		check_eq(pthread_join(ids[i], NULL), 0);
		check_eq(exporters[i].bad, 0);
	}
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < exporters[i].nr; k++)
			check_eq(close(exporters[i].fds[k]), 0);
	}
	snapshot_check(&before);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void threads_export_at_the_same_time(void)
{
	child_run(threads, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "a_device_sees_the_bytes_with_each_provider", a_device_sees_the_bytes_with_each_provider },
	{ "a_dmabuf_outlives_pin_context_and_memory", a_dmabuf_outlives_pin_context_and_memory },
	{ "misuse_is_refused", misuse_is_refused },
	{ "only_the_allocation_is_exported", only_the_allocation_is_exported },
	{ "freed_memory_is_refused_also_when_other_memory_has_its_address",
	  freed_memory_is_refused_also_when_other_memory_has_its_address },
	{ "a_device_without_dmabufs_is_told_with_the_cure", a_device_without_dmabufs_is_told_with_the_cure },
	{ "what_the_driver_refuses_is_passed_on_and_leaves_nothing",
	  what_the_driver_refuses_is_passed_on_and_leaves_nothing },
	{ "a_forked_child_cannot_export_and_keeps_the_descriptor",
	  a_forked_child_cannot_export_and_keeps_the_descriptor },
	{ "threads_export_at_the_same_time", threads_export_at_the_same_time },
};

TAP_MAIN(tests)
