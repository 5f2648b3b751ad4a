// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/place: " fmt
#include "place_lane.h"

#include <errno.h>
#include <pthread.h>

#include "gpu/cuda.h"
#include "util/clock.h"
#include "net/log.h"

#define MAX_JOBS   128U /* of all lanes */
#define LANE_JOBS  32U
#define LANE_BYTES (512UL << 20)

/* Between questions to the driver, where the GPU counts; the other number where it does not. */
#define QUERY_NS 100000U
#define ASK_NS	 5000U

/* Where the GPU counts, looks at a lane's jobs between two at the clock: that takes longer than all the rest of a look. */
#define CLOCK_LOOKS 64U

/**
 * struct flight - a copy that is under way
 * @lane, @seq: which
 * @to, @from:  addresses
 * @owner:      memory of the lane's context
 */
struct flight {
	struct bl_lane *lane;
	uint32_t seq;
	uint64_t to, from;
	size_t len;
	const struct bl_place_mem *owner;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct flight flights[MAX_JOBS];
static unsigned int nr_flights;

void bl_lanes_lock(void)
{
	pthread_mutex_lock(&lock);
}

void bl_lanes_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void bl_lanes_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	nr_flights = 0;
	bl_place_gpus_forget();
}

/*
 * Within a GPU the driver copies by a kernel of its own (measured: each of its calls), which does not begin beside one that
 * fills the GPU, and which may be waiting for just these bytes. By way of host memory the copy engines do it.
 */
static CUresult copy_within(const struct bl_cuda *cuda, const struct bl_lane *lane, uint64_t to, uint64_t from, size_t len)
{
	void *stage = bl_place_gpu_stage(lane->gpu);
	CUresult err = CUDA_SUCCESS;

	if (bl_place_by_kernels())
		return cuda->cuMemcpyDtoDAsync ? cuda->cuMemcpyDtoDAsync(to, from, len, lane->stream) :
						 CUDA_ERROR_NOT_SUPPORTED;
	for (size_t off = 0, part; off < len && !err; off += part) {
		part = len - off < BL_PLACE_STAGE ? len - off : BL_PLACE_STAGE;
		err = cuda->cuMemcpyDtoHAsync(stage, from + off, part, lane->stream);
		if (!err)
			err = cuda->cuMemcpyHtoDAsync(to + off, stage, part, lane->stream);
	}
	return err;
}

static CUresult copy(const struct bl_cuda *cuda, const struct bl_lane *lane, enum bl_lane_kind kind,
		     const struct bl_place_mem *dst, uint64_t to, const struct bl_place_mem *src, uint64_t from, size_t len)
{
	if (kind == BL_LANE_TO_HOST)
		return cuda->cuMemcpyDtoHAsync((void *)(uintptr_t)to, from, len, lane->stream);
	if (kind == BL_LANE_TO_GPU)
		return cuda->cuMemcpyHtoDAsync(to, (const void *)(uintptr_t)from, len, lane->stream);
	if (dst->gpu == src->gpu && !bl_place_is_between(dst, src))
		return copy_within(cuda, lane, to, from, len);
	if (src->far)
		return cuda->cuMemcpyDtoDAsync ? cuda->cuMemcpyDtoDAsync(to, from, len, lane->stream)
					       : CUDA_ERROR_NOT_SUPPORTED;
	return cuda->cuMemcpyPeerAsync
		       ? cuda->cuMemcpyPeerAsync(to, dst->gpu->context, from, src->gpu->context, len, lane->stream)
		       : CUDA_ERROR_NOT_SUPPORTED;
}

int bl_lane_post(const struct bl_cuda *cuda, struct bl_lane *lane, enum bl_lane_kind kind,
		 const struct bl_place_mem *dst, uint64_t to, const struct bl_place_mem *src, uint64_t from, size_t len)
{
	CUresult err = copy(cuda, lane, kind, dst, to, src, from, len);

	if (err)
		return fail_quiet(bl_cuda_errno(err), "copy of 0x%zx bytes: %s", len, bl_cuda_strerror(err));
	lane->seq++;
	if (!lane->counts)
		return 0;
	err = cuda->cuStreamWriteValue32(lane->stream, (uintptr_t)lane->flag, lane->seq, 0);
	if (err) {
		log_debug("cuStreamWriteValue32: %s: the stream is asked instead", bl_cuda_strerror(err));
		lane->counts = false;
	}
	return 0;
}

static bool is_behind(uint32_t count, uint32_t seq)
{
	return (int32_t)(count - seq) < 0;
}

/* Acquire: the bytes of a copy are there when its number is. */
static bool passed(const struct bl_lane *lane, uint32_t seq)
{
	return !is_behind(lane->idle, seq) || !is_behind(__atomic_load_n(lane->flag, __ATOMIC_ACQUIRE), seq);
}

int bl_lane_look(const struct bl_cuda *cuda, struct bl_lane *lane, uint32_t seq, bool ask)
{
	CUresult err;

	if (passed(lane, seq))
		return 0;
	if (lane->broken)
		return -lane->broken;
	if (!ask)
		return -EAGAIN;
	err = cuda->cuStreamQuery(lane->stream);
	if (err == CUDA_ERROR_NOT_READY)
		return -EAGAIN;
	if (err) {
		lane->broken = bl_cuda_errno(err);
		return fail(lane->broken, "copies of long messages: %s", bl_cuda_strerror(err));
	}
	if (lane->counts && !passed(lane, lane->seq)) {
		log_debug("the GPU does not count copies: the stream is asked instead");
		lane->counts = false;
	}
	lane->idle = lane->seq;
	return 0;
}

static bool overlap(uint64_t a, size_t a_len, uint64_t b, size_t b_len)
{
	return a < b + b_len && b < a + a_len;
}

/* A lane keeps its own order; what another one has under way in the same memory has to end first. */
static bool collides(const struct flight *new)
{
	for (unsigned int i = 0; i < nr_flights; i++) {
		const struct flight *old = &flights[i];

		if (old->lane != new->lane &&
		    (overlap(old->to, old->len, new->to, new->len) || overlap(old->to, old->len, new->from, new->len) ||
		     overlap(old->from, old->len, new->to, new->len)))
			return true;
	}
	return false;
}

static bool has_room(const struct bl_lane *lane, size_t len)
{
	return nr_flights < MAX_JOBS && lane->jobs < LANE_JOBS && (!lane->jobs || lane->bytes + len <= LANE_BYTES);
}

static int post_entered(const struct bl_cuda *cuda, struct bl_lane *lane, enum bl_lane_kind kind,
			const struct bl_place_mem *dst, const struct bl_place_mem *src, const struct flight *flight)
{
	/* of the other context; that of the lane was checked when it was entered */
	if (dst->gpu && src->gpu && !bl_cuda_ptr_holds(cuda, dst->target.asked, dst->target.buffer_id))
		return fail_quiet(EIDRM, "the memory was freed");
	return bl_lane_post(cuda, lane, kind, dst, flight->to, src, flight->from, flight->len);
}

/* The one that has least to do of those from @first on, which is usable. */
static enum bl_lane_kind least_busy(const struct bl_lane *lanes, int first, int nr)
{
	int best = first;

	for (int kind = first + 1; kind < first + nr; kind++) {
		if (lanes[kind].usable && lanes[kind].bytes < lanes[best].bytes)
			best = kind;
	}
	return (enum bl_lane_kind)best;
}

/* Within a GPU, by way of host memory, there is one place to go through, and one lane that is usable. */
static enum bl_lane_kind choose(const struct bl_place_mem *dst, const struct bl_place_mem *src)
{
	if (!src->gpu || !dst->gpu)
		return src->gpu ? BL_LANE_TO_HOST : BL_LANE_TO_GPU;
	if (bl_place_is_between(dst, src))
		return least_busy(src->gpu->lanes, BL_LANE_BETWEEN, BL_LANES_BETWEEN);
	return least_busy(src->gpu->lanes, BL_LANE_IN_GPUS, BL_LANES_WITHIN);
}

static int start_locked(struct bl_place_mem *dst, struct bl_place_mem *src, struct flight *flight)
{
	enum bl_lane_kind kind = choose(dst, src);
	struct bl_place_mem *owner = src->gpu ? src : dst;
	struct bl_lane *lane = &owner->gpu->lanes[kind];
	const struct bl_cuda *cuda = bl_cuda();
	struct bl_cuda_scope scope;
	int ret;

	flight->lane = lane;
	flight->owner = owner;
	if (lane->broken)
		return -lane->broken;
	if (!has_room(lane, flight->len) || collides(flight))
		return -EAGAIN;
	ret = bl_ce_enter(cuda, &owner->target, &scope);
	if (ret)
		return ret;
	ret = post_entered(cuda, lane, kind, dst, src, flight);
	bl_cuda_leave(cuda, &scope);
	if (ret)
		return ret;
	flight->seq = lane->seq;
	flights[nr_flights++] = *flight;
	lane->jobs++;
	lane->bytes += flight->len;
	return 0;
}

int bl_lane_start(void *dst, uint64_t dst_off, void *src, uint64_t src_off, size_t len, struct bl_snic_job *job)
{
	struct bl_place_mem *to = dst, *from = src;
	struct flight flight = { .to = to->va + dst_off, .from = from->va + src_off, .len = len };
	int ret;

	/* the sender is told, and sends its bytes */
	bl_fail_hush(1);
	pthread_mutex_lock(&lock);
	ret = start_locked(to, from, &flight);
	pthread_mutex_unlock(&lock);
	bl_fail_hush(-1);
	if (!ret)
		*job = (struct bl_snic_job){ .where = flight.lane, .number = flight.seq };
	else if (ret != -EAGAIN)
		log_debug("a message of 0x%zx bytes goes in packets: %s", len, bl_last_error(NULL));
	return ret;
}

static struct flight *find(const struct bl_lane *lane, uint32_t seq)
{
	for (unsigned int i = 0; i < nr_flights; i++) {
		if (flights[i].lane == lane && flights[i].seq == seq)
			return &flights[i];
	}
	return NULL;
}

/* Whether it is worth to look at the clock. */
static bool is_time(struct bl_lane *lane)
{
	return !lane->counts || lane->looks++ % CLOCK_LOOKS == 0;
}

/* The driver, now and then: it knows of errors, and the GPU may not count. */
static int ask(struct bl_lane *lane, const struct flight *flight)
{
	const struct bl_cuda *cuda = bl_cuda();
	struct bl_cuda_scope scope;
	uint64_t now = bl_now_ns();
	int ret;

	if (now < lane->next_query)
		return -EAGAIN;
	lane->next_query = now + (lane->counts ? QUERY_NS : ASK_NS);
	bl_fail_hush(1);
	ret = bl_ce_enter(cuda, &flight->owner->target, &scope);
	bl_fail_hush(-1);
	/* memory is freed when what works on it is over, and contexts are destroyed then */
	if (ret)
		return -EIDRM;
	ret = bl_lane_look(cuda, lane, flight->seq, true);
	bl_cuda_leave(cuda, &scope);
	return ret;
}

int bl_lane_poll(const struct bl_snic_job *job)
{
	struct bl_lane *lane = job->where;
	struct flight *flight;
	int ret;

	pthread_mutex_lock(&lock);
	ret = bl_lane_look(NULL, lane, (uint32_t)job->number, false);
	flight = ret == -EAGAIN && is_time(lane) ? find(lane, (uint32_t)job->number) : NULL;
	if (flight)
		ret = ask(lane, flight);
	if (ret != -EAGAIN) {
		flight = find(lane, (uint32_t)job->number);
		lane->jobs--;
		lane->bytes -= flight->len;
		*flight = flights[--nr_flights];
	}
	pthread_mutex_unlock(&lock);
	return ret;
}
