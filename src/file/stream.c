// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/stream: " fmt
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bounce.h"
#include "config.h"
#include "driver.h"
#include "error.h"
#include "util/log.h"

#define ALL_FLAGS                                                                                                      \
	(CU_FILE_STREAM_FIXED_BUF_OFFSET | CU_FILE_STREAM_FIXED_FILE_OFFSET | CU_FILE_STREAM_FIXED_FILE_SIZE |         \
	 CU_FILE_STREAM_PAGE_ALIGNED_INPUTS)

#define ALL_VALUES (CU_FILE_STREAM_FIXED_BUF_OFFSET | CU_FILE_STREAM_FIXED_FILE_OFFSET | CU_FILE_STREAM_FIXED_FILE_SIZE)

/* CU_STREAM_PER_THREAD: another stream in each thread. */
#define PER_THREAD ((CUstream)2)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_stream *streams;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forget(void)
{
	pthread_mutex_init(&lock, NULL);
	streams = NULL;
	bl_stream_ops_forget();
	bl_stream_watch_forget();
	bl_words_forget();
	bl_bounce_forget();
	bl_stream_kernel_forget();
}

static void set_up(void)
{
	pthread_atfork(NULL, NULL, forget);
	/* without it the memory stays until the process ends */
	if (bl_driver_at_close(bl_bounce_close, NULL))
		log_warn("pinned memory of streams stays when the driver is closed");
}

static int no_async(const char *why)
{
	return bl_fail(-BL_CUFILE(CU_FILE_ASYNC_NOT_SUPPORTED), log_fmt("%s"), why);
}

int bl_stream_enter(CUstream handle, const struct bl_cuda **cuda_p, CUcontext *context_p)
{
	const struct bl_cuda *cuda = bl_cuda();
	CUresult err;

	pthread_once(&once, set_up);
	if (!cuda)
		return no_async(bl_cuda_error());
	if (!cuda->cuLaunchHostFunc)
		return no_async("the driver has no cuLaunchHostFunc: too old");
	err = cuda->cuStreamGetCtx ? cuda->cuStreamGetCtx(handle, context_p) : cuda->cuCtxGetCurrent(context_p);
	if (!err)
		err = cuda->cuCtxPushCurrent(*context_p);
	if (err)
		return bl_fail(-BL_CUFILE_CUDA(err), log_fmt("context of stream %p: %s"), (void *)handle,
			       bl_cuda_strerror(err));
	*cuda_p = cuda;
	return 0;
}

void bl_stream_leave(const struct bl_cuda *cuda)
{
	CUcontext popped;

	cuda->cuCtxPopCurrent(&popped);
}

/*
 * The driver's number of a stream, so that a new stream is not taken for an old one of the same address. Drivers before
 * 525 have none; streams of threads must be told apart even there.
 */
static int id_of(const struct bl_cuda *cuda, CUstream handle, uint64_t *id_p)
{
	unsigned long long id = handle == PER_THREAD ? (unsigned long long)syscall(SYS_gettid) : 0;
	CUresult err = cuda->cuStreamGetId ? cuda->cuStreamGetId(handle, &id) : CUDA_SUCCESS;

	if (err)
		return bl_fail(-BL_CUFILE_CUDA(err), log_fmt("number of stream %p: %s"), (void *)handle,
			       bl_cuda_strerror(err));
	*id_p = id;
	return 0;
}

/* The lock is held. */
static void unlist(struct bl_stream *stream)
{
	struct bl_stream **link = &streams;

	while (*link && *link != stream)
		link = &(*link)->next;
	if (*link)
		*link = stream->next;
	stream->listed = false;
}

static void destroy(struct bl_stream *stream)
{
	bl_words_put(stream);
	pthread_mutex_destroy(&stream->submit);
	free(stream);
}

void bl_stream_put(struct bl_stream *stream)
{
	bool last;

	pthread_mutex_lock(&lock);
	last = atomic_fetch_sub(&stream->refs, 1) == 1;
	if (last && stream->listed)
		unlist(stream);
	pthread_mutex_unlock(&lock);
	if (last)
		destroy(stream);
}

/*
 * A stream of the same handle that is another one: its program has destroyed it. Operations on it still have their turn,
 * but for those of a context that is gone.
 */
static void retire(struct bl_stream *stream, bool context_gone)
{
	bool registered;

	pthread_mutex_lock(&lock);
	if (stream->listed)
		unlist(stream);
	registered = stream->registered;
	stream->registered = false;
	pthread_mutex_unlock(&lock);
	if (context_gone)
		bl_stream_drop(stream);
	if (registered)
		bl_stream_put(stream);
}

static struct bl_stream *find(CUstream handle, CUcontext context, uint64_t id)
{
	struct bl_stream *stream;

	pthread_mutex_lock(&lock);
	for (stream = streams; stream; stream = stream->next) {
		if (stream->handle == handle && stream->context == context && (stream->id == id || handle != PER_THREAD))
			break;
	}
	if (stream)
		atomic_fetch_add(&stream->refs, 1);
	pthread_mutex_unlock(&lock);
	return stream;
}

static struct bl_stream *make(const struct bl_cuda *cuda, CUstream handle, CUcontext context, uint64_t id)
{
	struct bl_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	atomic_store(&stream->refs, 1);
	stream->handle = handle;
	stream->context = context;
	stream->id = id;
	pthread_mutex_init(&stream->submit, NULL);
	if (cuda->cuStreamWaitValue32 && cuda->cuStreamWriteValue32 && !bl_file_config()->stream_memops_bypass)
		bl_words_get(cuda, stream);
	return stream;
}

/* Two threads may make the same one at a time: the second takes the first's. */
static struct bl_stream *publish(struct bl_stream *made)
{
	struct bl_stream *other;

	pthread_mutex_lock(&lock);
	for (other = streams; other; other = other->next) {
		if (other->handle == made->handle && other->context == made->context && other->id == made->id)
			break;
	}
	if (other) {
		atomic_fetch_add(&other->refs, 1);
	} else {
		made->next = streams;
		made->listed = true;
		streams = made;
	}
	pthread_mutex_unlock(&lock);
	if (!other)
		return made;
	destroy(made);
	return other;
}

int bl_stream_get(const struct bl_cuda *cuda, CUstream handle, CUcontext context, struct bl_stream **stream_p)
{
	struct bl_stream *stream;
	uint64_t id = 0;
	int ret;

	ret = id_of(cuda, handle, &id);
	if (ret)
		return ret;
	while ((stream = find(handle, context, id))) {
		bool holds = bl_words_hold(cuda, stream);

		if (stream->id == id && holds) {
			*stream_p = stream;
			return 0;
		}
		retire(stream, !holds);
		bl_stream_put(stream);
	}
	stream = make(cuda, handle, context, id);
	if (!stream)
		return fail(ENOMEM, "stream %p", (void *)handle);
	*stream_p = publish(stream);
	return 0;
}

static int mark_registered(struct bl_stream *stream, unsigned int flags)
{
	int ret = 0;

	pthread_mutex_lock(&lock);
	if (stream->registered) {
		ret = -EEXIST;
	} else {
		stream->registered = true;
		atomic_store(&stream->flags, flags);
	}
	pthread_mutex_unlock(&lock);
	if (!ret)
		return 0;
	bl_stream_put(stream);
	return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("stream %p is registered already"),
		       (void *)stream->handle);
}

int bl_stream_register(CUstream handle, unsigned int flags)
{
	const struct bl_cuda *cuda;
	struct bl_stream *stream;
	CUcontext context;
	int ret;

	if (flags & ~(unsigned int)ALL_FLAGS)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("register: flags 0x%x"), flags);
	ret = bl_stream_enter(handle, &cuda, &context);
	if (ret)
		return ret;
	ret = bl_stream_get(cuda, handle, context, &stream);
	if (!ret)
		ret = mark_registered(stream, flags);
	/*
	 * The only place: an operation must not wait for what is on streams by then. Who fixes everything need not wait
	 * here either: CUDA's copies serve such a stream.
	 */
	if (!ret && stream->word && (flags & ALL_VALUES) != ALL_VALUES)
		bl_stream_kernel_load(cuda, context, handle);
	bl_stream_leave(cuda);
	return ret;
}

/* CUDA is not asked, since the stream may be gone. The stream of a thread is deregistered by that thread or another. */
int bl_stream_deregister(CUstream handle)
{
	struct bl_stream *stream;

	pthread_mutex_lock(&lock);
	for (stream = streams; stream; stream = stream->next) {
		if (stream->handle == handle && stream->registered)
			break;
	}
	if (stream) {
		stream->registered = false;
		atomic_store(&stream->flags, 0);
	}
	pthread_mutex_unlock(&lock);
	if (!stream)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("stream %p is not registered"), (void *)handle);
	bl_stream_put(stream);
	return 0;
}
