// SPDX-License-Identifier: MIT
/* The transfers of one copy, and waiting for them. The channel's context is current, its lock is held. */
#define log_fmt(fmt) "gpu/ce: " fmt
#include "ce.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "copy/cpu.h"
#include "util/log.h"

/* A transfer is at most this long, so that one deadline does for all of them. */
#define MAX_DIRECT (1UL << 30)

#define DEFAULT_TIMEOUT_MS 10000UL
#define QUERY_NS	   100000U /* between looks for a device error while the counter is polled */
#define EAGER_POLLS	   4096U

static struct bl_ce_shape shapes[BL_CE_NR_CLASSES] = {
	{ 64U << 10, false },
	{ 128U << 10, false },
	{ 512U << 10, false },
	{ 256U << 10, true },
};

struct bl_ce_shape *bl_ce_shape(size_t len)
{
	if (len <= 128UL << 10)
		return &shapes[0];
	if (len <= 512UL << 10)
		return &shapes[1];
	return len < 4UL << 20 ? &shapes[2] : &shapes[3];
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static uint64_t timeout_ns;

static void read_timeout(void)
{
	const char *text = getenv("BARLANE_CE_TIMEOUT_MS");
	unsigned long ms = DEFAULT_TIMEOUT_MS;
	char *end = NULL;

	if (text && *text) {
		errno = 0;
		ms = strtoul(text, &end, 10);
		if (*end || !ms || errno || ms > 86400000) {
			log_warn("BARLANE_CE_TIMEOUT_MS %s ignored: not a number of milliseconds", text);
			ms = DEFAULT_TIMEOUT_MS;
		}
	}
	timeout_ns = ms * 1000000;
}

static uint64_t deadline(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_timeout);
	return now_ns() + timeout_ns;
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Acquire: the bytes of a transfer are there when its number is. */
static bool counted(const struct bl_ce *ce, uint32_t seq)
{
	return ce->counts && (int32_t)(__atomic_load_n(ce->flag, __ATOMIC_ACQUIRE) - seq) >= 0;
}

/* 0: all is done, -EAGAIN: not yet, else an error. */
static int query(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	CUresult err = cuda->cuStreamQuery(ce->stream);

	if (err == CUDA_ERROR_NOT_READY)
		return -EAGAIN;
	if (!err)
		return 0;
	ce->broken = bl_cuda_errno(err);
	return fail(ce->broken, "waiting for a copy: %s", bl_cuda_strerror(err));
}

int bl_ce_wait(const struct bl_cuda *cuda, struct bl_ce *ce, uint32_t seq)
{
	uint64_t end = 0, next = 0, now;
	unsigned int polls = 0;
	int ret;

	for (;;) {
		if (counted(ce, seq))
			return 0;
		if (polls++ < 64 && ce->counts)
			continue;
		if (polls > EAGER_POLLS)
			relax();
		now = now_ns();
		if (!end) {
			end = deadline();
			next = now + QUERY_NS;
		}
		if (ce->counts && now < next)
			continue;
		next = now + QUERY_NS;
		ret = query(cuda, ce);
		if (!ret && ce->counts && !counted(ce, seq)) {
			log_debug("the GPU does not write the counter: polling the stream instead");
			ce->counts = false;
		}
		if (ret != -EAGAIN)
			return ret;
		if (now > end) {
			ce->broken = ETIMEDOUT;
			return fail(ETIMEDOUT, "the GPU did not end a copy within %" PRIu64 " ms",
				    timeout_ns / 1000000);
		}
	}
}

int bl_ce_mark(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	CUresult err;

	ce->seq++;
	if (!ce->counts)
		return 0;
	err = cuda->cuStreamWriteValue32(ce->stream, (uintptr_t)ce->flag, ce->seq, 0);
	if (err) {
		log_debug("cuStreamWriteValue32: %s: polling the stream instead", bl_cuda_strerror(err));
		ce->counts = false;
	}
	return 0;
}

static int submit(const struct bl_cuda *cuda, struct bl_ce *ce, enum bl_copy_dir dir, uint64_t va, void *host,
		  size_t len)
{
	CUresult err;

	if (dir == BL_COPY_TO)
		err = cuda->cuMemcpyHtoDAsync(va, host, len, ce->stream);
	else
		err = cuda->cuMemcpyDtoHAsync(host, va, len, ce->stream);
	if (err)
		return fail(bl_cuda_errno(err), "copy va 0x%" PRIx64 " len 0x%zx: %s", va, len, bl_cuda_strerror(err));
	return bl_ce_mark(cuda, ce);
}

static int move_direct(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy)
{
	int ret = 0;

	for (size_t off = 0, len; off < copy->len && !ret; off += len) {
		len = copy->len - off < MAX_DIRECT ? copy->len - off : MAX_DIRECT;
		ret = submit(cuda, ce, copy->dir, copy->va + off, (char *)copy->host + off, len);
		if (!ret)
			ret = bl_ce_wait(cuda, ce, ce->seq);
	}
	return ret;
}

/**
 * struct staged - a copy through the ring
 * @chunk:     bytes per transfer
 * @nr:        transfers
 * @submitted: of them, the first ones
 * @host_copy: from the ring to the host
 * @seq:       number of the transfer in each slot
 */
struct staged {
	size_t chunk;
	size_t nr;
	size_t submitted;
	bl_copy_fn host_copy;
	uint32_t seq[BL_CE_SLOTS];
};

static int plain_copy(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return 0;
}

static void plan(const struct bl_ce_copy *copy, struct staged *staged)
{
	const struct bl_ce_shape *shape = bl_ce_shape(copy->len);

	staged->chunk = atomic_load_explicit(&shape->chunk, memory_order_relaxed);
	staged->nr = (copy->len + staged->chunk - 1) / staged->chunk;
	staged->submitted = 0;
	staged->host_copy = plain_copy;
	/* the routine for write-combining mappings stores past the caches, and ends with the fence for it */
	if (atomic_load_explicit(&shape->stream, memory_order_relaxed))
		staged->host_copy = bl_cpu_copy_select(BL_MAP_WC)->to;
}

static size_t chunk_len(const struct bl_ce_copy *copy, const struct staged *staged, size_t i)
{
	return i + 1 < staged->nr ? staged->chunk : copy->len - i * staged->chunk;
}

static int submit_chunk(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy,
			struct staged *staged)
{
	size_t i = staged->submitted, slot = i % BL_CE_SLOTS;
	int ret;

	ret = submit(cuda, ce, copy->dir, copy->va + i * staged->chunk, ce->ring + slot * BL_CE_SLOT_SIZE,
		     chunk_len(copy, staged, i));
	if (ret)
		return ret;
	staged->seq[slot] = ce->seq;
	staged->submitted++;
	return 0;
}

/* As many transfers as there are slots are under way while the chunk before them is copied out. */
static int read_staged(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy,
		       struct staged *staged)
{
	int ret = 0;

	for (size_t i = 0; i < staged->nr; i++) {
		size_t slot = i % BL_CE_SLOTS;

		while (!ret && staged->submitted < staged->nr && staged->submitted < i + BL_CE_SLOTS)
			ret = submit_chunk(cuda, ce, copy, staged);
		if (!ret)
			ret = bl_ce_wait(cuda, ce, staged->seq[slot]);
		if (ret)
			return ret;
		staged->host_copy((char *)copy->host + i * staged->chunk, ce->ring + slot * BL_CE_SLOT_SIZE,
				  chunk_len(copy, staged, i));
	}
	return 0;
}

static int write_staged(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy,
			struct staged *staged)
{
	int ret;

	for (size_t i = 0; i < staged->nr; i++) {
		size_t slot = i % BL_CE_SLOTS;

		if (i >= BL_CE_SLOTS) {
			ret = bl_ce_wait(cuda, ce, staged->seq[slot]);
			if (ret)
				return ret;
		}
		memcpy(ce->ring + slot * BL_CE_SLOT_SIZE, (const char *)copy->host + i * staged->chunk,
		       chunk_len(copy, staged, i));
		ret = submit_chunk(cuda, ce, copy, staged);
		if (ret)
			return ret;
	}
	return bl_ce_wait(cuda, ce, ce->seq);
}

/* A copy that could not be submitted to its end leaves transfers behind that still use the ring. */
static void drain(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	bl_fail_hush(1);
	if (!ce->broken)
		bl_ce_wait(cuda, ce, ce->seq);
	bl_fail_hush(-1);
}

int bl_ce_move(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy)
{
	struct staged staged;
	int ret;

	if (copy->pinned) {
		ret = move_direct(cuda, ce, copy);
	} else {
		plan(copy, &staged);
		ret = copy->dir == BL_COPY_TO ? write_staged(cuda, ce, copy, &staged) :
						read_staged(cuda, ce, copy, &staged);
	}
	if (!ret)
		return 0;
	drain(cuda, ce);
	/* what did not end matters more than why no more was submitted: nobody else may do this copy now */
	return ce->broken ? -ce->broken : ret;
}
