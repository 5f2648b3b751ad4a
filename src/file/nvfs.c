// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/nvfs: " fmt
#include "nvfs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvfs_text.h"
#include "util/log.h"

#define NR_BUCKETS 256U

/*
 * @lock guards all of it, but for @watching_forks, for a moment each. fork() takes it, so no descriptor is opened or
 * closed under it: that waits for forks to end. @look_lock is taken before it, and held while the module is looked for.
 * A child of fork() begins with nothing: mappings and descriptors are the parent's, and no child gets them.
 */
static pthread_mutex_t look_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_nvfs_dev *device;
static struct bl_nvfs_pool *buckets[NR_BUCKETS];
static bool watching_forks;

/* What bl_nvfs_blocked() answers without the lock: NULL means that nobody has looked yet. */
static const char usable_text[] = "usable";
static _Atomic(const char *) answer;
static atomic_bool own;

static struct bl_nvfs_pool **bucket_of(bl_pin_t pin)
{
	return &buckets[(pin ^ pin >> 32) % NR_BUCKETS];
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* Nothing here is freed: what it stands for is the parent's, and a thread of it may have been at work on it. */
static void after_fork_child(void)
{
	device = NULL;
	memset(buckets, 0, sizeof(buckets));
	atomic_store(&answer, NULL);
	atomic_store(&own, false);
	pthread_mutex_unlock(&lock);
	pthread_mutex_init(&look_lock, NULL);
}

static const char *why_not(int err)
{
	switch (-err) {
	case ENOENT:
		return "no nvidia-fs module or device node: modprobe nvidia-fs; in a container, pass /dev/nvidia-fs0 "
		       "to 15";
	case EACCES:
	case EPERM:
		return "no permission for /dev/nvidia-fs0: the module's own mode is 0666, let udev or the container "
		       "keep it";
	case EPROTONOSUPPORT:
		return "a version of nvidia-fs that this library does not speak to: install 2.12 or later";
	case EINVAL:
		return "nvidia-fs is being unloaded: load it again";
	case ENODEV:
	case ENXIO:
		return "the nodes /dev/nvidia-fs* are stale: remove them and load the module again";
	default:
		return "nvidia-fs cannot be opened: BARLANE_LOG=warn says why";
	}
}

static const char *look(void)
{
	struct bl_nvfs_dev *dev = NULL;
	const char *text;
	char why[256];
	int ret;

	if (!watching_forks) {
		if (pthread_atfork(before_fork, after_fork_parent, after_fork_child))
			return "out of memory";
		watching_forks = true;
	}
	ret = bl_nvfs_dev_open(&dev, why, sizeof(why));
	if (ret == -ENOENT)
		log_debug("%s", why);
	else if (ret)
		log_warn("%s", why);
	else
		log_info("%s", why);
	text = ret ? why_not(ret) : usable_text;
	pthread_mutex_lock(&lock);
	device = dev;
	atomic_store(&own, dev && dev->own);
	atomic_store_explicit(&answer, text, memory_order_release);
	pthread_mutex_unlock(&lock);
	return text;
}

const char *bl_nvfs_blocked(void)
{
	const char *text = atomic_load_explicit(&answer, memory_order_acquire);

	if (!text) {
		pthread_mutex_lock(&look_lock);
		text = atomic_load(&answer);
		if (!text)
			text = look();
		pthread_mutex_unlock(&look_lock);
	}
	return text == usable_text ? NULL : text;
}

bool bl_nvfs_is_own(void)
{
	return atomic_load_explicit(&own, memory_order_relaxed);
}

bool bl_nvfs_hook(const char *name)
{
	char *text = NULL, key[64], version[64];
	bool there;

	if (bl_nvfs_blocked() || bl_nvfs_text_read(BL_NVFS_PROC "/modules", &text))
		return false;
	snprintf(key, sizeof(key), "%s:", name);
	there = bl_nvfs_text_value(text, key, version, sizeof(version));
	free(text);
	return there;
}

/* A module that is going takes the path with it, until the driver is opened again. */
static bool is_gone(void)
{
	if (!device)
		return true;
	if (!atomic_load(&device->gone))
		return false;
	atomic_store(&answer, "nvidia-fs was unloaded while it was in use: load it and open the driver again");
	return true;
}

static int find(bl_pin_t pin, struct bl_nvfs_pool **pool_p)
{
	if (is_gone())
		return -ENODEV;
	for (struct bl_nvfs_pool *pool = *bucket_of(pin); pool; pool = pool->next) {
		if (pool->key == pin) {
			*pool_p = bl_nvfs_pool_get(pool);
			return 0;
		}
	}
	return -ENOENT;
}

static int make(bl_pin_t pin, const struct bl_nvfs_range *range, struct bl_nvfs_pool **pool_p)
{
	struct bl_nvfs_pool **bucket = bucket_of(pin), *pool;
	int ret;

	ret = bl_nvfs_pool_new(device, range, pin, &pool);
	if (ret)
		return ret;
	pool->next = *bucket;
	*bucket = pool;
	*pool_p = bl_nvfs_pool_get(pool);
	return 0;
}

int bl_nvfs_pool_find(bl_pin_t pin, struct bl_nvfs_pool **pool_p)
{
	int ret;

	if (bl_nvfs_blocked())
		return -ENODEV;
	pthread_mutex_lock(&lock);
	ret = find(pin, pool_p);
	pthread_mutex_unlock(&lock);
	return ret;
}

int bl_nvfs_pool_make(bl_pin_t pin, const struct bl_nvfs_range *range, struct bl_nvfs_pool **pool_p)
{
	int ret;

	if (bl_nvfs_blocked())
		return -ENODEV;
	pthread_mutex_lock(&lock);
	ret = find(pin, pool_p);
	if (ret == -ENOENT)
		ret = make(pin, range, pool_p);
	pthread_mutex_unlock(&lock);
	return ret;
}

void bl_nvfs_forget(bl_pin_t pin)
{
	struct bl_nvfs_pool **link, *pool;

	if (atomic_load_explicit(&answer, memory_order_acquire) == NULL)
		return;
	pthread_mutex_lock(&lock);
	link = bucket_of(pin);
	while (*link && (*link)->key != pin)
		link = &(*link)->next;
	pool = *link;
	if (pool)
		*link = pool->next;
	pthread_mutex_unlock(&lock);
	if (!pool)
		return;
	atomic_store(&pool->dead, true);
	bl_nvfs_pool_put(pool);
}

void bl_nvfs_close(void)
{
	struct bl_nvfs_pool *all = NULL, *next;
	struct bl_nvfs_dev *dev;

	pthread_mutex_lock(&lock);
	dev = device;
	device = NULL;
	for (unsigned int i = 0; i < NR_BUCKETS; i++) {
		for (struct bl_nvfs_pool *pool = buckets[i]; pool; pool = next) {
			next = pool->next;
			pool->next = all;
			all = pool;
		}
		buckets[i] = NULL;
	}
	atomic_store(&answer, NULL);
	atomic_store(&own, false);
	pthread_mutex_unlock(&lock);
	for (; all; all = next) {
		next = all->next;
		atomic_store(&all->dead, true);
		bl_nvfs_pool_put(all);
	}
	if (dev)
		bl_nvfs_dev_put(dev);
}
