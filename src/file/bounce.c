// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/bounce: " fmt
#include "bounce.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "gpu/cuda_ptr.h"
#include "stream.h"
#include "util/clock.h"
#include "util/log.h"

#define NR_UNITS (BL_BOUNCE_SLAB / BL_BOUNCE_UNIT)

/* Behind the units: a line per unit for what a kernel is told. */
#define LINE	 64UL
#define SLAB_LEN (BL_BOUNCE_SLAB + NR_UNITS * LINE)

#define NAP_FIRST_NS 20000
#define NAP_MAX_NS   1000000

_Static_assert(NR_UNITS == 64, "a bit for each unit");
_Static_assert(sizeof(struct bl_move_job) <= LINE, "a line for each job");

/**
 * struct bl_slab - pinned memory
 * @context: context that reaches it; NULL: it is gone
 * @memory:  SLAB_LEN bytes
 * @device:  their address for the GPU
 * @id:      CUDA's number of them, gone when the context is
 * @taken:   bit per unit
 * @late:    of those, first units of slots that only a stream holds
 * @held:    by first unit: who does
 */
struct bl_slab {
	CUcontext context;
	unsigned char *memory;
	CUdeviceptr device;
	uint64_t id;
	uint64_t taken;
	uint64_t late;
	struct held {
		struct bl_stream *stream;
		uint32_t seq;
		unsigned int nr;
	} held[NR_UNITS];
};

/**
 * struct pool - all slabs
 * @lock:   guards the rest
 * @slabs:  NULL: none
 * @making: places that are kept for slabs that are being made
 */
static struct pool {
	pthread_mutex_t lock;
	struct bl_slab *slabs[BL_BOUNCE_SLABS];
	unsigned int making;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The memory is not mapped in a child. */
void bl_bounce_forget(void)
{
	pool = (struct pool){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

static uint64_t units(unsigned int first, unsigned int nr)
{
	return (nr == NR_UNITS ? UINT64_MAX : (1ULL << nr) - 1) << first;
}

static bool alive(const struct bl_cuda *cuda, const struct bl_slab *slab)
{
	return bl_cuda_ptr_holds(cuda, (uintptr_t)slab->memory, slab->id);
}

/* A slot that its stream is done with, or that no stream will ever use since its context is gone; the lock is held. */
static struct bl_stream *take_back(struct bl_slab *slab)
{
	for (uint64_t left = slab->late; left; left &= left - 1) {
		unsigned int first = (unsigned int)__builtin_ctzll(left);
		struct held *held = &slab->held[first];

		/* acquire: what the stream did with the memory is over */
		if (slab->context &&
		    (int32_t)(atomic_load_explicit(held->stream->back, memory_order_acquire) - held->seq) < 0)
			continue;
		slab->late &= ~(1ULL << first);
		slab->taken &= ~units(first, held->nr);
		return held->stream;
	}
	return NULL;
}

static void reclaim(void)
{
	struct bl_stream *stream;

	do {
		stream = NULL;
		pthread_mutex_lock(&pool.lock);
		for (int i = 0; i < BL_BOUNCE_SLABS && !stream; i++)
			stream = pool.slabs[i] ? take_back(pool.slabs[i]) : NULL;
		pthread_mutex_unlock(&pool.lock);
		if (stream)
			bl_stream_put(stream);
	} while (stream);
}

static bool cut(struct bl_slab *slab, unsigned int nr, struct bl_bounce_slot *slot)
{
	for (unsigned int first = 0; first + nr <= NR_UNITS; first++) {
		if (slab->taken & units(first, nr))
			continue;
		slab->taken |= units(first, nr);
		*slot = (struct bl_bounce_slot){
			.slab = slab,
			.first = first,
			.nr = nr,
			.memory = slab->memory + first * BL_BOUNCE_UNIT,
			.device = slab->device + first * BL_BOUNCE_UNIT,
			.job = (struct bl_move_job *)(slab->memory + BL_BOUNCE_SLAB + first * LINE),
			.job_device = slab->device + BL_BOUNCE_SLAB + first * LINE,
		};
		return true;
	}
	return false;
}

void bl_bounce_put(const struct bl_bounce_slot *slot, struct bl_stream *stream, uint32_t seq)
{
	struct bl_slab *slab = slot->slab;

	if (stream)
		atomic_fetch_add(&stream->refs, 1);
	pthread_mutex_lock(&pool.lock);
	if (stream) {
		slab->late |= 1ULL << slot->first;
		slab->held[slot->first] = (struct held){ stream, seq, slot->nr };
	} else {
		slab->taken &= ~units(slot->first, slot->nr);
	}
	pthread_mutex_unlock(&pool.lock);
}

/* From a slab of this context. One whose context is gone, of which this one has the address, is none. */
static bool take(const struct bl_cuda *cuda, CUcontext context, unsigned int nr, struct bl_bounce_slot *slot)
{
	for (;;) {
		bool found = false;

		pthread_mutex_lock(&pool.lock);
		for (int i = 0; i < BL_BOUNCE_SLABS && !found; i++) {
			if (pool.slabs[i] && pool.slabs[i]->context == context)
				found = cut(pool.slabs[i], nr, slot);
		}
		pthread_mutex_unlock(&pool.lock);
		if (!found || alive(cuda, slot->slab))
			return found;
		pthread_mutex_lock(&pool.lock);
		slot->slab->context = NULL;
		pthread_mutex_unlock(&pool.lock);
		bl_bounce_put(slot, NULL, 0);
	}
}

/* A context that is gone took the registration with it. */
static void slab_free(const struct bl_cuda *cuda, struct bl_slab *slab)
{
	int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUcontext popped;

	if (slab->context && alive(cuda, slab) && !cuda->cuCtxPushCurrent(slab->context)) {
		cuda->cuThreadExchangeStreamCaptureMode(&mode);
		cuda->cuMemHostUnregister(slab->memory);
		cuda->cuThreadExchangeStreamCaptureMode(&mode);
		cuda->cuCtxPopCurrent(&popped);
	}
	munmap(slab->memory, SLAB_LEN);
	free(slab);
}

/* An idle slab of any context but this one. */
static bool evict(const struct bl_cuda *cuda, CUcontext but)
{
	struct bl_slab *slab = NULL;

	pthread_mutex_lock(&pool.lock);
	for (int i = 0; i < BL_BOUNCE_SLABS && !slab; i++) {
		if (!pool.slabs[i] || pool.slabs[i]->taken || (but && pool.slabs[i]->context == but))
			continue;
		slab = pool.slabs[i];
		pool.slabs[i] = NULL;
	}
	pthread_mutex_unlock(&pool.lock);
	if (slab)
		slab_free(cuda, slab);
	return slab;
}

/* Note which contexts are gone. A slab may go while CUDA is asked; its number says whether it is still the same. */
static void look_for_dead(const struct bl_cuda *cuda)
{
	for (int i = 0; i < BL_BOUNCE_SLABS; i++) {
		uintptr_t memory = 0;
		uint64_t id = 0;

		pthread_mutex_lock(&pool.lock);
		if (pool.slabs[i] && pool.slabs[i]->context) {
			memory = (uintptr_t)pool.slabs[i]->memory;
			id = pool.slabs[i]->id;
		}
		pthread_mutex_unlock(&pool.lock);
		if (!memory || bl_cuda_ptr_holds(cuda, memory, id))
			continue;
		pthread_mutex_lock(&pool.lock);
		if (pool.slabs[i] && pool.slabs[i]->id == id)
			pool.slabs[i]->context = NULL;
		pthread_mutex_unlock(&pool.lock);
	}
	reclaim();
}

/* Captures of other threads are left alone. */
static CUresult pin(const struct bl_cuda *cuda, struct bl_slab *slab)
{
	int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	unsigned long long id = 0;
	CUresult err;

	cuda->cuThreadExchangeStreamCaptureMode(&mode);
	err = cuda->cuMemHostRegister(slab->memory, SLAB_LEN, CU_MEMHOSTREGISTER_DEVICEMAP);
	if (!err) {
		err = cuda->cuMemHostGetDevicePointer(&slab->device, slab->memory, 0);
		if (!err)
			err = cuda->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, (uintptr_t)slab->memory);
		if (err)
			cuda->cuMemHostUnregister(slab->memory);
	}
	cuda->cuThreadExchangeStreamCaptureMode(&mode);
	slab->id = id;
	return err;
}

static int slab_new(const struct bl_cuda *cuda, CUcontext context, struct bl_slab **slab_p)
{
	struct bl_slab *slab = calloc(1, sizeof(*slab));
	CUresult err;
	void *memory;

	if (!slab)
		return fail(ENOMEM, "out of memory");
	memory = mmap(NULL, SLAB_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		goto free_slab;
	slab->memory = memory;
	slab->context = context;
	/* the GPU must see this process' pages and no copies of a child's making */
	if (madvise(memory, SLAB_LEN, MADV_DONTFORK))
		goto free_memory;
	err = pin(cuda, slab);
	if (err) {
		munmap(memory, SLAB_LEN);
		free(slab);
		return fail(bl_cuda_errno(err), "pinned memory: %s", bl_cuda_strerror(err));
	}
	*slab_p = slab;
	return 0;
free_memory:
	munmap(memory, SLAB_LEN);
free_slab:
	free(slab);
	return fail(ENOMEM, "out of memory");
}

/* Whether there may be one more; its place is kept then. */
static bool keep_place(void)
{
	unsigned int nr;
	bool may;

	pthread_mutex_lock(&pool.lock);
	nr = pool.making;
	for (int i = 0; i < BL_BOUNCE_SLABS; i++)
		nr += pool.slabs[i] != NULL;
	may = nr < BL_BOUNCE_SLABS;
	pool.making += may;
	pthread_mutex_unlock(&pool.lock);
	return may;
}

static void fill_place(struct bl_slab *slab)
{
	int i = 0;

	pthread_mutex_lock(&pool.lock);
	pool.making--;
	while (slab && pool.slabs[i])
		i++;
	if (slab)
		pool.slabs[i] = slab;
	pthread_mutex_unlock(&pool.lock);
}

/* 0: there is one more slab; -EAGAIN: there may not be; else why it cannot be made. */
static int grow(const struct bl_cuda *cuda, CUcontext context)
{
	struct bl_slab *slab = NULL;
	int ret;

	look_for_dead(cuda);
	if (!keep_place() && (!evict(cuda, context) || !keep_place()))
		return -EAGAIN;
	ret = slab_new(cuda, context, &slab);
	fill_place(slab);
	return ret;
}

static int wait_for_slot(const struct bl_cuda *cuda, CUcontext context, unsigned int nr, uint64_t patience_ns,
			 struct bl_bounce_slot *slot)
{
	uint64_t end_ns = bl_now_ns() + patience_ns;
	struct timespec nap = { 0, NAP_FIRST_NS };
	int ret;

	for (;;) {
		reclaim();
		if (take(cuda, context, nr, slot))
			return 0;
		ret = grow(cuda, context);
		if (ret && ret != -EAGAIN)
			return ret;
		if (!ret)
			continue;
		if (bl_now_ns() >= end_ns)
			break;
		nanosleep(&nap, NULL);
		nap.tv_nsec = nap.tv_nsec * 2 > NAP_MAX_NS ? NAP_MAX_NS : nap.tv_nsec * 2;
	}
	return fail(ETIMEDOUT, "operations of streams use all %lu MiB of pinned memory, and none has ended in time",
		    BL_BOUNCE_SLABS * BL_BOUNCE_SLAB >> 20);
}

int bl_bounce_get(const struct bl_cuda *cuda, CUcontext context, size_t len, unsigned int want, uint64_t patience_ns,
		  struct bl_bounce_slot *slots, unsigned int *nr_p)
{
	unsigned int nr_units = (unsigned int)((len + BL_BOUNCE_UNIT - 1) / BL_BOUNCE_UNIT), nr = 1;
	int ret;

	if (!cuda->cuMemHostRegister || !cuda->cuMemHostUnregister || !cuda->cuMemHostGetDevicePointer)
		return fail(EOPNOTSUPP, "the driver cannot register host memory: too old");
	ret = wait_for_slot(cuda, context, nr_units, patience_ns, &slots[0]);
	if (ret)
		return ret;
	while (nr < want) {
		if (take(cuda, context, nr_units, &slots[nr]))
			nr++;
		else if (grow(cuda, context))
			break;
	}
	*nr_p = nr;
	return 0;
}

void bl_bounce_close(void)
{
	const struct bl_cuda *cuda = bl_cuda();

	if (!cuda)
		return;
	look_for_dead(cuda);
	while (evict(cuda, NULL))
		;
}
