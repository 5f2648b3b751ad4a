// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/rm selftest: " fmt
#include "rm_selftest.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "barlane.h"
#include "rm_canary.h"
#include "util/log.h"

#define MAX_GPUS       64
#define MAX_CANDIDATES 16

/* One allocation that is an object of its own, two small ones that share a block; sizes that nothing else has. */
static const size_t plain_sizes[] = { 2 << 20, 12800, 21504 };
#define NR_PLAIN (sizeof(plain_sizes) / sizeof(plain_sizes[0]))

/**
 * struct way - a way to find memory on one GPU
 * @done:     it was tested
 * @error:    0, or why it is not used
 * @reason:   in words
 * @layout:   of the blob, for plain memory
 * @canaries: kept test allocations, so that a repeated test needs no more
 * @nr:       how many
 */
struct way {
	bool done;
	int error;
	char reason[256];
	struct rm_blob_layout layout;
	struct rm_canary canaries[NR_PLAIN];
	size_t nr;
};

static struct {
	pthread_mutex_t lock;
	struct way plain[MAX_GPUS];
	struct way vmm[MAX_GPUS];
} tests = { .lock = PTHREAD_MUTEX_INITIALIZER };

void rm_selftest_forget(void)
{
	pthread_mutex_init(&tests.lock, NULL);
	memset(tests.plain, 0, sizeof(tests.plain));
	memset(tests.vmm, 0, sizeof(tests.vmm));
}

/* A shortage proves nothing; everything else is final. */
static bool undecided(int ret)
{
	return ret == -ENOMEM || ret == -EMFILE || ret == -ENFILE;
}

static int conclude(struct way *way, struct rm_gpu *gpu, int ret)
{
	if (undecided(ret))
		return ret;
	way->done = true;
	way->error = ret ? -EOPNOTSUPP : 0;
	if (!ret)
		log_info("device %d: passed", gpu->ordinal);
	else
		snprintf(way->reason, sizeof(way->reason), "%s", bl_last_error(NULL));
	return way->error;
}

static int refuse(const struct way *way, struct rm_gpu *gpu, const char *kind)
{
	return fail(-way->error, "device %d: %s cannot be pinned, the self-test failed: %s", gpu->ordinal, kind,
		    way->reason);
}

static int take_sample(const struct bl_cuda *cuda, const struct rm_canary *canary, struct rm_sample *sample)
{
	CUipcMemHandle handle;
	CUresult err = cuda->cuIpcGetMemHandle(&handle, canary->va);

	if (err)
		return fail(EOPNOTSUPP, "cuIpcGetMemHandle: %s", bl_cuda_strerror(err));
	memcpy(sample->bytes, handle.reserved, RM_BLOB_SIZE);
	sample->size = canary->size;
	return 0;
}

static int check_plain(const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda,
		       CUstream stream, const struct rm_blob_layout *layout, const struct rm_canary *canary)
{
	struct rm_target target;
	struct bl_cuda_ptr ptr;
	int ret, err;

	ret = bl_cuda_ptr_query(cuda, canary->va, &ptr);
	if (ret)
		return ret;
	ret = rm_target_plain(conn, gpu, cuda, layout, &ptr, &target);
	if (ret)
		return ret;
	ret = rm_canary_check(conn, gpu, cuda, stream, &target, canary);
	err = ret == -EBUSY ? 0 : rm_target_free(conn, gpu, &target);
	return ret ? ret : err;
}

/* Whether trying another layout makes sense: only when this one led to something else, not when a call failed. */
static bool wrong_layout(int ret)
{
	return ret == -EPROTO || ret == -EINVAL || ret == -EACCES || ret == -EOPNOTSUPP;
}

static int check_layout(const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda, CUstream stream,
			const struct rm_blob_layout *layout, const struct way *way)
{
	int ret = 0;

	for (size_t i = 0; i < NR_PLAIN && !ret; i++)
		ret = check_plain(conn, gpu, cuda, stream, layout, &way->canaries[i]);
	return ret;
}

/*
 * The first layout that all canaries confirm. Wrong ones may fail in any way, which is not news; what is reported in the
 * end is how the first one failed, which is the one that was most likely right.
 */
static int learn(const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda, CUstream stream,
		 struct way *way)
{
	struct rm_blob_layout layouts[MAX_CANDIDATES];
	struct rm_sample samples[NR_PLAIN];
	char reason[256];
	size_t nr;
	int ret = 0, first = 0;

	for (size_t i = 0; i < NR_PLAIN && !ret; i++)
		ret = take_sample(cuda, &way->canaries[i], &samples[i]);
	if (ret)
		return ret;
	nr = rm_blob_candidates(samples, NR_PLAIN, layouts, MAX_CANDIDATES);
	if (!nr)
		return fail_quiet(EOPNOTSUPP, "no layout of this libcuda's IPC blob fits");
	for (size_t i = 0; i < nr; i++) {
		bl_fail_hush(1);
		ret = check_layout(conn, gpu, cuda, stream, &layouts[i], way);
		bl_fail_hush(-1);
		if (!ret) {
			struct rm_blob blob;

			rm_blob_read(&layouts[i], samples[0].bytes, &blob);
			way->layout = layouts[i];
			way->layout.owner = blob.client;
			return 0;
		}
		if (!first || !wrong_layout(ret)) {
			first = ret;
			snprintf(reason, sizeof(reason), "%s", bl_last_error(NULL));
		}
		if (!wrong_layout(ret))
			break;
	}
	/* a shortage is told now, everything else by refuse() */
	return undecided(first) ? bl_fail(-first, "%s", reason) : bl_fail_quiet(-first, "%s", reason);
}

/* Whether a canary of an earlier, undecided test is still ours: its context may be gone and its address reused. */
static bool alive(const struct bl_cuda *cuda, const struct rm_canary *canary)
{
	unsigned long long id = 0;

	return !cuda->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, canary->va) && id == canary->buffer_id;
}

static void drop_dead_canaries(const struct bl_cuda *cuda, struct way *way)
{
	for (size_t i = 0; i < way->nr; i++) {
		if (!alive(cuda, &way->canaries[i]))
			way->nr = 0;
	}
}

static int plain_canaries(const struct bl_cuda *cuda, struct way *way)
{
	int ret = 0;

	while (way->nr < NR_PLAIN && !ret) {
		ret = rm_canary_plain(cuda, plain_sizes[way->nr], &way->canaries[way->nr]);
		way->nr += !ret;
	}
	return ret;
}

static int test_plain(const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda, CUstream stream,
		      struct way *way)
{
	int ret;

	drop_dead_canaries(cuda, way);
	ret = plain_canaries(cuda, way);
	return ret ? ret : learn(conn, gpu, cuda, stream, way);
}

static int test_vmm(const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda, CUstream stream,
		    struct way *way)
{
	struct rm_target target;
	struct bl_cuda_ptr ptr;
	CUdevice device;
	int ret, err;

	if (cuda->cuDeviceGet(&device, gpu->ordinal))
		return fail(ENODEV, "device %d: not there", gpu->ordinal);
	drop_dead_canaries(cuda, way);
	if (!way->nr) {
		ret = rm_canary_vmm(cuda, device, &way->canaries[0]);
		if (ret)
			return ret;
		way->nr = 1;
	}
	ret = bl_cuda_ptr_query(cuda, way->canaries[0].va, &ptr);
	if (ret)
		return ret;
	ret = rm_target_vmm(conn, gpu, cuda, &ptr, &target);
	if (ret)
		return ret;
	ret = rm_canary_check(conn, gpu, cuda, stream, &target, &way->canaries[0]);
	err = ret == -EBUSY ? 0 : rm_target_free(conn, gpu, &target);
	return ret ? ret : err;
}

typedef int (*test_fn)(const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda,
		       CUstream stream, struct way *way);

/* A stream of its own that waits for nobody, least of all for the legacy stream that a capture may own. */
static int run(test_fn test, const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda,
	       struct way *way)
{
	CUstream stream;
	CUresult err;
	int ret;

	err = cuda->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	if (err)
		return fail(bl_cuda_errno(err), "stream: %s", bl_cuda_strerror(err));
	ret = test(conn, gpu, cuda, stream, way);
	cuda->cuStreamDestroy(stream);
	return conclude(way, gpu, ret);
}

static int decide(struct way *ways, test_fn test, const char *kind, const struct rm_conn *conn,
		  struct rm_gpu *gpu, const struct bl_cuda *cuda, struct rm_blob_layout *layout_p)
{
	struct way *way = &ways[gpu->ordinal];
	int ret = 0;

	if (gpu->ordinal >= MAX_GPUS)
		return fail(EOPNOTSUPP, "device %d: more than %d GPUs", gpu->ordinal, MAX_GPUS);
	pthread_mutex_lock(&tests.lock);
	if (!way->done)
		ret = run(test, conn, gpu, cuda, way);
	if (way->done && way->error)
		ret = refuse(way, gpu, kind);
	if (!ret && layout_p)
		*layout_p = way->layout;
	pthread_mutex_unlock(&tests.lock);
	return ret;
}

int rm_selftest_plain(const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda,
		      struct rm_blob_layout *layout_p)
{
	return decide(tests.plain, test_plain, "cuMemAlloc memory", conn, gpu, cuda, layout_p);
}

int rm_selftest_vmm(const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda)
{
	return decide(tests.vmm, test_vmm, "VMM memory", conn, gpu, cuda, NULL);
}
