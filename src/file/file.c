// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file: " fmt
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "align.h"
#include "error.h"
#include "util/fork.h"
#include "util/log.h"
#include "util/ref.h"
#include "util/slots.h"

/* What cuFile refuses; O_NOCTTY is none of the flags that the kernel keeps. */
#define REFUSED_FLAGS (O_APPEND | O_NONBLOCK | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_TMPFILE | O_PATH)

/* Guards the slots, the list of unused structs, and @by_fd: handle of each registered descriptor, 0 none. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_slots slots;
static struct bl_file *unused;
static uint64_t *by_fd;
static size_t nr_by_fd;

static int examine(struct bl_file *file)
{
	struct statfs fs;
	struct stat st;

	if (file->fd < 0 || fstat(file->fd, &st))
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("fd %d: no open file"), file->fd);
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_FILE_TYPE),
			       log_fmt("fd %d: neither a regular file nor a block device"), file->fd);
	file->flags = fcntl(file->fd, F_GETFL);
	if (file->flags < 0)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("fd %d: %s"), file->fd, strerror(errno));
	if (file->flags & REFUSED_FLAGS)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_FILE_OPEN_FLAG),
			       log_fmt("fd %d: open flags 0%o: none of 0%o may be set"), file->fd,
			       (unsigned int)file->flags, (unsigned int)REFUSED_FLAGS);
	file->dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	file->ino = st.st_ino;
	file->magic = fstatfs(file->fd, &fs) ? 0 : (long)fs.f_type;
	file->device = true;
	return 0;
}

/* A descriptor that no child of this process keeps open. */
static int own_fd(int fd, int *fd_p)
{
	int ret, own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own < 0)
		return fail(errno, "fd %d: cannot be duplicated: %s", fd, strerror(errno));
	ret = bl_fork_fd_add(own);
	if (ret) {
		close(own);
		return fail(-ret, "fd %d: out of memory", fd);
	}
	*fd_p = own;
	return 0;
}

static void drop_fd(atomic_int *fd)
{
	int own = atomic_exchange(fd, -1);

	if (own < 0)
		return;
	bl_fork_fd_remove(own);
	close(own);
}

static struct bl_file *take_unused(void)
{
	struct bl_file *file;
	bool fresh;

	pthread_mutex_lock(&lock);
	file = unused;
	if (file)
		unused = file->next_free;
	pthread_mutex_unlock(&lock);
	fresh = !file;
	if (fresh)
		file = aligned_alloc(_Alignof(struct bl_file), sizeof(*file));
	if (file && fresh)
		memset(file, 0, sizeof(*file));
	return file;
}

static void give_unused(struct bl_file *file)
{
	pthread_mutex_lock(&lock);
	file->next_free = unused;
	unused = file;
	pthread_mutex_unlock(&lock);
}

static int reserve_by_fd(int fd)
{
	size_t nr = nr_by_fd ? nr_by_fd : 64;
	uint64_t *table;

	while (nr <= (size_t)fd)
		nr *= 2;
	if (nr == nr_by_fd)
		return 0;
	table = realloc(by_fd, nr * sizeof(*table));
	if (!table)
		return -ENOMEM;
	memset(table + nr_by_fd, 0, (nr - nr_by_fd) * sizeof(*table));
	by_fd = table;
	nr_by_fd = nr;
	return 0;
}

/* The same number may stand for another file by now: then its old registration is no obstacle. */
static bool registered(const struct bl_file *file)
{
	const struct bl_file *old;

	if (!by_fd[file->fd])
		return false;
	old = bl_slots_object(&slots, by_fd[file->fd]);
	return old && old->dev == file->dev && old->ino == file->ino;
}

static int publish(struct bl_file *file, uint64_t *handle_p)
{
	int ret;

	pthread_mutex_lock(&lock);
	ret = reserve_by_fd(file->fd);
	if (!ret && registered(file))
		ret = BL_CUFILE(CU_FILE_HANDLE_ALREADY_REGISTERED);
	if (!ret)
		ret = bl_slots_add(&slots, file, &file->handle);
	if (!ret) {
		by_fd[file->fd] = file->handle;
		*handle_p = file->handle;
		/* release: who finds the handle and gets a reference sees all that was stored before */
		atomic_store_explicit(&file->refs, 1, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	if (ret == BL_CUFILE(CU_FILE_HANDLE_ALREADY_REGISTERED))
		return bl_fail(-ret, log_fmt("fd %d: registered already"), file->fd);
	return ret ? fail(-ret, "fd %d: no room for another handle", file->fd) : 0;
}

static void reset(struct bl_file *file, int fd)
{
	file->fd = fd;
	atomic_store(&file->direct_fd, -1);
	atomic_store(&file->cached_fd, -1);
	atomic_store(&file->no_nowait, false);
	atomic_store(&file->told, 0);
	atomic_store(&file->nvfs, NULL);
	atomic_store(&file->pages, NULL);
	for (int path = 0; path < BL_PATH_NR; path++) {
		for (int dir = 0; dir < 2; dir++) {
			atomic_store(&file->counts[path].calls[dir], 0);
			atomic_store(&file->counts[path].bytes[dir], 0);
		}
	}
}

int bl_file_add(int fd, uint64_t *handle_p)
{
	struct bl_file *file = take_unused();
	int ret, own = -1;

	if (!file)
		return fail(ENOMEM, "fd %d: out of memory", fd);
	reset(file, fd);
	ret = examine(file);
	if (ret)
		goto free_file;
	ret = own_fd(fd, &own);
	if (ret)
		goto free_file;
	atomic_store(file->flags & O_DIRECT ? &file->direct_fd : &file->cached_fd, own);
	file->align = bl_align_of(own);
	ret = publish(file, handle_p);
	if (ret)
		goto close_fd;
	return 0;
close_fd:
	drop_fd(file->flags & O_DIRECT ? &file->direct_fd : &file->cached_fd);
free_file:
	give_unused(file);
	return ret;
}

void bl_file_hold(struct bl_file *file)
{
	atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
}

void bl_file_put(struct bl_file *file)
{
	if (!bl_ref_put(&file->refs))
		return;
	drop_fd(&file->direct_fd);
	drop_fd(&file->cached_fd);
	give_unused(file);
}

/* The handle goes at once, the file with the last request. */
static struct bl_file *take(uint64_t handle)
{
	struct bl_file *file;

	pthread_mutex_lock(&lock);
	file = bl_slots_object(&slots, handle);
	if (file) {
		bl_slots_remove(&slots, handle);
		if (by_fd[file->fd] == handle)
			by_fd[file->fd] = 0;
	}
	pthread_mutex_unlock(&lock);
	return file;
}

int bl_file_remove(uint64_t handle)
{
	struct bl_file *file = take(handle);

	if (!file)
		return bl_fail_quiet(-BL_CUFILE(CU_FILE_HANDLE_NOT_REGISTERED), log_fmt("handle 0x%llx: not registered"),
				     (unsigned long long)handle);
	bl_file_put(file);
	return 0;
}

void bl_file_remove_all(void)
{
	struct bl_slot *slot;
	uint64_t handle;

	for (uint32_t i = 1; (slot = bl_slots_find(&slots, i)); i++) {
		handle = atomic_load(&slot->id);
		if (handle)
			bl_file_remove(handle);
	}
}

static bool was_given_out(uint64_t handle)
{
	struct bl_slot *slot = bl_slots_find(&slots, handle);
	bool was;

	pthread_mutex_lock(&lock);
	was = slot && handle >> 32 && handle >> 32 <= slot->generation;
	pthread_mutex_unlock(&lock);
	return was;
}

struct bl_file *bl_file_get(uint64_t handle, bool *was_valid_p)
{
	struct bl_slot *slot = bl_slots_find(&slots, handle);
	struct bl_file *file = NULL;

	if (slot && handle && atomic_load_explicit(&slot->id, memory_order_acquire) == handle)
		file = atomic_load_explicit(&slot->object, memory_order_relaxed);
	if (file && bl_ref_get(&file->refs)) {
		/* the struct may have been used anew in between: it is the right one while the handle is valid */
		if (atomic_load(&slot->id) == handle && file->handle == handle)
			return file;
		bl_file_put(file);
	}
	if (was_valid_p)
		*was_valid_p = was_given_out(handle);
	return NULL;
}

void bl_file_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	bl_slots_forget(&slots);
	/* descriptors were closed at the fork; structs may be in any state, and are few */
	unused = NULL;
	for (size_t i = 0; i < nr_by_fd; i++)
		by_fd[i] = 0;
}
