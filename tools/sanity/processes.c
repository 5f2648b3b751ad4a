// SPDX-License-Identifier: MIT
/*
 * processes.c - what is left to a forked child, and what a killed process leaves
 */
#include "sanity/sanity.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEN	   (4 * GPU_PAGE_SIZE)
#define KILLED_LEN (64UL << 20)
#define WAIT_MS	   5000

/* What a child inherits. */
struct inherited {
	gdr_t g;
	const struct st_buf *buf;
};

static void call_everything(int sock, void *arg)
{
	const struct inherited *inherited = arg;
	const struct st_buf *buf = inherited->buf;
	gdr_mh_t mh = buf->mh, none = { 0 };
	void *addr = st_buf_addr(buf), *map = NULL;
	gdr_t g = inherited->g;
	char host[16] = { 0 };
	gdr_info_t info;
	int value, minor;

	st_err(gdr_pin_buffer(g, buf->mem.ptr, LEN, 0, 0, &none), EACCES);
	st_err(gdr_pin_buffer_v2(g, buf->mem.ptr, LEN, 0, &none), EACCES);
	st_check(!none.h);
	st_err(gdr_map(g, mh, &map, LEN), EACCES);
	st_err(gdr_map_v2(g, mh, &map, LEN, 0), EACCES);
	st_check(!map);
	st_err(gdr_copy_to_mapping(mh, addr, host, sizeof(host)), EACCES);
	st_err(gdr_copy_from_mapping(mh, host, addr, sizeof(host)), EACCES);
	st_err(gdr_get_info(g, mh, &info), EACCES);
	st_err(gdr_get_callback_flag(g, mh, &value), EACCES);
	st_err(gdr_get_attribute(g, GDR_ATTR_USE_PERSISTENT_MAPPING, &value), EACCES);
	st_err(gdr_driver_get_version(g, &value, &minor), EACCES);
	st_err(gdr_unmap(g, mh, addr, LEN), EACCES);
	st_err(gdr_unpin_buffer(g, mh), EACCES);
	st_ok(gdr_close(g));
}

static void barlane_fork_child_is_refused(enum tool_mem_kind kind)
{
	struct inherited inherited;
	struct tool_device device;
	struct st_child child;
	struct st_buf buf;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, LEN, &buf);
	buf.map[0] = 0x600d;
	inherited = (struct inherited){ g, &buf };
	st_fork(call_everything, &inherited, &child);
	st_join(&child);
	/* nothing that the child did may reach the parent */
	st_check_eq(buf.map[0], 0x600d);
	buf.map[1] = 0x600d;
	st_check_eq(buf.map[1], 0x600d);
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

/* A child forked before gdr_open(), or with nothing open, starts afresh. */
static void open_own(int sock, void *arg)
{
	enum tool_mem_kind kind = *(enum tool_mem_kind *)arg;
	struct tool_device device;
	struct st_buf buf;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_buf_make(&device, g, kind, LEN, &buf);
	buf.map[0] = 1;
	st_check_eq(buf.map[0], 1);
	st_buf_drop(g, &buf);
	st_ok(gdr_close(g));
}

static void barlane_fork_child_may_open_its_own(enum tool_mem_kind kind)
{
	struct st_child child;
	gdr_t g = st_open();

	st_fork(open_own, &kind, &child);
	st_join(&child);
	st_ok(gdr_close(g));
}

static void map_and_wait(int sock, void *arg)
{
	enum tool_mem_kind kind = *(enum tool_mem_kind *)arg;
	struct tool_device device;
	struct st_buf buf;
	gdr_t g;

	st_await(sock);
	st_gpu(&device);
	g = st_open();
	st_signal(sock);
	st_await(sock);
	st_buf_make(&device, g, kind, KILLED_LEN, &buf);
	buf.map[0] = 1;
	st_flush();
	st_signal(sock);
	pause();
}

static size_t wait_for_free_memory(const struct tool_device *device, size_t wanted)
{
	const struct timespec pause_10ms = { .tv_nsec = 10000000 };
	size_t left = 0;

	for (int i = 0; i < WAIT_MS / 10; i++) {
		left = st_free_memory(device);
		if (left >= wanted)
			break;
		nanosleep(&pause_10ms, NULL);
	}
	return left;
}

static void barlane_killed_process_leaves_nothing(enum tool_mem_kind kind)
{
	size_t before, during, after;
	struct tool_device device;
	struct st_child child;

	st_fork(map_and_wait, &kind, &child);
	st_gpu(&device);
	st_needs_shared_gpu(&device);
	st_signal(child.sock);
	st_await(child.sock);
	before = st_free_memory(&device);
	st_signal(child.sock);
	st_await(child.sock);
	during = st_free_memory(&device);
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
	if (device.emulated && during == before)
		st_waive("each process has an emulated GPU of its own: no memory of another process can be seen");
	st_check(before > during && before - during >= KILLED_LEN / 2);
	after = wait_for_free_memory(&device, before);
	st_log("free: %zu before, %zu during, %zu after", before, during, after);
	st_check(after >= before);
}

const struct sanity_test sanity_processes[] = {
	SANITY_ONE(barlane_fork_child_is_refused),
	SANITY_ONE(barlane_fork_child_may_open_its_own),
	SANITY_BOTH(barlane_killed_process_leaves_nothing),
	{ 0 },
};
