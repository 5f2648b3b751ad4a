// SPDX-License-Identifier: MIT
/* Engine "push": where it is enabled, finding the channel of a context, and the checks before a read. */
#define log_fmt(fmt) "gpu/push: " fmt
#include "push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "core.h"
#include "util/log.h"

#define MAX_GPUS	64
#define DEFAULT_IDLE_US 1000U
#define MAX_IDLE_US	1000000U

_Atomic(size_t) bl_push_from = SIZE_MAX;

/**
 * struct gpu - what is set for a GPU
 * @idle_us: when the kernel leaves; 0: not enabled
 * @unusable: "auto" tried, and no channel could be made
 * @asked_ns: when "auto" looked for the kernel last
 */
struct gpu {
	_Atomic(unsigned int) idle_us;
	_Atomic(bool) unusable;
	_Atomic(uint64_t) asked_ns;
};

static struct gpu gpus[MAX_GPUS];
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* also for who enables and disables */
static struct bl_push *channels;
static atomic_bool initialised;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

unsigned int bl_push_env_us(const char *name, unsigned int fallback, unsigned int max)
{
	const char *text = getenv(name);
	unsigned long us;
	char *end;

	if (!text || !*text)
		return fallback;
	us = strtoul(text, &end, 10);
	if (!*end && us && us <= max)
		return (unsigned int)us;
	log_warn("%s %s ignored: it is not 1 ... %u microseconds", name, text, max);
	return fallback;
}

static unsigned int default_idle_us(void)
{
	return bl_push_env_us("BARLANE_PUSH_IDLE_US", DEFAULT_IDLE_US, MAX_IDLE_US);
}

/* The list's lock is held. */
static void set_idle(int device, unsigned int idle_us)
{
	size_t from = SIZE_MAX;

	atomic_store(&gpus[device].idle_us, idle_us);
	atomic_store(&gpus[device].unusable, false);
	for (int i = 0; i < MAX_GPUS; i++) {
		if (atomic_load(&gpus[i].idle_us))
			from = BL_PUSH_AUTO_MIN;
	}
	atomic_store(&bl_push_from, from);
}

void bl_push_enable_all(void)
{
	unsigned int idle_us = default_idle_us();

	pthread_mutex_lock(&list_lock);
	for (int i = 0; i < MAX_GPUS; i++) {
		if (!atomic_load(&gpus[i].idle_us))
			set_idle(i, idle_us);
	}
	pthread_mutex_unlock(&list_lock);
}

void bl_push_init(void)
{
	const char *text;

	if (atomic_exchange(&initialised, true))
		return;
	text = getenv("BARLANE_PUSH");
	if (!text || !*text || !strcmp(text, "0"))
		return;
	if (!strcmp(text, "1"))
		bl_push_enable_all();
	else
		log_warn("BARLANE_PUSH %s ignored: it is neither 0 nor 1", text);
}

void bl_push_forget(void)
{
	pthread_mutex_init(&list_lock, NULL);
	channels = NULL;
	for (int i = 0; i < MAX_GPUS; i++)
		atomic_store(&gpus[i].idle_us, 0);
	atomic_store(&bl_push_from, SIZE_MAX);
	atomic_store(&initialised, false);
}

static bool is_alive(const struct bl_cuda *cuda, const struct bl_push *push)
{
	return bl_cuda_ptr_holds(cuda, push->doorbell_va, push->sentinel);
}

/* What runs with the old time leaves, and so does what shall not run any more. The list's lock is held. */
static void stop_all(const struct bl_cuda *cuda, int device)
{
	for (struct bl_push *push = channels; push; push = push->next) {
		if (push->ordinal != device)
			continue;
		pthread_mutex_lock(&push->lock);
		if (!push->dead && is_alive(cuda, push))
			bl_push_stop(push);
		pthread_mutex_unlock(&push->lock);
	}
}

/* 0 when there is such a device, and a driver that can do it. */
static int check_device(const struct bl_cuda *cuda, int device)
{
	CUresult err;
	int nr = 0;

	if (!cuda)
		return fail(ENODEV, "device %d: %s", device, bl_cuda_error());
	err = cuda->cuDeviceGetCount(&nr);
	if (err)
		return fail(ENODEV, "device %d: cuDeviceGetCount: %s", device, bl_cuda_strerror(err));
	if (device < 0 || device >= nr || device >= MAX_GPUS)
		return fail(ENODEV, "device %d: there are %d", device, nr);
	return 0;
}

static int set(int device, unsigned int idle_us)
{
	const struct bl_cuda *cuda;
	int ret;

	ret = bl_check_owner();
	if (ret)
		return ret;
	cuda = bl_cuda();
	ret = check_device(cuda, device);
	if (ret)
		return ret;
	/* the variable was for what comes before the first call */
	bl_push_init();
	pthread_mutex_lock(&list_lock);
	set_idle(device, idle_us);
	stop_all(cuda, device);
	pthread_mutex_unlock(&list_lock);
	return 0;
}

int bl_push_enable(int device, unsigned int idle_us)
{
	if (idle_us > MAX_IDLE_US)
		return fail(EINVAL, "idle time %u us: at most %u", idle_us, MAX_IDLE_US);
	return set(device, idle_us ? idle_us : default_idle_us());
}

int bl_push_disable(int device)
{
	return set(device, 0);
}

/* Memory of contexts that are gone: the pin of the doorbell is given back; the rest stays, as who polls may look. */
static void bury(const struct bl_cuda *cuda)
{
	struct bl_push **link = &channels, *push;

	while ((push = *link)) {
		if (is_alive(cuda, push) || pthread_mutex_trylock(&push->lock)) {
			link = &push->next;
			continue;
		}
		push->dead = true;
		*link = push->next;
		atomic_store(&push->state, BL_PUSH_NONE);
		bl_close(push->ctx);
		/* the pages go, the addresses stay */
		madvise(push->words, BL_PUSH_HOST_SIZE, MADV_DONTNEED);
		pthread_mutex_unlock(&push->lock);
	}
}

static int create(const struct bl_cuda *cuda, const struct bl_ce_target *target, const char *provider,
		  struct bl_push **push_p)
{
	struct bl_cuda_scope scope;
	int ret;

	ret = bl_ce_enter(cuda, target, &scope);
	if (ret)
		return ret;
	ret = bl_push_create(cuda, target, provider, push_p);
	bl_cuda_leave(cuda, &scope);
	if (!ret)
		return 0;
	/* "auto" does not try again at every read */
	if (ret != -EINVAL)
		atomic_store(&gpus[target->ordinal].unusable, true);
	return ret;
}

/* As for ce: memory of a context that is still there proves that its channel is; other memory proves nothing. */
static int find_channel(const struct bl_cuda *cuda, struct bl_ce_target *target, const char *provider,
			struct bl_push **push_p)
{
	struct bl_push *push = atomic_load_explicit(&target->push, memory_order_acquire);
	int ret = 0;

	if (push && (!target->shared || is_alive(cuda, push))) {
		*push_p = push;
		return 0;
	}
	pthread_mutex_lock(&list_lock);
	bury(cuda);
	for (push = channels; push && (push->context != target->context || !is_alive(cuda, push)); push = push->next)
		;
	if (!push) {
		ret = create(cuda, target, provider, &push);
		if (!ret) {
			push->next = channels;
			channels = push;
		}
	}
	pthread_mutex_unlock(&list_lock);
	if (ret)
		return ret;
	atomic_store_explicit(&target->push, push, memory_order_release);
	*push_p = push;
	return 0;
}

static unsigned int idle_of(const struct bl_ce_target *target)
{
	if (target->ordinal < 0 || target->ordinal >= MAX_GPUS)
		return 0;
	return atomic_load_explicit(&gpus[target->ordinal].idle_us, memory_order_relaxed);
}

static bool is_resident(const struct bl_push *push)
{
	return atomic_load_explicit(&push->state, memory_order_relaxed) == BL_PUSH_STARTED &&
	       __atomic_load_n(&push->words->block[0].left, __ATOMIC_RELAXED) !=
		       atomic_load_explicit(&push->gen, memory_order_relaxed);
}

bool bl_push_wanted(const struct bl_ce_target *target, enum bl_copy_dir dir, size_t len)
{
	const struct bl_push *push = atomic_load_explicit(&target->push, memory_order_acquire);
	unsigned int idle_us = idle_of(target);
	uint64_t now, asked;

	if (!idle_us || dir != BL_COPY_FROM || len < BL_PUSH_AUTO_MIN || len > BL_PUSH_AUTO_MAX)
		return false;
	if (atomic_load_explicit(&gpus[target->ordinal].unusable, memory_order_relaxed))
		return false;
	if (push && is_resident(push))
		return true;
	now = now_ns();
	asked = atomic_exchange_explicit(&gpus[target->ordinal].asked_ns, now, memory_order_relaxed);
	return asked && now - asked < (uint64_t)idle_us * 1000;
}

static int check_copy(const struct bl_cuda *cuda, const struct bl_ce_copy *copy)
{
	const struct bl_ce_target *target = copy->target;

	if (copy->dir != BL_COPY_FROM)
		return fail(EOPNOTSUPP, "engine push reads only: write with cpu or ce");
	if (!idle_of(target))
		return fail(EOPNOTSUPP, "device %d: engine push is not enabled: call bl_push_enable(), or set "
			    "BARLANE_PUSH=1", target->ordinal);
	if (copy->len > BL_PUSH_MAX_LEN)
		return fail(EOPNOTSUPP, "len 0x%zx: engine push reads at most %lu bytes", copy->len, BL_PUSH_MAX_LEN);
	if (!cuda->cuMemHostRegister || !cuda->cuMemHostGetDevicePointer)
		return fail(EOPNOTSUPP, "engine push: the driver library cannot register host memory");
	if ((copy->va + copy->len) >> BL_PUSH_TAG_SHIFT)
		return fail(EOPNOTSUPP, "va 0x%" PRIx64 ": too large an address for engine push", copy->va);
	return bl_ce_check_range(copy->target, copy->va, copy->len);
}

/*
 * A kernel that loads from memory which is gone is a device error of the whole context, so this is asked for each copy.
 * Memory of no context may be mapped in pieces: both ends count.
 */
static int prove(const struct bl_cuda *cuda, const struct bl_ce_copy *copy)
{
	const struct bl_ce_target *target = copy->target;
	bool held;

	if (target->shared)
		held = bl_cuda_ptr_holds(cuda, copy->va, target->buffer_id) &&
		       bl_cuda_ptr_holds(cuda, copy->va + copy->len - 1, target->buffer_id);
	else
		held = bl_cuda_ptr_holds(cuda, target->asked, target->buffer_id);
	if (held)
		return 0;
	return fail(EINVAL, "va 0x%" PRIx64 ": CUDA does not have the memory any more (freed, or its context "
		    "destroyed)", copy->va);
}

int bl_push_run(const struct bl_cuda *cuda, const char *provider, const struct bl_ce_copy *copy, bool *begun_p)
{
	struct bl_push *push;
	int ret;

	*begun_p = false;
	ret = check_copy(cuda, copy);
	if (!ret)
		ret = prove(cuda, copy);
	if (!ret)
		ret = find_channel(cuda, copy->target, provider, &push);
	if (ret)
		return ret;
	pthread_mutex_lock(&push->lock);
	if (push->dead)
		ret = fail(EINVAL, "va 0x%" PRIx64 ": its context was destroyed", copy->va);
	else
		ret = bl_push_serve(cuda, push, copy, idle_of(copy->target), begun_p);
	pthread_mutex_unlock(&push->lock);
	return ret;
}
