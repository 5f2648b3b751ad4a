// SPDX-License-Identifier: MIT
/*
 * The kernel of net_litmus: the GPU's part of each shape of litmus.h, by the functions that the device headers are made of.
 * Messages are written and read by ordinary accesses, words that tell of them by relaxed ones, as in those headers.
 */
#include "doca_gpunetio_device.h"

#include "litmus.h"

#define SYS   DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS
#define GPU   DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU
#define ALONE DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE

typedef const struct bl_litmus_run run_t;

/* Under a seeded order others may run before an ordinary access. */
static __device__ inline void step()
{
#ifndef __CUDACC__
	bl_thread_step();
#endif
}

static __device__ inline void dawdle(uint64_t turns)
{
	uint32_t word = 0;

	for (uint64_t i = 0; i < turns; i++)
		asm volatile("" : "+r"(word));
}

/* Between two accesses in the wrong order: long enough to be found, and others get the CPU. */
static __device__ inline void gape()
{
#ifdef __CUDACC__
	/* turns of nothing may become nothing: as many nanoseconds */
	uint64_t end = bl_op_timer() + BL_LITMUS_GAPE;

	while (bl_op_timer() < end)
		;
#else
	dawdle(BL_LITMUS_GAPE);
#endif
	bl_op_pause();
}

/* Whether to look once more; threads of a CPU give it away now and then. */
static __device__ inline bool again(uint32_t &looks)
{
	if (looks % 64 == 0)
		bl_op_pause();
	return looks-- != 0;
}

static __device__ inline uint64_t *word_of(uint64_t base, uint64_t nr)
{
	return (uint64_t *)(uintptr_t)(base + bl_litmus_off(nr));
}

/* Until a word is at least this: 0, or enum bl_litmus_ended. */
static __device__ inline uint32_t await(run_t &run, const uint64_t *word, uint64_t at_least)
{
	uint64_t deadline = 0;

	for (uint32_t turn = 1; bl_op_load<SYS>(word) < at_least; turn++) {
		bl_op_pause();
		if (turn % BL_LITMUS_LOOK)
			continue;
		if (bl_op_load<SYS>((const uint64_t *)(uintptr_t)run.stop))
			return BL_LITMUS_STOPPED;
		if (!deadline)
			deadline = bl_op_timer() + run.limit_ns;
		else if (bl_op_timer() >= deadline)
			return BL_LITMUS_TIMEOUT;
	}
	return 0;
}

/* All actors are at the start of this run. No fence: it would be one of the shape's. */
static __device__ inline uint32_t meet(run_t &run, uint32_t self, uint64_t nr)
{
	uint32_t end = 0;

	bl_op_store<SYS>((uint64_t *)(uintptr_t)(run.meet + self * BL_LITMUS_CELL_SIZE), nr);
	for (uint32_t actor = 0; actor < BL_LITMUS_NR_ACTORS && !end; actor++) {
		if (actor != self && run.actors >> actor & 1)
			end = await(run, (const uint64_t *)(uintptr_t)(run.meet + actor * BL_LITMUS_CELL_SIZE), nr);
	}
	return end;
}

/* The four fences of the shapes; nothing where they are left out. */
static __device__ inline void release(run_t &run)
{
	if (run.how != BL_LITMUS_FENCED)
		return;
	if (run.gpu_scope)
		bl_op_fence_release<GPU>();
	else
		bl_op_fence_release<SYS>();
}

static __device__ inline void acquire(run_t &run)
{
	if (run.how != BL_LITMUS_FENCED)
		return;
	if (run.gpu_scope)
		bl_op_fence_acquire<GPU>();
	else
		bl_op_fence_acquire<SYS>();
}

static __device__ inline void full(run_t &run)
{
	if (run.how != BL_LITMUS_FENCED)
		return;
	if (run.gpu_scope)
		bl_op_fence_full<GPU>();
	else
		bl_op_fence_full<SYS>();
}

static __device__ inline void store_message(run_t &run, uint64_t nr)
{
	const uint64_t words[2] = {nr, nr};

	bl_op_store_seg(word_of(run.x, nr), words);
}

static __device__ inline uint32_t load_message(run_t &run, uint64_t nr)
{
	step();
	return bl_litmus_seen(bl_op_word(word_of(run.x, nr)), nr, 64);
}

/* One look at a word, or looks until it is new. */
static __device__ inline uint32_t look(run_t &run, uint64_t *word, uint64_t nr, uint64_t random)
{
	uint32_t seen = BL_LITMUS_OLD;

	for (uint32_t looks = bl_litmus_looks(random); seen == BL_LITMUS_OLD && again(looks);)
		seen = bl_litmus_seen(run.gpu_scope ? bl_op_load<GPU>(word) : bl_op_load<SYS>(word), nr, 64);
	return seen;
}

/* The message, and the word that tells of it. */
static __device__ inline void tell(run_t &run, uint64_t nr, uint64_t *word)
{
	if (run.how == BL_LITMUS_SWAPPED) {
		bl_op_store<SYS>(word, nr);
		gape();
		store_message(run, nr);
		return;
	}
	store_message(run, nr);
	/* the message before the word */
	release(run);
	bl_op_store<SYS>(word, nr);
}

/* Of a message that another thread of the GPU wrote, which told this one. */
static __device__ inline uint32_t pass_on(run_t &run, uint64_t nr)
{
	uint32_t end = await(run, word_of(run.z, nr), nr);

	if (end)
		return end;
	if (run.how == BL_LITMUS_FENCED) {
		/* the word before what it covers; and all of that before the next word, at the scope of its reader */
		bl_op_fence_acquire<GPU>();
		bl_op_fence_release<SYS>();
	}
	bl_op_store<SYS>(word_of(run.y, nr), nr);
	return 0;
}

/* What the NIC stored: a word, then the message that it tells of. */
static __device__ inline uint8_t hear(run_t &run, uint64_t nr, uint64_t random)
{
	const uint32_t *word = (const uint32_t *)(const void *)word_of(run.y, nr);
	uint32_t told = BL_LITMUS_OLD;

	for (uint32_t looks = bl_litmus_looks(random); told == BL_LITMUS_OLD && again(looks);) {
		/* the word before the message */
		uint32_t value = run.how == BL_LITMUS_FENCED ? bl_op_load_cqe_end(word) : bl_op_load<SYS>(word);

		told = bl_litmus_seen(value, nr, 32);
	}
	return bl_litmus_bits(0, told) | bl_litmus_bits(1, load_message(run, nr));
}

/* The same by another thread of the GPU. */
static __device__ inline uint8_t hear_gpu(run_t &run, uint64_t nr, uint64_t random)
{
	uint32_t told = look(run, word_of(run.y, nr), nr, random);

	/* the word before the message */
	acquire(run);
	return bl_litmus_bits(0, told) | bl_litmus_bits(1, load_message(run, nr));
}

/* A completion that is there, without asking for any order. */
static __device__ inline int peek(struct doca_gpu_dev_verbs_cq *cq, uint64_t index)
{
	const uint8_t *cqe = cq->cqe_daddr + (index & cq->cqe_mask) * DOCA_GPUNETIO_IB_MLX5_CQE_SIZE;
	uint32_t word = bl_op_load<SYS>((const uint32_t *)(const void *)(cqe + 60));

	return word >> 28 == DOCA_GPUNETIO_IB_MLX5_CQE_INVALID || (word >> 24 & 1) != ((index & cq->cqe_num) != 0) ? EBUSY : 0;
}

static __device__ inline uint32_t complete(run_t &run, uint64_t nr, uint64_t random, uint8_t *bits)
{
	struct doca_gpu_dev_verbs_cq *cq = &run.qp->cq_sq;
	uint32_t looks = bl_litmus_looks(random), message, bytes;
	int ret = EBUSY;

	while (ret == EBUSY && again(looks))
		ret = run.how == BL_LITMUS_FENCED ? doca_gpu_dev_verbs_poll_one_cq_at<ALONE>(cq, nr - 1) : peek(cq, nr - 1);
	message = load_message(run, nr);
	bytes = doca_gpu_dev_verbs_cqe_get_bytes(doca_gpu_dev_verbs_cq_get_cqe_ptr(cq, nr - 1));
	*bits = bl_litmus_bits(0, ret ? BL_LITMUS_OLD : BL_LITMUS_NEW) | bl_litmus_bits(1, message) |
		bl_litmus_bits(2, bl_litmus_seen(bytes, nr, 32));
	/* the queue goes on with completions that were seen */
	ret = doca_gpu_dev_verbs_poll_cq_at_until<ALONE>(cq, nr - 1, bl_op_timer() + run.limit_ns);
	return ret == DOCA_GPUNETIO_VERBS_WAIT_TIMEOUT ? BL_LITMUS_TIMEOUT : ret ? BL_LITMUS_FAILED : 0;
}

/* A word of one's own, then a look at the other's. */
static __device__ inline uint32_t store_and_look(run_t &run, uint64_t *mine, const uint64_t *other, uint64_t nr)
{
	uint64_t seen;

	if (run.how == BL_LITMUS_SWAPPED) {
		seen = bl_op_load<SYS>(other);
		gape();
		bl_op_store<SYS>(mine, nr);
	} else {
		bl_op_store<SYS>(mine, nr);
		/* this thread's word before its look at the other's */
		full(run);
		seen = bl_op_load<SYS>(other);
	}
	return bl_litmus_seen(seen, nr, 64);
}

static __device__ inline void write_request(run_t &run, uint64_t nr)
{
	const uint64_t words[2] = {nr, nr};

	for (int seg = 0; seg < 4; seg++)
		bl_op_store_seg(word_of(run.x, nr) + seg * 2, words);
}

static __device__ inline void post(run_t &run, uint64_t nr)
{
	if (run.how == BL_LITMUS_SWAPPED) {
		bl_op_store_mmio(word_of(run.y, nr), nr);
		gape();
		bl_op_store<SYS>(word_of(run.z, nr), nr);
		write_request(run, nr);
		return;
	}
	write_request(run, nr);
	/* the request before the record */
	release(run);
	bl_op_store<SYS>(word_of(run.z, nr), nr);
	/* the record before the doorbell */
	release(run);
	bl_op_store_mmio(word_of(run.y, nr), nr);
}

static __device__ inline void fill_whole(struct doca_gpu_dev_verbs_wqe *wqe, uint64_t nr)
{
	for (uint32_t i = 0; i < 8; i++)
		*(uint64_t *)(void *)(wqe->inl_data + i * 8) = (uint64_t)((uint32_t)nr + 2 * i + 1) << 32 | (uint32_t)(nr + 2 * i);
}

/* The message, and a request in words that say themselves which one they are of. */
static __device__ inline void give(run_t &run, uint64_t nr)
{
	struct doca_gpu_dev_verbs_wqe wqe;

	fill_whole(&wqe, nr);
	if (run.how == BL_LITMUS_SWAPPED) {
		bl_dev_give_whole(word_of(run.y, nr), &wqe, nr);
		gape();
		store_message(run, nr);
		return;
	}
	store_message(run, nr);
	/* the message before the words */
	release(run);
	bl_dev_give_whole(word_of(run.y, nr), &wqe, nr);
}

/* A message that another thread wrote, which told this one, in such a request: no release stands between the two. */
static __device__ inline uint32_t bring(run_t &run, uint64_t nr)
{
	uint32_t end = await(run, word_of(run.z, nr), nr);
	struct doca_gpu_dev_verbs_wqe wqe;
	uint64_t message[1];

	if (end)
		return end;
	/* the word before the message */
	acquire(run);
	bl_dev_load_brought(message, (uint64_t)(uintptr_t)word_of(run.x, nr), sizeof(message));
	fill_whole(&wqe, nr);
	*(uint64_t *)(void *)(wqe.inl_data + BL_LITMUS_BROUGHT_AT * 4) = message[0];
	bl_dev_give_whole(word_of(run.y, nr), &wqe, nr);
	return 0;
}

static __device__ inline uint32_t submit(run_t &run, uint64_t nr)
{
	uint64_t index = nr - 1;
	int ret;

	doca_gpu_dev_verbs_wqe_prepare_write(run.qp, doca_gpu_dev_verbs_get_wqe_ptr(run.qp, (uint16_t)index), (uint16_t)index,
					     DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0,
					     nr, 0, nr, 0, 8);
	ret = doca_gpu_dev_verbs_mark_wqes_ready<ALONE>(run.qp, index, index);
	if (!ret)
		ret = doca_gpu_dev_verbs_submit<ALONE, SYS>(run.qp, nr);
	return ret ? BL_LITMUS_FAILED : 0;
}

static __device__ inline uint32_t play(run_t &run, uint64_t nr, uint64_t random, uint8_t *bits)
{
	switch (run.shape) {
	case BL_LITMUS_OUT:
		tell(run, nr, word_of(run.y, nr));
		return 0;
	case BL_LITMUS_HANDED:
		return pass_on(run, nr);
	case BL_LITMUS_IN:
		*bits = hear(run, nr, random);
		return 0;
	case BL_LITMUS_CQE:
		return complete(run, nr, random, bits);
	case BL_LITMUS_SB:
	case BL_LITMUS_SB_GPUS:
		*bits = bl_litmus_bits(0, store_and_look(run, word_of(run.x, nr), word_of(run.y, nr), nr));
		return 0;
	case BL_LITMUS_GPUS:
		*bits = hear_gpu(run, nr, random);
		return 0;
	case BL_LITMUS_WQE:
		post(run, nr);
		return 0;
	case BL_LITMUS_SUBMIT:
		return submit(run, nr);
	case BL_LITMUS_WHOLE:
		give(run, nr);
		return 0;
	case BL_LITMUS_BROUGHT:
		return bring(run, nr);
	default:
		return BL_LITMUS_FAILED;
	}
}

static __device__ inline void play_other(run_t &run, uint64_t nr, uint8_t *bits)
{
	if (run.shape == BL_LITMUS_SB_GPUS)
		*bits = bl_litmus_bits(1, store_and_look(run, word_of(run.y, nr), word_of(run.x, nr), nr));
	else
		tell(run, nr, word_of(run.shape == BL_LITMUS_HANDED || run.shape == BL_LITMUS_BROUGHT ? run.z : run.y, nr));
}

extern "C" __global__ void bl_litmus(struct bl_litmus_run run)
{
	uint32_t self = blockIdx.x, end = 0;
	uint64_t nr = 0;

	if (!(run.actors >> self & 1))
		return;
	while (nr < run.runs && !end) {
		uint64_t random = bl_litmus_random(run.seed, ++nr, self);
		uint8_t bits = 0;

		end = meet(run, self, nr);
		if (end)
			break;
		dawdle(bl_litmus_turns(random, run.spread));
		if (self == BL_LITMUS_GPU)
			end = play(run, nr, random, &bits);
		else
			play_other(run, nr, &bits);
		run.log[self * run.runs + nr - 1] = bits;
	}
	run.ends[self].run = nr;
	run.ends[self].end = end ? end : (uint32_t)BL_LITMUS_DONE;
}

#undef SYS
#undef GPU
#undef ALONE

BL_CUDA_KERNEL(bl_litmus);
