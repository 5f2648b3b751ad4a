// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/ce: " fmt
#include "ce.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "copy/fence.h"
#include "util/log.h"

#define FLAG_SIZE    4096
#define MAX_ORDINALS 64
#define ASK_AGAIN    16U

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_ce *channels;
static unsigned int nr_channels;
static CUcontext primaries[MAX_ORDINALS]; /* retained for good: a channel must not lose its context */

/* One bit per channel that has to read back before its next copy; the last one is shared by all later channels. */
static _Atomic(uint64_t) must_flush = UINT64_MAX;
/* What this thread wrote before its first copy was not noted. */
static __thread bool flush_next __attribute__((tls_model("initial-exec"))) = true;

void bl_ce_wrote(void)
{
	/* after the write: whoever flushes between the two flushes the write too */
	if (atomic_load_explicit(&must_flush, memory_order_relaxed) != UINT64_MAX)
		atomic_store_explicit(&must_flush, UINT64_MAX, memory_order_release);
}

void bl_ce_forget(void)
{
	pthread_mutex_init(&list_lock, NULL);
	channels = NULL;
	bl_ce_tokens_forget();
	atomic_store(&must_flush, UINT64_MAX);
	for (size_t i = 0; i < MAX_ORDINALS; i++)
		primaries[i] = NULL;
}

static int primary_context(const struct bl_cuda *cuda, const struct bl_cuda_ptr *ptr, CUcontext *context_p)
{
	CUresult err = CUDA_SUCCESS;

	if (ptr->ordinal >= MAX_ORDINALS)
		return fail(EOPNOTSUPP, "device %d: only the first %d can be copied by ce", ptr->ordinal, MAX_ORDINALS);
	pthread_mutex_lock(&list_lock);
	if (!primaries[ptr->ordinal])
		err = cuda->cuDevicePrimaryCtxRetain(&primaries[ptr->ordinal], ptr->device);
	*context_p = primaries[ptr->ordinal];
	pthread_mutex_unlock(&list_lock);
	if (err)
		return fail(bl_cuda_errno(err), "device %d: primary context: %s", ptr->ordinal, bl_cuda_strerror(err));
	return 0;
}

int bl_ce_target_init(const struct bl_cuda *cuda, uint64_t va, uint64_t buffer_id, struct bl_ce_target *target)
{
	struct bl_cuda_ptr ptr;
	CUcontext context;
	int ret;

	ret = bl_cuda_ptr_query(cuda, va, &ptr);
	if (ret)
		return ret;
	if (buffer_id && ptr.buffer_id != buffer_id)
		return fail(EINVAL, "va 0x%" PRIx64 ": the pinned memory was freed, other memory has its address", va);
	context = ptr.context;
	if (!context) {
		ret = primary_context(cuda, &ptr, &context);
		if (ret)
			return ret;
	}
	target->device = ptr.device;
	target->ordinal = ptr.ordinal;
	target->context = context;
	target->shared = !ptr.context;
	target->asked = va;
	target->buffer_id = ptr.buffer_id;
	target->base = ptr.base;
	target->size = ptr.size;
	atomic_store(&target->ce, NULL);
	atomic_store(&target->push, NULL);
	return 0;
}

/**
 * struct known - pinned memory that this thread copied to or from last
 * @start: where it begins
 * @size:  bytes; 0 none
 * @uses:  how often that was taken for granted
 *
 * Memory that is no longer pinned is copied all the same, by CUDA itself and slower, so asking every time is a waste.
 */
struct known {
	CUdeviceptr start;
	size_t size;
	unsigned int uses;
};

static bool holds_range(const struct known *range, const void *host, size_t len)
{
	uintptr_t off = (uintptr_t)host - range->start;

	return (uintptr_t)host >= range->start && off < range->size && len <= range->size - off;
}

static __attribute__((noinline)) bool ask_pinned(const struct bl_cuda *cuda, const void *host, size_t len,
						 struct known *last)
{
	unsigned int type = 0;
	CUdeviceptr start = 0;
	size_t size = 0;
	int attrs[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
			CU_POINTER_ATTRIBUTE_RANGE_SIZE };
	void *values[] = { &type, &start, &size };

	last->size = 0;
	/* one call for all, which does not fail for memory that CUDA does not know: that costs half a microsecond */
	if (cuda->cuPointerGetAttributes(3, attrs, values, (uintptr_t)host) || type != CU_MEMORYTYPE_HOST)
		return false;
	*last = (struct known){ .start = start, .size = size };
	return holds_range(last, host, len);
}

bool bl_ce_pinned(const struct bl_cuda *cuda, const void *host, size_t len)
{
	static __thread struct known last __attribute__((tls_model("initial-exec")));

	return (++last.uses % ASK_AGAIN && holds_range(&last, host, len)) || ask_pinned(cuda, host, len, &last);
}

bool bl_ce_alive(const struct bl_cuda *cuda, const struct bl_ce *ce)
{
	return bl_cuda_ptr_holds(cuda, (uintptr_t)ce->flag, ce->sentinel);
}

int bl_ce_check_target(const struct bl_cuda *cuda, const struct bl_ce_target *target)
{
	if (bl_cuda_ptr_holds(cuda, target->asked, target->buffer_id))
		return 0;
	return fail(EINVAL,
		    "va 0x%" PRIx64 ": CUDA does not have the memory any more (freed, or its context destroyed)",
		    target->asked);
}

int bl_ce_check_range(const struct bl_ce_target *target, uint64_t va, size_t len)
{
	if (va >= target->base && va + len <= target->base + target->size)
		return 0;
	return fail(EOPNOTSUPP,
		    "va 0x%" PRIx64 " len 0x%zx leaves the allocation at 0x%" PRIx64 " size 0x%" PRIx64
		    ": only the CPU reaches the rest of the pin",
		    va, len, target->base, target->size);
}

static int host_alloc(const struct bl_cuda *cuda, size_t size, const char *what, void **addr_p)
{
	CUresult err = cuda->cuMemHostAlloc(addr_p, size, CU_MEMHOSTALLOC_PORTABLE);

	if (err)
		return fail(bl_cuda_errno(err), "%zu bytes of pinned memory for %s: %s", size, what,
			    bl_cuda_strerror(err));
	return 0;
}

/*
 * What proves that the thread is in this context, so that CUDA can be asked for the memory behind a read; see
 * is_inside(). Where the GPU reaches ordinary memory an address without GPU memory is none that CUDA refuses.
 */
static unsigned long long own_id(const struct bl_cuda *cuda)
{
	unsigned long long id = 0;
	CUdevice device;
	int pageable;

	if (!cuda->cuCtxGetId || cuda->cuCtxGetDevice(&device) ||
	    cuda->cuDeviceGetAttribute(&pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device) || pageable)
		return 0;
	return cuda->cuCtxGetId(NULL, &id) ? 0 : id;
}

/* The context is current. */
static int fill_channel(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	void *flag = NULL;
	CUresult err;
	int ret;

	err = cuda->cuStreamCreate(&ce->stream, CU_STREAM_NON_BLOCKING);
	if (err)
		return fail(bl_cuda_errno(err), "stream for copies: %s", bl_cuda_strerror(err));
	ret = host_alloc(cuda, FLAG_SIZE, "a counter", &flag);
	if (ret)
		goto destroy_stream;
	ce->flag = flag;
	*ce->flag = 0;
	err = cuda->cuPointerGetAttribute(&ce->sentinel, CU_POINTER_ATTRIBUTE_BUFFER_ID, (uintptr_t)flag);
	if (err) {
		ret = fail(bl_cuda_errno(err), "id of pinned memory: %s", bl_cuda_strerror(err));
		goto free_flag;
	}
	ce->counts = cuda->cuStreamWriteValue32;
	ce->context_id = own_id(cuda);
	ce->device = -1;
	return 0;
free_flag:
	cuda->cuMemFreeHost(flag);
destroy_stream:
	cuda->cuStreamDestroy(ce->stream);
	return ret;
}

static int new_channel(const struct bl_cuda *cuda, CUcontext context, struct bl_ce **ce_p)
{
	struct bl_ce *ce = calloc(1, sizeof(*ce));
	int ret;

	if (!ce)
		return fail(ENOMEM, "channel: out of memory");
	ret = fill_channel(cuda, ce);
	if (ret) {
		free(ce);
		return ret;
	}
	pthread_mutex_init(&ce->lock, NULL);
	ce->context = context;
	ce->bit = nr_channels < 63 ? 1ULL << nr_channels : 1ULL << 63;
	nr_channels++;
	*ce_p = ce;
	return 0;
}

int bl_ce_new(const struct bl_cuda *cuda, CUcontext context, struct bl_ce **ce_p)
{
	int ret;

	pthread_mutex_lock(&list_lock);
	ret = new_channel(cuda, context, ce_p);
	pthread_mutex_unlock(&list_lock);
	return ret;
}

/* A context may be at the address of one that was destroyed: what it left behind is unlinked, and never touched. */
static void unlink_dead(const struct bl_cuda *cuda, CUcontext context)
{
	struct bl_ce **link = &channels;

	while (*link) {
		if ((*link)->context == context && !bl_cuda_ptr_holds(cuda, (uintptr_t)(*link)->flag, (*link)->sentinel))
			*link = (*link)->next;
		else
			link = &(*link)->next;
	}
}

/* The target's context is current. */
static int find_channel(const struct bl_cuda *cuda, struct bl_ce_target *target, struct bl_ce **ce_p)
{
	struct bl_ce *ce = atomic_load_explicit(&target->ce, memory_order_acquire);
	int ret = 0;

	/* memory of a context that is still there proves that its channel is; other memory proves nothing */
	if (ce && (!target->shared || bl_cuda_ptr_holds(cuda, (uintptr_t)ce->flag, ce->sentinel))) {
		*ce_p = ce;
		return 0;
	}
	pthread_mutex_lock(&list_lock);
	unlink_dead(cuda, target->context);
	for (ce = channels; ce && ce->context != target->context; ce = ce->next)
		;
	if (!ce) {
		ret = new_channel(cuda, target->context, &ce);
		if (!ret) {
			ce->next = channels;
			channels = ce;
		}
	}
	pthread_mutex_unlock(&list_lock);
	if (ret)
		return ret;
	atomic_store_explicit(&target->ce, ce, memory_order_release);
	*ce_p = ce;
	return 0;
}

/*
 * Program order: the CPU's writes to the mapping reach the GPU's memory before the engine looks. The fence empties the
 * write-combining buffers; the answer to a load comes after the writes ahead of it. The load is left out when no copy
 * wrote since the last one: it is a round trip to the GPU.
 */
void bl_ce_flush(struct bl_ce *ce, const void *mapped)
{
	const volatile uint32_t *word;
	uint64_t bits;

	bl_fence_wc_store();
	bits = atomic_load_explicit(&must_flush, memory_order_acquire);
	if (!mapped || (!(bits & ce->bit) && !flush_next))
		return;
	/* the bit goes first: a write that is noted from here on is flushed again */
	if (ce->bit != 1ULL << 63)
		atomic_fetch_and(&must_flush, ~ce->bit);
	word = (const volatile uint32_t *)((uintptr_t)mapped & ~(uintptr_t)3);
	/* a store fence alone would let the load go ahead of the stores */
	bl_fence_full();
	(void)*word;
	bl_fence_wc_load();
	flush_next = false;
}

static int run_locked(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy,
		      struct bl_ce_entry *entry)
{
	if (ce->broken) {
		/* whatever went wrong, a stream that is idle touches no memory any more */
		if (cuda->cuStreamQuery(ce->stream))
			return fail(ce->broken == ETIMEDOUT ? EBUSY : ce->broken,
				    "an earlier copy in this context has not ended");
		ce->broken = 0;
	}
	bl_ce_flush(ce, copy->mapped);
	return bl_ce_move(cuda, ce, copy, entry);
}

/* A landing area that cannot be had is done without. */
static void get_land(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	struct timespec ts;
	void *land;

	bl_fail_hush(1);
	if (!host_alloc(cuda, BL_CE_LAND_SIZE, "short reads", &land)) {
		/* any value does; one that nobody else has is seldom sent */
		clock_gettime(CLOCK_MONOTONIC, &ts);
		ce->mark = (uint32_t)ts.tv_nsec * 2654435761U | 1;
		ce->land = land;
		ce->unclean = true;
	}
	bl_fail_hush(-1);
}

int bl_ce_ring(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	return ce->ring ? 0 : host_alloc(cuda, BL_CE_RING_SIZE, "staging", (void **)&ce->ring);
}

/* So is one without the longer ring. */
static bool get_wide(const struct bl_cuda *cuda, struct bl_ce *ce)
{
	void *wide;

	bl_fail_hush(1);
	if (!ce->wide && !host_alloc(cuda, BL_CE_WIDE_SIZE, "long reads", &wide))
		ce->wide = wide;
	bl_fail_hush(-1);
	return ce->wide;
}

static int get_memory(const struct bl_cuda *cuda, struct bl_ce *ce, const struct bl_ce_copy *copy)
{
	if (bl_ce_lands(copy)) {
		if (!ce->land)
			get_land(cuda, ce);
		if (ce->land)
			return 0;
	}
	if (copy->pinned || (bl_ce_is_wide(copy) && get_wide(cuda, ce)))
		return 0;
	return bl_ce_ring(cuda, ce);
}

static int run_entered(const struct bl_cuda *cuda, const struct bl_ce_copy *copy, struct bl_ce_entry *entry)
{
	struct bl_ce *ce;
	int ret;

	ret = find_channel(cuda, copy->target, &ce);
	if (ret)
		return ret;
	pthread_mutex_lock(&ce->lock);
	ret = get_memory(cuda, ce, copy);
	if (!ret)
		ret = run_locked(cuda, ce, copy, entry);
	if (!entry->free)
		pthread_mutex_unlock(&ce->lock);
	return ret;
}

static int enter(const struct bl_cuda *cuda, const struct bl_ce_target *target, struct bl_cuda_scope *scope)
{
	struct bl_cuda_ptr ptr = {
		.va = target->asked,
		.ordinal = target->ordinal,
		.device = target->device,
		.context = target->context,
	};

	return bl_cuda_enter(cuda, &ptr, scope);
}

int bl_ce_enter(const struct bl_cuda *cuda, const struct bl_ce_target *target, struct bl_cuda_scope *scope)
{
	int ret = bl_ce_check_target(cuda, target);

	return ret ? ret : enter(cuda, target, scope);
}

void bl_ce_go_out(const struct bl_cuda *cuda, struct bl_ce_entry *entry)
{
	bl_cuda_leave(cuda, &entry->scope);
	entry->out = true;
}

int bl_ce_come_back(const struct bl_cuda *cuda, struct bl_ce *ce, struct bl_ce_entry *entry)
{
	if (enter(cuda, entry->target, &entry->scope)) {
		/* for the caller it is no reason to have it done by somebody else: the GPU may be at it */
		ce->broken = EIO;
		return -EIO;
	}
	entry->out = false;
	return 0;
}

int bl_ce_ask(const struct bl_cuda *cuda, struct bl_ce_entry *entry)
{
	if (!entry->ask)
		return 0;
	entry->ask = false;
	return bl_ce_check_target(cuda, entry->target);
}

/*
 * Whether the thread is in the channel's context already, which is proved by its id: then the stream is there, and the
 * question whether the memory is can be put while the GPU is at it. CUDA refuses to read where it has nothing, and that
 * harms no context (bench/read_gone); and a read does no harm to other memory that has the address meanwhile.
 */
static bool is_inside(const struct bl_cuda *cuda, const struct bl_ce_copy *copy)
{
	const struct bl_ce *ce = atomic_load_explicit(&copy->target->ce, memory_order_acquire);
	unsigned long long id = 0;

	return copy->dir == BL_COPY_FROM && (copy->pinned || bl_ce_lands(copy)) && ce && ce->context_id &&
	       !copy->target->shared && !cuda->cuCtxGetId(NULL, &id) && id == ce->context_id;
}

static int begin(const struct bl_cuda *cuda, const struct bl_ce_copy *copy, struct bl_ce_entry *entry)
{
	if (!is_inside(cuda, copy))
		return bl_ce_enter(cuda, copy->target, &entry->scope);
	entry->ask = true;
	bl_cuda_relax(cuda, &entry->scope);
	return 0;
}

int bl_ce_run(const struct bl_cuda *cuda, const struct bl_ce_copy *copy)
{
	struct bl_ce_entry entry = { .target = copy->target };
	int ret;

	ret = bl_ce_check_range(copy->target, copy->va, copy->len);
	if (!ret)
		ret = begin(cuda, copy, &entry);
	if (ret)
		return ret;
	ret = run_entered(cuda, copy, &entry);
	if (!entry.out)
		bl_cuda_leave(cuda, &entry.scope);
	return ret;
}
