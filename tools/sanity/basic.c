// SPDX-License-Identifier: MIT
/*
 * basic.c - pin, map and take back
 */
#include "sanity/sanity.h"

#include <pthread.h>

#define BASIC_SIZE (5 * GPU_PAGE_SIZE)

static void basic(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct tool_mem mem;
	gdr_mh_t mh = { 0 };
	gdr_t g;

	st_gpu(&device);
	st_alloc(&device, kind, BASIC_SIZE, &mem);
	g = st_open();
	st_ok(gdr_pin_buffer(g, mem.ptr, BASIC_SIZE, 0, 0, &mh));
	st_check(mh.h);
	st_ok(gdr_unpin_buffer(g, mh));
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
}

static void pin_v2(enum tool_mem_kind kind, const struct tool_device *device, gdr_t g, uint32_t flags)
{
	struct tool_mem mem;
	gdr_mh_t mh = { 0 };

	st_alloc(device, kind, BASIC_SIZE, &mem);
	st_ok(gdr_pin_buffer_v2(g, mem.ptr, BASIC_SIZE, flags, &mh));
	st_check(mh.h);
	st_ok(gdr_unpin_buffer(g, mh));
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
}

static void basic_v2(enum tool_mem_kind kind)
{
	struct tool_device device;

	st_gpu(&device);
	pin_v2(kind, &device, st_open(), GDR_PIN_FLAG_DEFAULT);
}

static void basic_v2_forcepci(enum tool_mem_kind kind)
{
	struct tool_device device;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_needs_force_pcie(&device, g);
	pin_v2(kind, &device, g, GDR_PIN_FLAG_FORCE_PCIE);
}

static void basic_with_tokens(enum tool_mem_kind kind)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens = { 0 };
	struct tool_device device;
	struct tool_mem mem;
	gdr_mh_t mh = { 0 };
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	if (st_attr(g, GDR_ATTR_USE_PERSISTENT_MAPPING))
		st_waive("pins are persistent here, and those use no tokens");
	st_alloc(&device, kind, BASIC_SIZE, &mem);
	st_cuda(device.cu->cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, mem.ptr));
	st_ok(gdr_pin_buffer(g, mem.ptr, BASIC_SIZE, tokens.p2pToken, tokens.vaSpaceToken, &mh));
	st_check(mh.h);
	st_ok(gdr_unpin_buffer(g, mh));
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
}

/* A small allocation, and a larger one behind it that starts inside a GPU page. */
static void alloc_unaligned(const struct tool_device *device, size_t size, CUdeviceptr *small_p, CUdeviceptr *ptr_p)
{
	st_cuda(device->cu->cuMemAlloc(small_p, 512));
	st_cuda(device->cu->cuMemAlloc(ptr_p, size));
	/* where the driver aligns every allocation: an address inside it serves as well */
	if (!(*ptr_p & GPU_PAGE_OFFSET))
		*ptr_p += 4;
	st_log("small %llx, unaligned %llx", *small_p, *ptr_p);
}

static void basic_unaligned_mapping(enum tool_mem_kind kind)
{
	static const size_t size = 4 * GPU_PAGE_SIZE;
	struct tool_device device;
	struct st_buf aligned = { .len = GPU_PAGE_SIZE };
	CUdeviceptr small, ptr;
	gdr_mh_t mh = { 0 };
	gdr_info_t info;
	void *map = NULL;
	uint32_t word = 0x5eed0001;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	alloc_unaligned(&device, size, &small, &ptr);
	st_ok(gdr_pin_buffer(g, ptr, size - 4, 0, 0, &mh));
	st_refused(gdr_map(g, mh, &map, size - 4));
	st_check(!map);

	aligned.mem.ptr = (ptr + GPU_PAGE_OFFSET) & GPU_PAGE_MASK;
	st_buf_pin(g, &aligned);
	st_buf_map(g, &aligned);
	st_cuda(device.cu->cuMemFree(small));
	aligned.map[0] = word;
	st_flush();
	st_gpu_holds(&device, aligned.mem.ptr, &word, sizeof(word));
	st_ok(gdr_get_info(g, mh, &info));
	st_check(info.va <= ptr);
	st_ok(gdr_unmap(g, aligned.mh, st_buf_addr(&aligned), aligned.len));
	st_ok(gdr_unpin_buffer(g, aligned.mh));
	st_ok(gdr_unpin_buffer(g, mh));
	st_ok(gdr_close(g));
}

static void basic_small_buffers_mapping(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct tool_mem mem;
	gdr_mh_t first = { 0 }, second = { 0 };
	void *map = NULL, *none = NULL;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, GPU_PAGE_SIZE, &mem);
	st_ok(gdr_pin_buffer(g, mem.ptr, 8, 0, 0, &first));
	st_ok(gdr_pin_buffer(g, mem.ptr + 8, 8, 0, 0, &second));
	st_check(first.h && second.h && first.h != second.h);
	st_ok(gdr_map(g, first, &map, 8));
	st_refused(gdr_map(g, second, &none, 8));
	st_check(!none);
	st_ok(gdr_unmap(g, first, map, 8));
	st_ok(gdr_unpin_buffer(g, second));
	st_ok(gdr_unpin_buffer(g, first));
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
}

/* What the threads of one test share. */
struct work {
	const struct tool_device *device;
	gdr_t g;
	struct st_buf buf;
};

static void *set_up(void *arg)
{
	struct work *work = arg;

	st_cuda(work->device->cu->cuCtxSetCurrent(work->device->ctx));
	work->g = st_open();
	st_buf_pin(work->g, &work->buf);
	st_buf_map(work->g, &work->buf);
	return NULL;
}

static void *tear_down(void *arg)
{
	struct work *work = arg;

	st_ok(gdr_unmap(work->g, work->buf.mh, st_buf_addr(&work->buf), work->buf.len));
	st_ok(gdr_unpin_buffer(work->g, work->buf.mh));
	st_ok(gdr_close(work->g));
	return NULL;
}

static void *everything(void *arg)
{
	set_up(arg);
	return tear_down(arg);
}

/* Each thread its own pin of the same memory on the same instance. */
static void *own_pin(void *arg)
{
	const struct work *shared = arg;
	struct work work = *shared;

	st_cuda(work.device->cu->cuCtxSetCurrent(work.device->ctx));
	for (int i = 0; i < 100; i++) {
		st_buf_pin(work.g, &work.buf);
		st_buf_map(work.g, &work.buf);
		st_ok(gdr_unmap(work.g, work.buf.mh, st_buf_addr(&work.buf), work.buf.len));
		st_ok(gdr_unpin_buffer(work.g, work.buf.mh));
	}
	return NULL;
}

static void *close_only(void *arg)
{
	struct work *work = arg;

	st_ok(gdr_close(work->g));
	return NULL;
}

static pthread_t start(void *(*body)(void *), struct work *work)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, work))
		st_fail("cannot start a thread");
	return thread;
}

static void run_thread(void *(*body)(void *), struct work *work)
{
	pthread_join(start(body, work), NULL);
}

static void basic_child_thread_pins_buffer(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct work work = { .device = &device, .buf.len = BASIC_SIZE };
	pthread_t one, two;

	st_gpu(&device);
	st_alloc(&device, kind, BASIC_SIZE, &work.buf.mem);
	run_thread(everything, &work);

	run_thread(set_up, &work);
	run_thread(tear_down, &work);

	work.g = st_open();
	one = start(own_pin, &work);
	two = start(own_pin, &work);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	run_thread(close_only, &work);
	st_help(tool_mem_free(&work.buf.mem));
}

const struct sanity_test sanity_basic[] = {
	SANITY_BOTH(basic),
	SANITY_BOTH(basic_v2),
	SANITY_BOTH(basic_v2_forcepci),
	SANITY_ONE(basic_with_tokens),
	SANITY_ONE(basic_unaligned_mapping),
	SANITY_ONE(basic_small_buffers_mapping),
	SANITY_BOTH(basic_child_thread_pins_buffer),
	{ 0 },
};
