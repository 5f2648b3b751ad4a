// SPDX-License-Identifier: MIT
#include "mover.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "tap.h"
#include "world.h"

#define MAX_JOBS 65536U

struct test_job {
	uint8_t *dst;
	const uint8_t *src;
	size_t len;
	bool may_end, over;
};

struct test_mover test_mover;

static struct test_job jobs[MAX_JOBS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void mover_begin(void)
{
	memset(jobs, 0, sizeof(jobs));
	test_mover = (struct test_mover){.room = MAX_JOBS};
}

void mover_end(unsigned int nr)
{
	pthread_mutex_lock(&lock);
	jobs[nr].may_end = true;
	pthread_mutex_unlock(&lock);
}

void mover_end_all(void)
{
	pthread_mutex_lock(&lock);
	test_mover.hold = false;
	pthread_mutex_unlock(&lock);
}

static bool test_able(const void *dst, const void *src)
{
	return !test_mover.unable && dst && src;
}

static int start_locked(struct world_side *dst, uint64_t dst_off, struct world_side *src, uint64_t src_off, size_t len,
			struct bl_snic_job *job)
{
	int ret = test_mover.refuse;

	test_mover.refuse = 0;
	if (ret)
		return ret;
	if (test_mover.started - test_mover.ended >= test_mover.room || (test_mover.whim && test_mover.whim()))
		return -EAGAIN;
	check(len && dst_off + len <= dst->bytes && src_off + len <= src->bytes);
	check(test_mover.started < MAX_JOBS);
	jobs[test_mover.started] = (struct test_job){.dst = dst->mem + dst_off, .src = src->mem + src_off, .len = len};
	*job = (struct bl_snic_job){.where = &test_mover, .number = test_mover.started++};
	return 0;
}

static int test_start(void *dst, uint64_t dst_off, void *src, uint64_t src_off, size_t len, struct bl_snic_job *job)
{
	int ret;

	pthread_mutex_lock(&lock);
	ret = start_locked(dst, dst_off, src, src_off, len, job);
	pthread_mutex_unlock(&lock);
	return ret;
}

static int poll_locked(struct test_job *job)
{
	int ret = test_mover.fail;

	check(!job->over);
	if (test_mover.hold && !job->may_end)
		return -EAGAIN;
	if (test_mover.whim && (job != &jobs[test_mover.ended] || test_mover.whim()))
		return -EAGAIN;
	job->over = true;
	test_mover.ended++;
	test_mover.fail = 0;
	if (ret)
		return ret;
	memcpy(job->dst, job->src, job->len);
	test_mover.bytes += job->len;
	return 0;
}

static int test_poll(const struct bl_snic_job *job)
{
	int ret;

	check(job->where == &test_mover && job->number < test_mover.started);
	pthread_mutex_lock(&lock);
	ret = poll_locked(&jobs[job->number]);
	pthread_mutex_unlock(&lock);
	return ret;
}

static int test_share(void *src, uint8_t bytes[BL_SNIC_SHARE_LEN])
{
	memcpy(bytes, &src, sizeof(src));
	return test_mover.shares ? 0 : -EOPNOTSUPP;
}

/* The first call says what it will be, the last one that it is. */
static int attach_locked(struct world_side *side, void **moved_p, size_t *len_p)
{
	static unsigned int calls;

	if (!*moved_p) {
		*moved_p = side;
		calls = 0;
		test_mover.attached++;
	}
	check(*moved_p == side);
	if (calls++ < test_mover.slow)
		return -EAGAIN;
	*len_p = side->bytes;
	return test_mover.unwilling;
}

static int test_attach(const uint8_t bytes[BL_SNIC_SHARE_LEN], void **moved_p, size_t *len_p)
{
	struct world_side *side;
	int ret;

	memcpy(&side, bytes, sizeof(side));
	pthread_mutex_lock(&lock);
	ret = attach_locked(side, moved_p, len_p);
	pthread_mutex_unlock(&lock);
	return ret;
}

static int test_detach(void *moved)
{
	static unsigned int calls;
	int ret = -EAGAIN;

	pthread_mutex_lock(&lock);
	if (calls++ >= test_mover.slow) {
		calls = 0;
		test_mover.attached--;
		ret = 0;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

const struct bl_snic_mover mover = {
	.least = MOVER_LEAST,
	.able = test_able,
	.start = test_start,
	.poll = test_poll,
	.share = test_share,
	.attach = test_attach,
	.detach = test_detach,
};

struct world *mover_world(struct world_options options)
{
	mover_begin();
	options.one_nic = true;
	options.mover = &mover;
	options.bytes = options.bytes ? options.bytes : 1 << 20;
	return world_begin(&options);
}

struct world *mover_world_held(struct world_options options)
{
	struct world *w = mover_world(options);

	test_mover.hold = true;
	return w;
}
