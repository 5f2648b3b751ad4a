// SPDX-License-Identifier: MIT
/* Long messages within one software NIC, moved by the copy engines of GPUs. */
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/cuda.h"
#include "net/context.h"
#include "net/place_lane.h"
#include "net/soft.h"
#include "other.h"

static uint64_t counter(const struct side *side, enum bl_snic_counter counter)
{
	uint64_t values[BL_SNIC_NR_COUNTERS];
	struct bl_context *context;

	check_eq(bl_context_get(side->context, &context), 0);
	bl_snic_counters(context->nic->snic, values);
	bl_context_put(context);
	return values[counter];
}

static void write_some(struct side sides[2], unsigned int nr, uint32_t len)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct side *from = &sides[i & 1], *to = &sides[!(i & 1)];
		unsigned char seed = (unsigned char)(i * 5);

		side_fill(from, 1 + i, len, seed);
		side_fill(to, 30001, len, (unsigned char)(seed + 1));
		side_post(from, WRITE, 1 + i, len, side_addr(to, 30001), to->mr->rkey);
		check_eq(side_wait(from, NULL), REQ);
		check(side_is_filled(to, 30001, len, seed));
	}
}

static void every_kind_of_memory_takes_part_but_two_hosts(void)
{
	for (unsigned int kinds = 0; kinds < 4; kinds++) {
		struct pair_options options = place_options(kinds & 1, kinds & 2, DOCA_VERBS_QP_TYPE_RC);
		struct side sides[2];

		pair_make(sides, &options);
		write_some(sides, 8, LONG);
		write_some(sides, 4, 8191);
		check_eq(counter(sides, BL_SNIC_PLACED), kinds ? 8 : 0);
		check_eq(counter(sides, BL_SNIC_PLACED_BYTES), kinds ? 8 * LONG : 0);
		check_eq(counter(sides, BL_SNIC_PLACE_REFUSED), 0);
		pair_drop(sides);
	}
}

static void sends_and_unreliable_writes_are_placed_too(void)
{
	struct pair_options options = place_options(true, false, DOCA_VERBS_QP_TYPE_UC);
	struct side sides[2];

	pair_make(sides, &options);
	write_some(sides, 6, LONG);
	side_fill(&sides[0], 0, LONG, 9);
	side_post_recv(&sides[1], 100, LONG);
	side_post(&sides[0], SEND, 0, LONG, 0, 0);
	check_eq(side_wait(&sides[0], NULL), REQ);
	check_eq(side_wait(&sides[1], NULL), RESP);
	check(side_is_filled(&sides[1], 100, LONG, 9));
	check_eq(counter(sides, BL_SNIC_PLACED), 7);
	pair_drop(sides);
}

static void reads_are_placed_too(void)
{
	for (unsigned int kinds = 0; kinds < 4; kinds++) {
		struct pair_options options = place_options(kinds & 1, kinds & 2, DOCA_VERBS_QP_TYPE_RC);
		struct side sides[2];

		pair_make(sides, &options);
		side_fill(&sides[1], 11, LONG, (unsigned char)(kinds + 90));
		for (unsigned int i = 0; i < 3; i++) {
			side_fill(&sides[0], 30000, LONG, 1);
			side_post(&sides[0], READ, 30000, LONG, side_addr(&sides[1], 11), sides[1].mr->rkey);
			check_eq(side_wait(&sides[0], NULL), REQ);
			check(side_is_filled(&sides[0], 30000, LONG, (unsigned char)(kinds + 90)));
		}
		check_eq(counter(sides, BL_SNIC_PLACED), kinds ? 3 : 0);
		pair_drop(sides);
	}
}

/* As side_fill() has filled it. */
static void wait_for_word(const uint32_t *word, unsigned char seed)
{
	unsigned char bytes[4] = { seed, (unsigned char)(seed + 7), (unsigned char)(seed + 14), (unsigned char)(seed + 21) };
	uint32_t want;

	memcpy(&want, bytes, sizeof(want));
	for (int i = 0; i < 200000; i++) {
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == want)
			return;
		usleep(50);
	}
	tap_end(TAP_FAILED, "the word did not come within ten seconds");
}

/* The word that tells of the bytes is posted behind them, and is never seen before. */
static void a_word_behind_a_long_message_is_seen_behind_it(void)
{
	struct pair_options options = place_options(true, false, DOCA_VERBS_QP_TYPE_RC);
	struct side sides[2];
	unsigned char seed = 40;

	pair_make(sides, &options);
	for (unsigned int i = 0; i < 6; i++, seed++) {
		side_fill(&sides[0], 0, LONG, seed);
		side_fill(&sides[0], 50000, 4, seed);
		side_fill(&sides[1], 0, LONG, (unsigned char)(seed + 100));
		side_fill(&sides[1], 50000, 4, (unsigned char)(seed + 100));
		side_post(&sides[0], WRITE, 0, LONG, side_addr(&sides[1], 0), sides[1].mr->rkey);
		side_post(&sides[0], WRITE, 50000, 4, side_addr(&sides[1], 50000), sides[1].mr->rkey);
		wait_for_word((const uint32_t *)(const void *)((char *)sides[1].data + 50000), seed);
		check(side_is_filled(&sides[1], 0, LONG, seed));
		check_eq(side_wait(&sides[0], NULL), REQ);
		check_eq(side_wait(&sides[0], NULL), REQ);
	}
	check_eq(counter(sides, BL_SNIC_PLACED), 6);
	pair_drop(sides);
}

static void many_at_a_time_and_over_each_other(void)
{
	struct pair_options options = place_options(true, true, DOCA_VERBS_QP_TYPE_RC);
	struct side sides[2];

	pair_make(sides, &options);
	for (unsigned int i = 0; i < 8; i++)
		side_fill(&sides[0], i * 8192UL, 8192, (unsigned char)(60 + i));
	/* all to the same place: the last one stays */
	for (unsigned int round = 0; round < 4; round++) {
		for (unsigned int i = 0; i < 8; i++)
			side_post(&sides[0], WRITE, i * 8192UL, 8192, side_addr(&sides[1], 77), sides[1].mr->rkey);
		for (unsigned int i = 0; i < 8; i++)
			check_eq(side_wait(&sides[0], NULL), REQ);
		check(side_is_filled(&sides[1], 77, 8192, 67));
	}
	pair_drop(sides);
}

static void between_two_gpus(void)
{
	struct bl_emu_counts before, after;
	unsigned char bytes[LONG];
	struct other other;
	struct side sides[2];

	pair_make_with_other(sides, &other);
	side_fill(&sides[0], 0, LONG, 3);
	check_eq(world.cuda->cuMemcpyDtoH(bytes, side_addr(&sides[0], 0), LONG), CUDA_SUCCESS);
	world.counts(&before);
	for (unsigned int i = 0; i < 4; i++)
		side_post(&sides[0], WRITE, 0, LONG, other.va + 12345 + i * LONG, other.mr->rkey);
	for (unsigned int i = 0; i < 4; i++)
		check_eq(side_wait(&sides[0], NULL), REQ);
	world.counts(&after);
	check_eq(counter(sides, BL_SNIC_PLACED), 4);
	check_eq(after.peer_direct - before.peer_direct, goes_directly() ? 4 : 0);
	check_eq(after.peer_staged - before.peer_staged, goes_directly() ? 0 : 4);
	for (unsigned int i = 0; i < 4; i++)
		check(other_has(&other, 12345 + (size_t)i * LONG, bytes));
	other_drop(&other);
	pair_drop(sides);
}

/* Numbers of copies in all contexts of a GPU. */
static uint64_t copies_in(CUdevice device, enum bl_lane_kind first, int nr)
{
	uint64_t copies = 0;

	for (const struct bl_place_gpu *gpu = bl_place_gpu_first(); gpu; gpu = gpu->next) {
		for (int kind = first; gpu->device == device && kind < (int)first + nr; kind++)
			copies += gpu->lanes[kind].seq;
	}
	return copies;
}

/* Where there is one GPU, there are no streams for copies between two. */
static void between_two_contexts_of_a_gpu(void)
{
	struct pair_options options = place_options(true, false, DOCA_VERBS_QP_TYPE_RC);
	uint64_t within, between;
	unsigned char bytes[LONG];
	struct other other;
	struct side sides[2];

	pair_make(sides, &options);
	other_make(&other, &sides[1], 0);
	side_fill(&sides[0], 0, LONG, 3);
	check_eq(world.cuda->cuMemcpyDtoH(bytes, side_addr(&sides[0], 0), LONG), CUDA_SUCCESS);
	within = copies_in(0, BL_LANE_IN_GPUS, BL_LANES_WITHIN);
	between = copies_in(0, BL_LANE_BETWEEN, BL_LANES_BETWEEN);
	side_post(&sides[0], WRITE, 0, LONG, other.va, other.mr->rkey);
	check_eq(side_wait(&sides[0], NULL), REQ);
	check_eq(counter(sides, BL_SNIC_PLACED), 1);
	check(other_has(&other, 0, bytes));
	check_eq(copies_in(0, BL_LANE_IN_GPUS, BL_LANES_WITHIN) - within, 1);
	check_eq(copies_in(0, BL_LANE_BETWEEN, BL_LANES_BETWEEN) - between, 0);
	other_drop(&other);
	pair_drop(sides);
}

/* And back: that memory as the source. */
static void from_the_second_gpu(void)
{
	struct bl_emu_counts before, after;
	unsigned char bytes[LONG];
	struct other other;
	struct side sides[2];

	pair_make_with_other(sides, &other);
	side_fill(&sides[0], 0, LONG, 5);
	check_eq(world.cuda->cuMemcpyDtoH(bytes, side_addr(&sides[0], 0), LONG), CUDA_SUCCESS);
	side_post(&sides[0], WRITE, 0, LONG, other.va, other.mr->rkey);
	check_eq(side_wait(&sides[0], NULL), REQ);
	side_fill(&sides[0], 0, LONG, 6);
	world.counts(&before);
	side_post(&sides[0], READ, 0, LONG, other.va, other.mr->rkey);
	check_eq(side_wait(&sides[0], NULL), REQ);
	world.counts(&after);
	check(side_is_filled(&sides[0], 0, LONG, 5));
	check_eq(counter(sides, BL_SNIC_PLACED), 2);
	check_eq(after.peer_direct - before.peer_direct, goes_directly());
	check_eq(after.peer_staged - before.peer_staged, !goes_directly());
	other_drop(&other);
	pair_drop(sides);
}

/* Whoever enables it first, the other is told so and goes on. */
static void access_that_the_program_has_enabled_itself_is_used(void)
{
	struct bl_emu_counts before, after;
	CUcontext mine, popped;
	struct other other;
	struct side sides[2];

	pair_make_with_other(sides, &other);
	check_eq(world.cuda->cuCtxGetCurrent(&mine), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxEnablePeerAccess(other.context, 0),
		 goes_directly() ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
		 : has_peers()	 ? CUDA_SUCCESS
				 : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	check_eq(world.cuda->cuCtxPushCurrent(other.context), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxEnablePeerAccess(mine, 0), goes_directly() ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
							     : has_peers()   ? CUDA_SUCCESS
									     : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	check_eq(world.cuda->cuCtxPopCurrent(&popped), CUDA_SUCCESS);
	world.counts(&before);
	side_post(&sides[0], WRITE, 0, LONG, other.va, other.mr->rkey);
	check_eq(side_wait(&sides[0], NULL), REQ);
	world.counts(&after);
	check_eq(after.peer_direct - before.peer_direct, has_peers());
	check_eq(after.peer_staged - before.peer_staged, !has_peers());
	other_drop(&other);
	pair_drop(sides);
}

static void access_that_the_driver_refuses_leaves_the_way_by_the_host(void)
{
	struct bl_emu_counts before, after;
	unsigned char bytes[LONG];
	struct other other;
	struct side sides[2];

	check_eq(world.fault("cuda.peer:*"), 0);
	pair_make_with_other(sides, &other);
	check_eq(world.fault(""), 0);
	side_fill(&sides[0], 0, LONG, 7);
	check_eq(world.cuda->cuMemcpyDtoH(bytes, side_addr(&sides[0], 0), LONG), CUDA_SUCCESS);
	world.counts(&before);
	side_post(&sides[0], WRITE, 0, LONG, other.va, other.mr->rkey);
	check_eq(side_wait(&sides[0], NULL), REQ);
	world.counts(&after);
	check(other_has(&other, 0, bytes));
	check_eq(counter(sides, BL_SNIC_PLACED), 1);
	check_eq(after.peer_staged - before.peer_staged, 1);
	other_drop(&other);
	pair_drop(sides);
}

/* Each message is there, or has failed, and those of the context that is left go on. */
static void the_second_gpus_context_is_destroyed_while_copies_are_made(void)
{
	for (unsigned int i = 0; i < 4; i++) {
		unsigned int syndrome, failed = 0;
		struct other other;
		struct side sides[2];

		pair_make_with_other(sides, &other);
		for (unsigned int n = 0; n < 8; n++)
			side_post(&sides[0], WRITE, 0, LONG, other.va + n * LONG, other.mr->rkey);
		usleep(i * 300);
		check_eq(world.cuda->cuCtxDestroy(other.context), CUDA_SUCCESS);
		for (unsigned int n = 0; n < 8; n++) {
			if (side_wait(&sides[0], &syndrome) == REQ)
				continue;
			check(syndrome == (failed ? 0x05 : 0x13) || syndrome == 0x14);
			failed++;
		}
		check_eq(bl_net_dereg_mr(other.mr), 0);
		pair_drop(sides);
	}
	between_two_gpus();
}

static void memory_is_given_back_while_copies_are_made(void)
{
	struct pair_options options = place_options(true, false, DOCA_VERBS_QP_TYPE_RC);
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	unsigned int syndrome;

	for (unsigned int i = 0; i < 6; i++) {
		struct side sides[2];
		char *host = aligned_alloc(4096, 65536);
		struct ibv_mr *mr;

		pair_make(sides, &options);
		mr = bl_net_reg_mr(sides[1].pd, host, 65536, access);
		check(mr);
		for (unsigned int n = 0; n < 8; n++)
			side_post(&sides[0], WRITE, 0, 60000, (uintptr_t)host, mr->rkey);
		usleep(i * 200);
		check_eq(bl_net_dereg_mr(mr), 0);
		/* nobody writes there any more */
		memset(host, 0x5a, 65536);
		for (unsigned int n = 0; n < 8; n++) {
			unsigned int opcode = side_wait(&sides[0], &syndrome);

			check(opcode == REQ || syndrome == 0x13 || syndrome == 0x05);
		}
		usleep(2000);
		for (unsigned int n = 0; n < 65536; n++)
			check_eq(host[n], 0x5a);
		pair_drop(sides);
		free(host);
	}
}

static void gpu_memory_that_was_freed_is_an_error(void)
{
	struct pair_options options = place_options(true, false, DOCA_VERBS_QP_TYPE_RC);
	struct side sides[2];
	unsigned int syndrome;
	struct ibv_mr *mr;
	CUdeviceptr va;

	pair_make(sides, &options);
	va = world_alloc(2 * MIB);
	mr = bl_net_reg_mr(sides[1].pd, (void *)(uintptr_t)va, 2 * MIB, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	check(mr);
	world_free(va);
	side_post(&sides[0], WRITE, 0, LONG, va, mr->rkey);
	/* first it cannot be placed, then the bytes cannot be written, or land in memory that a pin has kept */
	if (side_wait(&sides[0], &syndrome) != REQ)
		check_eq(syndrome, 0x13);
	check_eq(counter(sides, BL_SNIC_PLACED), 0);
	check_eq(bl_net_dereg_mr(mr), 0);
	pair_drop(sides);
}

static void a_context_that_was_destroyed_is_an_error(void)
{
	struct pair_options options = place_options(false, false, DOCA_VERBS_QP_TYPE_RC);
	CUcontext context, popped;
	struct side sides[2];
	unsigned int syndrome;
	struct ibv_mr *mr;
	CUdeviceptr va;
	CUdevice device;

	pair_make(sides, &options);
	check_eq(world.cuda->cuDeviceGet(&device, 0), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxCreate(&context, 0, device), CUDA_SUCCESS);
	va = world_alloc(2 * MIB);
	mr = bl_net_reg_mr(sides[1].pd, (void *)(uintptr_t)va, 2 * MIB, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	check(mr);
	side_fill(&sides[0], 0, LONG, 3);
	check_eq(world.cuda->cuCtxPopCurrent(&popped), CUDA_SUCCESS);
	side_post(&sides[0], WRITE, 0, LONG, va, mr->rkey);
	check_eq(side_wait(&sides[0], NULL), REQ);
	check_eq(counter(sides, BL_SNIC_PLACED), 1);
	check_eq(world.cuda->cuCtxDestroy(context), CUDA_SUCCESS);
	side_post(&sides[0], WRITE, 0, LONG, va, mr->rkey);
	if (side_wait(&sides[0], &syndrome) != REQ)
		check_eq(syndrome, 0x13);
	check_eq(counter(sides, BL_SNIC_PLACED), 1);
	check_eq(bl_net_dereg_mr(mr), 0);
	pair_drop(sides);
}

static void host_memory_that_cannot_be_pinned_goes_in_packets(void)
{
	struct pair_options options = place_options(true, false, DOCA_VERBS_QP_TYPE_RC);
	struct side sides[2];

	world_enter();
	check_eq(world.fault("cuda.register:*"), 0);
	pair_make(sides, &options);
	check_eq(world.fault(""), 0);
	write_some(sides, 4, LONG);
	check_eq(counter(sides, BL_SNIC_PLACED), 0);
	pair_drop(sides);
}

static void a_copy_that_cannot_be_begun_goes_in_packets(void)
{
	struct pair_options options = place_options(true, false, DOCA_VERBS_QP_TYPE_RC);
	struct side sides[2];

	pair_make(sides, &options);
	side_fill(&sides[0], 0, LONG, 21);
	check_eq(world.fault("cuda.memcpy:1"), 0);
	side_post(&sides[0], WRITE, 0, LONG, side_addr(&sides[1], 0), sides[1].mr->rkey);
	check_eq(side_wait(&sides[0], NULL), REQ);
	check_eq(world.fault(""), 0);
	check(side_is_filled(&sides[1], 0, LONG, 21));
	check_eq(counter(sides, BL_SNIC_PLACED), 0);
	check_eq(counter(sides, BL_SNIC_PLACE_REFUSED), 1);
	pair_drop(sides);
}

static void regions_of_one_page_share_its_pin(void)
{
	struct pair_options options = place_options(true, false, DOCA_VERBS_QP_TYPE_RC);
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	unsigned char *host = aligned_alloc(4096, 65536);
	struct ibv_mr *whole, *part;
	struct side sides[2];
	unsigned int type = 0;

	pair_make(sides, &options);
	whole = bl_net_reg_mr(sides[1].pd, host, 65536, access);
	part = bl_net_reg_mr(sides[1].pd, host + 100, 30000, access);
	check(whole && part);
	check_eq(bl_net_dereg_mr(whole), 0);
	side_fill(&sides[0], 0, LONG, 8);
	side_post(&sides[0], WRITE, 0, LONG, (uintptr_t)host + 100, part->rkey);
	check_eq(side_wait(&sides[0], NULL), REQ);
	check_eq(counter(sides, BL_SNIC_PLACED), 1);
	check_eq(world.cuda->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)host), CUDA_SUCCESS);
	check_eq(type, CU_MEMORYTYPE_HOST);
	check_eq(bl_net_dereg_mr(part), 0);
	/* and nothing is left of it */
	check(world.cuda->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)host));
	pair_drop(sides);
	free(host);
}

static int in_child(void)
{
	struct ibv_context *context = bl_net_open_device("soft0");
	struct ibv_pd *pd = context ? bl_net_alloc_pd(context) : NULL;
	char *host = aligned_alloc(4096, 65536);
	struct ibv_mr *mr = pd ? bl_net_reg_mr(pd, host, 65536, IBV_ACCESS_LOCAL_WRITE) : NULL;

	return !mr || bl_net_dereg_mr(mr) || bl_net_dealloc_pd(pd) || bl_net_close_device(context);
}

static void a_child_has_nothing_of_it(void)
{
	struct pair_options options = place_options(true, false, DOCA_VERBS_QP_TYPE_RC);
	struct side sides[2];
	int status = 0;
	pid_t pid;

	if (TAP_TSAN)
		tap_end(TAP_SKIPPED, "ThreadSanitizer starts no threads after a fork");
	pair_make(sides, &options);
	for (unsigned int n = 0; n < 8; n++)
		side_post(&sides[0], WRITE, 0, 60000, side_addr(&sides[1], 0), sides[1].mr->rkey);
	pid = fork();
	if (!pid)
		_exit(in_child());
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	for (unsigned int n = 0; n < 8; n++)
		check_eq(side_wait(&sides[0], NULL), REQ);
	pair_drop(sides);
}

/* By kernels of the driver in several streams, of which each has its trial and more; else in one, by way of host memory. */
static void copies_within_a_gpu_have_as_many_streams_as_they_can_use(void)
{
	struct pair_options options = place_options(true, true, DOCA_VERBS_QP_TYPE_RC);
	const struct bl_place_gpu *gpu;
	struct side sides[2];
	CUdevice device;
	CUuuid uuid;

	pair_make(sides, &options);
	check_eq(world.cuda->cuDeviceGet(&device, 0), CUDA_SUCCESS);
	check_eq(world.cuda->cuDeviceGetUuid(&uuid, device), CUDA_SUCCESS);
	gpu = bl_place_gpu_of(bl_cuda(), &uuid);
	check(gpu);
	for (int kind = BL_LANE_IN_GPUS + 1; kind < BL_LANE_BETWEEN; kind++)
		check_eq(gpu->lanes[kind].usable, bl_place_by_kernels());
	side_fill(&sides[0], 0, 60000, 3);
	for (unsigned int n = 0; n < 6; n++)
		side_post(&sides[0], WRITE, n * 10000, 10000, side_addr(&sides[1], n * 10000), sides[1].mr->rkey);
	for (unsigned int n = 0; n < 6; n++)
		check_eq(side_wait(&sides[0], NULL), REQ);
	check(side_is_filled(&sides[1], 0, 60000, 3));
	check_eq(counter(sides, BL_SNIC_PLACED), 6);
	check(gpu->lanes[BL_LANE_IN_GPUS].seq > 1);
	check_eq(gpu->lanes[BL_LANE_IN_GPUS + 1].seq > 1, bl_place_by_kernels());
	pair_drop(sides);
}

/* The last one: from now on streams are asked. */
static void a_gpu_that_does_not_count_is_asked(void)
{
	struct pair_options options = place_options(true, false, DOCA_VERBS_QP_TYPE_RC);
	struct side sides[2];

	pair_make(sides, &options);
	check_eq(world.fault("cuda.memop:*"), 0);
	write_some(sides, 8, LONG);
	check_eq(counter(sides, BL_SNIC_PLACED), 8);
	check_eq(world.fault(""), 0);
	write_some(sides, 8, LONG);
	pair_drop(sides);
}

#define T(name) { "placed_" #name, name }

static const struct tap_test tests[] = {
	T(every_kind_of_memory_takes_part_but_two_hosts),
	T(sends_and_unreliable_writes_are_placed_too),
	T(reads_are_placed_too),
	T(a_word_behind_a_long_message_is_seen_behind_it),
	T(many_at_a_time_and_over_each_other),
	T(between_two_gpus),
	T(between_two_contexts_of_a_gpu),
	T(from_the_second_gpu),
	T(access_that_the_program_has_enabled_itself_is_used),
	T(access_that_the_driver_refuses_leaves_the_way_by_the_host),
	T(the_second_gpus_context_is_destroyed_while_copies_are_made),
	T(memory_is_given_back_while_copies_are_made),
	T(gpu_memory_that_was_freed_is_an_error),
	T(a_context_that_was_destroyed_is_an_error),
	T(host_memory_that_cannot_be_pinned_goes_in_packets),
	T(a_copy_that_cannot_be_begun_goes_in_packets),
	T(regions_of_one_page_share_its_pin),
	T(a_child_has_nothing_of_it),
	T(copies_within_a_gpu_have_as_many_streams_as_they_can_use),
	T(a_gpu_that_does_not_count_is_asked),
};

TAP_MAIN(tests)
