// SPDX-License-Identifier: MIT
/* The fake /dev/gdrdrv: its ioctls per version, mappings, the callback on free; and dma-bufs. */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "fake_client.h"

#define NEWEST "580.159.04"
#define PAGE   4096UL

enum { PIN = 1, UNPIN, GET_CB_FLAG, GET_INFO, GET_INFO_V2, GET_ATTR, PIN_V2, REQ_TYPE };

/* The numbers as programs have them compiled in. */
static void requests_have_the_original_numbers(void)
{
	check_eq(GDR_IOCTL(PIN, 40), 0xc028da01);
	check_eq(GDR_IOCTL(UNPIN, 8), 0xc008da02);
	check_eq(GDR_IOCTL(PIN_V2, 32), 0xc020da07);
	check_eq(GDR_IOCTL(255, 8), 0xc008daff);
}

static int gdr_open(const char *version, const char *persistent)
{
	int fd;

	fake_begin(NEWEST);
	setenv("BARLANE_EMU_GDRDRV", version, 1);
	setenv("BARLANE_EMU_GDRDRV_PERSISTENT", persistent, 1);
	fd = fake_open("/dev/gdrdrv");
	check(fd >= 0);
	return fd;
}

static int pin(int fd, uint64_t va, uint64_t len, uint64_t *handle_p)
{
	uint8_t arg[40] = {0};
	int ret;

	put64(arg, 0, va);
	put64(arg, 8, len);
	ret = fake_ioctl(fd, GDR_IOCTL(PIN, 40), arg);
	*handle_p = get64(arg, 32);
	return ret;
}

static int unpin(int fd, uint64_t handle)
{
	return fake_ioctl(fd, GDR_IOCTL(UNPIN, 8), &handle);
}

static int cb_flag(int fd, uint64_t handle, uint32_t *flag_p)
{
	uint8_t arg[16] = {0};
	int ret;

	put64(arg, 0, handle);
	ret = fake_ioctl(fd, GDR_IOCTL(GET_CB_FLAG, 8), arg);
	*flag_p = get32(arg, 8);
	return ret;
}

static int info(int fd, unsigned int nr, uint64_t handle, uint8_t *arg)
{
	memset(arg, 0, 48);
	put64(arg, 0, handle);
	return fake_ioctl(fd, GDR_IOCTL(nr, 8), arg);
}

static void *gdr_map(int fd, uint64_t handle, size_t len)
{
	void *addr = fake.sys->mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(handle * PAGE));

	return addr == MAP_FAILED ? NULL : addr;
}

static uint64_t pins(void)
{
	struct bl_emu_counts counts;

	fake.counts(&counts);
	return counts.pins;
}

static void each_version_has_its_requests(void)
{
	static const unsigned int since[] = {[PIN] = 0,		[UNPIN] = 0,	[GET_CB_FLAG] = 0, [GET_INFO] = 0,
					     [GET_INFO_V2] = 4, [GET_ATTR] = 5, [PIN_V2] = 5,	   [REQ_TYPE] = 5};
	uint8_t arg[64];

	for (unsigned int minor = 0; minor <= 6; minor++) {
		char version[4] = {'2', '.', (char)('0' + minor), 0};
		int fd = gdr_open(version, "1");

		check_eq(fake_ioctl(fd, GDR_IOCTL(255, 8), arg), 0);
		check_eq(get32(arg, 0), 0x20000 + minor);
		check_eq(get32(arg, 4), 0x20000);
		for (unsigned int nr = PIN; nr <= REQ_TYPE; nr++) {
			size_t size = nr == PIN ? 40 : nr == PIN_V2 ? 32 : 8;

			memset(arg, 0, sizeof(arg));
			check_eq(fake_ioctl(fd, GDR_IOCTL(nr, size), arg), since[nr] <= minor ? -EINVAL : -ENOTTY);
			check_eq(fake_ioctl(fd, GDR_IOCTL(nr, size + 8), arg), -ENOTTY);
		}
		check_eq(fake_ioctl(fd, GDR_IOCTL(9, 8), arg), -ENOTTY);
		check_eq(fake_ioctl(fd, GDR_IOCTL(PIN, 40) ^ 0x100, arg), -EINVAL);
		check_eq(fake_close(fd), 0);
	}
}

static void params_file_tells_version_and_mode(void)
{
	char text[256];
	int fd, file;
	ssize_t len;

	fd = gdr_open("2.5", "0");
	file = fake.sys->open("/proc/driver/gdrdrv/params", O_RDONLY | O_CLOEXEC);
	check(file >= 0);
	len = read(file, text, sizeof(text) - 1);
	fake.sys->close(file);
	check(len > 0);
	text[len] = '\0';
	check_has(text, "Version: 2.5\n");
	check_has(text, "Use persistent mapping: no\n");
	fake_close(fd);
}

static void pin_covers_whole_gpu_pages_and_counts_handles_in_pages(void)
{
	struct fake_mem mem;
	uint64_t a, b, c, d;
	uint8_t arg[48];
	int fd = gdr_open("2.6", "1");

	fake_alloc(&mem, MIB(2));
	check_eq(pin(fd, mem.va + 100, 65536, &a), 0);
	check_eq(a, 0);
	check_eq(info(fd, GET_INFO_V2, a, arg), 0);
	check_eq(get64(arg, 8), mem.va);
	check_eq(get64(arg, 16), 2 * 65536);
	check_eq(get32(arg, 24), 65536);
	check_eq(get32(arg, 40), 0);
	check_eq(pin(fd, mem.va, MIB(1), &b), 0);
	check_eq(b, 2 * 65536 / PAGE);
	check_eq(pin(fd, mem.va, 1, &c), 0);
	check_eq(c, b + MIB(1) / PAGE);
	check_eq(unpin(fd, b), 0);
	check_eq(unpin(fd, b), -EINVAL);
	check_eq(pin(fd, mem.va, 1, &d), 0);
	check_eq(d, c + 65536 / PAGE); /* never used again */
	check_eq(info(fd, GET_INFO, d + 1, arg), -EINVAL);
	check_eq(pins(), 3);
	check_eq(fake_close(fd), 0);
	check_eq(pins(), 0);
	fake_free(&mem);
}

static void pin_refuses_what_is_not_device_memory(void)
{
	struct fake_mem mem;
	uint8_t arg[40] = {0};
	uint64_t handle;
	int fd = gdr_open("2.6", "1");

	fake_alloc(&mem, MIB(2));
	check_eq(pin(fd, 0, 65536, &handle), -EINVAL);
	check_eq(pin(fd, mem.va, 0, &handle), -EINVAL);
	check_eq(pin(fd, mem.va, UINT64_MAX, &handle), -EINVAL);
	check_eq(pin(fd, (uintptr_t)arg, 16, &handle), -EINVAL);
	check_eq(pin(fd, mem.va, MIB(1024), &handle), -EINVAL);
	put64(arg, 0, mem.va);
	put64(arg, 8, 65536);
	put64(arg, 16, 1);
	check_eq(fake_ioctl(fd, GDR_IOCTL(PIN, 40), arg), -EINVAL); /* tokens under persistent mode */
	check_eq(fake.fault("gdrdrv.pin:1:16"), 0);
	check_eq(pin(fd, mem.va, 1, &handle), -EBUSY);
	check_eq(pins(), 0);
	fake_close(fd);
	fake_free(&mem);
}

static void flags_and_attributes_follow_the_mode(void)
{
	struct fake_mem mem;
	uint8_t arg[32];
	int fd;

	for (unsigned int persistent = 0; persistent <= 1; persistent++) {
		fd = gdr_open("2.6", persistent ? "1" : "0");
		fake_alloc(&mem, MIB(2));
		for (uint32_t attr = 0; attr <= 3; attr++) {
			put32(arg, 0, attr);
			check_eq(fake_ioctl(fd, GDR_IOCTL(GET_ATTR, 8), arg), attr == 1 || attr == 2 ? 0 : -EINVAL);
			if (attr == 1 || attr == 2)
				check_eq(get32(arg, 4), persistent);
		}
		for (uint32_t flags = 0; flags <= 2; flags++) {
			memset(arg, 0, sizeof(arg));
			put64(arg, 0, mem.va);
			put64(arg, 8, 65536);
			put32(arg, 16, flags);
			check_eq(fake_ioctl(fd, GDR_IOCTL(PIN_V2, 32), arg), flags > persistent ? -EINVAL : 0);
		}
		fake_close(fd);
		fake_free(&mem);
	}
}

static int request_type(int fd, uint64_t handle, uint32_t type)
{
	uint8_t arg[16] = {0};

	put64(arg, 0, handle);
	put32(arg, 8, type);
	return fake_ioctl(fd, GDR_IOCTL(REQ_TYPE, 8), arg);
}

static void mapping_shows_the_memory_once(void)
{
	uint64_t value = 0xfeedULL, handle, unaligned;
	struct fake_mem mem;
	uint8_t arg[48];
	uint64_t *addr;
	int fd = gdr_open("2.6", "1");

	fake_alloc(&mem, MIB(2));
	check_eq(pin(fd, mem.va, MIB(1), &handle), 0);
	check_eq(pin(fd, mem.va + 4096, 4096, &unaligned), 0);
	check_eq(request_type(fd, handle, 4), -EINVAL);
	check_eq(request_type(fd, handle, 2), -EOPNOTSUPP);
	check_eq(request_type(fd, handle, 3), -EOPNOTSUPP);
	check_eq(request_type(fd, handle, 1), 0);
	check(!gdr_map(fd, handle, MIB(1) + PAGE) && errno == EINVAL);
	check(!gdr_map(fd, handle + 1, PAGE) && errno == EINVAL);
	check(!gdr_map(fd, unaligned, PAGE) && errno == EINVAL);
	check_eq(fake.fault("gdrdrv.map"), 0);
	check(!gdr_map(fd, handle, PAGE) && errno == EAGAIN);
	addr = gdr_map(fd, handle, 65536 + PAGE);
	check(addr);
	check(!gdr_map(fd, handle, PAGE) && errno == EINVAL);
	check_eq(request_type(fd, handle, 1), -EBUSY);
	check_eq(fake.cuMemcpyHtoD(mem.va + 65536, &value, 8), 0);
	check_eq(addr[65536 / 8], value);
	check_eq(info(fd, GET_INFO_V2, handle, arg), 0);
	check_eq(get32(arg, 40), 1);
	check_eq(info(fd, GET_INFO, handle, arg), 0);
	check(get32(arg, 40) == 1 && get32(arg, 44) == 1);
	check_eq(fake.sys->munmap(addr, 65536 + PAGE), 0);
	check_eq(info(fd, GET_INFO_V2, handle, arg), 0);
	check_eq(get32(arg, 40), 0);
	addr = gdr_map(fd, handle, PAGE);
	check(addr);
	check_eq(fake.sys->munmap(addr, PAGE), 0);
	fake_close(fd);
	fake_free(&mem);
}

static sigjmp_buf fault_env;

static void on_fault(int sig)
{
	siglongjmp(fault_env, sig);
}

/* The signal that a read of the address gives, 0 for none. */
static int probe(volatile uint8_t *addr)
{
	struct sigaction act = {.sa_handler = on_fault}, old_bus, old_segv;
	volatile int sig;

	sigaction(SIGBUS, &act, &old_bus);
	sigaction(SIGSEGV, &act, &old_segv);
	sig = sigsetjmp(fault_env, 1);
	if (!sig)
		(void)*addr;
	sigaction(SIGBUS, &old_bus, NULL);
	sigaction(SIGSEGV, &old_segv, NULL);
	return sig;
}

static void free_under_a_pin_that_does_not_keep_it(void)
{
	struct fake_mem mem, next;
	uint64_t handle;
	uint32_t flag;
	uint8_t *addr;
	int fd = gdr_open("2.6", "0");

	fake_alloc(&mem, MIB(2));
	check_eq(pin(fd, mem.va, MIB(2), &handle), 0);
	addr = gdr_map(fd, handle, MIB(2));
	check(addr);
	check_eq(cb_flag(fd, handle, &flag), 0);
	check_eq(flag, 0);
	check_eq(probe(addr), 0);
	fake_free(&mem);
	check_eq(cb_flag(fd, handle, &flag), 0);
	check_eq(flag, 1);
	check_eq(probe(addr), SIGBUS);
	check_eq(probe(addr + MIB(2) - 1), SIGBUS);
	fake_alloc(&next, MIB(2)); /* the same storage again: it must not show */
	check_eq(probe(addr), SIGBUS);
	check_eq(fake.sys->munmap(addr, MIB(2)), 0);
	check(!gdr_map(fd, handle, PAGE) && errno == EINVAL);
	check_eq(unpin(fd, handle), 0);
	fake_free(&next);
	fake_close(fd);
}

static void free_under_a_persistent_pin(void)
{
	uint64_t value = 0xabcdULL, handle;
	struct bl_emu_counts before, after;
	struct fake_mem mem;
	uint32_t flag;
	uint64_t *addr;
	int fd = gdr_open("2.6", "1");

	fake_alloc(&mem, MIB(64));
	check_eq(pin(fd, mem.va, MIB(64), &handle), 0);
	addr = gdr_map(fd, handle, MIB(64));
	check(addr);
	check_eq(fake.cuMemcpyHtoD(mem.va, &value, 8), 0);
	fake.counts(&before);
	fake_free(&mem);
	fake.counts(&after);
	check_eq(before.vram_used, after.vram_used);
	check_eq(cb_flag(fd, handle, &flag), 0);
	check_eq(flag, 0);
	check_eq(*addr, value);
	check_eq(unpin(fd, handle), 0);
	check_eq(probe((uint8_t *)addr), SIGBUS); /* unpin takes the mapping away */
	check_eq(fake.sys->munmap(addr, MIB(64)), 0);
	fake.counts(&after);
	check_eq(before.vram_used - after.vram_used, MIB(64));
	fake_close(fd);
}

static void a_mapping_keeps_the_file_open(void)
{
	struct bl_emu_counts counts;
	struct fake_mem mem;
	uint64_t handle;
	uint8_t *addr;
	int fd = gdr_open("2.6", "1");

	fake_alloc(&mem, MIB(2));
	check_eq(pin(fd, mem.va, MIB(2), &handle), 0);
	addr = gdr_map(fd, handle, MIB(2));
	check(addr);
	check_eq(fake_close(fd), 0);
	fake.counts(&counts);
	check(counts.nodes == 0 && counts.pins == 1 && counts.vmas == 1);
	check_eq(probe(addr), 0);
	check_eq(fake.sys->munmap(addr, MIB(2)), 0);
	check_eq(pins(), 0);
	fake_free(&mem);
}

static int child_is_refused(int fd, uint64_t handle, uint8_t *addr)
{
	uint8_t arg[48];

	if (fake_ioctl(fd, GDR_IOCTL(255, 8), arg) != -EACCES)
		return 1;
	if (info(fd, GET_INFO, handle, arg) != -EACCES)
		return 2;
	if (gdr_map(fd, handle, PAGE) || errno != EACCES)
		return 3;
	if (probe(addr) != SIGSEGV)
		return 4; /* the mapping is not inherited */
	return fake.sys->close(fd) ? 5 : 0;
}

static void another_process_is_refused(void)
{
	struct fake_mem mem;
	uint64_t handle;
	uint8_t *addr;
	int status;
	pid_t pid;
	int fd = gdr_open("2.6", "1");

	fake_alloc(&mem, MIB(2));
	check_eq(pin(fd, mem.va, MIB(2), &handle), 0);
	addr = gdr_map(fd, handle, MIB(2));
	check(addr);
	fake_watch();
	pid = fork();
	if (!pid)
		_exit(child_is_refused(fd, handle, addr));
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	fake_expect(NULL);
	check_eq(pins(), 1);
	check_eq(fake.sys->munmap(addr, MIB(2)), 0);
	fake_close(fd);
	fake_free(&mem);
}

static void each_open_has_its_own_handles(void)
{
	struct fake_mem mem;
	uint64_t one, two;
	int a = gdr_open("2.6", "1"), b = fake_open("/dev/gdrdrv");

	fake_alloc(&mem, MIB(2));
	check_eq(pin(a, mem.va, MIB(2), &one), 0);
	check_eq(pin(b, mem.va, 65536, &two), 0);
	check_eq(one, two);
	check_eq(unpin(a, one), 0);
	check_eq(unpin(b, two), 0);
	fake_close(a);
	fake_close(b);
	fake_free(&mem);
}

static int dmabuf_map(int fd, size_t len, off_t off, void **addr_p)
{
	*addr_p = fake.sys->mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off);
	return *addr_p == MAP_FAILED ? errno : 0;
}

static void dmabuf_can_be_mapped_only_where_the_driver_allows_it(void)
{
	struct bl_emu_counts counts;
	uint64_t value = 0x77, used;
	struct fake_mem mem;
	int allowed = 0, fd = -1;
	void *addr;

	fake_begin(NEWEST);
	fake.counts(&counts);
	used = counts.vram_used;
	fake.cuDeviceGetAttribute(&allowed, CU_DEVICE_ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED, 0);
	fake_alloc(&mem, MIB(2));
	check_eq(fake.cuMemGetHandle(&fd, mem.va + 65536, MIB(1), CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0), 0);
	check(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	check_eq(dmabuf_map(fd, MIB(1), PAGE, &addr), EINVAL);
	if (!allowed) {
		check_eq(dmabuf_map(fd, MIB(1), 0, &addr), 524);
	} else {
		check_eq(fake.cuMemcpyHtoD(mem.va + 65536 + PAGE, &value, 8), 0);
		check_eq(dmabuf_map(fd, MIB(1) - PAGE, PAGE, &addr), 0);
		check_eq(fake.sys->madvise(addr, MIB(1) - PAGE, MADV_DONTFORK), 0);
		check_eq(*(uint64_t *)addr, value);
		check_eq(fake.sys->munmap(addr, MIB(1) - PAGE), 0);
	}
	check_eq(fake.fault("dmabuf.mmap:1:12"), 0);
	check_eq(dmabuf_map(fd, MIB(1), 0, &addr), ENOMEM);
	fake_free(&mem);
	fake.counts(&counts);
	check(counts.dmabufs == 1 && counts.vram_used - used == MIB(2));
	check_eq(fake.sys->close(fd), 0);
	fake.counts(&counts);
	check(counts.dmabufs == 0 && counts.vram_used == used);
}

static const struct tap_test tests[] = {
	{"requests_have_the_original_numbers", requests_have_the_original_numbers},
	{"each_version_has_its_requests", each_version_has_its_requests},
	{"params_file_tells_version_and_mode", params_file_tells_version_and_mode},
	{"pin_covers_whole_gpu_pages_and_counts_handles_in_pages",
	 pin_covers_whole_gpu_pages_and_counts_handles_in_pages},
	{"pin_refuses_what_is_not_device_memory", pin_refuses_what_is_not_device_memory},
	{"flags_and_attributes_follow_the_mode", flags_and_attributes_follow_the_mode},
	{"mapping_shows_the_memory_once", mapping_shows_the_memory_once},
	{"free_under_a_pin_that_does_not_keep_it", free_under_a_pin_that_does_not_keep_it},
	{"free_under_a_persistent_pin", free_under_a_persistent_pin},
	{"a_mapping_keeps_the_file_open", a_mapping_keeps_the_file_open},
	{"another_process_is_refused", another_process_is_refused},
	{"each_open_has_its_own_handles", each_open_has_its_own_handles},
	{"dmabuf_can_be_mapped_only_where_the_driver_allows_it", dmabuf_can_be_mapped_only_where_the_driver_allows_it},
};

int main(int argc, char **argv)
{
	setenv("BARLANE_EMU_GPUS", "1", 1);
	setenv("BARLANE_EMU_STATIC_BAR1", "1", 1);
	fake_load();
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
