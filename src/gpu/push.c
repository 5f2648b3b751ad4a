// SPDX-License-Identifier: MIT
/* Engine "push": where it is enabled, who gets a channel, and the checks before a read. */
#define log_fmt(fmt) "gpu/push: " fmt
#include "push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "util/clock.h"
#include "util/log.h"

#define MAX_GPUS	64
#define DEFAULT_IDLE_US 1000U
#define MAX_IDLE_US	1000000U

_Atomic(size_t) bl_push_from = SIZE_MAX;

/**
 * struct gpu - what is set for a GPU
 * @idle_us: when the kernel leaves; 0: not enabled
 * @unusable: no channel could be made; a mapping does not try again
 * @asked_ns: when "auto" looked for the kernel last
 * @from: shortest read for "auto", under the lock; 0 before it was enabled for the first time
 */
struct gpu {
	_Atomic(unsigned int) idle_us;
	_Atomic(bool) unusable;
	_Atomic(uint64_t) asked_ns;
	size_t from;
};

static struct gpu gpus[MAX_GPUS];
static pthread_mutex_t gpus_lock = PTHREAD_MUTEX_INITIALIZER; /* for who enables and disables */
static atomic_bool initialised, anywhere;

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

/* The lock is held. */
static void publish(void)
{
	size_t from = SIZE_MAX;
	bool any = false;

	for (int i = 0; i < MAX_GPUS; i++) {
		if (!atomic_load(&gpus[i].idle_us))
			continue;
		any = true;
		from = gpus[i].from < from ? gpus[i].from : from;
	}
	atomic_store(&anywhere, any);
	atomic_store(&bl_push_from, from);
}

/* The lock is held. */
static void set_idle(int device, unsigned int idle_us)
{
	if (!gpus[device].from)
		gpus[device].from = BL_PUSH_FROM;
	atomic_store(&gpus[device].idle_us, idle_us);
	atomic_store(&gpus[device].unusable, false);
	publish();
}

void bl_push_begin_at(int device, size_t from)
{
	pthread_mutex_lock(&gpus_lock);
	gpus[device].from = from;
	publish();
	pthread_mutex_unlock(&gpus_lock);
}

void bl_push_enable_all(void)
{
	unsigned int idle_us = default_idle_us();

	pthread_mutex_lock(&gpus_lock);
	for (int i = 0; i < MAX_GPUS; i++) {
		if (!atomic_load(&gpus[i].idle_us))
			set_idle(i, idle_us);
	}
	pthread_mutex_unlock(&gpus_lock);
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
	pthread_mutex_init(&gpus_lock, NULL);
	bl_push_forget_channels();
	for (int i = 0; i < MAX_GPUS; i++) {
		atomic_store(&gpus[i].idle_us, 0);
		gpus[i].from = 0;
	}
	atomic_store(&anywhere, false);
	atomic_store(&bl_push_from, SIZE_MAX);
	atomic_store(&initialised, false);
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
	pthread_mutex_lock(&gpus_lock);
	set_idle(device, idle_us);
	pthread_mutex_unlock(&gpus_lock);
	/* what runs with the old time leaves, and so does what shall not run any more; no lock of "auto" is held */
	bl_push_stop_all(cuda, device);
	return 0;
}

/* What has no channel yet gets it before kernels run that it would have to wait for. Not to get it is no error here. */
static void prepare_current(int device)
{
	const struct bl_cuda *cuda = bl_cuda();
	struct bl_cuda_ptr where = { .ordinal = device };
	struct bl_push *push;
	CUdevice current;
	int ret;

	if (cuda->cuDeviceGet(&where.device, device) || cuda->cuCtxGetCurrent(&where.context) || !where.context ||
	    cuda->cuCtxGetDevice(&current) || current != where.device)
		return;
	bl_fail_hush(1);
	ret = bl_push_make(cuda, &where, NULL, &push);
	bl_fail_hush(-1);
	if (ret)
		log_info("device %d: no channel for the current context: %s", device, bl_last_error(NULL));
}

int bl_push_enable(int device, unsigned int idle_us)
{
	int ret;

	if (idle_us > MAX_IDLE_US)
		return fail(EINVAL, "idle time %u us: at most %u", idle_us, MAX_IDLE_US);
	ret = set(device, idle_us ? idle_us : default_idle_us());
	if (!ret)
		prepare_current(device);
	return ret;
}

int bl_push_disable(int device)
{
	return set(device, 0);
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

bool bl_push_anywhere(void)
{
	return atomic_load_explicit(&anywhere, memory_order_relaxed);
}

int bl_push_prepare(const struct bl_cuda *cuda, struct bl_ce_target *target, const char *provider)
{
	struct bl_push *push;
	int ret;

	if (!idle_of(target) || atomic_load(&gpus[target->ordinal].unusable))
		return 0;
	ret = bl_push_channel(cuda, target, provider, &push);
	/* memory that went away says nothing about the GPU */
	if (ret && ret != -EINVAL)
		atomic_store(&gpus[target->ordinal].unusable, true);
	return ret;
}

bool bl_push_enabled(const struct bl_ce_target *target)
{
	return idle_of(target);
}

bool bl_push_usable(const struct bl_cuda *cuda, struct bl_ce_target *target)
{
	return idle_of(target) && bl_push_known(cuda, target);
}

bool bl_push_wanted(const struct bl_cuda *cuda, struct bl_ce_target *target)
{
	const struct bl_push *push = bl_push_known(cuda, target);
	uint64_t now, asked;

	if (!push)
		return false;
	if (is_resident(push))
		return true;
	now = bl_now_ns();
	asked = atomic_exchange_explicit(&gpus[target->ordinal].asked_ns, now, memory_order_relaxed);
	return asked && now - asked < (uint64_t)idle_of(target) * 1000;
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
	if (ret)
		return ret;
	if (provider)
		ret = bl_push_channel(cuda, copy->target, provider, &push);
	else if (!(push = bl_push_known(cuda, copy->target)))
		ret = fail(EBUSY, "va 0x%" PRIx64 ": its context has no channel for engine push", copy->va);
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
