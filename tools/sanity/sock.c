// SPDX-License-Identifier: MIT
/*
 * sock.c - descriptors and handles of one process are of no use to another that receives them
 *
 * The library's instance is opaque, so every descriptor that appeared since before gdr_open() is sent.
 */
#include "sanity/sanity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define SOCK_SIZE (5 * GPU_PAGE_SIZE)
#define SECRET	  0x5ec4e701u

/* ioctl PIN_BUFFER of /dev/gdrdrv, and its argument */
#define GDRDRV_PIN_BUFFER 0xC028DA01UL

struct gdrdrv_pin_buffer {
	uint64_t addr;
	uint64_t size;
	uint64_t p2p_token;
	uint32_t va_space;
	uint32_t pad;
	uint64_t handle;
};

/* What goes over the socket beside the descriptors. */
struct offer {
	gdr_t g;
	gdr_mh_t mh;
	CUdeviceptr ptr;
	size_t len;
};

static bool is_gdrdrv(int fd)
{
	char link[64], path[64] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, path, sizeof(path) - 1) > 0 && !strcmp(path, "/dev/gdrdrv");
}

/* The kernel module itself must refuse, whatever the library says. */
static void try_gdrdrv(const struct st_fds *fds, CUdeviceptr ptr)
{
	struct gdrdrv_pin_buffer pin = { .addr = ptr, .size = SOCK_SIZE };

	for (size_t i = 0; i < fds->nr; i++) {
		if (!is_gdrdrv(fds->fd[i]))
			continue;
		st_log("descriptor %d is /dev/gdrdrv", fds->fd[i]);
		if (!ioctl(fds->fd[i], GDRDRV_PIN_BUFFER, &pin))
			st_fail("a received descriptor of /dev/gdrdrv can pin");
		st_check_eq(errno, EACCES);
	}
}

static void receive(int sock, struct offer *offer, struct st_fds *fds)
{
	st_recv(sock, offer, sizeof(*offer));
	st_recv_fds(sock, fds);
	st_log("received %zu descriptors", fds->nr);
}

/* A buffer of the receiver's own, which it could pin with an instance of its own. */
static void pin_with_received(int sock, void *arg)
{
	enum tool_mem_kind kind = *(enum tool_mem_kind *)arg;
	struct tool_device device;
	struct offer offer;
	struct tool_mem mem;
	struct st_fds fds;
	gdr_mh_t mh = { 0 };

	receive(sock, &offer, &fds);
	st_gpu(&device);
	st_alloc(&device, kind, SOCK_SIZE, &mem);
	st_refused(gdr_pin_buffer(offer.g, mem.ptr, SOCK_SIZE, 0, 0, &mh));
	st_refused(gdr_pin_buffer(offer.g, offer.ptr, SOCK_SIZE, 0, 0, &mh));
	st_check(!mh.h);
	try_gdrdrv(&fds, mem.ptr);
}

static void map_with_received(int sock, void *arg)
{
	char host[4] = "no";
	struct offer offer;
	struct st_fds fds;
	void *map = NULL;

	receive(sock, &offer, &fds);
	st_refused(gdr_map(offer.g, offer.mh, &map, offer.len));
	st_check(!map);
	st_refused(gdr_copy_from_mapping(offer.mh, host, host, sizeof(host)));
	try_gdrdrv(&fds, offer.ptr);
}

static void share(int sock, const struct st_fds *before, gdr_t g, const struct st_buf *buf)
{
	struct offer offer = { .g = g, .mh = buf->mh, .ptr = buf->mem.ptr, .len = buf->len };
	struct st_fds fds;

	st_fds_new(before, &fds);
	st_log("sending %zu descriptors", fds.nr);
	st_send(sock, &offer, sizeof(offer));
	st_send_fds(sock, &fds);
}

/* CUDA runs before the descriptors are noted down: its own are not the library's to protect. */
static void run(enum tool_mem_kind kind, void (*receiver)(int sock, void *arg), bool pin, bool map)
{
	struct st_buf buf = { .len = SOCK_SIZE };
	struct tool_device device;
	struct st_child child;
	struct st_fds before;
	gdr_t g;

	st_fork(receiver, &kind, &child);
	st_gpu(&device);
	st_needs_shared_gpu(&device);
	st_alloc(&device, kind, SOCK_SIZE, &buf.mem);
	st_cuda(device.cu->cuMemsetD32(buf.mem.ptr, SECRET, SOCK_SIZE / 4));
	st_cuda(device.cu->cuCtxSynchronize());
	st_fds_now(&before);
	g = st_open();
	st_needs_private_pins(g);
	if (pin)
		st_buf_pin(g, &buf);
	if (map)
		st_buf_map(g, &buf);
	share(child.sock, &before, g, &buf);
	st_join(&child);
	if (map) {
		st_check_eq(buf.map[0], SECRET);
		st_ok(gdr_unmap(g, buf.mh, st_buf_addr(&buf), buf.len));
	}
	if (pin)
		st_ok(gdr_unpin_buffer(g, buf.mh));
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&buf.mem));
}

static void invalidation_unix_sock_shared_fd_gdr_pin_buffer(enum tool_mem_kind kind)
{
	run(kind, pin_with_received, false, false);
}

static void invalidation_unix_sock_shared_fd_gdr_map(enum tool_mem_kind kind)
{
	run(kind, map_with_received, true, false);
}

/* The descriptors of a live mapping, without any help of the library. */
static void mmap_received(int sock, void *arg)
{
	struct offer offer;
	struct st_fds fds;
	uint32_t value = 0;

	receive(sock, &offer, &fds);
	for (size_t i = 0; i < fds.nr; i++) {
		void *map = mmap(NULL, offer.len, PROT_READ, MAP_SHARED, fds.fd[i], 0);

		if (map == MAP_FAILED) {
			st_log("descriptor %d: mmap: %s", fds.fd[i], strerror(errno));
			continue;
		}
		if (!st_peek(map, &value) && value == SECRET)
			st_fail("mmap() of a received descriptor shows the sender's GPU memory");
		munmap(map, offer.len);
	}
	try_gdrdrv(&fds, offer.ptr);
}

static void barlane_sock_descriptors_show_nothing(enum tool_mem_kind kind)
{
	run(kind, mmap_received, true, true);
}

const struct sanity_test sanity_sock[] = {
	SANITY_BOTH(invalidation_unix_sock_shared_fd_gdr_pin_buffer),
	SANITY_BOTH(invalidation_unix_sock_shared_fd_gdr_map),
	{ 0 },
};

const struct sanity_test sanity_sock_mmap[] = {
	SANITY_ONE(barlane_sock_descriptors_show_nothing),
	{ 0 },
};
