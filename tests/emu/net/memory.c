// SPDX-License-Identifier: MIT
/* Memory that a software NIC is to reach: of the host, of a GPU, of a dma-buf; what is refused, and what is left. */
#include <endian.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/reach.h"
#include "net/verbs/qp.h"
#include "pair.h"
#include "tests/child.h"
#include "util/guard.h"

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
	/* a thread's first failure maps a page for its text, which would fill the hole */
	check_eq(open_at((void *)8, 1, 0, &reach), -EFAULT);
	check_eq(munmap(mem + 4096, 4096), 0);
	check_eq(open_at(mem, 4096, IBV_ACCESS_LOCAL_WRITE, &reach), 0);
	check_eq(open_at(mem, 4097, IBV_ACCESS_LOCAL_WRITE, &reach), -EFAULT);
	check_eq(open_at(mem, 3 * 4096, 0, &reach), -EFAULT);
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

/* Its pins are taken back when their memory is freed, and accesses to the mappings are SIGBUS then. */
static const char *const revoking[] = { "BARLANE_EMU_NODES", "gdrdrv", "BARLANE_EMU_GDRDRV_PERSISTENT", "0", NULL };

static void need_guard(void)
{
	if (!BL_GUARD_WORKS)
		skip("accesses are not guarded in this build: no code for this CPU, or ThreadSanitizer");
}

static void touch_what_is_gone(const void *arg)
{
	const size_t first = *(const size_t *)arg;
	static unsigned char bytes[MIB];
	struct bl_reach reach;
	CUdeviceptr va;

	world_enter();
	bl_guard_init();
	va = world_alloc(2 * MIB);
	check_eq(open_at((void *)(uintptr_t)va, MIB, IBV_ACCESS_LOCAL_WRITE, &reach), 0);
	check_reach(&reach);
	world_free(va);
	if (first == 1)
		bl_reach_flush(&reach);
	else if (first == 2)
		check_eq(bl_reach_peek(&reach, 64, bytes, 8), -EFAULT);
	else if (first == 3)
		check_eq(bl_reach_put(&reach, 64, bytes, 8), -EFAULT);
	else if (first == 4)
		check_eq(bl_reach_write(&reach, 100, bytes, 100), -EFAULT);
	else if (first == 5)
		check_eq(bl_reach_write(&reach, 0, bytes, MIB), -EFAULT);
	else if (first == 6)
		check_eq(bl_reach_read(&reach, 100, bytes, 100), -EFAULT);
	else
		check_eq(bl_reach_read(&reach, 0, bytes, MIB), -EFAULT);
	check(reach.gone);
	/* from then on it is not touched */
	check_eq(bl_reach_read(&reach, 100, bytes, 8), -EFAULT);
	check_eq(bl_reach_write(&reach, 100, bytes, 8), -EFAULT);
	check_eq(bl_reach_peek(&reach, 64, bytes, 8), -EFAULT);
	check_eq(bl_reach_put(&reach, 64, bytes, 8), -EFAULT);
	bl_reach_flush(&reach);
	bl_reach_close(&reach);
}

static void gpu_memory_that_goes_away_is_an_error(void)
{
	need_guard();
	for (size_t first = 1; first <= 7; first++)
		child_run(touch_what_is_gone, &first, revoking);
}

/* Waits until the queue pair has failed, and for @text. */
static void check_fails(struct side *side, const char *text)
{
	struct bl_nic_qp_info info = { .state = DOCA_VERBS_QP_STATE_RTS };

	for (int i = 0; i < 1000 && info.state != DOCA_VERBS_QP_STATE_ERR; i++) {
		check_eq(bl_qp_info(side->qp, &info), 0);
		usleep(10000);
	}
	check_eq(info.state, DOCA_VERBS_QP_STATE_ERR);
	check_has(info.text, text);
}

/* The data of the peer: the request fails. */
static void lose_data(const void *arg)
{
	const struct pair_options options = { .type = DOCA_VERBS_QP_TYPE_RC, .gpu = true, .gpu_data = true };
	struct side sides[2];
	unsigned int syndrome = 0;

	pair_make(sides, &options);
	side_fill(&sides[0], 0, 4096, 3);
	side_post(&sides[0], 0x08, 0, 4096, side_addr(&sides[1], 0), sides[1].mr->rkey);
	check_eq(side_wait(&sides[0], &syndrome), 0);
	world_free((uintptr_t)sides[1].data);
	side_post(&sides[0], 0x08, 0, 4096, side_addr(&sides[1], 0), sides[1].mr->rkey);
	check_eq(side_wait(&sides[0], &syndrome), 13);
	check_eq(syndrome, 0x13);
	check_fails(&sides[1], "the memory cannot be written any more");
}

/* A message comes for which no list can be read, and its completion cannot be written. */
static void lose_receives(const void *arg)
{
	const struct pair_options options = { .type = DOCA_VERBS_QP_TYPE_RC, .gpu = true };
	struct side sides[2];

	pair_make(sides, &options);
	side_post_recv(&sides[1], 0, 64);
	side_post(&sides[0], 0x0a, 0, 64, 0, 0);
	check_eq(side_wait(&sides[0], NULL), 0);
	side_post_recv(&sides[1], 0, 64);
	world_free(sides[1].mem);
	side_post(&sides[0], 0x0a, 0, 64, 0, 0);
	check_fails(&sides[1], "the receive ring cannot be read");
}

static void lose_sends(const void *arg)
{
	const struct pair_options options = { .type = DOCA_VERBS_QP_TYPE_RC, .gpu = true };
	struct side sides[2];

	pair_make(sides, &options);
	side_post(&sides[0], 0x08, 0, 64, side_addr(&sides[1], 0), sides[1].mr->rkey);
	check_eq(side_wait(&sides[0], NULL), 0);
	world_free(sides[0].mem);
	/* a doorbell for what cannot be there */
	__atomic_store_n(&sides[0].dbr[1], htobe32(sides[0].pi + 1), __ATOMIC_RELEASE);
	check_fails(&sides[0], "send ring at ");
}

static void queues_in_gpu_memory_that_goes_away_fail(void)
{
	need_guard();
	child_run(lose_data, NULL, revoking);
	child_run(lose_receives, NULL, revoking);
	child_run(lose_sends, NULL, revoking);
}

static const struct tap_test tests[] = {
	/* these have worlds of their own, and the parent none yet */
	{ "a_dmabuf_is_mapped_where_its_address_is_not_known", a_dmabuf_is_mapped_where_its_address_is_not_known },
	{ "a_dmabuf_that_cannot_be_mapped_is_refused", a_dmabuf_that_cannot_be_mapped_is_refused },
	{ "a_mapped_dmabuf_holds_the_gpu_s_bytes", a_mapped_dmabuf_holds_the_gpu_s_bytes },
	{ "gpu_memory_that_goes_away_is_an_error", gpu_memory_that_goes_away_is_an_error },
	{ "queues_in_gpu_memory_that_goes_away_fail", queues_in_gpu_memory_that_goes_away_fail },
	{ "host_memory_is_reached_as_it_is", host_memory_is_reached_as_it_is },
	{ "host_memory_that_is_not_there_is_refused", host_memory_that_is_not_there_is_refused },
	{ "ranges_that_cannot_be_are_refused", ranges_that_cannot_be_are_refused },
	{ "gpu_memory_is_reached_and_given_back", gpu_memory_is_reached_and_given_back },
	{ "gpu_memory_that_cannot_be_pinned_is_refused", gpu_memory_that_cannot_be_pinned_is_refused },
};

TAP_MAIN(tests)
