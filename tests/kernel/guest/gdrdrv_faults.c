// SPDX-License-Identifier: MIT
/*
 * Every allocation that an operation of the module makes fails once. The operation then ends with ENOMEM or copes, and
 * leaves nothing: no pin, no mapping, no memory type, no byte in memory that was given back.
 */
#include "fault.h"
#include "gdrdrv_gpu.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PERSISTENT     "dbg_enabled=1"
#define NOT_PERSISTENT "dbg_enabled=1 use_persistent_mapping=0"
#define PARAMS	       "/proc/driver/gdrdrv/params"
#define REFCOUNT       "/proc/driver/gdrdrv/nv_get_pages_refcount"

static int gpu = -1, drv = -1, fd;
static struct gpu_mem mem;
static uint64_t handle;
static void *addr;
static struct bl_card_info info;

static struct state now(void)
{
	return state_now(gpu);
}

/* What a test that failed left must not make the next one fail. */
static void forget(void)
{
	if (addr)
		munmap(addr, 2 * MIB);
	addr = NULL;
	close(drv);
	close(gpu);
}

static void walk(const char *name, const char *parameters, const struct fault_op *op)
{
	fault_needed();
	forget();
	drv_reload(parameters);
	gpu = gpu_open();
	info = gpu_info(gpu);
	drv = drv_open();
	mem = gpu_alloc(gpu, 2 * MIB);
	fault_walk(name, op, now);
	close(drv);
	drv = -1;
	check_clean(gpu);
	close(gpu);
	gpu = -1;
	addr = NULL;
}

static void nothing(void)
{
}

static void pin(void)
{
	handle = drv_pin(drv, &mem);
}

static void unpin(void)
{
	check_eq(try_unpin(drv, handle), 0);
}

static void pin_and_map(void)
{
	pin();
	addr = drv_map(drv, handle, mem.len);
}

static void unmap_and_unpin(void)
{
	check_eq(munmap(addr, mem.len), 0);
	unpin();
}

static int do_open(void)
{
	fd = open(GDRDRV_PATH, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

static void close_fd(void)
{
	check_eq(close(fd), 0);
}

static void opening(void)
{
	walk("open", PERSISTENT, &(struct fault_op){ .run = do_open, .undo = close_fd });
}

static int do_pin(void)
{
	return try_pin(drv, mem.va, mem.len, &handle);
}

static void pinning(void)
{
	walk("pin", NOT_PERSISTENT, &(struct fault_op){ .run = do_pin, .undo = unpin });
}

static void pinning_persistent(void)
{
	walk("persistent pin", PERSISTENT, &(struct fault_op){ .run = do_pin, .undo = unpin });
}

static int do_pin_token(void)
{
	struct gdrdrv_pin_buffer arg = { .addr = mem.va, .size = mem.len, .p2p_token = info.p2p_token,
					 .va_space = info.va_space };
	int ret = try_request(drv, GDRDRV_IOC_PIN_BUFFER, &arg);

	handle = arg.handle;
	return ret;
}

static void pinning_by_token(void)
{
	walk("pin by token", NOT_PERSISTENT, &(struct fault_op){ .run = do_pin_token, .undo = unpin });
}

static int do_pin_v2(void)
{
	return try_pin_v2(drv, mem.va, mem.len, GDRDRV_PIN_FORCE_PCIE, &handle);
}

static void pinning_through_pci(void)
{
	walk("pin through PCI", PERSISTENT, &(struct fault_op){ .run = do_pin_v2, .undo = unpin });
}

static void export_mem(void)
{
	fd = gpu_export(gpu, &mem, 0, mem.len);
}

static int do_pin_dmabuf(void)
{
	struct gdrdrv_pin_dmabuf arg = { .fd = fd, .size = mem.len };
	int ret = try_request(drv, GDRDRV_IOC_PIN_DMABUF, &arg);

	handle = arg.handle;
	return ret;
}

static void unpin_and_close_fd(void)
{
	unpin();
	close_fd();
}

static void pinning_dmabuf(void)
{
	walk("pin of a dma-buf", PERSISTENT,
	     &(struct fault_op){ .prepare = export_mem, .run = do_pin_dmabuf, .undo = unpin_and_close_fd });
}

static int do_map(void)
{
	return try_map(drv, handle, mem.len, &addr);
}

static void mapping(void)
{
	walk("map", PERSISTENT, &(struct fault_op){ .prepare = pin, .run = do_map, .undo = unmap_and_unpin });
}

/* Not the first page of those that come in with it. A fault that lacks memory is repeated by the kernel. */
static int do_touch(void)
{
	uint32_t value;

	return load_signal((char *)addr + MIB, &value) ? -EFAULT : 0;
}

static void first_access(void)
{
	walk("first access", PERSISTENT,
	     &(struct fault_op){ .prepare = pin_and_map, .run = do_touch, .undo = unmap_and_unpin });
}

static int do_split(void)
{
	return munmap((char *)addr + MIB, 64 * KIB) ? -errno : 0;
}

static void unmapping_a_part(void)
{
	walk("munmap of a part", PERSISTENT,
	     &(struct fault_op){ .prepare = pin_and_map, .run = do_split, .undo = unmap_and_unpin, .splits = true });
}

static int do_move(void)
{
	void *room = addr == (void *)(1UL << 40) ? (void *)(1UL << 41) : (void *)(1UL << 40);
	void *moved = mremap(addr, mem.len, mem.len, MREMAP_MAYMOVE | MREMAP_FIXED, room);

	if (moved == MAP_FAILED)
		return -errno;
	addr = moved;
	return 0;
}

static void moving(void)
{
	walk("mremap", PERSISTENT,
	     &(struct fault_op){ .prepare = pin_and_map, .run = do_move, .undo = unmap_and_unpin });
}

static int do_info(void)
{
	struct gdrdrv_get_info v1 = { .handle = handle }, v2;
	struct gdrdrv_req_mapping_type type = { .handle = handle };
	struct gdrdrv_get_attr attr = { .attr = GDRDRV_ATTR_PERSISTENT };
	struct gdrdrv_get_version version;
	int ret = try_request(drv, GDRDRV_IOC_GET_INFO, &v1);

	if (!ret)
		ret = try_info(drv, handle, &v2);
	if (!ret)
		ret = try_request(drv, GDRDRV_IOC_GET_ATTR, &attr);
	if (!ret)
		ret = try_request(drv, GDRDRV_IOC_GET_VERSION, &version);
	if (!ret)
		ret = try_request(drv, GDRDRV_IOC_REQ_MAPPING_TYPE, &type);
	if (!ret)
		ret = try_cb_flag(drv, handle);
	return ret;
}

static void asking(void)
{
	walk("requests that tell something", NOT_PERSISTENT,
	     &(struct fault_op){ .prepare = pin, .run = do_info, .undo = unpin });
}

static int do_unpin(void)
{
	return try_unpin(drv, handle);
}

static void unmap(void)
{
	check_eq(munmap(addr, mem.len), 0);
}

static void unpinning(void)
{
	walk("unpin while mapped", PERSISTENT,
	     &(struct fault_op){ .prepare = pin_and_map, .run = do_unpin, .undo = unmap });
}

static int do_close(void)
{
	int ret = close(drv) ? -errno : 0;

	drv = -1;
	return ret;
}

static void reopen(void)
{
	drv = drv_open();
}

static void closing(void)
{
	walk("close with a pin", NOT_PERSISTENT, &(struct fault_op){ .prepare = pin, .run = do_close, .undo = reopen });
}

/* The callback of the driver, whose own part may lack memory too: then the memory goes back without poison. */
static int do_free(void)
{
	struct bl_card_range arg = { .va = mem.va, .len = mem.len };
	uint32_t value;

	if (ioctl(gpu, BL_CARD_IOC_FREED, &arg))
		return -errno;
	return load_signal(addr, &value) == SIGBUS ? 0 : -EFAULT;
}

static void revoking(void)
{
	walk("free while mapped", NOT_PERSISTENT,
	     &(struct fault_op){ .prepare = pin_and_map, .run = do_free, .undo = unmap_and_unpin });
}

static int read_file(const char *path)
{
	char text[512];
	ssize_t len;
	int ret = 0, file = open(path, O_RDONLY | O_CLOEXEC);

	if (file < 0)
		return -errno;
	len = read(file, text, sizeof(text));
	if (len <= 0)
		ret = len ? -errno : -ENODATA;
	close(file);
	return ret;
}

static int do_read(void)
{
	int ret = read_file(PARAMS);

	return ret ? ret : read_file(REFCOUNT);
}

static void reading(void)
{
	walk("reading both files in /proc", PERSISTENT, &(struct fault_op){ .run = do_read, .undo = nothing });
}

static void unload(void)
{
	close(drv);
	check_eq(try_module_unload("gdrdrv"), 0);
}

static int do_load(void)
{
	return try_module_load("gdrdrv", PERSISTENT);
}

static void reload(void)
{
	check_eq(read_file(PARAMS), 0);
	drv = drv_open();
}

/* Up to the module's own code, which refuses this before it does anything. */
static int do_load_for_nothing(void)
{
	return try_module_load("gdrdrv", "node_mode=01000");
}

/*
 * The kernel's loader makes hundreds of allocations before the module's own code runs; they are left out, but for some
 * that the count has too much because it also has the way back. The driver core says EINVAL for a name without memory.
 */
static void loading(void)
{
	struct fault_op op = { .prepare = unload, .run = do_load, .undo = reload, .also = EINVAL, .coarse = true };

	fault_needed();
	drv_reload(PERSISTENT);
	check_eq(try_module_unload("gdrdrv"), 0);
	op.first = fault_count(do_load_for_nothing) - 30;
	check_eq(try_module_load("gdrdrv", PERSISTENT), 0);
	walk("loading the module", PERSISTENT, &op);
}

static const struct tap_test tests[] = {
	{ "open_survives_every_allocation_failure", opening },
	{ "pin_survives_every_allocation_failure", pinning },
	{ "persistent_pin_survives_every_allocation_failure", pinning_persistent },
	{ "pin_by_token_survives_every_allocation_failure", pinning_by_token },
	{ "pin_through_pci_survives_every_allocation_failure", pinning_through_pci },
	{ "pin_of_a_dma_buf_survives_every_allocation_failure", pinning_dmabuf },
	{ "map_survives_every_allocation_failure", mapping },
	{ "first_access_survives_every_allocation_failure", first_access },
	{ "munmap_of_a_part_survives_every_allocation_failure", unmapping_a_part },
	{ "mremap_survives_every_allocation_failure", moving },
	{ "requests_that_tell_something_survive_every_allocation_failure", asking },
	{ "unpin_survives_every_allocation_failure", unpinning },
	{ "close_survives_every_allocation_failure", closing },
	{ "revocation_survives_every_allocation_failure", revoking },
	{ "reading_proc_survives_every_allocation_failure", reading },
	{ "loading_the_module_survives_every_allocation_failure", loading },
};

TAP_MAIN(tests)
