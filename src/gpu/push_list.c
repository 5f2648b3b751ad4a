// SPDX-License-Identifier: MIT
/* The channels of all contexts: finding one, making one, forgetting those whose context is gone. */
#define log_fmt(fmt) "gpu/push: " fmt
#include "push.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "core.h"
#include "util/log.h"

static pthread_mutex_t make_lock = PTHREAD_MUTEX_INITIALIZER; /* held while CUDA may wait for kernels */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_push *channels;

void bl_push_forget_channels(void)
{
	pthread_mutex_init(&make_lock, NULL);
	pthread_mutex_init(&list_lock, NULL);
	channels = NULL;
}

static bool is_alive(const struct bl_cuda *cuda, const struct bl_push *push)
{
	return bl_cuda_ptr_holds(cuda, push->doorbell_va, push->sentinel);
}

void bl_push_stop_all(const struct bl_cuda *cuda, int device)
{
	pthread_mutex_lock(&list_lock);
	for (struct bl_push *push = channels; push; push = push->next) {
		if (push->ordinal != device)
			continue;
		pthread_mutex_lock(&push->lock);
		if (!push->dead && is_alive(cuda, push))
			bl_push_stop(push);
		pthread_mutex_unlock(&push->lock);
	}
	pthread_mutex_unlock(&list_lock);
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

/* A context that was destroyed and one that was made after it can have the same address. */
static struct bl_push *find(const struct bl_cuda *cuda, CUcontext context)
{
	struct bl_push *push = channels;

	while (push && (push->context != context || !is_alive(cuda, push)))
		push = push->next;
	return push;
}

static void add(struct bl_push *push)
{
	pthread_mutex_lock(&list_lock);
	push->next = channels;
	channels = push;
	pthread_mutex_unlock(&list_lock);
}

static int create(const struct bl_cuda *cuda, const struct bl_cuda_ptr *where, const char *provider,
		  struct bl_push **push_p)
{
	struct bl_cuda_scope scope;
	int ret;

	ret = bl_cuda_enter(cuda, where, &scope);
	if (ret)
		return ret;
	ret = bl_push_create(cuda, where, provider, push_p);
	bl_cuda_leave(cuda, &scope);
	if (!ret)
		add(*push_p);
	return ret;
}

int bl_push_make(const struct bl_cuda *cuda, const struct bl_cuda_ptr *where, const char *provider,
		 struct bl_push **push_p)
{
	int ret = 0;

	pthread_mutex_lock(&list_lock);
	*push_p = find(cuda, where->context);
	pthread_mutex_unlock(&list_lock);
	/* who has a channel does not wait for those who make one */
	if (*push_p)
		return 0;
	pthread_mutex_lock(&make_lock);
	pthread_mutex_lock(&list_lock);
	bury(cuda);
	*push_p = find(cuda, where->context);
	pthread_mutex_unlock(&list_lock);
	if (!*push_p)
		ret = create(cuda, where, provider, push_p);
	pthread_mutex_unlock(&make_lock);
	return ret;
}

/* As for ce: memory of a context that is still there proves that its channel is; other memory proves nothing. */
static struct bl_push *remembered(const struct bl_cuda *cuda, struct bl_ce_target *target)
{
	struct bl_push *push = atomic_load_explicit(&target->push, memory_order_acquire);

	return push && (!target->shared || is_alive(cuda, push)) ? push : NULL;
}

struct bl_push *bl_push_known(const struct bl_cuda *cuda, struct bl_ce_target *target)
{
	struct bl_push *push = remembered(cuda, target);

	/* whoever has the lock may be waiting for a read; this must not */
	if (push || pthread_mutex_trylock(&list_lock))
		return push;
	push = find(cuda, target->context);
	pthread_mutex_unlock(&list_lock);
	if (push)
		atomic_store_explicit(&target->push, push, memory_order_release);
	return push;
}

int bl_push_channel(const struct bl_cuda *cuda, struct bl_ce_target *target, const char *provider,
		    struct bl_push **push_p)
{
	const struct bl_cuda_ptr where = {
		.va = target->asked, .ordinal = target->ordinal, .device = target->device, .context = target->context};
	int ret;

	*push_p = remembered(cuda, target);
	if (*push_p)
		return 0;
	ret = bl_ce_check_target(cuda, target);
	if (!ret)
		ret = bl_push_make(cuda, &where, provider, push_p);
	if (!ret)
		atomic_store_explicit(&target->push, *push_p, memory_order_release);
	return ret;
}
