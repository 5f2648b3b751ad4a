// SPDX-License-Identifier: MIT
/*
 * fork.c - mappings and pins belong to the process that made them
 *
 * A process that forks after cuInit() has a child without CUDA, so children that use the GPU are forked first.
 */
#include "sanity/sanity.h"

#define FORK_SIZE    (5 * GPU_PAGE_SIZE)
#define PARENT_MAGIC 0xaaaa1111u
#define CHILD_MAGIC  0xbbbb2222u

/* When told so, fill GPU memory of its own with the child's word. */
static void fill_own_memory(int sock, void *arg)
{
	enum tool_mem_kind kind = *(enum tool_mem_kind *)arg;
	struct tool_device device;
	struct st_buf buf;
	gdr_t g;

	st_await(sock);
	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, FORK_SIZE, &buf);
	st_cuda(device.cu->cuMemsetD32(buf.mem.ptr, CHILD_MAGIC, FORK_SIZE / 4));
	st_cuda(device.cu->cuCtxSynchronize());
	st_check_eq(buf.map[0], CHILD_MAGIC);
	st_signal(sock);
	st_await(sock);
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

static void invalidation_fork_access_after_free(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct st_child child;
	struct st_buf buf;
	uint32_t value = 0;
	int persistent, sig;
	gdr_t g;

	st_fork(fill_own_memory, &kind, &child);
	st_gpu(&device);
	st_needs_shared_gpu(&device);
	g = st_open();
	persistent = st_attr(g, GDR_ATTR_USE_PERSISTENT_MAPPING);
	st_buf_make(&device, g, kind, FORK_SIZE, &buf);
	buf.map[0] = PARENT_MAGIC;
	st_flush();
	st_help(tool_mem_free(&buf.mem));
	st_signal(child.sock);
	st_await(child.sock);
	sig = st_peek(buf.map, &value);
	st_log("load of freed memory: persistent %d, signal %d, value 0x%x", persistent, sig, value);
	st_check(sig || value != CHILD_MAGIC);
	if (persistent)
		st_check(!sig && value == PARENT_MAGIC);
	st_signal(child.sock);
	st_join(&child);
	st_ok(gdr_unmap(g, buf.mh, st_buf_addr(&buf), buf.len));
	st_ok(gdr_unpin_buffer(g, buf.mh));
	st_ok(gdr_close(g));
}

static void touch_inherited(int sock, void *arg)
{
	const struct st_buf *buf = arg;
	uint32_t value = 0;

	if (!st_peek(buf->map, &value))
		st_fail("the child reads 0x%x through the parent's mapping", value);
}

static void invalidation_fork_after_gdr_map(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct st_child child;
	struct st_buf buf;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_needs_private_pins(g);
	st_buf_make(&device, g, kind, FORK_SIZE, &buf);
	buf.map[0] = PARENT_MAGIC;
	st_flush();
	st_fork(touch_inherited, &buf, &child);
	st_join(&child);
	st_check_eq(buf.map[0], PARENT_MAGIC);
	buf.map[1] = PARENT_MAGIC;
	st_check_eq(buf.map[1], PARENT_MAGIC);
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

/* What a child inherits. */
struct inherited {
	gdr_t g;
	gdr_mh_t mh;
};

static void map_parents_pin(int sock, void *arg)
{
	const struct inherited *inherited = arg;
	void *map = NULL;

	st_refused(gdr_map(inherited->g, inherited->mh, &map, FORK_SIZE));
	st_check(!map);
}

static void invalidation_fork_child_gdr_map_parent(enum tool_mem_kind kind)
{
	struct st_buf buf = { .len = FORK_SIZE };
	struct inherited inherited;
	struct tool_device device;
	struct st_child child;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_needs_private_pins(g);
	st_alloc(&device, kind, FORK_SIZE, &buf.mem);
	st_buf_pin(g, &buf);
	inherited.g = g;
	inherited.mh = buf.mh;
	st_fork(map_parents_pin, &inherited, &child);
	st_join(&child);
	st_buf_map(g, &buf);
	buf.map[0] = PARENT_MAGIC;
	st_check_eq(buf.map[0], PARENT_MAGIC);
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

static void map_and_free(int sock, void *arg)
{
	enum tool_mem_kind kind = *(enum tool_mem_kind *)arg;
	struct tool_device device;
	struct st_buf buf;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, FORK_SIZE, &buf);
	buf.map[0] = CHILD_MAGIC;
	st_signal(sock);
	st_await(sock);
	st_help(tool_mem_free(&buf.mem));
	st_ok(gdr_unmap(g, buf.mh, st_buf_addr(&buf), buf.len));
	st_ok(gdr_unpin_buffer(g, buf.mh));
	st_ok(gdr_close(g));
}

static void invalidation_fork_map_and_free(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct st_child child;
	struct st_buf buf;
	uint32_t value = 0;
	gdr_t g;

	st_fork(map_and_free, &kind, &child);
	st_gpu(&device);
	st_needs_shared_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, FORK_SIZE, &buf);
	buf.map[0] = PARENT_MAGIC;
	st_flush();
	st_await(child.sock);
	st_signal(child.sock);
	st_join(&child);
	st_check_eq(st_peek(buf.map, &value), 0);
	st_check_eq(value, PARENT_MAGIC);
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

/* An address in another process, and what CUDA gives out for it. */
struct claim {
	CUdeviceptr ptr;
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
};

static void pin_anothers_memory(int sock, void *arg)
{
	struct claim claim;
	gdr_mh_t mh = { 0 };
	gdr_t g;

	g = st_open();
	st_recv(sock, &claim, sizeof(claim));
	st_refused(gdr_pin_buffer(g, claim.ptr, FORK_SIZE, claim.tokens.p2pToken, claim.tokens.vaSpaceToken, &mh));
	st_refused(gdr_pin_buffer(g, claim.ptr, FORK_SIZE, 0, 0, &mh));
	st_check(!mh.h);
	st_ok(gdr_close(g));
}

static void invalidation_fork_child_gdr_pin_parent_with_tokens(enum tool_mem_kind kind)
{
	struct claim claim = { 0 };
	struct tool_device device;
	struct st_child child;
	struct tool_mem mem;
	CUresult res;
	gdr_t g;

	st_fork(pin_anothers_memory, NULL, &child);
	st_gpu(&device);
	g = st_open();
	st_needs_private_pins(g);
	st_alloc(&device, kind, FORK_SIZE, &mem);
	claim.ptr = mem.ptr;
	res = device.cu->cuPointerGetAttribute(&claim.tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, mem.ptr);
	if (res)
		st_log("the driver gives no tokens (%s): tried without", bl_cuda_strerror(res));
	st_send(child.sock, &claim, sizeof(claim));
	st_join(&child);
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
}

const struct sanity_test sanity_fork[] = {
	SANITY_BOTH(invalidation_fork_access_after_free),
	SANITY_BOTH(invalidation_fork_after_gdr_map),
	SANITY_BOTH(invalidation_fork_child_gdr_map_parent),
	SANITY_BOTH(invalidation_fork_map_and_free),
	{ 0 },
};

const struct sanity_test sanity_fork_tokens[] = {
	SANITY_ONE(invalidation_fork_child_gdr_pin_parent_with_tokens),
	{ 0 },
};
