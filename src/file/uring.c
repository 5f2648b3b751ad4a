// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/uring: " fmt
#include "uring.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/fork.h"
#include "util/log.h"

/* Linux 5.11: waits with a time limit, which nothing here is done without. */
#define NEEDED (IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG)

static atomic_bool refused;

bool bl_uring_allowed(void)
{
	return !atomic_load_explicit(&refused, memory_order_relaxed);
}

static int refuse(int err)
{
	if (!atomic_exchange(&refused, true))
		log_info("io_uring cannot be used (%s): threads wait for the disk instead", strerror(err));
	return -err;
}

static int set_up(struct bl_uring *uring, struct io_uring_params *params)
{
	int fd = (int)syscall(__NR_io_uring_setup, BL_URING_DEPTH, params);
	int ret;

	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : refuse(errno);
	if ((params->features & NEEDED) != NEEDED) {
		close(fd);
		return refuse(EOPNOTSUPP);
	}
	ret = bl_fork_fd_add(fd);
	if (ret) {
		close(fd);
		return ret;
	}
	uring->fd = fd;
	return 0;
}

/* A child must not have the queues: what it would store there, the kernel would do for the parent. */
static void *map(int fd, size_t len, off_t off)
{
	void *addr;

	bl_fork_window_enter();
	addr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, off);
	if (addr != MAP_FAILED && madvise(addr, len, MADV_DONTFORK)) {
		munmap(addr, len);
		addr = MAP_FAILED;
	}
	bl_fork_window_leave();
	return addr == MAP_FAILED ? NULL : addr;
}

static int map_queues(struct bl_uring *uring, const struct io_uring_params *params)
{
	size_t sq = params->sq_off.array + params->sq_entries * sizeof(uint32_t);
	size_t cq = params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe);
	char *rings;

	uring->rings_len = sq > cq ? sq : cq;
	uring->rings = rings = map(uring->fd, uring->rings_len, IORING_OFF_SQ_RING);
	if (!rings)
		return -ENOMEM;
	uring->sqes = map(uring->fd, params->sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	if (!uring->sqes)
		return -ENOMEM;
	uring->sq_tail = (uint32_t *)(rings + params->sq_off.tail);
	uring->sq_mask = params->sq_entries - 1;
	uring->sq_array = (uint32_t *)(rings + params->sq_off.array);
	uring->cq_head = (uint32_t *)(rings + params->cq_off.head);
	uring->cq_tail = (uint32_t *)(rings + params->cq_off.tail);
	uring->cq_mask = params->cq_entries - 1;
	uring->cqes = (struct io_uring_cqe *)(rings + params->cq_off.cqes);
	return 0;
}

/* Counts as locked memory, of which there may be none left: then each request looks its pages up. */
static bool register_memory(struct bl_uring *uring)
{
	struct iovec iov = { .iov_base = uring->memory, .iov_len = uring->len };

	return !syscall(__NR_io_uring_register, uring->fd, IORING_REGISTER_BUFFERS, &iov, 1);
}

int bl_uring_open(struct bl_uring *uring, void *memory, size_t len)
{
	struct io_uring_params params = { 0 };
	int ret;

	*uring = (struct bl_uring){ .fd = -1, .memory = memory, .len = len };
	if (!bl_uring_allowed())
		return -EOPNOTSUPP;
	ret = set_up(uring, &params);
	if (!ret)
		ret = map_queues(uring, &params);
	if (ret) {
		bl_uring_close(uring);
		return ret;
	}
	uring->fixed = register_memory(uring);
	if (!uring->fixed)
		log_debug("memory is not registered with io_uring (%s): its pages are looked up each time", strerror(errno));
	return 0;
}

void bl_uring_close(struct bl_uring *uring)
{
	if (uring->sqes)
		munmap(uring->sqes, BL_URING_DEPTH * sizeof(struct io_uring_sqe));
	if (uring->rings)
		munmap(uring->rings, uring->rings_len);
	if (uring->fd >= 0) {
		bl_fork_fd_remove(uring->fd);
		close(uring->fd);
	}
	*uring = (struct bl_uring){ .fd = -1 };
}

void bl_uring_post(struct bl_uring *uring, bool write, int fd, void *buf, uint32_t len, off_t pos, uint64_t tag)
{
	uint32_t tail = *uring->sq_tail, at = tail & uring->sq_mask;
	struct io_uring_sqe *sqe = &uring->sqes[at];

	memset(sqe, 0, sizeof(*sqe));
	if (uring->fixed)
		sqe->opcode = write ? IORING_OP_WRITE_FIXED : IORING_OP_READ_FIXED;
	else
		sqe->opcode = write ? IORING_OP_WRITE : IORING_OP_READ;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)buf;
	sqe->len = len;
	sqe->off = (uint64_t)pos;
	sqe->user_data = tag;
	uring->sq_array[at] = at;
	/* the kernel reads the request when it sees the new tail: request first */
	__atomic_store_n(uring->sq_tail, tail + 1, __ATOMIC_RELEASE);
	uring->posted++;
}

static bool any_done(const struct bl_uring *uring)
{
	return *uring->cq_head != __atomic_load_n(uring->cq_tail, __ATOMIC_ACQUIRE);
}

static int enter(struct bl_uring *uring, bool wait, uint64_t now, uint64_t deadline)
{
	struct __kernel_timespec ts = { .tv_sec = (int64_t)((deadline - now) / 1000000000U),
					.tv_nsec = (long long)((deadline - now) % 1000000000U) };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	unsigned int flags = IORING_ENTER_EXT_ARG | (wait ? IORING_ENTER_GETEVENTS : 0U);
	long nr;

	nr = syscall(__NR_io_uring_enter, uring->fd, uring->posted, wait ? 1 : 0, flags, &arg, sizeof(arg));
	if (nr < 0)
		return -errno;
	uring->posted -= (uint32_t)nr;
	return 0;
}

int bl_uring_wait(struct bl_uring *uring, bool wait, uint64_t deadline)
{
	uint64_t now;
	int ret;

	for (;;) {
		if (!uring->posted && any_done(uring))
			return 0;
		if (!uring->posted && !wait)
			return -EAGAIN;
		now = bl_now_ns();
		if (now >= deadline)
			return -ETIMEDOUT;
		ret = enter(uring, wait && !any_done(uring), now, deadline);
		/* no memory for a request, or the kernel's queue is full: what is under way ends first */
		if (ret && ret != -EINTR && ret != -ETIME && ret != -EAGAIN && ret != -EBUSY)
			return fail(-ret, "waiting for the disk: %s", strerror(-ret));
		if (!wait)
			return any_done(uring) ? 0 : -EAGAIN;
	}
}

bool bl_uring_take(struct bl_uring *uring, struct bl_uring_done *done)
{
	uint32_t head = *uring->cq_head;
	const struct io_uring_cqe *cqe;

	if (!any_done(uring))
		return false;
	cqe = &uring->cqes[head & uring->cq_mask];
	done->tag = cqe->user_data;
	done->result = cqe->res;
	/* the kernel may reuse the entry when it sees the new head: it is read before */
	__atomic_store_n(uring->cq_head, head + 1, __ATOMIC_RELEASE);
	return true;
}
