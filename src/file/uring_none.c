// SPDX-License-Identifier: MIT
/* Built without liburing's headers: threads wait for the disk. */
#define log_fmt(fmt) "file/uring: " fmt
#include <errno.h>
#include <stdatomic.h>

#include "uring.h"
#include "util/log.h"

bool bl_uring_allowed(void)
{
	static atomic_bool told;

	if (!atomic_exchange_explicit(&told, true, memory_order_relaxed)) {
		fail_quiet(EOPNOTSUPP, "io_uring is not used: built without liburing");
		log_info("io_uring is not used (built without liburing): threads wait for the disk instead");
	}
	return false;
}

int bl_uring_open(struct bl_uring *uring, void *memory, size_t len)
{
	*uring = (struct bl_uring){ 0 };
	return -EOPNOTSUPP;
}

/* No ring is ever made that these could be called with. */
void bl_uring_close(struct bl_uring *uring)
{
}

void bl_uring_post(struct bl_uring *uring, bool write, int fd, void *buf, uint32_t len, off_t pos, uint64_t tag)
{
}

int bl_uring_wait(struct bl_uring *uring, bool wait, uint64_t deadline)
{
	return -EOPNOTSUPP;
}

bool bl_uring_take(struct bl_uring *uring, struct bl_uring_done *done)
{
	return false;
}

bool bl_uring_idle(struct bl_uring *uring)
{
	return true;
}
