// SPDX-License-Identifier: MIT
/* Making the file of this process. Without it all counts the same, and nobody else sees it. */
#define log_fmt(fmt) "file/stats: " fmt
#include "stats_export.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/cuda.h"
#include "stats_file.h"
#include "util/log.h"

static char made[4096];

/*
 * What lies there under this name is of a process that is no more, as its number is ours; or of one in another PID namespace
 * that shares the folder. That may live, but cannot be told from one that was killed, and would be in the way for ever.
 */
static int make_file(const char *path)
{
	int fd, ret;

	if (unlink(path) && errno != ENOENT)
		return -errno;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	/* memory is taken now: a full file system must not end the process at some later addition */
	do {
		ret = -posix_fallocate(fd, 0, sizeof(struct bl_stats_shm));
	} while (ret == -EINTR);
	if (!ret)
		return fd;
	close(fd);
	unlink(path);
	return ret;
}

static struct bl_stats_shm *map_file(const char *path, int fd)
{
	void *addr = mmap(NULL, sizeof(struct bl_stats_shm), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	if (addr != MAP_FAILED)
		return addr;
	log_info("%s: map: %s", path, strerror(errno));
	unlink(path);
	return NULL;
}

int bl_stats_uuids(uint8_t uuid[BL_STATS_GPUS][16])
{
	const struct bl_cuda *cuda = bl_cuda();
	int nr = 0;

	if (!cuda || cuda->cuDeviceGetCount(&nr))
		return 0;
	nr = nr < BL_STATS_GPUS ? nr : BL_STATS_GPUS;
	for (int i = 0; i < nr; i++) {
		CUuuid id;
		CUdevice dev;

		memset(uuid[i], 0, 16);
		if (cuda->cuDeviceGetUuid && !cuda->cuDeviceGet(&dev, i) && !cuda->cuDeviceGetUuid(&id, dev))
			memcpy(uuid[i], id.bytes, 16);
	}
	return nr;
}

struct bl_stats_shm *bl_stats_file_make(unsigned int level, uint64_t begun_ns)
{
	struct bl_stats_shm *shm = NULL;
	uint64_t started;
	int fd = -ENOENT;

	if (bl_stats_started(getpid(), &started)) {
		log_info("no /proc: nobody else sees the counters");
		return NULL;
	}
	bl_stats_files_sweep();
	for (int i = 0; fd < 0 && bl_stats_dir(i); i++) {
		if (!bl_stats_name(bl_stats_dir(i), getpid(), made, sizeof(made)))
			fd = make_file(made);
	}
	if (fd >= 0)
		shm = map_file(made, fd);
	else
		log_info("%s: %s; nobody else sees the counters", made, strerror(-fd));
	if (!shm) {
		*made = '\0';
		return NULL;
	}
	shm->version = BL_STATS_VERSION;
	shm->size = sizeof(*shm);
	shm->pid = (uint32_t)getpid();
	shm->level = level;
	shm->started = started;
	shm->begun_ns = begun_ns;
	shm->pid_ns = bl_stats_pid_ns();
	shm->nr_gpus = (uint32_t)bl_stats_uuids(shm->uuid);
	atomic_store_explicit(&shm->magic, BL_STATS_MAGIC, memory_order_release);
	return shm;
}

void bl_stats_file_remove(void)
{
	if (*made)
		unlink(made);
	*made = '\0';
}

void bl_stats_file_forget(void)
{
	*made = '\0';
}
