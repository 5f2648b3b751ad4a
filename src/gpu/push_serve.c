// SPDX-License-Identifier: MIT
/*
 * One read: see that the kernel is there, ring, wait for the answer of each block that has a part in it.
 *
 * The kernel may leave while the CPU rings. The next generation then serves the command, unless it does not begin: a
 * GPU can be full of kernels that wait for this very thread. So a command can be revoked. The CPU stores its number to
 * "revoked", fences, and loads what each block says; a block that begins stores "alive", fences, and loads "revoked".
 * One of the two sees the other: either the block will not serve the command, or the CPU knows that it runs and waits
 * for it.
 */
#define log_fmt(fmt) "gpu/push: " fmt
#include "push.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "copy/fence.h"
#include "util/clock.h"
#include "util/log.h"

#define QUERY_NS 100000ULL /* between looks for a device error */
#define POLLS	 256U	   /* between looks at anything but the answer */

#define EAGER_LOOKS 64U /* before the CPU pauses between polls */

/**
 * struct job - a read under way
 * @cuda:     driver library
 * @push:     channel
 * @copy:     what to copy
 * @idle_us:  for a launch
 * @nr:       blocks with a part in it
 * @revoked:  given up: 0, or the error that it gets once nobody serves it any more
 * @end:      when the answer must be there, ns
 * @query_at: when the stream is looked at next, ns
 */
struct job {
	const struct bl_cuda *cuda;
	struct bl_push *push;
	const struct bl_ce_copy *copy;
	unsigned int idle_us;
	unsigned int nr;
	int revoked;
	uint64_t end;
	uint64_t query_at;
};

/* Acquire: the bytes of a block are there when its number is, and what it said before is when it says that it left. */
static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static uint64_t gen_of(const struct bl_push *push)
{
	return atomic_load_explicit(&push->gen, memory_order_relaxed);
}

static bool all_alive(const struct bl_push *push)
{
	for (unsigned int i = 0; i < push->nr_blocks; i++) {
		if (load(&push->words->block[i].alive) != gen_of(push))
			return false;
	}
	return true;
}

static bool answered(const struct job *job)
{
	for (unsigned int i = job->nr; i-- > 0;) {
		if (load(&job->push->words->block[i].served) != job->push->seq)
			return false;
	}
	return true;
}

/* A block that is needed has left without an answer. What it said last came before that it left. */
static bool deserted(const struct job *job)
{
	for (unsigned int i = 0; i < job->nr; i++) {
		const struct bl_push_block *block = &job->push->words->block[i];

		if (load(&block->left) == gen_of(job->push) && load(&block->served) != job->push->seq)
			return true;
	}
	return false;
}

/* After the fence of revoke(): no block serves the command from here on. */
static bool nobody_serves(const struct job *job)
{
	for (unsigned int i = 0; i < job->nr; i++) {
		const struct bl_push_block *block = &job->push->words->block[i];

		if (load(&block->served) != job->push->seq && load(&block->skipped) != job->push->seq &&
		    load(&block->left) != load(&block->alive))
			return false;
	}
	return true;
}

static void revoke(struct job *job, int err)
{
	__atomic_store_n(&job->push->words->revoked, job->push->seq, __ATOMIC_SEQ_CST);
	/* "revoked" before the loads of "alive"; the kernel has a fence of its own between the two */
	bl_fence_full();
	job->revoked = err;
}

static int launch(struct job *job)
{
	struct bl_cuda_scope scope;
	int ret;

	ret = bl_ce_enter(job->cuda, job->copy->target, &scope);
	if (ret)
		return ret;
	ret = bl_push_launch(job->cuda, job->push, job->idle_us);
	bl_cuda_leave(job->cuda, &scope);
	job->push->start_by = bl_now_ns() + job->push->start_ns;
	return ret;
}

/* 0: the stream is idle, -EAGAIN: not yet, else an error. */
static int query(const struct job *job)
{
	struct bl_cuda_scope scope;
	CUresult err;
	int ret;

	ret = bl_ce_enter(job->cuda, job->copy->target, &scope);
	if (ret)
		return ret;
	err = job->cuda->cuStreamQuery(job->push->stream);
	bl_cuda_leave(job->cuda, &scope);
	if (err == CUDA_ERROR_NOT_READY)
		return -EAGAIN;
	return err ? fail(EIO, "the push kernel: %s", bl_cuda_strerror(err)) : 0;
}

static int not_begun(void)
{
	return fail(EBUSY, "the push kernel does not begin: the GPU is full of other kernels");
}

/*
 * For a kernel that was launched, by this read or an earlier one. One that does not begin in time is left to itself: it
 * finds nothing to do when it does.
 */
static int wait_for_start(const struct job *job)
{
	struct bl_push *push = job->push;
	uint64_t query_at = bl_now_ns() + QUERY_NS, now;
	int ret;

	while (!all_alive(push)) {
		now = bl_now_ns();
		if (now < query_at && now < push->start_by)
			continue;
		query_at = now + QUERY_NS;
		ret = query(job);
		if (!ret && !all_alive(push)) {
			atomic_store(&push->state, BL_PUSH_NONE);
			return fail(EIO, "the push kernel ended without having run");
		}
		if (ret && ret != -EAGAIN)
			return ret;
		if (ret && now > push->start_by)
			return not_begun();
	}
	atomic_store(&push->state, BL_PUSH_STARTED);
	return 0;
}

static bool is_there(const struct job *job)
{
	for (unsigned int i = 0; i < job->nr; i++) {
		if (load(&job->push->words->block[i].left) == gen_of(job->push))
			return false;
	}
	return true;
}

/* The kernel is there, and polls. */
static int get_ready(struct job *job)
{
	struct bl_push *push = job->push;
	int ret;

	if (atomic_load_explicit(&push->state, memory_order_relaxed) == BL_PUSH_PENDING) {
		ret = wait_for_start(job);
		if (ret)
			return ret;
	}
	if (atomic_load_explicit(&push->state, memory_order_relaxed) == BL_PUSH_STARTED && is_there(job))
		return 0;
	ret = launch(job);
	return ret ? ret : wait_for_start(job);
}

/*
 * All of one line of a write-combining mapping, so that it can leave as one write, and a fence that pushes it out. That
 * fence, and the order of posted writes, keep it behind what the CPU wrote to the GPU's memory before: the kernel sees
 * that when it sees the command, and nothing has to be read back.
 */
static void ring(struct bl_push *push, uint64_t src, uint64_t dst, size_t len)
{
	volatile struct bl_push_doorbell *doorbell = push->doorbell;
	uint64_t tag;

	/* copies of this thread that are in flight before the command */
	bl_fence_wc_store();
	push->seq = (push->seq + 1) & BL_PUSH_SEQ_MASK;
	tag = push->seq << BL_PUSH_TAG_SHIFT;
	doorbell->src = src | tag;
	doorbell->dst = dst | tag;
	doorbell->command = push->seq << BL_PUSH_LEN_SHIFT | len;
	doorbell->stop = push->stop;
	for (size_t i = 0; i < sizeof(doorbell->reserved) / sizeof(doorbell->reserved[0]); i++)
		doorbell->reserved[i] = 0;
	/* the command out of the write-combining buffer */
	bl_fence_wc_store();
}

static int give_up(struct job *job, int err)
{
	job->push->broken = err;
	/* no later generation serves it */
	revoke(job, err);
	return -err;
}

/* The stream tells of errors that the kernel cannot tell of, and of a context that was destroyed under it. */
static int look_at_stream(struct job *job)
{
	int ret = query(job);

	if (ret == -EAGAIN)
		return -EAGAIN;
	if (ret)
		return give_up(job, EIO);
	if (job->revoked)
		return -job->revoked;
	/* it ended: with an answer, or with a word that it left, which the next look finds */
	if (answered(job) || deserted(job))
		return -EAGAIN;
	fail(EIO, "the push kernel ended without a word");
	return give_up(job, EIO);
}

/* What else there is to see, now and then, while no answer comes. -EAGAIN: go on waiting. */
static int look_around(struct job *job)
{
	struct bl_push *push = job->push;
	uint64_t now = bl_now_ns();
	int ret;

	if (!job->revoked && deserted(job)) {
		/* the command stays in the doorbell for those who come */
		ret = launch(job);
		if (ret)
			revoke(job, -ret);
	}
	if (!job->revoked && atomic_load_explicit(&push->state, memory_order_relaxed) == BL_PUSH_PENDING) {
		if (all_alive(push))
			atomic_store(&push->state, BL_PUSH_STARTED);
		else if (now > push->start_by)
			revoke(job, -not_begun());
	}
	if (job->revoked && nobody_serves(job))
		return -job->revoked;
	if (now > job->end) {
		fail(ETIMEDOUT, "the push kernel did not answer within %" PRIu64 " ms",
		     bl_ce_timeout_ns() / 1000000);
		return give_up(job, ETIMEDOUT);
	}
	if (now < job->query_at)
		return -EAGAIN;
	job->query_at = now + QUERY_NS;
	return look_at_stream(job);
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* 0: the bytes are there. */
static int wait_for_answer(struct job *job)
{
	unsigned int looks = 0;
	uint64_t now = 0;
	int ret;

	for (;;) {
		for (unsigned int polls = 0; polls < POLLS; polls++) {
			/* the answer to a command that was revoked does not count: others may be copying */
			if (!job->revoked && answered(job))
				return 0;
			if (looks > EAGER_LOOKS)
				relax();
		}
		looks++;
		if (!now) {
			now = bl_now_ns();
			job->end = now + bl_ce_timeout_ns();
			job->query_at = now + QUERY_NS;
		}
		ret = look_around(job);
		if (ret != -EAGAIN)
			return ret;
	}
}

static int read_staged(struct job *job)
{
	const struct bl_ce_copy *copy = job->copy;
	/* aligned as the source is: the kernel moves 16 bytes at a time */
	uint64_t off = BL_PUSH_STAGING + (copy->va & 15);
	int ret;

	ring(job->push, copy->va, job->push->words_va + off, copy->len);
	ret = wait_for_answer(job);
	if (!ret)
		memcpy(copy->host, (const char *)job->push->words + off, copy->len);
	return ret;
}

static int read_direct(struct job *job, uint64_t va)
{
	ring(job->push, job->copy->va, va, job->copy->len);
	return wait_for_answer(job);
}

int bl_push_serve(const struct bl_cuda *cuda, struct bl_push *push, const struct bl_ce_copy *copy, unsigned int idle_us,
		  bool *begun_p)
{
	struct job job = { .cuda = cuda, .push = push, .copy = copy, .idle_us = idle_us };
	uint64_t va;
	int ret;

	job.nr = (unsigned int)((copy->len + push->slice - 1) / push->slice);
	if (push->broken) {
		ret = query(&job);
		if (ret)
			return ret == -EAGAIN ? fail(EBUSY, "an earlier read in this context has not ended") : ret;
		push->broken = 0;
		atomic_store(&push->state, BL_PUSH_NONE);
	}
	ret = get_ready(&job);
	if (ret)
		return ret;
	ret = bl_push_direct(cuda, push, copy, &va) ? read_direct(&job, va) : read_staged(&job);
	*begun_p = push->broken;
	return ret;
}
