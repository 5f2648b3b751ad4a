// SPDX-License-Identifier: MIT
/*
 * Words in pinned memory for which streams wait. A page of them belongs to a context: it is registered in it, and no
 * longer reached by the GPU when the context is gone. The memory is the library's own, not CUDA's, so that a thread that
 * has just finished an operation may write to a word whatever became of the context.
 */
#define log_fmt(fmt) "file/stream: " fmt
#include <stdlib.h>
#include <sys/mman.h>

#include "stream.h"
#include "util/log.h"

#define PAGE_LEN 4096

/* One word a cache line. */
#define WORD_LEN  64
#define BACK_AT	  32 /* in the line: what the stream counts up */
#define NR_WORDS  (PAGE_LEN / WORD_LEN)
#define ALL_TAKEN UINT64_MAX

/**
 * struct bl_words - a page of words
 * @next:    list of all
 * @context: context that reaches it; NULL: it is gone
 * @page:    the memory
 * @device:  its address for the GPU
 * @flags:   of waits
 * @taken:   bit per word
 */
struct bl_words {
	struct bl_words *next;
	CUcontext context;
	unsigned char *page;
	CUdeviceptr device;
	unsigned int flags;
	uint64_t taken;
};

_Static_assert(NR_WORDS == 64, "a bit for each word");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_words *pages;
static atomic_bool complained;

/* The pages are not mapped in a child. */
void bl_words_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	pages = NULL;
}

static bool reached(const struct bl_cuda *cuda, const struct bl_words *words)
{
	CUdeviceptr device = 0;

	return !cuda->cuMemHostGetDevicePointer(&device, words->page, 0) && device == words->device;
}

bool bl_words_hold(const struct bl_cuda *cuda, const struct bl_stream *stream)
{
	return !stream->words || reached(cuda, stream->words);
}

static void take(struct bl_words *words, struct bl_stream *stream)
{
	int nr = __builtin_ctzll(~words->taken);
	void *word = words->page + nr * WORD_LEN;

	words->taken |= 1ULL << nr;
	stream->words = words;
	stream->word = word;
	stream->back = (void *)((char *)word + BACK_AT);
	stream->device = words->device + (CUdeviceptr)nr * WORD_LEN;
	stream->back_device = stream->device + BACK_AT;
	stream->wait_flags = words->flags;
	/* what the word counted for another stream is where this one goes on */
	stream->seq = atomic_load(stream->word);
}

static bool take_known(struct bl_stream *stream)
{
	struct bl_words *words;

	pthread_mutex_lock(&lock);
	for (words = pages; words; words = words->next) {
		if (words->context == stream->context && words->taken != ALL_TAKEN)
			break;
	}
	if (words)
		take(words, stream);
	pthread_mutex_unlock(&lock);
	return words;
}

static void page_free(struct bl_words *words)
{
	munmap(words->page, PAGE_LEN);
	free(words);
}

/* The lock is held; a page that is used by nobody and reached by no GPU goes. */
static struct bl_words *drop_if_useless(struct bl_words *words)
{
	struct bl_words **link = &pages;

	if (words->context || words->taken)
		return NULL;
	while (*link && *link != words)
		link = &(*link)->next;
	if (*link)
		*link = words->next;
	return words;
}

static void put(struct bl_stream *stream, bool context_gone)
{
	struct bl_words *words = stream->words, *useless;

	if (!words)
		return;
	pthread_mutex_lock(&lock);
	words->taken &= ~(1ULL << (((unsigned char *)stream->word - words->page) / WORD_LEN));
	if (context_gone)
		words->context = NULL;
	useless = drop_if_useless(words);
	pthread_mutex_unlock(&lock);
	if (useless)
		page_free(useless);
	stream->words = NULL;
	stream->word = NULL;
	stream->back = NULL;
	stream->device = 0;
}

void bl_words_put(struct bl_stream *stream)
{
	put(stream, false);
}

/* Whether the GPU can see to it that what a CPU or a drive wrote to its memory is there when the wait is over. */
static unsigned int wait_flags(const struct bl_cuda *cuda)
{
	CUdevice device;
	int can = 0;

	if (cuda->cuCtxGetDevice(&device) ||
	    cuda->cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, device))
		can = 0;
	return CU_STREAM_WAIT_VALUE_GEQ | (can ? (unsigned int)CU_STREAM_WAIT_VALUE_FLUSH : 0);
}

/* Captures of other threads are left alone. */
static CUresult pin(const struct bl_cuda *cuda, struct bl_words *words)
{
	int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUresult err;

	cuda->cuThreadExchangeStreamCaptureMode(&mode);
	err = cuda->cuMemHostRegister(words->page, PAGE_LEN, CU_MEMHOSTREGISTER_DEVICEMAP);
	if (!err) {
		err = cuda->cuMemHostGetDevicePointer(&words->device, words->page, 0);
		if (err)
			cuda->cuMemHostUnregister(words->page);
	}
	cuda->cuThreadExchangeStreamCaptureMode(&mode);
	return err;
}

static struct bl_words *page_new(const struct bl_cuda *cuda, CUcontext context)
{
	struct bl_words *words = calloc(1, sizeof(*words));
	CUresult err;
	void *page;

	if (!words)
		return NULL;
	page = mmap(NULL, PAGE_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		goto free_words;
	words->page = page;
	words->context = context;
	/* the GPU must see this process' page and no copy of a child's making */
	if (madvise(page, PAGE_LEN, MADV_DONTFORK))
		goto free_page;
	err = pin(cuda, words);
	if (err) {
		if (!atomic_exchange(&complained, true))
			log_warn("no word that a stream can wait for: %s; its host functions wait instead",
				 bl_cuda_strerror(err));
		goto free_page;
	}
	words->flags = wait_flags(cuda);
	return words;
free_page:
	munmap(page, PAGE_LEN);
free_words:
	free(words);
	return NULL;
}

void bl_words_get(const struct bl_cuda *cuda, struct bl_stream *stream)
{
	struct bl_words *words;

	if (!cuda->cuMemHostRegister || !cuda->cuMemHostUnregister || !cuda->cuMemHostGetDevicePointer)
		return;
	while (take_known(stream)) {
		if (reached(cuda, stream->words))
			return;
		/* another context has the address of one that is gone */
		put(stream, true);
	}
	words = page_new(cuda, stream->context);
	if (!words)
		return;
	pthread_mutex_lock(&lock);
	words->next = pages;
	pages = words;
	take(words, stream);
	pthread_mutex_unlock(&lock);
}
