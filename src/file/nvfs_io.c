// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/nvfs: " fmt
#include "nvfs_io.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "nvfs_sparse.h"
#include "nvfs_wait.h"
#include "util/clock.h"
#include "util/log.h"

/* A signal that comes between the module and the file system makes a piece start again; not for ever. */
#define MAX_INTERRUPTS 100

/* A piece under way. */
struct piece {
	struct bl_nvfs_map *map;
	size_t off;
	size_t len;
};

/**
 * struct run - a request being carried out
 * @pool:    mappings
 * @rq:      the request
 * @pieces:  ring of those under way
 * @first:   the oldest of them
 * @nr:      how many
 * @next:    offset of what is not given to the module yet
 * @interrupts: pieces that began anew
 * @verdict: the next piece is asynchronous whatever it is: only so the module tells an error from the end of the file
 */
struct run {
	struct bl_nvfs_pool *pool;
	struct bl_nvfs_request *rq;
	struct piece pieces[BL_NVFS_WINDOW];
	unsigned int first;
	unsigned int nr;
	size_t next;
	unsigned int interrupts;
	bool verdict;
};

/* What run_piece() and reap() say besides errors. */
enum { GO_ON = 1, THE_END = 2 };

/* Inside of a GPU page a piece ends with the page; from the start of one it takes as many as it may. */
static size_t piece_len(const struct bl_nvfs_request *rq, size_t off)
{
	size_t inside = (size_t)((rq->va + off) % NVIDIA_FS_GPU_PAGE);
	size_t most = inside ? NVIDIA_FS_GPU_PAGE - inside : rq->piece;
	size_t rest = rq->len - off;

	return rest < most ? rest : most;
}

/* What the module refuses, and what another path may do better or say more about. */
static bool is_refusal(int err)
{
	switch (-err) {
	case EINVAL:
	case EOPNOTSUPP:
	case EBUSY:
	case ESTALE:
	case EBADF:
	case ENOMEM:
	case ENOTTY:
	case EPERM:
	case EACCES:
	case EFAULT:
	case ENODEV:
	case EIDRM:
	case EIO: /* also the DMA's, and of a write that went by the page cache: then the file must be written again */
	case EPROTO:
		return true;
	default:
		return false;
	}
}

static int refuse(struct run *run, int err)
{
	run->rq->reason = err;
	return is_refusal(err) ? -EAGAIN : err;
}

/* A mapping that did not take a request is of no use for the next one if its state is not what it was. */
void bl_nvfs_give(struct bl_nvfs_pool *pool, struct bl_nvfs_map *map, int err)
{
	if (bl_nvfs_map_state(map) == NVIDIA_FS_DIED) {
		if (!atomic_exchange(&pool->dead, true))
			log_info("va 0x%" PRIx64 ": the GPU memory was freed", pool->range.va);
		bl_nvfs_pool_retire(pool, map);
	} else if (err == -EBUSY || err == -ENODEV) {
		bl_nvfs_pool_retire(pool, map);
	} else {
		bl_nvfs_pool_give(pool, map);
	}
}

struct nvidia_fs_io bl_nvfs_entry(const struct bl_nvfs_request *rq, const struct bl_nvfs_map *map, size_t off, size_t len)
{
	uint32_t sparse = NVIDIA_FS_SPARSE;

	/* memory that dies in this moment keeps its mark */
	__atomic_compare_exchange_n(&map->meta->state, &sparse, NVIDIA_FS_CLEAN, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	return (struct nvidia_fs_io){
		.cpuvaddr = (uintptr_t)map->shadow,
		.offset = (int64_t)(rq->pos + off),
		.size = len,
		.file = {
			.inum = rq->inum,
			.majdev = rq->major,
			.mindev = rq->minor,
			.devptroff = rq->va + off - map->range.va,
		},
		.fd = rq->fd,
	};
}

static int ask(struct run *run, struct bl_nvfs_map *map, size_t off, size_t len, bool sync, int64_t *result_p)
{
	const struct bl_nvfs_request *rq = run->rq;
	union nvidia_fs_arg arg = {0};
	int ret;

	arg.io = bl_nvfs_entry(rq, map, off, len);
	arg.io.end_fence_value = sync ? 0 : ++map->fence;
	arg.io.flags = sync ? NVIDIA_FS_IO_SYNC : 0;
	run->rq->pieces++;
	ret = bl_nvfs_dev_call(map->dev, map->fd, rq->write ? NVIDIA_FS_IOC_WRITE : NVIDIA_FS_IOC_READ, &arg);
	*result_p = arg.io.ioctl_return;
	return ret;
}

/*
 * What a piece that has ended means. Bytes at a report are counted only when they are in order: none before it is
 * missing.
 */
static int judge(struct run *run, struct bl_nvfs_map *map, size_t off, size_t len, int64_t result)
{
	struct bl_nvfs_request *rq = run->rq;
	size_t got = (size_t)result;
	int ret;

	if (result < 0)
		return result >= -4095 ? (int)result : -EPROTO;
	if (got > len)
		return -EPROTO;
	if (rq->write) {
		rq->done += got;
		/* a write of nothing is what the module makes of an error that it lost */
		return got == len ? GO_ON : got ? -EAGAIN : -EIO;
	}
	if (got && bl_nvfs_map_state(map) == NVIDIA_FS_SPARSE) {
		ret = bl_nvfs_sparse_fill(map->meta, rq->pos + off, rq->va + off, got, rq->zero, rq->priv, &rq->holes);
		if (ret)
			return -EPROTO;
	}
	rq->done += got;
	/* a count that ends in a block is cut at the end of the file; one that does not need not be */
	return got == len || (got && got % NVIDIA_FS_BLOCK == 0) ? GO_ON : THE_END;
}

static bool starts_anew(struct run *run, int err)
{
	return err == -EINTR && ++run->interrupts < MAX_INTERRUPTS;
}

/* One piece, waited for in the kernel. GO_ON, THE_END, or an error. */
static int run_alone(struct run *run, struct bl_nvfs_map *map, size_t len)
{
	int64_t result = 0;
	int ret;

	ret = ask(run, map, run->next, len, true, &result);
	if (!ret)
		ret = judge(run, map, run->next, len, result);
	if (ret == THE_END && !result) {
		/* the same answer hides an error: asked otherwise it is told */
		run->verdict = true;
		ret = GO_ON;
	}
	bl_nvfs_give(run->pool, map, ret);
	run->next = run->rq->done;
	return ret;
}

/* Whether nothing would be gained by a piece that this thread does not wait for. */
static bool waits_in_kernel(const struct run *run, size_t len)
{
	const struct bl_nvfs_request *rq = run->rq;

	if (run->nr || run->verdict || rq->len <= rq->poll)
		return false;
	return rq->window == 1 || len == rq->len - run->next;
}

/* Give the module one more piece. GO_ON; -EAGAIN when none of the mappings is free; else an error. */
static int start(struct run *run)
{
	struct bl_nvfs_request *rq = run->rq;
	size_t len = piece_len(rq, run->next);
	struct piece *piece = &run->pieces[(run->first + run->nr) % BL_NVFS_WINDOW];
	struct bl_nvfs_map *map;
	int64_t result;
	int ret;

	ret = bl_nvfs_pool_take(run->pool, len, run->nr ? 0 : rq->deadline_ns, &map);
	rq->unbound = ret != 0;
	if (ret)
		return ret;
	if (waits_in_kernel(run, len))
		return run_alone(run, map, len);
	ret = ask(run, map, run->next, len, false, &result);
	if (ret) {
		bl_nvfs_give(run->pool, map, ret);
		return ret;
	}
	*piece = (struct piece){.map = map, .off = run->next, .len = len};
	run->nr++;
	run->next += len;
	return GO_ON;
}

/* The oldest piece's end. With @count it decides how to go on; without, what is behind a gap only has to end. */
static int reap(struct run *run, bool count)
{
	struct piece *piece = &run->pieces[run->first];
	int ret = GO_ON;

	run->first = (run->first + 1) % BL_NVFS_WINDOW;
	run->nr--;
	if (!bl_nvfs_wait(piece->map, run->rq->deadline_ns)) {
		bl_nvfs_pool_park(run->pool, piece->map);
		return -ETIMEDOUT;
	}
	if (count)
		ret = judge(run, piece->map, piece->off, piece->len, piece->map->meta->result);
	bl_nvfs_give(run->pool, piece->map, ret);
	return ret;
}

/* Wait for what is under way and forget how it ended: it comes after a gap, and will be done again. */
static int drain(struct run *run)
{
	int ret = 0;

	while (run->nr) {
		if (reap(run, false) == -ETIMEDOUT)
			ret = -ETIMEDOUT;
	}
	run->next = run->rq->done;
	return ret;
}

/* Fill the window. GO_ON, THE_END, or an error with nothing under way. */
static int fill(struct run *run)
{
	int ret = GO_ON;

	while (ret == GO_ON && run->next < run->rq->len && run->nr < run->rq->window) {
		if (!run->nr && bl_now_ns() >= run->rq->deadline_ns)
			return -ETIMEDOUT;
		ret = start(run);
		if (run->verdict && run->nr)
			break;
	}
	/* what one more piece met is met again when the others have ended */
	return run->nr ? GO_ON : ret;
}

static int step(struct run *run)
{
	size_t want;
	int ret;

	ret = fill(run);
	if (ret != GO_ON || !run->nr)
		return ret;
	want = run->pieces[run->first].off + run->pieces[run->first].len;
	ret = reap(run, true);
	run->verdict = false;
	if (ret == GO_ON && run->rq->done == want)
		return GO_ON;
	if (drain(run) == -ETIMEDOUT && ret == GO_ON)
		return -ETIMEDOUT;
	return ret;
}

bool bl_nvfs_fits(const struct bl_nvfs_range *range, const struct bl_nvfs_request *rq)
{
	if (!rq->len || (rq->va | rq->pos | rq->len) % NVIDIA_FS_BLOCK || rq->pos > INT64_MAX - rq->len)
		return false;
	return rq->va >= range->va && rq->len <= range->len && rq->va - range->va <= range->len - rq->len;
}

/* What the module would refuse as a whole, or take apart wrongly. */
static bool fits(const struct bl_nvfs_range *range, const struct bl_nvfs_request *rq)
{
	if (!rq->piece || rq->piece % NVIDIA_FS_GPU_PAGE || rq->piece > NVIDIA_FS_MAX_SHADOW)
		return false;
	if (!rq->window || rq->window > BL_NVFS_WINDOW)
		return false;
	return bl_nvfs_fits(range, rq);
}

int bl_nvfs_transfer(struct bl_nvfs_pool *pool, struct bl_nvfs_request *rq)
{
	struct run run = {.pool = pool, .rq = rq};
	int ret = GO_ON;

	rq->done = 0;
	rq->pieces = 0;
	rq->holes = 0;
	rq->reason = 0;
	rq->unbound = false;
	if (!fits(&pool->range, rq))
		return refuse(&run, -EINVAL);
	while (ret == GO_ON && rq->done < rq->len) {
		ret = step(&run);
		if (starts_anew(&run, ret))
			ret = GO_ON;
	}
	if (ret == GO_ON || ret == THE_END)
		return 0;
	return ret == -EAGAIN ? ret : refuse(&run, ret);
}
