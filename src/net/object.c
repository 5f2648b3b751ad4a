// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/object: " fmt
#include "object.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "net/log.h"

#define BUCKETS 1024

static struct bl_object *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic(unsigned int) forks;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void after_fork_child(void)
{
	pthread_mutex_unlock(&lock);
	atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

unsigned int bl_object_forks(void)
{
	pthread_once(&once, watch_forks);
	return atomic_load(&forks);
}

const char *bl_object_name(enum bl_object_kind kind)
{
	static const char *const names[] = {
		[BL_CONTEXT] = "context", [BL_PD] = "protection domain", [BL_MR] = "memory region",
		[BL_UMEM] = "umem",	  [BL_UAR] = "UAR",		 [BL_CQ] = "completion queue",
		[BL_QP] = "queue pair",	  [BL_SRQ] = "shared receive queue",
		[BL_GPU] = "GPU",	  [BL_GPU_QP] = "exported queue pair",
		[BL_GPU_ARRAY] = "array of queue pairs",
		[BL_GPU_FLAT_LIST] = "flat list of queue pairs",
		[BL_GPU_QP_HL] = "high-level queue pair",
		[BL_GPU_GROUP_HL] = "group of queue pairs",
		[BL_GPU_SERVICE] = "service",
	};

	return names[kind];
}

static struct bl_object **bucket_of(const void *key)
{
	uint64_t mixed = (uintptr_t)key * 0x9e3779b97f4a7c15U;

	return &buckets[mixed >> 54];
}

/* Where the pointer to an object lies, or the NULL at the end. */
static struct bl_object **find(enum bl_object_kind kind, const void *key)
{
	struct bl_object **place = bucket_of(key);

	while (*place && ((*place)->key != key || (*place)->kind != kind))
		place = &(*place)->next;
	return place;
}

static void insert(struct bl_object *object)
{
	struct bl_object **place = bucket_of(object->key);

	object->next = *place;
	*place = object;
}

void bl_object_add(struct bl_object *object, enum bl_object_kind kind, const void *key, struct bl_object *parent)
{
	object->key = key;
	object->kind = kind;
	object->refs = 0;
	object->forks = bl_object_forks();
	object->parent = parent;
	pthread_mutex_lock(&lock);
	if (parent)
		parent->refs++;
	insert(object);
	pthread_mutex_unlock(&lock);
}

static int unknown(enum bl_object_kind kind, const void *key)
{
	if (!key)
		return fail(EINVAL, "%s NULL", bl_object_name(kind));
	return fail(EINVAL, "%s %p: destroyed, or never made by this library", bl_object_name(kind), key);
}

static int inherited_object(enum bl_object_kind kind, const void *key)
{
	return fail(EACCES, "%s %p: made before this process was forked; open a device of its own", bl_object_name(kind),
		    key);
}

int bl_object_get(enum bl_object_kind kind, const void *key, struct bl_object **object_p)
{
	struct bl_object *object;
	bool inherited;

	pthread_mutex_lock(&lock);
	object = *find(kind, key);
	inherited = object && object->forks != atomic_load(&forks);
	if (object && !inherited)
		object->refs++;
	pthread_mutex_unlock(&lock);
	if (!object)
		return unknown(kind, key);
	if (inherited)
		return inherited_object(kind, key);
	*object_p = object;
	return 0;
}

void bl_object_hold(struct bl_object *object)
{
	pthread_mutex_lock(&lock);
	object->refs++;
	pthread_mutex_unlock(&lock);
}

void bl_object_put(struct bl_object *object)
{
	pthread_mutex_lock(&lock);
	object->refs--;
	pthread_mutex_unlock(&lock);
}

int bl_object_take(enum bl_object_kind kind, const void *key, bool inherited, struct bl_object **object_p)
{
	struct bl_object **place, *object;
	unsigned int refs = 0;
	bool foreign = false;

	pthread_mutex_lock(&lock);
	place = find(kind, key);
	object = *place;
	if (object) {
		foreign = object->forks != atomic_load(&forks);
		refs = foreign ? 0 : object->refs;
		if (!refs && (!foreign || inherited))
			*place = object->next;
	}
	pthread_mutex_unlock(&lock);
	if (!object)
		return unknown(kind, key);
	if (foreign && !inherited)
		return inherited_object(kind, key);
	if (refs)
		return fail(EBUSY, "%s %p: %u users are left", bl_object_name(kind), key, refs);
	*object_p = object;
	return 0;
}

void bl_object_untake(struct bl_object *object)
{
	pthread_mutex_lock(&lock);
	insert(object);
	pthread_mutex_unlock(&lock);
}

void bl_object_free_parent(struct bl_object *object)
{
	if (object->parent)
		bl_object_put(object->parent);
}
