// SPDX-License-Identifier: MIT
/* Pins through dma-bufs: of the card, revoked by it, and of memory that is no device's. */
#include "gdrdrv_fixture.h"
#include "host.h"
#include "tap.h"

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static int try_import(struct gdrdrv_pin_dmabuf arg, uint64_t *handle_p)
{
	int ret = try_request(drv, GDRDRV_IOC_PIN_DMABUF, &arg);

	*handle_p = arg.handle;
	return ret;
}

static void stores_arrive(void)
{
	struct gdrdrv_get_info info;
	volatile unsigned char *addr;
	uint64_t handle;
	int fd;

	begin(PERSISTENT);
	fd = gpu_export(gpu, &mem, 64 * KIB, 256 * KIB);
	check_eq(try_import((struct gdrdrv_pin_dmabuf){ .fd = fd, .offset = 4096, .size = 8192, .va = 0x1234000 }, &handle), 0);
	/* the pin holds it */
	close(fd);
	check_eq(try_info(drv, handle, &info), 0);
	check_eq(info.va, 0x1234000);
	check_eq(info.mapped_size, 8192);
	check_eq(info.page_size, 4096);
	addr = drv_map(drv, handle, 8192);
	for (size_t i = 0; i < 8192; i++)
		addr[i] = i & 1 ? 0xd2 : 0x87;
	check(host_ask("check", mem.offset + 68 * KIB, 8192, "87d2"));
	munmap((void *)addr, 8192);
	check_eq(try_unpin(drv, handle), 0);
	check_eq(gpu_counters(gpu).dmabufs, 0);
	end();
}

static void exporter_revokes(void)
{
	uint64_t handle;
	uint32_t value;
	void *addr;
	int fd;

	begin(PERSISTENT);
	fd = gpu_export(gpu, &mem, 0, mem.len);
	check_eq(try_import((struct gdrdrv_pin_dmabuf){ .fd = fd, .size = mem.len }, &handle), 0);
	addr = drv_map(drv, handle, mem.len);
	*(volatile uint32_t *)addr = 77;
	check_eq(load_signal(addr, &value), 0);
	gpu_knob("revoke", 2);
	check_eq(load_signal(addr, &value), SIGBUS);
	check_eq(try_cb_flag(drv, handle), 1);
	munmap(addr, mem.len);
	check_eq(try_map(drv, handle, 4096, &addr), -EINVAL);
	check_eq(try_unpin(drv, handle), 0);
	check_eq(try_import((struct gdrdrv_pin_dmabuf){ .fd = fd, .size = mem.len }, &handle), -ENODEV);
	close(fd);
	end();
}

static void bad_imports(void)
{
	uint64_t handle;
	int fd;

	begin(PERSISTENT);
	fd = gpu_export(gpu, &mem, 0, 64 * KIB);
	check_eq(try_import((struct gdrdrv_pin_dmabuf){ .fd = -1, .size = 4096 }, &handle), -EBADF);
	check_eq(try_import((struct gdrdrv_pin_dmabuf){ .fd = drv, .size = 4096 }, &handle), -EINVAL);
	check_eq(try_import((struct gdrdrv_pin_dmabuf){ .fd = fd, .size = 4096, .flags = 1 }, &handle), -EINVAL);
	check_eq(try_import((struct gdrdrv_pin_dmabuf){ .fd = fd, .size = 0 }, &handle), -EINVAL);
	check_eq(try_import((struct gdrdrv_pin_dmabuf){ .fd = fd, .size = 100 }, &handle), -EINVAL);
	check_eq(try_import((struct gdrdrv_pin_dmabuf){ .fd = fd, .size = 4096, .offset = 1 }, &handle), -EINVAL);
	check_eq(try_import((struct gdrdrv_pin_dmabuf){ .fd = fd, .size = 4096, .offset = 64 * KIB }, &handle), -EINVAL);
	check_eq(try_import((struct gdrdrv_pin_dmabuf){ .fd = fd, .size = 128 * KIB }, &handle), -EINVAL);
	check_eq(try_import((struct gdrdrv_pin_dmabuf){ .fd = fd, .size = -4096UL, .offset = 4096 }, &handle), -EINVAL);
	close(fd);
	end();
}

static void system_memory_is_refused(void)
{
	struct udmabuf_create create = { .size = 64 * KIB };
	int node = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	uint64_t handle;
	int fd;

	if (node < 0)
		skip("this kernel has no udmabuf");
	begin(PERSISTENT);
	create.memfd = memfd_create("udmabuf", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	check_eq(ftruncate(create.memfd, 64 * KIB), 0);
	check_eq(fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	fd = ioctl(node, UDMABUF_CREATE, &create);
	check(fd >= 0);
	check_eq(try_import((struct gdrdrv_pin_dmabuf){ .fd = fd, .size = 64 * KIB }, &handle), -EOPNOTSUPP);
	close(fd);
	close(create.memfd);
	close(node);
	end();
}

static const struct tap_test tests[] = {
	{ "stores_through_an_imported_dma_buf_reach_the_card", stores_arrive },
	{ "an_exporter_that_takes_memory_back_ends_the_pin", exporter_revokes },
	{ "imports_that_make_no_sense_are_refused", bad_imports },
	{ "system_memory_is_refused", system_memory_is_refused },
};

TAP_MAIN(tests)
