// SPDX-License-Identifier: MIT
/* path_nvfs.c - path "nvfs": which requests it takes, and from a request of the lane to one of the module */
#define log_fmt(fmt) "file/nvfs: " fmt
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "config.h"
#include "cost.h"
#include "driver.h"
#include "file.h"
#include "fio.h"
#include "gpu/cuda.h"
#include "io.h"
#include "nvfs.h"
#include "nvfs_io.h"
#include "path_nvfs.h"
#include "reason.h"
#include "stats.h"
#include "util/clock.h"
#include "util/log.h"

#define PARALLEL_STEP (1UL << 20)
#define ZEROS_LEN     (1UL << 20)

/* Source of zeros; never written, so that it takes no memory. */
static uint8_t zeros[ZEROS_LEN];

static const char *examine(struct bl_file *file)
{
	const char *verdict = "";
	char why[512];

	if (bl_nvfs_file_supported(file, why, sizeof(why)))
		verdict = bl_reason_keep(why);
	log_debug("fd %d: %s", file->fd, *verdict ? verdict : why);
	atomic_store_explicit(&file->nvfs, verdict, memory_order_release);
	return verdict;
}

/* What offsets and lengths are multiples of; the module's blocks, or more. */
static size_t step_of(const struct bl_file *file)
{
	return file->align > NVIDIA_FS_BLOCK ? file->align : NVIDIA_FS_BLOCK;
}

static size_t body_len(const struct bl_io *io)
{
	size_t rest = io->len - io->done;

	return rest - rest % step_of(io->file);
}

static const char *memory_blocked(const struct bl_mem *mem)
{
	if (mem->kind != BL_MEM_DEVICE)
		return "the memory is not a GPU's";
	if (!mem->buffer)
		return "the memory is not registered: cuFileBufRegister() it";
	if (!mem->pin)
		return "the registered memory could not be pinned: barlane doctor says why";
	return NULL;
}

static const char *nvfs_usable(const struct bl_io *io)
{
	const char *why = memory_blocked(&io->mem);
	size_t step = step_of(io->file);

	if (!why && bl_file_config()->force_compat_mode)
		why = "force_compat_mode is set";
	if (!why)
		why = bl_nvfs_blocked();
	if (why)
		return why;
	why = atomic_load_explicit(&io->file->nvfs, memory_order_acquire);
	if (!why)
		why = examine(io->file);
	if (*why)
		return why;
	if (bl_fio_direct_fd(io->file) < 0)
		return "the file could not be opened with O_DIRECT";
	if (((uint64_t)io->pos + io->done) % step)
		return "the offset in the file is no multiple of 4 KiB, or of what the file system wants";
	if ((io->mem.va + io->done) % NVIDIA_FS_BLOCK)
		return "the address of the memory is no multiple of 4 KiB";
	return body_len(io) ? NULL : "the request is smaller than a block of 4 KiB, or of the file system";
}

static double nvfs_score(const struct bl_io *io)
{
	return bl_cost(BL_PATH_NVFS, io->len - io->done, io->write);
}

static uint64_t ask_pdev(int ordinal)
{
	const struct bl_cuda *cuda = bl_cuda();
	unsigned int domain, bus, dev, fn;
	CUdevice device;
	char id[32] = "";

	if (!cuda || cuda->cuDeviceGet(&device, ordinal) != CUDA_SUCCESS ||
	    cuda->cuDeviceGetPCIBusId(id, sizeof(id), device) != CUDA_SUCCESS ||
	    sscanf(id, "%x:%x:%x.%x", &domain, &bus, &dev, &fn) != 4) {
		log_debug("GPU %d: no PCI address (\"%s\"): the module counts it nowhere", ordinal, id);
		return 0;
	}
	return NVIDIA_FS_PDEV(domain, bus, dev << 3 | fn);
}

int bl_path_nvfs_pool(const struct bl_mem *mem, struct bl_nvfs_pool **pool_p)
{
	struct bl_nvfs_range range = {.va = mem->va - mem->pin_off};
	struct bl_pin_info info;
	int ret;

	ret = bl_nvfs_pool_find(mem->pin, pool_p);
	if (ret != -ENOENT)
		return ret;
	ret = bl_driver_at_close(bl_nvfs_close, NULL);
	if (ret)
		return ret;
	ret = bl_pin_info(bl_driver_ctx(), mem->pin, &info);
	if (ret)
		return ret;
	range.len = info.len;
	range.pdev = ask_pdev(mem->ordinal);
	return bl_nvfs_pool_make(mem->pin, &range, pool_p);
}

/* Zero a hole: by the engine that the core finds best. */
static int zero(void *priv, uint64_t va, size_t len)
{
	const struct bl_mem *mem = priv;
	uint64_t off = mem->pin_off + (va - mem->va);

	while (len) {
		size_t some = len < ZEROS_LEN ? len : ZEROS_LEN;
		int ret = bl_copy(mem->pin, off, zeros, some, BL_COPY_TO, BL_ENGINE_AUTO);

		if (ret)
			return ret;
		off += some;
		len -= some;
	}
	return mem->flush ? bl_flush(mem->pin) : 0;
}

static size_t clamp(size_t value, size_t least, size_t most)
{
	return value < least ? least : value > most ? most : value;
}

static void split(const struct bl_file_config *config, struct bl_nvfs_request *rq)
{
	size_t most = clamp(config->max_direct_io_size_kb << 10, NVIDIA_FS_GPU_PAGE, NVIDIA_FS_MAX_SHADOW);
	size_t share;

	rq->poll = config->use_poll_mode ? config->poll_mode_max_size_kb << 10 : 0;
	rq->piece = most - most % NVIDIA_FS_GPU_PAGE;
	rq->window = 1;
	if (!config->parallel_io)
		return;
	rq->window = (unsigned int)clamp(config->max_request_parallelism, 1, BL_NVFS_WINDOW);
	if (rq->len < config->min_io_threshold_size_kb << 10)
		return;
	share = (rq->len / rq->window + PARALLEL_STEP - 1) / PARALLEL_STEP * PARALLEL_STEP;
	rq->piece = clamp(share, NVIDIA_FS_GPU_PAGE, rq->piece);
}

/* The identity is that of the registration: should the descriptor be another file's, the module refuses. */
static int identify(struct bl_file *file, struct bl_nvfs_request *rq)
{
	struct stat st;

	rq->fd = bl_fio_direct_fd(file);
	rq->inum = file->ino;
	rq->major = major(file->dev);
	rq->minor = minor(file->dev);
	if (rq->fd < 0)
		return rq->fd;
	if (fstat(rq->fd, &st))
		return -errno;
	if (S_ISBLK(st.st_mode)) {
		rq->major = major(st.st_rdev);
		rq->minor = minor(st.st_rdev);
	}
	return 0;
}

int bl_path_nvfs_request(struct bl_io *io, struct bl_nvfs_request *rq)
{
	*rq = (struct bl_nvfs_request){
		.va = io->mem.va + io->done,
		.pos = (uint64_t)io->pos + io->done,
		.len = body_len(io),
		.write = io->write,
		.deadline_ns = io->deadline_ns,
		.zero = io->mem.mapped ? zero : NULL,
		.priv = &io->mem,
	};
	split(bl_file_config(), rq);
	return identify(io->file, rq);
}

/* What the module says of a file holds for its next requests too. */
static void remember(struct bl_file *file, const struct bl_nvfs_request *rq)
{
	int reason = rq->unbound ? 0 : rq->reason;

	if (reason != -ESTALE && reason != -EOPNOTSUPP && reason != -EBADF && reason != -EINVAL)
		return;
	atomic_store(&file->nvfs, reason == -ESTALE ? "nvidia-fs sees another file behind the descriptor"
						    : "nvidia-fs refused a request for this file");
}

static enum bl_nvfs_count refusal_of(const struct bl_nvfs_request *rq)
{
	if (rq->reason == -ENODEV)
		return BL_NVFS_REFUSED_MODULE;
	if (rq->unbound)
		return BL_NVFS_REFUSED_MEMORY;
	switch (-rq->reason) {
	case EINVAL:
	case EOPNOTSUPP:
	case ESTALE:
	case EBADF:
		return BL_NVFS_REFUSED_FILE;
	case EBUSY:
	case ENOMEM:
		return BL_NVFS_REFUSED_SHORTAGE;
	case EIO:
		return BL_NVFS_REFUSED_DRIVE;
	default:
		return BL_NVFS_REFUSED_OTHER;
	}
}

static int conclude(struct bl_io *io, const struct bl_nvfs_request *rq, int ret)
{
	const char *what = io->write ? "write" : "read";

	if (!ret)
		return rq->done == rq->len && io->done < io->len ? -EAGAIN : 0;
	if (ret == -EAGAIN && !rq->reason)
		return ret;
	if (ret == -EAGAIN) {
		bl_stats_nvfs(refusal_of(rq), io->write, 1);
		fail_quiet(-rq->reason, "%s at %" PRIu64 " len %zu: nvidia-fs: %s; another path takes over", what,
			   rq->pos, rq->len, strerror(-rq->reason));
		log_info("%s at %" PRIu64 " len %zu: %s; another path takes over", what, rq->pos, rq->len,
			 strerror(-rq->reason));
		return ret;
	}
	bl_stats_nvfs(BL_NVFS_FAILED, io->write, 1);
	bl_stats_nvfs(BL_NVFS_TIMEOUTS, io->write, ret == -ETIMEDOUT);
	return fail(-ret, "%s at %" PRIu64 " len %zu, %zu done: nvidia-fs: %s", what, rq->pos, rq->len, rq->done,
		    strerror(-ret));
}

void bl_path_nvfs_count(const struct bl_nvfs_request *rq)
{
	bl_stats_nvfs(BL_NVFS_PIECES, rq->write, rq->pieces);
	bl_stats_nvfs(BL_NVFS_BYTES, rq->write, rq->done);
	bl_stats_nvfs(BL_NVFS_HOLE_BYTES, rq->write, rq->holes);
}

static int nvfs_run(struct bl_io *io)
{
	struct bl_nvfs_pool *pool = NULL;
	struct bl_nvfs_request rq;
	uint64_t start;
	int ret;

	bl_stats_nvfs(BL_NVFS_REQUESTS, io->write, 1);
	ret = bl_path_nvfs_request(io, &rq);
	if (!ret) {
		ret = bl_path_nvfs_pool(&io->mem, &pool);
		rq.unbound = ret;
	}
	if (ret) {
		rq.reason = ret;
		return conclude(io, &rq, -EAGAIN);
	}
	start = bl_now_ns();
	ret = bl_nvfs_transfer(pool, &rq);
	bl_nvfs_pool_put(pool);
	if (!ret && rq.done == rq.len)
		bl_cost_note(BL_PATH_NVFS, rq.len, io->write, bl_now_ns() - start);
	bl_path_nvfs_count(&rq);
	io->done += rq.done;
	if (ret == -EAGAIN)
		remember(io->file, &rq);
	return conclude(io, &rq, ret);
}

const struct bl_path_ops bl_path_nvfs = {
	.name = "nvfs",
	.usable = nvfs_usable,
	.score = nvfs_score,
	.run = nvfs_run,
};
