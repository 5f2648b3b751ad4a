// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/uring: " fmt
#include "uring.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "ioprio.h"
#include "uring_lib.h"
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

static int refuse(int err, const char *why)
{
	if (atomic_exchange(&refused, true))
		return -err;
	log_info("io_uring cannot be used (%s): threads wait for the disk instead", why);
	return fail_quiet(err, "io_uring cannot be used: %s", why);
}

static bool is_shortage(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

/*
 * A child must not have the queues: what it would store there, the kernel would do for the parent. Nor must one that is
 * forked in between.
 */
static int make(const struct bl_liburing *lib, struct io_uring *ring)
{
	struct io_uring_params params = { 0 };
	int ret;

	bl_fork_window_enter();
	ret = lib->queue_init_params(BL_URING_DEPTH, ring, &params);
	if (ret) {
		bl_fork_window_leave();
		return ret < 0 && is_shortage(ret) ? ret : refuse(-ret, strerror(-ret));
	}
	ret = lib->ring_dontfork(ring);
	if (!ret)
		ret = bl_fork_fd_add(ring->ring_fd);
	bl_fork_window_leave();
	if (!ret && (params.features & NEEDED) == NEEDED)
		return 0;
	if (!ret)
		ret = refuse(EOPNOTSUPP, "Linux before 5.11");
	bl_fork_fd_remove(ring->ring_fd);
	lib->queue_exit(ring);
	return ret;
}

int bl_uring_open(struct bl_uring *uring, void *memory, size_t len)
{
	struct iovec iov = { .iov_base = memory, .iov_len = len };
	const struct bl_liburing *lib;
	struct io_uring *ring;
	const char *why;
	int ret;

	*uring = (struct bl_uring){ 0 };
	if (!bl_uring_allowed())
		return -EOPNOTSUPP;
	lib = bl_liburing(&why);
	if (!lib)
		return refuse(EOPNOTSUPP, why);
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ret = make(lib, ring);
	if (ret) {
		free(ring);
		return ret;
	}
	/* counts as locked memory, of which there may be none left: then each request looks its pages up */
	ret = memory ? lib->register_buffers(ring, &iov, 1) : 0;
	if (ret)
		log_debug("memory is not registered with io_uring (%s): its pages are looked up each time", strerror(-ret));
	uring->lib = lib;
	uring->ring = ring;
	uring->fixed = memory && !ret;
	return 0;
}

void bl_uring_close(struct bl_uring *uring)
{
	if (!uring->ring)
		return;
	bl_fork_fd_remove(uring->ring->ring_fd);
	uring->lib->queue_exit(uring->ring);
	free(uring->ring);
	uring->ring = NULL;
}

void bl_uring_post(struct bl_uring *uring, bool write, int fd, void *buf, uint32_t len, off_t pos, uint64_t tag)
{
	struct io_uring_sqe *sqe = uring->lib->get_sqe(uring->ring);

	if (uring->fixed && write)
		io_uring_prep_write_fixed(sqe, fd, buf, len, (uint64_t)pos, 0);
	else if (uring->fixed)
		io_uring_prep_read_fixed(sqe, fd, buf, len, (uint64_t)pos, 0);
	else if (write)
		io_uring_prep_write(sqe, fd, buf, len, (uint64_t)pos);
	else
		io_uring_prep_read(sqe, fd, buf, len, (uint64_t)pos);
	sqe->ioprio = bl_ioprio();
	sqe->user_data = tag;
	uring->nr++;
}

static int enter(const struct bl_uring *uring, bool wait, uint64_t ns)
{
	struct __kernel_timespec ts = { .tv_sec = (int64_t)(ns / 1000000000U), .tv_nsec = (long long)(ns % 1000000000U) };
	struct io_uring_cqe *cqe;

	if (!wait)
		return uring->lib->submit(uring->ring);
	return uring->lib->submit_and_wait_timeout(uring->ring, &cqe, 1, &ts, NULL);
}

int bl_uring_wait(struct bl_uring *uring, bool wait, uint64_t deadline)
{
	struct io_uring *ring = uring->ring;
	uint64_t now;
	int ret;

	for (;;) {
		if (!io_uring_sq_ready(ring) && io_uring_cq_ready(ring))
			return 0;
		if (!io_uring_sq_ready(ring) && !wait)
			return -EAGAIN;
		now = bl_now_ns();
		if (now >= deadline)
			return -ETIMEDOUT;
		ret = enter(uring, wait && !io_uring_cq_ready(ring), deadline - now);
		/* no memory for a request, or the kernel's queue is full: what is under way ends first */
		if (ret < 0 && ret != -EINTR && ret != -ETIME && ret != -EAGAIN && ret != -EBUSY)
			return fail(-ret, "waiting for the disk: %s", strerror(-ret));
		if (!wait)
			return io_uring_cq_ready(ring) ? 0 : -EAGAIN;
	}
}

bool bl_uring_take(struct bl_uring *uring, struct bl_uring_done *done)
{
	struct io_uring_cqe *cqe;

	if (!uring->lib->peek_batch_cqe(uring->ring, &cqe, 1))
		return false;
	done->tag = cqe->user_data;
	done->result = cqe->res;
	io_uring_cqe_seen(uring->ring, cqe);
	uring->nr--;
	return true;
}

bool bl_uring_idle(struct bl_uring *uring)
{
	struct bl_uring_done done;

	if (!uring->ring)
		return true;
	while (bl_uring_take(uring, &done))
		;
	return uring->nr == io_uring_sq_ready(uring->ring);
}
