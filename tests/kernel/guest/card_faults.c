// SPDX-License-Identifier: MIT
/* Every allocation that a request to the emulated card makes fails once: it then ends with ENOMEM, and leaves nothing. */
#include "fault.h"
#include "gdrdrv_gpu.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define VA 0x7e0000000000UL

static int gpu, fd;
static struct bl_card_alloc object;
static void *addr;

static struct state now(void)
{
	return state_now(gpu);
}

static void walk(const char *name, const struct fault_op *op)
{
	fault_needed();
	drv_reload("dbg_enabled=1");
	gpu = gpu_open();
	fault_walk(name, op, now);
	close(gpu);
}

static int request(unsigned long cmd, void *arg)
{
	return ioctl(gpu, cmd, arg) ? -errno : 0;
}

static int do_open(void)
{
	fd = open(BL_CARD_PATH, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

static void close_fd(void)
{
	check_eq(close(fd), 0);
}

static void opening(void)
{
	walk("open", &(struct fault_op){ .run = do_open, .undo = close_fd });
}

static int do_alloc(void)
{
	object = (struct bl_card_alloc){ .size = 2 * MIB };
	return request(BL_CARD_IOC_ALLOC, &object);
}

static int do_free(void)
{
	struct bl_card_free arg = { .handle = object.handle };

	return request(BL_CARD_IOC_FREE, &arg);
}

static void alloc(void)
{
	check_eq(do_alloc(), 0);
}

static void free_object(void)
{
	check_eq(do_free(), 0);
}

static void nothing(void)
{
}

static void allocating(void)
{
	walk("alloc", &(struct fault_op){ .run = do_alloc, .undo = free_object });
}

/* Pieces, each at an address of its own, so that what keeps addresses has something to keep. */
static int do_bind(void)
{
	struct bl_card_bind arg = { .va = VA, .len = 64 * KIB, .handle = object.handle };

	return request(BL_CARD_IOC_BIND, &arg);
}

static void bind_many(void)
{
	alloc();
	for (unsigned int i = 1; i < 32; i++) {
		struct bl_card_bind arg = { .va = VA + i * 128 * KIB, .len = 64 * KIB, .off = i * 64 * KIB,
					    .handle = object.handle };

		check_eq(request(BL_CARD_IOC_BIND, &arg), 0);
	}
}

static void binding(void)
{
	walk("bind", &(struct fault_op){ .prepare = bind_many, .run = do_bind, .undo = free_object });
}

static void bind_all(void)
{
	bind_many();
	check_eq(do_bind(), 0);
}

static int do_unbind(void)
{
	struct bl_card_range arg = { .va = VA, .len = 64 * KIB };

	return request(BL_CARD_IOC_UNBIND, &arg);
}

static void unbinding(void)
{
	walk("unbind", &(struct fault_op){ .prepare = bind_all, .run = do_unbind, .undo = free_object });
}

static void freeing(void)
{
	walk("free", &(struct fault_op){ .prepare = bind_all, .run = do_free, .undo = nothing });
}

static int do_export(void)
{
	struct bl_card_export arg = { .len = 2 * MIB, .handle = object.handle };
	int ret = request(BL_CARD_IOC_EXPORT, &arg);

	fd = arg.fd;
	return ret;
}

static void close_and_free(void)
{
	close_fd();
	free_object();
}

static void exporting(void)
{
	walk("export", &(struct fault_op){ .prepare = alloc, .run = do_export, .undo = close_and_free });
}

static int do_map(void)
{
	addr = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, (off_t)object.offset);
	return addr == MAP_FAILED ? -errno : 0;
}

static void unmap_and_free(void)
{
	check_eq(munmap(addr, 2 * MIB), 0);
	free_object();
}

static void mapping(void)
{
	walk("map", &(struct fault_op){ .prepare = alloc, .run = do_map, .undo = unmap_and_free });
}

static void alloc_and_map(void)
{
	alloc();
	check_eq(do_map(), 0);
}

static int do_touch(void)
{
	uint32_t value;

	return load_signal((char *)addr + 100 * KIB, &value) ? -EFAULT : 0;
}

static void first_access(void)
{
	walk("first access", &(struct fault_op){ .prepare = alloc_and_map, .run = do_touch, .undo = unmap_and_free });
}

static int do_counters(void)
{
	struct bl_card_counters counters = { .flags = BL_CARD_COUNTERS_VERIFY };

	return request(BL_CARD_IOC_COUNTERS, &counters);
}

static void counting(void)
{
	walk("counters", &(struct fault_op){ .run = do_counters, .undo = nothing });
}

static const struct tap_test tests[] = {
	{ "open survives every allocation failure", opening },
	{ "alloc survives every allocation failure", allocating },
	{ "bind survives every allocation failure", binding },
	{ "unbind survives every allocation failure", unbinding },
	{ "free survives every allocation failure", freeing },
	{ "export survives every allocation failure", exporting },
	{ "map survives every allocation failure", mapping },
	{ "first access survives every allocation failure", first_access },
	{ "counters survive every allocation failure", counting },
};

TAP_MAIN(tests)
