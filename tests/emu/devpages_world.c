// SPDX-License-Identifier: MIT
#include "devpages_world.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "barlane.h"
#include "child.h"
#include "file/uring.h"
#include "gpu/sys.h"
#include "tests/tap.h"
#include "tests/unit/fake_nvfs.h"

#define OK    CU_FILE_SUCCESS
#define SHOWN __attribute__((visibility("default")))

struct devpages_mapping mapping;
struct devpages_ring ring;
struct tested tested;
struct memory memory;

int __real_bl_map_byte(bl_ctx_t ctx, bl_pin_t pin, uint64_t len, uint32_t flags, void **addr_p);
int __wrap_bl_map_byte(bl_ctx_t ctx, bl_pin_t pin, uint64_t len, uint32_t flags, void **addr_p);
int __wrap_bl_map_byte(bl_ctx_t ctx, bl_pin_t pin, uint64_t len, uint32_t flags, void **addr_p)
{
	int ret = __real_bl_map_byte(ctx, pin, len, flags, addr_p);

	if (!ret) {
		mapping.at = *addr_p;
		mapping.len = len;
	}
	return ret;
}

static bool is_mapping(const void *buf)
{
	return mapping.at && (const char *)buf >= mapping.at && (const char *)buf < mapping.at + mapping.len;
}

/* Whether a call fails; *len_p may become shorter. */
static bool goes_wrong(const void *buf, size_t *len_p)
{
	unsigned int nr;

	if (!is_mapping(buf))
		return false;
	nr = atomic_fetch_add(&mapping.calls, 1) + 1;
	if (mapping.cut && *len_p > 4096)
		*len_p = 4096;
	if (!mapping.err || nr < mapping.when)
		return false;
	atomic_fetch_add(&mapping.failed, 1);
	errno = mapping.err;
	/* an interruption is not for ever */
	if (mapping.err == EINTR)
		mapping.err = 0;
	return true;
}

void __real_bl_uring_post(struct bl_uring *uring, bool write, int fd, void *buf, uint32_t len, off_t pos, uint64_t tag);
void __wrap_bl_uring_post(struct bl_uring *uring, bool write, int fd, void *buf, uint32_t len, off_t pos, uint64_t tag);
void __wrap_bl_uring_post(struct bl_uring *uring, bool write, int fd, void *buf, uint32_t len, off_t pos, uint64_t tag)
{
	if (is_mapping(buf))
		atomic_fetch_add(&ring.posts, 1);
	__real_bl_uring_post(uring, write, fd, buf, len, pos, tag);
}

bool __real_bl_uring_take(struct bl_uring *uring, struct bl_uring_done *done);
bool __wrap_bl_uring_take(struct bl_uring *uring, struct bl_uring_done *done);
bool __wrap_bl_uring_take(struct bl_uring *uring, struct bl_uring_done *done)
{
	if (!__real_bl_uring_take(uring, done))
		return false;
	if (ring.result && done->tag == ring.tag)
		done->result = (int32_t)ring.result;
	return true;
}

int __real_bl_uring_wait(struct bl_uring *uring, bool wait, uint64_t deadline);
int __wrap_bl_uring_wait(struct bl_uring *uring, bool wait, uint64_t deadline);
int __wrap_bl_uring_wait(struct bl_uring *uring, bool wait, uint64_t deadline)
{
	if (!ring.late)
		return __real_bl_uring_wait(uring, wait, deadline);
	__real_bl_uring_wait(uring, false, deadline);
	return -ETIMEDOUT;
}

SHOWN ssize_t pread64(int fd, void *buf, size_t len, off_t pos);
SHOWN ssize_t pwrite64(int fd, const void *buf, size_t len, off_t pos);
SHOWN int madvise(void *addr, size_t len, int advice);

ssize_t pread64(int fd, void *buf, size_t len, off_t pos)
{
	return goes_wrong(buf, &len) ? -1 : syscall(SYS_pread64, fd, buf, len, pos);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off_t pos)
{
	return goes_wrong(buf, &len) ? -1 : syscall(SYS_pwrite64, fd, buf, len, pos);
}

int madvise(void *addr, size_t len, int advice)
{
	if (mapping.bare && advice == 20 && is_mapping(addr)) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_madvise, addr, len, advice);
}

/* The file's disk is an NVMe drive. */
static void tell_of_drive(const char *type, const char *name)
{
	char line[160];
	struct stat st;

	check(!fstat(tested.fd, &st));
	snprintf(line, sizeof(line), "1 1 %u:%u / /d rw - %s x rw\n", major(st.st_dev), minor(st.st_dev), type);
	fake_nvfs_text("/proc/self/mountinfo", line);
	snprintf(line, sizeof(line), "/sys/dev/block/%u:%u/uevent", major(st.st_dev), minor(st.st_dev));
	fake_nvfs_text(line, name);
	snprintf(line, sizeof(line), "/sys/dev/block/%u:%u/device/transport", major(st.st_dev), minor(st.st_dev));
	fake_nvfs_text(line, "pcie\n");
}

void devpages_begin_on(const char *type, const char *name)
{
	const struct bl_sys *others = bl_sys();

	world_enter();
	memory = (struct memory){ REGISTERED, (void *)(uintptr_t)world_alloc(MOVES_MEM), MOVES_MEM };
	fake_nvfs_begin();
	fake_nvfs.nodes = 0;
	fake_nvfs_join(others, (uintptr_t)memory.base, NULL, 0, 0);
	moves_make_file(&tested, "disk", O_DIRECT);
	tell_of_drive(type, name);
	check_eq(cuFileBufRegister(memory.base, MOVES_MEM, 0).err, OK);
	check(mapping.at);
	atomic_store(&mapping.calls, 0);
}

void devpages_begin(void)
{
	devpages_begin_on("ext4", "DEVNAME=nvme0n1\nDEVTYPE=disk\n");
}

void devpages_end(void)
{
	tested_drop(&tested);
	check_eq(cuFileBufDeregister(memory.base).err, OK);
	check_eq(cuFileDriverClose().err, OK);
	fake_nvfs_end();
	world_free((uintptr_t)memory.base);
	world_check_rules();
}

void devpages_there_and_back(void)
{
	static unsigned char out[1 << 20], in[1 << 20];

	random_fill(out, sizeof(out), &moves_seed);
	memory_put(&memory, 4096, out, sizeof(out));
	check_eq(cuFileWrite(tested.handle, memory.base, sizeof(out), 8192, 4096), sizeof(out));
	check_eq(pread(tested.plain, in, sizeof(in), 8192), sizeof(in));
	check(!memcmp(in, out, sizeof(in)));
	check_eq(cuFileRead(tested.handle, memory.base, sizeof(in), 8192, 4 << 20), sizeof(in));
	memory_get(&memory, 4 << 20, in, sizeof(in));
	check(!memcmp(in, out, sizeof(in)));
}

void devpages_check(size_t off, size_t len, off_t pos)
{
	static unsigned char bytes[4 << 20];

	memory_get(&memory, off, bytes, len);
	check_eq(pattern_wrong(bytes, len, 7, (size_t)pos), 0);
}

void devpages_run(void (*body)(const void *arg), const void *arg, const char *strict, const char *tune)
{
	const char *const env[] = { "BARLANE_FILE_PATH", "devicepages", "CUFILE_ENV_PATH_JSON", "/dev/null/none",
				    "BARLANE_FILE_STRICT", strict, "BARLANE_FILE_TUNE", tune, NULL };

	if (!moves_seed)
		moves_choose_seed();
	child_run(body, arg, env);
	next_random(&moves_seed);
}
