// SPDX-License-Identifier: MIT
/* Memory that a software NIC is to reach: of the host, of a GPU, of a dma-buf; what is refused, and what is left. */
#include <sys/mman.h>
#include <unistd.h>

#include "net/reach.h"
#include "pair.h"
#include "tests/emu/child.h"

#define LEN 8192UL
#define MIB (1UL << 20)

static int open_at(void *addr, size_t len, unsigned int access, struct bl_reach *reach)
{
	const struct bl_nic_memory memory = { .addr = addr, .len = len, .access = access, .dmabuf_fd = -1 };

	return bl_reach_open(&memory, reach);
}

/* Bytes at odd places go in and come out. */
static void check_reach(struct bl_reach *reach)
{
	unsigned char in[3001], out[3001];

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)(i * 11 + (i >> 8));
	check_eq(bl_reach_write(reach, 77, in, sizeof(in)), 0);
	bl_reach_flush(reach);
	check_eq(bl_reach_read(reach, 77, out, sizeof(out)), 0);
	check(!memcmp(in, out, sizeof(in)));
}

static void host_memory_is_reached_as_it_is(void)
{
	struct bl_reach reach;
	char *mem = aligned_alloc(4096, LEN);

	world_enter();
	check_eq(open_at(mem + 3, 4000, IBV_ACCESS_LOCAL_WRITE, &reach), 0);
	check_eq(reach.kind, BL_REACH_HOST);
	check(reach.cpu == mem + 3);
	check_reach(&reach);
	bl_reach_close(&reach);
	free(mem);
}

static void host_memory_that_is_not_there_is_refused(void)
{
	struct bl_reach reach;
	char *mem = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	world_enter();
	check(mem != MAP_FAILED);
	check_eq(munmap(mem + 4096, 4096), 0);
	check_eq(open_at(mem, 4096, IBV_ACCESS_LOCAL_WRITE, &reach), 0);
	check_eq(open_at(mem, 4097, IBV_ACCESS_LOCAL_WRITE, &reach), -EFAULT);
	check_eq(open_at(mem, 3 * 4096, 0, &reach), -EFAULT);
	check_eq(open_at((void *)8, 1, 0, &reach), -EFAULT);
	check_eq(mprotect(mem, 4096, PROT_READ), 0);
	check_eq(open_at(mem, 4096, 0, &reach), 0);
	bl_reach_close(&reach);
	check_eq(open_at(mem, 4096, IBV_ACCESS_LOCAL_WRITE, &reach), -EFAULT);
	check_has(bl_last_error(NULL), "not all of it can be written");
	check_eq(mprotect(mem, 4096, PROT_NONE), 0);
	check_eq(open_at(mem, 4096, 0, &reach), -EFAULT);
	munmap(mem, 4096);
	munmap(mem + 2 * 4096, 4096);
}

static void ranges_that_cannot_be_are_refused(void)
{
	struct bl_reach reach;

	world_enter();
	check_eq(open_at(&reach, 0, 0, &reach), -EINVAL);
	check_eq(open_at((void *)(UINTPTR_MAX - 10), 100, 0, &reach), -EINVAL);
	check_eq(open_at((void *)4096, SIZE_MAX / 2 + 1, 0, &reach), -EINVAL);
}

static void gpu_memory_is_reached_and_given_back(void)
{
	unsigned char there[16], want[16];
	struct snapshot before;
	struct bl_reach reach;
	CUdeviceptr va;

	world_enter();
	va = world_alloc(2 * MIB);
	/* the first use of a GPU leaves what the core knows of it */
	check_eq(open_at((void *)(uintptr_t)va, LEN, 0, &reach), 0);
	bl_reach_close(&reach);
	snapshot_take(&before);
	for (size_t off = 0; off < 3 * 4096; off += 4096 + 1) {
		check_eq(open_at((void *)(uintptr_t)(va + off), LEN, IBV_ACCESS_LOCAL_WRITE, &reach), 0);
		check_eq(reach.kind, BL_REACH_GPU);
		check_reach(&reach);
		check_eq(bl_reach_read(&reach, 77, want, sizeof(want)), 0);
		check_eq(world.cuda->cuMemcpyDtoH(there, va + off + 77, sizeof(there)), CUDA_SUCCESS);
		check(!memcmp(there, want, sizeof(there)));
		bl_reach_close(&reach);
	}
	snapshot_check(&before);
	world_free(va);
	world_check_rules();
}

static void gpu_memory_that_cannot_be_pinned_is_refused(void)
{
	struct bl_reach reach;
	CUdeviceptr va;

	world_enter();
	va = world_alloc(2 * MIB);
	check(open_at((void *)(uintptr_t)va, 3 * MIB, 0, &reach) < 0);
	world_free(va);
	check_eq(world.cuda->cuMemAllocManaged(&va, MIB, 1), CUDA_SUCCESS);
	check_eq(open_at((void *)(uintptr_t)va, 4096, 0, &reach), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "managed");
	world_free(va);
}

/* A dma-buf with an iova that is no address of its memory, as programs use that want offsets. */
static void register_dmabuf(const void *arg)
{
	bool mappable = *(const bool *)arg;
	struct ibv_context *context;
	struct bl_dmabuf dmabuf;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	CUdeviceptr va;
	bl_ctx_t ctx;
	bl_pin_t pin;

	world_enter();
	va = world_alloc(2 * MIB);
	ctx = world_open(NULL);
	check_eq(bl_pin(ctx, va, 2 * MIB, 0, 0, 0, &pin), 0);
	check_eq(bl_pin_export(ctx, pin, 0, 2 * MIB, 0, &dmabuf), 0);
	context = bl_net_open_device("soft0");
	pd = bl_net_alloc_pd(context);
	/* the address itself */
	mr = bl_net_reg_dmabuf_mr(pd, dmabuf.off, LEN, va, dmabuf.fd, IBV_ACCESS_LOCAL_WRITE);
	check(mr);
	check_eq(bl_net_dereg_mr(mr), 0);
	/* offsets */
	mr = bl_net_reg_dmabuf_mr(pd, 4096 + 8, LEN, 0, dmabuf.fd, IBV_ACCESS_LOCAL_WRITE);
	if (mappable) {
		check(mr);
		check_eq(bl_net_dereg_mr(mr), 0);
	} else {
		check(!mr && errno == EOPNOTSUPP);
		check_has(bl_last_error(NULL), "a software NIC needs to map it");
	}
	check(!bl_net_reg_dmabuf_mr(pd, 2 * MIB - 4096, LEN, 0, dmabuf.fd, 0) && errno == EINVAL);
	check(!bl_net_reg_dmabuf_mr(pd, UINT64_MAX, LEN, 0, dmabuf.fd, 0) && errno == EINVAL);
	close(dmabuf.fd);
	check(!bl_net_reg_dmabuf_mr(pd, 0, LEN, 0, dmabuf.fd, 0) && errno == EBADF);
	check_eq(bl_net_dealloc_pd(pd), 0);
	check_eq(bl_net_close_device(context), 0);
	check_eq(bl_close(ctx), 0);
	world_free(va);
}

/* The driver branch from which on the dma-bufs of a GPU can be mapped. */
static const char *const new_driver[] = { "BARLANE_EMU_DRIVER", "610.43.02", "BARLANE_EMU_CUDA", "13030", NULL };

static void a_dmabuf_is_mapped_where_its_address_is_not_known(void)
{
	const bool mappable = true;

	child_run(register_dmabuf, &mappable, new_driver);
}

static void a_dmabuf_that_cannot_be_mapped_is_refused(void)
{
	const bool mappable = false;

	child_run(register_dmabuf, &mappable, NULL);
}

static void write_through_dmabuf(const void *arg)
{
	struct bl_nic_memory memory = { .len = LEN, .access = IBV_ACCESS_LOCAL_WRITE, .dmabuf_off = 4096 + 8 };
	unsigned char there[16], want[16];
	struct bl_dmabuf dmabuf;
	struct bl_reach reach;
	CUdeviceptr va;
	bl_ctx_t ctx;
	bl_pin_t pin;

	world_enter();
	va = world_alloc(2 * MIB);
	ctx = world_open(NULL);
	check_eq(bl_pin(ctx, va, 2 * MIB, 0, 0, 0, &pin), 0);
	check_eq(bl_pin_export(ctx, pin, 0, 2 * MIB, 0, &dmabuf), 0);
	memory.dmabuf_fd = dmabuf.fd;
	check_eq(bl_reach_open(&memory, &reach), 0);
	check_eq(reach.kind, BL_REACH_DMABUF);
	close(dmabuf.fd);
	check_reach(&reach);
	check_eq(bl_reach_read(&reach, 77, want, sizeof(want)), 0);
	check_eq(world.cuda->cuMemcpyDtoH(there, va + 4096 + 8 + 77, sizeof(there)), CUDA_SUCCESS);
	check(!memcmp(there, want, sizeof(there)));
	bl_reach_close(&reach);
	check_eq(bl_close(ctx), 0);
	world_free(va);
}

static void a_mapped_dmabuf_holds_the_gpu_s_bytes(void)
{
	child_run(write_through_dmabuf, NULL, new_driver);
}

static const struct tap_test tests[] = {
	/* these have worlds of their own, and the parent none yet */
	{ "a_dmabuf_is_mapped_where_its_address_is_not_known", a_dmabuf_is_mapped_where_its_address_is_not_known },
	{ "a_dmabuf_that_cannot_be_mapped_is_refused", a_dmabuf_that_cannot_be_mapped_is_refused },
	{ "a_mapped_dmabuf_holds_the_gpu_s_bytes", a_mapped_dmabuf_holds_the_gpu_s_bytes },
	{ "host_memory_is_reached_as_it_is", host_memory_is_reached_as_it_is },
	{ "host_memory_that_is_not_there_is_refused", host_memory_that_is_not_there_is_refused },
	{ "ranges_that_cannot_be_are_refused", ranges_that_cannot_be_are_refused },
	{ "gpu_memory_is_reached_and_given_back", gpu_memory_is_reached_and_given_back },
	{ "gpu_memory_that_cannot_be_pinned_is_refused", gpu_memory_that_cannot_be_pinned_is_refused },
};

TAP_MAIN(tests)
